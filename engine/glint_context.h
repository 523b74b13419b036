/* Contexts: how a program that embeds glint configures, creates and ends one. `glint submit` is
 * such a program; its jobs receive a ready context. Included by glint.h. */
#ifndef GLINT_CONTEXT_H
#define GLINT_CONTEXT_H

#include "engine/glint.h"

/* Settings of a context: the options of `glint submit`, by name. */
struct glint_config;
/* Returns settings without options; NULL when out of memory. */
struct glint_config *glint_config_create(void);
/* Sets an option, as ("memory", "1G"); a switch has the value NULL. The texts are copied. An
 * unknown option or value is an error of glint_create. Returns 0, or NO_MEMORY. */
int glint_config_set(struct glint_config *config, const char *option, const char *value);
/* Sets the name of the job that status and event log show; it is copied. Returns 0, or NO_MEMORY.
 */
int glint_config_set_name(struct glint_config *config, const char *name);
/* Sets the functions that plans use, except built-in ones: a list that ends with NULL, which must
 * stay valid until glint_destroy. */
void glint_config_set_functions(struct glint_config *config,
                                const struct glint_function *const *functions);
/* Sets the receiver of the lines of explain and of glint_note; "warning: ..." reports a problem
 * that did not fail the job. Called on the context's thread. */
void glint_config_set_note(struct glint_config *config, void (*note)(void *arg, const char *line),
                           void *arg);
/* How far a stage of the running action is. */
struct glint_progress {
    const char *name; /* as textFile..reduceByKey */
    uint32_t stage;   /* its number in the job, from 0 */
    uint32_t tasks_done, tasks;
    bool stage_ended;
    bool action_ended; /* the last one of an action: all other members are unset */
};
/* Sets the receiver of progress: called on the context's thread, when a task has ended and at least
 * five times a second while tasks run. It must not use the context. */
void glint_config_set_progress(struct glint_config *config,
                               void (*progress)(void *arg, const struct glint_progress *progress),
                               void *arg);
/* Plans run on the executors of a cluster's file (docs/cluster.md), also if this program is no
 * glint: executors run `program`, the path of a glint command with the build `build` (its command
 * version prints it) and the same functions. It must be of the same version as this library. The
 * texts are copied. A wrong file is an error of glint_create. Returns the slots of the cluster, or
 * a negative code. Not with the setting "master". */
int glint_config_set_cluster(struct glint_config *config, const char *file, const char *program,
                             const char *build);
/* Serves the page of the context's jobs (docs/web.md) at HOST:PORT, until glint_config_destroy.
 * Returns its address, with the token; NULL: glint_create will say why. */
const char *glint_config_serve_page(struct glint_config *config, const char *address);
/* Frees the settings; not before the context that was created with them. NULL is allowed. */
void glint_config_destroy(struct glint_config *config);

/* Creates a context, which runs plans in this process, or on a cluster. (A program with functions
 * of its own that runs on a cluster uses glint_main: executors run the program, too.) One context
 * at a time may use `config`. Returns NULL with *error set. One thread at a time may use the
 * context, except for glint_interrupt. */
struct glint *glint_create(struct glint_config *config, struct glint_error *error);
/* Ends the context's error, or an interrupt, so that later calls work again: what earlier actions
 * saved is kept, what the one that failed wrote is removed, and RDDs remain. For programs that
 * handle errors; others get the first one from all later calls. Returns 0, or the code of an error
 * that cannot end: inside an action's callback, or if a function did not return. */
int glint_clear_error(struct glint *g);
/* Publishes the outputs, or removes what was written if the context has an error. Returns 0 or the
 * error's code; glint_error then also has the effect line. Call it once, before glint_destroy. */
int glint_finish(struct glint *g);
void glint_destroy(struct glint *g);
/* Returns the job's id; status, cancel, event log and history show it as 16 hexadecimal digits. */
uint64_t glint_job_id(const struct glint *g);
/* Ends the running action with `code` (INTERRUPTED, TERMINATED). Safe from any thread and from
 * signal handlers. */
void glint_interrupt(struct glint *g, enum glint_code code);

/* What the whole job did, for the summary. */
struct glint_summary {
    uint64_t job_id;
    uint64_t elapsed_ns;
    /* `stages`: stages that started, with `tasks` tasks in total. `stages_skipped`: stages whose
     * map outputs an action reused from an earlier action, counted once per action. `retries`:
     * tasks that ran again because an attempt failed or its output was lost. */
    uint32_t stages, tasks, stages_skipped, retries;
    uint32_t counter_count;
    /* Built-in counters first, then those of functions, sorted by name. */
    const char *const *counter_names;
    const int64_t *counter_values;
    uint32_t stage_count; /* in order of their numbers; of more than 1,024, only the last ones */
    const struct glint_stage_time {
        uint32_t number;  /* counts from 0 over the whole job */
        const char *name; /* first and last operator: "textFile..reduceByKey" */
        uint32_t tasks;
        uint64_t elapsed_ns;
    } * stage_times;
    /* What glint_answer_i64 and its like added, in order. */
    const struct glint_answer {
        const struct glint_answer *next;
        const char *name;
        struct glint_cell value;
    } * answers;
    uint32_t output_count;
    const char *const *outputs;              /* paths of the published directories */
    const struct glint_answer *accumulators; /* by name; NULL: none */
};
/* Returns what the job did so far; valid until the next call, or glint_destroy. */
const struct glint_summary *glint_summarize(struct glint *g);

#endif
