/* sortByKey: partitions are ranges of keys, each sorted. The range bounds are computed
 * from a sample of the input when the sort is first needed. */
#include "engine/base/hash.h"
#include "engine/batch.h"
#include "engine/plan/context.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "engine/records/sort.h"
#include "ops/ops.h"
#include "ops/record_pool.h"

#include <assert.h>

/* ---- A sample of keys. A task uses reservoir sampling: record i replaces entry r(i) of the
 * sample, where r(i) is a random number in [0, i], if r(i) is below the sample's size. The random
 * numbers are hashes of (partition, i), so a second attempt, or another cluster, draws the same
 * sample. */

/* Longer keys are truncated: a bound need not be an existing key. */
#define SAMPLE_KEY_BYTES 1024u
#define SAMPLE_KEYS_MAX  8192u /* per partition */

static_assert(SAMPLE_KEYS_MAX * SAMPLE_KEY_BYTES <= SLOT_MEMORY_BYTES_MIN / 2,
              "a task's sample fits into the smallest slot");

/* The sample of all partitions, in the driver. Zero it before use; free with key_sample_fini. */
struct key_sample {
    struct record_pool keys; /* encoded keys; values are empty */
    double *weights;         /* number of records that each key represents */
    uint64_t weights_capacity;
};

/* Fixed, so that a sort has the same partitions in every run. */
#define SAMPLE_SEED UINT64_C(0x676c696e74)

static const struct glint_schema sample_schema = {GLINT_BYTES, GLINT_NONE};

struct sample_state {
    struct glint_task *task;
    enum glint_type type;
    uint32_t each;
    uint64_t seed, index;
    struct record_pool keys;
};

static int key_sample_open(void *state, const struct op_open *o)
{
    struct sample_state *s = state;
    s->task = o->task;
    s->type = o->in.key;
    s->seed = hash_mix(SAMPLE_SEED ^ hash_mix(o->task->partition));
    struct unpacker u = unpack_begin(o->params);
    s->each = (uint32_t)unpack_u64(&u, SAMPLE_KEYS_MAX);
    return op_check_params(o, unpack_is_complete(&u) && s->each > 0, "a sample's size");
}

/* A random number in [0, n). */
static uint64_t sample_random_below(const struct sample_state *s, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)hash_mix(s->seed ^ s->index) * n) >> 64);
}

static enum flow key_sample_push(void *state, const struct glint_batch *batch,
                                 struct glint_emitter *out)
{
    (void)out;
    struct sample_state *s = state;
    for (uint32_t row = 0; row < batch->rows; row++, s->index++) {
        /* The first `each` records fill the reservoir. */
        uint64_t place = s->index < s->each ? s->index : sample_random_below(s, s->index + 1);
        if (place >= s->each) continue;
        assert(place <= s->keys.count && s->keys.count <= s->each);
        uint8_t scratch[CODEC_NUMBER_BYTES];
        union glint_value v = glint_column_value(&batch->key, row);
        struct glint_slice key = codec_encode(s->type, &v, scratch);
        /* A prefix is good enough for a bound, and limits the sample's memory. */
        if (key.size > SAMPLE_KEY_BYTES) key.size = SAMPLE_KEY_BYTES;
        if (record_pool_set(&s->keys, place, key, (struct glint_slice){NULL, 0})) continue;
        error_no_memory(&s->task->error);
        return FLOW_FAIL;
    }
    return FLOW_MORE;
}

/* The result: the number of records in the partition, then the keys as rows. */
static int key_sample_result(void *state, struct buffer *out)
{
    struct sample_state *s = state;
    uint8_t varint[10];
    bool ok = buffer_append(out, varint, codec_put_varint(varint, s->index));
    for (uint64_t i = 0; ok && i < s->keys.count; i++) {
        struct glint_slice key = record_pool_key(&s->keys, i);
        ok = result_rows_append_bytes(out, sample_schema, key, key);
    }
    return ok ? 0 : error_no_memory(&s->task->error);
}

