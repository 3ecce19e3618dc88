/*
 * tests/auth/test_departed_keys.c - of the keys of a tenant that is gone, and of its name, nothing
 * stays that anybody wrote: neither in documents nor in any version in any file.
 *
 * Over 500 lines because all tests look for it in the same ways.
 */
#include "tests/auth/keys.h"

#include <dirent.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "auth/key_doc.h"
#include "auth/keyring_internal.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/table_file.h"
#include "tenancy/plan.h"
#include "tests/storage/files_hold.h"
#include "tests/tenancy/ticks.h"

#include "base/banned.h"

Suite *suite_auth_departed_keys(void);

#define LEAVING "altostrat"
#define STAYING "altostrat2"
/* Of everything that is written about the tenant that leaves, and about no other. */
#define CANARY "canary-9c41e7"

static char texts[3][AUTH_KEY_TEXT + 1]; /* the tenant's; the last one was revoked */

static void make_key(struct ten_tenant *t, const char *label, const char *prefix,
                     char out[AUTH_KEY_TEXT + 1])
{
    struct key_args a = {.kind = AUTH_TENANT,
                         .tenant = t,
                         .scopes = AUTH_DATA_READ,
                         .text = base_slice_text(label),
                         .row_prefix = base_slice_text(prefix),
                         .limits = {.read_ops_per_s = 1234}};
    tent_control(&tent, do_create, &a);
    ck_assert_msg(a.rc == ERR_OK, "%s", tent.eb.text);
    memcpy(out, a.out, sizeof a.out);
}

static void flush(void)
{
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(tent.engine)), ERR_OK);
}

/* Each document is in a table file of its own before the next one is written, with old versions of
 * both: a name that was changed, and a key that was revoked. */
static void fill(void)
{
    struct ten_tenant *t = NULL;
    struct ten_tenant *staying = NULL;
    char theirs[AUTH_KEY_TEXT + 1];
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT(LEAVING), SLICE_LIT(CANARY " & sons"), &t),
                     ERR_OK);
    ck_assert_int_eq(tent_try_create(&tent, SLICE_LIT(STAYING), SLICE_LIT("stays-named"), &staying),
                     ERR_OK);
    tent_table(&tent, t, "devices");
    make_key(t, "the app of " CANARY, "user#" CANARY, texts[0]);
    flush();
    make_key(t, "", CANARY "#", texts[1]);
    make_key(t, CANARY " of old", "x", texts[2]);
    make_key(staying, "stays-labelled", "stays-prefixed", theirs);
    flush();
    ck_assert_int_eq(revoke_key(id_of(texts[2]), t), ERR_OK);
    ck_assert_int_eq(tent_suspend(&tent, t, CANARY " did not pay"), ERR_OK);
    flush();
    ck_assert_int_eq(tent_resume(&tent, t), ERR_OK);
    flush();
}

static void leave(struct ten_job *out)
{
    char id[TEN_JOB_ID + 1];
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, LEAVING), id), ERR_OK);
    tent_await_job(&tent, id, out);
    ck_assert_msg(out->state == TEN_JOB_DONE, "%s", out->error);
}

static void make_service_key(const struct slice *allowed, size_t count, const char *label,
                             const char *prefix, char out[AUTH_KEY_TEXT + 1])
{
    struct key_args a = {.kind = AUTH_SERVICE,
                         .scopes = AUTH_DATA_READ,
                         .allowed = allowed,
                         .allowed_count = count,
                         .text = base_slice_text(label),
                         .row_prefix = base_slice_text(prefix)};
    tent_control(&tent, do_create, &a);
    ck_assert_msg(a.rc == ERR_OK, "%s", tent.eb.text);
    memcpy(out, a.out, sizeof a.out);
}

/* --- in the files ----------------------------------------------------------------------------- */

struct decoded {
    const char *text;
    const char *key; /* of the entry; NULL: any */
    bool found;
    bool is_unfinished; /* a file is being written: what it holds is not known yet */
};

static enum err look_entry(void *ctx, enum rdb_entry_kind kind, struct slice key,
                           struct slice value)
{
    struct decoded *d = ctx;
    (void)kind;
    size_t len = strlen(d->text);
    if (d->key != NULL && !base_slice_is(key, d->key))
        return ERR_OK;
    d->found = d->found || (key.len > 0 && memmem(key.ptr, key.len, d->text, len) != NULL) ||
               (value.len > 0 && memmem(value.ptr, value.len, d->text, len) != NULL);
    return ERR_OK;
}

