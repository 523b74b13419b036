/* Strategy partials: map tasks fill filters, which are then combined by OR, or, with counters, by
 * addition. */
#include "engine/batch.h"
#include "jobs/bloom/counting.h"
#include "jobs/filters/bloom_functions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct partial_state {
    struct bloom_input input;
    struct bloom_set set;
    struct bloom_adder adder;
    int shuffle_bytes; /* counter */
};

static int partial_filters_init(struct glint_task *task, void *state)
{
    struct partial_state *s = state;
    int r = bloom_input_open(task, &s->input);
    if (r != 0) return r;
    s->shuffle_bytes = glint_counter(task, BLOOM_SHUFFLE_BYTES);
    if (s->shuffle_bytes < 0) return GLINT_E_NO_MEMORY;
    enum bloom_result result = bloom_set_init(&s->set, s->input.sizes.params, s->input.sizes.count);
    if (result != BLOOM_OK)
        return glint_fail(task, GLINT_E_NO_MEMORY, "use --strategy indexes, or fewer slots",
                          "the filters of a partition: %s", bloom_strerror(result));
    bloom_adder_init(&s->adder, &s->set);
    return 0;
}

static int partial_filters_add_rows(struct glint_task *task, void *state,
                                    const struct glint_batch *in, struct glint_emitter *out)
{
    (void)out;
    struct partial_state *s = state;
    struct bloom_rows rows;
    int r = bloom_input_parse_rows(&s->input, task, in, &rows);
    if (r != 0) return r;
    assert(rows.rows <= in->rows);
    bloom_adder_add_rows(&s->adder, &rows);
    return 0;
}

/* The position of a filter: filters are emitted in the shuffle's order. */
struct place {
    uint32_t partition, number;
};

static int compare_filter_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->partition != y->partition) return x->partition < y->partition ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns true if no row was added: any row sets a bit. */
static bool is_filter_empty(const struct bloom_filter *filter)
{
    const uint64_t bytes = bloom_bytes(filter->params.m);
    for (uint64_t i = 0; i < bytes; i++)
        if (filter->bits[i] != 0) return false;
    return true;
}

/* The filters that rows were added to; numbers are in the order of keys. Returns NULL with the
 * error set. */
static struct place *list_places_of_filled_filters(struct glint_task *task,
                                                   const struct partial_state *s,
                                                   uint32_t *out_count)
{
    const struct sizes *sizes = &s->input.sizes;
    const enum glint_type type = sizes->text ? GLINT_TEXT : GLINT_I64;
    struct place *places = glint_scratch(task, sizes->count * sizeof *places);
    uint32_t count = 0;
    for (uint32_t f = 0; places != NULL && f < sizes->count; f++) {
        const struct bloom_filter filter = bloom_set_filter(&s->set, f);
        if (!is_filter_empty(&filter))
            places[count++] =
                (struct place){glint_output_partition(task, type, &sizes->keys[f]), f};
    }
    if (count > 0) qsort(places, count, sizeof *places, compare_filter_places);
    *out_count = count;
    return places;
}

static int partial_filters_emit(struct glint_task *task, void *state, struct glint_emitter *out)
{
    struct partial_state *s = state;
    uint32_t count;
    bloom_adder_flush(&s->adder);
    const struct place *places = list_places_of_filled_filters(task, s, &count);
    if (places == NULL) return GLINT_E_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t f = places[i].number;
        assert(f < s->set.count);
        struct bloom_filter view = bloom_set_filter(&s->set, f);
        struct glint_record record = {.key = s->input.sizes.keys[f],
                                      .value.bytes = {view.bits, bloom_bytes(view.params.m)}};
        glint_counter_add(task, s->shuffle_bytes, (int64_t)record.value.bytes.size);
        glint_emit(out, &record);
    }
    return 0;
}

static void partial_filters_fini(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct partial_state *)state)->set);
}

#define PARTIALS_FUNCTION(name_, key_)                                                             \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_FLAT_MAP, .in = {GLINT_ANY, GLINT_TEXT},                 \
        .out = {key_, GLINT_BYTES}, .state_size = sizeof(struct partial_state),                    \
        .open = partial_filters_init, .batch = partial_filters_add_rows,                           \
        .end = partial_filters_emit, .close = partial_filters_fini                                 \
    }

const struct glint_function bloom_rating_partials =
    PARTIALS_FUNCTION("bloom.rating_partials", GLINT_I64);
const struct glint_function bloom_text_partials =
    PARTIALS_FUNCTION("bloom.text_partials", GLINT_TEXT);

static int or_filter_bits(struct glint_task *task, void *state, struct glint_acc *acc,
                          const union glint_value *value)
{
    (void)state;
    uint8_t *into = glint_acc_bytes(acc);
    const uint8_t *from = value->bytes.data;
    uint64_t size = value->bytes.size;
    if (acc->value.bytes.size != size)
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "filters of one key differ in size");
    for (uint64_t i = 0; i < size; i++) into[i] |= from[i];
    return 0;
}

const struct glint_function bloom_or = {.name = "bloom.or",
                                        .kind = GLINT_KIND_REDUCE,
                                        .in = {GLINT_ANY, GLINT_BYTES},
                                        .out = {GLINT_SAME, GLINT_SAME},
                                        .merge = or_filter_bits};

/* Adds partial counters, until those of a file's filter come, from which they are subtracted: these
 * have a byte before them, whether a counter was too small. */
