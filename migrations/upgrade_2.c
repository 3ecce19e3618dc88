/*
 * migrations/upgrade_2.c - upgrades the first format, which had no certificates.
 *
 * Format 2 has canaries, states DELETE_REQUESTED and EXPIRED, holds and encrypted values. A program
 * of format 1 would take encrypted values for damage, write plain ones beside them, and drop holds:
 * it must not open such a directory. Everything but the canaries needs no step.
 */
#include <stdlib.h>

#include "base/text.h"
#include "migrations/upgrade.h"
#include "storage/places.h"
#include "storage/rocksdb/image.h"
#include "tenancy/canary.h"

#include "base/banned.h"

/* Keys written along with a tenant's canaries: its document. */
#define WRITTEN_BESIDE 1

/* Test tool: returns a smaller part, for directories of a few tenants. */
static size_t part(void)
{
    const char *text = getenv("BIGTENT_TEST_UPGRADE_PART");
    uint64_t number = 0;
    if (text == NULL || base_parse_u64(base_slice_text(text), &number) != ERR_OK || number == 0 ||
        number > MIG_UPGRADE_PART)
        return MIG_UPGRADE_PART;
    return (size_t)number;
}

enum err mig_upgrade_2(struct ten_registry *r, size_t *out_left, struct errbuf *eb)
{
    return ten_canaries_plant_missing(r, part(), out_left, eb);
}

struct measuring {
    struct mig_upgrade_amount amount;
    struct errbuf *eb;
};

static enum err measure_tenant(void *ctx, struct slice key, struct slice body)
{
    struct measuring *m = ctx;
    struct mig_upgrade_amount *amount = &m->amount;
    bool is_due = false;
    if (ten_canaries_are_missing(body, &is_due) != ERR_OK)
        return base_fail(m->eb, ERR_CORRUPT, "the document %.*s is damaged", SLICE_ARGS(key));
    amount->all++;
    amount->read_bytes += key.len + body.len;
    if (!is_due)
        return ERR_OK;
    amount->due++;
    amount->commits++;
    amount->write_keys += STO_CANARIES + WRITTEN_BESIDE;
    return ERR_OK;
}

enum err mig_upgrade_2_measure(const char *db, struct mig_upgrade_amount *out, struct errbuf *eb)
{
    struct measuring m = {.eb = eb};
    struct sto_image *image = NULL;
    enum err rc = sto_image_open(db, &image, eb);
    if (rc == ERR_OK)
        rc = sto_image_visit_docs(image, sto_doc_prefix(STO_DOC_TENANT), measure_tenant, &m, eb);
    sto_image_close(image);
    if (rc == ERR_OK)
        *out = m.amount;
    return rc;
}
