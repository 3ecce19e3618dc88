/*
 * cli/cmd_completion.c - completion of words in shells: the scripts, and the command that they run.
 *
 * The scripts pass completions to their shell, and this program computes them, so that the scripts
 * do not depend on the command table. They run the bigtent in PATH, not the program that the line
 * names.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/bounds.h"
#include "cli/complete.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/target.h"

#include "base/banned.h"

#define FILES ":files\n"

static const char BASH[] =
    "# bash completion of bigtent; bigtent completion bash prints it.\n"
    "_bigtent() {\n"
    "    local i n=-1 word line breaks glue= piece before\n"
    "    local -a words=()\n"
    "    # Bash ends words at \"=\" and \":\", if it was not told otherwise: join them again.\n"
    "    breaks=${COMP_WORDBREAKS//[!=:]/}\n"
    "    breaks=${breaks:-$'\\n'}\n"
    "    for ((i = 1; i <= COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ $n -ge 0 && (-n $glue || $word == [\"$breaks\"]*) ]]; then\n"
    "            words[n]+=$word\n"
    "        else\n"
    "            words[++n]=$word\n"
    "        fi\n"
    "        glue=\n"
    "        [[ $word == *[\"$breaks\"] ]] && glue=yes\n"
    "    done\n"
    "    piece=${COMP_WORDS[COMP_CWORD]}\n"
    "    [[ $piece == *[\"$breaks\"] ]] && piece=\n"
    "    before=${words[n]%\"$piece\"}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        if [[ $line == :files ]]; then\n"
    "            compopt -o default\n"
    "        else\n"
    "            word=${line%%$'\\t'*}\n"
    "            COMPREPLY+=(\"${word#\"$before\"}\")\n"
    "        fi\n"
    "    done < <(command bigtent completion candidates -- \"${words[@]}\" 2> /dev/null)\n"
    "}\n"
    "complete -F _bigtent bigtent\n";

static const char ZSH[] = "#compdef bigtent\n"
                          "# zsh completion of bigtent; bigtent completion zsh prints it.\n"
                          "_bigtent() {\n"
                          "    local line word files=\n"
                          "    local -a before found\n"
                          "    (( CURRENT > 2 )) && before=(\"${(@Q)words[2,CURRENT-1]}\")\n"
                          "    for line in \"${(@f)$(command bigtent completion candidates -- \\\n"
                          "        \"${before[@]}\" \"$PREFIX\" 2> /dev/null)}\"; do\n"
                          "        word=${line%%$'\\t'*}\n"
                          "        if [[ $line == :files ]]; then\n"
                          "            files=yes\n"
                          "        elif [[ $line == *$'\\t'* ]]; then\n"
                          "            found+=(\"${word//:/\\\\:}:${line#*$'\\t'}\")\n"
                          "        elif [[ -n $line ]]; then\n"
                          "            found+=(\"${word//:/\\\\:}\")\n"
                          "        fi\n"
                          "    done\n"
                          "    (( ${#found} )) && _describe bigtent found\n"
                          "    if [[ -n $files ]]; then\n"
                          "        [[ $PREFIX == --*=* ]] && compset -P '*='\n"
                          "        _files\n"
                          "    fi\n"
                          "}\n"
                          "if [[ ${funcstack[1]} == _bigtent ]]; then\n"
                          "    _bigtent \"$@\"\n"
                          "else\n"
                          "    compdef _bigtent bigtent\n"
                          "fi\n";

static const char FISH[] =
    "# fish completion of bigtent; bigtent completion fish prints it.\n"
    "function __bigtent_candidates\n"
    "    set -l words (commandline -opc)\n"
    "    set -l word (commandline -ct)\n"
    "    for line in (command bigtent completion candidates -- $words[2..-1] \"$word\" 2> "
    "/dev/null)\n"
    "        if test \"$line\" = :files\n"
    "            set -l before (string match -r -- '^--[^=]*=' \"$word\")\n"
    "            set -l path (string replace -r -- '^--[^=]*=' '' \"$word\")\n"
    "            for file in (__fish_complete_path \"$path\")\n"
    "                printf '%s\\n' \"$before$file\"\n"
    "            end\n"
    "        else\n"
    "            printf '%s\\n' $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c bigtent -f -a '(__bigtent_candidates)'\n";

/* --- IDs of the server ---------------------------------------------------------------------------
 */

