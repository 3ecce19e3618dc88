/* cli/tenant_crew.c - see tenant_crew.h. */
#include "cli/tenant_crew.h"

#include "base/alloc.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/text.h"

#include "base/banned.h"

struct cli_moving_crew {
    struct cli_crew crew;
    struct cli_moving_hand hands[CLI_TRANSFER_STREAMS];
    cli_moving_work *work;
    size_t next; /* guarded by the crew's lock */
    size_t count;
    const char *verb;
};

static enum cli_exit open_hand(struct cli_moving_hand *h, struct cli_tenant_move *m,
                               const atomic_bool *stop)
{
    h->m = m;
    enum cli_exit e = cli_transfer_scan_init(&h->here, &m->from.data_config, stop);
    if (e == CLI_OK)
        e = cli_transfer_scan_init(&h->there, &m->to.data_config, stop);
    if (e == CLI_OK)
        e = cli_feed_init(&h->feed, &m->from.data_config, stop);
    if (e != CLI_OK)
        return e;
    h->writer = cli_writer_new(&m->to.data_config, stop);
    return cli_writer_open(h->writer);
}

enum cli_exit cli_moving_crew_open(struct cli_tenant_move *m)
{
    enum cli_exit e = CLI_OK;
    if (m->crew != NULL)
        return e;
    m->crew = base_new(sizeof *m->crew);
    cli_crew_init(&m->crew->crew);
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS && e == CLI_OK; i++)
        e = open_hand(&m->crew->hands[i], m, &m->crew->crew.stop);
    return e;
}

void cli_moving_crew_close(struct cli_tenant_move *m)
{
    if (m->crew == NULL)
        return;
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++) {
        struct cli_moving_hand *h = &m->crew->hands[i];
        if (h->writer != NULL)
            cli_writer_free(h->writer);
        cli_feed_fini(&h->feed);
        cli_transfer_scan_fini(&h->there);
        cli_transfer_scan_fini(&h->here);
    }
    cli_crew_fini(&m->crew->crew);
    base_free(m->crew);
    m->crew = NULL;
}

static bool take_piece(struct cli_moving_crew *c, size_t *out)
{
    pthread_mutex_lock(&c->crew.lock);
    bool is_there = c->next < c->count;
    *out = c->next;
    c->next += is_there;
    pthread_mutex_unlock(&c->crew.lock);
    return is_there;
}

static enum cli_exit work_on(void *member)
{
    struct cli_moving_hand *h = member;
    struct cli_moving_crew *c = h->m->crew;
    size_t piece = 0;
    enum cli_exit e = CLI_OK;
    while (e == CLI_OK && !atomic_load(&c->crew.stop) && take_piece(c, &piece)) {
        cli_tally_init(&h->tally);
        e = c->work(h, piece);
        cli_tally_fini(&h->tally);
    }
    return e;
}

static void draw(void *ctx)
{
    struct cli_tenant_move *m = ctx;
    struct buf text;
    if (!cli_progress_due())
        return;
    base_buf_init(&text, 1024);
    base_buf_append_text(&text, m->crew->verb);
    base_buf_append_text(&text, "  ");
    cli_text_put_count(&text, atomic_load(&m->rows));
    base_buf_append_text(&text, " rows  ");
    cli_text_put_bytes(&text, atomic_load(&m->bytes));
    base_buf_append_byte(&text, '\0');
    cli_progress_draw(atomic_load(&m->bytes), 0, (const char *)text.ptr);
    base_buf_fini(&text);
}

enum cli_exit cli_moving_each(struct cli_tenant_move *m, const char *verb, size_t count,
                              cli_moving_work *work)
{
    struct cli_moving_crew *c = m->crew;
    void *members[CLI_TRANSFER_STREAMS];
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++)
        members[i] = &c->hands[i];
    c->verb = verb;
    c->work = work;
    c->next = 0;
    c->count = count;
    atomic_store(&m->rows, 0);
    atomic_store(&m->bytes, 0);
    enum cli_exit e = cli_crew_run(&c->crew, work_on, members, draw, m);
    cli_progress_hide();
    return e;
}
