/* The output of a command: a file that is created atomically, or standard output. */
#ifndef GLINT_JOBS_COMMANDS_OUTPUT_FILE_H
#define GLINT_JOBS_COMMANDS_OUTPUT_FILE_H

#include "jobs/commands/atomic_output.h"

struct output_file {
    struct env *env;
    const char *output; /* borrowed; NULL: standard output */
    bool overwrite;     /* replaces only a regular file */
    int file;
    struct atomic_output atomic;
    struct glint_error *error; /* of all calls */
};

/* Opens `output`, and handles signals if it is a file. NULL and "-" are standard output. Returns 0
 * or a code; call output_file_close only after 0. */
int output_file_open(struct output_file *f, struct env *env, const char *output, bool overwrite,
                     struct glint_error *error);
int output_file_write(struct output_file *f, const void *data, uint64_t size);
/* Publishes the file if `code` is 0, else removes it. Returns `code`, or the code of a failure
 * here. */
int output_file_close(struct output_file *f, int code);

#endif
