/* glint secret new FILE: makes the secret that the processes of a cluster share. */
#include "engine/cli/options.h"
#include "engine/cli/print.h"
#include "engine/cli/verbs.h"
#include "engine/net/secret.h"

static int new_run(const struct cli_program *program, int argc, char **argv)
{
    static const struct cli_syntax syntax = {
        .command = "glint secret new",
        .summary = "Makes a new secret in FILE, which only you may read; replaces nothing.",
        .help = "Copy FILE to every node of the cluster, over a way that nobody else reads, and "
                "name it in the cluster's file: secret_file = \"FILE\". Whoever has it runs code "
                "as you.",
        .arguments = "FILE",
        .arguments_min = 1,
        .arguments_max = 1};
    struct glint_error error = {.code = GLINT_OK};
    struct cli_line line;
    int status;
    (void)program;
    if (!cli_line_open(&line, &syntax, argc, argv, &status)) return status;
    secret_create(env_real(), line.arguments[0], &error);
    cli_line_fini(&line);
    return error.code != GLINT_OK ? cli_fail(&error) : 0;
}

static int secret_run(const struct cli_program *program, int argc, char **argv)
{
    static const struct cli_verb secret_new = {
        .name = "new", .summary = "make a secret", .usage = "FILE", .run = new_run};
    static const struct cli_verb *const verbs[] = {&secret_new, NULL};
    return cli_dispatch(program, "glint secret", "Makes secrets for clusters.", verbs, argc, argv);
}

const struct cli_verb verb_secret = {.name = "secret",
                                     .summary = "make a secret for a cluster",
                                     .usage = "new FILE",
                                     .run = secret_run};
