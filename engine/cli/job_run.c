/* glint submit JOB and glint explain JOB: runs a job, or only prints its plan, from the command
 * line to the exit status. The order at the end matters: glint_finish publishes the outputs, so
 * only then the result is known; the context is destroyed last, because it owns the error and the
 * summary. */
#include "engine/base/crash.h"
#include "engine/base/error.h"
#include "engine/base/locked_dir.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/cli/cli.h"
#include "engine/cli/cli_internal.h"
#include "engine/cli/options.h"
#include "engine/cli/signals.h"
#include "engine/cli/web.h"
#include "engine/driver/driver.h"
#include "engine/driver/stage_session.h"
#include "engine/input/input.h"
#include "engine/net/cluster.h"
#include "engine/plan/context.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Access to a job's options. glint_job_args.options points to the parsed command line. */

/* False with the context's error set if the job does not have the option. */
static bool option_exists(const struct cli_line *line, const char *name)
{
    const struct cli_syntax *syntax = line->syntax;
    const size_t size = name != NULL ? strlen(name) : 0;
    if (size > 0 && (cli_option_find(syntax->own, name, size) != NULL ||
                     cli_option_find(syntax->common, name, size) != NULL))
        return true;
    glint_abort(line->context, GLINT_E_PLAN_ARGUMENT, "add it to the job's table of options",
                "the job of \"%s\" reads the option --%s, which it does not have",
                line->syntax->command, name != NULL ? name : "(NULL)");
    return false;
}

const char *glint_job_option(const struct glint_job_args *args, const char *name)
{
    return option_exists(args->options, name) ? cli_line_option(args->options, name) : NULL;
}

bool glint_job_given(const struct glint_job_args *args, const char *name)
{
    return option_exists(args->options, name) && cli_line_has(args->options, name);
}

/* The value of an option that must have one; NULL with the context's error set. */
static const char *required_option_value(struct glint *g, const struct glint_job_args *args,
                                         const char *name)
{
    const char *text = glint_job_option(args, name);
    if (text == NULL) /* no effect if the option does not exist */
        glint_abort(g, GLINT_E_PLAN_ARGUMENT,
                    "give it a default, or ask first if it is set: glint_job_option",
                    "the job reads --%s as a number; it is not set, and has no default",
                    name != NULL ? name : "(NULL)");
    return text;
}

int64_t glint_job_i64(struct glint *g, const struct glint_job_args *args, const char *name,
                      int64_t min, int64_t max)
{
    assert(min <= max);
    const char *text = required_option_value(g, args, name);
    int64_t value;
    if (text == NULL) return min;
    if (text_parse_i64((const uint8_t *)text, strlen(text), &value) && value >= min && value <= max)
        return value;
    glint_abort(g, GLINT_E_BAD_VALUE, NULL, "--%s %s: it must be a whole number from %lld to %lld",
                name, text, (long long)min, (long long)max);
    return min;
}

double glint_job_f64(struct glint *g, const struct glint_job_args *args, const char *name)
{
    const char *text = required_option_value(g, args, name);
    double value;
    if (text == NULL) return 0;
    if (text_parse_f64((const uint8_t *)text, strlen(text), &value)) return value;
    glint_abort(g, GLINT_E_BAD_VALUE, NULL, "--%s %s: it must be a number", name, text);
    return 0;
}

bool glint_parse_f64(struct glint_slice text, double *out)
{
    return text_parse_f64(text.data, text.size, out);
}

bool glint_parse_i64(struct glint_slice text, int64_t *out)
{
    return text_parse_i64(text.data, text.size, out);
}

/* ---- A job gets a list of paths in one text, in which a comma that belongs to a name
 * has a backslash before it. */

/* Returns the index of the positional argument with this name; `count`: none of the `count` given.
 */
static uint32_t job_argument_index(const struct glint_job *job, uint32_t count, const char *name)
{
    uint32_t names = 0;
    while (job->positional[names] != NULL) names++;
    assert(count <= names);
    uint32_t left_out = names - count; /* optional arguments are the first ones */
    for (uint32_t i = left_out; i < names; i++)
        if (strcmp(job->positional[i], name) == 0) return i - left_out;
    return count;
}

/* The argument that --input replaces. */
#define JOB_INPUT "INPUT"

