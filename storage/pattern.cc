/*
 * storage/pattern.cc - the one C++ file: RE2 behind a C interface.
 *
 * Mechanism: a pattern that stands for one text is that text: it is compared, and costs its own
 * length, so that a filter may name hundreds of columns. Everything else is
 * an RE2 object. Latin-1 makes a character of each byte. RE2 gives two thirds of its memory to the
 * program and the automaton that matches forwards, and when the automaton outgrows its share it
 * starts over or simulates the program, still in time proportional to the text.
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
#include "storage/pattern.h"
}

struct sto_pattern {
    std::string literal;
    std::unique_ptr<const RE2> regex; /* null: literal */
};

namespace {

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

extern "C" bool sto_pattern_matches(const struct sto_pattern *p, struct slice bytes)
{
    if (p->regex == nullptr)
        return bytes.len == p->literal.size() &&
               (bytes.len == 0 || memcmp(bytes.ptr, p->literal.data(), bytes.len) == 0);
    try {
        return p->regex->Match(piece(bytes), 0, bytes.len, RE2::ANCHOR_BOTH, nullptr, 0);
    } catch (...) {
        base_panic(__FILE__, __LINE__, "no memory to match a regular expression");
    }
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
