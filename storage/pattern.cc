/*
 * storage/pattern.cc - the one C++ file: RE2 behind a C interface.
 *
 * Mechanism: a pattern that stands for one text is that text: it is compared, and costs its own
 * length, so that a filter may name hundreds of columns. Everything else is
 * an RE2 object. Latin-1 makes a character of each byte.
 *
 * RE2 matches with an automaton whose states it makes as they are met, 1.6 ns for a byte once they
 * are there. When they outgrow its memory it begins anew, and when it has to do that too often it
 * simulates the program instead: up to 6 us for each byte. It reports both to hooks (re2.h), which
 * end the match by an exception instead: the states that are made in one match are bounded, and a
 * simulation is let pass only if it is short. RE2 holds nothing at these two places that a
 * destructor would not give back, and the pattern can be matched again (docs/decisions/0048).
 * The hooks are missing in Debian's shared library: RE2 is linked statically.
 *
 * Invariant: C callers know no exceptions, so nothing here lets one out. The standard library
 * throws only for lack of memory: when compiling, that is an error; when matching, the process ends
 * as it does for base_new (docs/decisions/0001).
 */
#include <algorithm>
#include <memory>
#include <new>
#include <string>

#include <re2/re2.h>

extern "C" {
#include "base/alloc.h"
#include "base/limits.h"
#include "storage/pattern.h"
}

/* Of a core of 2023; what is charged for a match. */
#define NS_PER_MATCH     100
#define NS_PER_BYTE      2
#define NS_PER_STATE     6 /* and byte of it */
#define NS_PER_SIMULATED 5 /* instruction and byte of the text */

#define WEIGHT_OF_CLASS 100
#define WEIGHT_MAX      1000000

struct sto_pattern {
    std::string literal;
    std::unique_ptr<const RE2> regex; /* null: literal */
};

namespace {

/* --- what RE2 may do in a match ---------------------------------------------------------------
 */

struct watch {
    uint64_t simulated; /* instructions times bytes, if it comes to that */
    uint64_t work_ns;
    uint64_t state_bytes;
};

struct gave_up {};

thread_local struct watch *watched = nullptr;

void states_full(const re2::hooks::DFAStateCacheReset &cache)
{
    if (watched == nullptr)
        return;
    auto bytes = static_cast<uint64_t>(std::max<int64_t>(cache.state_budget, 1));
    watched->state_bytes += bytes;
    watched->work_ns += bytes * NS_PER_STATE;
    if (watched->state_bytes > LIM_PATTERN_STATE_BYTES)
        throw gave_up();
}

void automaton_fails(const re2::hooks::DFASearchFailure &)
{
    if (watched == nullptr)
        return;
    if (watched->simulated > LIM_PATTERN_SIMULATED)
        throw gave_up();
    watched->work_ns += watched->simulated * NS_PER_SIMULATED;
}

bool hooks_set()
{
    re2::hooks::SetDFAStateCacheResetHook(states_full);
    re2::hooks::SetDFASearchFailureHook(automaton_fails);
    return true;
}

/* --- texts ------------------------------------------------------------------------------------
 */

/* Reads plain characters and what RE2::QuoteMeta writes: a backslash before anything of ASCII that
 * is no letter, digit or underscore, and \x00. Appends to out, which may be null. */
bool read_literal(struct slice text, std::string *out)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.ptr[i];
        if (c == '\\' && i + 1 < text.len) {
            c = text.ptr[++i];
            bool is_zero = text.len - i >= 3 && memcmp(text.ptr + i, "x00", 3) == 0;
            bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '_';
            if (c >= 0x80 || (is_word && !is_zero))
                return false;
            i += is_zero ? 2 : 0;
            c = is_zero ? 0 : c;
        } else if (memchr("\\^$.|?*+()[]{}", c, 14) != nullptr) {
            return false;
        }
        if (out != nullptr)
            out->push_back(static_cast<char>(c));
    }
    return true;
}

re2::StringPiece piece(struct slice s)
{
    return re2::StringPiece(reinterpret_cast<const char *>(s.ptr), s.len);
}

/* RE2 says "reason: offending part of the pattern"; the part may be data. */
std::string reason(const RE2 &regex)
{
    const std::string &error = regex.error();
    size_t arg = regex.error_arg().size();
    return arg > 0 && error.size() > arg + 2 ? error.substr(0, error.size() - arg - 2) : error;
}

enum err compile_regex(struct slice text, size_t memory_max, struct sto_pattern *p,
                       struct errbuf *eb)
{
    RE2::Options options(RE2::Latin1);
    options.set_log_errors(false);
    options.set_never_capture(true);
    static const bool are_set = hooks_set();
    (void)are_set;
    /* What rounds to nothing would be no limit. */
    options.set_max_mem(static_cast<int64_t>(std::max<size_t>(memory_max, 2)));
    p->regex = std::make_unique<const RE2>(piece(text), options);
    if (p->regex->ok())
        return ERR_OK;
    if (p->regex->error_code() == RE2::ErrorPatternTooLarge)
        return base_fail(eb, ERR_TOO_BIG,
                         "regular expression of %zu bytes needs more than the %zu bytes of memory "
                         "that are its share",
                         text.len, memory_max);
    return base_fail(eb, ERR_INVALID, "regular expression is not valid: %s",
                     reason(*p->regex).c_str());
}

} // namespace