static bool job_has_argument(const struct glint_job *job, const char *name)
{
    for (uint32_t i = 0; job->positional[i] != NULL; i++)
        if (strcmp(job->positional[i], name) == 0) return true;
    return false;
}

/* Returns the path of an output, an argument or option in job->outputs; NULL: not given. */
static const char *job_output_path(const struct glint_job *job, const struct glint_job_args *args,
                                   const char *name)
{
    const uint32_t index = job_argument_index(job, args->count, name);
    return index < args->count ? args->positional[index] : glint_job_option(args, name);
}

/* Backslashes before a comma, of the name or of the list, are doubled. */
static bool append_backslashes(struct buffer *list, uint64_t count)
{
    for (; count > 0; count--)
        if (!buffer_append(list, "\\", 1)) return false;
    return true;
}

static bool append_path_to_list(struct buffer *list, const char *path, bool last)
{
    uint64_t backslashes = 0; /* just before this byte */
    for (const char *p = path; *p != '\0'; p++) {
        if (*p == ',' && !append_backslashes(list, backslashes + 1)) return false;
        backslashes = *p == '\\' ? backslashes + 1 : 0;
        if (!buffer_append(list, p, 1)) return false;
    }
    return last || (append_backslashes(list, backslashes) && buffer_append(list, ",", 1));
}

/* Inserts the paths of --input, as a list (input/input.h) in `list`, as the job's argument INPUT.
 * Does nothing if the option is not given. Returns 0, USAGE or NO_MEMORY. */
static int job_insert_input(const struct glint_job *job, struct cli_line *line, struct buffer *list,
                            struct glint_error *error)
{
    uint32_t at = 0;
    const char *path = cli_line_value(line, "input", &at);
    if (path == NULL) return 0;
    if (!job_has_argument(job, JOB_INPUT))
        return error_set(error, GLINT_E_USAGE, "give its inputs as arguments",
                         "--input: the job %s has no argument " JOB_INPUT, job->name);
    bool ok = true;
    while (path != NULL && ok) {
        const char *next = cli_line_value(line, "input", &at);
        ok = append_path_to_list(list, path, next == NULL);
        path = next;
    }
    if (!ok || !buffer_append(list, "", 1)) return error_no_memory(error);
    /* Jobs whose optional arguments are left out may have INPUT first. */
    uint32_t index = job_argument_index(job, line->argument_count + 1, JOB_INPUT);
    if (index > line->argument_count) index = 0;
    memmove(line->arguments + index + 1, line->arguments + index,
            (line->argument_count - index) * sizeof *line->arguments);
    line->arguments[index] = (const char *)list->data;
    line->argument_count++;
    return 0;
}

/* ---- A job's output on standard output: OUTPUT is "-". The job writes to a directory of its own,
 * as to any other; when it has succeeded, the parts are copied in their order. So a job that fails
 * prints nothing, and parts are in order although tasks end in any order. */

/* Zeros: no output is standard output. */
struct stdout_output {
    struct env *env;
    struct work_dir directory;
    char path[PATH_MAX]; /* of the output, in the directory; empty: none */
};

#define COPY_BYTES ((size_t)1 << 20)

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

/* Returns the index of the argument; argument_count: none, or with an error. */
static uint32_t find_stdout_output_argument(const struct glint_job *job,
                                            const struct cli_line *line, struct glint_error *error)
{
    uint32_t found = line->argument_count;
    for (uint32_t i = 0; job->outputs[i] != NULL; i++) {
        const uint32_t index = job_argument_index(job, line->argument_count, job->outputs[i]);
        if (index == line->argument_count || !is_stdout(line->arguments[index])) continue;
        if (found < line->argument_count) {
            error_set(error, GLINT_E_USAGE, "name a directory for one of them",
                      "two outputs cannot both be standard output");
            return line->argument_count;
        }
        found = index;
    }
    return found;
}

/* Replaces the argument that is an output and "-" or /dev/stdout, if there is one, by a path in a
 * new directory below `parent` (NULL: $TMPDIR or /tmp). Returns 0 or a code. */