static int add_filter_counters(struct glint_task *task, void *state, struct glint_acc *acc,
                               const union glint_value *value)
{
    (void)state;
    const uint64_t have = acc->value.bytes.size, size = value->bytes.size;
    const uint8_t *from = value->bytes.data, none = 0;
    if (size == have) {
        counting_unite(glint_acc_bytes(acc), from, size);
        return 0;
    }
    if (size == have + 1) {
        int r = glint_acc_append(task, acc, &none, 1);
        if (r != 0) return r;
        uint8_t *into = glint_acc_bytes(acc);
        const bool enough = counting_subtract(from + 1, into, into + 1, have);
        into[0] = from[0] | !enough;
        return 0;
    }
    if (have != size + 1)
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "filters of one key differ in size");
    uint8_t *into = glint_acc_bytes(acc);
    assert(size > 0 && into[0] <= 1);
    if (!counting_subtract(into + 1, from, into + 1, size)) into[0] = 1;
    return 0;
}

const struct glint_function bloom_add_counters = {.name = "bloom.add_counters",
                                                  .kind = GLINT_KIND_REDUCE,
                                                  .in = {GLINT_ANY, GLINT_BYTES},
                                                  .out = {GLINT_SAME, GLINT_SAME},
                                                  .merge = add_filter_counters};

/* Converts the bits to a file value: copies them after a header. */
struct seal_state {
    struct sizes sizes;
    uint8_t *memory;
    uint64_t size;
    int overfull;   /* counter */
    int64_t strict; /* a filter with too many ids is an error */
    int64_t remove; /* ids were removed: the counters come behind a byte */
};

static int seal_filter_init(struct glint_task *task, void *state)
{
    struct seal_state *s = state;
    int r = sizes_open(task, &s->sizes);
    if (r == 0) r = glint_arg_i64(task, "strict", &s->strict);
    if (r == 0) r = glint_arg_i64(task, "remove", &s->remove);
    for (uint32_t i = 0; r == 0 && i < s->sizes.count; i++) {
        uint64_t size = bloom_bytes(s->sizes.params[i].m);
        if (size > s->size) s->size = size;
    }
    s->overfull = glint_counter(task, BLOOM_OVERFULL);
    return r != 0 ? r : s->overfull < 0 ? GLINT_E_NO_MEMORY : 0;
}

static int set_absent_ids_error(struct glint_task *task, const struct sizes *sizes, uint32_t number)
{
    char key[256];
    sizes_key_text(sizes, number, key, sizeof key);
    return glint_fail(task, GLINT_E_FILTER_MISMATCH, BLOOM_ABSENT_HINT,
                      "the rows have ids that are not in the filter of key %s, or not as often",
                      key);
}

static int emit_sealed_filter(struct glint_task *task, void *state, const struct glint_record *in,
                              struct glint_emitter *out)
{
    struct seal_state *s = state;
    uint32_t number;
    int r = bloom_input_key_number(&s->sizes, task, &in->key, &number);
    if (r != 0) return r;
    assert(number < s->sizes.count);
    const struct bloom_params *params = &s->sizes.params[number];
    struct glint_slice bits = in->value.bytes;
    const uint64_t before = s->remove != 0;
    if (bits.size != before + bloom_bytes(params->m))
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "a filter has an invalid size");
    if (before > 0 && bits.data[0] != 0) return set_absent_ids_error(task, &s->sizes, number);
    bits = (struct glint_slice){bits.data + before, bits.size - before};
    if (s->memory == NULL) s->memory = glint_scratch(task, BLOOM_HEADER_MAX + s->size);
    if (s->memory == NULL) return GLINT_E_NO_MEMORY;
    assert(bits.size <= s->size);
    memcpy(s->memory + BLOOM_HEADER_MAX, bits.data, bits.size);
    if (bloom_count_overfull_filter(task, s->overfull, params, s->memory + BLOOM_HEADER_MAX) &&
        s->strict != 0)
        return bloom_set_overfull_error(task, &s->sizes, number);
    bloom_emit_filter(params, &in->key, s->memory, out);
    return 0;
}

const struct glint_function bloom_seal = {.name = "bloom.seal",
                                          .kind = GLINT_KIND_MAP,
                                          .in = {GLINT_ANY, GLINT_BYTES},
                                          .out = {GLINT_SAME, GLINT_MSGPACK},
                                          .state_size = sizeof(struct seal_state),
                                          .open = seal_filter_init,
                                          .each = emit_sealed_filter};

struct bits_state {
    int64_t remove;
};

static int filter_bits_init(struct glint_task *task, void *state)
{
    return glint_arg_i64(task, "remove", &((struct bits_state *)state)->remove);
}

/* The bits of a filter of a file, as those of a partial one. To remove ids, behind a 0, which
 * replaces the header's last byte: in memory of this task, which reads each record once. */
static int emit_filter_bits(struct glint_task *task, void *state, const struct glint_record *in,
                            struct glint_emitter *out)
{
    const uint64_t before = ((const struct bits_state *)state)->remove != 0;
    struct bloom_filter filter;
    enum bloom_result result = bloom_decode(in->value.bytes.data, in->value.bytes.size, &filter);
    if (result != BLOOM_OK)
        return glint_fail(task, GLINT_E_FILTER_INVALID, NULL, "%s", bloom_strerror(result));
    assert(filter.bits > in->value.bytes.data);
    uint8_t *first = filter.bits - before;
    if (before > 0) *first = 0;
    struct glint_record record = {.key = in->key,
                                  .value.bytes = {first, before + bloom_bytes(filter.params.m)}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function bloom_bits = {.name = "bloom.bits",
                                          .kind = GLINT_KIND_MAP,
                                          .in = {GLINT_ANY, GLINT_MSGPACK},
                                          .out = {GLINT_SAME, GLINT_BYTES},
                                          .state_size = sizeof(struct bits_state),
                                          .open = filter_bits_init,
                                          .each = emit_filter_bits};
