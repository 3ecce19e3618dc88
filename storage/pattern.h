/*
 * storage/pattern.h - regular expressions over bytes, in linear time whatever the pattern.
 *
 * Does:     compile RE2 patterns as Bigtable reads them (Latin-1 bytes, the whole text must match),
 *           match, and say between which two byte strings everything that can match lies.
 * Owns:     a compiled pattern, from compile to free.
 * May use:  base/, RE2 (in pattern.cc only, the one C++ file).
 * Knows no: filters, cells.
 * Threads:  a compiled pattern is matched from any number of threads at once.
 * Blocks:   no; matching takes time in proportion to the text.
 * Fails by: ERR_INVALID with RE2's reason and without the pattern's text; ERR_TOO_BIG (memory).
 * Limits:   memory_max of the compiled form and of what matching caches.
 * Promises: 1. No exception and no C++ type leaves pattern.cc.
 *           2. "." does not match a line feed, \C matches any byte.
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

/* Whether the pattern stands for one text: without special characters, or with all of them quoted
 * as RE2::QuoteMeta does. Such a pattern needs none of memory_max. */
bool sto_pattern_is_literal(struct slice text);
enum err sto_pattern_compile(struct slice text, size_t memory_max, struct sto_pattern **out,
                             struct errbuf *eb) MUST_CHECK;
void sto_pattern_free(struct sto_pattern *p);
bool sto_pattern_matches(const struct sto_pattern *p, struct slice bytes);
/* Everything that matches is >= min and <= max (as bytes). False: nothing is known. */
bool sto_pattern_range(const struct sto_pattern *p, uint8_t min[STO_PATTERN_RANGE_MAX],
                       size_t *out_min_len, uint8_t max[STO_PATTERN_RANGE_MAX],
                       size_t *out_max_len);

#ifdef __cplusplus
}
#endif

#endif