static int stdout_output_open(struct stdout_output *o, struct env *env, const struct glint_job *job,
                              struct cli_line *line, const char *parent, struct glint_error *error)
{
    *o = (struct stdout_output){.env = env};
    const uint32_t index = find_stdout_output_argument(job, line, error);
    if (index == line->argument_count) return error->code;
    /* Below it: the directories of the output and of its attempts. */
    int r = work_dir_open_as(&o->directory, env, parent, "glint-stdout-", 2, error);
    if (r != 0) return r;
    line->arguments[index] = o->path;
    if (text_format(o->path, sizeof o->path, "%s/output", o->directory.path)) return 0;
    work_dir_close(&o->directory);
    return error_set(error, GLINT_E_WORK_DIR, "use a shorter --work-dir",
                     "the work directory's path is too long");
}

static int copy_part_to_stdout(const struct stdout_output *o, const struct input_file *part,
                               uint8_t *bytes, struct glint_error *error)
{
    struct env *env = o->env;
    const int file = env->open(env, ENV_CWD, part->path, ENV_READ);
    if (file < 0) return error_set_system(error, GLINT_E_OUTPUT_IO, file, "open", part->path);
    int64_t n = 1;
    for (uint64_t at = 0; n > 0 && at < part->size && error->code == GLINT_OK; at += (uint64_t)n) {
        n = env_read_full(env, file, bytes, COPY_BYTES, at);
        const int failed = n > 0 ? env_write_all(env, STDOUT_FILENO, bytes, (uint64_t)n) : 0;
        const enum glint_code stop = signals_pending();
        if (n < 0)
            error_set_system(error, GLINT_E_OUTPUT_IO, (int)n, "read", part->path);
        else if (failed != 0)
            error_set(error, GLINT_E_STDOUT_IO, NULL, "cannot write to standard output: %s",
                      strerror(-failed));
        else if (stop != GLINT_OK)
            error_set(error, stop, NULL, "interrupted by a signal");
    }
    env->close(env, file);
    return error->code;
}

/* Copies the published output to standard output, or sets *error. Blocks on the reader. */
static void stdout_output_copy(const struct stdout_output *o, const struct glint_summary *summary,
                               struct glint_error *error)
{
    if (o->path[0] == '\0') return;
    fflush(stdout); /* what the job has printed */
    struct input_list parts = {.files = NULL};
    uint8_t *bytes = mem_alloc(COPY_BYTES);
    int r = bytes != NULL ? input_list_resolve(o->env, o->path, INPUT_BINARY, &parts, error)
                          : error_no_memory(error);
    for (uint64_t i = 0; r == 0 && i < parts.count; i++)
        r = copy_part_to_stdout(o, &parts.files[i], bytes, error);
    mem_free(bytes);
    input_list_fini(&parts);
    if (r != 0)
        text_format(error->effect, sizeof error->effect, "standard output is incomplete%s",
                    summary->output_count > 1 ? "; the job's other output was published" : "");
}

#define SYNTAX_TEXT_MAX 512u

/* A job's command line syntax, made from its table. */
struct job_syntax {
    struct cli_syntax syntax;
    char command[SYNTAX_TEXT_MAX], arguments[SYNTAX_TEXT_MAX];
};

struct job_command {
    const struct glint_job *job;
    bool explain;
    struct stage_session *stage; /* of glint stage; NULL: submit or explain */
    struct settings settings;
    struct progress_view progress;
    struct plan_graph graph; /* with --graph */
    struct buffer notes;     /* with --json: lines to print in the object */
    bool notes_failed;
    struct web_server *web; /* with --ui */
    struct buffer input;    /* with --input: the list of paths */
    struct stdout_output stdout_output;
    int stdout_kept; /* copy of stdout's descriptor while redirected; -1: not redirected */
};

static void describe_job_syntax(struct job_syntax *out, const struct cli_program *program,
                                const struct glint_job *job, const char *command)
{
    uint32_t n = 0;
    bool fits = text_format(out->command, sizeof out->command, "%s %s", command, job->name);
    out->arguments[0] = '\0';
    for (; job->positional[n] != NULL; n++) {
        size_t used = strlen(out->arguments);
        fits = text_format(out->arguments + used, sizeof out->arguments - used, "%s%s",
                           n > 0 ? " " : "", job->positional[n]) &&
               fits;
    }
    assert(fits);
    /* A job's option must not hide one of the common options. */
    for (const struct glint_job_option *row = job->options; row != NULL && row->name != NULL; row++)
        assert(cli_option_find(settings_option_table(), row->name, strlen(row->name)) == NULL);
    out->syntax =
        (struct cli_syntax){.command = out->command,
                            .summary = job->summary,
                            .help = job->help,
                            .arguments = out->arguments,
                            .arguments_min = job->positional_min > 0 ? job->positional_min : n,
                            .arguments_max = n,
                            .optional_with = job->optional_with,
                            .own = job->options,
                            .common = settings_option_table(),
                            .common_title = "Options of every job:",
                            .aliases = program->aliases,
                            .argument_option = job_has_argument(job, JOB_INPUT) ? "input" : NULL};
}

