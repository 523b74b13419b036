/* The output of a merge is written one key at a time. The key is copied once per group, since
 * merge_next invalidates it; only the combiner keeps a value in memory. */
#include "engine/shuffle/merge_inputs.h"

#include "engine/records/bytes.h"

#include <assert.h>

/* ---- Inputs */

void count_spill(struct glint_task *task, const struct run *run)
{
    task->counters.values[COUNT_SPILLS]++;
    task->counters.values[COUNT_SPILL_BYTES] += (int64_t)run->source.bytes;
}

static bool reserve_merge_input(struct merge_inputs *l)
{
    return array_reserve(&l->items, &l->capacity, l->count + UINT64_C(1), sizeof *l->items);
}

/* Finishes `w` as a new run, *out. On an error `w` is aborted and the code returned. */
static int finish_run_on_heap(struct run_writer *w, struct run **out)
{
    struct glint_task *task = w->task;
    *out = mem_zalloc(sizeof **out);
    int r = *out == NULL ? error_no_memory(&task->error) : run_writer_finish(w, *out);
    if (r == 0) {
        count_spill(task, *out);
        return 0;
    }
    run_writer_abort(w);
    mem_free(*out);
    return r;
}

int merge_inputs_add_run(struct merge_inputs *l, struct run_writer *w, bool raw)
{
    struct merge_input input = {.raw = raw};
    /* Reserve first: after finish_run_on_heap a failure would leave a run without an owner. */
    if (!reserve_merge_input(l)) {
        int r = error_no_memory(&w->task->error);
        run_writer_abort(w);
        return r;
    }
    int r = finish_run_on_heap(w, &input.run);
    if (r == 0) l->items[l->count++] = input;
    return r;
}

bool merge_inputs_add_slice(struct merge_inputs *l, struct run_slice slice, bool raw)
{
    if (!reserve_merge_input(l)) return false;
    l->items[l->count++] = (struct merge_input){.slice = slice, .raw = raw};
    return true;
}

uint32_t merge_inputs_slices(const struct merge_input *inputs, uint32_t count, uint32_t partition,
                             struct run_slice *out, bool *out_raw)
{
    uint32_t n = 0;
    assert(count <= MERGE_FAN_IN_MAX);
    for (uint32_t i = 0; i < count; i++) {
        out[n] = inputs[i].run != NULL ? run_slice(inputs[i].run, partition) : inputs[i].slice;
        if (out[n].part.records == 0) continue;
        if (out_raw != NULL) out_raw[n] = inputs[i].raw;
        n++;
    }
    return n;
}

static void destroy_input(struct merge_input *input)
{
    if (input->run != NULL) run_destroy(input->run);
    mem_free(input->run);
    input->run = NULL;
}

void merge_inputs_fini(struct merge_inputs *l)
{
    for (uint32_t i = 0; i < l->count; i++) destroy_input(&l->items[i]);
    mem_free(l->items);
    *l = (struct merge_inputs){.items = NULL};
}

/* ---- One merge */

int merge_pass_init(struct merge_pass *c, struct glint_task *task, const struct shuffle_spec *spec,
                    void *state, bool combines)
{
    *c = (struct merge_pass){.combines = combines};
    return combiner_init(&c->combiner, task, spec, state);
}

static int copy_merged_records(struct merge_pass *c, struct run_writer *out, uint32_t partition)
{
    int more;
    while ((more = merge_next(&c->merge)) > 0) {
        struct glint_slice value;
        int r = merge_value(&c->merge, &value);
        if (r == 0) r = run_writer_add(out, partition, c->merge.key, value);
        if (r < 0) return r;
    }
    return more;
}

/* Writes the key's value, or a chunk of it. */
static int write_combined_value(struct merge_pass *c, bool complete, struct run_writer *out,
                                uint32_t partition)
{
    struct glint_slice key = {c->key.data, c->key.size}, value;
    int r = combiner_finish_value(&c->combiner, complete, &value);
    return r < 0 ? r : run_writer_add(out, partition, key, value);
}

