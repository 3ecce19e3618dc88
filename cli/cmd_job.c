/* cli/cmd_job.c - long-running jobs of the server: /v1/admin/jobs. */
#include <stdio.h>
#include <string.h>

#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/interrupt.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "cli/text.h"

#include "base/banned.h"

#define JOB "/v1/admin/jobs/{}"

static const struct cli_field JOB_FIELDS[] = {
    {"job", "id", CLI_FIELD_TEXT, NULL},
    {"tenant", "tenant", CLI_FIELD_TEXT, NULL},
    {"state", "state", CLI_FIELD_TEXT, NULL},
    {"steps", "steps", CLI_FIELD_STEPS, NULL},
    {"step now", "progress.step", CLI_FIELD_TEXT, NULL},
    {"counted now", "progress.unit", CLI_FIELD_TEXT, NULL},
    {"done now", "progress.done", CLI_FIELD_COUNT, NULL},
    {"of", "progress.total", CLI_FIELD_COUNT, NULL},
    {"a second", "progress.per_second", CLI_FIELD_COUNT, NULL},
    {"seconds left", "progress.seconds_left", CLI_FIELD_COUNT, NULL},
    {"jobs that share it", "progress.jobs", CLI_FIELD_COUNT, NULL},
    {"place in the queue", "queue.place", CLI_FIELD_COUNT, NULL},
    {"jobs that wait", "queue.waiting", CLI_FIELD_COUNT, NULL},
    {"seconds until it is done", "queue.seconds_left", CLI_FIELD_COUNT, NULL},
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
    {"files by their lists", "search.listed_files", CLI_FIELD_COUNT, NULL},
    {"bytes by lists", "search.listed_bytes", CLI_FIELD_BYTES, NULL},
    {"of those, scrubbed", "search.scrubbed_files", CLI_FIELD_COUNT, NULL},
    {"oldest scrub", "search.scrubbed_oldest", CLI_FIELD_TEXT, NULL},
    {"keys in bytes before", "search_before.keys", CLI_FIELD_COUNT, NULL},
    {"keys in bytes", "search.keys", CLI_FIELD_COUNT, NULL},
    {"backups", "backups", CLI_FIELD_BACKUPS, NULL},
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

enum cli_exit cli_job_is_known(struct cli *cli, const char *job_id, bool *out)
{
    struct buf target;
    struct cli_answer answer;
    cli_target1(&target, JOB, job_id);
    struct cli_request request = {
        .method = "GET", .target = &target, .repeatable = true, .one_status = 404};
    enum cli_exit e = cli_http_run(cli->http, &request, &answer);
    *out = e != CLI_OK || answer.status != 404;
    base_buf_fini(&answer.body);
    base_buf_fini(&target);
    return e;
}

static bool is_state(const json_t *job, const char *state)
{
    const char *text = json_string_value(json_object_get(job, "state"));
    return text != NULL && strcmp(text, state) == 0;
}

/* Prints the job; a failed one is a failed check. Takes job. */
static enum cli_exit show(struct cli *cli, json_t *job)
{
    bool failed = is_state(job, "failed");
    cli_fields_show(cli, JOB_FIELDS, job);
    return failed ? cli_fail(CLI_CHECK_FAILED, "the job failed") : CLI_OK;
}

/* Returns the number; 0 when it is missing. */
static uint64_t number_of(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));
    return value > 0 ? (uint64_t)value : 0;
}

static void add_amount(struct buf *out, bool is_bytes, uint64_t amount)
{
    if (is_bytes)
        cli_text_put_bytes(out, amount);
    else
        base_buf_append_u64(out, amount);
}

/* Appends the step's progress: " 1.5 GiB of 20.0 GiB, 120.0 MiB/s, 158 s left". */
static void add_amounts(struct buf *out, const json_t *progress)
{
    uint64_t done = number_of(progress, "done");
    uint64_t total = number_of(progress, "total");
    uint64_t speed = number_of(progress, "per_second");
    const char *unit = json_string_value(json_object_get(progress, "unit"));
    const json_t *left = json_object_get(progress, "seconds_left");
    if (unit == NULL)
        return;
    bool is_bytes = strcmp(unit, "bytes") == 0;
    base_buf_append_text(out, "  ");
    add_amount(out, is_bytes, done);
    if (total > 0) {
        base_buf_append_text(out, " of ");
        add_amount(out, is_bytes, total);
    }
    if (!is_bytes)
        base_buf_append_text(out, " keys");
    if (speed > 0) {
        base_buf_append_text(out, ", ");
        add_amount(out, is_bytes, speed);
        base_buf_append_text(out, "/s");
    }
    if (json_is_integer(left))
        base_buf_printf(out, ", %" JSON_INTEGER_FORMAT " s left", json_integer_value(left));
}

/* Appends the job's place in its queue: "  waits, place 2 of 3, 14 s left". */
static void add_place(struct buf *out, const json_t *queue)
{
    const json_t *left = json_object_get(queue, "seconds_left");
    if (!json_is_object(queue))
        return;
    base_buf_append_text(out, "  waits, place ");
    base_buf_append_u64(out, number_of(queue, "place"));
    base_buf_append_text(out, " of ");
    base_buf_append_u64(out, number_of(queue, "waiting"));
    if (json_is_integer(left))
        base_buf_printf(out, ", %" JSON_INTEGER_FORMAT " s left", json_integer_value(left));
}

/* Draws a bar over the step's progress, if its total is known; else over the steps. */
static void draw_steps(const json_t *job)
{
    const json_t *steps = json_object_get(job, "steps");
    size_t total = 0;
    size_t done = cli_field_steps_done(steps, &total);
    const char *name = json_string_value(json_object_get(json_array_get(steps, done), "name"));
    const json_t *progress = json_object_get(job, "progress");
    uint64_t all = number_of(progress, "total");
    struct buf text;
    base_buf_init(&text, 512);
    base_buf_printf(&text, "step %zu of %zu  %s", done < total ? done + 1 : total, total,
                    name != NULL ? name : "");
    add_amounts(&text, progress);
    add_place(&text, json_object_get(job, "queue"));
    base_buf_append_byte(&text, '\0'); /* the text is short and fits */
    if (all > 0)
        cli_progress_draw(number_of(progress, "done"), all, (const char *)text.ptr);
    else
        cli_progress_draw(done, total, (const char *)text.ptr);
    base_buf_fini(&text);
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
            if (e != CLI_NOT_FOUND)
                cli_say("the server goes on with it; follow with: bigtent job show %s --wait",
                        job_id);
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
