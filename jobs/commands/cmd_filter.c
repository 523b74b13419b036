/* glint filter: inspects the files that bloom-build writes, and exchanges filters with other
 * programs. */
#include "jobs/commands/commands.h"

#include <stddef.h>

static int filter_run(const struct cli_program *program, int argc, char **argv)
{
    static const struct cli_command *const commands[] = {&filter_info, &filter_query,
                                                         &filter_export, &filter_import, NULL};
    return cli_dispatch(program, "glint filter",
                        "Lists and queries Bloom filters, and exchanges them with other programs.",
                        commands, argc, argv);
}

const struct cli_command cmd_filter = {.name = "filter",
                                       .summary = "list, query, export and import Bloom filters",
                                       .run = filter_run};
