/* From main to a command. Standard streams are checked first: if one is closed, the next opened
 * file gets its descriptor, and messages would be written into that file. */
#include "engine/cli/cli.h"

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/cli/cluster_file.h"
#include "engine/cli/options.h"
#include "engine/cli/print.h"
#include "engine/limits.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define COMMANDS_MAX 32u

static int dispatch_command(const struct cli_program *program, const struct cli_command *group,
                            int argc, char **argv);

static int print_commands(const struct cli_program *program, const struct cli_command *group)
{
    const bool all = strcmp(group->syntax.command, program->name) == 0;
    help_print_group(group);
    if (all) help_print_jobs(program);
    return cli_flush_stdout(0);
}

static void format_command_list(char *out, size_t capacity, const struct cli_command *group)
{
    for (uint32_t i = 0; group->commands[i] != NULL; i++) {
        size_t used = strlen(out);
        bool fits = text_format(out + used, capacity - used, "%s%s",
                                i > 0 ? ", " : "one of: ", group->commands[i]->name);
        assert(fits);
    }
}

static int report_unknown_command(const struct cli_program *program,
                                  const struct cli_command *group, const char *name)
{
    const char *prefix = group->syntax.command;
    char hint[512] = "";
    bool option = name[0] == '-';
    struct suggest suggest;
    suggest_init(&suggest, name);
    for (uint32_t i = 0; group->commands[i] != NULL; i++)
        suggest_add_candidate(&suggest, group->commands[i]->name);
    for (uint32_t i = 0; strcmp(prefix, program->name) == 0 && program->jobs[i] != NULL; i++)
        suggest_add_candidate(&suggest, program->jobs[i]->name);
    if (option)
        text_format(hint, sizeof hint, "options follow a command; see %s --help", prefix);
    else if (suggest.name != NULL)
        text_format(hint, sizeof hint, "did you mean %s?", suggest.name);
    else
        format_command_list(hint, sizeof hint, group);
    struct glint_error error = {.code = GLINT_OK};
    error_set(&error, option ? GLINT_E_UNKNOWN_OPTION : GLINT_E_USAGE, hint, "%s has no %s %s",
              prefix, option ? "option" : "command", name);
    return cli_fail(&error);
}

static int report_missing_command(const struct cli_command *group)
{
    char hint[512] = "";
    struct glint_error error = {.code = GLINT_OK};
    format_command_list(hint, sizeof hint, group);
    error_set(&error, GLINT_E_USAGE, hint, "usage: %s COMMAND [ARGUMENT...] [OPTION...]",
              group->syntax.command);
    return cli_fail(&error);
}

const char *cli_own_command(const struct cli_program *program, const char *command,
                            char out[CLI_COMMAND_BYTES])
{
    assert(strncmp(command, "glint", 5) == 0);
    text_format(out, CLI_COMMAND_BYTES, "%s%s", program->name, command + 5);
    return out;
}

static int run_cli_command(const struct cli_program *program, const struct cli_command *command,
                           int argc, char **argv)
{
    char name[CLI_COMMAND_BYTES];
    if (command->run != NULL) return command->run(program, argc, argv);
    struct cli_command group = *command;
    group.syntax.command = cli_own_command(program, command->syntax.command, name);
    if (group.commands != NULL) return dispatch_command(program, &group, argc, argv);
    struct glint_job_option rows[CLUSTER_OPTIONS_MAX];
    struct glint_error error = {.code = GLINT_OK};
    struct cli_syntax syntax = group.syntax;
    struct cli_line line;
    int status;
    if (syntax.takes_cluster) syntax.common = cluster_option_table(syntax.cluster_shown, rows);
    if (!cli_line_parse_or_report(&line, &syntax, argc, argv, &status)) return status;
    line.program = program;
    command->execute(&line, &error);
    cli_line_fini(&line);
    status = cli_flush_stdout(0);
    return error.code != GLINT_OK ? cli_fail(&error) : status;
}

static int dispatch_command(const struct cli_program *program, const struct cli_command *group,
                            int argc, char **argv)
{
    assert(argc >= 1 && group->commands[0] != NULL);
    if (argc == 1) return report_missing_command(group);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return print_commands(program, group);
    for (const struct cli_command *const *c = group->commands; *c != NULL; c++)
        if (strcmp((*c)->name, argv[1]) == 0)
            return run_cli_command(program, *c, argc - 1, argv + 1);
    for (uint32_t i = 0;
         strcmp(group->syntax.command, program->name) == 0 && program->jobs[i] != NULL; i++)
        if (strcmp(program->jobs[i]->name, argv[1]) == 0)
            return cmd_submit.run(program, argc, argv);
    return report_unknown_command(program, group, argv[1]);
}

int cli_run_words(const struct cli_program *program, int argc, char **argv)
{
    static const struct cli_command *const first[] = {&cmd_submit, &cmd_explain, &cmd_executor,
                                                      &cmd_status, &cmd_cancel,  &cmd_history,
                                                      &cmd_clean,  &cmd_stage,   NULL};
    static const struct cli_command *const last[] = {&cmd_config, &cmd_secret, &cmd_version,
                                                     &cmd_help, NULL};
    const struct cli_command *const *const lists[] = {first, program->commands, last};
    const struct cli_command *commands[COMMANDS_MAX + 1];
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (uint32_t j = 0; lists[i] != NULL && lists[i][j] != NULL; j++) {
            assert(n < COMMANDS_MAX);
            commands[n++] = lists[i][j];
        }
    }
    commands[n] = NULL;
    const struct cli_command all = {
        .syntax = {.command = program->name, .summary = program->summary}, .commands = commands};
    return dispatch_command(program, &all, argc, argv);
}

/* Replaces a closed stream by /dev/null, opened so that its use fails, as it would without. */
static void open_missing_standard_streams(void)
{
    struct env *env = env_real();
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        if (fcntl(file, F_GETFD) >= 0 || errno != EBADF) continue;
        const bool input = file == STDIN_FILENO;
        int opened = env->open(env, ENV_CWD, "/dev/null", input ? ENV_APPEND : ENV_READ);
        assert(opened < 0 || opened == file);
    }
}

/* A stack overflow would crash without a message. */
static bool is_stack_large_enough(struct glint_error *error)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_BYTES_MIN) return true;
    error_set(error, GLINT_E_SYSTEM, "raise the limit: ulimit -s 8192",
              "the stack limit is %llu KiB; it must be at least %llu KiB",
              (unsigned long long)(limit.rlim_cur / KIB),
              (unsigned long long)(STACK_BYTES_MIN / KIB));
    return false;
}

int cli_main(const struct cli_program *program, int argc, char **argv)
{
    struct glint_error error = {.code = GLINT_OK};
    assert(program->jobs != NULL && program->ops != NULL && program->modules != NULL);
    print_set_program_name(program->name);
    open_missing_standard_streams();
    if (!is_stack_large_enough(&error)) return cli_fail(&error);
    mem_set_malloc_thresholds();
    signal(SIGPIPE, SIG_IGN); /* writing to a closed pipe then fails with EPIPE */
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return run_cli_command(program, &cmd_version, 1, argv);
    /* execve allows an empty argv. */
    static char name[] = "glint";
    char *none[] = {name, NULL};
    return cli_run_words(program, argc > 0 ? argc : 1, argc > 0 ? argv : none);
}
