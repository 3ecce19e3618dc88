/*
 * gateway/grpc/descriptors.c - an index of the files of a FileDescriptorSet.
 *
 * Mechanism: one walk over the set, breadth first. A scope is a message of the set in which names
 * are declared, together with the prefix of those names. A file's scopes are its messages, enums
 * and services; a message's are those inside it; a service's its methods. Each scope makes a
 * symbol. Symbols are sorted at the end.
 */
#include "gateway/grpc/descriptors.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"

#include "base/banned.h"

#define NAMES_MAX   (4 * MIB)
#define VARINT_BITS 64

enum scope_kind { SCOPE_FILE, SCOPE_MESSAGE, SCOPE_ENUM, SCOPE_SERVICE, SCOPE_METHOD, SCOPE_NONE };

struct scope {
    enum scope_kind kind;
    uint8_t file;
    struct slice name;
    struct slice body;
};

struct symbol {
    struct slice name;
    uint8_t file;
};

struct gw_descriptors {
    struct arena names;
    struct gw_descriptor_file files[GW_DESCRIPTOR_FILES];
    size_t file_count;
    struct symbol *symbols; /* sorted */
    size_t symbol_count;
};

/* --- the wire ----------------------------------------------------------------------------------
 */

struct field {
    uint32_t number;
    struct slice bytes; /* ptr NULL: a field of another wire type */
};

