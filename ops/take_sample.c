/* takeSample: a number of records, each equally probable, in random order.
 *
 * Every record has a random number (ops/random_rows.h). A task keeps the `count` records with the
 * smallest numbers in a heap whose root is the largest, so one pass suffices, and most records cost
 * one comparison. The driver merges the tasks' records in the same way; ordered by their numbers
 * they are the start of a random permutation of all N records.
 *
 * With replacement, each of `count` draws is one of the k different records that were drawn before
 * with probability k / N, else the next one of the permutation. */
#include "engine/base/endian.h"
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "ops/ops.h"
#include "ops/random_rows.h"
#include "ops/record_pool.h"

#include <assert.h>

#define NUMBER_BYTES 8

/* The records with the `limit` smallest numbers of those added; numbers[i] is that of item i. */
struct sample_heap {
    struct glint_schema schema;
    uint64_t limit; /* at least 1 */
    uint64_t *numbers, capacity;
    struct record_pool records;
};

static void sample_heap_swap(struct sample_heap *h, uint64_t i, uint64_t j)
{
    const uint64_t number = h->numbers[i];
    h->numbers[i] = h->numbers[j];
    h->numbers[j] = number;
    record_pool_swap(&h->records, i, j);
}

static void sample_heap_sift_up(struct sample_heap *h, uint64_t i)
{
    for (uint64_t up; i > 0 && h->numbers[i] > h->numbers[up = (i - 1) / 2]; i = up)
        sample_heap_swap(h, i, up);
}

static void sample_heap_sift_down(struct sample_heap *h, uint64_t i, uint64_t count)
{
    for (uint64_t down; (down = 2 * i + 1) < count; i = down) {
        if (down + 1 < count && h->numbers[down + 1] > h->numbers[down]) down++;
        if (h->numbers[down] <= h->numbers[i]) return;
        sample_heap_swap(h, i, down);
    }
}

/* Whether a record with this number would be kept. */
static bool sample_heap_accepts(const struct sample_heap *h, uint64_t number)
{
    return h->records.count < h->limit || number < h->numbers[0];
}

/* Returns false when out of memory. */
static bool sample_heap_add(struct sample_heap *h, uint64_t number, struct glint_slice key,
                            struct glint_slice value)
{
    assert(sample_heap_accepts(h, number) && h->records.count <= h->limit);
    const uint64_t count = h->records.count;
    if (count < h->limit) {
        if (!array_reserve(&h->numbers, &h->capacity, count + 1, sizeof *h->numbers) ||
            !record_pool_set(&h->records, count, key, value))
            return false;
        h->numbers[count] = number;
        sample_heap_sift_up(h, count);
        return true;
    }
    if (!record_pool_set(&h->records, 0, key, value)) return false;
    h->numbers[0] = number;
    sample_heap_sift_down(h, 0, count);
    return true;
}

/* Heap sort: orders the records by their numbers. */
static void sample_heap_sort(struct sample_heap *h)
{
    for (uint64_t left = h->records.count; left > 1;) {
        sample_heap_swap(h, 0, --left);
        sample_heap_sift_down(h, 0, left);
    }
}

static void sample_heap_fini(struct sample_heap *h)
{
    record_pool_fini(&h->records);
    mem_free(h->numbers);
}

/* ---- Executor side */

struct take_sample_state {
    struct glint_task *task;
    uint64_t next, rows;
    struct sample_heap heap;
};

static int take_sample_open(void *state, const struct op_open *o)
{
    struct take_sample_state *s = state;
    s->task = o->task;
    s->heap.schema = o->in;
    struct unpacker u = unpack_begin(o->params);
    s->heap.limit = unpack_u64(&u, UINT64_MAX);
    s->next = random_rows_begin(unpack_u64(&u, UINT64_MAX), o->task->partition);
    return op_end_params(o, unpack_is_complete(&u) && s->heap.limit > 0,
                         "the parameters of takeSample");
}

static enum flow take_sample_push(void *state, const struct glint_batch *batch,
                                  struct glint_emitter *out)
{
    (void)out;
    struct take_sample_state *s = state;
    s->rows += batch->rows;
    for (uint32_t row = 0; row < batch->rows; row++, s->next += RANDOM_ROW_STEP) {
        const uint64_t number = hash_mix(s->next);
        if (!sample_heap_accepts(&s->heap, number)) continue;
        uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
        const struct glint_record r = glint_batch_record(batch, row);
        if (sample_heap_add(&s->heap, number, codec_encode(s->heap.schema.key, &r.key, key_number),
                            codec_encode(s->heap.schema.value, &r.value, value_number)))
            continue;
        error_no_memory(&s->task->error);
        return FLOW_FAIL;
    }
    if (s->heap.records.used <= s->task->options->result_bytes_max) return FLOW_MORE;
    result_rows_set_task_limit(s->task);
    return FLOW_FAIL;
}