static void key_sample_close(void *state)
{
    record_pool_fini(&((struct sample_state *)state)->keys);
}

const struct op op_key_sample = {.name = "sortByKey.sample",
                                 .kind = OP_ACTION,
                                 .state_size = sizeof(struct sample_state),
                                 .open = key_sample_open,
                                 .push = key_sample_push,
                                 .close = key_sample_close,
                                 .result = key_sample_result};

/* ---- Driver side */

struct sampling {
    struct glint *g;
    struct key_sample *out;
};

static int key_sample_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct sampling *a = arg;
    struct key_sample *s = a->out;
    uint64_t records, first = s->keys.count;
    struct glint_record r;
    uint64_t at = codec_get_varint(result.data, result.data + result.size, &records);
    if (at == 0) return set_malformed_result_error(a->g, &op_key_sample);
    while (result_rows_next(result, &at, sample_schema, &r))
        if (!array_reserve(&s->weights, &s->weights_capacity, s->keys.count + 1,
                           sizeof *s->weights) ||
            !record_pool_set(&s->keys, s->keys.count, r.key.bytes, (struct glint_slice){NULL, 0}))
            return error_no_memory(&a->g->error);
    uint64_t kept = s->keys.count - first;
    if (at != result.size || kept > records)
        return set_malformed_result_error(a->g, &op_key_sample);
    /* A key represents records / kept records of its partition, so that large partitions count
     * more. */
    for (uint64_t i = first; i < s->keys.count; i++) s->weights[i] = (double)records / (double)kept;
    return 0;
}

/* Runs an internal action over `rdd` that samples up to `each` keys per partition. Every record has
 * the same probability; the choice depends only on (partition, index). Returns 0 or a code with the
 * context's error set. */
static int key_sample_collect(struct glint_rdd *rdd, uint32_t each, struct key_sample *out)
{
    struct sampling s = {rdd->g, out};
    struct packer p = {.failed = false};
    assert(each > 0 && each <= SAMPLE_KEYS_MAX);
    pack_array(&p, 1);
    pack_u64(&p, each);
    struct action a = {.op = &op_key_sample,
                       .rdd = rdd,
                       .internal = true,
                       .on_result = key_sample_on_result,
                       .arg = &s};
    int r = run_packed_action(&a, &p);
    return r;
}

static struct glint_slice sampled_key_at(const void *arg, uint64_t i)
{
    return record_pool_key(arg, i);
}

/* Chooses a bound where the cumulative weight reaches the next multiple of a partition's share.
 * Skips keys equal to the previous bound, as in Spark. */
static uint32_t choose_weighted_bounds(const struct key_sample *s, const struct sort_entry *sorted,
                                       uint32_t partitions, struct glint_slice *bounds)
{
    double all = 0, so_far = 0;
    for (uint64_t i = 0; i < s->keys.count; i++) all += s->weights[i];
    double part = all / partitions, target = part;
    uint32_t count = 0;
    for (uint64_t i = 0; i < s->keys.count && count + 1 < partitions; i++) {
        uint64_t at = sort_entry_reference(&sorted[i]);
        struct glint_slice key = record_pool_key(&s->keys, at);
        so_far += s->weights[at];
        if (so_far < target || (count > 0 && codec_compare(key, bounds[count - 1]) <= 0)) continue;
        bounds[count++] = key;
        target += part;
    }
    return count;
}

/* Computes at most `partitions` - 1 bounds, ascending and distinct, that cut the sample into parts
 * of equal weight. They are freed with `rdd`. Returns 0 or a code with the context's error set. */