static bool take_varint(struct slice *rest, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < VARINT_BITS && rest->len > 0; shift += 7) {
        uint8_t byte = rest->ptr[0];
        *rest = base_slice_skip(*rest, 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

static bool skip(struct slice *rest, size_t count)
{
    if (rest->len < count)
        return false;
    *rest = base_slice_skip(*rest, count);
    return true;
}

/* Reads one field; rest must not be empty. */
static bool take_field(struct slice *rest, struct field *out)
{
    uint64_t tag = 0, number = 0;
    if (!take_varint(rest, &tag))
        return false;
    *out = (struct field){.number = (uint32_t)(tag >> 3)};
    switch (tag & 7) {
    case 0:
        return take_varint(rest, &number);
    case 1:
        return skip(rest, sizeof(uint64_t));
    case 2:
        if (!take_varint(rest, &number) || number > rest->len)
            return false;
        out->bytes = base_slice(rest->ptr, (size_t)number);
        *rest = base_slice_skip(*rest, (size_t)number);
        return true;
    case 5:
        return skip(rest, sizeof(uint32_t));
    default:
        return false;
    }
}

static enum err damaged(struct errbuf *eb)
{
    return base_fail(eb, ERR_CORRUPT, "the set of descriptors is damaged");
}

/* Returns the last field of that number; empty when there is none. */
static struct slice find_field(struct slice body, uint32_t number)
{
    struct slice found = SLICE_EMPTY;
    struct field field;
    while (body.len > 0 && take_field(&body, &field))
        if (field.number == number && field.bytes.ptr != NULL)
            found = field.bytes;
    return found;
}

/* --- names -------------------------------------------------------------------------------------
 */

/* Returns the kind of scope that a field of a scope starts, by descriptor.proto. */
static enum scope_kind kind_of(enum scope_kind in, uint32_t field)
{
    switch (in) {
    case SCOPE_FILE:
        return field == 4   ? SCOPE_MESSAGE
               : field == 5 ? SCOPE_ENUM
               : field == 6 ? SCOPE_SERVICE
                            : SCOPE_NONE;
    case SCOPE_MESSAGE:
        return field == 3 ? SCOPE_MESSAGE : field == 4 ? SCOPE_ENUM : SCOPE_NONE;
    case SCOPE_SERVICE:
        return field == 2 ? SCOPE_METHOD : SCOPE_NONE;
    case SCOPE_ENUM:
    case SCOPE_METHOD:
    case SCOPE_NONE:
    default:
        return SCOPE_NONE;
    }
}

/* Returns "outer.inner", or "inner" when outer is empty; ptr NULL: out of memory. */
static struct slice join(struct arena *arena, struct slice outer, struct slice inner)
{
    if (outer.len == 0)
        return base_arena_copy(arena, inner);
    size_t len = outer.len + 1 + inner.len;
    uint8_t *text = base_arena_alloc(arena, len);
    if (text == NULL)
        return SLICE_EMPTY;
    memcpy(text, outer.ptr, outer.len);
    text[outer.len] = '.';
    memcpy(text + outer.len + 1, inner.ptr, inner.len);
    return base_slice(text, len);
}

static enum err put_scope(struct gw_descriptors *d, struct buf *scopes, const struct scope *in,
                          enum scope_kind kind, struct slice body, struct errbuf *eb)
{
    struct slice own = find_field(body, 1);
    if (own.len == 0)
        return damaged(eb);
    struct scope scope = {kind, in->file, join(&d->names, in->name, own), body};
    if (scope.name.ptr == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "no memory for the names of descriptors");
    enum err e = base_buf_append(scopes, base_slice(&scope, sizeof scope));
    return e == ERR_OK ? ERR_OK : base_fail(eb, e, "no memory for the index of descriptors");
}

static enum err walk_scope(struct gw_descriptors *d, struct buf *scopes, struct scope in,
                           struct errbuf *eb)
{
    struct slice rest = in.body;
    struct field field;
    enum err e = ERR_OK;
    while (rest.len > 0 && e == ERR_OK) {
        if (!take_field(&rest, &field))
            return damaged(eb);
        enum scope_kind kind = kind_of(in.kind, field.number);
        if (kind != SCOPE_NONE)
            e = put_scope(d, scopes, &in, kind, field.bytes, eb);
    }
    return e;
}

static int compare(struct slice a, struct slice b)
{
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_name(const void *a, const void *b)
{
    return compare(((const struct symbol *)a)->name, ((const struct symbol *)b)->name);
}

static void put_symbols(struct gw_descriptors *d, const struct scope *scopes, size_t count)
{
    d->symbols = base_new_array(count, sizeof *d->symbols);
    for (size_t i = 0; i < count; i++)
        if (scopes[i].kind != SCOPE_FILE)
            d->symbols[d->symbol_count++] = (struct symbol){scopes[i].name, scopes[i].file};
    qsort(d->symbols, d->symbol_count, sizeof *d->symbols, by_name);
}

/* Walks over all scopes. scopes: initially those of the files; inner scopes are appended. */
static enum err walk(struct gw_descriptors *d, struct buf *scopes, struct errbuf *eb)
{
    enum err e = ERR_OK;
    size_t count = 0;
    for (; e == ERR_OK && count * sizeof(struct scope) < scopes->len; count++)
        e = walk_scope(d, scopes, ((const struct scope *)(const void *)scopes->ptr)[count], eb);
    if (e == ERR_OK)
        put_symbols(d, (const struct scope *)(const void *)scopes->ptr, count);
    return e;
}

/* --- files -------------------------------------------------------------------------------------
 */

static enum err take_imports(const struct gw_descriptors *d, struct gw_descriptor_file *file,
                             struct errbuf *eb)
{
    struct slice rest = file->bytes;
    struct field field;
    while (rest.len > 0) {
        if (!take_field(&rest, &field))
            return damaged(eb);
        if (field.number != 3)
            continue;
        const struct gw_descriptor_file *import = gw_descriptors_by_name(d, field.bytes);
        if (import == NULL)
            return damaged(eb);
        file->needs |= import->needs;
    }
    return ERR_OK;
}

static enum err add_file(struct gw_descriptors *d, struct slice bytes, struct buf *scopes,
                         struct errbuf *eb)
{
    if (d->file_count == GW_DESCRIPTOR_FILES)
        return base_fail(eb, ERR_TOO_BIG, "there are more than %d descriptors",
                         GW_DESCRIPTOR_FILES);
    uint8_t index = (uint8_t)d->file_count;
    struct gw_descriptor_file *file = &d->files[index];
    *file = (struct gw_descriptor_file){find_field(bytes, 1), bytes, UINT64_C(1) << index};
    enum err e = take_imports(d, file, eb);
    if (e != ERR_OK)
        return e;
    d->file_count++;
    struct scope scope = {SCOPE_FILE, index, find_field(bytes, 2), bytes};
    e = base_buf_append(scopes, base_slice(&scope, sizeof scope));
    return e == ERR_OK ? ERR_OK : base_fail(eb, e, "no memory for the index of descriptors");
}

static enum err add_files(struct gw_descriptors *d, struct slice set, struct buf *scopes,
                          struct errbuf *eb)
{
    struct field field;
    enum err e = ERR_OK;
    while (set.len > 0 && e == ERR_OK) {
        if (!take_field(&set, &field))
            return damaged(eb);
        if (field.number == 1)
            e = add_file(d, field.bytes, scopes, eb);
    }
    return e;
}

enum err gw_descriptors_new(struct slice set, struct gw_descriptors **out, struct errbuf *eb)
{
    struct gw_descriptors *d = base_new(sizeof *d);
    struct buf scopes;
    base_arena_init(&d->names, NAMES_MAX);
    base_buf_init(&scopes, NAMES_MAX);
    enum err e = add_files(d, set, &scopes, eb);
    if (e == ERR_OK)
        e = walk(d, &scopes, eb);
    base_buf_fini(&scopes);
    if (e != ERR_OK) {
        gw_descriptors_free(d);
        return e;
    }
    *out = d;
    return ERR_OK;
}

void gw_descriptors_free(struct gw_descriptors *d)
{
    if (d == NULL)
        return;
    base_free(d->symbols);
    base_arena_fini(&d->names);
    base_free(d);
}

/* --- queries -----------------------------------------------------------------------------------
 */

size_t gw_descriptors_count(const struct gw_descriptors *d)
{
    return d->file_count;
}

const struct gw_descriptor_file *gw_descriptors_file(const struct gw_descriptors *d, size_t n)
{
    INVARIANT(n < d->file_count);
    return &d->files[n];
}

const struct gw_descriptor_file *gw_descriptors_by_name(const struct gw_descriptors *d,
                                                        struct slice name)
{
    for (size_t i = 0; i < d->file_count; i++)
        if (base_slice_equal(d->files[i].name, name))
            return &d->files[i];
    return NULL;
}

const struct gw_descriptor_file *gw_descriptors_by_symbol(const struct gw_descriptors *d,
                                                          struct slice symbol)
{
    const struct symbol wanted = {.name = symbol};
    if (symbol.len == 0 || d->symbol_count == 0)
        return NULL;
    const struct symbol *found =
        bsearch(&wanted, d->symbols, d->symbol_count, sizeof *d->symbols, by_name);
    return found == NULL ? NULL : &d->files[found->file];
}
