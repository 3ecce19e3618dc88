/*
 * gateway/serve_report.h - logs events that a server detects about itself.
 *
 * Does:     logs damage and findings of the scrub when they are new, and long computations.
 * Owns:     nothing.
 * May use:  base/, storage/engine.h.
 * Knows no: tenants, requests.
 * Threads:  main; gw_report_slow: the watchdog's.
 * Blocks:   on the log.
 * Fails by: does not fail.
 * Limits:   one line per second about long computations.
 * Promises: 1. No line contains data that a tenant sent or stored.
 */
#ifndef GATEWAY_SERVE_REPORT_H
#define GATEWAY_SERVE_REPORT_H

#include "storage/engine.h"

/* seen: the state that was logged already; zeroed at first. */
void gw_report_damage(struct sto_engine *engine, struct sto_damage *seen);
void gw_report_scrub(struct sto_engine *engine, struct sto_scrub *seen);
/* For base_watchdog_start. */
void gw_report_slow(const char *name, const char *what, uint64_t ms);

#endif
