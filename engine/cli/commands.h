/* The built-in commands of every glint program; one file each. */
#ifndef GLINT_CLI_COMMANDS_H
#define GLINT_CLI_COMMANDS_H

#include "engine/cli/cli.h"

extern const struct cli_command cmd_submit, cmd_explain, cmd_executor, cmd_status, cmd_cancel,
    cmd_history, cmd_stage, cmd_config, cmd_secret, cmd_version, cmd_help;

#endif
