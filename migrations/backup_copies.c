/*
 * migrations/backup_copies.c - collects copies under the lock, visits them without it.
 */
#include "migrations/backup_copies.h"

#include "base/alloc.h"
#include "migrations/backup_internal.h"

#include "base/banned.h"

#define COPIES_MAX (2 * MIG_BACKUPS_MAX + 1)

/* A listed backup may still be marked as being made: it must be visited once. */
static bool is_listed(const struct mig_backups *b, const char *id)
{
    for (size_t i = b->count; i-- > 0;)
        if (strcmp(b->entries[i].backup.id, id) == 0)
            return true;
    return false;
}

static size_t collect(struct mig_backups *b, struct mig_trace *out)
{
    size_t count = 0;
    pthread_mutex_lock(&b->lock);
    for (size_t i = 0; i < b->leaving_count; i++)
        out[count++] = b->leaving[i];
    for (size_t i = 0; i < b->count; i++)
        out[count++] = mig_trace_of(&b->entries[i].backup);
    if (b->making.id[0] != '\0' && !is_listed(b, b->making.id))
        out[count++] = b->making;
    pthread_mutex_unlock(&b->lock);
    return count;
}

enum err mig_backup_copies_visit(void *ctx, ten_copy_visit *visit, void *visit_ctx,
                                 struct errbuf *eb)
{
    struct mig_trace *traces = base_new_array(COPIES_MAX, sizeof traces[0]);
    size_t count = collect(ctx, traces);
    enum err rc = ERR_OK;
    (void)eb; /* visit reports its own error */
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        struct ten_copy copy = {.created_us = traces[i].created_us,
                                .expires_us = traces[i].expires_us};
        memcpy(copy.id, traces[i].id, sizeof traces[i].id);
        memcpy(copy.tenant, traces[i].tenant, sizeof copy.tenant);
        rc = visit(visit_ctx, &copy);
    }
    base_free(traces);
    return rc;
}
