/* Reads the result lines of an action's last stage (stage_text.h). */
#ifndef GLINT_FOREIGN_STAGE_RESULTS_H
#define GLINT_FOREIGN_STAGE_RESULTS_H

#include "engine/foreign/stage_file.h"
#include "engine/foreign/stage_text.h"

/* The results of all tasks. Zeros are empty. */
struct stage_results {
    struct buffer *bodies; /* [tasks] */
    uint32_t tasks;
    struct buffer counters; /* of all tasks: task_counters_encode */
};

/* Reads the lines of all `tasks` tasks, in any order of the tasks; writes the files that they saved
 * into `outputs`, as attempt files. `id` is the stage file's. Returns 0, or STAGE_LINES (a task is
 * missing or twice, lines are missing, of another file), OUTPUT_*, NO_MEMORY. */
int stage_results_read(struct stage_results *out, struct line_input *in, uint64_t id,
                       uint32_t tasks, const char *const *outputs, uint32_t output_count,
                       struct env *env, struct glint_error *error);
void stage_results_fini(struct stage_results *r);

#endif
