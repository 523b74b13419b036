/* glint history FILE: prints a job's history from its event log. */
#include "engine/cli/commands.h"
#include "engine/cli/history.h"

static void show_history(const struct cli_line *line, struct glint_error *error)
{
    struct history h;
    if (history_read(&h, env_real(), line->arguments[0], error) == 0) {
        if (!cli_line_flag(line, "json"))
            history_print(stdout, &h);
        else if (!history_print_json(stdout, &h))
            error_no_memory(error);
    }
    history_fini(&h);
}

const struct cli_command cmd_history = {
    .name = "history",
    .summary = "print a job's event log",
    .syntax = {.command = "glint history",
               .summary = "Prints the history of a job: stages, tasks, retries, executors.",
               .help = "FILE is an event log written with --event-log; the job may still be "
                       "running, or may have been killed.",
               .arguments = "FILE",
               .arguments_min = 1,
               .arguments_max = 1,
               .own = cli_json_option},
    .execute = show_history};