/* Prints the help of submit or explain itself. */
static int print_jobs(const struct cli_program *program, const char *command, bool explain)
{
    const struct cli_syntax syntax = {
        .command = command,
        .summary = explain ? "Prints a job's plan and its estimated cost, without running it."
                           : "Runs a job. Options of the job: glint submit JOB --help\nWith "
                             "--cluster or --listen, the keys of the cluster's file are options, "
                             "too: glint config show --help",
        .arguments = "JOB ARGUMENTS...",
        .own = explain ? NULL : adapter_option,
        .common = settings_option_table(),
        .common_title = "Options of every job:"};
    help_print_syntax(&syntax);
    help_print_jobs(program);
    return cli_flush_stdout(0);
}

/* For context_config.note: plans are printed to standard output, other notes to standard error;
 * warnings even with --quiet. */
static void print_job_note(void *arg, const char *line)
{
    struct job_command *run = arg;
    if (run->settings.json) {
        if (!buffer_append(&run->notes, line, strlen(line) + 1)) run->notes_failed = true;
        return;
    }
    progress_clear(&run->progress);
    bool warning = strncmp(line, "warning: ", strlen("warning: ")) == 0;
    const bool plan = run->explain && run->settings.graph == GRAPH_NONE;
    if (!plan && run->settings.quiet && !warning) return;
    FILE *out = plan ? stdout : stderr;
    print_escaped(out, line, "");
    fputc('\n', out);
}

/* If standard output must contain only one object, what the job prints is redirected to standard
 * error. A closed standard output is detected later, when the object is written. */
