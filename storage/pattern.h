/*
 * storage/pattern.h - regular expressions over bytes, in linear time whatever the pattern.
 *
 * Does:     compiles RE2 patterns as Bigtable reads them (Latin-1 bytes, the whole text must
 *           match), matches by an automaton or not at all, reports the cost of a match, and bounds
 *           by two byte strings everything that can match.
 * Owns:     a compiled pattern, from compile to free.
 * May use:  base/, RE2 (in pattern.cc only, the one C++ file).
 * Knows no: filters, cells.
 * Threads:  a compiled pattern is matched from any number of threads at once.
 * Blocks:   no; matching takes about 2 ns for each byte of the text, and 50 ms more at most.
 * Fails by: ERR_INVALID with RE2's reason and without the pattern's text; ERR_TOO_BIG: compiling
 *           (memory), matching (the limits below).
 * Limits:   memory_max of the compiled form and of the states that matching caches;
 *           LIM_PATTERN_STATE_BYTES, LIM_PATTERN_SIMULATED.
 * Promises: 1. No exception and no C++ type leaves pattern.cc.
 *           2. "." does not match a line feed, \C matches any byte.
 *           3. RE2's simulation, which takes up to 6 us for each byte, replaces the automaton only
 *              for texts so short that it takes at most 1.3 ms.
 */
#ifndef STORAGE_PATTERN_H
#define STORAGE_PATTERN_H

#include "base/err.h"
#include "base/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sto_pattern;

#define STO_PATTERN_RANGE_MAX 64 /* bytes of min and of max */

/* Returns whether the pattern is literal, i.e. matches one text: it has no special characters, or
 * all of them are quoted as by RE2::QuoteMeta. Such a pattern uses none of memory_max. */
bool sto_pattern_is_literal(struct slice text);
/* Returns how long compiling may take, from the text alone: about the length of the program. At
 * least the length of the text, but 0 if it is literal. */
uint64_t sto_pattern_weight(struct slice text);
/* Returns the number of Unicode classes in it: each takes 70 to 170 us to compile. */
size_t sto_pattern_classes(struct slice text);
enum err sto_pattern_compile(struct slice text, size_t memory_max, struct sto_pattern **out,
                             struct errbuf *eb) MUST_CHECK;
void sto_pattern_free(struct sto_pattern *p);

struct sto_match {
    bool yes;
    int64_t state_bytes; /* of states that the match made, minus those it freed; a pattern keeps
                          * them within its memory_max. 0 where the heap does not count */
    uint64_t work_ns; /* cost: estimated, not measured, so equal for equal bytes, except for states
                       * made by an earlier match of the pattern */
};

/* Matches the whole text. ERR_TOO_BIG: these bytes take the pattern through too many states;
 * work_ns is set. */
enum err sto_pattern_match(const struct sto_pattern *p, struct slice bytes,
                           struct sto_match *out) MUST_CHECK;
/* Returns the number of instructions of the compiled form; 0: literal. A byte takes 1.6 ns if its
 * state exists, and up to 35 ns for each instruction if a state must be made. */
size_t sto_pattern_instructions(const struct sto_pattern *p);
/* Returns an upper bound of the time of a successful match of this many bytes. */
uint64_t sto_pattern_match_ns(size_t bytes);
/* Sets bounds such that every match is >= min and <= max (as bytes). Returns false if no bounds are
 * known. */
bool sto_pattern_range(const struct sto_pattern *p, uint8_t min[STO_PATTERN_RANGE_MAX],
                       size_t *out_min_len, uint8_t max[STO_PATTERN_RANGE_MAX],
                       size_t *out_max_len);

#ifdef __cplusplus
}
#endif

#endif
