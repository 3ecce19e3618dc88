/*
 * tenancy/table_restore.h - a table that is being filled from a backup, and seen by nobody.
 *
 * Does:     make a table that is in no list; give the scope to write its rows; publish it, or have
 *           it removed.
 * Owns:     the table, from begin to publish or abandon.
 * May use:  base/, storage/, tenancy/.
 * Knows no: backups.
 * Threads:  control; the scope is used by whoever fills the table.
 * Blocks:   on the disk.
 * Fails by: ERR_EXISTS (a table of this name is there, is being deleted or restored), ERR_QUOTA
 *           (tables), ERR_TOO_BIG, ERR_GONE, ERR_SUSPENDED, ERR_UNAVAILABLE (the server stops).
 * Limits:   as ten_table_put.
 * Promises: 1. What is stored of it says that it is being deleted, until the batch that publishes
 *              it: after a crash its rows are removed. 2. Its rows count for the tenant's quota
 *              from the first one on. 3. Deletion protection, the change stream's retention and
 *              views are taken over only when that is asked for; a stream begins anew, so that no
 *              token of an earlier one is good for it.
 */
#ifndef TENANCY_TABLE_RESTORE_H
#define TENANCY_TABLE_RESTORE_H

#include "storage/scope.h"
#include "tenancy/registry.h"

struct ten_table_restore;

struct ten_table_wish {
    struct slice table_id;
    const struct sto_schema *like; /* families, rules, notes and splits, from the backup; its family
                                    * numbers do not count */
    bool is_whole;                 /* deletion protection, change stream and origin, too */
    struct slice origin;           /* not is_whole: where it comes from, LIM_TABLE_ORIGIN */
};

enum err ten_table_restore_begin(struct ten_registry *r, struct ten_tenant *t,
                                 const struct ten_table_wish *wish, struct ten_table_restore **out,
                                 struct errbuf *eb) MUST_CHECK;
/* body: its document, as ten_view_encode wrote it. ERR_CORRUPT, ERR_TOO_BIG (LIM_VIEWS). */
enum err ten_table_restore_view(struct ten_table_restore *m, struct slice view_id,
                                struct slice body, struct errbuf *eb) MUST_CHECK;
/* Any thread, while it is there. The caller releases it, before the restore ends. */
struct sto_table_scope ten_table_restore_scope(const struct ten_table_restore *m);
/* Everybody sees them, all of one tenant, by table ID; `also` is changed in the same batch. Frees
 * them, unless it fails. */
enum err ten_table_restores_publish(struct ten_table_restore *const *all, size_t count,
                                    const struct sto_doc_change *also, size_t also_count,
                                    struct errbuf *eb) MUST_CHECK;
/* Its rows are removed; until they are, nobody makes a table of this name. Frees m. */
void ten_table_restore_abandon(struct ten_table_restore *m);

#endif
