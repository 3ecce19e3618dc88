/*
 * storage/view.h - an authorized view: the part of a table that a request may see and change.
 *
 * Does:     describes rows by prefixes and columns by family, qualifier and qualifier prefix, as an
 *           immutable, ref-counted value; decides whether a row or column is inside, and where the
 *           next column inside is.
 * Owns:     its names and bytes.
 * May use:  base/, storage/.
 * Knows no: who may use which view, documents, protobuf.
 * Threads:  any; a view never changes after it was published.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_TOO_BIG naming the limit; ERR_FORBIDDEN naming the part outside;
 *           ERR_NO_MEMORY.
 * Limits:   LIM_VIEW_ID, LIM_VIEW_PARTS, LIM_VIEW_BYTES, LIM_FAMILIES, LIM_ROW_KEY, LIM_QUALIFIER.
 * Promises: 1. A family that is not named has no column inside; names of families that the table
 *              does not have are stored and have no effect.
 *           2. rows and the columns of a family are sorted and do not overlap.
 */
#ifndef STORAGE_VIEW_H
#define STORAGE_VIEW_H

#include "base/arena.h"
#include "base/limits.h"
#include "storage/mutation.h"
#include "storage/row_set.h"

/* --- as requested ----------------------------------------------------------------------------- */

struct sto_view_family_spec {
    struct slice name;
    const struct slice *qualifiers;
    size_t qualifier_count;
    const struct slice *prefixes; /* of qualifiers; an empty prefix: the whole family */
    size_t prefix_count;
};

struct sto_view_spec {
    const struct slice *row_prefixes; /* count 0: no row; an empty prefix: every row */
    size_t row_prefix_count;
    const struct sto_view_family_spec *families;
    size_t family_count;
    bool protected; /* neither the view nor its table may be deleted */
};

/* --- as used ---------------------------------------------------------------------------------- */

struct sto_view_columns {
    struct slice bytes;
    bool is_prefix; /* else exactly this qualifier */
};

struct sto_view_family {
    struct slice name;
    const struct sto_view_columns *columns; /* ascending, none inside another */
    size_t column_count;
};

struct sto_view {
    _Atomic uint32_t refs;
    uint8_t id_len;
    char id[LIM_VIEW_ID + 1];
    uint64_t version; /* of the stored document; 0 before it is stored */
    uint64_t digest;  /* of the stored document's body */
    struct sto_row_set rows;
    const struct sto_view_family *families; /* sorted by name */
    size_t family_count;
    struct sto_view_spec spec; /* a copy of the request */
    size_t bytes;              /* memory used */
    struct arena arena;
};

/* Checks a view ID, by the rule of table IDs: [_a-zA-Z0-9][-_.a-zA-Z0-9]*, at most LIM_VIEW_ID. */
enum err sto_view_id_check(struct slice id, struct errbuf *eb) MUST_CHECK;
/* Makes a view with one ref. Everything is copied. */
enum err sto_view_make(struct slice id, const struct sto_view_spec *spec, struct sto_view **out,
                       struct errbuf *eb) MUST_CHECK;
struct sto_view *sto_view_ref(struct sto_view *v);
void sto_view_unref(struct sto_view *v);

static inline struct slice sto_view_id(const struct sto_view *v)
{
    return base_slice(v->id, v->id_len);
}

/* Returns the family's columns; NULL: none of them is inside. */
const struct sto_view_family *sto_view_family(const struct sto_view *v, struct slice name);
bool sto_view_family_is_whole(const struct sto_view_family *f);
/* Returns the set of columns that holds the qualifier; NULL: the qualifier is outside, and
 * *out_next is the first set after it, or NULL. */
const struct sto_view_columns *sto_view_family_find(const struct sto_view_family *f,
                                                    struct slice qualifier,
                                                    const struct sto_view_columns **out_next);

/* Checks that all mutations are inside; ERR_FORBIDDEN. Whole rows cannot be deleted through a view.
 * The mutations must have passed sto_mutations_check. */
enum err sto_view_mutations_check(const struct sto_view *v, const struct sto_schema *schema,
                                  struct slice row_key, const struct sto_mutation *mutations,
                                  size_t count, struct errbuf *eb) MUST_CHECK;

#endif
