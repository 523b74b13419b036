/* Runs the program's jobs inside a test, and looks at what they leave. All of it works in one
 * scratch folder, which is the working folder meanwhile. A mistake of the test itself ends the
 * process. */
#ifndef GLINT_TESTS_JOBS_H
#define GLINT_TESTS_JOBS_H

#include "engine/cli/options.h"
#include "engine/plan/progress.h"

/* A fresh folder in $TMPDIR, entered; inside it stands `work`, for --work-dir. */
void scratch_open(void);
void scratch_close(void);
void scratch_write(const char *name, const void *data, size_t size);
/* Made-up ratings, without the header line. */
void scratch_ratings(const char *name, uint64_t rows);
/* Removes an output, or whatever has that name. */
void scratch_remove(const char *name);

/* A job with its parsed command line. `words`: its name, options and arguments, then NULL;
 * borrowed. */
struct test_job {
    const struct glint_job *job;
    struct cli_syntax syntax;
    struct cli_line line;
};
void test_job_init(struct test_job *t, const char *const *words);
void test_job_fini(struct test_job *t);
/* Unset members get what the program has. */
void test_job_config(struct glint_config *config);
/* Runs it; may be called again. Unset members of `config` get what the program has. Answers the
 * job's code; *error as glint_error. */
int test_job_run(const struct test_job *t, const struct glint_config *config,
                 struct glint_error *error);
/* The three together. `error` may be NULL. */
int test_job_once(const struct glint_config *config, const char *const *words,
                  struct glint_error *error);

/* All parts of a complete output, one after the other, and whatever else is named like a part. */
struct output {
    char *data; /* NULL: there is no complete output */
    size_t size;
};
struct output output_read(const char *name);
void output_free(struct output *o);
/* Both are there, with the same bytes. */
bool output_same(const struct output *a, const struct output *b);
/* Hidden entries of the scratch folder, and entries of `work`: what a job must not leave. */
unsigned scratch_files_left(void);
/* Removes them. */
void scratch_sweep(void);
unsigned open_files(void);

#endif