static int key_sample_choose_bounds(struct glint_rdd *rdd, const struct key_sample *s,
                                    uint32_t partitions, const struct glint_slice **out_bounds,
                                    uint32_t *out_count)
{
    uint64_t n = s->keys.count;
    assert(partitions > 0);
    struct sort_entry *entries = mem_alloc(sizeof *entries * 2 * n);
    struct glint_slice *bounds = rdd_alloc(rdd, sizeof *bounds * partitions);
    if (entries == NULL || bounds == NULL) {
        mem_free(entries);
        return error_no_memory(&rdd->g->error);
    }
    for (uint64_t i = 0; i < n; i++)
        entries[i] = (struct sort_entry){sort_key_prefix(record_pool_key(&s->keys, i), 0, false),
                                         sort_pack_reference(0, i)};
    const struct sort_keys keys = {.get = sampled_key_at, .arg = &s->keys};
    sort_entries(entries, entries + n, n, false, &keys);
    uint32_t count = choose_weighted_bounds(s, entries, partitions, bounds);
    mem_free(entries);
    for (uint32_t i = 0; i < count; i++) {
        bounds[i] = rdd_copy_slice(rdd, bounds[i]);
        if (bounds[i].data == NULL) return rdd->g->error.code;
    }
    *out_bounds = bounds;
    *out_count = count;
    return 0;
}

/* Frees the sample. */
static void key_sample_fini(struct key_sample *s)
{
    record_pool_fini(&s->keys);
    mem_free(s->weights);
}

/* As in Spark: a sample of 20 keys per output partition, a million at most; three times as many are
 * drawn, because the input's partitions may differ in size. */
#define SAMPLE_PER_PARTITION 20u
#define SAMPLE_KEYS          1000000u
#define SAMPLE_OVERSIZE      3u

static uint32_t sample_keys_per_map(uint32_t partitions, uint32_t maps)
{
    uint64_t all = (uint64_t)partitions * SAMPLE_PER_PARTITION;
    if (all > SAMPLE_KEYS) all = SAMPLE_KEYS;
    uint64_t each = (all * SAMPLE_OVERSIZE + maps - 1) / maps;
    return each < SAMPLE_KEYS_MAX ? (uint32_t)each : SAMPLE_KEYS_MAX;
}

static int prepare_sort_bounds(struct glint_rdd *rdd)
{
    struct glint_rdd *in = rdd->parents[0];
    assert(rdd->counted && in->counted && rdd->dependency.partitioner == PARTITION_RANGE);
    /* One range needs no bounds, so the input is not read twice. */
    if (rdd->partitions <= 1 || in->partitions == 0) return 0;
    struct key_sample s = {.weights = NULL};
    int r = key_sample_collect(rdd->sample != NULL ? rdd->sample : in,
                               sample_keys_per_map(rdd->partitions, in->partitions), &s);
    if (r == 0)
        r = key_sample_choose_bounds(rdd, &s, rdd->partitions, &rdd->dependency.bounds,
                                     &rdd->dependency.bound_count);
    key_sample_fini(&s);
    return r;
}

struct glint_rdd *glint_sort_by_key(struct glint_rdd *rdd, bool ascending)
{
    if (!rdd_has_keys(rdd, "sortByKey")) return NULL;
    struct rdd_spec spec = {
        .op = &op_sort_by_key,
        .parents = {rdd},
        .schema = rdd->schema,
        .key_partitioned = true,
        .dependency = {.partitioner = PARTITION_RANGE, .descending = !ascending}};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    if (out != NULL) out->prepare = prepare_sort_bounds;
    return out;
}

struct glint_rdd *glint_with_sample(struct glint_rdd *sorted, struct glint_rdd *keys)
{
    if (sorted == NULL || keys == NULL) return rdd_fail_null("withSample");
    if (rdd_check_usable(sorted, "withSample") != 0 || rdd_check_usable(keys, "withSample") != 0)
        return NULL;
    if (sorted->op != &op_sort_by_key || sorted->sample != NULL || sorted->counted ||
        keys->schema.key != sorted->schema.key)
        return rdd_fail(sorted, GLINT_E_PLAN_TYPE,
                        "withSample needs a sortByKey without a sample, and its keys");
    sorted->sample = rdd_ref(keys);
    return sorted;
}

const struct op op_sort_by_key = {.name = "sortByKey", .kind = OP_WIDE};
