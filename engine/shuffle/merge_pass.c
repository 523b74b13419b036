/* Writes the output of a merge to a run, one key at a time. The key is copied once per group, since
 * merge_next invalidates it; only the combiner keeps a value in memory. */
#include "engine/shuffle/merge_pass.h"

#include "engine/records/bytes.h"

#include <assert.h>

int merge_pass_init(struct merge_pass *c, struct glint_task *task, const struct shuffle_spec *spec,
                    void *state)
{
    *c = (struct merge_pass){.key = {NULL, 0, 0}};
    return combiner_init(&c->combiner, task, spec, state);
}

static int copy_records(struct merge_pass *c, struct run_writer *out, uint32_t partition)
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
static int emit_combined(struct merge_pass *c, bool complete, struct run_writer *out,
                         uint32_t partition)
{
    struct glint_slice key = {c->key.data, c->key.size}, value;
    int r = combiner_finish_value(&c->combiner, complete, &value);
    return r < 0 ? r : run_writer_add(out, partition, key, value);
}

static bool is_current_key(const struct merge_pass *c)
{
    struct glint_slice key = c->merge.key;
    return key.size == c->key.size && bytes_equal(key.data, c->key.data, key.size);
}

static int combine_records(struct merge_pass *c, bool complete, const bool *raw,
                           struct run_writer *out, uint32_t partition)
{
    int more, r;
    while ((more = merge_next(&c->merge)) > 0) {
        /* After a full chunk the combiner is not started: the same key then begins a new group. */
        if (c->combiner.started && !is_current_key(c)) {
            r = emit_combined(c, complete, out, partition);
            if (r < 0) return r;
        }
        if (!c->combiner.started) {
            c->key.size = 0;
            if (!buffer_append(&c->key, c->merge.key.data, c->merge.key.size))
                return error_no_memory(&out->task->error);
        }
        r = combiner_add_from_merge(&c->combiner, &c->merge, raw[c->merge.input]);
        if (r == 0 && combiner_chunk_is_full(&c->combiner))
            r = emit_combined(c, complete, out, partition);
        if (r < 0) return r;
    }
    /* At the end the last group is still in the combiner. */
    return more == 0 && c->combiner.started ? emit_combined(c, complete, out, partition) : more;
}

int merge_pass_run(struct merge_pass *c, enum merge_pass_mode mode, const struct run_slice *inputs,
                   const bool *raw, uint32_t count, struct run_writer *out, uint32_t partition)
{
    assert(count <= MERGE_FAN_IN_MAX && !c->combiner.started);
    const struct aggregator *f = &c->combiner.aggregator;
    int r = merge_open(&c->merge, f->task, inputs, count, f->spec->dependency.descending);
    if (r < 0) return r;
    if (mode == MERGE_PASS_COPY) return copy_records(c, out, partition);
    return combine_records(c, mode == MERGE_PASS_COMBINE_FINAL, raw, out, partition);
}

void merge_pass_fini(struct merge_pass *c)
{
    merge_close(&c->merge);
    combiner_fini(&c->combiner);
    buffer_fini(&c->key);
}

void merge_pass_count_spill(struct glint_task *task, const struct run *run)
{
    task->counters.values[COUNT_SPILLS]++;
    task->counters.values[COUNT_SPILL_BYTES] += (int64_t)run->source.bytes;
}
