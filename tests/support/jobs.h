/* Runs the program's jobs inside a test, in a scratch directory that is the working
 * directory meanwhile, and checks what they leave behind. Exits the process on an error of
 * the test itself. */
#ifndef GLINT_TESTS_JOBS_H
#define GLINT_TESTS_JOBS_H

#include "engine/cli/options.h"
#include "engine/plan/context_config.h"

/* Creates an empty directory in $TMPDIR and enters it; it contains `work`, for --work-dir. */
void scratch_open(void);
void scratch_close(void);
void scratch_write(const char *name, const void *data, size_t size);
/* Writes synthetic ratings, without the header line. */
void scratch_ratings(const char *name, uint64_t rows);
/* Removes an output, or any file of that name. */
void scratch_remove(const char *name);

/* A job with its parsed command line. `words`: its name, options and arguments,
 * NULL-terminated; borrowed. */
struct test_job {
    const struct glint_job *job;
    struct cli_syntax syntax;
    struct cli_line line;
};
void test_job_init(struct test_job *t, const char *const *words);
void test_job_fini(struct test_job *t);
/* Sets unset members to the program's defaults. */
void test_job_config(struct context_config *config);
/* Runs the job; may be called again. Unset members of `config` get the program's defaults. Returns
 * the job's code, with *error as from glint_error. */
int test_job_run(const struct test_job *t, const struct context_config *config,
                 struct glint_error *error);
/* Creates, runs and frees a job. `error` may be NULL. */
int test_job_once(const struct context_config *config, const char *const *words,
                  struct glint_error *error);

/* All part files of a complete output, concatenated, including any other file named like a part. */
struct output {
    char *data; /* NULL: no complete output */
    size_t size;
};
struct output output_read(const char *name);
void output_free(struct output *o);
/* Both exist and have the same bytes. */
bool output_same(const struct output *a, const struct output *b);
/* Counts hidden entries of the scratch directory and entries of `work`: what a job must not
 * leave behind. */
unsigned scratch_files_left(void);
/* Removes them. */
void scratch_sweep(void);
unsigned open_files(void);

#endif
