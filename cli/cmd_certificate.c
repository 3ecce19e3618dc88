/*
 * cli/cmd_certificate.c - certificates of erasure: fetched from the server, verified offline.
 */
#include <stdio.h>
#include <string.h>

#include "base/erasure_page.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/sealed_line.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/lines.h"
#include "cli/out.h"
#include "cli/public_key.h"
#include "cli/target.h"

#include "base/banned.h"

/* --- from the server --------------------------------------------------------------------------
 */

/* Sends GET target (which is freed) and prints the body unchanged, with a trailing line feed. */
static enum cli_exit print_answer(struct cli *cli, struct buf *target, const char *accept)
{
    struct cli_answer answer;
    struct cli_request request = {
        .method = "GET", .target = target, .accept = accept, .repeatable = true};
    enum cli_exit e = cli_http_run(cli->http, &request, &answer);
    if (e == CLI_OK) {
        struct slice body = base_buf_slice(&answer.body);
        cli_out_bytes(body);
        if (body.len == 0 || body.ptr[body.len - 1] != '\n')
            cli_out_text("\n");
        e = cli_out_state();
    }
    base_buf_fini(&answer.body);
    base_buf_fini(target);
    return e;
}

enum cli_exit cli_certificate_get(struct cli *cli)
{
    struct buf target;
    cli_target1(&target, "/v1/admin/tenants/{}/certificate", cli->args.words[0]);
    cli_target_query(&target, "event", cli_args_value(&cli->args, "event"));
    return print_answer(cli, &target, NULL);
}

enum cli_exit cli_certificate_key(struct cli *cli)
{
    struct buf target;
    cli_target1(&target, "/v1/admin/certificate-key", NULL);
    return print_answer(cli, &target, "application/x-pem-file");
}

/* --- from a file ------------------------------------------------------------------------------
 */

/* Calls take for every line of the file; the last line feed is optional. */
static enum cli_exit each_line(const char *path,
                               enum cli_exit (*take)(void *ctx, struct slice line), void *ctx)
{
    struct cli_lines lines;
    cli_lines_init(&lines, LIM_CERTIFICATE_BYTES, take, ctx);
    enum cli_exit e = cli_lines_read(&lines, path);
    if (e == CLI_OK && lines.pending.len > 0)
        e = take(ctx, base_buf_slice(&lines.pending));
    cli_lines_fini(&lines);
    return e;
}

struct checking {
    EVP_PKEY *key;
    struct base_audit_hash head; /* of the previous line */
    size_t count;
    bool from_first; /* the first certificate names no predecessor */
};

/* Returns a text that is printed escaped, because the file is not trusted. */
static struct slice text_of(struct slice line, const char *name)
{
    struct slice text;
    return base_line_text(line, name, &text) == ERR_OK ? text : SLICE_LIT("-");
}

/* Accepts the first certificate's predecessor, because the file may hold a part of the chain. */
static void take_beginning(struct checking *c, struct slice line)
{
    struct slice text;
    struct base_audit_hash before;
    static const struct base_audit_hash NOTHING;
    if (base_line_text(line, "previous", &text) != ERR_OK ||
        base_audit_unhex(text, &before) != ERR_OK)
        return; /* the check of the chain reports it */
    c->head = before;
    c->from_first = memcmp(&before, &NOTHING, sizeof before) == 0;
}

static enum cli_exit check_line(void *ctx, struct slice line)
{
    struct checking *c = ctx;
    struct errbuf eb = {{0}};
    c->count++;
    enum err e = base_seal_check(c->key, line, &eb);
    if (e == ERR_OK && c->count == 1)
        take_beginning(c, line);
    if (e == ERR_OK)
        e = base_line_follow(&c->head, line, &eb);
    if (e != ERR_OK)
        return cli_fail(CLI_CHECK_FAILED, "line %zu: %s", c->count, eb.text);
    struct slice event = text_of(line, "event");
    const char *when = base_slice_is(event, "expired") ? "expired" : "purged";
    cli_out_printf("%.*s %.*s %.*s\n", SLICE_ARGS(text_of(line, "tenant")), SLICE_ARGS(event),
                   SLICE_ARGS(text_of(line, when)));
    return cli_out_state();
}

enum cli_exit cli_certificate_verify(struct cli *cli)
{
    const char *pubkey = cli_args_value(&cli->args, "pubkey");
    struct checking c = {.key = NULL};
    enum cli_exit e = cli_public_key_read(pubkey, &c.key);
    if (e == CLI_OK)
        e = each_line(cli->args.words[0], check_line, &c);
    if (e == CLI_OK && c.count == 0)
        e = cli_fail(CLI_CHECK_FAILED, "there is no certificate in %s", cli->args.words[0]);
    base_seal_key_free(c.key);
    if (e != CLI_OK)
        return e;
    char hex[BASE_AUDIT_HEX + 1];
    base_audit_hex(&c.head, hex);
    cli_out_printf("%zu signed%s; head %s\n", c.count,
                   c.from_first  ? ", a whole chain from its beginning"
                   : c.count > 1 ? ", a part of a chain"
                                 : "",
                   hex);
    return cli_out_state();
}

/* --- a page -----------------------------------------------------------------------------------
 */

struct paging {
    EVP_PKEY *key;
    size_t count;
    struct buf page;
};

static enum cli_exit make_page(void *ctx, struct slice line)
{
    struct paging *p = ctx;
    struct errbuf eb = {{0}};
    if (++p->count > 1)
        return cli_fail(CLI_USAGE, "a page is made of one certificate; the file has more");
    enum err e = base_erasure_page(p->key, line, &p->page, &eb);
    return e == ERR_OK ? CLI_OK
                       : cli_fail(CLI_CHECK_FAILED, "no page is made of what does not verify: %s",
                                  eb.text[0] != '\0' ? eb.text : base_err_name(e));
}

enum cli_exit cli_certificate_html(struct cli *cli)
{
    struct paging p = {.key = NULL};
    base_buf_init(&p.page, BASE_ERASURE_PAGE_MAX);
    enum cli_exit e = cli_public_key_read(cli_args_value(&cli->args, "pubkey"), &p.key);
    if (e == CLI_OK)
        e = each_line(cli->args.words[0], make_page, &p);
    if (e == CLI_OK && p.count == 0)
        e = cli_fail(CLI_CHECK_FAILED, "there is no certificate in %s", cli->args.words[0]);
    if (e == CLI_OK) {
        cli_out_bytes(base_buf_slice(&p.page));
        e = cli_out_state();
    }
    base_seal_key_free(p.key);
    base_buf_fini(&p.page);
    return e;
}