static int stdout_redirect_to_stderr(struct job_command *run, struct glint_error *error)
{
    run->stdout_kept = -1;
    if (!run->settings.json && run->settings.graph == GRAPH_NONE) return 0;
    fflush(stdout);
    int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (kept < 0 && errno != EBADF)
        return error_set(error, GLINT_E_SYSTEM, "raise the limit on open files (ulimit -n)",
                         "cannot duplicate standard output: %s", strerror(errno));
    if (kept >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
    run->stdout_kept = kept;
    return 0;
}

static void stdout_restore(struct job_command *run)
{
    if (run->stdout_kept < 0) return;
    fflush(stdout);
    dup2(run->stdout_kept, STDOUT_FILENO);
    close(run->stdout_kept);
}

/* Prints the job's id for status and cancel. */
static void print_job_started(const struct job_command *run, const struct glint *g)
{
    const struct cluster *cluster = run->settings.config.cluster;
    if (cluster == NULL || run->explain || run->settings.quiet || run->settings.json) return;
    fprintf(stderr, "%s, job %016llx on %s\n", run->job->name, (unsigned long long)glint_job_id(g),
            cluster->name);
}

static void print_job_graph(const struct job_command *run, struct glint_error *error)
{
    const char *title = run->job->name;
    bool printed = !run->graph.failed;
    if (printed && run->settings.graph == GRAPH_DOT)
        plan_graph_print_dot(stdout, &run->graph, title);
    else if (printed)
        printed = plan_graph_print_svg(stdout, &run->graph, title);
    if (!printed) error_no_memory(error);
}

static void print_pack_summary(const struct job_command *run)
{
    const struct stage_session *s = run->stage;
    if (run->settings.quiet || run->settings.json) return;
    fprintf(stderr, "packed %s: %u stage%s, %u task%s\n", s->out, s->stages,
            s->stages == 1 ? "" : "s", s->tasks, s->tasks == 1 ? "" : "s");
}

static void report_job_result(struct job_command *run, const struct glint_summary *summary,
                              struct glint_error *error)
{
    const bool piped = run->stdout_output.path[0] != '\0';
    struct summary_report r = {run->job->name, error, summary, &run->notes};
    char hint[sizeof error->hint];
    format_text_with_own_commands(hint, sizeof hint, error->hint);
    memcpy(error->hint, hint, sizeof hint);
    progress_clear(&run->progress);
    if (run->notes_failed && error->code == GLINT_OK) error_no_memory(error);
    if (run->settings.graph != GRAPH_NONE && error->code == GLINT_OK) print_job_graph(run, error);
    if (error->code != GLINT_OK)
        print_error(stderr, error, print_color_enabled(run->settings.color));
    else if (run->stage != NULL && run->stage->packed)
        print_pack_summary(run);
    else if (!run->explain && !run->settings.quiet && !run->settings.json)
        summary_print(stderr, &r, run->settings.verbose);
    if (error->code == GLINT_OK && !run->explain && !run->settings.json)
        summary_print_answers(piped ? stderr : stdout, summary);
    if (!run->settings.json || summary_print_json(stdout, &r)) return;
    struct glint_error lost = {.code = GLINT_OK};
    error_no_memory(&lost);
    if (error->code == GLINT_OK) *error = lost;
    cli_fail(&lost);
}

/* glint stage gather FILE OUTPUT: the job writes to another place. */
static bool replace_output_argument(const struct job_command *run, struct cli_line *line,
                                    struct glint_error *error)
{
    const struct glint_job *job = run->job;
    if (run->stage == NULL || run->stage->output == NULL) return true;
    const uint32_t index = job->outputs[0] != NULL && job->outputs[1] == NULL
                               ? job_argument_index(job, line->argument_count, job->outputs[0])
                               : line->argument_count;
    if (index < line->argument_count) {
        line->arguments[index] = run->stage->output;
        return true;
    }
    error_set(error, GLINT_E_USAGE, "give the job's outputs when you pack it",
              "the job %s does not have one output", job->name);
    return false;
}

/* If an output is "-", the job writes to a directory that is copied to standard output. */
static int open_stdout_output(struct job_command *run, struct cli_line *line,
                              struct glint_error *error)
{
    struct context_config *config = &run->settings.config;
    struct stdout_output *o = &run->stdout_output;
    if (run->explain || run->stage != NULL ||
        stdout_output_open(o, env_real(), run->job, line, config->work_dir, error) != 0 ||
        o->path[0] == '\0')
        return error->code;
    if (config->cluster != NULL)
        return error_set(error, GLINT_E_USAGE,
                         "name a directory, and print it when the job is done: glint cat OUTPUT",
                         "only a job of one process writes to standard output");
    if (run->settings.json)
        return error_set(error, GLINT_E_USAGE, "name a directory, or leave out --json",
                         "--json and the job both write to standard output");
    config->stdout_output = o->path;
    config->no_sync = config->no_sync || run->job->outputs[1] == NULL; /* it is removed anyway */
    return 0;
}

static int reserve_job_outputs(struct glint *g, const struct glint_job *job,
                               const struct glint_job_args *args)
{
    int r = 0;
    for (uint32_t i = 0; job->outputs[i] != NULL && r == 0; i++) {
        const char *path = job_output_path(job, args, job->outputs[i]);
        if (path != NULL) r = glint_reserve_output(g, path);
    }
    return r;
}

/* For context_config.option_origin. */
static const char *find_option_origin(void *arg, const char *option)
{
    const struct cli_line *line = arg;
    if (cli_option_find(line->syntax->common, option, strlen(option)) == NULL) return NULL;
    if (cli_line_has(line, option)) return "command line";
    return config_key_find(job_keys, JOB_KEYS, option) != NULL ? "default" : NULL;
}

/* Serves the page, if --ui is given. Returns 0 or a code. */
static int start_job_page(struct job_command *run, struct glint_error *error)
{
    const struct settings *s = &run->settings;
    if (s->ui == NULL || run->explain) return 0;
    run->web = cli_web_open(s->ui, s->ui_token, NULL, false, error);
    if (run->web == NULL) return error->code;
    run->settings.config.event_sink = web_server_sink(run->web);
    return web_server_start(run->web, error);
}

static int run_job_in_context(struct job_command *run, const struct cli_program *program,
                              struct cli_line *line)
{
    struct context_config *config = &run->settings.config;
    config->env = env_real();
    config->ops = program->ops;
    config->modules = program->modules;
    config->jobs = program->jobs;
    config->explain = run->explain;
    config->progress = progress_show;
    config->progress_arg = &run->progress;
    config->option_origin = find_option_origin;
    config->option_arg = line;
    config->note = print_job_note;
    config->note_arg = run;
    if (run->settings.graph != GRAPH_NONE) config->plan = plan_graph_add;
    config->plan_arg = &run->graph;
    progress_init(&run->progress, config->env, run->settings.quiet || run->settings.json,
                  run->settings.verbose);
    crash_handler_install(run->job->name, NULL);
    /* The main thread needs a signal stack too, to report a stack overflow in the job's code. */
    crash_handler_enter_thread(NULL, NULL);
    signals_start("may remain: .NAME.glint-* next to each output NAME, glint-* in the work "
                  "directory; the next job there removes them");
    struct glint_error error = {.code = GLINT_OK};
    struct glint_summary summary = {.elapsed_ns = 0};
    struct glint *g = NULL;
    if (stdout_redirect_to_stderr(run, &error) == 0 && start_job_page(run, &error) == 0)
        g = context_create(config, &error);
    assert((g == NULL) == (error.code != GLINT_OK));
    if (g != NULL) {
        /* A job that asks for more arguments than there are finds NULL. */
        const char *positional[GLINT_JOB_POSITIONAL_MAX + 1] = {NULL};
        assert(line->argument_count <= GLINT_JOB_POSITIONAL_MAX);
        for (uint32_t i = 0; i < line->argument_count; i++) positional[i] = line->arguments[i];
        struct glint_job_args args = {positional, line->argument_count, line};
        line->context = g;
        /* From here on signals interrupt this context. */
        signals_watch(g, config->timeout_ns);
        print_job_started(run, g);
        int returned = reserve_job_outputs(g, run->job, &args);
        if (returned == 0) returned = run->job->run(g, &args);
        signals_job_returned();
        if (returned == 0 && run->stage != NULL && run->stage->out != NULL)
            glint_abort(g, GLINT_E_STAGE_ACTION, "run it with glint submit, or glint stage gather",
                        "the job %s has no more actions for another engine", run->job->name);
        if (returned != 0) /* no effect if an error is set */
            glint_abort(g, GLINT_E_FUNCTION_FAILED, "return glint_error(g)->code",
                        "the job %s returned %d without an error", run->job->name, returned);
        glint_finish(g);
        signals_unwatch();
        error = *glint_error(g);
        if (run->stage != NULL && run->stage->packed && error.code == GLINT_E_INTERRUPTED)
            error.code = GLINT_OK;
        summary = *glint_summarize(g);
    }
    stdout_restore(run);
    if (error.code == GLINT_OK) stdout_output_copy(&run->stdout_output, &summary, &error);
    if (cli_error_is_broken_pipe(&error)) error = (struct glint_error){.code = GLINT_OK};
    report_job_result(run, &summary, &error);
    bool stuck = g != NULL && g->stuck;
    glint_destroy(g);
    web_server_close(run->web);
    buffer_fini(&run->notes);
    plan_graph_fini(&run->graph);
    int status = cli_flush_stdout(glint_code_exit_status(error.code));
    if (stuck) _exit(status); /* stuck functions still use memory that a normal exit would free */
    return status;
}

static bool is_json_wanted(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) return true;
    return false;
}

