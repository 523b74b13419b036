/* glint filter: inspects the files that bloom-build writes, and exchanges filters with other
 * programs. */
#include "jobs/commands/commands.h"

#include <stddef.h>

static const struct cli_command *const filter_commands[] = {
    &filter_info,  &filter_query, &filter_export, &filter_import, &filter_merge,
    &filter_serve, &filter_diff,  &filter_patch,  &filter_choose, NULL};

const struct cli_command cmd_filter = {
    .name = "filter",
    .summary = "list, query, export, import, merge and patch Bloom filters",
    .syntax = {.command = "glint filter",
               .summary = "Lists, queries and merges Bloom filters, and exchanges them with "
                          "other programs."},
    .commands = filter_commands};
