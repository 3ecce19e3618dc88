/* cli/problem.c - see problem.h. */
#include "cli/problem.h"

#include <jansson.h>

#include "cli/json_text.h"
#include "cli/out.h"

#include "base/banned.h"

static const char *text_of(const json_t *problem, const char *name, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(problem, name));
    return text != NULL ? text : otherwise;
}

enum cli_exit cli_problem_answer(const struct cli_config *config, long status, struct slice body)
{
    enum cli_exit code = status == 404 ? CLI_NOT_FOUND : CLI_REFUSED;
    json_t *problem = cli_json_parse(body);
    const char *title = text_of(problem, "title", NULL);
    const char *about = config->about != NULL ? config->about : "";
    const char *gap = config->about != NULL ? ": " : "";
    if (title == NULL) {
        cli_say("%s%s%s answered %ld without an explanation; is it a Bigtent server?", about, gap,
                config->url, status);
    } else {
        const json_t *retry = json_object_get(problem, "retry");
        const char *hint = json_is_true(retry)    ? " (trying again later may help)"
                           : json_is_false(retry) ? " (trying again will not help)"
                                                  : "";
        cli_say("%s%s%s: %s%s", about, gap, title, text_of(problem, "detail", "no detail given"),
                hint);
    }
    if (status == 401 && config->key == NULL)
        cli_say("no key was sent: set BIGTENT_KEY or use --key-file FILE");
    json_decref(problem);
    return code;
}

/* Returns advice for the most common failures. */
static const char *advice(const struct cli_config *config, CURLcode code)
{
    switch ((int)code) { /* a few of a hundred */
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_OPERATION_TIMEDOUT:
        return config->is_foreign ? "--from-service says where to look"
                                  : "is bigtentd running there? --url or BIGTENT_URL says where to "
                                    "look";
    case CURLE_PEER_FAILED_VERIFICATION:
        if (config->is_foreign)
            return "--from-cacert names the CA that its certificate was issued by";
        return config->cacert != NULL
                   ? "the certificate was not issued by that CA, or for another name"
                   : "name the server's CA with --cacert or BIGTENT_CACERT; bigtentd init wrote "
                     "it to DIR/ca.pem";
    case CURLE_SSL_CACERT_BADFILE:
        return "the CA file cannot be read, or is no PEM certificate";
    default:
        return NULL;
    }
}

enum cli_exit cli_problem_transport(const struct cli_config *config, CURLcode code,
                                    const char *detail, bool began)
{
    const char *why = detail[0] != '\0' ? detail : curl_easy_strerror(code);
    if (began)
        cli_say("the answer of %s broke off: %s", config->url, why);
    else
        cli_say("cannot reach %s (CA: %s): %s", config->url, cli_config_trust(config), why);
    const char *next = advice(config, code);
    if (next != NULL && !began)
        cli_say("%s", next);
    return CLI_UNREACHABLE;
}