extern "C" bool sto_pattern_is_literal(struct slice text)
{
    return read_literal(text, nullptr);
}

extern "C" size_t sto_pattern_classes(struct slice text)
{
    size_t classes = 0;
    for (size_t i = 0; i + 1 < text.len; i++)
        classes += text.ptr[i] == '\\' && (text.ptr[i + 1] | 0x20) == 'p';
    return classes;
}

/* Counted repetitions multiply what they repeat, each as if it were around everything; a class of
 * Unicode's has as much to look through as a hundred letters have. */
extern "C" uint64_t sto_pattern_weight(struct slice text)
{
    if (sto_pattern_is_literal(text))
        return 0;
    uint64_t weight = text.len + sto_pattern_classes(text) * WEIGHT_OF_CLASS;
    bool is_count = false;
    uint64_t count = 0;
    uint64_t most = 1;
    for (size_t i = 0; i < text.len; i++) {
        bool is_digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';
        count = is_count && is_digit
                    ? std::min<uint64_t>(10 * count + (text.ptr[i] - '0'), WEIGHT_MAX)
                    : 0;
        most = std::max(most, count);
        if (is_count && !is_digit && text.ptr[i] != ',') {
            weight = std::min<uint64_t>(weight * most, WEIGHT_MAX);
            is_count = false;
        }
        if (text.ptr[i] == '{') {
            is_count = true;
            most = 1;
        }
    }
    return std::min<uint64_t>(weight, WEIGHT_MAX);
}

extern "C" enum err sto_pattern_compile(struct slice text, size_t memory_max,
                                        struct sto_pattern **out, struct errbuf *eb)
{
    try {
        auto p = std::make_unique<struct sto_pattern>();
        if (!read_literal(text, &p->literal)) {
            enum err e = compile_regex(text, memory_max, p.get(), eb);
            if (e != ERR_OK)
                return e;
        }
        *out = p.release();
        return ERR_OK;
    } catch (...) {
        return base_fail(eb, ERR_NO_MEMORY, "no memory for a regular expression");
    }
}

extern "C" void sto_pattern_free(struct sto_pattern *p)
{
    delete p;
}

static enum err match_regex(const struct sto_pattern *p, struct slice bytes, struct sto_match *out)
{
    auto program = static_cast<uint64_t>(p->regex->ProgramSize());
    struct watch watch = {program * bytes.len, sto_pattern_match_ns(bytes.len), 0};
    enum err rc = ERR_OK;
    uint64_t bytes_before = base_alloc_of_thread();
    watched = &watch;
    try {
        out->yes = p->regex->Match(piece(bytes), 0, bytes.len, RE2::ANCHOR_BOTH, nullptr, 0);
    } catch (const gave_up &) {
        rc = ERR_TOO_BIG;
    } catch (...) {
        base_panic(__FILE__, __LINE__, "no memory to match a regular expression");
    }
    watched = nullptr;
    out->state_bytes = static_cast<int64_t>(base_alloc_of_thread() - bytes_before);
    out->work_ns = watch.work_ns;
    return rc;
}

extern "C" size_t sto_pattern_instructions(const struct sto_pattern *p)
{
    return p->regex == nullptr ? 0 : static_cast<size_t>(p->regex->ProgramSize());
}

extern "C" uint64_t sto_pattern_match_ns(size_t bytes)
{
    return NS_PER_MATCH + static_cast<uint64_t>(bytes) * NS_PER_BYTE;
}

extern "C" enum err sto_pattern_match(const struct sto_pattern *p, struct slice bytes,
                                      struct sto_match *out)
{
    *out = {};
    if (p->regex != nullptr)
        return match_regex(p, bytes, out);
    out->yes = bytes.len == p->literal.size() &&
               (bytes.len == 0 || memcmp(bytes.ptr, p->literal.data(), bytes.len) == 0);
    return ERR_OK;
}

static bool store(const std::string &from, uint8_t *to, size_t *out_len)
{
    if (from.size() > STO_PATTERN_RANGE_MAX)
        return false;
    memcpy(to, from.data(), from.size());
    *out_len = from.size();
    return true;
}

extern "C" bool sto_pattern_range(const struct sto_pattern *p, uint8_t min[STO_PATTERN_RANGE_MAX],
                                  size_t *out_min_len, uint8_t max[STO_PATTERN_RANGE_MAX],
                                  size_t *out_max_len)
{
    if (p->regex == nullptr)
        return store(p->literal, min, out_min_len) && store(p->literal, max, out_max_len);
    try {
        std::string low;
        std::string high;
        if (!p->regex->PossibleMatchRange(&low, &high, STO_PATTERN_RANGE_MAX))
            return false;
        /* RE2 says so of a prefix of FF bytes, which nothing is behind: "^\xff." */
        bool has_no_end = high < low;
        return !has_no_end && store(low, min, out_min_len) && store(high, max, out_max_len);
    } catch (...) {
        return false;
    }
}
