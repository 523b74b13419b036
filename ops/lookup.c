/* lookup: returns the values of one key, in order. If the RDD is partitioned by the hash of the
 * key, only that key's partition is read. */
#include "engine/base/hash.h"
#include "engine/batch.h"
#include "engine/plan/context.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>

struct lookup_state {
    struct result_rows_state rows; /* must be first: result_rows_state_* cast to it */
    struct glint_task *task;
    enum glint_type key_type;
    struct glint_schema out; /* (none, value) */
    struct glint_slice key;  /* encoded */
};

static int lookup_open(void *state, const struct op_open *o)
{
    struct lookup_state *s = state;
    s->task = o->task;
    s->key_type = o->in.key;
    s->out = (struct glint_schema){GLINT_NONE, o->in.value};
    struct unpacker u = unpack_begin(o->params);
    s->key = unpack_bytes(&u); /* borrows from the parameters */
    return op_check_params(o, unpack_is_complete(&u), "the parameters of lookup");
}

static enum flow lookup_push(void *state, const struct glint_batch *batch,
                             struct glint_emitter *out)
{
    (void)out;
    struct lookup_state *s = state;
    assert(batch->key.type == s->key_type);
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint8_t scratch[CODEC_NUMBER_BYTES];
        union glint_value key = glint_column_value(&batch->key, row);
        struct glint_slice bytes = codec_encode(s->key_type, &key, scratch);
        if (bytes.size != s->key.size || codec_compare(bytes, s->key) != 0) continue;
        struct glint_record r = {.value = glint_column_value(&batch->value, row)};
        if (!result_rows_append_limited(s->task, &s->rows.bytes, s->out, &r)) return FLOW_FAIL;
    }
    return FLOW_MORE;
}

const struct op op_lookup = {.name = "lookup",
                             .kind = OP_ACTION,
                             .state_size = sizeof(struct lookup_state),
                             .open = lookup_open,
                             .push = lookup_push,
                             .close = result_rows_state_close,
                             .result = result_rows_state_result};

struct lookup_collecting {
    struct glint *g;
    struct glint_rows *rows;
};

static int lookup_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct lookup_collecting *l = arg;
    return result_rows_add_partition(l->g, l->rows, result);
}

/* Not by a partitioner of the job, which runs on executors only. */
static bool is_hash_partitioned(struct glint_rdd *rdd)
{
    const struct glint_rdd *partitioner = partitioning_find_shuffle(rdd);
    return partitioner != NULL && partitioner->dependency.partitioner == PARTITION_HASH;
}

int glint_lookup(struct glint_rdd *rdd, union glint_value key, struct glint_rows *out)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) return rdd_null_error("lookup");
    struct glint *g = rdd->g;
    if (!rdd_is_pair(rdd)) rdd_fail(rdd, GLINT_E_PLAN_TYPE, "lookup needs keys");
    uint32_t partitions = rdd_partition_count(rdd);
    if (context_failed(g)) return g->error.code;
    out->schema = (struct glint_schema){GLINT_NONE, rdd->schema.value};
    uint8_t scratch[CODEC_NUMBER_BYTES];
    struct glint_slice bytes = codec_encode(rdd->schema.key, &key, scratch);
    struct packer p = {.failed = false};
    pack_array(&p, 1);
    pack_bytes(&p, bytes);
    struct lookup_collecting l = {g, out};
    struct action a = {.op = &op_lookup, .rdd = rdd, .on_result = lookup_on_result, .arg = &l};
    /* The same computation as in the shuffle's hash partitioner. */
    uint32_t partition = 0;
    if (partitions > 0 && is_hash_partitioned(rdd)) {
        assert(partitions == rdd->partitions);
        partition = hash_to_range(hash_partition(bytes.data, bytes.size), partitions);
        a.partitions = &partition;
        a.partition_count = 1;
    }
    int r = run_packed_action(&a, &p);
    if (r != 0) glint_rows_free(out);
    return r;
}
