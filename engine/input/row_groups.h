/* Which row groups of an open file of columns a task need not read, by the file's own statistics
 * and Bloom filters. Task's thread. */
#ifndef GLINT_INPUT_ROW_GROUPS_H
#define GLINT_INPUT_ROW_GROUPS_H

#include "engine/input/column_file.h"
#include "engine/input/partition_path.h"
#include "engine/records/task.h"

/* Counter of row groups that were not read. */
#define ROW_GROUPS_SKIPPED "row groups skipped"

struct column_statistics;

struct row_groups {
    struct glint_task *task;
    struct column_file *file; /* NULL: not open, nothing is known of its columns */
    const struct row_layout *layout;
    const uint32_t *numbers; /* by column of the layout: in the file, or UINT32_MAX */
    const struct partition_column *const *constants; /* by column of the layout; NULL: none */
    struct column_statistics *statistics;            /* by column of the layout */
    struct arena *arena;                             /* of the file */
    uint64_t group;                                  /* that is asked about */
    uint64_t rows;                                   /* of it */
};

/* `file` is open, or NULL; all is borrowed until close. Returns 0 or a code with the task's error
 * set. */
int row_groups_open(struct row_groups *g, struct glint_task *task, struct column_file *file,
                    const struct row_layout *layout, const uint32_t *numbers,
                    const struct partition_column *const *constants, struct arena *arena);
/* Whether the task needs rows of the row group, by task->may_need; sets `rows`. Returns 1, 0 or a
 * code with the task's error set. */
int row_groups_need(struct row_groups *g, uint64_t group);
/* The same for all of the `count` row groups of a file that is not open. */
int row_groups_need_file(struct row_groups *g, uint64_t count);
/* Zeros are fine. */
void row_groups_close(struct row_groups *g);

#endif
