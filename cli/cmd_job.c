/* cli/cmd_job.c - long work of the server: /v1/admin/jobs. */
#include <stdio.h>
#include <string.h>

#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/interrupt.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/target.h"

#include "base/banned.h"

#define JOB "/v1/admin/jobs/{}"

static const struct cli_field JOB_FIELDS[] = {
    {"job", "id", CLI_FIELD_TEXT, NULL},
    {"tenant", "tenant", CLI_FIELD_TEXT, NULL},
    {"state", "state", CLI_FIELD_TEXT, NULL},
    {"steps", "steps", CLI_FIELD_STEPS, NULL},
    {"requested", "requested", CLI_FIELD_TEXT, NULL},
    {"reason", "reason", CLI_FIELD_TEXT, NULL},
    {"delete at", "delete_at", CLI_FIELD_TEXT, NULL},
    {"finished", "finished", CLI_FIELD_TEXT, NULL},
    {"stored before", "usage_before.stored_bytes", CLI_FIELD_BYTES, NULL},
    {"rows before", "usage_before.rows", CLI_FIELD_COUNT, NULL},
    {"keys in files before", "audit_before.physical_keys", CLI_FIELD_COUNT, NULL},
    {"keys in files", "audit.physical_keys", CLI_FIELD_COUNT, NULL},
    {"files inside", "audit.live_files_inside", CLI_FIELD_COUNT, NULL},
    {"files spanning", "audit.live_files_spanning", CLI_FIELD_COUNT, NULL},
    {"counters", "audit.counters", CLI_FIELD_COUNT, NULL},
    {"sequence", "audit.sequence", CLI_FIELD_COUNT, NULL},
    {"files searched", "search.files", CLI_FIELD_COUNT, NULL},
    {"bytes searched", "search.bytes", CLI_FIELD_BYTES, NULL},
    {"keys in bytes before", "search_before.keys", CLI_FIELD_COUNT, NULL},
    {"keys in bytes", "search.keys", CLI_FIELD_COUNT, NULL},
    {"error", "error", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const struct cli_field JOB_COLUMNS[] = {
    {"JOB", "id", CLI_FIELD_TEXT, NULL},
    {"TENANT", "tenant", CLI_FIELD_TEXT, NULL},
    {"STATE", "state", CLI_FIELD_TEXT, NULL},
    {"STEPS", "steps", CLI_FIELD_STEPS, NULL},
    {"REQUESTED", "requested", CLI_FIELD_TEXT, NULL},
    {"FINISHED", "finished", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

enum cli_exit cli_job_list(struct cli *cli)
{
    struct buf target;
    cli_target1(&target, "/v1/admin/jobs", NULL);
    return cli_fields_list(cli, JOB_COLUMNS, &target, "jobs");
}

static enum cli_exit get_job(struct cli *cli, const char *id, json_t **out)
{
    struct buf target;
    cli_target1(&target, JOB, id);
    return cli_http_get(cli->http, &target, out);
}

static bool is_state(const json_t *job, const char *state)
{
    const char *text = json_string_value(json_object_get(job, "state"));
    return text != NULL && strcmp(text, state) == 0;
}

/* Print the job; a failed one is a failed check. Takes job. */
static enum cli_exit show(struct cli *cli, json_t *job)
{
    bool failed = is_state(job, "failed");
    cli_fields_show(cli, JOB_FIELDS, job);
    return failed ? cli_fail(CLI_CHECK_FAILED, "the job failed") : CLI_OK;
}

static void draw_steps(const json_t *job)
{
    const json_t *steps = json_object_get(job, "steps");
    size_t total = 0;
    size_t done = cli_field_steps_done(steps, &total);
    const char *name = json_string_value(json_object_get(json_array_get(steps, done), "name"));
    char text[128];
    int n = snprintf(text, sizeof text, "step %zu of %zu  %s", done < total ? done + 1 : total,
                     total, name != NULL ? name : "");
    if (n > 0)
        cli_progress_draw(done, total, text);
}

enum cli_exit cli_job_follow(struct cli *cli, const char *job_id)
{
    uint64_t pause_ms = CLI_JOB_POLL_MIN_MS;
    for (;;) {
        json_t *job = NULL;
        enum cli_exit e = get_job(cli, job_id, &job);
        if (e == CLI_OK && !is_state(job, "running") && !is_state(job, "waiting")) {
            cli_progress_hide();
            return show(cli, job);
        }
        if (e == CLI_OK)
            draw_steps(job);
        json_decref(job);
        if (e == CLI_OK && !cli_sleep_ms(pause_ms))
            e = CLI_INTERRUPTED;
        if (e != CLI_OK) {
            cli_progress_hide();
            cli_say("the server goes on with it; follow with: bigtent job show %s --wait", job_id);
            return e;
        }
        pause_ms = pause_ms * 3 / 2;
        if (pause_ms > CLI_JOB_POLL_MAX_MS)
            pause_ms = CLI_JOB_POLL_MAX_MS;
    }
}

enum cli_exit cli_job_show(struct cli *cli)
{
    const char *id = cli->args.words[0];
    if (cli_args_flag(&cli->args, "wait"))
        return cli_job_follow(cli, id);
    json_t *job = NULL;
    enum cli_exit e = get_job(cli, id, &job);
    return e == CLI_OK ? show(cli, job) : e;
}
