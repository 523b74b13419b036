/* See gather_table.h. The combine buffer of the map side does the work; records are passed to it in
 * batches. */
#include "engine/shuffle/gather_table.h"

int gather_table_open(struct gather_table *t, struct glint_task *task,
                      const struct shuffle_spec *spec, void *state)
{
    t->spec = *spec;
    t->spec.partitions = 1; /* all records are of one, and no partitioner is open */
    t->spec.dependency.partitioner = PARTITION_HASH;
    t->rows = mem_zalloc(sizeof *t->rows);
    if (t->rows == NULL) return error_no_memory(&task->error);
    t->rows->key.type = spec->key;
    t->rows->value.type = spec->acc;
    return combine_buffer_init(&t->buffer, task, &t->spec, state);
}

int gather_table_finish_input(struct gather_table *t)
{
    struct glint_batch batch;
    if (t->rows->count == 0) return 0;
    batch_builder_get_batch(t->rows, &batch);
    const int r = combine_buffer_combine_batch(&t->buffer, &batch);
    batch_builder_clear(t->rows);
    return r;
}

int gather_table_add(struct gather_table *t, struct glint_slice key, struct glint_slice value)
{
    struct glint_task *task = t->buffer.task;
    enum batch_builder_result added = batch_builder_add(t->rows, key, value);
    if (added == BATCH_BUILDER_FULL) {
        if (task_is_cancelled(task))
            return error_set(&task->error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
        const int r = gather_table_finish_input(t);
        if (r < 0) return r;
        added = batch_builder_add(t->rows, key, value);
    }
    if (added == BATCH_BUILDER_NO_MEMORY) return error_no_memory(&task->error);
    if (added != BATCH_BUILDER_ADDED)
        return error_set(&task->error, GLINT_E_SHUFFLE_CORRUPT, NULL,
                         "a record in a shuffle does not match its types");
    /* A large record refers to memory of the caller. */
    return t->rows->full ? gather_table_finish_input(t) : 0;
}

int gather_table_sort(struct gather_table *t)
{
    return combine_buffer_sort(&t->buffer, true, &t->order);
}

void gather_table_fini(struct gather_table *t)
{
    combine_buffer_order_fini(&t->order);
    combine_buffer_fini(&t->buffer);
    if (t->rows != NULL) batch_builder_fini(t->rows);
    mem_free(t->rows);
    *t = (struct gather_table){.rows = NULL};
}
