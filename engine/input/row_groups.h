/* Which row groups of an open file of columns a task need not read, by the file's own statistics
 * and Bloom filters. Task's thread. */
#ifndef GLINT_INPUT_ROW_GROUPS_H
#define GLINT_INPUT_ROW_GROUPS_H

#include "engine/input/column_file.h"
#include "engine/records/task.h"

/* Counter of row groups that were not read. */
#define ROW_GROUPS_SKIPPED "row groups skipped"

struct column_statistics;

struct row_groups {
    struct glint_task *task;
    struct column_file *file;
    const struct row_layout *layout;
    const uint32_t *numbers;              /* by column of the layout: in the file, or UINT32_MAX */
    struct column_statistics *statistics; /* by column of the layout */
    struct arena *arena;                  /* of the file */
    uint64_t group;                       /* that is asked about */
    uint64_t rows;                        /* of it */
};

/* `file` is open; all is borrowed until close. Returns 0 or a code with the task's error set. */
int row_groups_open(struct row_groups *g, struct glint_task *task, struct column_file *file,
                    const struct row_layout *layout, const uint32_t *numbers, struct arena *arena);
/* Whether the task needs rows of the row group, by task->may_need; sets `rows`. Returns 1, 0 or a
 * code with the task's error set. */
int row_groups_need(struct row_groups *g, uint64_t group);
/* Zeros are fine. */
void row_groups_close(struct row_groups *g);

#endif
