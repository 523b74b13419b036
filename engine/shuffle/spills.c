/* See spills.h. Neighbours are merged until few enough are left for one merge. Where merging is
 * sequential only the first range may combine: what comes later has to wait for what came before.
 */
#include "engine/shuffle/spills.h"

#include <assert.h>

static bool reserve(struct spills *s)
{
    if (s->count < s->capacity) return true;
    uint32_t capacity = s->capacity == 0 ? 16 : s->capacity * 2;
    struct spill *items = mem_grow(s->items, s->capacity * sizeof *items, capacity * sizeof *items);
    if (items == NULL) return false;
    s->items = items;
    s->capacity = capacity;
    return true;
}

int spills_add(struct spills *s, struct run_writer *w, bool raw)
{
    struct glint_task *task = w->task;
    int r = reserve(s) ? 0 : error_no_memory(&task->error);
    struct run run = {.path = NULL};
    if (r == 0) r = run_writer_finish(w, &run);
    if (r < 0) {
        run_writer_abort(w);
        return r;
    }
    s->items[s->count++] = (struct spill){run, raw};
    compact_count(task, &run);
    return 0;
}

/* Merges `count` spills from `first` on, partition by partition. */
static int merge_range(struct compactor *c, const struct spill *first, uint32_t count,
                       enum compact_mode mode, struct run_writer *out)
{
    assert(count <= MERGE_FAN_IN_MAX);
    for (uint32_t p = 0; p < out->partitions; p++) {
        struct run_slice slices[MERGE_FAN_IN_MAX];
        bool raw[MERGE_FAN_IN_MAX];
        uint32_t n = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (first[i].run.parts[p].records == 0) continue;
            slices[n] = run_slice(&first[i].run, p);
            raw[n++] = first[i].raw;
        }
        if (n == 0) continue;
        int r = compactor_run(c, mode, slices, raw, n, out, p);
        if (r < 0) return r;
    }
    return 0;
}

static bool combines(const struct shuffle_spec *spec)
{
    return spec->map_side && spec->wide.combine != COMBINE_NONE;
}

/* Replaces each range of spills by their merged run. */
static int halve(struct spills *s, struct compactor *c, const struct shuffle_spec *spec)
{
    struct glint_task *task = c->combiner.fold.task;
    struct spills fewer = {NULL, 0, 0};
    int r = 0;
    for (uint32_t i = 0; i < s->count && r == 0; i += MERGE_FAN_IN_MAX) {
        uint32_t n = s->count - i < MERGE_FAN_IN_MAX ? s->count - i : MERGE_FAN_IN_MAX;
        bool combine = combines(spec) && (i == 0 || !fold_is_sequential(spec));
        struct run_writer w;
        r = run_writer_init(&w, task, spec->partitions, 0);
        if (r < 0) break;
        r = merge_range(c, s->items + i, n, combine ? COMPACT_COMBINE : COMPACT_PASS, &w);
        if (r == 0)
            r = spills_add(&fewer, &w, !combine);
        else
            run_writer_abort(&w);
        for (uint32_t k = i; k < i + n; k++) run_destroy(&s->items[k].run);
    }
    spills_fini(s);
    *s = fewer;
    return r;
}

int spills_merge(struct spills *s, struct glint_task *task, const struct shuffle_spec *spec,
                 void *state, struct run *out)
{
    struct compactor c;
    struct run_writer w = {.task = NULL};
    int r = compactor_init(&c, task, spec, state);
    while (r == 0 && s->count > MERGE_FAN_IN_MAX) r = halve(s, &c, spec);
    if (r == 0) r = run_writer_init(&w, task, spec->partitions, MAP_OUTPUT_MEMORY_BYTES);
    if (r == 0)
        r = merge_range(&c, s->items, s->count, combines(spec) ? COMPACT_COMPLETE : COMPACT_PASS,
                        &w);
    if (r == 0) r = run_writer_finish(&w, out);
    if (r < 0) run_writer_abort(&w);
    compactor_fini(&c);
    spills_fini(s);
    return r;
}

void spills_fini(struct spills *s)
{
    for (uint32_t i = 0; i < s->count; i++) run_destroy(&s->items[i].run);
    mem_free(s->items);
    *s = (struct spills){NULL, 0, 0};
}
