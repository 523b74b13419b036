/* The accumulators of a job (driver_internal.h), and what the running action's tasks have added. */
#include "engine/driver/driver_internal.h"
#include "engine/plan/context.h"
#include "engine/shuffle/task_accumulators.h"

#include <stdlib.h>
#include <string.h>

struct accumulator {
    char name[NAME_BYTES_MAX];
    const struct glint_function *function;
    bool has_value;
    struct buffer value; /* in byte form */
};

/* What one task has added to one accumulator. */
struct accumulator_part {
    uint32_t accumulator, stage, task;
    uint64_t at, size; /* in `bytes` */
};

static uint32_t find_accumulator_index(const struct accumulators *a, const char *name)
{
    uint32_t i = 0;
    while (i < a->count && strcmp(a->items[i].name, name) != 0) i++;
    return i;
}

static int create_accumulator(struct accumulators *a, struct glint *g,
                              const struct counter_entry *e)
{
    const struct glint_function *fn = registry_find_function(&g->config, e->function);
    if (fn == NULL)
        return error_set(&g->error, GLINT_E_PLAN_FUNCTION, "list it in the job's functions",
                         "accumulator %s: unknown function %s", e->name, e->function);
    if (a->count == COUNTERS_MAX)
        return error_set(&g->error, GLINT_E_PLAN_LIMIT, NULL, "a job has more than %u accumulators",
                         COUNTERS_MAX);
    if (!array_reserve(&a->items, &a->capacity, a->count + 1, sizeof *a->items))
        return error_no_memory(&g->error);
    a->items[a->count] = (struct accumulator){.function = fn};
    memcpy(a->items[a->count++].name, e->name, sizeof e->name);
    return 0;
}

static int add_accumulator_part(struct accumulators *a, struct glint *g,
                                const struct counter_entry *e, struct accumulator_part part)
{
    part.accumulator = find_accumulator_index(a, e->name);
    if (part.accumulator == a->count && create_accumulator(a, g, e) != 0) return g->error.code;
    const struct glint_function *fn = a->items[part.accumulator].function;
    if (strcmp(fn->name, e->function) != 0)
        return error_set(&g->error, GLINT_E_PLAN_FUNCTION, NULL,
                         "accumulator %s has two functions: %s and %s", e->name, fn->name,
                         e->function);
    if (task_accumulator_spec(fn).acc != e->type)
        return error_set(&g->error, GLINT_E_PROTOCOL, NULL,
                         "accumulator %s does not have its function's type", e->name);
    if (a->bytes.size + e->bytes.size > g->config.result_bytes_max)
        return error_set(&g->error, GLINT_E_RESULT_LIMIT, "use an action such as aggregate",
                         "the accumulators of an action's tasks exceed %llu bytes",
                         (unsigned long long)g->config.result_bytes_max);
    part.at = a->bytes.size;
    part.size = e->bytes.size;
    if (!array_reserve(&a->parts, &a->part_capacity, a->part_count + 1, sizeof *a->parts) ||
        !buffer_append(&a->bytes, e->bytes.data, e->bytes.size))
        return error_no_memory(&g->error);
    a->parts[a->part_count++] = part;
    return 0;
}

int accumulators_add_task(struct accumulators *a, struct glint *g, uint32_t stage, uint32_t task,
                          struct glint_slice counters)
{
    struct unpacker u = unpack_begin(counters);
    int r = 0;
    bool sound = !u.failed;
    while (sound && r == 0 && u.next < u.count) {
        struct counter_entry e;
        sound = counter_entry_unpack(&u, &e);
        if (sound && e.is_accumulator)
            r = add_accumulator_part(a, g, &e,
                                     (struct accumulator_part){.stage = stage, .task = task});
    }
    if (sound) return r;
    return error_set(&g->error, GLINT_E_PROTOCOL, NULL, "cannot decode a task's counters");
}