/* In any version of any entry of a table file, or of a copy of one, or of those with that key:
 * blocks are compressed. */
static struct decoded tables_look(const char *key, const char *text)
{
    char db[300], path[600];
    struct decoded d = {.text = text, .key = key};
    uint64_t bytes;
    (void)snprintf(db, sizeof db, "%s/db", tent.dir);
    DIR *dir = opendir(db);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (strstr(e->d_name, ".sst") == NULL)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", db, e->d_name);
        enum err rc = sto_rdb_table_visit(path, look_entry, &d, &bytes, NULL);
        ck_assert_msg(rc == ERR_OK || rc == ERR_NOT_FOUND || rc == ERR_CORRUPT, "%s: %s", path,
                      base_err_name(rc)); /* not found: it went meanwhile */
        d.is_unfinished = d.is_unfinished || rc == ERR_CORRUPT;
    }
    (void)closedir(dir);
    return d;
}

static bool tables_hold_at(const char *key, const char *text)
{
    return tables_look(key, text).found;
}

static bool tables_hold(const char *text)
{
    return tables_hold_at(NULL, text);
}

static bool is_nowhere(void *text)
{
    struct decoded d = tables_look(NULL, text);
    return !files_hold(tent.dir, text) && !d.found && !d.is_unfinished;
}

static void expect_nowhere(void)
{
    process_await(is_nowhere, (void *)(uintptr_t)CANARY, "obsolete files to go");
    ck_assert(tables_hold("stays-named"));
    ck_assert(tables_hold("stays-labelled"));
    ck_assert(tables_hold("stays-prefixed"));
}

/* --- in the documents ------------------------------------------------------------------------- */

static void read_doc(const char *text, struct buf *body, struct auth_key_doc *out)
{
    char key[2 + AUTH_KEY_ID + 1];
    uint64_t version;
    (void)snprintf(key, sizeof key, "k/%.*s", AUTH_KEY_ID, text + 4);
    base_buf_init(body, AUTH_KEY_DOC_MAX);
    ck_assert_int_eq(sto_doc_get(tent.engine, base_slice_text(key), &version, body, &tent.eb),
                     ERR_OK);
    ck_assert_int_eq(auth_key_decode(id_of(text), base_buf_slice(body), out), ERR_OK);
}

static void expect_bare(const char *text)
{
    struct buf body;
    struct auth_key_doc doc;
    read_doc(text, &body, &doc);
    ck_assert(base_slice_is(doc.tenant_id, LEAVING));
    ck_assert_str_eq(doc.label, "");
    ck_assert_uint_eq(doc.key.row_prefix.len, 0);
    ck_assert_uint_eq(doc.key.limits.read_ops_per_s, 0);
    ck_assert_uint_eq(doc.key.scopes, AUTH_SCOPES_TENANT); /* of every one: says nothing */
    ck_assert_int_eq(doc.key.created_us, 0);
    base_buf_fini(&body);
}

/* Its owner hears 410, because the key is one; nobody is shown it. */
static void expect_valid_and_unlisted(void)
{
    const struct auth_key *key;
    const struct auth_key *page[4];
    struct ten_tenant *t = tent_find(&tent, LEAVING);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(verify(texts[i], &key), ERR_OK);
        ck_assert_ptr_eq(key->tenant, t);
    }
    ck_assert_int_eq(verify(texts[2], &key), ERR_UNAUTHENTICATED);
    ck_assert_uint_eq(list(t, page, 4), 0);
    ck_assert_uint_eq(list(tent_find(&tent, STAYING), page, 4), 1);
    ck_assert_str_eq(page[0]->label, "stays-labelled");
    ck_assert(base_slice_is(page[0]->row_prefix, "stays-prefixed"));
    ck_assert_str_eq(ten_tenant_details(t)->display_name, "");
}

START_TEST(nothing_that_was_named_stays_in_any_file)
{
    struct ten_job job;
    fill();
    ck_assert(tables_hold(CANARY " & sons"));
    ck_assert(tables_hold("the app of " CANARY));
    ck_assert(tables_hold("user#" CANARY));
    ck_assert(tables_hold(CANARY " of old"));
    ck_assert(tables_hold(CANARY " did not pay"));
    leave(&job);
    expect_nowhere();
    for (int i = 0; i < 2; i++)
        expect_bare(texts[i]);
    expect_valid_and_unlisted();
    reopen();
    expect_valid_and_unlisted();
    expect_nowhere();
    struct ten_tenant *t = tent_find(&tent, LEAVING);
    ck_assert_int_eq(revoke_key(id_of(texts[0]), t), ERR_OK); /* one that was stolen */
    const struct auth_key *key;
    ck_assert_int_eq(verify(texts[0], &key), ERR_UNAUTHENTICATED);
}
END_TEST

