/*
 * tests/bench/tenants.c - what many tenants cost: creating one, durably; the start with all of
 * them; the memory of each, with a key; the same with a table of one family in each.
 *
 * The first ones are made one by one, as a request does, and timed. The rest are written as the
 * same documents, thousands in a batch: one by one, the disk's fsyncs alone would take minutes.
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "auth/key_doc.h"
#include "base/clock.h"
#include "storage/rocksdb/rocksdb_engine.h"
#include "tenancy/certificate_store.h"
#include "tenancy/doc_key.h"
#include "tenancy/tenant_doc.h"
#include "tests/bench/bench.h"

#include "base/banned.h"

enum { CREATED = 500, BATCH = 1000, ID_BYTES = 32, SCHEMA_MAX = 4096 };

static const uint8_t PEPPER[AUTH_PEPPER_BYTES] = "0123456789abcdef0123456789abcde";

struct store {
    struct base_epoch *epoch;
    struct sto_engine *engine;
    struct ten_registry *registry;
    struct auth_keyring *keyring;
    struct errbuf eb;
};

static void must(enum err rc, const struct errbuf *eb, const char *what)
{
    if (rc != ERR_OK)
        bench_fail("%s: %s %s", what, base_err_name(rc), eb->text);
}

static void open_engine(struct store *s, const char *dir)
{
    struct sto_rocksdb_options options;
    sto_rocksdb_options_default(&options);
    options.dir = dir;
    *s = (struct store){.epoch = base_epoch_new()};
    must(sto_rocksdb_open(&options, &s->engine, &s->eb), &s->eb, "engine");
}

static void open_rest(struct store *s, const char *dir)
{
    const struct ten_certificates_options certificates = {.dir = dir};
    const struct ten_registry_options options = {
        .engine = s->engine, .epoch = s->epoch, .certificates = &certificates};
    must(ten_registry_open(&options, &s->registry, &s->eb), &s->eb, "registry");
    must(auth_keyring_open(s->registry, s->epoch, PEPPER, &s->keyring, &s->eb), &s->eb, "keys");
}

static void close_all(struct store *s)
{
    auth_keyring_close(s->keyring);
    ten_registry_close(s->registry);
    sto_engine_close(s->engine);
    base_epoch_free(s->epoch);
}

/* --- one by one ------------------------------------------------------------------------------- */

struct creation {
    struct base_msg msg; /* first */
    struct store *store;
    double ms[CREATED];
    sem_t done;
};

static void run_creation(struct base_msg *msg)
{
    struct creation *c = (struct creation *)(void *)msg;
    for (int i = 0; i < CREATED; i++) {
        char id[ID_BYTES];
        struct ten_tenant *t = NULL;
        struct ten_tenant_wanted wanted = {.display_name = SLICE_LIT("Somebody")};
        (void)snprintf(id, sizeof id, "single%06d", i);
        double began = bench_seconds();
        must(ten_tenant_create(c->store->registry, base_slice_text(id), &wanted, &t, &c->store->eb),
             &c->store->eb, "create");
        c->ms[i] = (bench_seconds() - began) * 1e3;
    }
    (void)sem_post(&c->done); /* cannot overflow: it is posted once */
}

