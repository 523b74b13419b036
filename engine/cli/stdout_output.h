/* A job's output on standard output: OUTPUT is "-". The job writes to a directory of its own, as to
 * any other; when it has succeeded, the parts are copied in their order. So a job that fails prints
 * nothing, and parts are in order although tasks end in any order. */
#ifndef GLINT_CLI_STDOUT_OUTPUT_H
#define GLINT_CLI_STDOUT_OUTPUT_H

#include "engine/base/locked_dir.h"
#include "engine/cli/options.h"

#include <limits.h>

/* Zeros: no output is standard output. */
struct stdout_output {
    struct env *env;
    struct locked_dir lock;
    char directory[PATH_MAX];
    char path[PATH_MAX]; /* of the output, in the directory; empty: none */
};

/* Replaces the argument that is an output and "-" or /dev/stdout, if there is one, by a path in a
 * new directory below `parent` (NULL: $TMPDIR or /tmp). Returns 0 or a code. */
int stdout_output_open(struct stdout_output *o, struct env *env, const struct glint_job *job,
                       struct cli_line *line, const char *parent, struct glint_error *error);
/* Copies the published output to standard output. Returns 0 or a code. Blocks on the reader. */
int stdout_output_copy(const struct stdout_output *o, struct glint_error *error);
/* Removes the directory. */
void stdout_output_close(struct stdout_output *o);

#endif