START_TEST(a_key_is_revoked_after_it_was_stripped)
{
    struct ten_job job;
    const struct auth_key *key;
    fill();
    leave(&job);
    ck_assert_int_eq(revoke_key(id_of(texts[1]), tent_find(&tent, LEAVING)), ERR_OK);
    ck_assert_int_eq(verify(texts[1], &key), ERR_UNAUTHENTICATED);
    ck_assert_int_eq(verify(texts[0], &key), ERR_OK);
}
END_TEST

/* One for the tenant alone, one for its neighbour as well. */
START_TEST(a_service_key_for_departed_tenants_alone_says_nothing_more)
{
    static const struct slice both[] = {SLICE_LIT(LEAVING), SLICE_LIT(STAYING)};
    char alone[AUTH_KEY_TEXT + 1], shared[AUTH_KEY_TEXT + 1];
    struct ten_job job;
    struct buf body;
    struct auth_key_doc doc;
    fill();
    make_service_key(both, 1, "a service of " CANARY, CANARY "/", alone);
    make_service_key(both, 2, "stays-shared", "stays/", shared);
    flush();
    ck_assert(tables_hold("a service of " CANARY));
    leave(&job);
    expect_nowhere();
    ck_assert(tables_hold("stays-shared"));
    struct key_args late = {
        .kind = AUTH_SERVICE, .scopes = AUTH_DATA_READ, .allowed = both, .allowed_count = 1};
    tent_control(&tent, do_create, &late);
    ck_assert_int_eq(late.rc, ERR_GONE); /* nothing would take its label away */
    for (int round = 0; round < 2; round++) {
        const struct auth_key *key;
        ck_assert_int_eq(verify(alone, &key), ERR_OK);
        ck_assert_uint_eq(key->allowed_count, 1); /* it never acts for others */
        ck_assert_ptr_eq(key->allowed[0], tent_find(&tent, LEAVING));
        ck_assert_int_eq(key->created_us, 0);
        ck_assert_int_eq(verify(shared, &key), ERR_OK);
        ck_assert_uint_eq(key->allowed_count, 2);
        ck_assert_int_gt(key->created_us, 0);
        ck_assert_str_eq(key->label, "stays-shared");
        read_doc(alone, &body, &doc);
        ck_assert_str_eq(doc.label, "");
        ck_assert_uint_eq(doc.key.row_prefix.len, 0);
        ck_assert_uint_eq(doc.allowed_count, 1);
        base_buf_fini(&body);
        reopen();
    }
    expect_nowhere();
}
END_TEST

static void do_take_plan(struct tent *t, void *ctx)
{
    struct ten_plan *plan = NULL;
    const struct ten_quota none = {.given = 0};
    const struct ten_tenant_wanted wanted = {.plan = SLICE_LIT("gold-plan")};
    *(enum err *)ctx = ten_plan_put(t->registry, wanted.plan, SLICE_EMPTY, &none, &plan, &t->eb);
    if (*(enum err *)ctx == ERR_OK)
        *(enum err *)ctx = ten_tenant_change(t->registry, tent_find(t, LEAVING), &wanted, &t->eb);
}

START_TEST(no_version_of_the_tenants_document_names_its_plan)
{
    struct ten_job job;
    enum err rc = ERR_CONFLICT;
    fill();
    tent_control(&tent, do_take_plan, &rc);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    flush();
    ck_assert(tables_hold_at("t/" LEAVING, "gold-plan"));
    leave(&job);
    ck_assert(tables_hold("gold-plan")); /* the plan is there */
    ck_assert(!tables_hold_at("t/" LEAVING, "gold-plan"));
}
END_TEST

