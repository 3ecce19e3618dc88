/*
 * base/erasure_page.c - renders the members of a certificate in the order of readers' questions.
 *
 * All values are written through base/json_html.h. Names of steps and checks that this program does
 * not know are shown unchanged.
 */
#include "base/erasure_page.h"

#include "base/json_html.h"
#include "base/json_view.h"
#include "base/sealed_line.h"
#include "base/text.h"

#include "base/banned.h"

#define FORMAT_HEAD   "bigtent.erasure."
#define FORMAT_LATEST '5'

#define HEAD                                                                                       \
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"                          \
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "                  \
    "style-src 'unsafe-inline'\">\n"                                                               \
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>"
#define STYLE                                                                                      \
    "</title>\n<style>\n"                                                                          \
    "body{font:16px/1.5 sans-serif;color:#000;background:#fff;max-width:48em;margin:2em auto;"     \
    "padding:0 1em;overflow-wrap:anywhere}\n"                                                      \
    "h1{font-size:1.8em;line-height:1.2;margin:0}\n"                                               \
    "h2{font-size:1.2em;margin:2em 0 .4em;border-bottom:2px solid #000;break-after:avoid}\n"       \
    "p{margin:.6em 0}\n"                                                                           \
    ".verdict{border:2px solid #000;padding:.4em 1em;margin:1.2em 0;break-inside:avoid}\n"         \
    ".open{border-width:5px;border-style:double}\n"                                                \
    "table{border-collapse:collapse;width:100%;margin:.6em 0}\n"                                   \
    "th,td{text-align:left;vertical-align:top;padding:.25em 1em .25em 0;"                          \
    "border-bottom:1px solid #999}\n"                                                              \
    "th{font-weight:600}\n"                                                                        \
    "tbody th{width:32%}\n"                                                                        \
    "thead{display:table-header-group}\n"                                                          \
    "thead th{border-bottom:1px solid #000;overflow-wrap:normal}\n"                                \
    "tr{break-inside:avoid}\n"                                                                     \
    ".code{font-family:monospace;font-size:.9em}\n"                                                \
    ".number,.time{white-space:nowrap}\n"                                                          \
    "@media screen and (max-width:40em){thead{display:none}tr,td,tbody th{display:block}"          \
    "tbody th{width:auto}td,tbody th{padding:0;border:0}"                                          \
    "tr{padding:.4em 0;border-bottom:1px solid #999}"                                              \
    "td[data-label]::before{content:attr(data-label)\": \";font:600 1rem sans-serif}}\n"           \
    "@page{size:A4;margin:18mm}\n"                                                                 \
    "@media print{body{font-size:10.5pt;max-width:none;margin:0;padding:0}"                        \
    ".technical{break-before:page}}\n"                                                             \
    "</style></head>\n<body>\n"
#define TAIL "</body></html>\n"

/* --- parts ------------------------------------------------------------------------------------ */

static void put_member(struct base_html *p, struct slice object, const char *path)
{
    base_html_value(p, base_json_at(object, path));
}

static uint64_t number_of(struct slice value)
{
    uint64_t number = 0;
    return base_parse_u64(value, &number) == ERR_OK ? number : 0;
}

static size_t count_of(struct slice array)
{
    size_t count = 0;
    struct slice element;
    while (base_json_next(&array, &element))
        count++;
    return count;
}

/* --- words for names -------------------------------------------------------------------------- */

static const struct base_html_word STEPS[] = {
    {"fence", "Access was closed, and the stored data was counted"},
    {"delete_files", "Files with rows of this tenant only were deleted"},
    {"delete_range", "Remaining rows, tables, views and counters were deleted"},
    {"flush", "The deletions were written to disk"},
    {"compact", "Files with other data of the tenant were rewritten without it"},
    {"audit", "The index of the database was checked"},
    {"files", "The bytes of the files were searched"},
    {NULL, NULL},
};

static const struct base_html_word CHECKS[] = {
    {"visible_rows", "Rows that a request can read"},
    {"physical_keys", "Stored keys, including those marked as deleted"},
    {"live_files_inside", "Files in use with data of this tenant only"},
    {"documents", "Tables, views, counters and other metadata"},
    {"older_snapshots", "Snapshots of the database from before the deletion"},
    {"keys_in_files", "Stored keys, including old versions and deleted ones"},
    {"notes_in_logs", "Mentions of the tenant in the log files of the database"},
    {"obsolete_files", "Files no longer in use with data of the tenant"},
    {"copies", "Backups with data of the tenant"},
    {NULL, NULL},
};

