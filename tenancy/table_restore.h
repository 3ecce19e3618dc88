/*
 * tenancy/table_restore.h - hidden tables that are filled from a backup.
 *
 * Does:     creates a table that is in no list; returns the scope to write its rows; publishes it,
 *           or has it removed.
 * Owns:     the table, from begin to publish or abandon.
 * May use:  base/, storage/, tenancy/.
 * Knows no: backups.
 * Threads:  control; the thread that fills the table uses the scope.
 * Blocks:   on the disk.
 * Fails by: ERR_EXISTS (a table of this name exists, is being deleted or restored), ERR_QUOTA
 *           (tables), ERR_TOO_BIG, ERR_GONE, ERR_SUSPENDED, ERR_UNAVAILABLE (the server stops).
 * Limits:   as ten_table_put.
 * Promises: 1. Its stored schema is marked as being deleted, until the batch that publishes it:
 *              after a crash its rows are removed. 2. Its rows count against the tenant's quota
 *              from the first one on. 3. Deletion protection, the change stream's retention and
 *              views are restored only on request; a stream starts from scratch, so that no token
 *              of an earlier stream is valid for it.
 */
#ifndef TENANCY_TABLE_RESTORE_H
#define TENANCY_TABLE_RESTORE_H

#include "storage/scope.h"
#include "tenancy/registry.h"

struct ten_table_restore;

struct ten_table_wish {
    struct slice table_id;
    const struct sto_schema *like; /* families, rules, notes and splits, from the backup; its family
                                    * numbers are not used */
    bool is_whole;                 /* also restore deletion protection, change stream and origin */
    struct slice origin;           /* not is_whole: the backup it comes from, LIM_TABLE_ORIGIN */
};

enum err ten_table_restore_begin(struct ten_registry *r, struct ten_tenant *t,
                                 const struct ten_table_wish *wish, struct ten_table_restore **out,
                                 struct errbuf *eb) MUST_CHECK;
/* Adds a view. body: its document, as ten_view_encode wrote it. ERR_CORRUPT, ERR_TOO_BIG
 * (LIM_VIEWS). */
enum err ten_table_restore_view(struct ten_table_restore *m, struct slice view_id,
                                struct slice body, struct errbuf *eb) MUST_CHECK;
/* Any thread, while the restore exists. The caller releases the scope before the restore ends. */
struct sto_table_scope ten_table_restore_scope(const struct ten_table_restore *m);
/* Makes the tables, all of one tenant and sorted by table ID, visible to all requests; changes
 * `also` in the same batch. Frees them, unless it fails. */
enum err ten_table_restores_publish(struct ten_table_restore *const *all, size_t count,
                                    const struct sto_doc_change *also, size_t also_count,
                                    struct errbuf *eb) MUST_CHECK;
/* Has its rows removed; until they are, no table of this name can be created. Frees m. */
void ten_table_restore_abandon(struct ten_table_restore *m);

#endif