/* In its grace period a tenant keeps all it has. */
START_TEST(in_its_grace_period_keys_and_name_stay)
{
    char id[TEN_JOB_ID + 1];
    const struct auth_key *page[4];
    fill();
    struct ten_tenant *t = tent_find(&tent, LEAVING);
    ck_assert_int_eq(tent_offboard_in(&tent, t, 3600000000, "", id), ERR_OK);
    ck_assert_uint_eq(list(t, page, 4), 2);
    ck_assert_int_eq(tent_undelete(&tent, t), ERR_OK);
    reopen();
    t = tent_find(&tent, LEAVING);
    ck_assert_str_eq(ten_tenant_details(t)->display_name, CANARY " & sons");
    ck_assert_uint_eq(list(t, page, 4), 2);
    ck_assert_uint_eq(page[0]->limits.read_ops_per_s, 1234);
}
END_TEST

/* --- what it costs ---------------------------------------------------------------------------- */

#define TOGETHER   8
#define KEYS_THERE 20000
#define KEYS_BATCH 500

/* Of a tenant that stays, as keyring.c stores them: digests do not compress. */
static void fill_many_keys(struct ten_tenant *t)
{
    static struct sto_doc_change changes[KEYS_BATCH];
    static struct buf bodies[KEYS_BATCH];
    static uint8_t doc_keys[KEYS_BATCH][AUTH_DOC_KEY];
    struct auth_key key = {.kind = AUTH_TENANT,
                           .scopes = AUTH_DATA_READ,
                           .tenant = t,
                           .label = "the app",
                           .created_us = 1};
    char id[AUTH_KEY_ID + 1];
    for (size_t at = 0; at < KEYS_THERE; at += KEYS_BATCH) {
        for (size_t i = 0; i < KEYS_BATCH; i++) {
            ck_assert_int_eq(getrandom(key.digest, sizeof key.digest, 0), sizeof key.digest);
            (void)snprintf(id, sizeof id, "%0*zu", AUTH_KEY_ID, (at + i) * 7919 % KEYS_THERE);
            auth_doc_key(base_slice(id, AUTH_KEY_ID), doc_keys[i]);
            base_buf_init(&bodies[i], AUTH_KEY_DOC_MAX);
            ck_assert_int_eq(auth_key_encode(&key, &bodies[i]), ERR_OK);
            changes[i] = (struct sto_doc_change){.key = base_slice(doc_keys[i], AUTH_DOC_KEY),
                                                 .body = base_buf_slice(&bodies[i]),
                                                 .expect = STO_DOC_ABSENT};
        }
        ck_assert_int_eq(sto_docs_commit(tent.engine, changes, KEYS_BATCH, &tent.eb), ERR_OK);
        for (size_t i = 0; i < KEYS_BATCH; i++)
            base_buf_fini(&bodies[i]);
    }
    flush();
}

static uint64_t bytes_of_keys(void)
{
    return sto_rdb_range_files(sto_rdb_engine(tent.engine), RDB_CF_META,
                               sto_doc_prefix(STO_DOC_API_KEY), sto_doc_prefix_end(STO_DOC_API_KEY))
        .bytes;
}

static bool is_at_fence(void *job)
{
    struct ten_job_progress p;
    return ten_job_progress_get(tent.registry, job, &p) && p.step == STO_PURGE_FENCE;
}

/* Behind one whose fence waits for a read: all others are one group. */
static void leave_together(struct ten_tenant *const tenants[TOGETHER])
{
    char jobs[TOGETHER][TEN_JOB_ID + 1];
    struct ten_job job;
    atomic_fetch_add(&tenants[0]->account.reads_open, 1);
    for (size_t i = 0; i < TOGETHER; i++) {
        ck_assert_int_eq(tent_offboard(&tent, tenants[i], jobs[i]), ERR_OK);
        if (i == 0)
            process_await(is_at_fence, jobs[0], "the first purge");
    }
    atomic_fetch_sub(&tenants[0]->account.reads_open, 1);
    for (size_t i = 0; i < TOGETHER; i++) {
        tent_await_job(&tent, jobs[i], &job);
        ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
    }
}

/* Documents of keys are everybody's: once for each group, not for each tenant. */
START_TEST(a_group_of_purges_compacts_the_documents_of_keys_once)
{
    struct ten_tenant *tenants[TOGETHER];
    char id[16], text[AUTH_KEY_TEXT + 1];
    struct rdb_engine *e = sto_rdb_engine(tent.engine);
    fill_many_keys(tent_create(&tent, STAYING));
    for (size_t i = 0; i < TOGETHER; i++) {
        (void)snprintf(id, sizeof id, "leaving%zu", i);
        tenants[i] = tent_create(&tent, id);
        make_key(tenants[i], CANARY, "", text);
    }
    flush();
    uint64_t keys = bytes_of_keys();
    uint64_t before = atomic_load(&e->compacted_bytes[RDB_CF_META]);
    ck_assert_uint_gt(keys, KEYS_THERE * sizeof((struct auth_key *)0)->digest);
    leave_together(tenants);
    uint64_t compacted = atomic_load(&e->compacted_bytes[RDB_CF_META]) - before;
    ck_assert_uint_ge(compacted, keys);
    ck_assert_msg(compacted < TOGETHER / 2 * keys, "%lu bytes compacted, of keys %lu", compacted,
                  keys);
    ck_assert(!tables_hold(CANARY));
}
END_TEST