static const struct base_html_word LAYERS[] = {
    {"api", "answers to requests"},
    {"engine", "index of the database"},
    {"files", "bytes of the files"},
    {"copies", "list of backups"},
    {NULL, NULL},
};

static const struct base_html_word REQUESTERS[] = {
    {"restore", "none: the server, because a restored backup still held the erased tenant"},
    {NULL, NULL},
};

static const struct base_html_word HOLD_ACTIONS[] = {
    {"hold", "deletion forbidden"}, {"release", "released"}, {NULL, NULL}};

/* --- the verdict ------------------------------------------------------------------------------ */

/* Conclusions from all members together. */
struct verdict {
    bool is_expired;
    bool is_bare;    /* the findings are no longer known */
    size_t failed;   /* checks */
    size_t unproven; /* failed ones outside of backups: data of the tenant may remain */
    size_t copies;
    size_t endless;     /* of the copies */
    struct slice last;  /* end of the copy that is deleted last */
    bool is_unreadable; /* the copies: the tenant's keys were destroyed */
};

/* Compares times as text: all have one length. */
static bool is_later(struct slice a, struct slice b)
{
    return b.len == 0 || base_slice_compare(a, b) > 0;
}

static struct verdict verdict_of(struct base_html *p)
{
    struct slice checks = base_json_at(p->line, "checks");
    struct slice copies = base_json_at(p->line, "copies");
    struct verdict v = {.is_bare = !base_html_is_there(checks)};
    struct slice one;
    v.is_expired = base_slice_is(base_html_text_of(p, base_json_at(p->line, "event")), "expired");
    v.is_unreadable = base_html_is_there(base_json_at(p->line, "key_destruction"));
    while (base_json_next(&checks, &one)) {
        bool has_failed = !base_slice_is(base_json_at(one, "passed"), "true");
        struct slice layer = base_html_text_of(p, base_json_at(one, "layer"));
        v.failed += has_failed;
        v.unproven += has_failed && !base_slice_is(layer, "copies");
    }
    while (base_json_next(&copies, &one)) {
        struct slice expires = base_json_at(one, "expires");
        v.copies++;
        v.endless += !base_html_is_there(expires);
        if (base_html_is_there(expires) && is_later(expires, v.last))
            v.last = expires;
    }
    return v;
}

static void put_count(struct base_html *p, size_t count, const char *one, const char *several)
{
    (void)base_buf_printf(p->out, "%zu %s", count, count == 1 ? one : several); /* errors latch */
}

static void put_backups(struct base_html *p, const struct verdict *v)
{
    put_count(p, v->copies, "backup still held", "backups still held");
    base_html_put(p, " its data when this certificate was written. ");
    if (v->is_unreadable)
        base_html_put(p, "The data in backups is unreadable: it is encrypted, and its keys were "
                         "destroyed. ");
    if (v->last.len > 0) {
        base_html_put(p, v->endless > 0 ? "The last of those with an expiry date expires on "
                                        : "The last of them expires on ");
        base_html_time(p, v->last);
        base_html_put(p, ". ");
    }
    if (v->endless > 0) {
        put_count(p, v->endless, "backup has", "backups have");
        base_html_put(p, " no expiry date and must be deleted by hand. ");
    }
}

static const char *headline_of(const struct verdict *v)
{
    if (v->unproven > 0)
        return "<strong>Not proven.</strong> ";
    if (v->failed > 0)
        return "<strong>Erased from the database, but not every check passed.</strong> ";
    return v->copies > 0 ? "<strong>Erased from the database.</strong> "
                         : "<strong>Erased.</strong> ";
}

