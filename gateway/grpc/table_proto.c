/*
 * gateway/grpc/table_proto.c - Table messages as requests to tenancy, and tables as messages.
 */
#include "gateway/grpc/table_proto.h"

#include "gateway/grpc/backup_proto.h"
#include "gateway/grpc/decode.h"
#include "gateway/grpc/family_proto.h"
#include "gateway/grpc/time_proto.h"

#include "base/banned.h"

#define US_PER_S 1000000

/* --- from messages ------------------------------------------------------------------------------
 */

static enum err unsupported(const Bta__Table *t, struct errbuf *eb)
{
    if (t->granularity == BTA__TABLE__TIMESTAMP_GRANULARITY__MICROS)
        return base_fail(eb, ERR_UNSUPPORTED, "timestamps have milliseconds: granularity MICROS");
    if (t->automated_backup_config_case != BTA__TABLE__AUTOMATED_BACKUP_CONFIG__NOT_SET)
        return base_fail(eb, ERR_UNSUPPORTED,
                         "backups are made when asked for: automated_backup_policy");
    if (t->tiered_storage_config != NULL)
        return base_fail(eb, ERR_UNSUPPORTED, "storage has one tier: tiered_storage_config");
    if (t->row_key_schema != NULL)
        return base_fail(eb, ERR_UNSUPPORTED, "row keys are not interpreted: row_key_schema");
    return ERR_OK;
}

enum err gw_change_retention_from_proto(const Bta__ChangeStreamConfig *message, uint64_t *out_s,
                                        struct errbuf *eb)
{
    int64_t us = 0;
    *out_s = 0;
    if (message == NULL)
        return ERR_OK;
    if (message->retention_period == NULL ||
        !gw_duration_from_proto(message->retention_period, &us) || us == 0 || us % US_PER_S != 0)
        return base_fail(eb, ERR_INVALID,
                         "change_stream_config.retention_period must be a number of whole seconds, "
                         "one day to seven days of them");
    *out_s = (uint64_t)us / US_PER_S;
    return ERR_OK;
}

