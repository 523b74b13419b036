/* Jobs: what `glint submit` and `glint explain` know of them. Part of glint.h, which includes it.
 */
#ifndef GLINT_JOB_H
#define GLINT_JOB_H

#include "engine/glint.h"

/* Positional arguments and options of a job, as the user gave them. */
struct glint_job_option {
    const char *name;          /* without the dashes */
    const char *value;         /* placeholder in the help, NULL: a switch */
    const char *default_value; /* default, NULL: none */
    const char *help;
};

struct glint_job_args {
    const char *const *positional; /* as many as the job's table says, or its minimum */
    uint32_t count;                /* of them */
    const void *options;
};
/* The option's value or its default; NULL where neither is. The name must be in the job's table. */
const char *glint_job_option(const struct glint_job_args *args, const char *name);
/* Checked readings of an option; a bad value is a sticky error that names it. */
int64_t glint_job_i64(struct glint *g, const struct glint_job_args *args, const char *name,
                      int64_t min, int64_t max);
double glint_job_f64(struct glint *g, const struct glint_job_args *args, const char *name);
/* Parses all of `text` as a decimal number. False: it is none, or out of the type's range. */
bool glint_parse_f64(struct glint_slice text, double *out);
bool glint_parse_i64(struct glint_slice text, int64_t *out);
/* True under `glint explain`: actions print their plan and are not run. Save actions return 0, all
 * others give what they give for an RDD without records; where rows are fewer than the job expects,
 * glint_rows_at gives zeros. An error of the job's own that follows from that ends the plan, and is
 * none; nor may a job wait for a result: after 100 of them, actions fail. */
bool glint_explaining(const struct glint *g);
/* Marks a source of files as a side file: one that is small and decides what the plan is, such as a
 * table of sizes. Explain runs actions on RDDs that descend from side files only. Returns `source`,
 * which is marked before others are made of it. */
struct glint_rdd *glint_as_side_file(struct glint_rdd *source);
/* A line of `glint explain` or of the job's summary on standard error. */
void glint_note(struct glint *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Memory that one slot may use, from --memory. */
uint64_t glint_slot_memory(const struct glint *g);

struct glint_job {
    const char *name;
    const char *summary;           /* one line */
    const char *help;              /* more, may be NULL */
    const char *const *positional; /* names, upper case, ends with NULL */
    uint32_t positional_min;       /* the last of them are enough; 0: all are wanted */
    /* Positional arguments and options that name outputs; ends with NULL, or is NULL. Each is
     * reserved (glint_reserve_output) before the job runs. */
    const char *const *outputs;
    const struct glint_job_option *options; /* ends with a NULL name */
    int (*run)(struct glint *g, const struct glint_job_args *args);
};

#endif
