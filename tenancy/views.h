/*
 * tenancy/views.h - the authorized views of tables: created, changed and deleted; found by
 * requests.
 *
 * Does:     keeps each view as a document and in its table's list; finds views without a lock.
 * Owns:     the lists, which belong to the tables.
 * May use:  base/, storage/, tenancy/.
 * Knows no: protobuf; how a view is used.
 * Threads:  "control" functions as in registry.h; the others from any thread joined to the epoch.
 * Blocks:   control functions block on the disk.
 * Fails by: as said per function.
 * Limits:   LIM_VIEWS per table, those of storage/view.h.
 * Promises: 1. A change is durable before it is visible, and visible before the call returns.
 *           2. A view is found through the table that it was created for, never through a later
 *              table of the same name.
 */
#ifndef TENANCY_VIEWS_H
#define TENANCY_VIEWS_H

#include "storage/scope.h"
#include "storage/view_list.h"
#include "tenancy/registry.h"

#define TEN_VIEW_ETAG_BYTES 17 /* with its NUL */

/* Writes a digest of the view's specification, as text; it differs whenever the specification
 * differs. */
void ten_view_etag(const struct sto_view *view, char out[TEN_VIEW_ETAG_BYTES]);

/* One ref. ERR_NOT_FOUND. */
enum err ten_view_find(const struct sto_schema *schema, struct slice id, struct sto_view **out,
                       struct errbuf *eb) MUST_CHECK;
/* Returns the views in ID order; NULL: none. Valid until the thread's next quiescent point. */
const struct sto_view_list *ten_views_of(const struct sto_schema *schema);

/* --- control thread --------------------------------------------------------------------------- */

/* Every named family must exist in the table now. Returns one ref. ERR_EXISTS, ERR_NOT_FOUND
 * (table, family), ERR_INVALID, ERR_TOO_BIG, and as ten_table_put. */
enum err ten_view_create(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                         struct slice id, const struct sto_view_spec *spec, struct sto_view **out,
                         struct errbuf *eb) MUST_CHECK;

struct ten_view_change {
    struct slice etag;                /* empty: any; otherwise ERR_PRECONDITION if it differs */
    const struct sto_view_spec *spec; /* NULL: rows and columns stay; protected is ignored */
    bool has_protected;
    bool protected;
};

/* ERR_NOT_FOUND (table, view, family), otherwise as ten_view_create. */
enum err ten_view_update(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                         struct slice id, const struct ten_view_change *change,
                         struct sto_view **out, struct errbuf *eb) MUST_CHECK;
/* ERR_NOT_FOUND, ERR_PRECONDITION (etag), ERR_CONFLICT (deletion protection). */
enum err ten_view_delete(struct ten_registry *r, struct ten_tenant *t, struct slice table_id,
                         struct slice id, struct slice etag, struct errbuf *eb) MUST_CHECK;

#endif