enum err gw_table_from_proto(const Bta__Table *message, struct arena *arena,
                             struct ten_table_wanted *out, struct errbuf *eb)
{
    *out = (struct ten_table_wanted){0};
    if (message == NULL)
        return ERR_OK;
    enum err e = unsupported(message, eb);
    size_t count = message->n_column_families;
    if (e == ERR_OK && count > LIM_FAMILIES)
        e = base_fail(eb, ERR_TOO_BIG, "%zu families; the limit is %d", count, LIM_FAMILIES);
    if (e != ERR_OK)
        return e;
    struct sto_family_spec *specs = base_arena_zalloc(arena, (count + 1) * sizeof *specs);
    if (specs == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu families", count);
    for (size_t i = 0; i < count; i++) {
        static const Bta__ColumnFamily plain = BTA__COLUMN_FAMILY__INIT;
        const Bta__Table__ColumnFamiliesEntry *entry = message->column_families[i];
        struct slice name = base_slice_text(entry->key);
        e = sto_family_name_check(name, eb);
        if (e == ERR_OK)
            e = gw_family_from_proto(name, entry->value == NULL ? &plain : entry->value, arena,
                                     &specs[i], eb);
        if (e != ERR_OK)
            return e;
    }
    out->families = specs;
    out->family_count = count;
    out->has_protected = message->deletion_protection != 0;
    out->protected = out->has_protected;
    out->has_change_retention = message->change_stream_config != NULL;
    return gw_change_retention_from_proto(message->change_stream_config, &out->change_retention_s,
                                          eb);
}

/* --- to messages --------------------------------------------------------------------------------
 */

static enum err no_memory(struct errbuf *eb)
{
    return base_fail(eb, ERR_NO_MEMORY, "out of memory for the description of a table");
}

static enum err put_change_stream(Bta__Table *table, const struct sto_schema *schema,
                                  struct arena *arena, struct errbuf *eb)
{
    if (schema->change_retention_s == 0)
        return ERR_OK;
    Bta__ChangeStreamConfig *config = gw_proto_new(arena, &bta__change_stream_config__descriptor);
    Google__Protobuf__Duration *period =
        gw_proto_new(arena, &google__protobuf__duration__descriptor);
    if (config == NULL || period == NULL)
        return no_memory(eb);
    period->seconds = schema->change_retention_s;
    config->retention_period = period;
    table->change_stream_config = config;
    return ERR_OK;
}

static enum err put_families(Bta__Table *table, const struct sto_schema *schema,
                             struct arena *arena, struct errbuf *eb)
{
    size_t count = schema->family_count;
    table->column_families = base_arena_alloc(arena, (count + 1) * sizeof(*table->column_families));
    if (table->column_families == NULL)
        return no_memory(eb);
    for (size_t i = 0; i < count; i++) {
        const struct sto_family *family = &schema->families[i];
        Bta__Table__ColumnFamiliesEntry *entry =
            gw_proto_new(arena, &bta__table__column_families_entry__descriptor);
        if (entry == NULL)
            return no_memory(eb);
        entry->key = base_arena_text(arena, base_slice(family->name, family->name_len));
        enum err e = gw_family_to_proto(family, arena, &entry->value, eb);
        if (e != ERR_OK || entry->key == NULL)
            return e != ERR_OK ? e : no_memory(eb);
        table->column_families[table->n_column_families++] = entry;
    }
    table->granularity = BTA__TABLE__TIMESTAMP_GRANULARITY__MILLIS;
    table->deletion_protection = schema->protected;
    return put_change_stream(table, schema, arena, eb);
}

/* Adds the only cluster, which is always ready. */
static enum err put_clusters(Bta__Table *table, struct arena *arena, struct errbuf *eb)
{
    static char name[] = GW_CLUSTER;
    Bta__Table__ClusterStatesEntry *entry =
        gw_proto_new(arena, &bta__table__cluster_states_entry__descriptor);
    Bta__Table__ClusterState *state = gw_proto_new(arena, &bta__table__cluster_state__descriptor);
    table->cluster_states = base_arena_alloc(arena, sizeof(*table->cluster_states));
    if (entry == NULL || state == NULL || table->cluster_states == NULL)
        return no_memory(eb);
    state->replication_state = BTA__TABLE__CLUSTER_STATE__REPLICATION_STATE__READY;
    entry->key = name;
    entry->value = state;
    table->cluster_states[0] = entry;
    table->n_cluster_states = 1;
    return ERR_OK;
}

enum err gw_table_to_proto(const struct sto_schema *schema, const struct gw_resource *instance,
                           Bta__Table__View view, struct arena *arena, Bta__Table **out,
                           struct errbuf *eb)
{
    struct gw_resource name = {.kind = GW_RESOURCE_TABLE,
                               .project = instance->project,
                               .instance = instance->instance,
                               .table = sto_schema_table_id(schema)};
    Bta__Table *table = gw_proto_new(arena, &bta__table__descriptor);
    if (table == NULL || (table->name = gw_resource_name(arena, &name)) == NULL)
        return no_memory(eb);
    *out = table;
    enum err e = ERR_OK;
    bool has_schema = view == BTA__TABLE__VIEW__SCHEMA_VIEW || view == BTA__TABLE__VIEW__FULL;
    if (has_schema)
        e = put_families(table, schema, arena, eb);
    if (e == ERR_OK && has_schema)
        e = gw_restore_info_to_proto(schema->origin, instance, arena, &table->restore_info, eb);
    if (e == ERR_OK && view != BTA__TABLE__VIEW__SCHEMA_VIEW && view != BTA__TABLE__VIEW__NAME_ONLY)
        e = put_clusters(table, arena, eb);
    return e;
}