static int combine_merged_records(struct merge_pass *c, bool complete, const bool *raw,
                                  struct run_writer *out, uint32_t partition)
{
    int more, r;
    while ((more = merge_next(&c->merge)) > 0) {
        /* After a full chunk the combiner is not started: the same key then begins a new group. */
        if (c->combiner.started && !slices_equal(c->merge.key, buffer_slice(&c->key))) {
            r = write_combined_value(c, complete, out, partition);
            if (r < 0) return r;
        }
        if (!c->combiner.started) {
            c->key.size = 0;
            if (!buffer_append(&c->key, c->merge.key.data, c->merge.key.size))
                return error_no_memory(&out->task->error);
        }
        r = combiner_add_from_merge(&c->combiner, &c->merge, raw[c->merge.input]);
        if (r == 0 && combiner_chunk_is_full(&c->combiner))
            r = write_combined_value(c, complete, out, partition);
        if (r < 0) return r;
    }
    /* At the end the last group is still in the combiner. */
    return more == 0 && c->combiner.started ? write_combined_value(c, complete, out, partition)
                                            : more;
}

/* ---- Ranges of inputs */

enum merge_mode {
    MERGE_COPY,    /* records are copied, not combined */
    MERGE_COMBINE, /* the values of a key become one accumulator */
    MERGE_FINAL,   /* the same, plus the zero of COMBINE_FOLD */
};

/* Merges `count` adjacent inputs, partition by partition. */
static int merge_adjacent_inputs(struct merge_pass *c, enum merge_mode mode,
                                 const struct merge_input *first, uint32_t count,
                                 struct run_writer *out)
{
    const bool descending = c->combiner.aggregator.spec->dependency.descending;
    for (uint32_t p = 0; p < out->partitions; p++) {
        struct run_slice slices[MERGE_FAN_IN_MAX];
        bool raw[MERGE_FAN_IN_MAX];
        const uint32_t n = merge_inputs_slices(first, count, p, slices, raw);
        if (n == 0) continue;
        assert(!c->combiner.started);
        int r = merge_open(&c->merge, out->task, slices, n, descending);
        if (r == 0)
            r = mode == MERGE_COPY ? copy_merged_records(c, out, p)
                                   : combine_merged_records(c, mode == MERGE_FINAL, raw, out, p);
        if (r < 0) return r;
    }
    return 0;
}

/* Replaces each range of MERGE_FAN_IN_MAX inputs with one merged input, in place and in order.
 * Frees the runs that it has read as it goes, to limit the disk space to one range more than the
 * inputs. In a sequential shuffle only the first range may combine, since the values of later
 * ranges must be merged one by one into the result of the earlier ones. */
static int merge_each_range_of_inputs(struct merge_pass *c, struct merge_inputs *l,
                                      uint32_t partitions, uint64_t memory_max)
{
    const struct aggregator *f = &c->combiner.aggregator;
    uint32_t to = 0;
    for (uint32_t i = 0, n; i < l->count; i += n, to++) {
        struct merge_input *first = &l->items[i], merged = *first;
        n = l->count - i < MERGE_FAN_IN_MAX ? l->count - i : MERGE_FAN_IN_MAX;
        if (n > 1) {
            const bool combine = c->combines && (i == 0 || !aggregator_is_sequential(f->spec));
            struct run_writer w;
            int r = run_writer_init(&w, f->task, partitions, memory_max);
            if (r < 0) return r;
            r = merge_adjacent_inputs(c, combine ? MERGE_COMBINE : MERGE_COPY, first, n, &w);
            if (r < 0) run_writer_abort(&w);
            if (r == 0) r = finish_run_on_heap(&w, &merged.run);
            if (r < 0) return r;
            merged.raw = merged.raw && !combine;
        } else {
            first->run = NULL; /* one input is left over: move it, do not copy its records */
        }
        for (uint32_t k = 0; k < n; k++) destroy_input(&first[k]);
        l->items[to] = merged;
    }
    l->count = to;
    return 0;
}

int merge_pass_limit_inputs(struct merge_pass *c, struct merge_inputs *l, uint32_t partitions,
                            uint64_t memory_max)
{
    int r = 0;
    while (r == 0 && l->count > MERGE_FAN_IN_MAX)
        r = merge_each_range_of_inputs(c, l, partitions, memory_max);
    return r;
}

int merge_pass_write(struct merge_pass *c, const struct merge_inputs *l, struct run_writer *out)
{
    return merge_adjacent_inputs(c, c->combines ? MERGE_FINAL : MERGE_COPY, l->items, l->count,
                                 out);
}

void merge_pass_fini(struct merge_pass *c)
{
    merge_close(&c->merge);
    combiner_fini(&c->combiner);
    buffer_fini(&c->key);
}
