/*
 * gateway/api/admin_formats.c - the formats that the data directory has had, and that this program
 * knows.
 *
 * Read on the helper: they are in a file, and no tenant is changed.
 */
#include "gateway/api/admin.h"
#include "gateway/api/handlers.h"
#include "gateway/api/json_out.h"
#include "migrations/format_history.h"
#include "migrations/upgrade.h"

#include "base/banned.h"

static void describe_format(struct gw_json *j, uint32_t format,
                            const struct mig_format_state *state)
{
    const struct mig_upgrade *step = mig_upgrade_to(format);
    gw_json_open(j, '{');
    gw_json_name_u64(j, "format", format);
    gw_json_name_text(j, "state", mig_reached_name(state->how));
    gw_json_name_time(j, "at", state->at_us);
    gw_json_name_text(j, "software", state->software);
    gw_json_name_text(j, "upgrade", step != NULL ? step->title : "");
    gw_json_close(j, '}');
}

static enum err describe(struct gw_call *call, struct errbuf *eb)
{
    const struct mig_datadir *datadir = call->api->datadir;
    struct mig_format_state states[MIG_FORMAT_VERSION];
    enum err e = mig_format_states(datadir->path, datadir->format, states, eb);
    if (e != ERR_OK)
        return e;
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name_u64(&j, "format", datadir->format);
    gw_json_name_u64(&j, "program_format", MIG_FORMAT_VERSION);
    gw_json_name_text(&j, "software", BIGTENT_VERSION);
    gw_json_name(&j, "formats");
    gw_json_open(&j, '[');
    for (uint32_t i = 0; i < MIG_FORMAT_VERSION; i++)
        describe_format(&j, i + 1, &states[i]);
    gw_json_close(&j, ']');
    gw_json_close(&j, '}');
    return ERR_OK;
}

void gw_format_list(struct gw_call *call)
{
    gw_rest(call)->status = 200;
    gw_task_on_helper(call, describe, gw_rest_answer_task);
}
