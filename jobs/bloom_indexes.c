/* Strategy indexes: rows become lists of bit indexes, lists of a key are joined, filters filled from them. */
#include "jobs/bloom_functions.h"

#include <assert.h>
#include <string.h>

enum { PIECE_BYTES = 64 * 1024, VARINT_MAX = 10, FILL_INDEXES = 4096 };

static inline uint8_t *put_varint(uint8_t *at, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) *at++ = (uint8_t)(v | 0x80);
    *at++ = (uint8_t)v;
    return at;
}

/* ---- bloom.rating_indexes, bloom.text_indexes */

struct indexes_state {
    struct bloom_input input;
    struct bloom_set set; /* the parameters; its bits are never touched */
    uint64_t *indexes;    /* [FIELDS_ROWS_MAX * k] */
    uint8_t *bytes;
    uint32_t start[FIELDS_ROWS_MAX], end[FIELDS_ROWS_MAX];
};

static int indexes_open(struct glint_task *task, void *state)
{
    struct indexes_state *s = state;
    int r = bloom_input_open(task, &s->input);
    if (r != 0) return r;
    enum bloom_result result =
        bloom_set_over(&s->set, s->input.sizes.params, s->input.sizes.count, NULL);
    if (result != BLOOM_OK)
        return glint_fail(task, GLINT_E_FILTER_LIMIT, NULL, "%s", bloom_strerror(result));
    uint64_t cells = (uint64_t)FIELDS_ROWS_MAX * s->set.k;
    s->indexes = glint_scratch(task, cells * sizeof *s->indexes);
    s->bytes = glint_scratch(task, cells * VARINT_MAX);
    return s->indexes != NULL && s->bytes != NULL ? 0 : GLINT_E_NO_MEMORY;
}

static uint32_t encode_row(const struct indexes_state *s, uint32_t row, bool wide, uint8_t *out)
{
    uint8_t *at = out;
    const uint32_t *narrow = (const uint32_t *)s->indexes;
    for (uint32_t i = 0; i < s->set.k; i++)
        at = put_varint(at, wide ? s->indexes[row * s->set.k + i] : narrow[row * s->set.k + i]);
    return (uint32_t)(at - out);
}

static int indexes_batch(struct glint_task *task, void *state, const struct glint_batch *in,
                         struct glint_emitter *out)
{
    struct indexes_state *s = state;
    struct bloom_rows rows;
    int r = bloom_input_rows(&s->input, task, in, &rows);
    if (r != 0) return r;
    bool wide = s->set.scheme == BLOOM_WIDE;
    if (wide)
        bloom_index_rows_wide(&s->set, &rows, s->indexes);
    else
        bloom_index_rows(&s->set, &rows, (uint32_t *)s->indexes);
    uint32_t used = 0;
    for (uint32_t row = 0; row < rows.rows; row++) {
        s->start[row] = used;
        used += encode_row(s, row, wide, s->bytes + used);
        s->end[row] = used;
    }
    struct glint_batch batch = {.rows = rows.rows, .key = fields_key_column(&s->input.fields),
                                .value = {.type = GLINT_BYTES, .base = s->bytes, .size = used,
                                          .start = s->start, .end = s->end},
                                .origin = in->origin};
    glint_emit_batch(out, &batch);
    return 0;
}

static void indexes_close(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct indexes_state *)state)->set);
}

#define INDEXES_FUNCTION(name_, key_)                                                              \
    {                                                                                              \
        .name = name_, .form = GLINT_MAP, .in = {GLINT_ANY, GLINT_TEXT},                           \
        .out = {key_, GLINT_BYTES}, .state_size = sizeof(struct indexes_state),                    \
        .open = indexes_open, .batch = indexes_batch, .close = indexes_close                       \
    }

const struct glint_function bloom_rating_indexes =
    INDEXES_FUNCTION("bloom.rating_indexes", GLINT_I64);
const struct glint_function bloom_text_indexes = INDEXES_FUNCTION("bloom.text_indexes", GLINT_TEXT);

/* ---- bloom.extend: lists of one key, one behind the other, cut into pieces */

static int extend_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                        const union glint_value *value)
{
    (void)state;
    return glint_acc_append(task, acc, value->bytes.data, value->bytes.size);
}

