/* sampleExactly: a number of records, each set of them equally probable, in their order.
 *
 * Every record has a random number, which depends only on the seed and on its index in the RDD, and
 * no two have the same: the records with the smallest ones are the sample. An internal action
 * counts the partitions when an action first needs the sample; then the driver computes the numbers
 * and finds the largest of the sample's. So tasks compare numbers, and keep no records. */
#include "engine/base/endian.h"
#include "engine/batch.h"
#include "engine/records/pack.h"
#include "ops/ops.h"
#include "ops/random_rows.h"

#include <assert.h>
#include <stdlib.h>

#define INDEX_BYTES 8
#define BUCKET_BITS 16 /* the highest bits of a number are its bucket */
#define BUCKETS     (1u << BUCKET_BITS)

struct exact_state {
    uint64_t next, bound;
    uint16_t rows[BATCH_ROWS_MAX];
    struct selection selection;
};

static uint32_t random_number_bucket(uint64_t number)
{
    return (uint32_t)(number >> (64 - BUCKET_BITS));
}

/* The random number of a record is hash_mix of its state; the next one's is RANDOM_ROW_STEP more.
 */
static uint64_t random_state_of_record(uint64_t seed, uint64_t index)
{
    return random_rows_begin(seed, 0) + index * RANDOM_ROW_STEP;
}

static int sample_exactly_open(void *state, const struct op_open *o)
{
    struct exact_state *s = state;
    const uint64_t at = (uint64_t)INDEX_BYTES * o->task->partition;
    struct unpacker u = unpack_begin(o->params);
    const uint64_t seed = unpack_u64(&u, UINT64_MAX);
    s->bound = unpack_u64(&u, UINT64_MAX);
    const struct glint_slice firsts = unpack_bytes(&u);
    if (!unpack_is_complete(&u) || firsts.size < at + INDEX_BYTES)
        return error_set(&o->task->error, GLINT_E_PROTOCOL, NULL,
                         "cannot decode the parameters of a sample");
    s->next = random_state_of_record(seed, get_le64(firsts.data + at));
    return 0;
}

static enum flow sample_exactly_push(void *state, const struct glint_batch *batch,
                                     struct glint_emitter *out)
{
    struct exact_state *s = state;
    uint32_t count = 0;
    assert(batch->rows <= BATCH_ROWS_MAX);
    for (uint32_t row = 0; row < batch->rows; row++, s->next += RANDOM_ROW_STEP) {
        s->rows[count] = (uint16_t)row;
        count += hash_mix(s->next) <= s->bound;
    }
    return count > 0 ? selection_emit(&s->selection, batch, s->rows, count, out) : out->flow;
}

const struct op op_sample_exactly = {.name = "sampleExactly",
                                     .kind = OP_NARROW,
                                     .state_size = sizeof(struct exact_state),
                                     .open = sample_exactly_open,
                                     .push = sample_exactly_push};

/* ---- Driver side */

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sets *out to the number of rank `rank`, from 1, of the bucket. Returns false when out of memory.
 */
static bool find_number_of_rank(uint64_t seed, uint64_t total, uint32_t bucket, uint64_t size,
                                uint64_t rank, uint64_t *out)
{
    uint64_t *numbers = mem_alloc(size * sizeof *numbers), found = 0,
             state = random_state_of_record(seed, 0);
    assert(rank > 0 && rank <= size);
    if (numbers == NULL) return false;
    for (uint64_t i = 0; i < total; i++, state += RANDOM_ROW_STEP) {
        const uint64_t number = hash_mix(state);
        if (random_number_bucket(number) == bucket) numbers[found++] = number;
    }
    assert(found == size);
    qsort(numbers, size, sizeof *numbers, compare_numbers);
    *out = numbers[rank - 1];
    mem_free(numbers);
    return true;
}

/* Sets *out to the largest number of a sample of `count` of `total` records. Returns false when out
 * of memory. */
static bool find_sample_bound(uint64_t seed, uint64_t total, uint64_t count, uint64_t *out)
{
    *out = UINT64_MAX;
    if (count >= total) return true;
    uint64_t *sizes = mem_zalloc(BUCKETS * sizeof *sizes), state = random_state_of_record(seed, 0);
    if (sizes == NULL) return false;
    for (uint64_t i = 0; i < total; i++, state += RANDOM_ROW_STEP)
        sizes[random_number_bucket(hash_mix(state))]++;
    uint32_t bucket = 0;
    for (; count > sizes[bucket]; bucket++) count -= sizes[bucket];
    const bool ok = find_number_of_rank(seed, total, bucket, sizes[bucket], count, out);
    mem_free(sizes);
    return ok;
}

/* What the job asked for, until the sample is prepared. */
struct exact_request {
    uint64_t seed, count;
};

static int sample_exactly_prepare(struct glint_rdd *rdd)
{
    struct glint *g = rdd->g;
    struct exact_request request;
    const uint64_t size = INDEX_BYTES * (uint64_t)rdd->partitions;
    uint8_t *firsts = mem_zalloc(size + INDEX_BYTES);
    struct packer p = {.failed = false};
    uint64_t bound = 0;
    assert(rdd->params.size == sizeof request);
    memcpy(&request, rdd->params.data, sizeof request);
    if (firsts == NULL) return error_no_memory(&g->error);
    int r = first_indexes_count(rdd->parents[0], rdd->partitions, firsts);
    if (r == 0 && !find_sample_bound(request.seed, get_le64(firsts + size), request.count, &bound))
        r = error_no_memory(&g->error);
    if (r == 0) {
        pack_array(&p, 3);
        pack_u64(&p, request.seed);
        pack_u64(&p, bound);
        pack_bytes(&p, (struct glint_slice){firsts, size});
        const struct glint_slice params =
            rdd_copy_slice(rdd, (struct glint_slice){p.out.data, p.out.size});
        r = p.failed ? error_no_memory(&g->error) : g->error.code;
        if (r == 0) rdd->params = params; /* else there may be another try */
    }
    packer_fini(&p);
    mem_free(firsts);
    return r;
}

struct glint_rdd *glint_sample_exactly(struct glint_rdd *rdd, uint64_t count, uint64_t seed)
{
    if (rdd == NULL) return rdd_fail_null("sampleExactly");
    if (count == 0)
        return rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT, "sampleExactly: a sample of no records");
    const struct exact_request request = {seed, count};
    const struct rdd_spec spec = {.op = &op_sample_exactly,
                                  .parents = {rdd},
                                  .params = {(const uint8_t *)&request, sizeof request},
                                  .schema = rdd->schema,
                                  .grouped = rdd->grouped,
                                  .key_partitioned = rdd->key_partitioned};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    if (out != NULL) out->prepare = sample_exactly_prepare;
    return out;
}
