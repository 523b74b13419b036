/* Strategy indexes: converts rows to lists of bit indexes, concatenates the lists of a key, and
 * fills filters from them. */
#include "engine/batch.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/index_codes.h"

#include <assert.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024, FILL_INDEXES = 4096 };

/* ---- bloom.rating_indexes, bloom.text_indexes */

/* Size of an index that is not encoded: native-endian, since driver and executors are the same
 * build. */
static inline uint32_t raw_index_bytes(const struct bloom_set *set)
{
    return set->wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

struct indexes_state {
    struct bloom_input input;
    struct bloom_set set; /* the parameters; its bits are not used */
    uint64_t *indexes;    /* [FIELDS_ROWS_MAX * k] */
    uint8_t *bytes;
    int64_t method;        /* enum bloom_method, of lists */
    struct bloom_set seen; /* LISTS_ONCE: the indexes that the task has emitted */
    int shuffle_bytes;     /* counter */
    uint32_t start[FIELDS_ROWS_MAX], end[FIELDS_ROWS_MAX];
};

static int bloom_indexes_init(struct glint_task *task, void *state)
{
    struct indexes_state *s = state;
    int r = bloom_input_open(task, &s->input);
    if (r == 0) r = glint_arg_i64(task, "method", &s->method);
    if (r != 0) return r;
    s->shuffle_bytes = glint_counter(task, BLOOM_SHUFFLE_BYTES);
    enum bloom_result result =
        bloom_set_borrow(&s->set, s->input.sizes.params, s->input.sizes.count, NULL);
    if (result == BLOOM_OK && s->method == BLOOM_LISTS_ONCE)
        result = bloom_set_init(&s->seen, s->input.sizes.params, s->input.sizes.count);
    if (result != BLOOM_OK)
        return glint_fail(task, GLINT_E_FILTER_LIMIT, NULL, "%s", bloom_strerror(result));
    uint64_t cells = (uint64_t)FIELDS_ROWS_MAX * s->set.k;
    s->indexes = glint_scratch(task, cells * sizeof *s->indexes);
    s->bytes = glint_scratch(task, cells * INDEX_CODE_MAX + INDEX_CODE_SLACK);
    return s->indexes != NULL && s->bytes != NULL && s->shuffle_bytes >= 0 ? 0 : GLINT_E_NO_MEMORY;
}

/* The k of the row's filter, which is at most the set's k. */
static inline uint32_t row_hash_count(const struct indexes_state *s, uint32_t row)
{
    return s->input.sizes.params[s->input.filter[row]].k;
}

static inline uint64_t row_index_at(const struct indexes_state *s, uint64_t at)
{
    return s->set.wide ? s->indexes[at] : ((const uint32_t *)s->indexes)[at];
}

/* Returns true if the task emits this index of the key for the first time. */
static bool is_first_index_of_task(struct indexes_state *s, uint32_t row, uint64_t index)
{
    if (s->method != BLOOM_LISTS_ONCE) return true;
    uint8_t *byte = bloom_set_filter(&s->seen, s->input.filter[row]).bits + index / 8;
    const uint8_t bit = (uint8_t)(1u << index % 8);
    const bool set = (*byte & bit) != 0;
    *byte |= bit;
    return !set;
}

static uint32_t encode_row_indexes(struct indexes_state *s, uint32_t row, uint8_t *out)
{
    const uint64_t first = (uint64_t)row * s->set.k;
    const uint32_t k = row_hash_count(s, row), *narrow = (const uint32_t *)s->indexes + first;
    uint32_t used = 0;
    if (s->method == BLOOM_LISTS_VARINT && !s->set.wide) {
        for (uint32_t i = 0; i < k; i++) used += put_varint_narrow(out + used, narrow[i]);
        return used;
    }
    for (uint32_t i = 0; i < k; i++) {
        const uint64_t index = row_index_at(s, first + i);
        if (!is_first_index_of_task(s, row, index)) continue;
        used += s->method == BLOOM_LISTS_VINT ? put_vint(out + used, index)
                                              : put_varint(out + used, index);
    }
    return used;
}

/* Concatenates the encoded lists of the rows. Returns their size. */
static uint32_t encode_indexes_of_rows(struct indexes_state *s, uint32_t rows)
{
    uint32_t used = 0;
    for (uint32_t row = 0; row < rows; row++) {
        s->start[row] = used;
        used += encode_row_indexes(s, row, s->bytes + used);
        s->end[row] = used;
    }
    return used;
}

/* The same for lists that are not encoded. */
static uint32_t slice_raw_indexes(struct indexes_state *s, uint32_t rows)
{
    const uint32_t width = raw_index_bytes(&s->set);
    uint32_t used = 0;
    for (uint32_t row = 0; row < rows; row++) {
        s->start[row] = row * s->set.k * width;
        s->end[row] = s->start[row] + row_hash_count(s, row) * width;
        used += row_hash_count(s, row) * width;
    }
    return used;
}

static int emit_bloom_indexes(struct glint_task *task, void *state, const struct glint_batch *in,
                              struct glint_emitter *out)
{
    struct indexes_state *s = state;
    struct bloom_rows rows;
    int r = bloom_input_parse_rows(&s->input, task, in, &rows);
    if (r != 0) return r;
    if (s->set.wide)
        bloom_hash_rows_to_indexes_wide(&s->set, &rows, s->indexes);
    else
        bloom_hash_rows_to_indexes(&s->set, &rows, (uint32_t *)s->indexes);
    assert(rows.rows <= FIELDS_ROWS_MAX && s->set.k <= BLOOM_K_MAX);
    const bool fixed = s->method == BLOOM_LISTS_FIXED;
    const uint32_t used =
        fixed ? slice_raw_indexes(s, rows.rows) : encode_indexes_of_rows(s, rows.rows);
    const uint64_t size = fixed ? (uint64_t)rows.rows * s->set.k * raw_index_bytes(&s->set) : used;
    glint_counter_add(task, s->shuffle_bytes, used);
    struct glint_batch batch = {.rows = rows.rows,
                                .key = fields_key_column(&s->input.fields),
                                .value = {.type = GLINT_BYTES,
                                          .base = fixed ? (uint8_t *)s->indexes : s->bytes,
                                          .size = size,
                                          .start = s->start,
                                          .end = s->end},
                                .origin = in->origin};
    glint_emit_batch(out, &batch);
    return 0;
}

static void bloom_indexes_fini(struct glint_task *task, void *state)
{
    (void)task;
    struct indexes_state *s = state;
    bloom_set_fini(&s->set);
    bloom_set_fini(&s->seen);
}

#define INDEXES_FUNCTION(name_, key_)                                                              \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_MAP, .in = {GLINT_ANY, GLINT_TEXT},                      \
        .out = {key_, GLINT_BYTES}, .state_size = sizeof(struct indexes_state),                    \
        .open = bloom_indexes_init, .batch = emit_bloom_indexes, .close = bloom_indexes_fini       \
    }

