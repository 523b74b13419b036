/* bloom-test of filters in segments. No task has more than one segment's bits in memory, so the
 * bits that a row needs are requested from the segments, and the segments return the rows that miss
 * a bit:
 *
 *     rows    -> (segment, the k bits that each row needs) -----.
 *     filters -> (segment, its bits) ------------ cogroup, bits first -> the rows that miss a bit
 *            -> reduceByKey (a row is missed once) -> (key, (missed, rows)) -> reduceByKey(+)
 *
 * A hit is a row that no segment reports as missed. So hits, which need k confirmations, cost
 * nothing in the last shuffles.
 *
 * A row's number is its partition, its key's number and its position in the partition: 17, 12 and
 * 34 bits, so it is never negative. The number of rows of a key in a task is sent as a record with
 * the number -1 - key. */
#include "engine/batch.h"
#include "engine/limits.h"
#include "jobs/filters/segments.h"

#include <assert.h>
#include <string.h>

#define PLACE_END ((uint64_t)1 << SEGMENTS_PLACE_BITS)
enum { HEAD_BYTES = 8 };

static_assert(SEGMENTS_PLACE_BITS + SEGMENTS_KEY_BITS + SEGMENTS_PARTITION_BITS == 63,
              "a row's number is not negative");
static_assert((int)BLOOM_SET_MAX <= 1 << SEGMENTS_KEY_BITS, "a key's number fits");
static_assert(PARTITIONS_MAX <= 1 << SEGMENTS_PARTITION_BITS, "a partition's number fits");

/* ---- bloom.segment_probes: lists of (row, bit), each after the batch's first row; for the rows of
 * a key only their number, in a list without entries */

struct probes_state {
    struct bloom_input input;
    struct segments_lists lists;
    uint64_t *rows; /* per key */
    uint64_t first; /* number of the first row of the next batch, without its key */
    uint64_t end;   /* end of the partition's numbers */
    int no_filter;
};

static int segment_probes_init(struct glint_task *task, void *state)
{
    struct probes_state *s = state;
    int r = bloom_input_open(task, &s->input);
    if (r == 0) r = segments_lists_open(task, &s->input.sizes, &s->lists);
    if (r != 0) return r;
    s->rows = glint_scratch(task, sizeof *s->rows * s->input.sizes.count);
    s->no_filter = glint_counter(task, BLOOM_NO_FILTER);
    if (s->rows == NULL || s->no_filter < 0) return GLINT_E_NO_MEMORY;
    memset(s->rows, 0, sizeof *s->rows * s->input.sizes.count);
    s->first = (uint64_t)glint_partition(task) << (SEGMENTS_PLACE_BITS + SEGMENTS_KEY_BITS);
    s->end = s->first + PLACE_END;
    return 0;
}

static int segment_probes_add_rows(struct glint_task *task, void *state,
                                   const struct glint_batch *in, struct glint_emitter *out)
{
    struct probes_state *s = state;
    struct bloom_rows rows;
    uint8_t head[HEAD_BYTES];
    int r = bloom_input_parse_known_rows(&s->input, task, in, s->no_filter, &rows);
    if (r != 0) return r;
    if (s->end - s->first < rows.rows)
        return glint_fail(task, GLINT_E_PLAN_LIMIT, "use a smaller --split-size",
                          "a partition has more than %llu rows", (unsigned long long)PLACE_END);
    memcpy(head, &s->first, sizeof head);
    segments_lists_make(&s->lists, &rows, (struct glint_slice){head, sizeof head}, true);
    for (uint32_t row = 0; row < rows.rows; row++) s->rows[rows.filter[row]]++;
    s->first += rows.rows;
    segments_lists_emit(task, &s->lists, in->origin, out);
    return 0;
}

static int emit_segment_row_counts(struct glint_task *task, void *state, struct glint_emitter *out)
{
    (void)task;
    struct probes_state *s = state;
    for (uint32_t key = 0; key < s->input.sizes.count; key++) {
        if (s->rows[key] == 0) continue;
        assert(s->input.sizes.present[key]);
        struct glint_record record = {
            .key.i64 = s->lists.segments.first[key],
            .value.bytes = {(const uint8_t *)&s->rows[key], sizeof s->rows[key]}};
        glint_emit(out, &record);
    }
    return 0;
}

