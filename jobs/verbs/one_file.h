/* A verb's output: a file that appears whole or not at all, or standard output. */
#ifndef GLINT_JOBS_VERBS_ONE_FILE_H
#define GLINT_JOBS_VERBS_ONE_FILE_H

#include "jobs/verbs/beside.h"

struct one_file {
    struct env *env;
    const char *output; /* borrowed; NULL: standard output */
    bool overwrite;     /* a regular file only */
    int file;
    struct beside beside;
    struct glint_error *error; /* of all calls */
};

/* Opens what `output` names, and watches for signals if it is a file. NULL and "-" are standard
 * output. 0 or a code; only after 0 one_file_close. */
int one_file_open(struct one_file *f, struct env *env, const char *output, bool overwrite,
                  struct glint_error *error);
int one_file_write(struct one_file *f, const void *data, uint64_t size);
/* Publishes the file if `code` is 0, else removes it. `code`, or the code of what failed here. */
int one_file_close(struct one_file *f, int code);

#endif
