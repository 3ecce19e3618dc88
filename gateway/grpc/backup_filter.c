/*
 * gateway/grpc/backup_filter.c - selects the backups of a list: ListBackupsRequest.filter.
 *
 * Mechanism: the words of the text become a program in postfix order; NOT, AND, OR and open
 * brackets wait on a stack until operators that bind tighter are written (Dijkstra's shunting
 * yard). As in AIP-160, NOT binds tightest, then OR, then AND; two adjacent terms mean AND. Case
 * never matters.
 */
#include "gateway/grpc/backup_filter.h"

#include "base/text.h"

#include "base/banned.h"

#define WAITING_MAX GW_BACKUP_FILTER_TERMS

enum waiting { W_OPEN, W_AND, W_OR, W_NOT }; /* from loosest to tightest binding */

struct parser {
    struct slice rest;
    struct gw_backup_filter *out;
    size_t terms;
    enum waiting stack[WAITING_MAX];
    size_t depth;
    struct errbuf *eb;
};

/* --- the words ----------------------------------------------------------------------------------
 */

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_word(uint8_t c)
{
    c = gw_backup_fold(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

static void skip_spaces(struct parser *p)
{
    while (p->rest.len > 0 && is_space(p->rest.ptr[0]))
        p->rest = base_slice_skip(p->rest, 1);
}

/* Returns the word that starts here: letters, digits, underscores. Does not advance. */
static struct slice next_word(const struct parser *p)
{
    size_t len = 0;
    while (len < p->rest.len && is_word(p->rest.ptr[len]))
        len++;
    return base_slice(p->rest.ptr, len);
}

static bool take_word(struct parser *p, const char *word)
{
    struct slice next = next_word(p);
    if (gw_backup_text_compare(next, base_slice_text(word)) != 0)
        return false;
    p->rest = base_slice_skip(p->rest, next.len);
    return true;
}

static bool take_sign(struct parser *p, const char *sign)
{
    struct slice wanted = base_slice_text(sign);
    if (!base_slice_starts_with(p->rest, wanted))
        return false;
    p->rest = base_slice_skip(p->rest, wanted.len);
    return true;
}

static enum err wrong(const struct parser *p, const char *expected)
{
    if (p->rest.len == 0)
        return base_fail(p->eb, ERR_INVALID, "filter: it ends where %s should stand", expected);
    return base_fail(p->eb, ERR_INVALID, "filter: %s should stand %zu bytes before its end",
                     expected, p->rest.len);
}

/* --- the program --------------------------------------------------------------------------------
 */

/* Appends a step. A step is a term, or comes from the stack and combines terms or, as NOT, waited
 * there: so the steps are bounded by the terms and by what may wait after each of them. */
static enum err add(struct parser *p, struct gw_backup_step step)
{
    if (p->out->count == GW_BACKUP_FILTER_STEPS)
        return base_fail(p->eb, ERR_TOO_BIG, "filter: it has more than %d words",
                         GW_BACKUP_FILTER_STEPS);
    p->out->steps[p->out->count++] = step;
    return ERR_OK;
}

static enum err wait_with(struct parser *p, enum waiting what)
{
    if (p->depth == WAITING_MAX)
        return base_fail(p->eb, ERR_TOO_BIG, "filter: more than %d brackets and words are open",
                         WAITING_MAX);
    p->stack[p->depth++] = what;
    return ERR_OK;
}

/* Moves every waiting operator that binds at least as tight as `what` to the program. */
static enum err write_waiting(struct parser *p, enum waiting what)
{
    static const enum gw_backup_step_kind KINDS[] = {
        [W_AND] = GW_BACKUP_STEP_AND, [W_OR] = GW_BACKUP_STEP_OR, [W_NOT] = GW_BACKUP_STEP_NOT};
    enum err e = ERR_OK;
    while (e == ERR_OK && p->depth > 0 && p->stack[p->depth - 1] >= what)
        e = add(p, (struct gw_backup_step){.kind = KINDS[p->stack[--p->depth]]});
    return e;
}

/* --- a comparison -------------------------------------------------------------------------------
 */

static enum err read_operator(struct parser *p, enum gw_backup_operator *out)
{
    static const struct {
        const char *sign;
        enum gw_backup_operator op;
    } SIGNS[] = {{"!=", GW_BACKUP_NOT_EQUAL}, {"<=", GW_BACKUP_AT_MOST}, {">=", GW_BACKUP_AT_LEAST},
                 {"=", GW_BACKUP_EQUAL},      {"<", GW_BACKUP_LESS},     {">", GW_BACKUP_GREATER},
                 {":", GW_BACKUP_HAS}};
    skip_spaces(p);
    for (size_t i = 0; i < sizeof SIGNS / sizeof SIGNS[0]; i++)
        if (take_sign(p, SIGNS[i].sign)) {
            *out = SIGNS[i].op;
            return ERR_OK;
        }
    return wrong(p, "one of : = != < <= > >=");
}

/* Reads a quoted text, or everything up to a space or a bracket. */
static enum err read_value(struct parser *p, struct slice *out, bool *out_quoted)
{
    skip_spaces(p);
    *out_quoted = take_sign(p, "\"");
    size_t len = 0;
    while (len < p->rest.len &&
           (*out_quoted ? p->rest.ptr[len] != '"'
                        : !is_space(p->rest.ptr[len]) && p->rest.ptr[len] != ')'))
        len++;
    if (*out_quoted && len == p->rest.len)
        return base_fail(p->eb, ERR_INVALID, "filter: a quotation mark is not closed");
    if (!*out_quoted && len == 0)
        return wrong(p, "a value");
    *out = base_slice(p->rest.ptr, len);
    p->rest = base_slice_skip(p->rest, len + (*out_quoted ? 1 : 0));
    return ERR_OK;
}

static enum err read_comparison(struct parser *p)
{
    struct gw_backup_step step = {.kind = GW_BACKUP_STEP_COMPARE};
    struct slice name = next_word(p);
    struct slice value = SLICE_EMPTY;
    if (name.len == 0)
        return wrong(p, "a field");
    enum err e = gw_backup_field_find(name, "filter", &step.field, p->eb);
    p->rest = base_slice_skip(p->rest, name.len);
    if (e == ERR_OK)
        e = read_operator(p, &step.op);
    if (e == ERR_OK)
        e = read_value(p, &value, &step.is_quoted);
    if (e != ERR_OK)
        return e;
    if (gw_backup_field_is_text(step.field))
        step.value.text = value;
    else if (gw_backup_field_is_time(step.field) &&
             base_parse_time(value, &step.value.number) != ERR_OK)
        return base_fail(p->eb, ERR_INVALID, "filter: a time must be like 2026-11-20T10:00:00Z");
    else if (step.field == GW_BACKUP_SIZE_BYTES &&
             base_parse_i64(value, &step.value.number) != ERR_OK)
        return base_fail(p->eb, ERR_INVALID, "filter: size_bytes must be compared with a number");
    if (++p->terms > GW_BACKUP_FILTER_TERMS)
        return base_fail(p->eb, ERR_TOO_BIG, "filter: it has more than %d comparisons",
                         GW_BACKUP_FILTER_TERMS);
    return add(p, step);
}

/* --- the whole ----------------------------------------------------------------------------------
 */

/* Reads up to and including the next comparison. */
static enum err read_term(struct parser *p)
{
    enum err e = ERR_OK;
    for (skip_spaces(p); e == ERR_OK; skip_spaces(p)) {
        if (take_sign(p, "("))
            e = wait_with(p, W_OPEN);
        else if (take_sign(p, "-") || take_word(p, "NOT"))
            e = wait_with(p, W_NOT);
        else
            return read_comparison(p);
    }
    return e;
}

static enum err close_brackets(struct parser *p)
{
    for (skip_spaces(p); take_sign(p, ")"); skip_spaces(p)) {
        enum err e = write_waiting(p, W_AND);
        if (e != ERR_OK)
            return e;
        if (p->depth == 0)
            return base_fail(p->eb, ERR_INVALID, "filter: a bracket is closed that was not open");
        p->depth--;
    }
    return ERR_OK;
}

static enum err read_conjunction(struct parser *p)
{
    bool is_or = take_word(p, "OR");
    if (!is_or)
        (void)take_word(p, "AND"); /* optional */
    enum waiting what = is_or ? W_OR : W_AND;
    enum err e = write_waiting(p, what);
    return e == ERR_OK ? wait_with(p, what) : e;
}

enum err gw_backup_filter_read(struct slice text, struct gw_backup_filter *out, struct errbuf *eb)
{
    struct parser p = {.rest = text, .out = out, .eb = eb};
    out->count = 0;
    skip_spaces(&p);
    if (p.rest.len == 0)
        return ERR_OK;
    for (;;) {
        enum err e = read_term(&p);
        if (e == ERR_OK)
            e = close_brackets(&p);
        if (e == ERR_OK && p.rest.len > 0)
            e = read_conjunction(&p);
        else if (e == ERR_OK)
            break;
        if (e != ERR_OK)
            return e;
    }
    enum err e = write_waiting(&p, W_AND);
    if (e == ERR_OK && p.depth > 0)
        return base_fail(eb, ERR_INVALID, "filter: a bracket is not closed");
    return e;
}

/* --- evaluation ---------------------------------------------------------------------------------
 */

static bool contains(struct slice text, struct slice part)
{
    for (size_t at = 0; at + part.len <= text.len; at++)
        if (gw_backup_text_compare(base_slice(text.ptr + at, part.len), part) == 0)
            return true;
    return false;
}

/* Returns the last part of projects/P/.../backups/ID. */
static struct slice id_of(struct slice name)
{
    for (size_t i = name.len; i > 0; i--)
        if (name.ptr[i - 1] == '/')
            return base_slice_skip(name, i);
    return name;
}

/* Evaluates HAS. A text that is not a name is searched in the ID only: all names contain
 * "projects". */
static bool has(const struct gw_backup_step *step, struct slice text)
{
    bool is_name = contains(step->value.text, SLICE_LIT("/"));
    return contains(is_name ? text : id_of(text), step->value.text);
}

static bool is_equal(const struct gw_backup_step *step, struct gw_backup_value value)
{
    if (!gw_backup_field_is_text(step->field))
        return value.number == step->value.number;
    return gw_backup_text_compare(value.text, step->value.text) == 0 ||
           gw_backup_text_compare(id_of(value.text), step->value.text) == 0;
}

static int compare(const struct gw_backup_step *step, struct gw_backup_value value)
{
    if (gw_backup_field_is_text(step->field))
        return gw_backup_text_compare(value.text, step->value.text);
    return value.number < step->value.number ? -1 : value.number > step->value.number;
}

static bool holds(const struct gw_backup_step *step, const Bta__Backup *backup)
{
    struct gw_backup_value value = gw_backup_field_of(backup, step->field);
    switch (step->op) {
    case GW_BACKUP_HAS:
        return gw_backup_field_is_text(step->field) && !step->is_quoted ? has(step, value.text)
                                                                        : is_equal(step, value);
    case GW_BACKUP_EQUAL:
        return is_equal(step, value);
    case GW_BACKUP_NOT_EQUAL:
        return !is_equal(step, value);
    case GW_BACKUP_LESS:
        return compare(step, value) < 0;
    case GW_BACKUP_AT_MOST:
        return compare(step, value) <= 0;
    case GW_BACKUP_GREATER:
        return compare(step, value) > 0;
    case GW_BACKUP_AT_LEAST:
        return compare(step, value) >= 0;
    }
    return false;
}

bool gw_backup_filter_means(const struct gw_backup_filter *filter, const Bta__Backup *backup)
{
    bool stack[GW_BACKUP_FILTER_TERMS + 1];
    size_t depth = 0;
    for (size_t i = 0; i < filter->count; i++) {
        const struct gw_backup_step *step = &filter->steps[i];
        if (step->kind == GW_BACKUP_STEP_COMPARE) {
            stack[depth++] = holds(step, backup);
        } else if (step->kind == GW_BACKUP_STEP_NOT) {
            stack[depth - 1] = !stack[depth - 1];
        } else {
            bool last = stack[--depth];
            bool is_and = step->kind == GW_BACKUP_STEP_AND;
            stack[depth - 1] = is_and ? stack[depth - 1] && last : stack[depth - 1] || last;
        }
    }
    INVARIANT(depth == (filter->count > 0 ? 1 : 0));
    return depth == 0 || stack[0];
}