static int compare_accumulator_parts(const void *x, const void *y)
{
    const struct accumulator_part *a = x, *b = y;
    if (a->accumulator != b->accumulator) return a->accumulator < b->accumulator ? -1 : 1;
    if (a->stage != b->stage) return a->stage < b->stage ? -1 : 1;
    return (a->task > b->task) - (a->task < b->task);
}

/* Merges the parts [begin, end), all of accumulator `to`, into its value. */
static int merge_accumulator_parts(const struct accumulators *a, struct accumulator *to,
                                   struct glint_task *task, uint64_t begin, uint64_t end)
{
    const struct shuffle_spec spec = task_accumulator_spec(to->function);
    struct combiner c;
    struct glint_slice value;
    int r = combiner_init(&c, task, &spec, NULL);
    if (r == 0 && to->has_value) r = combiner_add_value(&c, buffer_slice(&to->value), false);
    for (uint64_t i = begin; i < end && r == 0; i++) {
        const struct accumulator_part *p = &a->parts[i];
        r = combiner_add_value(&c, (struct glint_slice){a->bytes.data + p->at, p->size}, false);
    }
    if (r == 0) r = combiner_finish_value(&c, false, &value);
    if (r == 0) {
        to->value.size = 0;
        to->has_value = buffer_append(&to->value, value.data, value.size);
        if (!to->has_value) r = error_no_memory(&task->error);
    }
    combiner_fini(&c);
    return r;
}

int accumulators_merge(struct accumulators *a, struct glint *g)
{
    struct driver_task task;
    int r = 0;
    if (a->part_count == 0 || context_failed(g)) return g->error.code;
    qsort(a->parts, a->part_count, sizeof *a->parts, compare_accumulator_parts);
    driver_task_init(&task, g);
    for (uint64_t begin = 0, end; begin < a->part_count && r == 0; begin = end) {
        const uint32_t number = a->parts[begin].accumulator;
        for (end = begin; end < a->part_count && a->parts[end].accumulator == number;) end++;
        r = merge_accumulator_parts(a, &a->items[number], &task.task, begin, end);
    }
    a->merges++;
    a->part_count = 0;
    a->bytes.size = 0;
    return driver_task_fini(&task);
}

static bool decode_accumulator_value(const struct accumulator *a, struct glint_cell *out)
{
    out->type = task_accumulator_spec(a->function).acc;
    return a->has_value && codec_decode(out->type, buffer_slice(&a->value), &out->value);
}

bool accumulators_find(const struct accumulators *a, const char *name, struct glint_cell *out)
{
    const uint32_t i = find_accumulator_index(a, name);
    *out = (struct glint_cell){.type = GLINT_NONE};
    return i < a->count && decode_accumulator_value(&a->items[i], out);
}

void accumulators_clear(struct accumulators *a, const char *name)
{
    const uint32_t i = find_accumulator_index(a, name);
    if (i == a->count) return;
    a->items[i].value.size = 0;
    a->items[i].has_value = false;
}

static int compare_accumulator_names(const void *x, const void *y)
{
    return strcmp(((const struct glint_answer *)x)->name, ((const struct glint_answer *)y)->name);
}

const struct glint_answer *accumulators_list(struct accumulators *a)
{
    uint32_t used = 0;
    mem_free(a->list);
    a->list = a->count > 0 ? mem_alloc(a->count * sizeof *a->list) : NULL;
    for (uint32_t i = 0; a->list != NULL && i < a->count; i++) {
        a->list[used] = (struct glint_answer){.name = a->items[i].name};
        used += decode_accumulator_value(&a->items[i], &a->list[used].value);
    }
    if (used == 0) return NULL;
    qsort(a->list, used, sizeof *a->list, compare_accumulator_names);
    for (uint32_t i = 0; i + 1 < used; i++) a->list[i].next = &a->list[i + 1];
    return a->list;
}

void accumulators_fini(struct accumulators *a)
{
    for (uint32_t i = 0; i < a->count; i++) buffer_fini(&a->items[i].value);
    mem_free(a->items);
    mem_free(a->parts);
    mem_free(a->list);
    buffer_fini(&a->bytes);
    *a = (struct accumulators){.count = 0};
}
