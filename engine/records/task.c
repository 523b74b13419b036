/* The calls of glint.h that functions make on their task: errors, bad rows, counters, memory. */
#include "engine/records/task.h"

#include "engine/base/text.h"
#include "engine/records/codec.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* ---- counter entry */

bool counter_entry_unpack(struct unpacker *u, struct counter_entry *out)
{
    struct unpacker entry = unpack_array(u);
    *out = (struct counter_entry){.is_accumulator = entry.count == 4};
    unpack_text(&entry, out->name, sizeof out->name);
    if (!out->is_accumulator) {
        out->value = unpack_i64(&entry);
        return unpack_is_complete(&entry);
    }
    union glint_value value;
    unpack_text(&entry, out->function, sizeof out->function);
    out->type = (enum glint_type)unpack_u64(&entry, GLINT_MSGPACK);
    out->bytes = unpack_bytes(&entry);
    return unpack_is_complete(&entry) && out->name[0] != '\0' && out->type > GLINT_NONE &&
           codec_decode(out->type, out->bytes, &value);
}

/* ---- task */

const char *const task_counter_names[COUNT_BUILT_IN] = {
    [COUNT_ROWS_READ] = "rows read",
    [COUNT_BYTES_READ] = "bytes read",
    [COUNT_ROWS_WRITTEN] = "rows written",
    [COUNT_BYTES_WRITTEN] = "bytes written",
    [COUNT_MAP_OUTPUT_RECORDS] = "map output records",
    [COUNT_MAP_OUTPUT_BYTES] = "map output bytes",
    [COUNT_SPILLS] = "spills",
    [COUNT_SPILL_BYTES] = "spill bytes",
    [COUNT_FETCH_WAIT_US] = "fetch wait us",
    [COUNT_CACHE_HITS] = "cache hits",
    [COUNT_CACHE_MISSES] = "cache misses",
    [COUNT_CACHE_EVICTIONS] = "cache evictions",
};

#define TASK_BUFFER_BYTES_MIN 256u

bool task_command_file(const struct task_options *options, uint64_t broadcast, char out[PATH_MAX])
{
    assert(options->work_dir != NULL);
    return text_format(out, PATH_MAX, "%s/command-%" PRIx64, options->work_dir, broadcast);
}

bool task_is_cancelled(const struct glint_task *task)
{
    /* Relaxed: seeing the flag late only ends the task later. */
    const atomic_bool *flag = task->cancel_flag;
    return flag != NULL && atomic_load_explicit(flag, memory_order_relaxed);
}

int task_check_cancelled(struct glint_task *task)
{
    if (!task_is_cancelled(task)) return 0;
    return error_set(&task->error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
}

void *task_alloc(struct glint_task *task, uint64_t size)
{
    void *memory = arena_alloc(&task->arena, size);
    if (memory == NULL) error_no_memory(&task->error);
    return memory;
}

void *glint_scratch(struct glint_task *task, uint64_t size)
{
    void *memory = arena_alloc_aligned(&task->arena, size);
    if (memory == NULL) error_no_memory(&task->error);
    return memory;
}

int glint_append(struct glint_task *task, struct glint_buffer *buffer, const void *data,
                 uint64_t size)
{
    if (size > buffer->capacity - buffer->size) {
        if (size > VALUE_BYTES_MAX - buffer->size)
            return error_set(&task->error, GLINT_E_VALUE_LIMIT, NULL,
                             "a buffer of more than %llu bytes",
                             (unsigned long long)VALUE_BYTES_MAX);
        /* Twice the size each time: what the task keeps until its end is at most as much again. */
        uint64_t capacity = buffer->capacity > 0 ? 2 * buffer->capacity : TASK_BUFFER_BYTES_MIN;
        while (capacity < buffer->size + size) capacity *= 2;
        uint8_t *grown = glint_scratch(task, capacity);
        if (grown == NULL) return task->error.code;
        if (buffer->size > 0) memcpy(grown, buffer->data, buffer->size);
        buffer->data = grown;
        buffer->capacity = capacity;
    }
    if (size > 0) memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    return 0;
}

uint32_t glint_partition(const struct glint_task *task)
{
    return task->partition;
}

int glint_fail(struct glint_task *task, enum glint_code code, const char *hint, const char *cause,
               ...)
{
    assert(code < 0);
    va_list args;
    va_start(args, cause);
    error_set_va(&task->error, code, hint, cause, args);
    va_end(args);
    return code;
}

int glint_counter(struct glint_task *task, const char *name)
{
    struct task_counters *c = &task->counters;
    assert(name != NULL && name[0] != '\0');
    if (c->used < COUNT_BUILT_IN) c->used = COUNT_BUILT_IN;
    for (uint32_t i = COUNT_BUILT_IN; i < c->used; i++)
        if (strcmp(c->names[i], name) == 0) return (int)i;
    if (c->used == COUNTERS_MAX)
        return glint_fail(task, GLINT_E_PLAN_LIMIT, NULL, "more than %u counters in one task",
                          COUNTERS_MAX - COUNT_BUILT_IN);
    size_t size = strnlen(name, NAME_BYTES_MAX);
    char *copy = task_alloc(task, size + 1);
    if (copy == NULL) return GLINT_E_NO_MEMORY;
    memcpy(copy, name, size);
    copy[size] = '\0';
    c->names[c->used] = copy;
    c->values[c->used] = 0;
    return (int)c->used++;
}

void glint_skip_row_groups(struct glint_task *task, glint_may_keep may_keep)
{
    assert(may_keep != NULL);
    task->may_keep = may_keep;
}

void glint_uncount_bad_rows(struct glint_task *task)
{
    assert(task->error.code == GLINT_OK);
    task->uncount_bad_rows = true;
}

void glint_skip_rows(struct glint_task *task, uint32_t column, glint_keep_rows keep)
{
    assert(keep != NULL);
    task->row_skip = (struct row_skip){.keep = keep, .column = column};
}

/* A negative `counter` means that glint_counter failed: the task's error is set already. */
void glint_counter_add(struct glint_task *task, int counter, int64_t by)
{
    if (counter < 0) return;
    assert((uint32_t)counter < COUNTERS_MAX);
    /* Unsigned, so that an overflow wraps instead of being undefined. */
    int64_t *value = &task->counters.values[counter];
    *value = (int64_t)((uint64_t)*value + (uint64_t)by);
}