const struct glint_function bloom_rating_indexes =
    INDEXES_FUNCTION("bloom.rating_indexes", GLINT_I64);
const struct glint_function bloom_text_indexes = INDEXES_FUNCTION("bloom.text_indexes", GLINT_TEXT);

/* ---- bloom.extend: concatenates the lists of a key, split into chunks */

static int append_index_lists(struct glint_task *task, void *state, struct glint_acc *acc,
                              const union glint_value *value)
{
    (void)state;
    return glint_acc_append(task, acc, value->bytes.data, value->bytes.size);
}

const struct glint_function bloom_extend = {.name = "bloom.extend",
                                            .kind = GLINT_KIND_REDUCE,
                                            .in = {GLINT_ANY, GLINT_BYTES},
                                            .out = {GLINT_SAME, GLINT_SAME},
                                            .merge = append_index_lists,
                                            .chunk_bytes_max = CHUNK_BYTES};

/* ---- bloom.fill: streams the chunks of a key into its filter */

struct fill_state {
    struct sizes sizes;
    const struct bloom_params *params; /* of the current key */
    uint8_t *memory; /* BLOOM_HEADER_MAX bytes, then the bits; sized for the largest filter */
    uint64_t size;
    int64_t method;          /* enum bloom_method, of lists */
    int overfull;            /* counter */
    struct bloom_set target; /* a set of one filter, whose bits are in `memory` */
    uint64_t indexes[FILL_INDEXES];
};

static_assert(CHUNK_BYTES <= 1 << 20, "a chunk fits a batch");
static_assert(FILL_INDEXES % 2 == 0, "narrow indexes share the wide ones' memory");

static int index_fill_init(struct glint_task *task, void *state)
{
    struct fill_state *s = state;
    int r = sizes_open(task, &s->sizes);
    if (r == 0) r = glint_arg_i64(task, "method", &s->method);
    for (uint32_t i = 0; r == 0 && i < s->sizes.count; i++) {
        uint64_t size = bloom_bytes(s->sizes.params[i].m);
        if (size > s->size) s->size = size;
    }
    s->overfull = glint_counter(task, BLOOM_OVERFULL);
    return r != 0 ? r : s->overfull < 0 ? GLINT_E_NO_MEMORY : 0;
}