/* Reports an error of submit that was found before the job started; the command line may not be
 * parsed. */
static int report_error_before_job_start(const struct job_command *run, int argc, char **argv,
                                         const struct glint_error *error)
{
    const struct glint_summary none = {.elapsed_ns = 0};
    const struct buffer notes = {.size = 0};
    const char *job = run->job != NULL ? run->job->name : NULL;
    const struct summary_report report = {job, error, &none, &notes};
    if (!run->explain && is_json_wanted(argc, argv)) (void)summary_print_json(stdout, &report);
    return cli_flush_stdout(cli_fail(error));
}

/* With a stage file, the job has the resources that it was packed with: its plan may depend on
 * them. */
static bool apply_stage_file_resources(struct job_command *run, struct glint_error *error)
{
    struct context_config *config = &run->settings.config;
    if (run->stage == NULL) return true;
    config->stage = run->stage;
    if (config->cluster != NULL) {
        error_set(error, GLINT_E_USAGE, "leave out --cluster and --listen",
                  "another engine runs the tasks");
        return false;
    }
    config->stdin_tasks = run->stage->stdin_tasks;
    if (run->stage->file != NULL) {
        config->stdin_tasks = run->stage->file->stdin_tasks;
        config->slots = run->stage->file->slots;
        config->memory_bytes = run->stage->file->memory_bytes;
    }
    return true;
}

