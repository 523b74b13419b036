/* Shared by building and testing in segments: numbers of segments, and lists of indexes per
 * segment. */
#include "jobs/filters/segments.h"

#include <assert.h>
#include <string.h>

uint64_t segments_total(const struct sizes *sizes, uint32_t log2)
{
    uint64_t total = 0;
    assert(log2 >= BLOOM_SEGMENT_LOG2_MIN && log2 <= BLOOM_SEGMENT_LOG2_MAX);
    for (uint32_t i = 0; i < sizes->count; i++)
        total += bloom_segments(sizes->params[i].m, (uint64_t)1 << log2);
    return total;
}

uint64_t segments_bytes(const struct sizes *sizes, uint32_t log2)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < sizes->count; i++)
        if (sizes->params[i].m > largest) largest = sizes->params[i].m;
    const uint64_t size = (uint64_t)1 << log2;
    assert(largest > 0);
    return bloom_bytes(largest < size ? largest : size);
}

void segments_assign_numbers(const struct sizes *sizes, struct segments *s)
{
    assert(segments_total(sizes, s->log2) <= SEGMENTS_MAX);
    s->count = 0;
    for (uint32_t i = 0; i < sizes->count; i++) {
        s->first[i] = s->count;
        s->count += (uint32_t)bloom_segments(sizes->params[i].m, segments_bits_each(s));
    }
    s->first[sizes->count] = s->count;
}

int segments_open(struct glint_task *task, const struct sizes *sizes, struct segments *out)
{
    int64_t log2;
    int r = glint_arg_i64(task, "segment", &log2);
    if (r != 0) return r;
    if (log2 < BLOOM_SEGMENT_LOG2_MIN || log2 > BLOOM_SEGMENT_LOG2_MAX ||
        segments_total(sizes, (uint32_t)log2) > SEGMENTS_MAX)
        return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "invalid segment size");
    out->log2 = (uint32_t)log2;
    out->first = glint_scratch(task, sizeof *out->first * (sizes->count + 1));
    if (out->first == NULL) return GLINT_E_NO_MEMORY;
    segments_assign_numbers(sizes, out);
    return 0;
}

bool segments_find(const struct segments *s, const struct sizes *sizes, int64_t number,
                   uint32_t *out_key, uint64_t *out_index)
{
    if (number < 0 || number >= s->count) return false;
    uint32_t low = 0, high = sizes->count; /* first[low] <= number < first[high] */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (s->first[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    *out_key = low;
    *out_index = (uint64_t)number - s->first[low];
    assert(*out_index < s->first[low + 1] - s->first[low]);
    return true;
}

/* ---- Lists */

enum { LIST_HEAD_MAX = 8, INDEX_BYTES_MAX = 4 };

static_assert((uint64_t)FIELDS_ROWS_MAX * SEGMENTS_K_MAX *
                      (LIST_HEAD_MAX + SEGMENTS_ROW_BYTES + INDEX_BYTES_MAX) <=
                  1 << 20,
              "the lists of a batch are a batch");
static_assert(FIELDS_ROWS_MAX <= 1 << 8 * SEGMENTS_ROW_BYTES, "a row fits");

int segments_lists_open(struct glint_task *task, const struct sizes *sizes,
                        struct segments_lists *out)
{
    int r = segments_open(task, sizes, &out->segments);
    if (r != 0) return r;
    out->shuffle_bytes = glint_counter(task, BLOOM_SHUFFLE_BYTES);
    enum bloom_result result = bloom_set_borrow(&out->set, sizes->params, sizes->count, NULL);
    if (result != BLOOM_OK)
        return glint_fail(task, GLINT_E_FILTER_LIMIT, NULL, "%s", bloom_strerror(result));
    const uint64_t cells = (uint64_t)FIELDS_ROWS_MAX * out->set.k, count = out->segments.count;
    out->indexes = glint_scratch(task, cells * sizeof *out->indexes);
    out->number = glint_scratch(task, cells * sizeof *out->number);
    out->start = glint_scratch(task, cells * sizeof *out->start);
    out->end = glint_scratch(task, cells * sizeof *out->end);
    out->bytes =
        glint_scratch(task, cells * (LIST_HEAD_MAX + SEGMENTS_ROW_BYTES + INDEX_BYTES_MAX));
    out->cursor = glint_scratch(task, count * sizeof *out->cursor);
    out->seen = glint_scratch(task, count);
    if (out->indexes == NULL || out->number == NULL || out->start == NULL || out->end == NULL ||
        out->bytes == NULL || out->cursor == NULL || out->seen == NULL || out->shuffle_bytes < 0)
        return GLINT_E_NO_MEMORY;
    memset(out->cursor, 0, count * sizeof *out->cursor);
    memset(out->seen, 0, count);
    return 0;
}

void segments_lists_close(struct segments_lists *lists)
{
    bloom_set_fini(&lists->set);
}

/* Counts the indexes per segment, and lists the segments that have any; changes indexes to be
 * relative to their segment. */
static void count_indexes(struct segments_lists *l, const struct bloom_rows *rows)
{
    const uint32_t k = l->set.k;
    l->lists = 0;
    for (uint32_t row = 0; row < rows->rows; row++) {
        const uint32_t first = l->segments.first[rows->filter[row]];
        for (uint32_t i = 0; i < k; i++) {
            uint32_t segment =
                first + (uint32_t)(l->indexes[(uint64_t)row * k + i] >> l->segments.log2);
            assert(segment < l->segments.count);
            if (l->cursor[segment]++ == 0) l->number[l->lists++] = segment;
        }
    }
}

/* Reserves memory for each list; its count is replaced by the offset of its first index. */
static void assign_list_offsets(struct segments_lists *l, struct glint_slice head, uint32_t unit)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < l->lists; i++) {
        const uint32_t size = (uint32_t)head.size + l->cursor[l->number[i]] * unit;
        l->start[i] = at;
        l->end[i] = at + size;
        if (head.size > 0) memcpy(l->bytes + at, head.data, head.size);
        l->cursor[l->number[i]] = at + (uint32_t)head.size;
        l->seen[l->number[i]] = true;
        at += size;
    }
    l->used = at;
}