static void put_erased(struct base_html *p, const struct verdict *v)
{
    base_html_put(p, headline_of(v));
    if (v->is_bare) {
        base_html_put(p, "The original certificate was lost, and this one replaced it on ");
        base_html_time(p, base_json_at(p->line, "reissued"));
        base_html_put(p, ". The counts and checks of the deletion were lost with it. ");
    } else if (v->unproven == 0) {
        base_html_put(p, "After the deletion, no data of the tenant was found in the database or "
                         "in its files. ");
    }
    if (v->failed > 0) {
        put_count(p, v->failed, "check", "checks");
        base_html_put(p, " did not pass: see &ldquo;How it was checked&rdquo;. ");
    }
    if (v->copies > 0)
        put_backups(p, v);
    else
        base_html_put(p, "No backup holds its data. ");
}

static void put_verdict(struct base_html *p, const struct verdict *v)
{
    base_html_put(p, "<h1>Certificate of erasure</h1>\n<p>of the tenant <strong>");
    put_member(p, p->line, "tenant");
    base_html_put(p, "</strong></p>\n<div class=\"verdict");
    base_html_put(p,
                  v->failed > 0 || (v->is_bare && !v->is_expired) ? " open\">\n<p>" : "\">\n<p>");
    if (v->is_expired) {
        base_html_put(
            p, "<strong>Erased, and no backup is left.</strong> The last backup that held data of "
               "the tenant was gone on ");
        base_html_time(p, base_json_at(p->line, "expired"));
        base_html_put(p, ". ");
    } else {
        put_erased(p, v);
    }
    base_html_put(
        p, "</p>\n<p><strong>The signature is valid.</strong> The certificate was signed with the "
           "key <span class=\"code\">");
    put_member(p, p->line, "public_key");
    base_html_put(p, "</span> and has not been changed since. The signature was checked when this "
                     "page was made.</p>\n"
                     "</div>\n");
}

/* --- sections --------------------------------------------------------------------------------- */