/* --- interrupted ------------------------------------------------------------------------------ */

/* As an older version left it: a purge that knew no keys. */
START_TEST(keys_of_tenants_that_left_before_are_stripped_at_a_start)
{
    struct ten_job job;
    fill();
    close_keyring();
    tent_reopen(&tent);
    leave(&job);
    open_keyring();
    for (int i = 0; i < 2; i++)
        expect_bare(texts[i]);
    expect_valid_and_unlisted();
}
END_TEST

/* In a child: fill, leave, and die before anything is deleted. */
static void leave_and_die(void)
{
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct ten_job job;
        tent_open(&tent);
        open_keyring();
        fill();
        if (write(pipes[1], texts, sizeof texts) != (ssize_t)sizeof texts)
            _exit(1);
        ten_offboard_test_die_after(STO_PURGE_FENCE);
        leave(&job);
        _exit(1);
    }
    int status = 0;
    ck_assert_int_eq(read(pipes[0], texts, sizeof texts), (ssize_t)sizeof texts);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 137, "status %d", status);
}

/* A start opens the keys after the tenants: until then no purge goes on. */
START_TEST(a_purge_that_is_resumed_waits_for_the_keys)
{
    struct ten_job job;
    char id[TEN_JOB_ID + 1];
    tent_make(&tent);
    leave_and_die();
    tent.awaits_keys = true;
    tent_open(&tent);
    (void)snprintf(id, sizeof id, "%.16s", ten_tenant_details(tent_find(&tent, LEAVING))->job);
    tent_await_ticks(&tent, 5);
    ck_assert_int_eq(tent_job(&tent, id, &job), ERR_OK);
    ck_assert_uint_eq(job.steps_done, STO_PURGE_FENCE + 1);
    open_keyring();
    tent_await_job(&tent, id, &job);
    ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
    for (int i = 0; i < 2; i++)
        expect_bare(texts[i]);
    expect_valid_and_unlisted();
    expect_nowhere();
    close_keyring();
    tent_close(&tent);
    tent_remove(&tent);
}
END_TEST

/* Whatever commit of it fails, at the end all is gone. */
START_TEST(a_purge_that_failed_strips_them_at_the_next_start)
{
    struct ten_job job;
    char id[TEN_JOB_ID + 1];
    fill();
    sto_rocksdb_test_fail_commit(tent.engine, 3 + _i);
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, LEAVING), id), ERR_OK);
    tent_await_failure(&tent);
    tent.awaits_keys = true; /* as a server does */
    reopen();
    tent_await_job(&tent, id, &job);
    ck_assert_msg(job.state == TEN_JOB_DONE, "%s", job.error);
    for (int i = 0; i < 2; i++)
        expect_bare(texts[i]);
    expect_valid_and_unlisted();
    expect_nowhere();
}
END_TEST

Suite *suite_auth_departed_keys(void)
{
    const TTest *const tests[] = {nothing_that_was_named_stays_in_any_file,
                                  a_key_is_revoked_after_it_was_stripped,
                                  a_service_key_for_departed_tenants_alone_says_nothing_more,
                                  no_version_of_the_tenants_document_names_its_plan,
                                  in_its_grace_period_keys_and_name_stay,
                                  keys_of_tenants_that_left_before_are_stripped_at_a_start,
                                  a_group_of_purges_compacts_the_documents_of_keys_once};
    Suite *s = suite_create("auth_departed_keys");
    ADD_CASE(s, "departed", tests);
    TCase *c = tcase_create("interrupted");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, a_purge_that_is_resumed_waits_for_the_keys);
    suite_add_tcase(s, c);
    c = tcase_create("failed");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, a_purge_that_failed_strips_them_at_the_next_start, 0, 5);
    suite_add_tcase(s, c);
    return s;
}
