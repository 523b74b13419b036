/* glint history FILE: prints a job's history from its event log, or serves the page of the job; of
 * all jobs of a directory with --serve DIR. */
#include "engine/cli/commands.h"
#include "engine/cli/history_jobs.h"
#include "engine/cli/history_print.h"
#include "engine/cli/web.h"

/* Serves until a signal ends it. */
static void serve_history(const struct cli_line *line, struct glint_error *error)
{
    struct history_jobs *logs = history_jobs_open(env_real(), line->arguments[0], error);
    if (logs == NULL) return;
    const struct web_jobs jobs = history_jobs_as_web(logs);
    const char *address = cli_line_option(line, "serve");
    struct web_server *server =
        cli_web_open(address, cli_line_option(line, "ui-token"), &jobs, false, error);
    if (server != NULL) web_server_run(server);
    web_server_close(server);
    history_jobs_close(logs);
}

static void show_history(const struct cli_line *line, struct glint_error *error)
{
    struct job_model m;
    if (cli_line_has(line, "serve")) {
        serve_history(line, error);
        return;
    }
    if (cli_line_has(line, "ui-token")) {
        error_set(error, GLINT_E_USAGE, "add --serve", "--ui-token has no effect without --serve");
        return;
    }
    if (job_model_read(&m, env_real(), line->arguments[0], error) == 0) {
        if (!cli_line_flag(line, "json"))
            history_print(stdout, &m);
        else if (!history_print_json(stdout, &m))
            error_no_memory(error);
    }
    job_model_fini(&m);
}

static const struct glint_job_option history_options[] = {
    {"json", NULL, NULL, "print one JSON object"},
    {"serve", "[HOST:PORT]", NULL,
     "serve a page instead, on 127.0.0.1:4040 or the next free port, until Ctrl-C; FILE may be a "
     "directory of event logs"},
    {"ui-token", "FILE", NULL, "with --serve: only those who know the text in FILE may read it"},
    {NULL, NULL, NULL, NULL}};

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
               .own = history_options},
    .execute = show_history};
