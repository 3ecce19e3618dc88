/*
 * gateway/grpc/backup_order.c - the order in which backups are listed: ListBackupsRequest.order_by.
 */
#include "gateway/grpc/backup_order.h"

#include "base/banned.h"

static const char form[] = "order_by: it must be like \"expire_time desc, name\"";

/* Returns the next word; skips the spaces around it. */
static struct slice take_word(struct slice *rest)
{
    while (rest->len > 0 && rest->ptr[0] == ' ')
        *rest = base_slice_skip(*rest, 1);
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] != ' ' && rest->ptr[len] != ',')
        len++;
    struct slice word = base_slice(rest->ptr, len);
    *rest = base_slice_skip(*rest, len);
    while (rest->len > 0 && rest->ptr[0] == ' ')
        *rest = base_slice_skip(*rest, 1);
    return word;
}

static bool is_there(const struct gw_backup_order *order, enum gw_backup_field field)
{
    for (size_t i = 0; i < order->count; i++)
        if (order->by[i].field == field)
            return true;
    return false;
}

static enum err read_part(struct slice *rest, struct gw_backup_order *out, struct errbuf *eb)
{
    enum gw_backup_field field = GW_BACKUP_NAME;
    struct slice name = take_word(rest);
    enum err e = name.len == 0 ? base_fail(eb, ERR_INVALID, form)
                               : gw_backup_field_find(name, "order_by", &field, eb);
    if (e != ERR_OK)
        return e;
    struct slice way = take_word(rest);
    bool is_descending = gw_backup_text_compare(way, SLICE_LIT("desc")) == 0;
    bool is_ascending = way.len == 0 || gw_backup_text_compare(way, SLICE_LIT("asc")) == 0;
    if (!is_descending && !is_ascending)
        return base_fail(eb, ERR_INVALID, form);
    if (is_there(out, field))
        return base_fail(eb, ERR_INVALID, "order_by: a field is named twice");
    out->by[out->count].field = field;
    out->by[out->count++].is_descending = is_descending;
    return ERR_OK;
}

enum err gw_backup_order_read(struct slice text, struct gw_backup_order *out, struct errbuf *eb)
{
    struct slice rest = text;
    out->count = 0;
    if (text.len == 0)
        rest = SLICE_LIT("start_time desc");
    for (;;) {
        enum err e = read_part(&rest, out, eb);
        if (e != ERR_OK || rest.len == 0)
            return e;
        if (rest.ptr[0] != ',')
            return base_fail(eb, ERR_INVALID, form);
        rest = base_slice_skip(rest, 1);
    }
}

static int compare_field(enum gw_backup_field field, const Bta__Backup *a, const Bta__Backup *b)
{
    struct gw_backup_value left = gw_backup_field_of(a, field);
    struct gw_backup_value right = gw_backup_field_of(b, field);
    if (gw_backup_field_is_text(field))
        return base_slice_compare(left.text, right.text);
    return left.number < right.number ? -1 : left.number > right.number;
}

int gw_backup_order_compare(const struct gw_backup_order *order, const Bta__Backup *a,
                            const Bta__Backup *b)
{
    for (size_t i = 0; i < order->count; i++) {
        int difference = compare_field(order->by[i].field, a, b);
        if (difference != 0)
            return order->by[i].is_descending ? -difference : difference;
    }
    return compare_field(GW_BACKUP_NAME, a, b);
}
