/*
 * tenancy/views.h - the authorized views of tables: made, changed and deleted; found by requests.
 *
 * Does:     keep each view as a document and in its table's list; find one without a lock.
 * Owns:     the lists, which hang on the tables.
 * May use:  base/, storage/, tenancy/.
 * Knows no: protobuf; what a view is used for.
 * Threads:  "control" functions as in registry.h; the others from any thread joined to the epoch.
 * Blocks:   control functions block on the disk.
 * Fails by: as said per function.
 * Limits:   LIM_VIEWS a table, those of storage/view.h.
 * Promises: 1. A change is durable before it is visible, and visible before the call returns.
 *           2. A view is found by the table that it was made for, never by one of the same name
 *              that was made later.
 */
#ifndef TENANCY_VIEWS_H
#define TENANCY_VIEWS_H

#include "storage/scope.h"
#include "storage/view_list.h"
#include "tenancy/registry.h"

#define TEN_VIEW_ETAG_BYTES 17 /* with its NUL */

/* What a view says, as text; another one for whatever is said otherwise. */
void ten_view_etag(const struct sto_view *view, char out[TEN_VIEW_ETAG_BYTES]);

/* One ref. ERR_NOT_FOUND. */
enum err ten_view_find(const struct sto_schema *schema, struct slice id, struct sto_view **out,
                       struct errbuf *eb) MUST_CHECK;
/* By ID; NULL: none. Valid until the thread's next quiescent point. */
const struct sto_view_list *ten_views_of(const struct sto_schema *schema);

/* --- control thread --------------------------------------------------------------------------- */

/* Every family that is named must be the table's now. One ref on what is made. ERR_EXISTS,
 * ERR_NOT_FOUND (table, family), ERR_INVALID, ERR_TOO_BIG, and as ten_table_put. */
enum err ten_view_create(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                         struct slice id, const struct sto_view_spec *spec, struct sto_view **out,
                         struct errbuf *eb) MUST_CHECK;

struct ten_view_change {
    struct slice etag;                /* empty: whatever it is now; ERR_PRECONDITION */
    const struct sto_view_spec *spec; /* NULL: rows and columns stay; protected is not looked at */
    bool has_protected;
    bool protected;
};

/* ERR_NOT_FOUND (table, view, family), else as above. */
enum err ten_view_update(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                         struct slice id, const struct ten_view_change *change,
                         struct sto_view **out, struct errbuf *eb) MUST_CHECK;
/* ERR_NOT_FOUND, ERR_PRECONDITION (etag), ERR_CONFLICT (deletion protection). */
enum err ten_view_delete(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                         struct slice id, struct slice etag, struct errbuf *eb) MUST_CHECK;

#endif
