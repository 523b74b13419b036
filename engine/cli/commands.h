/* The built-in commands of every glint program; one file each. */
#ifndef GLINT_CLI_COMMANDS_H
#define GLINT_CLI_COMMANDS_H

#include "engine/cli/cli.h"

extern const struct cli_command cmd_submit, cmd_explain, cmd_executor, cmd_status, cmd_cancel,
    cmd_history, cmd_config, cmd_secret, cmd_version, cmd_help;

/* Lists built-in and additional commands in the order of the help; ends with NULL. `out` has room
 * for CLI_COMMANDS_MAX + 1. */
extern const char cli_about[]; /* one line about the program, for the help */

#define CLI_COMMANDS_MAX 32u
void cli_commands(const struct cli_program *program, const struct cli_command **out);

#endif