static void segment_probes_fini(struct glint_task *task, void *state)
{
    (void)task;
    segments_lists_close(&((struct probes_state *)state)->lists);
}

const struct glint_function segments_probes = {.name = "bloom.segment_probes",
                                               .kind = GLINT_KIND_FLAT_MAP,
                                               .in = {GLINT_ANY, GLINT_TEXT},
                                               .out = {GLINT_I64, GLINT_BYTES},
                                               .state_size = sizeof(struct probes_state),
                                               .open = segment_probes_init,
                                               .batch = segment_probes_add_rows,
                                               .end = emit_segment_row_counts,
                                               .close = segment_probes_fini};

/* ---- bloom.segment_bits: the bits of a segment, by its number */

struct numbers_state {
    struct sizes sizes;
    struct segments segments;
};

static int segment_numbers_init(struct glint_task *task, void *state)
{
    struct numbers_state *s = state;
    int r = sizes_open(task, &s->sizes);
    return r == 0 ? segments_open(task, &s->sizes, &s->segments) : r;
}

static int emit_segment_bits(struct glint_task *task, void *state, const struct glint_record *in,
                             struct glint_emitter *out)
{
    struct numbers_state *s = state;
    struct bloom_segment segment;
    const struct glint_slice *value = &in->value.bytes;
    enum bloom_result result = bloom_segment_decode(value->data, value->size, &segment);
    if (result != BLOOM_OK)
        return glint_fail(task, GLINT_E_FILTER_INVALID, NULL, "a segment: %s",
                          bloom_strerror(result));
    const uint32_t key = key_counts_find(&s->sizes, &in->key);
    if (key == SIZES_NONE || s->sizes.params[key].m != segment.params.m ||
        segment.size != segments_bits_each(&s->segments))
        return glint_fail(task, GLINT_E_INPUT_CHANGED, NULL,
                          "the filters changed while the job ran");
    assert(segment.index < s->segments.first[key + 1] - s->segments.first[key]);
    struct glint_record record = {
        .key.i64 = s->segments.first[key] + (int64_t)segment.index,
        .value.bytes = {segment.bits, bloom_bytes(bloom_segment_bits(&segment))}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function segments_bits = {.name = "bloom.segment_bits",
                                             .kind = GLINT_KIND_MAP,
                                             .in = {GLINT_ANY, GLINT_MSGPACK},
                                             .out = {GLINT_I64, GLINT_BYTES},
                                             .state_size = sizeof(struct numbers_state),
                                             .open = segment_numbers_init,
                                             .each = emit_segment_bits};

/* ---- bloom.probe_segment: reads the bits, then the lists that need them. Emits the rows that miss
 * a bit, and for lists that only count rows the count, negative. */

struct segment_probe_state {
    struct sizes sizes;
    struct segments segments;
    uint8_t *memory; /* the bits */
    uint64_t room;   /* allocated bytes */
    uint64_t size;   /* size of the bits, in bytes; 0: not received yet */
    uint64_t key;    /* the key's number, shifted to its position in a row's number */
};

static int segment_probe_init(struct glint_task *task, void *state)
{
    struct segment_probe_state *s = state;
    int r = sizes_open(task, &s->sizes);
    if (r == 0) r = segments_open(task, &s->sizes, &s->segments);
    if (r != 0) return r;
    s->room = segments_bytes(&s->sizes, s->segments.log2);
    s->memory = glint_scratch(task, s->room);
    return s->memory != NULL ? 0 : GLINT_E_NO_MEMORY;
}

static int segment_probe_begin_key(struct glint_task *task, void *state,
                                   const union glint_value *key)
{
    struct segment_probe_state *s = state;
    uint32_t number;
    uint64_t index;
    s->size = 0;
    if (!segments_find(&s->segments, &s->sizes, key->i64, &number, &index))
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid segment");
    s->key = (uint64_t)number << SEGMENTS_PLACE_BITS;
    return 0;
}

static void emit_number_of_key(struct glint_emitter *out, const struct glint_record *in,
                               int64_t number)
{
    struct glint_record record = {.key = in->key, .value.i64 = number};
    glint_emit(out, &record);
}

/* Returns false if the list is invalid. */
static bool probe_index_list(const struct segment_probe_state *s, const struct glint_record *in,
                             struct glint_slice list, struct glint_emitter *out)
{
    const uint32_t width = segments_index_bytes(&s->segments), unit = SEGMENTS_ROW_BYTES + width;
    const uint32_t mask = segments_index_mask(&s->segments);
    uint64_t first;
    if (list.size < HEAD_BYTES || (list.size - HEAD_BYTES) % unit != 0) return false;
    memcpy(&first, list.data, sizeof first);
    for (uint64_t at = HEAD_BYTES; at < list.size; at += unit) {
        uint16_t row;
        memcpy(&row, list.data + at, sizeof row);
        const uint32_t bit = segments_read_index(list.data + at + SEGMENTS_ROW_BYTES, mask);
        if (bit / 8 >= s->size) return false;
        if ((s->memory[bit / 8] >> bit % 8 & 1) == 0)
            emit_number_of_key(out, in, (int64_t)((first + row) | s->key));
    }
    return true;
}

static int segment_probe_each(struct glint_task *task, void *state, const struct glint_record *in,
                              struct glint_emitter *out)
{
    struct segment_probe_state *s = state;
    const struct glint_pair pair = glint_pair(&in->value);
    if (pair.left.type != GLINT_I64 || pair.right.type != GLINT_BYTES)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid pair of a cogroup");
    const struct glint_slice bytes = pair.right.value.bytes;
    if (pair.left.value.i64 == 0) {
        if (s->size > 0 || bytes.size > s->room)
            return glint_fail(task, GLINT_E_INPUT_CHANGED, NULL,
                              "the filters changed while the job ran");
        memcpy(s->memory, bytes.data, bytes.size);
        s->size = bytes.size;
        return 0;
    }
    if (s->size == 0)
        return glint_fail(task, GLINT_E_INPUT_CHANGED, NULL,
                          "the filters changed while the job ran");
    int64_t rows;
    static_assert(sizeof rows == HEAD_BYTES, "a list that only counts has no indexes");
    if (bytes.size == sizeof rows) {
        memcpy(&rows, bytes.data, sizeof rows);
        emit_number_of_key(out, in, -rows);
        return 0;
    }
    if (probe_index_list(s, in, bytes, out)) return 0;
    return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid list of indexes");
}

static int segment_probe_end(struct glint_task *task, void *state, const union glint_value *key,
                             struct glint_emitter *out)
{
    (void)task, (void)state, (void)key, (void)out;
    return 0;
}

const struct glint_function segments_probe = {.name = "bloom.probe_segment",
                                              .kind = GLINT_KIND_GROUP,
                                              .in = {GLINT_I64, GLINT_MSGPACK},
                                              .out = {GLINT_SAME, GLINT_I64},
                                              .state_size = sizeof(struct segment_probe_state),
                                              .open = segment_probe_init,
                                              .begin_group = segment_probe_begin_key,
                                              .each = segment_probe_each,
                                              .end_group = segment_probe_end};

/* ---- bloom.segment_rows: (row's number, 1), (-1 - key's number, rows) */

struct segment_rows_state {
    struct numbers_state numbers;
    int64_t key[FIELDS_ROWS_MAX], value[FIELDS_ROWS_MAX];
};

static int emit_segment_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                             struct glint_emitter *out)
{
    struct segment_rows_state *s = state;
    assert(in->rows <= FIELDS_ROWS_MAX);
    for (uint32_t row = 0; row < in->rows; row++) {
        const int64_t value = in->value.i64[row];
        uint32_t number = 0;
        uint64_t index;
        if (value < 0 && !segments_find(&s->numbers.segments, &s->numbers.sizes, in->key.i64[row],
                                        &number, &index))
            return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid segment");
        s->key[row] = value < 0 ? -1 - (int64_t)number : value;
        s->value[row] = value < 0 ? -value : 1;
    }
    struct glint_batch batch = {.rows = in->rows,
                                .key = {.type = GLINT_I64, .i64 = s->key},
                                .value = {.type = GLINT_I64, .i64 = s->value},
                                .origin = in->origin};
    glint_emit_batch(out, &batch);
    return 0;
}

const struct glint_function segments_rows = {.name = "bloom.segment_rows",
                                             .kind = GLINT_KIND_MAP,
                                             .in = {GLINT_I64, GLINT_I64},
                                             .out = {GLINT_I64, GLINT_I64},
                                             .state_size = sizeof(struct segment_rows_state),
                                             .open = segment_numbers_init,
                                             .batch = emit_segment_rows};
