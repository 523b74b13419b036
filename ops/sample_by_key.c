/* sampleByKey: a sample in which each key has its own fraction. The parameters are [seed, [key,
 * bounds, key, bounds, ...]], sorted by key, so that a task finds a key by bisection. */
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "ops/ops.h"
#include "ops/random_rows.h"

#include <stdlib.h>

struct stratum {
    struct glint_slice key; /* encoded */
    struct multiplicity times;
};

struct strata_state {
    struct glint_task *task;
    enum glint_type type;
    struct stratum *strata;
    uint32_t count;
    uint64_t next;
    struct repeated_rows rows;
};

static int sample_by_key_open(void *state, const struct op_open *o)
{
    struct strata_state *s = state;
    s->task = o->task;
    s->type = o->in.key;
    struct unpacker u = unpack_begin(o->params);
    s->next = random_rows_begin(unpack_u64(&u, UINT64_MAX), o->task->partition);
    struct unpacker all = unpack_array(&u);
    const bool whole = unpack_is_complete(&u) && all.count % 2 == 0 && all.count <= UINT32_MAX;
    const uint64_t count = whole ? all.count / 2 : 0;
    s->strata = task_alloc(s->task, sizeof *s->strata * (count + 1));
    if (s->strata == NULL) return s->task->error.code;
    bool sound = whole;
    for (; sound && s->count < count; s->count++) {
        struct stratum *next = &s->strata[s->count];
        next->key = unpack_bytes(&all);
        sound = multiplicity_unpack(&all, &next->times) &&
                (s->count == 0 || codec_compare(next[-1].key, next->key) < 0);
    }
    if (sound && unpack_is_complete(&all)) return 0;
    return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL,
                     "cannot decode the parameters of sampleByKey");
}

static const struct multiplicity *find_key_fraction(const struct strata_state *s,
                                                    struct glint_slice key)
{
    uint32_t low = 0, high = s->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = codec_compare(s->strata[middle].key, key);
        if (order == 0) return &s->strata[middle].times;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static enum flow set_no_fraction_error(struct strata_state *s, const union glint_value *key)
{
    struct buffer text = {NULL, 0, 0};
    if (!codec_print(s->type, key, &text) || !buffer_append(&text, "", 1))
        error_no_memory(&s->task->error);
    else
        error_set(&s->task->error, GLINT_E_PLAN_ARGUMENT,
                  "give each key a fraction; with 0 its records are left out",
                  "sampleByKey: the key %.200s has no fraction", (const char *)text.data);
    buffer_fini(&text);
    return FLOW_FAIL;
}

static enum flow sample_by_key_push(void *state, const struct glint_batch *batch,
                                    struct glint_emitter *out)
{
    struct strata_state *s = state;
    for (uint32_t row = 0; row < batch->rows; row++, s->next += RANDOM_ROW_STEP) {
        uint8_t scratch[CODEC_NUMBER_BYTES];
        const union glint_value key = glint_column_value(&batch->key, row);
        const struct multiplicity *times =
            find_key_fraction(s, codec_encode(s->type, &key, scratch));
        if (times == NULL) return set_no_fraction_error(s, &key);
        repeated_rows_add(&s->rows, batch, row, multiplicity_of_random(times, hash_mix(s->next)),
                          out);
    }
    return repeated_rows_flush(&s->rows, batch, out);
}

const struct op op_sample_by_key = {.name = "sampleByKey",
                                    .kind = OP_NARROW,
                                    .state_size = sizeof(struct strata_state),
                                    .open = sample_by_key_open,
                                    .push = sample_by_key_push};

/* ---- Driver side */

/* A fraction with its encoded key. */
struct keyed_fraction {
    struct glint_slice key;
    double fraction;
    uint8_t number[CODEC_NUMBER_BYTES];
};

static int compare_fraction_keys(const void *a, const void *b)
{
    const struct keyed_fraction *x = *(struct keyed_fraction *const *)a;
    const struct keyed_fraction *y = *(struct keyed_fraction *const *)b;
    return codec_compare(x->key, y->key);
}

static int set_fraction_error(struct glint_rdd *rdd, const char *what, double fraction)
{
    return error_set(&rdd->g->error, GLINT_E_BAD_VALUE,
                     "use one fraction per key, from 0 to 1; with replacement up to 1000",
                     "sampleByKey: %s (%g)", what, fraction);
}

/* Sorts pointers, because the keys may point into the items. Returns 0 or the context's code. */
static int pack_key_fractions(struct glint_rdd *rdd, struct packer *p,
                              struct keyed_fraction **sorted, uint32_t count, bool with_replacement)
{
    qsort(sorted, count, sizeof *sorted, compare_fraction_keys);
    pack_array(p, 2 * (uint64_t)count);
    for (uint32_t i = 0; i < count; i++) {
        if (!multiplicity_fraction_is_valid(sorted[i]->fraction, with_replacement))
            return set_fraction_error(rdd, "a fraction is not valid", sorted[i]->fraction);
        if (i > 0 && codec_compare(sorted[i - 1]->key, sorted[i]->key) == 0)
            return set_fraction_error(rdd, "a key has two fractions", sorted[i]->fraction);
        pack_bytes(p, sorted[i]->key);
        multiplicity_pack(p, sorted[i]->fraction, with_replacement);
    }
    if (p->out.size <= ARGS_BYTES_MAX) return p->failed ? error_no_memory(&rdd->g->error) : 0;
    rdd_fail(rdd, GLINT_E_PLAN_LIMIT, "the fractions of sampleByKey need more than %llu bytes",
             (unsigned long long)ARGS_BYTES_MAX);
    return rdd->g->error.code;
}

struct glint_rdd *glint_sample_by_key(struct glint_rdd *rdd, bool with_replacement,
                                      const struct glint_fraction *fractions, uint32_t count,
                                      uint64_t seed)
{
    if (!rdd_has_keys(rdd, "sampleByKey")) return NULL;
    struct packer p = {.failed = false};
    struct keyed_fraction *items = mem_alloc(sizeof *items * (count + 1));
    struct keyed_fraction **sorted = mem_alloc(sizeof *sorted * (count + 1));
    int r = items != NULL && sorted != NULL ? 0 : error_no_memory(&rdd->g->error);
    pack_array(&p, 2);
    pack_u64(&p, seed);
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        items[i].fraction = fractions[i].fraction;
        items[i].key = codec_encode(rdd->schema.key, &fractions[i].key, items[i].number);
        sorted[i] = &items[i];
    }
    if (r == 0) r = pack_key_fractions(rdd, &p, sorted, count, with_replacement);
    const struct rdd_spec spec = {.op = &op_sample_by_key,
                                  .parents = {rdd},
                                  .schema = rdd->schema,
                                  .grouped = rdd->grouped,
                                  .key_partitioned = rdd->key_partitioned};
    struct glint_rdd *out = NULL;
    if (r == 0)
        out = rdd_create_packed(rdd->g, &spec, &p);
    else
        packer_fini(&p);
    mem_free(sorted);
    mem_free(items);
    return out;
}
