/*
 * migrations/backup_tables.c - appends schemas one by one.
 */
#include "migrations/backup_tables.h"

#include "base/alloc.h"
#include "tenancy/doc_key.h"

#include "base/banned.h"

enum err mig_tables_take(struct mig_tables *t, struct slice key, struct slice body, bool *out_taken,
                         struct errbuf *eb)
{
    struct slice tenant_id, table_id;
    struct sto_schema *schema = NULL;
    *out_taken = false;
    enum err rc = ten_doc_key_table_parts(key, &tenant_id, &table_id);
    if (rc == ERR_OK &&
        (!base_slice_equal(tenant_id, t->tenant) || sto_table_id_check(table_id, NULL) != ERR_OK))
        rc = ERR_CORRUPT;
    if (rc == ERR_OK && t->only.len > 0 && !base_slice_equal(table_id, t->only))
        return ERR_OK;
    if (rc == ERR_OK)
        rc = sto_schema_decode(table_id, body, NULL, &schema);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the document of a table is damaged");
    if (schema->deleting) {
        sto_schema_unref(schema);
        return ERR_OK;
    }
    if (t->count == LIM_TABLES) {
        sto_schema_unref(schema);
        return base_fail(eb, ERR_TOO_BIG, "the tenant has more than %d tables", LIM_TABLES);
    }
    if (t->schemas == NULL)
        t->schemas = base_new_array(LIM_TABLES, sizeof t->schemas[0]);
    t->schemas[t->count++] = schema;
    *out_taken = true;
    return ERR_OK;
}

bool mig_tables_find(const struct mig_tables *t, struct slice table_id, size_t *out_at)
{
    for (size_t i = 0; i < t->count; i++) {
        if (!base_slice_equal(sto_schema_table_id(t->schemas[i]), table_id))
            continue;
        *out_at = i;
        return true;
    }
    return false;
}

void mig_tables_fini(struct mig_tables *t)
{
    for (size_t i = 0; i < t->count; i++)
        sto_schema_unref(t->schemas[i]);
    base_free(t->schemas);
    t->schemas = NULL;
    t->count = 0;
}
