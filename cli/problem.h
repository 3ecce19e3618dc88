/*
 * cli/problem.h - explains failures in one or two lines.
 *
 * Does:     explain problem+json refusals, answers of other servers, and failures to connect;
 *           choose the exit code.
 * Owns:     nothing.
 * May use:  base/, cli/.
 * Knows no: requests.
 * Threads:  one.
 * Blocks:   on stderr.
 * Fails by: does not fail; returns the exit code of the failure it explains.
 * Limits:   CLI_PROBLEM_BYTES.
 * Promises: 1. A refusal says whether a retry helps. 2. A connection failure names the URL and the
 *              CA.
 */
#ifndef CLI_PROBLEM_H
#define CLI_PROBLEM_H

#include <curl/curl.h>

#include "base/slice.h"
#include "cli/config.h"

enum cli_exit cli_problem_answer(const struct cli_config *config, long status, struct slice body);
/* Explains a transport error. detail: curl's message, may be empty.
 * began: the answer's head had arrived. */
enum cli_exit cli_problem_transport(const struct cli_config *config, CURLcode code,
                                    const char *detail, bool began);

#endif
