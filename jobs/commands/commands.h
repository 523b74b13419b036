/* The commands that belong to the jobs; main.c passes them to cli_main. */
#ifndef GLINT_JOBS_COMMANDS_COMMANDS_H
#define GLINT_JOBS_COMMANDS_COMMANDS_H

#include "engine/cli/cli.h"

extern const struct cli_command cmd_cat, cmd_filter, cmd_generate;

/* Subcommands of glint filter. */
extern const struct cli_command filter_info, filter_query, filter_export, filter_import,
    filter_merge, filter_serve, filter_diff, filter_patch, filter_choose;

/* `filter export` writes it beside raw bits, `filter import` reads it: NAME TAB M of each file. */
#define FILTER_SIZES_FILE "_bits.tsv"

#endif