/* The new event log would replace what the job is to read. A directory or a pattern that has the
 * log is not looked into: reading it fails, as the log grows. */
static bool check_event_log_is_no_input(const char *log, const struct cli_line *line,
                                        struct glint_error *error)
{
    struct env *env = env_real();
    struct env_stat old, input;
    if (log == NULL || env->stat(env, log, &old) != 0) return true;
    for (uint32_t i = 0; i < line->argument_count; i++) {
        const char *names = line->arguments[i];
        struct glint_slice one, rest = {(const uint8_t *)names, strlen(names)};
        char path[PATH_MAX];
        while (glint_next_field(&rest, ',', &one))
            if (text_format(path, sizeof path, "%.*s", (int)one.size, (const char *)one.data) &&
                env->stat(env, path, &input) == 0 && env_is_same_file(&old, &input)) {
                error_set(error, GLINT_E_USAGE, "name another file",
                          "--event-log names an input of the job: %s", path);
                return false;
            }
    }
    return true;
}

/* `command`: with the name "glint ...". */
static int run_job(const struct cli_program *program, const char *glint_command, bool explain,
                   struct stage_session *stage, int argc, char **argv)
{
    char name[CLI_COMMAND_BYTES];
    const char *command = cli_own_command(program, glint_command, name);
    int at = 0, status = 0;
    struct glint_error error = {.code = GLINT_OK};
    struct job_command run = {.explain = explain, .stage = stage};
    struct job_syntax described;
    struct cli_line line;
    run.job = job_find(program, command, argc, argv, &at, &error);
    if (run.job == NULL && error.code == GLINT_OK) return print_jobs(program, command, explain);
    if (run.job == NULL) return report_error_before_job_start(&run, argc, argv, &error);
    describe_job_syntax(&described, program, run.job, command);
    described.syntax.skip = at;
    if (!cli_line_parse(&line, &described.syntax, argc, argv, &error)) {
        status = report_error_before_job_start(&run, argc, argv, &error);
    } else if (line.help) {
        help_print_syntax(&described.syntax);
        status = cli_flush_stdout(0);
    } else {
        bool sound = settings_read(&run.settings, &line, &error) &&
                     apply_stage_file_resources(&run, &error) &&
                     job_insert_input(run.job, &line, &run.input, &error) == 0 &&
                     check_event_log_is_no_input(run.settings.config.event_log, &line, &error) &&
                     replace_output_argument(&run, &line, &error) &&
                     open_stdout_output(&run, &line, &error) == 0;
        if (sound && !explain && run.settings.graph != GRAPH_NONE) {
            error_set(&error, GLINT_E_USAGE, NULL, "--graph is an option of glint explain");
            sound = false;
        }
        run.settings.config.job_name = run.job->name;
        run.settings.config.arguments = (const char *const *)argv;
        run.settings.config.argument_count = (uint32_t)argc;
        status = sound ? run_job_in_context(&run, program, &line)
                       : report_error_before_job_start(&run, argc, argv, &error);
        work_dir_close(&run.stdout_output.directory);
        settings_fini(&run.settings);
    }
    buffer_fini(&run.input);
    cli_line_fini(&line);
    return status;
}

static int run_submit_command(const struct cli_program *program, int argc, char **argv)
{
    int next = 0;
    const char *engine = adapter_requested(argc, argv, &next);
    if (engine != NULL) return adapter_exec(engine, argc, argv, next);
    return run_job(program, "glint submit", false, NULL, argc, argv);
}

static int run_explain_command(const struct cli_program *program, int argc, char **argv)
{
    return run_job(program, "glint explain", true, NULL, argc, argv);
}

int job_run_staged(const struct cli_program *program, const char *command,
                   struct stage_session *stage, int argc, char **argv)
{
    return run_job(program, command, false, stage, argc, argv);
}

const struct cli_command cmd_submit = {
    .name = "submit", .summary = "run a job", .run = run_submit_command};

const struct cli_command cmd_explain = {.name = "explain",
                                        .summary = "print a job's plan and its estimated cost",
                                        .run = run_explain_command};
