/*
 * migrations/table_fill.c - a ring of writes, each with the cells of one row, or a part of them.
 *
 *   open       collects cells of the row that is being read
 *   under way  in flight; its memory is not touched
 *   again      the engine was overloaded: sent again when that makes sense
 *
 * 1. A row may take several writes. The table is hidden until the last one finished.
 * 2. After the first failure nothing more is sent; writes in flight are awaited.
 */
#include "migrations/table_fill.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "storage/keycodec.h"
#include "storage/value.h"

#include "base/banned.h"

#define WAIT_MS     20 /* for a result, or for the engine's overload to end */
#define ARENA_BYTES (LIM_CELL_BYTES_HARD + 2 * MIB)

enum write_state { WRITE_FREE, WRITE_UNDER_WAY, WRITE_AGAIN };

struct write {
    struct sto_mutate_op op;
    struct mig_fill *fill;
    struct arena arena;
    enum write_state state;
    uint64_t again_ns;
    uint64_t bytes;
    size_t count;
    struct sto_mutation mutations[MIG_FILL_MUTATIONS];
};

struct mig_fill {
    struct sto_engine *engine;
    const struct sto_table_scope *to;
    const struct sto_schema *from;
    struct mig_backup_watch *watch;
    struct base_mailbox mail;
    bool has_mail;
    size_t mutations_max;
    struct sto_sealer sealer;
    struct buf plain;
    struct buf row_prefix; /* of the current row, as stored */
    struct buf row_key;
    struct buf qualifier; /* scratch */
    struct write *open;   /* NULL: none */
    bool is_row_new;      /* no cell of the row was added yet */
    uint64_t rows;
    size_t under_way; /* in flight, including those to be sent again */
    enum err result;  /* the first failure */
    struct errbuf detail;
    struct write writes[MIG_FILL_WRITES];
};

/* --- life ------------------------------------------------------------------------------------- */

struct mig_fill *mig_fill_new(struct sto_engine *engine, const struct sto_table_scope *to,
                              const struct sto_schema *from, struct mig_backup_watch *watch)
{
    struct mig_fill *f = base_new(sizeof *f);
    f->engine = engine;
    f->to = to;
    f->from = from;
    f->watch = watch;
    uint64_t most = sto_account_limit(to->tenant.account, STO_LIMIT_MUTATIONS);
    f->mutations_max = most < MIG_FILL_MUTATIONS ? (size_t)most : MIG_FILL_MUTATIONS;
    sto_sealer_init(&f->sealer);
    base_buf_init(&f->plain, LIM_CELL_BYTES_HARD + STO_SEALED_EXTRA);
    base_buf_init(&f->row_prefix, STO_KEY_ROW_MAX);
    base_buf_init(&f->row_key, 2 * LIM_ROW_KEY);
    base_buf_init(&f->qualifier, 2 * LIM_QUALIFIER);
    for (size_t i = 0; i < MIG_FILL_WRITES; i++)
        f->writes[i].fill = f;
    f->result = base_mailbox_init(&f->mail);
    f->has_mail = f->result == ERR_OK;
    return f;
}

static void settle(struct mig_fill *f);

void mig_fill_free(struct mig_fill *f)
{
    if (f == NULL)
        return;
    if (f->result == ERR_OK)
        f->result = ERR_CANCELLED; /* nothing is sent again */
    settle(f);
    for (size_t i = 0; i < MIG_FILL_WRITES; i++)
        base_arena_fini(&f->writes[i].arena);
    if (f->has_mail)
        base_mailbox_fini(&f->mail);
    sto_sealer_fini(&f->sealer);
    base_buf_fini(&f->plain);
    base_buf_fini(&f->row_prefix);
    base_buf_fini(&f->row_key);
    base_buf_fini(&f->qualifier);
    base_free(f);
}

/* --- writes ----------------------------------------------------------------------------------- */

static void note_failure(struct mig_fill *f, enum err rc, const char *text)
{
    if (f->result != ERR_OK)
        return;
    f->result = rc;
    (void)base_fail(&f->detail, rc, "%s", text);
}

