/*
 * gateway/api/admin.h - helpers shared by the administration handlers.
 *
 * Does:     finds the tenant of the path; parses bodies; describes a tenant.
 * Owns:     nothing.
 * May use:  gateway/api/rest.h.
 * Knows no: effect of the requests.
 * Threads:  the loop of the call.
 * Blocks:   no.
 * Fails by: answering the call.
 * Limits:   none.
 * Promises: 1. Only routes that need an admin scope use this.
 */
#ifndef GATEWAY_API_ADMIN_H
#define GATEWAY_API_ADMIN_H

#include "gateway/api/json_out.h"
#include "gateway/api/rest.h"

/* Returns the tenant of the first path parameter; NULL when the call was answered with 404. */
struct ten_tenant *gw_admin_tenant(struct gw_call *call);
/* Parses the body (an empty optional body is {}) and allows only these fields; false when
 * answered. */
bool gw_admin_parse(struct gw_call *call, const char *const *names);
/* Reads a text field of the parsed body; false when the call was answered. */
bool gw_admin_get_text(struct gw_call *call, const char *name, bool needed, struct slice *out);
struct mig_backup_entry;
/* Writes a backup, of everything or of one tenant, as an object. */
void gw_admin_describe_backup(struct gw_call *call, struct gw_json *j,
                              const struct mig_backup_entry *entry);
/* Writes the response: the tenant. */
void gw_admin_describe(struct gw_call *call, const struct ten_tenant *t);

#endif
