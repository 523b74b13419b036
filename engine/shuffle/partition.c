/* Which reduce partition a record goes to, and its sort order there. Both determine the order of
 * the output, so they depend only on the plan and the record: a retry of a task on another executor
 * must give the same bytes. */
#include "engine/base/hash.h"
#include "engine/records/codec.h"
#include "engine/records/task.h"
#include "engine/shuffle/shuffle.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

/* As sort_key_prefix, but reads nothing after the key. */
static uint64_t bound_key_prefix(struct glint_slice key)
{
    uint64_t bits = 0;
    if (key.size >= sizeof bits)
        memcpy(&bits, key.data, sizeof bits);
    else if (key.size > 0)
        memcpy(&bits, key.data, key.size);
    return be64toh(bits);
}

int shuffle_spec_prepare(struct shuffle_spec *spec, struct glint_task *task)
{
    const struct shuffle_dependency *d = &spec->dependency;
    if (d->partitioner != PARTITION_RANGE || d->bound_count == 0) return 0;
    uint64_t *prefixes = task_alloc(task, d->bound_count * sizeof *prefixes);
    if (prefixes == NULL) return task->error.code;
    for (uint32_t i = 0; i < d->bound_count; i++) prefixes[i] = bound_key_prefix(d->bounds[i]);
    spec->bound_prefixes = prefixes;
    return 0;
}

/* Returns how many bounds are less than `key`, by binary search: without branches over the
 * prefixes, which seldom are equal, then among the bounds of the same prefix. */
static uint32_t count_bounds_below(const struct shuffle_spec *spec, struct glint_slice key)
{
    const struct shuffle_dependency *d = &spec->dependency;
    const uint64_t *prefixes = spec->bound_prefixes, prefix = bound_key_prefix(key);
    uint32_t low = 0, left = d->bound_count;
    while (left > 0) {
        const uint32_t half = (left + 1) / 2;
        /* All bits or none: compilers make a branch of half or 0, which is not predictable. */
        low += half & (0 - (uint32_t)(prefixes[low + half - 1] < prefix));
        left -= half;
    }
    uint32_t high = d->bound_count;
    if (low == high || prefixes[low] != prefix) return low;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (prefixes[middle] == prefix && codec_compare(d->bounds[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Not inlined: its local variables on the stack would slow down the other partitioners. */
__attribute__((noinline)) static uint32_t call_partitioner(const struct shuffle_spec *spec,
                                                           struct glint_slice key)
{
    struct function_call *c = spec->partitioner;
    assert(c != NULL && c->opened);
    struct glint_task *task = c->task;
    union glint_value value = {.i64 = 0};
    if (task->error.code != GLINT_OK) return 0; /* it may have failed for an earlier record */
    bool fits = codec_decode(spec->key, key, &value);
    assert(fits);
    const struct glint_function *function = task_set_function(task, c->fn);
    const struct shuffle_spec *shuffle = task->shuffle;
    task->shuffle = NULL; /* glint_output_partition inside the function would call it again */
    int64_t partition = c->fn->partition(task, c->state, &value, spec->partitions);
    task->shuffle = shuffle;
    task_set_function(task, function);
    if (partition >= 0 && partition < spec->partitions) return (uint32_t)partition;
    error_set(&task->error, GLINT_E_FUNCTION_FAILED, "return a number from 0 to partitions - 1",
              "%s returned partition %lld of %u", c->fn->name, (long long)partition,
              spec->partitions);
    return 0;
}

uint32_t shuffle_partition_of(const struct shuffle_spec *spec, struct glint_slice key,
                              uint32_t map_partition, uint64_t index)
{
    switch (spec->dependency.partitioner) {
    case PARTITION_HASH:
        if (spec->partitions == 1) return 0;
        return hash_to_range(hash_partition(key.data, key.size), spec->partitions);
    case PARTITION_RANGE: {
        uint32_t below = count_bounds_below(spec, key);
        assert(spec->dependency.bound_count < spec->partitions);
        return spec->dependency.descending ? spec->dependency.bound_count - below : below;
    }
    case PARTITION_SPREAD:
        /* Not round robin from 0: the first records of all map tasks would go to partition 0. */
        return hash_to_range(hash_mix(hash_mix(map_partition) ^ index), spec->partitions);
    case PARTITION_FUNCTION: break;
    }
    return call_partitioner(spec, key);
}

int shuffle_compare_positions(const struct shuffle_spec *spec, struct shuffle_position a,
                              struct shuffle_position b)
{
    if (a.partition != b.partition) return a.partition < b.partition ? -1 : 1;
    int c = codec_compare(a.key, b.key);
    return spec->dependency.descending ? -c : c;
}

uint32_t glint_output_partition(const struct glint_task *task, enum glint_type type,
                                const union glint_value *key)
{
    const struct shuffle_spec *spec = task->shuffle;
    uint8_t number[CODEC_NUMBER_BYTES];
    if (spec == NULL || spec->key != type) return 0;
    return shuffle_partition_of(spec, codec_encode(type, key, number), task->partition, 0);
}
