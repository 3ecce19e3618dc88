/*
 * base/names.h - the rules for names chosen by people.
 *
 * Does:     checks the IDs of tenants and tables and the names of column families.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: whether an object of that name exists.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, with a sentence.
 * Limits:   LIM_TENANT_ID_MIN, LIM_TENANT_ID, LIM_TABLE_ID, LIM_FAMILY_NAME.
 * Promises: 1. A tenant's ID holds no '#' and fits a DNS label.
 */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include "base/err.h"
#include "base/slice.h"

enum err base_tenant_id_check(struct slice id, struct errbuf *eb) MUST_CHECK;
enum err base_table_id_check(struct slice id, struct errbuf *eb) MUST_CHECK;
enum err base_family_name_check(struct slice name, struct errbuf *eb) MUST_CHECK;

/* Returns whether an ID could be mistaken for the service itself: no tenant is made with one. */
bool base_tenant_id_is_reserved(struct slice id);

#endif