static int index_fill_begin_key(struct glint_task *task, void *state, const union glint_value *key)
{
    struct fill_state *s = state;
    uint32_t number;
    int r = bloom_input_key_number(&s->sizes, task, key, &number);
    if (r != 0) return r;
    if (s->memory == NULL)
        s->memory = glint_scratch(task, BLOOM_HEADER_MAX + s->size + BLOOM_ALIGNMENT);
    if (s->memory == NULL) return GLINT_E_NO_MEMORY;
    s->params = &s->sizes.params[number];
    memset(s->memory + BLOOM_HEADER_MAX, 0, bloom_bytes(s->params->m));
    bloom_set_fini(&s->target);
    enum bloom_result result =
        bloom_set_borrow(&s->target, s->params, 1, s->memory + BLOOM_HEADER_MAX);
    if (result == BLOOM_OK) return 0;
    return glint_fail(task, GLINT_E_NO_MEMORY, NULL, "%s", bloom_strerror(result));
}

static bool set_index_bits(struct fill_state *s, uint32_t count)
{
    return s->target.wide ? bloom_set_bits_wide(&s->target, 0, s->indexes, count)
                          : bloom_set_bits(&s->target, 0, (const uint32_t *)s->indexes, count);
}

/* Decodes up to FILL_INDEXES indexes and sets their bits. Returns the bytes read, or 0 if the list
 * is corrupt. */
static uint64_t index_fill_varints(struct fill_state *s, const uint8_t *from, const uint8_t *end)
{
    const uint8_t *at = from;
    const bool wide = s->target.wide;
    uint32_t *narrow = (uint32_t *)s->indexes, count = 0, size = 1;
    for (; at < end && count < FILL_INDEXES && size > 0; at += size, count++)
        size =
            wide ? get_varint(at, end, &s->indexes[count]) : get_varint_narrow(at, &narrow[count]);
    return size > 0 && at <= end && set_index_bits(s, count) ? (uint64_t)(at - from) : 0;
}

/* The same for Hadoop's encoding. */
static uint64_t index_fill_vints(struct fill_state *s, const uint8_t *from, const uint8_t *end)
{
    const uint8_t *at = from;
    uint32_t *narrow = (uint32_t *)s->indexes, count = 0, size = 1;
    for (; at < end && count < FILL_INDEXES; at += size, count++) {
        uint64_t index;
        size = get_vint(at, end, &index);
        if (size == 0 || (!s->target.wide && index > UINT32_MAX)) return 0;
        if (s->target.wide)
            s->indexes[count] = index;
        else
            narrow[count] = (uint32_t)index;
    }
    return set_index_bits(s, count) ? (uint64_t)(at - from) : 0;
}

/* The same for indexes that are not encoded. */
static uint64_t index_fill_fixed(struct fill_state *s, const uint8_t *from, const uint8_t *end)
{
    const uint64_t width = raw_index_bytes(&s->target), left = (uint64_t)(end - from) / width;
    const uint32_t count = left < FILL_INDEXES ? (uint32_t)left : FILL_INDEXES;
    assert(from < end && count * width <= sizeof s->indexes);
    memcpy(s->indexes, from, count * width);
    return set_index_bits(s, count) ? count * width : 0;
}

/* A chunk ends at the end of a row's list, so no index is split. */
static int index_fill_add_list(struct glint_task *task, void *state, const struct glint_record *in,
                               struct glint_emitter *out)
{
    (void)out;
    struct fill_state *s = state;
    const uint8_t *at = in->value.bytes.data, *end = at + in->value.bytes.size;
    while (at < end) {
        const uint64_t read = s->method == BLOOM_LISTS_FIXED  ? index_fill_fixed(s, at, end)
                              : s->method == BLOOM_LISTS_VINT ? index_fill_vints(s, at, end)
                                                              : index_fill_varints(s, at, end);
        if (read == 0)
            return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid list of indexes");
        at += read;
    }
    return 0;
}

static int index_fill_emit_filter(struct glint_task *task, void *state,
                                  const union glint_value *key, struct glint_emitter *out)
{
    struct fill_state *s = state;
    assert(s->params != NULL && s->memory != NULL);
    bloom_count_overfull_filter(task, s->overfull, s->params, s->memory + BLOOM_HEADER_MAX);
    bloom_emit_filter(s->params, key, s->memory, out);
    return 0;
}

static void index_fill_fini(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct fill_state *)state)->target);
}

const struct glint_function bloom_fill = {.name = "bloom.fill",
                                          .kind = GLINT_KIND_GROUP,
                                          .in = {GLINT_ANY, GLINT_BYTES},
                                          .out = {GLINT_SAME, GLINT_MSGPACK},
                                          .state_size = sizeof(struct fill_state),
                                          .open = index_fill_init,
                                          .begin_group = index_fill_begin_key,
                                          .each = index_fill_add_list,
                                          .end_group = index_fill_emit_filter,
                                          .close = index_fill_fini};