static inline void put_little_endian(uint8_t *at, uint32_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

void segments_lists_make(struct segments_lists *l, const struct bloom_rows *rows,
                         struct glint_slice head, bool with_rows)
{
    const uint32_t k = l->set.k, width = segments_index_bytes(&l->segments),
                   log2 = l->segments.log2;
    const uint32_t row_bytes = with_rows ? SEGMENTS_ROW_BYTES : 0, unit = row_bytes + width;
    const uint64_t mask = segments_bits_each(&l->segments) - 1;
    assert(head.size <= LIST_HEAD_MAX && rows->rows <= FIELDS_ROWS_MAX);
    bloom_hash_rows_to_indexes_wide(&l->set, rows, l->indexes);
    count_indexes(l, rows);
    assign_list_offsets(l, head, unit);
    for (uint32_t row = 0; row < rows->rows; row++) {
        const uint32_t first = l->segments.first[rows->filter[row]];
        const uint64_t *indexes = l->indexes + (uint64_t)row * k;
        for (uint32_t i = 0; i < k; i++) {
            uint32_t *cursor = &l->cursor[first + (uint32_t)(indexes[i] >> log2)];
            put_little_endian(l->bytes + *cursor, row, row_bytes);
            put_little_endian(l->bytes + *cursor + row_bytes, (uint32_t)(indexes[i] & mask), width);
            *cursor += unit;
        }
    }
    for (uint32_t i = 0; i < l->lists; i++) {
        assert(l->cursor[l->number[i]] == l->end[i]);
        l->cursor[l->number[i]] = 0;
    }
}

void segments_lists_emit(struct glint_task *task, const struct segments_lists *l,
                         const struct glint_origin *origin, struct glint_emitter *out)
{
    glint_counter_add(task, l->shuffle_bytes, l->used);
    for (uint32_t i = 0; i < l->lists; i += FIELDS_ROWS_MAX) {
        const uint32_t left = l->lists - i;
        struct glint_batch batch = {.rows = left < FIELDS_ROWS_MAX ? left : FIELDS_ROWS_MAX,
                                    .key = {.type = GLINT_I64, .i64 = l->number + i},
                                    .value = {.type = GLINT_BYTES,
                                              .base = l->bytes,
                                              .size = l->used,
                                              .start = l->start + i,
                                              .end = l->end + i},
                                    .origin = origin};
        glint_emit_batch(out, &batch);
    }
}
