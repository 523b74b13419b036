/* Jobs: the table that describes a job to `glint submit` and `glint explain`, and access to its
 * options. Included by glint.h. */
#ifndef GLINT_JOB_H
#define GLINT_JOB_H

#include "engine/glint.h"

/* One option in a job's table. */
struct glint_job_option {
    const char *name;          /* without the dashes */
    /* Placeholder in the help; NULL: a switch. "inner|left" are all its values: glint checks that
     * one of them is given, and completes them. */
    const char *value;
    const char *default_value; /* NULL: no default */
    const char *help;
};

/* Positional arguments and options of a job, as the user gave them. Borrowed while the job runs. */
struct glint_job_args {
    const char *const *positional; /* as many as the table lists, or at least positional_min */
    uint32_t count;                /* of positional arguments */
    const void *options;
};
/* Returns the option's value or its default; NULL if it has neither. `name` must be in the job's
 * table, or an option of every job. */
const char *glint_job_option(const struct glint_job_args *args, const char *name);
/* True if the user gave the option; a default does not count. */
bool glint_job_given(const struct glint_job_args *args, const char *name);
/* Read an option as a number. An invalid value sets the context's error, which names the option. */
int64_t glint_job_i64(struct glint *g, const struct glint_job_args *args, const char *name,
                      int64_t min, int64_t max);
double glint_job_f64(struct glint *g, const struct glint_job_args *args, const char *name);
/* Parse all of `text` as a decimal number. Return false if it is not a number, or is out of
 * range. */
bool glint_parse_f64(struct glint_slice text, double *out);
bool glint_parse_i64(struct glint_slice text, int64_t *out);
/* True under `glint explain`: actions print their plan and do not run. Save actions return 0; all
 * others return the result of an empty RDD, and glint_rows_at returns zeros for missing rows. An
 * error that the job reports because of such an empty result ends the plan and is not shown. A job
 * must not loop until a result changes: after 100 empty results, actions fail. */
bool glint_explaining(const struct glint *g);
/* Marks a source of files as a side file: a small input that decides what the plan is, such as a
 * table of sizes. Explain does run actions on RDDs that descend only from side files. Mark the
 * source before using it. Returns `source`. */
struct glint_rdd *glint_as_side_file(struct glint_rdd *source);
/* For a source of text lines whose partitions are not computed yet: no partition has lines of two
 * files, and an empty file has a partition of its own, as in Hadoop. By default small files share a
 * partition. Returns `lines`, or NULL. */
struct glint_rdd *glint_with_partitions_of_one_file(struct glint_rdd *lines);
/* Add a result that is not a file: a number, a choice. When the job has succeeded, `glint submit`
 * prints NAME TAB VALUE for each on standard output, in this order, or with --json the object
 * "answers". A name given again replaces its value. Texts are copied. */
void glint_answer_i64(struct glint *g, const char *name, int64_t value);
void glint_answer_f64(struct glint *g, const char *name, double value);
void glint_answer_text(struct glint *g, const char *name, const char *value);
/* Passes one line to the receiver of notes: `glint explain` prints it with the plan, `glint submit`
 * on standard error. */
void glint_note(struct glint *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for what did not fail the job, but may make its result another one than was meant:
 * "warning: ...", once for each text; `glint submit` prints it with --quiet, too. */
void glint_warn(struct glint *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A number or text of a report; `value` is I64, F64 or TEXT. */
struct glint_field {
    const char *name;
    struct glint_cell value;
};
/* Returns true if the job's events are logged or shown: glint_report has a receiver. */
bool glint_is_observed(const struct glint *g);
/* Adds an object to the event log and the web page, about something that the job has made or read:
 * "filter" has the fields of docs/event-log.md. Texts are copied, and truncated to 512 bytes. At
 * most GLINT_REPORTS_MAX of a job are kept; later ones, and those without a receiver, are
 * ignored. */
#define GLINT_REPORTS_MAX       1000
#define GLINT_REPORT_FIELDS_MAX 16
void glint_report(struct glint *g, const char *name, const struct glint_field *fields,
                  uint32_t count);
/* Returns the memory, in bytes, that one slot may use: --memory divided by the slots. */
uint64_t glint_slot_memory(const struct glint *g);

/* The limits of a job's lists. */
#define GLINT_JOB_POSITIONAL_MAX 8
#define GLINT_JOB_OUTPUTS_MAX    4
#define GLINT_JOB_FUNCTIONS_MAX  32

/* A job: what a program can run. The lists end with NULL. */
struct glint_job {
    uint64_t struct_size; /* of the header that the program was compiled with; 0: this one's */
    const char *name;
    const char *summary;                                  /* one line */
    const char *help;                                     /* longer text; may be NULL */
    const char *positional[GLINT_JOB_POSITIONAL_MAX + 1]; /* names in upper case */
    uint32_t positional_min; /* how many are required, the last ones; 0: all */
    /* Positional arguments and options that name outputs. Each is reserved (glint_reserve_output)
     * before the job runs. */
    const char *outputs[GLINT_JOB_OUTPUTS_MAX + 1];
    const struct glint_job_option *options; /* ends with a NULL name; NULL: none */
    /* Those that its plans use, except built-in ones and those of the program's other jobs. Their
     * names must be unique in the program, and shorter than 128 bytes. */
    const struct glint_function *functions[GLINT_JOB_FUNCTIONS_MAX + 1];
    /* Builds plans and runs actions. Returns glint_error(g)->code. */
    int (*run)(struct glint *g, const struct glint_job_args *args);
    /* The options, as a|b, with which arguments may be left out; NULL: always. Needs
     * positional_min. */
    const char *optional_with;
};

/* Defines a job whose name is that of the variable:
 *
 *     GLINT_JOB(wordcount, .summary = "count words", .positional = {"INPUT", "OUTPUT"},
 *               .functions = {&split}, .run = run); */
#define GLINT_JOB(name_, ...)                                                                      \
    static const struct glint_job name_ = {                                                        \
        .struct_size = sizeof(struct glint_job), .name = #name_, __VA_ARGS__}

/* The main function of a program with these jobs, a list that ends with NULL: its command line has
 * the commands of glint (submit, explain, executor, status, ...), and the name of a job is short
 * for submit and that name, unless a command has it. Executor processes of a cluster run this
 * program, too. Returns what main must return. */
int glint_main_with_jobs(int argc, char **argv, const struct glint_job *const *jobs);
/* glint_main(argc, argv, &job, ...) */
#define glint_main(argc, argv, ...)                                                                \
    glint_main_with_jobs(argc, argv, (const struct glint_job *const[]){__VA_ARGS__, NULL})

#endif
