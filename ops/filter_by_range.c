/* filterByRange: keeps the records whose key is from `lower` to `upper`, both included, in the
 * order of sortByKey. */
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "ops/ops.h"
#include "ops/selection.h"

struct key_range_state {
    enum glint_type type;
    struct glint_slice lower, upper; /* encoded */
    struct selection selection;
    uint16_t rows[BATCH_ROWS_MAX];
};

static int key_range_open(void *state, const struct op_open *o)
{
    struct key_range_state *s = state;
    s->type = o->in.key;
    struct unpacker u = unpack_begin(o->params);
    s->lower = unpack_bytes(&u);
    s->upper = unpack_bytes(&u);
    return op_check_params(o, unpack_is_complete(&u), "the parameters of filterByRange");
}

static enum flow key_range_push(void *state, const struct glint_batch *batch,
                                struct glint_emitter *out)
{
    struct key_range_state *s = state;
    uint32_t count = 0;
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint8_t scratch[CODEC_NUMBER_BYTES];
        const union glint_value v = glint_column_value(&batch->key, row);
        const struct glint_slice key = codec_encode(s->type, &v, scratch);
        s->rows[count] = (uint16_t)row;
        count += codec_compare(key, s->lower) >= 0 && codec_compare(key, s->upper) <= 0;
    }
    return selection_emit(&s->selection, batch, s->rows, count, out);
}

const struct op op_filter_by_range = {.name = "filterByRange",
                                      .kind = OP_NARROW,
                                      .state_size = sizeof(struct key_range_state),
                                      .open = key_range_open,
                                      .push = key_range_push};

struct glint_rdd *glint_filter_by_range(struct glint_rdd *rdd, union glint_value lower,
                                        union glint_value upper)
{
    if (!rdd_has_keys(rdd, "filterByRange")) return NULL;
    struct packer p = {.failed = false};
    uint8_t scratch[CODEC_NUMBER_BYTES];
    pack_array(&p, 2);
    pack_bytes(&p, codec_encode(rdd->schema.key, &lower, scratch));
    pack_bytes(&p, codec_encode(rdd->schema.key, &upper, scratch));
    const struct rdd_spec spec = {.op = &op_filter_by_range,
                                  .parents = {rdd},
                                  .schema = rdd->schema,
                                  .grouped = rdd->grouped,
                                  .key_partitioned = rdd->key_partitioned};
    return rdd_create_packed(rdd->g, &spec, &p);
}