const struct glint_function bloom_extend = {.name = "bloom.extend",
                                            .form = GLINT_REDUCE,
                                            .in = {GLINT_ANY, GLINT_BYTES},
                                            .out = {GLINT_SAME, GLINT_SAME},
                                            .merge = extend_merge,
                                            .piece_bytes = PIECE_BYTES};

/* ---- bloom.fill: the pieces of a key stream into its filter */

struct fill_state {
    struct sizes sizes;
    const struct bloom_params *params; /* of the key at hand */
    uint8_t *memory; /* BLOOM_HEADER_MAX, then the bits; as large as the largest filter */
    uint64_t size;
    struct bloom_set target; /* one filter over the bits in `memory` */
    uint64_t indexes[FILL_INDEXES];
};

static int fill_open(struct glint_task *task, void *state)
{
    struct fill_state *s = state;
    int r = sizes_open(task, &s->sizes);
    for (uint32_t i = 0; r == 0 && i < s->sizes.count; i++) {
        uint64_t size = bloom_bytes(s->sizes.params[i].m);
        if (size > s->size) s->size = size;
    }
    return r;
}

static int fill_begin(struct glint_task *task, void *state, const union glint_value *key)
{
    struct fill_state *s = state;
    uint32_t number;
    int r = bloom_input_number(&s->sizes, task, key, &number);
    if (r != 0) return r;
    if (s->memory == NULL) s->memory = glint_scratch(task, BLOOM_HEADER_MAX + s->size + BLOOM_ALIGNMENT);
    if (s->memory == NULL) return GLINT_E_NO_MEMORY;
    s->params = &s->sizes.params[number];
    memset(s->memory + BLOOM_HEADER_MAX, 0, bloom_bytes(s->params->m));
    bloom_set_fini(&s->target);
    enum bloom_result result = bloom_set_over(&s->target, s->params, 1, s->memory + BLOOM_HEADER_MAX);
    if (result == BLOOM_OK) return 0;
    return glint_fail(task, GLINT_E_NO_MEMORY, NULL, "%s", bloom_strerror(result));
}

static int fill_damaged(struct glint_task *task)
{
    return glint_fail(task, GLINT_E_RUN_CORRUPT, NULL, "a list of indexes does not parse");
}

static bool fill_set(struct fill_state *s, uint32_t count)
{
    if (s->params->scheme == BLOOM_WIDE) return bloom_set_bits_wide(&s->target, 0, s->indexes, count);
    return bloom_set_bits(&s->target, 0, (const uint32_t *)s->indexes, count);
}

/* A piece ends where a row's list ends, so no varint is cut. */
static int fill_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    (void)out;
    struct fill_state *s = state;
    const uint8_t *at = in->value.bytes.data, *end = at + in->value.bytes.size;
    uint32_t *narrow = (uint32_t *)s->indexes;
    bool wide = s->params->scheme == BLOOM_WIDE;
    uint32_t count = 0;
    while (at < end) {
        uint64_t v = 0;
        unsigned shift = 0;
        for (;; shift += 7) {
            if (at == end || shift > 63) return fill_damaged(task);
            v |= (uint64_t)(*at & 0x7f) << shift;
            if (*at++ < 0x80) break;
        }
        if (v >= s->params->m) return fill_damaged(task);
        if (wide)
            s->indexes[count++] = v;
        else
            narrow[count++] = (uint32_t)v;
        if (count < FILL_INDEXES) continue;
        if (!fill_set(s, count)) return fill_damaged(task);
        count = 0;
    }
    return fill_set(s, count) ? 0 : fill_damaged(task);
}

static int fill_end(struct glint_task *task, void *state, const union glint_value *key,
                    struct glint_emitter *out)
{
    (void)task;
    struct fill_state *s = state;
    bloom_emit_filter(s->params, key, s->memory, out);
    return 0;
}

static void fill_close(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct fill_state *)state)->target);
}

const struct glint_function bloom_fill = {.name = "bloom.fill",
                                          .form = GLINT_GROUP,
                                          .in = {GLINT_ANY, GLINT_BYTES},
                                          .out = {GLINT_SAME, GLINT_MSGPACK},
                                          .state_size = sizeof(struct fill_state),
                                          .open = fill_open,
                                          .begin_group = fill_begin,
                                          .each = fill_each,
                                          .end_group = fill_end,
                                          .close = fill_close};
