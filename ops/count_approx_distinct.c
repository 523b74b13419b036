/* countApproxDistinct: estimates the number of different records with HyperLogLog: Flajolet et al.
 * 2007, with hashes of 64 bits as in HLL++ (Heule et al. 2013) and p = 14. Each of the 2^14
 * registers keeps the largest rank, the position of the first 1 bit, of the hashes that belong to
 * it. Tasks send their registers, and the largest of each counts, so the estimate does not depend
 * on partitions.
 *
 * The estimator is that of Ertl, "New cardinality estimation algorithms for HyperLogLog sketches"
 * (2017), algorithm 6, which needs no tables of empirical corrections and is unbiased for small
 * numbers, too. Its standard error is 1.04 / sqrt(2^14), which is 0.8 %. */
#include "engine/base/hash.h"
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "ops/ops.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define HLL_BITS      14u
#define HLL_REGISTERS (1u << HLL_BITS)
#define HLL_RANK_MAX  (64u - HLL_BITS + 1)
/* A task with few different records sends only the registers that are not 0, as 3 bytes each. */
#define SPARSE_BYTES 3u

struct hll_state {
    struct glint_task *task;
    uint8_t registers[HLL_REGISTERS];
};

static int hll_open(void *state, const struct op_open *o)
{
    ((struct hll_state *)state)->task = o->task;
    return 0;
}

static void hll_add(uint8_t *registers, uint64_t hash)
{
    /* The bit below the hash's remaining ones limits the rank. */
    const uint64_t rest = hash << HLL_BITS | (uint64_t)1 << (HLL_BITS - 1);
    const uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);
    uint8_t *place = &registers[hash >> (64 - HLL_BITS)];
    assert(rank <= HLL_RANK_MAX);
    if (rank > *place) *place = rank;
}

static enum flow hll_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    (void)out;
    struct hll_state *s = state;
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint8_t scratch[CODEC_NUMBER_BYTES];
        const struct glint_record r = glint_batch_record(batch, row);
        struct glint_slice bytes = codec_encode(batch->key.type, &r.key, scratch);
        uint64_t hash = 0;
        if (batch->key.type != GLINT_NONE) hash = hash_seeded(bytes.data, bytes.size, 0);
        bytes = codec_encode(batch->value.type, &r.value, scratch);
        hll_add(s->registers, hash_seeded(bytes.data, bytes.size, hash));
    }
    return FLOW_MORE;
}

static int hll_result(void *state, struct buffer *out)
{
    const struct hll_state *s = state;
    uint32_t used = 0;
    for (uint32_t i = 0; i < HLL_REGISTERS; i++) used += s->registers[i] > 0;
    bool ok = true;
    if (used * SPARSE_BYTES >= HLL_REGISTERS) {
        ok = buffer_append(out, s->registers, HLL_REGISTERS);
    } else {
        for (uint32_t i = 0; ok && i < HLL_REGISTERS; i++) {
            const uint8_t entry[SPARSE_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8), s->registers[i]};
            if (s->registers[i] > 0) ok = buffer_append(out, entry, SPARSE_BYTES);
        }
    }
    return ok ? 0 : error_no_memory(&s->task->error);
}

const struct op op_count_approx_distinct = {.name = "countApproxDistinct",
                                            .kind = OP_ACTION,
                                            .state_size = sizeof(struct hll_state),
                                            .open = hll_open,
                                            .push = hll_push,
                                            .result = hll_result};

/* ---- Driver side */

struct estimating {
    struct glint *g;
    uint8_t registers[HLL_REGISTERS];
};

static bool merge_register(struct estimating *e, uint32_t i, uint8_t rank)
{
    if (i >= HLL_REGISTERS || rank > HLL_RANK_MAX) return false;
    if (rank > e->registers[i]) e->registers[i] = rank;
    return true;
}

static int hll_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct estimating *e = arg;
    const bool dense = result.size == HLL_REGISTERS;
    bool sound = dense || (result.size < HLL_REGISTERS && result.size % SPARSE_BYTES == 0);
    for (uint64_t at = 0; sound && at < result.size; at += dense ? 1 : SPARSE_BYTES) {
        const uint8_t *entry = result.data + at;
        sound = dense ? merge_register(e, (uint32_t)at, entry[0])
                      : merge_register(e, entry[0] | (uint32_t)entry[1] << 8, entry[2]);
    }
    return sound ? 0 : set_malformed_result_error(e->g, &op_count_approx_distinct);
}

/* Ertl's sigma: what registers that are still 0 contribute. */
static double hll_sigma(double x)
{
    double power = 1, sum = x, before = -1;
    if (x == 1) return INFINITY;
    while (sum != before) {
        before = sum;
        x *= x;
        sum += x * power;
        power += power;
    }
    return sum;
}

/* Ertl's tau: what registers with the largest rank contribute. */
static double hll_tau(double x)
{
    double power = 1, sum = 1 - x, before = -1;
    if (x == 0 || x == 1) return 0;
    while (sum != before) {
        before = sum;
        x = sqrt(x);
        power /= 2;
        sum -= (1 - x) * (1 - x) * power;
    }
    return sum / 3;
}

static int64_t hll_estimate(const uint8_t *registers)
{
    uint32_t counts[HLL_RANK_MAX + 1] = {0};
    const double m = HLL_REGISTERS;
    for (uint32_t i = 0; i < HLL_REGISTERS; i++) counts[registers[i]]++;
    double sum = m * hll_tau(1 - counts[HLL_RANK_MAX] / m);
    for (uint32_t rank = HLL_RANK_MAX - 1; rank > 0; rank--) sum = (sum + counts[rank]) / 2;
    sum += m * hll_sigma(counts[0] / m);
    const double estimate = m * m / (2 * log(2) * sum);
    return estimate < 0x1p62 ? llround(estimate) : INT64_MAX; /* all ranks are the largest */
}

int glint_count_approx_distinct(struct glint_rdd *rdd, int64_t *out)
{
    *out = 0;
    if (rdd == NULL) return rdd_null_error("countApproxDistinct");
    struct estimating *e = mem_zalloc(sizeof *e);
    if (e == NULL) return error_no_memory(&rdd->g->error);
    e->g = rdd->g;
    const struct action a = {
        .op = &op_count_approx_distinct, .rdd = rdd, .on_result = hll_on_result, .arg = e};
    const int r = run_action_of_rdd(&a);
    if (r == 0) *out = hll_estimate(e->registers);
    mem_free(e);
    return r;
}
