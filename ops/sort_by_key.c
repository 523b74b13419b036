/* sortByKey: partitions are ranges of keys, each sorted. The range bounds are computed
 * from a sample of the input when the sort is first needed. */
#include "ops/key_sample.h"
#include "ops/ops.h"

#include <assert.h>

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
    if (rdd == NULL) return rdd_fail_null("sortByKey");
    if (!rdd_is_pair(rdd)) return rdd_fail(rdd, GLINT_E_PLAN_TYPE, "sortByKey needs keys");
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
