/*
 * tenancy/audit_detail.c - words "name=value", as many as fit.
 */
#include "tenancy/audit_detail.h"

#include "tenancy/audit.h"

#include "base/banned.h"

/* A word that does not fit is left out, and so are all later ones: the buf's error latches. */
static void words_init(struct buf *words)
{
    base_buf_init(words, LIM_AUDIT_TEXT - 4);
}

static void words_set(struct buf *words)
{
    bool is_cut = words->error != ERR_OK;
    ten_audit_set_detail("%.*s%s", SLICE_ARGS(base_buf_slice(words)), is_cut ? " ..." : "");
    base_buf_fini(words);
}

static void word(struct buf *words, const char *name)
{
    if (words->len > 0)
        (void)base_buf_append_byte(words, ' ');
    (void)base_buf_append_text(words, name);
    (void)base_buf_append_byte(words, '=');
}

static void word_u64(struct buf *words, const char *name, uint64_t number)
{
    word(words, name);
    (void)base_buf_append_u64(words, number);
}

static void word_families(struct buf *words, const char *name, const struct sto_family_spec *specs,
                          const struct slice *names, size_t count)
{
    if (count == 0)
        return;
    word(words, name);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            (void)base_buf_append_byte(words, ',');
        (void)base_buf_append(words, specs != NULL ? specs[i].name : names[i]);
    }
}

static void word_quota(struct buf *words, const struct ten_quota *q)
{
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++) {
        if (!ten_quota_is_given(q, i))
            continue;
        word(words, ten_quota_field(i).name);
        if (q->each[i] == UINT64_MAX)
            (void)base_buf_append_text(words, "none");
        else
            (void)base_buf_append_u64(words, q->each[i]);
    }
}

void ten_audit_set_quota(const struct ten_quota *q)
{
    struct buf words;
    words_init(&words);
    word_quota(&words, q);
    words_set(&words);
}

void ten_audit_set_wanted(const struct ten_tenant_wanted *wanted)
{
    struct buf words;
    words_init(&words);
    if (wanted->plan.ptr != NULL) {
        word(&words, "plan");
        (void)base_buf_append(&words, wanted->plan.len > 0 ? wanted->plan : SLICE_LIT("none"));
    }
    if (wanted->display_name.ptr != NULL) {
        word(&words, "display_name_bytes"); /* the name itself may be a person's */
        (void)base_buf_append_u64(&words, wanted->display_name.len);
    }
    if (wanted->quota != NULL)
        word_quota(&words, wanted->quota);
    words_set(&words);
}

void ten_audit_set_table(const struct ten_table_wanted *wanted)
{
    struct buf words;
    words_init(&words);
    word_families(&words, "families", wanted->families, NULL, wanted->family_count);
    if (wanted->has_protected)
        word_u64(&words, "protected", wanted->protected ? 1 : 0);
    if (wanted->has_change_retention)
        word_u64(&words, "change_retention_s", wanted->change_retention_s);
    if (wanted->split_count > 0)
        word_u64(&words, "splits", wanted->split_count);
    words_set(&words);
}

void ten_audit_set_families(const struct ten_families_change *change)
{
    struct buf words;
    words_init(&words);
    word_families(&words, "create", change->create, NULL, change->create_count);
    word_families(&words, "update", change->update, NULL, change->update_count);
    word_families(&words, "drop", NULL, change->drop, change->drop_count);
    words_set(&words);
}
