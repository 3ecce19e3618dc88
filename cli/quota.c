/* cli/quota.c - see quota.h. */
#include "cli/quota.h"

#include <string.h>

#include "cli/out.h"
#include "cli/text.h"

#include "base/banned.h"

static const struct {
    const char *option;
    const char *member;
} OPTIONS[] = {
#define OPTION(option, member, label, kind, help) {option, member},
    CLI_QUOTA(OPTION)
#undef OPTION
};
#define OPTION_COUNT (sizeof OPTIONS / sizeof OPTIONS[0])

static enum cli_exit set_member(json_t *quota, const char *option, const char *member,
                                const char *text)
{
    uint64_t number = 0;
    json_t *value = NULL;
    if (strcmp(text, "inherit") == 0) {
        (void)json_object_del(quota, member); /* it may be missing */
        return CLI_OK;
    }
    if (strcmp(text, "none") == 0)
        value = json_null();
    else if (cli_text_parse_size(text, &number) && number <= INT64_MAX)
        value = json_integer((json_int_t)number);
    if (value == NULL || json_object_set_new(quota, member, value) != 0)
        return cli_fail(CLI_USAGE,
                        "--%s takes a number, optionally with K, M, G or T, or none, or inherit",
                        option);
    return CLI_OK;
}

enum cli_exit cli_quota_apply(const struct cli *cli, json_t *quota)
{
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < OPTION_COUNT && e == CLI_OK; i++) {
        const char *text = cli_args_value(&cli->args, OPTIONS[i].option);
        if (text != NULL)
            e = set_member(quota, OPTIONS[i].option, OPTIONS[i].member, text);
    }
    return e;
}

bool cli_quota_is_given(const struct cli *cli)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (cli_args_value(&cli->args, OPTIONS[i].option) != NULL)
            return true;
    return false;
}
