/* The `glint` program: the engine's command line with the operators, jobs and commands of this
 * project. */
#include "engine/cli/cli.h"
#include "jobs/commands/commands.h"
#include "jobs/jobs.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <assert.h>
#include <pcre2.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const struct cli_command *const commands[] = {&cmd_cat, &cmd_filter, &cmd_generate,
                                                         NULL};
    char pcre2[64] = ""; /* "10.42 2022-12-11" */
    static_assert(sizeof pcre2 >= 24, "pcre2_config writes up to 24 characters");
    pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
    pcre2[strcspn(pcre2, " ")] = '\0';
    const struct cli_library libraries[] = {{"PCRE2", pcre2, "pcre2_config_8"}, {.name = NULL}};
    /* The column of the key has two names: tables are grouped and sorted by it, filters and counts
     * are of a key. */
    static const struct cli_alias aliases[] = {{"by", "key-column"},
                                               {"key-column", "by"},
                                               {"left-by", "left-key-column"},
                                               {"right-by", "right-key-column"},
                                               {.alias = NULL}};
    const struct cli_program program = {.name = "glint",
                                        .summary = "Runs dataflow jobs over text: counting, Bloom "
                                                   "filters per key, and more.",
                                        .jobs = jobs_table,
                                        .ops = ops_table,
                                        .modules = builtin_modules,
                                        .commands = commands,
                                        .libraries = libraries,
                                        .aliases = aliases};
    return cli_main(&program, argc, argv);
}
