/* See spills.h. Adjacent spills are merged until at most MERGE_FAN_IN_MAX are left for the last
 * merge. If the spec is sequential, only the first range may combine: the values of a later range
 * must be merged one by one into the result of all earlier ones. */
#include "engine/shuffle/spills.h"

#include <assert.h>

int spills_add(struct spills *s, struct run_writer *w, bool raw)
{
    /* Reserve first: after run_writer_finish a failure would leave a run without an owner. */
    struct glint_task *task = w->task;
    int r = 0;
    if (!array_reserve(&s->items, &s->capacity, s->count + 1, sizeof *s->items))
        r = error_no_memory(&task->error);
    struct run run = {.path = NULL};
    if (r == 0) r = run_writer_finish(w, &run);
    if (r < 0) {
        run_writer_abort(w);
        return r;
    }
    s->items[s->count++] = (struct spilled_run){run, raw};
    merge_pass_count_spill(task, &run);
    return 0;
}

/* Merges `count` adjacent spills, starting at `first`, partition by partition. */
static int merge_spill_range(struct merge_pass *c, const struct spilled_run *first, uint32_t count,
                             enum merge_pass_mode mode, struct run_writer *out)
{
    assert(count <= MERGE_FAN_IN_MAX);
    for (uint32_t p = 0; p < out->partitions; p++) {
        struct run_slice slices[MERGE_FAN_IN_MAX];
        bool raw[MERGE_FAN_IN_MAX];
        uint32_t n = 0;
        for (uint32_t i = 0; i < count; i++) {
            slices[n] = run_slice(&first[i].run, p);
            if (slices[n].part.records == 0) continue;
            raw[n++] = first[i].raw;
        }
        if (n == 0) continue;
        int r = merge_pass_run(c, mode, slices, raw, n, out, p);
        if (r < 0) return r;
    }
    return 0;
}

/* Replaces each range of MERGE_FAN_IN_MAX spills with one merged run. On an error `s` contains the
 * runs merged so far, and the caller frees them. */
static int merge_all_ranges(struct spills *s, struct merge_pass *c, const struct shuffle_spec *spec,
                            bool combines)
{
    struct glint_task *task = c->combiner.aggregator.task;
    struct spills fewer = {NULL, 0, 0};
    int r = 0;
    for (uint32_t i = 0; i < s->count && r == 0; i += MERGE_FAN_IN_MAX) {
        uint32_t n = s->count - i < MERGE_FAN_IN_MAX ? s->count - i : MERGE_FAN_IN_MAX;
        bool combine = combines && (i == 0 || !aggregator_is_sequential(spec));
        struct run_writer w;
        /* Intermediate runs are always files: the shared run memory is for the outputs. */
        r = run_writer_init(&w, task, spec->partitions, 0);
        if (r < 0) break;
        r = merge_spill_range(c, s->items + i, n, combine ? MERGE_PASS_COMBINE : MERGE_PASS_COPY,
                              &w);
        if (r == 0)
            r = spills_add(&fewer, &w, !combine);
        else
            run_writer_abort(&w);
        /* Now, not in spills_fini: limits the disk space to one range more than the input. */
        for (uint32_t k = i; k < i + n; k++) run_destroy(&s->items[k].run);
    }
    spills_fini(s);
    *s = fewer;
    return r;
}

int spills_merge(struct spills *s, struct glint_task *task, const struct shuffle_spec *spec,
                 void *state, bool combines, struct run *out)
{
    struct merge_pass c;
    struct run_writer w = {.task = NULL};
    int r = merge_pass_init(&c, task, spec, state);
    while (r == 0 && s->count > MERGE_FAN_IN_MAX) r = merge_all_ranges(s, &c, spec, combines);
    if (r == 0) r = run_writer_init(&w, task, spec->partitions, MAP_OUTPUT_MEMORY_BYTES);
    if (r == 0)
        r = merge_spill_range(&c, s->items, s->count,
                              combines ? MERGE_PASS_COMBINE_FINAL : MERGE_PASS_COPY, &w);
    if (r == 0) r = run_writer_finish(&w, out);
    if (r < 0) run_writer_abort(&w);
    merge_pass_fini(&c);
    spills_fini(s);
    return r;
}

void spills_fini(struct spills *s)
{
    for (uint32_t i = 0; i < s->count; i++) run_destroy(&s->items[i].run);
    mem_free(s->items);
    *s = (struct spills){NULL, 0, 0};
}