/* Returns whether the ID has no character that is special in a shell, where it will be inserted. */
static bool is_plain_id(struct slice id)
{
    for (size_t i = 0; i < id.len; i++) {
        uint8_t c = id.ptr[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && c != '_' && c != '.' && (c != '-' || i == 0))
            return false;
    }
    return id.len > 0;
}

static const struct ids {
    const char *route;
    const char *list;
    bool has_prefix; /* the route takes prefix and limit */
} IDS[] = {
    [CLI_COMPLETE_NONE] = {NULL, NULL, false},
    [CLI_COMPLETE_TENANTS] = {"/v1/admin/tenants", "tenants", true},
    [CLI_COMPLETE_PLANS] = {"/v1/admin/plans", "plans", false},
    [CLI_COMPLETE_TABLES] = {"/v1/tables", "tables", false},
};

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0';
}

static bool may_ask(const struct cli_complete *c)
{
    bool has_tenant = c->tenant != NULL;
    return c->ids != CLI_COMPLETE_NONE && !c->elsewhere && is_set("BIGTENT_URL") &&
           is_set("BIGTENT_KEY") && (!has_tenant || is_plain_id(base_slice_text(c->tenant)));
}

static void put_ids(struct cli *cli, struct cli_complete *c)
{
    const struct ids *ids = &IDS[c->ids];
    struct buf target;
    json_t *doc = NULL;
    size_t i;
    const json_t *item;
    cli_target1(&target, ids->route, NULL);
    cli_target_query(&target, "prefix", ids->has_prefix ? c->typed : NULL);
    cli_target_query(&target, "limit", ids->has_prefix ? CLI_COMPLETE_IDS : NULL);
    struct cli_request request = {
        .method = "GET", .target = &target, .repeatable = true, .timeout_ms = CLI_COMPLETE_WAIT_MS};
    cli->config.retries = 0;
    cli->config.tenant = c->tenant;
    enum cli_exit e = cli_http_json(cli->http, &request, &doc);
    base_buf_fini(&target);
    json_array_foreach(e == CLI_OK ? json_object_get(doc, ids->list) : NULL, i, item)
    {
        const json_t *id = json_object_get(item, "id");
        struct slice text = base_slice(json_string_value(id), json_string_length(id));
        if (json_is_string(id) && is_plain_id(text))
            cli_complete_put(c, text, NULL);
    }
    json_decref(doc);
}

/* Adds the server's IDs. On an error it proposes none and prints nothing, as the user is typing. */
static void ask_server(struct cli *cli, struct cli_complete *c)
{
    struct buf unsaid;
    base_buf_init(&unsaid, CLI_PROBLEM_BYTES);
    cli_say_hold(&unsaid);
    if (cli_config_load(&cli->args, 0, NULL, &cli->config) == CLI_OK &&
        cli_http_open(&cli->config, &cli->http) == CLI_OK)
        put_ids(cli, c);
    cli_http_close(cli->http);
    cli_config_fini(&cli->config);
    cli->http = NULL;
    cli_say_hold(NULL);
    base_buf_fini(&unsaid);
}

static enum cli_exit print_candidates(struct cli *cli)
{
    static const char *const nothing[] = {""};
    struct cli_complete c;
    struct buf lines;
    size_t count = cli->args.word_count - 1;
    base_buf_init(&lines, CLI_ANSWER_BYTES);
    cli_complete(count > 0 ? cli->args.words + 1 : nothing, count > 0 ? count : 1, &lines, &c);
    if (may_ask(&c))
        ask_server(cli, &c);
    cli_out_bytes(base_buf_slice(&lines));
    if (c.files)
        cli_out_text(FILES);
    base_buf_fini(&lines);
    return cli_out_state();
}

enum cli_exit cli_completion(struct cli *cli)
{
    static const struct {
        const char *shell;
        const char *script;
    } scripts[] = {{"bash", BASH}, {"zsh", ZSH}, {"fish", FISH}};
    const char *what = cli->args.words[0];
    if (strcmp(what, "candidates") == 0)
        return print_candidates(cli);
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        if (strcmp(what, scripts[i].shell) != 0 || cli->args.word_count > 1)
            continue;
        cli_out_text(scripts[i].script);
        return CLI_OK;
    }
    return cli_fail(CLI_USAGE, "completion takes bash, zsh or fish, or candidates and words");
}
