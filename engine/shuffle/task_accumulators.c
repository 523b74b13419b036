/* See task_accumulators.h. They are in the task's arena, but a value can own heap memory: the owner
 * of the task frees that through task->free_accumulators. */
#include "engine/shuffle/task_accumulators.h"

#include <assert.h>
#include <string.h>

struct task_accumulator {
    const char *name;
    struct shuffle_spec spec;
    struct combiner combiner;
};

struct task_accumulators {
    uint32_t count;
    struct task_accumulator *items[ACCUMULATORS_MAX];
};

static enum glint_type accumulator_type_or_any(enum glint_type type)
{
    const enum glint_type column = codec_column_type(type);
    return column == GLINT_NONE || column == GLINT_SAME ? GLINT_ANY : column;
}

struct shuffle_spec task_accumulator_spec(const struct glint_function *fn)
{
    struct shuffle_spec spec = {.partitions = 1, .fn = fn, .sequential = true};
    const bool stateless = fn != NULL && fn->open == NULL && fn->state_size == 0;
    if (!stateless || (fn->kind != GLINT_KIND_REDUCE && fn->kind != GLINT_KIND_AGGREGATE))
        return spec;
    const bool aggregate = fn->kind == GLINT_KIND_AGGREGATE;
    spec.dependency.combine = aggregate ? COMBINE_CREATE : COMBINE_REDUCE;
    spec.value = accumulator_type_or_any(fn->in.value);
    spec.acc = aggregate && fn->out.value != GLINT_SAME ? accumulator_type_or_any(fn->out.value)
                                                        : spec.value;
    if (spec.value == GLINT_ANY) spec.acc = GLINT_ANY;
    return spec;
}

static void fini_accumulators(struct glint_task *task)
{
    struct task_accumulators *all = task->accumulators;
    for (uint32_t i = 0; i < all->count; i++) combiner_fini(&all->items[i]->combiner);
    task->accumulators = NULL;
}

static struct task_accumulators *get_or_create_accumulators(struct glint_task *task)
{
    if (task->accumulators != NULL) return task->accumulators;
    struct task_accumulators *all = task_alloc(task, sizeof *all);
    if (all == NULL) return NULL;
    *all = (struct task_accumulators){.count = 0};
    task->accumulators = all;
    task->free_accumulators = fini_accumulators;
    return all;
}

static int add_accumulator(struct glint_task *task, struct task_accumulators *all, const char *name,
                           const struct glint_function *fn)
{
    const size_t size = strlen(name);
    struct task_accumulator *a = task_alloc(task, sizeof *a);
    char *copy = a != NULL ? task_alloc(task, size + 1) : NULL;
    if (copy == NULL) return task->error.code;
    *a = (struct task_accumulator){.name = memcpy(copy, name, size + 1),
                                   .spec = task_accumulator_spec(fn)};
    const int r = combiner_init(&a->combiner, task, &a->spec, NULL);
    if (r < 0) {
        combiner_fini(&a->combiner);
        return r;
    }
    all->items[all->count] = a;
    return (int)all->count++;
}

int glint_accumulator(struct glint_task *task, const char *name,
                      const struct glint_function *function)
{
    struct task_accumulators *all = get_or_create_accumulators(task);
    if (all == NULL) return task->error.code;
    if (name == NULL || name[0] == '\0' || strlen(name) >= NAME_BYTES_MAX)
        return glint_fail(task, GLINT_E_BAD_VALUE, NULL,
                          "an accumulator's name must have 1 to %u bytes", NAME_BYTES_MAX - 1);
    if (task_accumulator_spec(function).acc == GLINT_ANY)
        return glint_fail(task, GLINT_E_PLAN_FUNCTION,
                          "use one of kind REDUCE or AGGREGATE, with types and without `open`",
                          "accumulator %s: unsuitable function", name);
    for (uint32_t i = 0; i < all->count; i++) {
        if (strcmp(all->items[i]->name, name) != 0) continue;
        if (all->items[i]->spec.fn == function) return (int)i;
        return glint_fail(task, GLINT_E_PLAN_FUNCTION, NULL,
                          "accumulator %s has two functions: %s and %s", name,
                          all->items[i]->spec.fn->name, function->name);
    }
    if (all->count == ACCUMULATORS_MAX)
        return glint_fail(task, GLINT_E_PLAN_LIMIT, NULL, "more than %u accumulators in one task",
                          ACCUMULATORS_MAX);
    return add_accumulator(task, all, name, function);
}

int glint_accumulate(struct glint_task *task, int accumulator, const union glint_value *value)
{
    if (accumulator < 0) return task->error.code;
    assert(task->accumulators != NULL && (uint32_t)accumulator < task->accumulators->count);
    struct combiner *c = &task->accumulators->items[accumulator]->combiner;
    if (c->started) return aggregator_merge_value(&c->aggregator, &c->acc, value, true);
    const int r = aggregator_init_value(&c->aggregator, &c->acc, value, true);
    c->started = r == 0;
    return r;
}

uint32_t task_accumulators_count(const struct glint_task *task)
{
    const struct task_accumulators *all = task->accumulators;
    uint32_t count = 0;
    for (uint32_t i = 0; all != NULL && i < all->count; i++)
        count += all->items[i]->combiner.started;
    return count;
}

int task_accumulators_pack(struct glint_task *task, struct packer *p)
{
    struct task_accumulators *all = task->accumulators;
    uint64_t bytes = 0;
    for (uint32_t i = 0; all != NULL && i < all->count; i++) {
        struct task_accumulator *a = all->items[i];
        struct glint_slice value;
        if (!a->combiner.started) continue;
        const int r = combiner_finish_value(&a->combiner, false, &value);
        if (r < 0) return r;
        bytes += value.size;
        if (bytes > ACCUMULATOR_BYTES_MAX)
            return glint_fail(task, GLINT_E_VALUE_LIMIT, "use an action such as aggregate",
                              "the accumulators of a task have more than %u bytes",
                              ACCUMULATOR_BYTES_MAX);
        pack_array(p, 4);
        pack_text(p, a->name);
        pack_text(p, a->spec.fn->name);
        pack_u64(p, a->spec.acc);
        pack_bytes(p, value);
    }
    return 0;
}