/* The number of records in the partition; then each number and row of the sample. */
static int take_sample_result(void *state, struct buffer *out)
{
    struct take_sample_state *s = state;
    const struct sample_heap *h = &s->heap;
    uint8_t bytes[10];
    bool ok = buffer_append(out, bytes, codec_put_varint(bytes, s->rows));
    for (uint64_t i = 0; ok && i < h->records.count; i++) {
        put_le64(bytes, h->numbers[i]);
        ok = buffer_append(out, bytes, NUMBER_BYTES) &&
             result_rows_append_bytes(out, h->schema, record_pool_key(&h->records, i),
                                      record_pool_value(&h->records, i));
    }
    return ok ? 0 : error_no_memory(&s->task->error);
}

static void take_sample_close(void *state)
{
    sample_heap_fini(&((struct take_sample_state *)state)->heap);
}

const struct op op_take_sample = {.name = "takeSample",
                                  .kind = OP_ACTION,
                                  .state_size = sizeof(struct take_sample_state),
                                  .open = take_sample_open,
                                  .push = take_sample_push,
                                  .close = take_sample_close,
                                  .result = take_sample_result};

/* ---- Driver side */

struct sampling_rows {
    struct glint *g;
    uint64_t rows; /* of all partitions */
    struct sample_heap heap;
};

static int take_sample_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct sampling_rows *s = arg;
    struct sample_heap *h = &s->heap;
    uint64_t rows, found = 0;
    uint64_t at = codec_get_varint(result.data, result.data + result.size, &rows);
    if (at == 0 || rows > INT64_MAX - s->rows)
        return set_malformed_result_error(s->g, &op_take_sample);
    s->rows += rows;
    for (; at < result.size && result.size - at >= NUMBER_BYTES; found++) {
        const uint64_t number = get_le64(result.data + at);
        uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
        struct glint_record r;
        at += NUMBER_BYTES;
        if (!result_rows_next(result, &at, h->schema, &r))
            return set_malformed_result_error(s->g, &op_take_sample);
        if (sample_heap_accepts(h, number) &&
            !sample_heap_add(h, number, codec_encode(h->schema.key, &r.key, key_number),
                             codec_encode(h->schema.value, &r.value, value_number)))
            return error_no_memory(&s->g->error);
    }
    if (h->records.used > s->g->config.result_bytes_max) return result_rows_set_action_limit(s->g);
    const uint64_t expected = rows < h->limit ? rows : h->limit;
    return at == result.size && found == expected
               ? 0
               : set_malformed_result_error(s->g, &op_take_sample);
}

static bool append_sampled_row(const struct sample_heap *h, uint64_t i, struct buffer *out)
{
    return result_rows_append_bytes(out, h->schema, record_pool_key(&h->records, i),
                                    record_pool_value(&h->records, i));
}

/* Appends what `draws` draws with replacement give. */
static bool append_draws_with_replacement(const struct sampling_rows *s, uint64_t draws,
                                          uint64_t seed, struct buffer *out)
{
    const struct sample_heap *h = &s->heap;
    uint64_t different = 0, next = random_rows_begin(~seed, 0); /* not the numbers of rows */
    bool ok = true;
    for (uint64_t i = 0; ok && i < draws && s->rows > 0; i++, next += RANDOM_ROW_STEP) {
        const uint64_t drawn = random_below(hash_mix(next), s->rows);
        ok = append_sampled_row(h, drawn < different ? drawn : different++, out) &&
             out->size <= s->g->config.result_bytes_max;
    }
    assert(different <= h->records.count);
    return ok;
}

static int build_sampled_rows(struct sampling_rows *s, bool with_replacement, uint64_t seed,
                              struct glint_rows *out)
{
    struct buffer rows = {NULL, 0, 0};
    bool ok = true;
    sample_heap_sort(&s->heap);
    if (with_replacement)
        ok = append_draws_with_replacement(s, s->heap.limit, seed, &rows);
    else
        for (uint64_t i = 0; ok && i < s->heap.records.count; i++)
            ok = append_sampled_row(&s->heap, i, &rows);
    int r = 0;
    if (!ok && rows.size > s->g->config.result_bytes_max)
        r = result_rows_set_action_limit(s->g);
    else if (!ok)
        r = error_no_memory(&s->g->error);
    else
        r = result_rows_add_partition(s->g, out, (struct glint_slice){rows.data, rows.size});
    buffer_fini(&rows);
    return r;
}

int glint_take_sample(struct glint_rdd *rdd, bool with_replacement, uint64_t count, uint64_t seed,
                      struct glint_rows *out)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) return rdd_null_error("takeSample");
    out->schema = rdd->schema;
    if (count == 0) return rdd->g->error.code;
    struct sampling_rows s = {rdd->g, 0, {.schema = rdd->schema, .limit = count}};
    struct packer p = {.failed = false};
    pack_array(&p, 2);
    pack_u64(&p, count);
    pack_u64(&p, seed);
    const struct action a = {.op = &op_take_sample,
                             .rdd = rdd,
                             .params = {p.out.data, p.out.size},
                             .on_result = take_sample_on_result,
                             .arg = &s};
    int r = p.failed ? error_no_memory(&rdd->g->error) : run_action_of_rdd(&a);
    packer_fini(&p);
    if (r == 0) r = build_sampled_rows(&s, with_replacement, seed, out);
    sample_heap_fini(&s.heap);
    if (r != 0) glint_rows_free(out);
    return r;
}
