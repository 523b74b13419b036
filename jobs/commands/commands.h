/* The verbs that live with the jobs, for main.c to hand to cli_main. */
#ifndef GLINT_JOBS_COMMANDS_COMMANDS_H
#define GLINT_JOBS_COMMANDS_COMMANDS_H

#include "engine/cli/cli.h"

extern const struct cli_command cmd_cat, cmd_filter, cmd_generate;

/* glint filter's own. */
extern const struct cli_command filter_info, filter_query, filter_export, filter_import;

#endif
