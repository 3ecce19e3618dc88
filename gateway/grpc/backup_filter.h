/*
 * gateway/grpc/backup_filter.h - selects the backups of a list: ListBackupsRequest.filter.
 *
 * Does:     parses `(name:daily) AND NOT size_bytes > 1000`; evaluates whether a backup matches.
 * Owns:     nothing; values stay in the text, which must live as long.
 * May use:  base/, gateway/grpc/.
 * Knows no: lists, tenants.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID saying what is wrong and where; ERR_TOO_BIG.
 * Limits:   GW_BACKUP_FILTER_TERMS comparisons, and as many words and brackets open at once.
 * Promises: 1. No recursion, however deep the brackets.
 *           2. An accepted filter has a value for every backup; an empty filter matches all.
 */
#ifndef GATEWAY_GRPC_BACKUP_FILTER_H
#define GATEWAY_GRPC_BACKUP_FILTER_H

#include "gateway/grpc/backup_field.h"

#define GW_BACKUP_FILTER_TERMS 32
#define GW_BACKUP_FILTER_STEPS (4 * GW_BACKUP_FILTER_TERMS)

enum gw_backup_step_kind {
    GW_BACKUP_STEP_COMPARE, /* push whether the comparison holds */
    GW_BACKUP_STEP_NOT,     /* replace the top by its opposite */
    GW_BACKUP_STEP_AND,     /* replace the two on top by their conjunction */
    GW_BACKUP_STEP_OR,
};

enum gw_backup_operator {
    GW_BACKUP_HAS,
    GW_BACKUP_EQUAL,
    GW_BACKUP_NOT_EQUAL,
    GW_BACKUP_LESS,
    GW_BACKUP_AT_MOST,
    GW_BACKUP_GREATER,
    GW_BACKUP_AT_LEAST,
};

struct gw_backup_step {
    enum gw_backup_step_kind kind;
    enum gw_backup_field field;
    enum gw_backup_operator op;
    bool is_quoted;
    struct gw_backup_value value;
};

/* A program for a stack of truth values. */
struct gw_backup_filter {
    size_t count;
    struct gw_backup_step steps[GW_BACKUP_FILTER_STEPS];
};

enum err gw_backup_filter_read(struct slice text, struct gw_backup_filter *out,
                               struct errbuf *eb) MUST_CHECK;
bool gw_backup_filter_means(const struct gw_backup_filter *filter, const Bta__Backup *backup);

#endif