static int compare(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

static void measure_creation(const char *dir)
{
    static struct creation c = {.msg = {.run = run_creation}};
    struct store s;
    open_engine(&s, dir);
    open_rest(&s, dir);
    c.store = &s;
    if (sem_init(&c.done, 0, 0) != 0)
        bench_fail("no semaphore");
    ten_control_post(s.registry, &c.msg);
    while (sem_wait(&c.done) != 0) /* only a signal interrupts it */
        continue;
    qsort(c.ms, CREATED, sizeof c.ms[0], compare);
    (void)printf("create_p50_ms %.2f\ncreate_p99_ms %.2f\n", c.ms[CREATED / 2],
                 c.ms[CREATED * 99 / 100]);
    close_all(&s);
}

/* --- the rest --------------------------------------------------------------------------------- */

struct batch {
    struct sto_doc_change changes[2 * BATCH];
    struct ten_doc_key tenant_keys[BATCH];
    char key_keys[BATCH][2 + AUTH_KEY_ID + 1];
    struct buf bodies[2 * BATCH];
};

static void put(struct batch *b, size_t i, uint64_t number)
{
    struct ten_tenant t = {.magic = TEN_TENANT_MAGIC};
    struct ten_details d = {.created_us = base_wall_us(), .display_name = "Somebody"};
    struct auth_key key = {
        .kind = AUTH_TENANT, .scopes = AUTH_SCOPES_TENANT, .tenant = &t, .label = "app"};
    struct buf *tenant_body = &b->bodies[2 * i];
    struct buf *key_body = &b->bodies[2 * i + 1];
    struct errbuf none = {.text = ""};
    d.state_since_us = key.created_us = d.created_us;
    ten_quota_default(&d.quota);
    t.id_len = (uint8_t)snprintf(t.id, sizeof t.id, "tenant%08llu", (unsigned long long)number);
    (void)snprintf(b->key_keys[i], sizeof b->key_keys[i], "k/%012llu", (unsigned long long)number);
    b->tenant_keys[i] = ten_doc_key_tenant(ten_tenant_id(&t));
    base_buf_init(tenant_body, TEN_TENANT_DOC_MAX);
    base_buf_init(key_body, AUTH_KEY_DOC_MAX);
    must(ten_tenant_encode(TEN_ACTIVE, &d, tenant_body), &none, "tenant");
    must(auth_key_encode(&key, key_body), &none, "key");
    b->changes[2 * i] = (struct sto_doc_change){.key = ten_doc_key_slice(&b->tenant_keys[i]),
                                                .body = base_buf_slice(tenant_body)};
    b->changes[2 * i + 1] = (struct sto_doc_change){.key = base_slice_text(b->key_keys[i]),
                                                    .body = base_buf_slice(key_body)};
}

static void write_documents(const char *dir, uint64_t count)
{
    static struct batch b;
    struct store s;
    open_engine(&s, dir);
    for (uint64_t from = 0; from < count; from += BATCH) {
        size_t n = count - from < BATCH ? (size_t)(count - from) : BATCH;
        for (size_t i = 0; i < n; i++)
            put(&b, i, from + i);
        must(sto_docs_commit(s.engine, b.changes, 2 * n, &s.eb), &s.eb, "documents");
        for (size_t i = 0; i < 2 * n; i++)
            base_buf_fini(&b.bodies[i]);
    }
    sto_engine_close(s.engine);
    base_epoch_free(s.epoch);
}

/* A table in each of them. */
static void write_tables(const char *dir, uint64_t count)
{
    static struct sto_doc_change changes[BATCH];
    static struct ten_doc_key keys[BATCH];
    static const struct sto_family_spec family = {.name = SLICE_LIT("f")};
    const struct sto_table_spec spec = {.families = &family, .family_count = 1};
    struct slice id = SLICE_LIT("rows");
    struct sto_schema *schema;
    struct store s;
    struct buf body;
    open_engine(&s, dir);
    base_buf_init(&body, SCHEMA_MAX);
    must(sto_schema_make(id, NULL, &spec, &schema, &s.eb), &s.eb, "schema");
    must(sto_schema_encode(schema, &body), &s.eb, "schema");
    for (uint64_t from = 0; from < count; from += BATCH) {
        size_t n = count - from < BATCH ? (size_t)(count - from) : BATCH;
        for (size_t i = 0; i < n; i++) {
            char tenant[ID_BYTES];
            (void)snprintf(tenant, sizeof tenant, "tenant%08llu", (unsigned long long)(from + i));
            keys[i] = ten_doc_key_schema(base_slice_text(tenant), id);
            changes[i] = (struct sto_doc_change){.key = ten_doc_key_slice(&keys[i]),
                                                 .body = base_buf_slice(&body)};
        }
        must(sto_docs_commit(s.engine, changes, n, &s.eb), &s.eb, "documents");
    }
    base_buf_fini(&body);
    sto_schema_unref(schema);
    sto_engine_close(s.engine);
    base_epoch_free(s.epoch);
}

static void measure_start(const char *dir, uint64_t count)
{
    char self[24];
    struct store s;
    (void)snprintf(self, sizeof self, "%d", (int)getpid());
    double began = bench_seconds();
    open_engine(&s, dir);
    uint64_t before = bench_resident_kib(self);
    double engine = bench_seconds();
    open_rest(&s, dir);
    double end = bench_seconds();
    uint64_t after = bench_resident_kib(self);
    (void)printf("start_ms %.0f\nregistry_ms %.0f\nbytes_each %.0f\n", (end - began) * 1e3,
                 (end - engine) * 1e3, (double)(after - before) * 1024 / (double)count);
    close_all(&s);
}

/* bench tenants DIR COUNT: in an empty directory. */
int bench_tenants(int argc, char **argv)
{
    if (argc != 2)
        bench_fail("usage: bench tenants DIR COUNT");
    uint64_t count = bench_number(argv[1]);
    measure_creation(argv[0]);
    write_documents(argv[0], count);
    measure_start(argv[0], count);
    return EXIT_SUCCESS;
}

/* bench tables DIR COUNT: in a directory of bench tenants with that count. */
int bench_tables(int argc, char **argv)
{
    if (argc != 2)
        bench_fail("usage: bench tables DIR COUNT");
    uint64_t count = bench_number(argv[1]);
    write_tables(argv[0], count);
    measure_start(argv[0], count);
    return EXIT_SUCCESS;
}
