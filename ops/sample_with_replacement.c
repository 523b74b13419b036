/* sampleWithReplacement: Spark's sample(true, fraction, seed). Each record is in the sample as
 * often as a Poisson distribution with the mean `fraction` says. */
#include "engine/batch.h"
#include "ops/ops.h"
#include "ops/random_rows.h"

struct replacement_state {
    struct multiplicity times;
    uint64_t next;
    struct repeated_rows rows;
};

static int sample_with_replacement_open(void *state, const struct op_open *o)
{
    struct replacement_state *s = state;
    struct unpacker u = unpack_begin(o->params);
    s->next = random_rows_begin(unpack_u64(&u, UINT64_MAX), o->task->partition);
    return op_check_params(o, multiplicity_unpack(&u, &s->times) && unpack_is_complete(&u),
                           "the parameters of a sample");
}

static enum flow sample_with_replacement_push(void *state, const struct glint_batch *batch,
                                              struct glint_emitter *out)
{
    struct replacement_state *s = state;
    for (uint32_t row = 0; row < batch->rows; row++, s->next += RANDOM_ROW_STEP) {
        const uint32_t times = multiplicity_of_random(&s->times, hash_mix(s->next));
        if (times > 0) repeated_rows_add(&s->rows, batch, row, times, out);
    }
    return repeated_rows_flush(&s->rows, batch, out);
}

const struct op op_sample_with_replacement = {.name = "sampleWithReplacement",
                                              .kind = OP_NARROW,
                                              .state_size = sizeof(struct replacement_state),
                                              .open = sample_with_replacement_open,
                                              .push = sample_with_replacement_push};

struct glint_rdd *glint_sample_with_replacement(struct glint_rdd *rdd, double fraction,
                                                uint64_t seed)
{
    if (rdd == NULL) return rdd_fail_null("sampleWithReplacement");
    if (!multiplicity_fraction_is_valid(fraction, true)) {
        error_set(&rdd->g->error, GLINT_E_BAD_VALUE, "use a fraction from 0 to 1000",
                  "sampleWithReplacement: a fraction of %g", fraction);
        return NULL;
    }
    struct packer p = {.failed = false};
    pack_array(&p, 2);
    pack_u64(&p, seed);
    multiplicity_pack(&p, fraction, true);
    const struct rdd_spec spec = {.op = &op_sample_with_replacement,
                                  .parents = {rdd},
                                  .schema = rdd->schema,
                                  .grouped = rdd->grouped,
                                  .key_partitioned = rdd->key_partitioned};
    return rdd_create_packed(rdd->g, &spec, &p);
}
