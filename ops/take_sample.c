/* takeSample: a number of records, each equally probable, in random order.
 *
 * Every record has a random number (ops/random_rows.h). A task keeps the `count` records with the
 * smallest numbers in a heap whose root is the largest, so one pass suffices, and most records cost
 * one comparison. The driver merges the tasks' records in the same way; ordered by their numbers
 * they are the start of a random permutation of all N records.
 *
 * With replacement, each of `count` draws is one of the k different records that were drawn before
 * with probability k / N, else the next one of the permutation. */
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "ops/ops.h"
#include "ops/random_rows.h"
#include "ops/record_pool.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

/* Records of the heap: the number, 8 bytes, whose order is that of numbers, and the row, as results
 * have it. */
#define NUMBER_BYTES 8

static const struct glint_schema sample_schema = {GLINT_BYTES, GLINT_NONE};

static uint64_t number_of_sample(struct glint_slice item)
{
    uint64_t number;
    assert(item.size >= sizeof number);
    memcpy(&number, item.data, sizeof number);
    return be64toh(number);
}

/* Whether a record with this number would be kept. */
static bool sample_accepts_number(const struct record_heap *h, uint64_t number)
{
    return h->records.count < h->limit ||
           number < number_of_sample(record_pool_key(&h->records, 0));
}

/* ---- Executor side */

struct take_sample_state {
    struct glint_task *task;
    uint64_t next, rows;
    struct glint_schema schema;
    struct record_heap heap;
    struct buffer sample; /* that is added */
};

static int take_sample_open(void *state, const struct op_open *o)
{
    struct take_sample_state *s = state;
    s->task = o->task;
    s->schema = o->in;
    s->heap.schema = sample_schema;
    struct unpacker u = unpack_begin(o->params);
    s->heap.limit = unpack_u64(&u, UINT64_MAX);
    s->next = random_rows_begin(unpack_u64(&u, UINT64_MAX), o->task->partition);
    return op_check_params(o, unpack_is_complete(&u) && s->heap.limit > 0,
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
        if (!sample_accepts_number(&s->heap, number)) continue;
        const uint64_t ordered = htobe64(number);
        const struct glint_record r = glint_batch_record(batch, row);
        s->sample.size = 0;
        bool ok = buffer_append(&s->sample, &ordered, sizeof ordered) &&
                  result_rows_append(&s->sample, s->schema, &r);
        const struct glint_record sample = {.key.bytes = buffer_slice(&s->sample)};
        if (ok && record_heap_add(&s->heap, &sample)) continue;
        error_no_memory(&s->task->error);
        return FLOW_FAIL;
    }
    if (s->heap.records.used <= s->task->options->result_bytes_max) return FLOW_MORE;
    result_rows_set_task_limit(s->task);
    return FLOW_FAIL;
}

/* The number of records in the partition, then the sample. */
static int take_sample_result(void *state, struct buffer *out)
{
    struct take_sample_state *s = state;
    uint8_t bytes[10];
    bool ok = buffer_append(out, bytes, codec_put_varint(bytes, s->rows));
    for (uint64_t i = 0; ok && i < s->heap.records.count; i++) {
        const struct glint_slice sample = record_pool_key(&s->heap.records, i);
        ok = buffer_append(out, sample.data, sample.size);
    }
    return ok ? 0 : error_no_memory(&s->task->error);
}

static void take_sample_close(void *state)
{
    struct take_sample_state *s = state;
    record_pool_fini(&s->heap.records);
    buffer_fini(&s->sample);
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
    struct glint_schema schema;
    struct record_heap heap;
};

static int take_sample_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct sampling_rows *s = arg;
    struct record_heap *h = &s->heap;
    uint64_t rows, found = 0;
    uint64_t at = codec_get_varint(result.data, result.data + result.size, &rows);
    if (at == 0 || rows > INT64_MAX - s->rows)
        return set_malformed_result_error(s->g, &op_take_sample);
    s->rows += rows;
    for (; at < result.size && result.size - at >= NUMBER_BYTES; found++) {
        struct glint_record sample = {.key.bytes.data = result.data + at}, r;
        at += NUMBER_BYTES;
        if (!result_rows_next(result, &at, s->schema, &r))
            return set_malformed_result_error(s->g, &op_take_sample);
        sample.key.bytes.size = (uint64_t)(result.data + at - sample.key.bytes.data);
        if (!record_heap_add(h, &sample)) return error_no_memory(&s->g->error);
    }
    if (h->records.used > s->g->config.result_bytes_max) return result_rows_set_action_limit(s->g);
    const uint64_t expected = rows < h->limit ? rows : h->limit;
    return at == result.size && found == expected
               ? 0
               : set_malformed_result_error(s->g, &op_take_sample);
}

static bool append_sampled_row(const struct record_heap *h, uint64_t i, struct buffer *out)
{
    const struct glint_slice sample = record_pool_key(&h->records, i);
    return buffer_append(out, sample.data + NUMBER_BYTES, sample.size - NUMBER_BYTES);
}

/* Appends what `draws` draws with replacement give. */
static bool append_draws_with_replacement(const struct sampling_rows *s, uint64_t draws,
                                          uint64_t seed, struct buffer *out)
{
    const struct record_heap *h = &s->heap;
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
    record_heap_sort(&s->heap);
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
    struct sampling_rows s = {rdd->g, 0, rdd->schema, {.schema = sample_schema, .limit = count}};
    struct packer p = {.failed = false};
    pack_array(&p, 2);
    pack_u64(&p, count);
    pack_u64(&p, seed);
    struct action a = {
        .op = &op_take_sample, .rdd = rdd, .on_result = take_sample_on_result, .arg = &s};
    int r = run_packed_action(&a, &p);
    if (r == 0) r = build_sampled_rows(&s, with_replacement, seed, out);
    record_pool_fini(&s.heap.records);
    if (r != 0) glint_rows_free(out);
    return r;
}
