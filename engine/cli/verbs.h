/* The verbs that every glint program has; one file each. */
#ifndef GLINT_CLI_VERBS_H
#define GLINT_CLI_VERBS_H

#include "engine/cli/cli.h"

extern const struct cli_verb verb_submit, verb_explain, verb_executor, verb_status, verb_cancel,
    verb_history, verb_config, verb_secret, verb_version, verb_help;

/* Built-in and further verbs in the order of the help; ends with NULL. `out` has CLI_VERBS_MAX + 1.
 */
extern const char cli_about[]; /* what the program is, one line */

#define CLI_VERBS_MAX 32u
void cli_verbs(const struct cli_program *program, const struct cli_verb **out);

#endif