static void put_event(struct base_html *p)
{
    static const struct base_html_column FACTS[] = {
        {"Tenant", "tenant", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Requested by API key", "requested_by", BASE_HTML_WORDS, REQUESTERS, NULL, NULL},
        {"Reason", "reason", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Requested", "requested", BASE_HTML_TIME, NULL, NULL, NULL},
        {"Encryption keys destroyed", "key_destruction.destroyed", BASE_HTML_TIME, NULL, NULL,
         NULL},
        {"Erased and checked", "purged", BASE_HTML_TIME, NULL, NULL, NULL},
        {"Last backup gone", "expired", BASE_HTML_TIME, NULL, NULL, NULL},
        {"Certificate replaced", "reissued", BASE_HTML_TIME, NULL, NULL, NULL},
        {"Job", "job", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Rows deleted", "counts.rows", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Cells deleted", "counts.cells", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Data deleted", "counts.stored_bytes", BASE_HTML_VALUE, NULL, "&nbsp;bytes", NULL},
        {NULL, NULL, BASE_HTML_VALUE, NULL, NULL, NULL},
    };
    base_html_put(p, "<h2>Who, what, when, how much</h2>\n");
    base_html_facts(p, FACTS);
}

static void put_steps(struct base_html *p)
{
    static const struct base_html_column COLUMNS[] = {
        {"Step", "name", BASE_HTML_WORDS, STEPS, NULL, NULL},
        {"Finished", "finished", BASE_HTML_TIME, NULL, NULL, NULL},
        {"Duration", "seconds", BASE_HTML_VALUE, NULL, "&nbsp;s", NULL},
        {NULL, NULL, BASE_HTML_VALUE, NULL, NULL, NULL},
    };
    base_html_put(p, "<h2>How it was deleted</h2>\n");
    base_html_table(p, "steps", COLUMNS);
}

static void put_search(struct base_html *p)
{
    struct slice found = base_json_at(p->line, "searched_after");
    base_html_put(p, "<p>After the deletion, ");
    put_member(p, found, "files");
    base_html_put(p, " files (");
    put_member(p, found, "bytes");
    base_html_put(p, " bytes) were read and searched. ");
    if (number_of(base_json_at(found, "listed_files")) == 0) {
        base_html_put(p, "No file was left out.</p>\n");
        return;
    }
    put_member(p, found, "listed_files");
    base_html_put(p, " further files (");
    put_member(p, found, "listed_bytes");
    base_html_put(
        p, " bytes) were not read: each of them lists the tenants whose data it holds, and this "
           "tenant is not listed. ");
    put_member(p, found, "scrubbed_files");
    base_html_put(p,
                  " of these lists were compared with the whole file by an earlier check.</p>\n");
}

static void put_checks(struct base_html *p)
{
    static const struct base_html_column COLUMNS[] = {
        {"Looked for", "name", BASE_HTML_WORDS, CHECKS, NULL, NULL},
        {"In", "layer", BASE_HTML_WORDS, LAYERS, NULL, NULL},
        {"Before", "before", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"After", "after", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Passed", "passed", BASE_HTML_VALUE, NULL, NULL, NULL},
        {NULL, NULL, BASE_HTML_VALUE, NULL, NULL, NULL},
    };
    base_html_put(p, "<h2>How it was checked</h2>\n");
    base_html_table(p, "checks", COLUMNS);
    base_html_put(
        p,
        "<p>A deletion does not change backups. Their check passes if each of them has an expiry "
        "date, or if the encryption keys of the tenant were destroyed.</p>\n");
    put_search(p);
    base_html_put(p, "<p>When the tenant was created, ");
    put_member(p, p->line, "canaries.planted");
    base_html_put(p,
                  " random markers were stored among its data. The searches of the files found ");
    put_member(p, p->line, "canaries.found_before");
    base_html_put(p, " of them before the deletion and ");
    put_member(p, p->line, "canaries.found_after");
    base_html_put(p, " after it.</p>\n");
}

static void put_remains(struct base_html *p, const struct verdict *v)
{
    static const struct base_html_column COPIES[] = {
        {"Backup", "id", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Created", "created", BASE_HTML_TIME, NULL, NULL, NULL},
        {"Kept until", "expires", BASE_HTML_TIME, NULL, NULL,
         "deleted by hand: it has no expiry date"},
        {NULL, NULL, BASE_HTML_VALUE, NULL, NULL, NULL},
    };
    static const struct base_html_column EXCEPTIONS[] = {
        {"Kept on purpose", "kept", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Content and reason", "why", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Kept until", "until", BASE_HTML_VALUE, NULL, NULL, NULL},
        {NULL, NULL, BASE_HTML_VALUE, NULL, NULL, NULL},
    };
    base_html_put(p, "<h2>What remains, where, and until when</h2>\n<p>");
    if (v->copies == 0) {
        base_html_put(
            p, v->is_expired
                   ? "No backup from before the deletion exists any more.</p>\n"
                   : "No backup held data of the tenant when this certificate was written.</p>\n");
    } else {
        base_html_put(
            p, "These backups held data of the tenant when this certificate was written:</p>\n");
        base_html_table(p, "copies", COPIES);
        base_html_put(
            p, "<p>A second certificate is issued when the last of these backups is gone.</p>\n");
    }
    if (count_of(base_json_at(p->line, "exceptions")) > 0)
        base_html_table(p, "exceptions", EXCEPTIONS);
}

static void put_holds(struct base_html *p)
{
    static const struct base_html_column COLUMNS[] = {
        {"Legal hold", "action", BASE_HTML_WORDS, HOLD_ACTIONS, NULL, NULL},
        {"When", "at", BASE_HTML_TIME, NULL, NULL, NULL},
        {"By API key", "by", BASE_HTML_VALUE, NULL, NULL, "the server's operator"},
        {"Audit record", "record", BASE_HTML_VALUE, NULL, NULL, NULL},
        {NULL, NULL, BASE_HTML_VALUE, NULL, NULL, NULL},
    };
    base_html_put(p, "<h2>Legal holds before the deletion</h2>\n");
    base_html_table(p, "holds", COLUMNS);
}

static void put_technical(struct base_html *p)
{
    static const struct base_html_column FACTS[] = {
        {"Format", "format", BASE_HTML_CODE, NULL, NULL, NULL},
        {"Bigtent", "software.bigtent", BASE_HTML_CODE, NULL, NULL, NULL},
        {"RocksDB", "software.rocksdb", BASE_HTML_CODE, NULL, NULL, NULL},
        {"Sequence number before", "sequence.before", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Sequence number of the deletion", "sequence.deleted", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Sequence number after", "sequence.after", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Versions of the encryption key", "key_destruction.versions", BASE_HTML_VALUE, NULL, NULL,
         NULL},
        {"SHA-256 of the previous certificate", "previous", BASE_HTML_CODE, NULL, NULL, NULL},
        {"Public key (Ed25519)", "public_key", BASE_HTML_CODE, NULL, NULL, NULL},
        {"Signature", "signature", BASE_HTML_CODE, NULL, NULL, NULL},
        {NULL, NULL, BASE_HTML_VALUE, NULL, NULL, NULL},
    };
    static const struct base_html_column RANGES[] = {
        {"Range of stored keys, in", "family", BASE_HTML_VALUE, NULL, NULL, NULL},
        {"Begin (hexadecimal)", "begin", BASE_HTML_CODE, NULL, NULL, NULL},
        {"End, exclusive", "end", BASE_HTML_CODE, NULL, NULL, NULL},
        {NULL, NULL, BASE_HTML_VALUE, NULL, NULL, NULL},
    };
    base_html_put(
        p, "<div class=\"technical\">\n<h2>For a technical check</h2>\n"
           "<p>This page was made from a signed file and is not signed itself. To check the file, "
           "run <span class=\"code\">bigtent certificate verify FILE --pubkey KEY</span>, or use "
           "any program that checks Ed25519 signatures. Get the public key from another source "
           "than the file.</p>\n");
    base_html_facts(p, FACTS);
    if (base_html_is_there(base_json_at(p->line, "ranges")))
        base_html_table(p, "ranges", RANGES);
    base_html_put(p, "</div>\n");
}

/* --- the page --------------------------------------------------------------------------------- */

/* Checks the format: the same key also signs other lines, the statements of the audit trail. */
static enum err format_check(struct base_html *p, struct errbuf *eb)
{
    struct slice format = base_html_text_of(p, base_json_at(p->line, "format"));
    const struct slice head = SLICE_LIT(FORMAT_HEAD);
    bool is_known = base_slice_starts_with(format, head) && format.len == head.len + 1 &&
                    format.ptr[head.len] >= '1' && format.ptr[head.len] <= FORMAT_LATEST;
    if (!is_known)
        return base_fail(eb, ERR_UNSUPPORTED,
                         "the line is signed, but its format is not " FORMAT_HEAD "1 to %c: it is "
                         "no certificate, or one of a newer version",
                         FORMAT_LATEST);
    static const char *const NEEDED[] = {"event", "tenant", "job", "purged"};
    for (size_t i = 0; i < sizeof NEEDED / sizeof NEEDED[0]; i++)
        if (base_json_kind(base_json_at(p->line, NEEDED[i])) != BASE_JSON_STRING)
            return base_fail(eb, ERR_INVALID, "the certificate has no text \"%s\"", NEEDED[i]);
    return ERR_OK;
}

static void write_page(struct base_html *p)
{
    const struct verdict v = verdict_of(p);
    base_html_put(p, HEAD "Certificate of erasure: ");
    base_html_escaped(p, base_html_text_of(p, base_json_at(p->line, "tenant")));
    base_html_put(p, STYLE);
    put_verdict(p, &v);
    put_event(p);
    if (base_html_is_there(base_json_at(p->line, "steps")))
        put_steps(p);
    if (!v.is_bare)
        put_checks(p);
    put_remains(p, &v);
    if (count_of(base_json_at(p->line, "holds")) > 0)
        put_holds(p);
    put_technical(p);
    base_html_put(p, TAIL);
}

enum err base_erasure_page(EVP_PKEY *key, struct slice line, struct buf *out, struct errbuf *eb)
{
    struct base_html p = {.line = line, .out = out};
    size_t before = out->len;
    enum err rc = base_seal_check(key, line, eb);
    if (rc == ERR_OK && base_json_check(line) != ERR_OK)
        rc = base_fail(eb, ERR_INVALID, "the signed line is no JSON text");
    if (rc != ERR_OK)
        return rc;
    base_buf_init(&p.scratch, LIM_CERTIFICATE_BYTES);
    rc = format_check(&p, eb);
    if (rc == ERR_OK) {
        write_page(&p);
        rc = out->error != ERR_OK ? out->error : p.scratch.error;
    }
    base_buf_fini(&p.scratch);
    if (rc != ERR_OK)
        base_buf_truncate(out, before);
    return rc;
}
