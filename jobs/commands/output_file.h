/* A verb's output: a file that appears whole or not at all, or standard output. */
#ifndef GLINT_JOBS_COMMANDS_OUTPUT_FILE_H
#define GLINT_JOBS_COMMANDS_OUTPUT_FILE_H

#include "jobs/commands/atomic_output.h"

struct output_file {
    struct env *env;
    const char *output; /* borrowed; NULL: standard output */
    bool overwrite;     /* a regular file only */
    int file;
    struct atomic_output atomic;
    struct glint_error *error; /* of all calls */
};

/* Opens what `output` names, and watches for signals if it is a file. NULL and "-" are standard
 * output. 0 or a code; only after 0 output_file_close. */
int output_file_open(struct output_file *f, struct env *env, const char *output, bool overwrite,
                     struct glint_error *error);
int output_file_write(struct output_file *f, const void *data, uint64_t size);
/* Publishes the file if `code` is 0, else removes it. `code`, or the code of what failed here. */
int output_file_close(struct output_file *f, int code);

#endif