static void write_free(struct write *w)
{
    base_arena_fini(&w->arena);
    w->state = WRITE_FREE;
    w->fill->under_way--;
}

static void write_done(struct sto_mutate_op *op)
{
    struct write *w = op->user;
    if (op->result == ERR_OVERLOADED) {
        w->state = WRITE_AGAIN;
        w->again_ns = base_monotonic_ns() + op->retry_ns;
        return;
    }
    if (op->result != ERR_OK)
        note_failure(w->fill, op->result, op->detail.text);
    write_free(w);
}

static void send_again(struct mig_fill *f)
{
    uint64_t now_ns = base_monotonic_ns();
    for (size_t i = 0; i < MIG_FILL_WRITES; i++) {
        struct write *w = &f->writes[i];
        if (w->state != WRITE_AGAIN)
            continue;
        if (f->result != ERR_OK) {
            write_free(w);
        } else if (w->again_ns <= now_ns) {
            w->state = WRITE_UNDER_WAY;
            sto_mutate_row(f->engine, &w->op);
        }
    }
}

static void look_at_mail(struct mig_fill *f)
{
    struct mig_backup_watch *watch = f->watch;
    base_mailbox_wait(&f->mail, WAIT_MS);
    (void)base_mailbox_run(&f->mail); /* how many does not matter */
    if (watch->stop != NULL && watch->stop(watch->ctx))
        note_failure(f, ERR_CANCELLED, "stopped while rows were written");
    send_again(f);
}

/* Waits until none is in flight. */
static void settle(struct mig_fill *f)
{
    while (f->under_way > 0)
        look_at_mail(f);
}

static struct write *find_free(struct mig_fill *f)
{
    for (;;) {
        for (size_t i = 0; i < MIG_FILL_WRITES; i++)
            if (f->writes[i].state == WRITE_FREE)
                return &f->writes[i];
        look_at_mail(f);
    }
}

static void submit(struct mig_fill *f)
{
    struct write *w = f->open;
    f->open = NULL;
    struct errbuf why = {{0}};
    w->op.mutations = w->mutations;
    w->op.mutation_count = w->count;
    enum err rc = f->result;
    if (rc == ERR_OK)
        rc = sto_mutations_check(f->to->schema, f->to->tenant.account, w->op.row_key, w->mutations,
                                 w->count, &why);
    f->under_way++;
    if (rc != ERR_OK) {
        note_failure(f, rc, why.text);
        write_free(w);
        return;
    }
    w->state = WRITE_UNDER_WAY;
    sto_mutate_row(f->engine, &w->op);
}

static enum err open_write(struct mig_fill *f)
{
    struct write *w = find_free(f);
    if (f->result != ERR_OK)
        return f->result;
    base_arena_init(&w->arena, ARENA_BYTES);
    w->count = 0;
    w->bytes = 0;
    w->op = (struct sto_mutate_op){.reply_to = &f->mail,
                                   .done = write_done,
                                   .user = w,
                                   .scope = *f->to,
                                   .priority = STO_PRIORITY_BACKGROUND};
    w->op.row_key = base_arena_copy(&w->arena, base_buf_slice(&f->row_key));
    if (w->op.row_key.ptr == NULL) {
        base_arena_fini(&w->arena);
        note_failure(f, ERR_NO_MEMORY, "no memory to restore a row");
        return f->result;
    }
    f->open = w;
    return ERR_OK;
}

/* --- cells ------------------------------------------------------------------------------------ */

static enum err corrupt(struct mig_fill *f, enum err rc, const char *text)
{
    note_failure(f, rc, text);
    return rc;
}

static enum err begin_row(struct mig_fill *f, const struct sto_key *key)
{
    uint8_t scratch[2 * LIM_ROW_KEY];
    if (f->open != NULL)
        submit(f);
    base_buf_truncate(&f->row_prefix, 0);
    base_buf_truncate(&f->row_key, 0);
    if (key->row_escaped.len > sizeof scratch)
        return corrupt(f, ERR_CORRUPT, "a stored key of the backup is damaged");
    struct slice row = sto_key_unescape(key->row_escaped, scratch);
    enum err rc = base_buf_append(&f->row_prefix, key->row_prefix);
    if (rc == ERR_OK)
        rc = base_buf_append(&f->row_key, row);
    f->is_row_new = true;
    return rc == ERR_OK ? f->result : corrupt(f, rc, "a stored key of the backup is too long");
}

