/* Which partitions of shuffles a task reads, as engine/executor/pipeline.c walks its plan. */
#ifndef GLINT_FOREIGN_STAGE_INPUTS_H
#define GLINT_FOREIGN_STAGE_INPUTS_H

#include "engine/foreign/stage_file.h"
#include "engine/plan/stage_plan.h"

struct stage_input {
    uint32_t shuffle, partition;
};
/* What one task reads. Zeros are empty; free `items` with mem_free. */
struct stage_inputs {
    struct stage_input *items;
    uint64_t capacity;
    uint32_t count;
};
/* Finds them, in the order of reading. Returns 0 or NO_MEMORY. */
int stage_inputs_find(const struct stage_plan *plan, uint32_t partition, struct stage_inputs *out,
                      struct glint_error *error);
/* Whether the task gets lines of the parent with this index, which writes `shuffle`: it reads the
 * shuffle. A task that reads only files gets those of the first parent, to start it. */
bool stage_inputs_get_lines(const struct stage_inputs *inputs, uint32_t parent, uint64_t shuffle);
/* Returns the stage that reads what `stage` writes, and the index of `stage` among its parents;
 * NULL: it is the last one. */
const struct packed_stage *stage_find_reader(const struct stage_file *file,
                                             const struct packed_stage *stage,
                                             uint32_t *out_parent);

#endif
