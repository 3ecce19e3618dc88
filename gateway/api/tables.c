/*
 * gateway/api/tables.c - tables: list, create and change, describe, delete.
 */
#include "base/text.h"
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"

#include "base/banned.h"

#define US_PER_S  1000000U
#define AGE_S_MAX (UINT64_MAX / US_PER_S / 4) /* any longer is a slip of the pen */

/* --- list and describe -------------------------------------------------------------------------
 */

void gw_table_list(struct gw_call *call)
{
    const struct ten_tables *tables = ten_tenant_tables(call->tenant);
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name(&j, "tables");
    gw_json_open(&j, '[');
    for (size_t i = 0; i < tables->count; i++) {
        if (!tables->schemas[i]->deleting)
            gw_describe_table(&j, tables->schemas[i]);
    }
    gw_json_close(&j, ']');
    gw_json_close(&j, '}');
    gw_call_send_json(call, 200);
}

static void describe_scope(struct gw_call *call)
{
    struct gw_json j = gw_json_start(&call->out);
    gw_describe_table(&j, call->scope.schema);
}

void gw_table_get(struct gw_call *call)
{
    describe_scope(call);
    gw_call_send_json(call, 200);
}

/* --- create and change -------------------------------------------------------------------------
 */

struct table_put {
    struct sto_family_spec families[LIM_FAMILIES];
    size_t count;
};

/* "86400s" or "1.5s": seconds with at most six decimals. */
static enum err parse_age(struct slice text, uint64_t *out_us)
{
    if (text.len < 2 || text.ptr[text.len - 1] != 's')
        return ERR_INVALID;
    text.len--;
    const uint8_t *dot = memchr(text.ptr, '.', text.len);
    size_t whole_len = dot == NULL ? text.len : (size_t)(dot - text.ptr);
    uint64_t whole = 0;
    uint64_t fraction = 0;
    enum err e = base_parse_u64(base_slice(text.ptr, whole_len), &whole);
    if (e != ERR_OK || whole > AGE_S_MAX)
        return ERR_INVALID;
    size_t decimals = dot == NULL ? 0 : text.len - whole_len - 1;
    if (decimals > 6 || (dot != NULL && decimals == 0))
        return ERR_INVALID;
    for (size_t i = 0; i < 6; i++) {
        uint8_t c = i < decimals ? dot[1 + i] : '0';
        if (c < '0' || c > '9')
            return ERR_INVALID;
        fraction = fraction * 10 + (uint64_t)(c - '0');
    }
    *out_us = whole * US_PER_S + fraction;
    return *out_us == 0 ? ERR_INVALID : ERR_OK;
}

static enum err parse_gc(const json_t *gc, struct sto_gc *out, struct errbuf *eb)
{
    static const char *const names[] = {"max_versions", "max_age", NULL};
    uint64_t versions = 0;
    struct slice age;
    *out = (struct sto_gc){0};
    if (gc == NULL || json_is_null(gc))
        return ERR_OK;
    if (!json_is_object(gc))
        return base_fail(eb, ERR_INVALID, "\"gc\" must be an object");
    enum err e = gw_json_only(gc, names, eb);
    if (e == ERR_OK)
        e = gw_json_get_u64(gc, "max_versions", &versions, eb);
    if (e == ERR_OK)
        e = gw_json_get_text(gc, "max_age", &age, eb);
    if (e != ERR_OK)
        return e;
    if (versions != UINT64_MAX && (versions == 0 || versions > INT32_MAX))
        return base_fail(eb, ERR_INVALID, "\"max_versions\" must be from 1 to %d", INT32_MAX);
    out->max_versions = versions == UINT64_MAX ? 0 : (uint32_t)versions;
    if (age.ptr != NULL && parse_age(age, &out->max_age_us) != ERR_OK)
        return base_fail(eb, ERR_INVALID,
                         "\"max_age\" must be seconds with a final \"s\", like \"86400s\"");
    return ERR_OK;
}

static enum err parse_family(struct slice name, const json_t *family, struct sto_family_spec *out,
                             struct errbuf *eb)
{
    static const char *const names[] = {"gc", NULL};
    if (!json_is_object(family))
        return base_fail(eb, ERR_INVALID, "a family must be an object, such as {}");
    enum err e = gw_json_only(family, names, eb);
    if (e != ERR_OK)
        return e;
    out->name = name;
    return parse_gc(json_object_get(family, "gc"), &out->gc, eb);
}

static enum err parse_families(struct gw_call *call, struct table_put *put, struct errbuf *eb)
{
    static const char *const names[] = {"families", NULL};
    enum err e = gw_call_parse(call, eb);
    if (e == ERR_OK)
        e = gw_json_only(call->json, names, eb);
    if (e != ERR_OK)
        return e;
    json_t *families = json_object_get(call->json, "families");
    if (!json_is_object(families))
        return base_fail(eb, ERR_INVALID, "\"families\" must be an object of families");
    if (json_object_size(families) > LIM_FAMILIES)
        return base_fail(eb, ERR_TOO_BIG, "%zu families; the limit is %d",
                         json_object_size(families), LIM_FAMILIES);
    for (void *i = json_object_iter(families); i != NULL && e == ERR_OK;
         i = json_object_iter_next(families, i))
        e = parse_family(gw_json_member_name(i), json_object_iter_value(i),
                         &put->families[put->count++], eb);
    return e;
}

/* Control thread. */
static enum err put_table(struct gw_call *call, struct errbuf *eb)
{
    struct table_put *put = call->state;
    bool created = false;
    enum err e = ten_table_put(call->api->registry, call->tenant, gw_call_param(call, 0),
                               put->families, put->count, &created, eb);
    if (e == ERR_OK)
        e = gw_call_enter_table(call, eb);
    if (e != ERR_OK)
        return e;
    call->task.status = created ? 201 : 200;
    describe_scope(call);
    return ERR_OK;
}

void gw_table_put(struct gw_call *call)
{
    struct table_put *put = gw_call_new_state(call, sizeof *put, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = sto_table_id_check(gw_call_param(call, 0), &eb);
    if (e == ERR_OK)
        e = parse_families(call, put, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_task_on_control(call, 200, put_table);
}

/* --- delete ------------------------------------------------------------------------------------
 */

static void delete_done(struct ten_table_delete_op *op)
{
    struct gw_call *call = op->user;
    if (op->result != ERR_OK)
        gw_call_problem(call, (int)op->result, op->detail.text);
    else
        gw_call_no_content(call);
    gw_call_drop(call);
}

void gw_table_delete(struct gw_call *call)
{
    struct ten_table_delete_op *op = gw_call_new_state(call, sizeof *op, NULL);
    struct slice id = gw_call_param(call, 0);
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = sto_table_id_check(id, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    op->reply_to = call->thread->mailbox;
    op->done = delete_done;
    op->user = call;
    op->tenant = call->tenant;
    memcpy(op->table_id, id.ptr, id.len);
    gw_call_hold(call);
    ten_table_delete(call->api->registry, op);
}
