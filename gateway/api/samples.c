/*
 * gateway/api/samples.c - keys that divide a table into parts of about the same size.
 */
#include "gateway/api/handlers.h"
#include "gateway/api/json_out.h"
#include "gateway/sampling.h"

#include "base/banned.h"

const char *const gw_samples_query[] = {"bytes", NULL};

static void put_samples(struct gw_json *j, const struct sto_sample_op *op)
{
    gw_json_name(j, "samples");
    gw_json_open(j, '[');
    for (size_t i = 0; i < op->count; i++) {
        gw_json_open(j, '{');
        gw_json_put_bytes(j->out, "key", op->samples[i].row_key);
        j->comma = true;
        gw_json_name_u64(j, "offset_bytes", op->samples[i].offset_bytes);
        gw_json_close(j, '}');
    }
    gw_json_close(j, ']');
}

static void samples_answer(struct gw_call *call, const struct sto_sample_op *op)
{
    if (op->result != ERR_OK) {
        gw_call_problem_retry(call, (int)op->result, op->detail.text, op->retry_ns);
        return;
    }
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    put_samples(&j, op);
    gw_json_close(&j, '}');
    gw_rest_send_json(call, 200);
}

void gw_samples(struct gw_call *call)
{
    struct gw_sampling *s = gw_call_new_state(call, sizeof *s, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e =
        gw_query_number(&gw_rest(call)->query, "bytes", 1, INT64_MAX, 0, &s->op.bytes_between, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    gw_sampling_start(call, samples_answer);
}