/* Finds the family by name; NULL: the table had dropped it. */
static const struct sto_family *find_family(const struct mig_fill *f, uint16_t number)
{
    const struct sto_family *old = sto_schema_family_by_number(f->from, number);
    return old == NULL ? NULL
                       : sto_schema_family(f->to->schema, base_slice(old->name, old->name_len));
}

static enum err add_cell(struct mig_fill *f, const struct sto_family *family,
                         const struct sto_key *key, struct slice value)
{
    uint8_t scratch[2 * LIM_QUALIFIER];
    if (key->qualifier_escaped.len > sizeof scratch)
        return corrupt(f, ERR_CORRUPT, "a stored key of the backup is damaged");
    if (f->open != NULL &&
        (f->open->count == f->mutations_max || f->open->bytes + value.len > MIG_FILL_BYTES))
        submit(f);
    enum err rc = f->open == NULL ? open_write(f) : ERR_OK;
    if (rc != ERR_OK)
        return rc;
    struct write *w = f->open;
    struct slice qualifier = sto_key_unescape(key->qualifier_escaped, scratch);
    struct sto_mutation m = {.kind = family->aggregate == STO_AGGREGATE_NONE ? STO_SET_CELL
                                                                             : STO_MERGE_TO_CELL,
                             .family = family->number,
                             .qualifier = base_arena_copy(&w->arena, qualifier),
                             .timestamp_us = key->timestamp_us,
                             .value = base_arena_copy(&w->arena, value)};
    if ((qualifier.len > 0 && m.qualifier.ptr == NULL) || (value.len > 0 && m.value.ptr == NULL))
        return corrupt(f, ERR_NO_MEMORY, "no memory to restore a row");
    w->mutations[w->count++] = m;
    w->bytes += qualifier.len + value.len;
    f->rows += f->is_row_new;
    f->is_row_new = false;
    return ERR_OK;
}

enum err mig_fill_take(void *ctx, struct slice key, struct slice value)
{
    struct mig_fill *f = ctx;
    struct sto_key parts;
    struct sto_stored_cell cell;
    atomic_fetch_add(&f->watch->done_bytes, key.len + value.len);
    if (f->result != ERR_OK)
        return f->result;
    if (sto_key_decode(key, &parts) != ERR_OK)
        return corrupt(f, ERR_CORRUPT, "a stored key of the backup is damaged");
    if (parts.family == 0)
        return begin_row(f, &parts);
    if (!base_slice_equal(parts.row_prefix, base_buf_slice(&f->row_prefix)))
        return corrupt(f, ERR_CORRUPT, "a cell of the backup stands outside any row");
    const struct sto_family *family = find_family(f, parts.family);
    if (family == NULL)
        return ERR_OK;
    if (sto_cell_decode(value, &cell) != ERR_OK)
        return corrupt(f, ERR_CORRUPT, "a stored cell of the backup is damaged");
    enum err rc = sto_cell_unseal(&cell, key, &f->sealer, f->to->tenant.account->cipher, &f->plain);
    if (rc != ERR_OK)
        return corrupt(f, rc, sto_unseal_text(rc));
    return add_cell(f, family, &parts, cell.bytes);
}

enum err mig_fill_end(struct mig_fill *f, enum err taken, uint64_t *out_rows, struct errbuf *eb)
{
    if (f->open != NULL && taken == ERR_OK)
        submit(f);
    if (f->open != NULL) { /* of a row that was not read to its end */
        base_arena_fini(&f->open->arena);
        f->open = NULL;
    }
    if (taken != ERR_OK && f->result == ERR_OK)
        f->result = taken; /* the reader has reported the reason */
    settle(f);
    *out_rows = f->rows;
    if (f->detail.text[0] == '\0')
        return f->result;
    return base_fail(eb, f->result, "%s", f->detail.text);
}
