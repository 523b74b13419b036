/* glint history FILE: prints a job's history from its event log. */
#include "engine/cli/commands.h"
#include "engine/cli/history.h"
#include "engine/cli/options.h"
#include "engine/cli/print.h"

static const struct glint_job_option history_options[] = {
    {"json", NULL, NULL, "print one JSON object"}, {.name = NULL}};

static int history_run(const struct cli_program *program, int argc, char **argv)
{
    static const struct cli_syntax syntax = {
        .command = "glint history",
        .summary = "Prints the history of a job: stages, tasks, retries, executors.",
        .help = "FILE is an event log written with --event-log; the job may still be running, or "
                "may have been killed.",
        .arguments = "FILE",
        .arguments_min = 1,
        .arguments_max = 1,
        .own = history_options};
    struct cli_line line;
    int status;
    (void)program;
    if (!cli_line_parse_or_report(&line, &syntax, argc, argv, &status)) return status;
    struct glint_error error = {.code = GLINT_OK};
    struct history h;
    if (history_read(&h, env_real(), line.arguments[0], &error) == 0) {
        if (!cli_line_flag(&line, "json"))
            history_print(stdout, &h);
        else if (!history_print_json(stdout, &h))
            error_no_memory(&error);
    }
    history_fini(&h);
    cli_line_fini(&line);
    return error.code != GLINT_OK ? cli_fail(&error) : cli_flush_stdout(0);
}

const struct cli_command cmd_history = {.name = "history",
                                        .summary = "print a job's event log",
                                        .usage = "FILE [--json]",
                                        .run = history_run};
