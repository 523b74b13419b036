/* glint version */
#include "engine/cli/options.h"
#include "engine/cli/print.h"
#include "engine/cli/verbs.h"
#include "engine/net/hello.h"

static int version_run(const struct cli_program *program, int argc, char **argv)
{
    static const struct cli_syntax syntax = {.command = "glint version",
                                             .summary = "Prints the version and the build."};
    struct cli_line line;
    int status;
    if (!cli_line_open(&line, &syntax, argc, argv, &status)) return status;
    cli_line_fini(&line);
    printf("%s %s\nbuild %s\n", program->name, GLINT_VERSION, build_id());
    return cli_flush_stdout(0);
}

const struct cli_verb verb_version = {.name = "version",
                                      .summary = "print the version and the build",
                                      .usage = "",
                                      .run = version_run};
