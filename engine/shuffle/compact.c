/* A merge pushed into a writer, one key at a time. The key is copied once per group, since the
 * merge moves on under it; values are never held but in the combiner. */
#include "engine/shuffle/compact.h"

#include "engine/data/bytes.h"

#include <assert.h>

int compactor_init(struct compactor *c, struct glint_task *task, const struct shuffle_spec *spec,
                   void *state)
{
    *c = (struct compactor){.key = {NULL, 0, 0}};
    return combiner_init(&c->combiner, task, spec, state);
}

static int pass(struct compactor *c, struct run_writer *out, uint32_t partition)
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

/* Writes the key's value, or a piece of it. */
static int emit(struct compactor *c, bool complete, struct run_writer *out, uint32_t partition)
{
    struct glint_slice key = {c->key.data, c->key.size}, value;
    int r = combiner_take(&c->combiner, complete, &value);
    return r < 0 ? r : run_writer_add(out, partition, key, value);
}

static bool same_key(const struct compactor *c)
{
    struct glint_slice key = c->merge.key;
    return key.size == c->key.size && bytes_equal(key.data, c->key.data, key.size);
}

static int combine(struct compactor *c, bool complete, const bool *raw, struct run_writer *out,
                   uint32_t partition)
{
    int more, r;
    while ((more = merge_next(&c->merge)) > 0) {
        if (c->combiner.begun && !same_key(c)) {
            r = emit(c, complete, out, partition);
            if (r < 0) return r;
        }
        if (!c->combiner.begun) {
            c->key.size = 0;
            if (!buffer_append(&c->key, c->merge.key.data, c->merge.key.size))
                return error_no_memory(&out->task->error);
        }
        r = combiner_add_next(&c->combiner, &c->merge, raw[c->merge.input]);
        if (r == 0 && combiner_is_piece(&c->combiner)) r = emit(c, complete, out, partition);
        if (r < 0) return r;
    }
    return more == 0 && c->combiner.begun ? emit(c, complete, out, partition) : more;
}

int compactor_run(struct compactor *c, enum compact_mode mode, const struct run_slice *inputs,
                  const bool *raw, uint32_t count, struct run_writer *out, uint32_t partition)
{
    assert(count <= MERGE_FAN_IN_MAX && !c->combiner.begun);
    const struct fold *f = &c->combiner.fold;
    int r = merge_open(&c->merge, f->task, inputs, count, f->spec->wide.descending);
    if (r < 0) return r;
    if (mode == COMPACT_PASS) return pass(c, out, partition);
    return combine(c, mode == COMPACT_COMPLETE, raw, out, partition);
}

void compactor_fini(struct compactor *c)
{
    merge_close(&c->merge);
    combiner_fini(&c->combiner);
    buffer_fini(&c->key);
}

void compact_count(struct glint_task *task, const struct run *run)
{
    task->counters.values[COUNT_SPILLS]++;
    task->counters.values[COUNT_SPILL_BYTES] += (int64_t)run->source.bytes;
}
