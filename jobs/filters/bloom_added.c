/* bloom-build --add-to and --remove-from, for few rows: tasks hash them, the driver sorts their
 * indexes by filter and broadcasts them, and the tasks that read the filters set the bits. So the
 * filters pass no shuffle: each is read, changed where it is in memory, and written, in the order
 * of the files.
 *
 *     rows -> bloom.added_rows -> collect -> broadcast -.
 *     filters ------------------------------------------+-> bloom.add_rows
 *
 * What a task collects of a batch:  filter.2 of each row, then k indexes of each row
 * The broadcast:                    first.8 of each filter and of the end, then the indexes
 *
 * A row to remove has the beginning of its id behind its indexes, for errors: size.1, 31 bytes.
 *
 * Indexes have 4 bytes, or 8 if they do not fit; a filter with fewer hashes than others repeats
 * one. All is native-endian, since driver and executors are the same build. */
#include "engine/base/text.h"
#include "engine/batch.h"
#include "engine/limits.h"
#include "jobs/bloom/counting.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/bloom_pipeline.h"
#include "jobs/rows/id_values.h"
#include "jobs/rows/task_results.h"

#include <assert.h>
#include <string.h>

enum {
    FILTER_NUMBER_BYTES = sizeof(uint16_t),
    SHOWN_BYTES = 32, /* of an id to remove */
    HASHES_SHARE = 2, /* hashes use 1/HASHES_SHARE of a slot's memory, their broadcast the rest */
    ROW_BYTES_MIN = 2,
    EXPECTED_FACTOR = 8, /* bytes of a row's indexes and number for each byte of rows, at most */
};

static uint64_t bytes_of_added_row(const struct sizes *s, bool remove)
{
    const uint64_t width = bloom_indexes_are_wide(&s->params[0]) ? sizeof(uint64_t) : 4;
    return width * bloom_largest_k(s) + (remove ? SHOWN_BYTES : 0);
}

/* ---- bloom.added_rows */

struct added_rows_state {
    struct bloom_input input;
    struct bloom_set set; /* the parameters; its bits are not used */
    uint64_t *indexes;    /* [FIELDS_ROWS_MAX * k] */
    uint8_t *bytes;       /* of a batch */
    uint64_t row_bytes;   /* of the indexes of a row, and what is behind them */
    int64_t remove;
};

static int added_rows_init(struct glint_task *task, void *state)
{
    struct added_rows_state *s = state;
    int r = bloom_input_open(task, &s->input);
    if (r != 0) return r;
    const struct sizes *sizes = &s->input.sizes;
    const enum bloom_result result = bloom_set_borrow(&s->set, sizes->params, sizes->count, NULL);
    if (result != BLOOM_OK)
        return glint_fail(task, GLINT_E_FILTER_LIMIT, NULL, "%s", bloom_strerror(result));
    r = glint_arg_i64(task, "remove", &s->remove);
    if (r != 0) return r;
    s->row_bytes = bytes_of_added_row(sizes, s->remove != 0);
    s->indexes = glint_scratch(task, FIELDS_ROWS_MAX * s->set.k * sizeof *s->indexes);
    s->bytes = glint_scratch(task, FIELDS_ROWS_MAX * (FILTER_NUMBER_BYTES + s->row_bytes));
    return s->indexes != NULL && s->bytes != NULL ? 0 : GLINT_E_NO_MEMORY;
}

/* Copies what a batch's rows have, one row behind another. */
static void put_added_rows(const struct added_rows_state *s, const struct bloom_rows *rows,
                           uint8_t *out)
{
    const uint64_t shown = s->remove != 0 ? SHOWN_BYTES : 0, indexes = s->row_bytes - shown;
    if (shown == 0) memcpy(out, s->indexes, rows->rows * indexes);
    for (uint32_t row = 0; shown > 0 && row < rows->rows; row++, out += s->row_bytes) {
        const uint32_t size = rows->end[row] - rows->start[row];
        memcpy(out, (const uint8_t *)s->indexes + row * indexes, indexes);
        memset(out + indexes, 0, shown);
        out[indexes] = (uint8_t)(size < shown ? size : shown);
        memcpy(out + indexes + 1, rows->base + rows->start[row], size < shown ? size : shown - 1);
    }
}

static int emit_added_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                           struct glint_emitter *out)
{
    struct added_rows_state *s = state;
    struct bloom_rows rows;
    int r = bloom_input_parse_rows(&s->input, task, in, &rows);
    if (r != 0 || rows.rows == 0) return r;
    assert(rows.rows <= FIELDS_ROWS_MAX && s->set.k <= BLOOM_K_MAX);
    if (s->set.wide)
        bloom_hash_rows_to_indexes_wide(&s->set, &rows, s->indexes);
    else
        bloom_hash_rows_to_indexes(&s->set, &rows, (uint32_t *)s->indexes);
    const uint64_t numbers = (uint64_t)rows.rows * FILTER_NUMBER_BYTES;
    memcpy(s->bytes, s->input.filter, numbers);
    put_added_rows(s, &rows, s->bytes + numbers);
    const struct glint_record record = {
        .value.bytes = {s->bytes, numbers + rows.rows * s->row_bytes}};
    glint_emit(out, &record);
    return 0;
}

static void added_rows_fini(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct added_rows_state *)state)->set);
}

const struct glint_function bloom_added_rows = {.name = "bloom.added_rows",
                                                .kind = GLINT_KIND_FLAT_MAP,
                                                .in = {GLINT_ANY, GLINT_TEXT},
                                                .out = {GLINT_NONE, GLINT_BYTES},
                                                .state_size = sizeof(struct added_rows_state),
                                                .open = added_rows_init,
                                                .batch = emit_added_rows,
                                                .close = added_rows_fini};

/* ---- The driver */

struct added_rows {
    struct glint *g;
    const struct sizes *sizes;
    uint64_t row_bytes;
    uint8_t *bytes; /* rows.8, then what a task sent of them; of all batches */
    uint64_t used, capacity, expected, need;
    uint64_t *first; /* of each filter: the number of its rows, later where they begin */
};

static int reserve_added_bytes(struct added_rows *a, uint64_t more)
{
    assert(a->used + more <= glint_slot_memory(a->g) / HASHES_SHARE);
    if (a->used + more <= a->capacity) return 0;
    uint64_t capacity = 2 * (a->used + more);
    if (capacity < a->expected) capacity = a->expected; /* pages that are not used cost nothing */
    uint8_t *bytes = glint_alloc(a->g, capacity);
    if (bytes == NULL) return glint_error(a->g)->code;
    if (a->used > 0) memcpy(bytes, a->bytes, a->used);
    glint_free(a->bytes);
    a->bytes = bytes;
    a->capacity = capacity;
    return 0;
}

static int collect_added_rows(void *arg, const struct glint_record *record)
{
    struct added_rows *a = arg;
    const struct glint_slice bytes = record->value.bytes;
    const uint64_t row = FILTER_NUMBER_BYTES + a->row_bytes, rows = bytes.size / row;
    if (rows == 0 || bytes.size % row != 0) return task_result_fail(a->g, "invalid hashes of rows");
    for (uint64_t i = 0; i < rows; i++) {
        uint16_t number;
        memcpy(&number, bytes.data + i * sizeof number, sizeof number);
        if (number >= a->sizes->count) return task_result_fail(a->g, "an invalid filter of a row");
        a->first[number]++;
    }
    a->need += sizeof rows + bytes.size;
    if (a->need > glint_slot_memory(a->g) / HASHES_SHARE) return 0; /* only counted, for an error */
    if (reserve_added_bytes(a, sizeof rows + bytes.size) != 0) return glint_error(a->g)->code;
    memcpy(a->bytes + a->used, &rows, sizeof rows);
    memcpy(a->bytes + a->used + sizeof rows, bytes.data, bytes.size);
    a->used += sizeof rows + bytes.size;
    return 0;
}

/* Turns numbers of rows into the offsets of their ends in the broadcast; returns its size. */
static uint64_t set_ends_of_added_rows(struct added_rows *a)
{
    uint64_t end = (a->sizes->count + 1) * sizeof *a->first;
    for (uint32_t f = 0; f < a->sizes->count; f++) {
        const uint64_t rows = a->first[f];
        a->first[f] = end;
        end += rows * a->row_bytes;
    }
    return a->first[a->sizes->count] = end;
}

static struct glint_broadcast *broadcast_added_rows(struct added_rows *a)
{
    const uint64_t size = set_ends_of_added_rows(a), row = a->row_bytes;
    uint8_t *out = glint_alloc(a->g, size);
    if (out == NULL) return NULL;
    memcpy(out, a->first, (a->sizes->count + 1) * sizeof *a->first);
    for (uint64_t at = 0; at < a->used;) {
        uint64_t rows;
        memcpy(&rows, a->bytes + at, sizeof rows);
        const uint8_t *numbers = a->bytes + at + sizeof rows;
        const uint8_t *indexes = numbers + rows * FILTER_NUMBER_BYTES;
        for (uint64_t i = 0; i < rows; i++) {
            uint16_t number;
            memcpy(&number, numbers + i * sizeof number, sizeof number);
            assert(a->first[number] + row <= size);
            memcpy(out + a->first[number], indexes + i * row, row);
            a->first[number] += row;
        }
        at += sizeof rows + rows * (FILTER_NUMBER_BYTES + row);
    }
    return glint_broadcast(a->g, out, size);
}

bool bloom_can_broadcast_rows(const struct glint_rdd *lines, const struct sizes *s, bool remove)
{
    const uint64_t row = FILTER_NUMBER_BYTES + bytes_of_added_row(s, remove);
    return glint_input_bytes(lines) / ROW_BYTES_MIN <=
           glint_slot_memory(glint_context(lines)) / HASHES_SHARE / row;
}

static int set_added_memory_error(const struct added_rows *a)
{
    const uint64_t need = HASHES_SHARE * a->need;
    char hint[128];
    text_format(hint, sizeof hint, "raise --memory, so that each slot has %llu MiB",
                (unsigned long long)(need / MIB + 1));
    return glint_abort(a->g, GLINT_E_MEMORY_LIMIT, hint,
                       "the hashes of the rows need %llu bytes per slot, --memory gives %llu",
                       (unsigned long long)need, (unsigned long long)glint_slot_memory(a->g));
}

struct glint_rdd *bloom_add_few_rows(struct glint_rdd *lines, struct glint_rdd *filters,
                                     const struct sizes *s, struct glint_args *args, bool remove)
{
    struct added_rows a = {.g = glint_context(lines),
                           .sizes = s,
                           .row_bytes = bytes_of_added_row(s, remove),
                           .expected = EXPECTED_FACTOR * glint_input_bytes(lines)};
    const uint64_t firsts = (s->count + 1) * sizeof *a.first;
    struct glint_broadcast *added = NULL;
    struct glint_rdd *rows = glint_flat_map(lines, &bloom_added_rows, args);
    a.first = glint_alloc(a.g, firsts);
    if (rows != NULL && a.first != NULL) {
        memset(a.first, 0, firsts);
        int r = glint_collect_each(rows, collect_added_rows, &a);
        if (r == 0 && a.need > a.used) r = set_added_memory_error(&a);
        if (r == 0) added = broadcast_added_rows(&a);
    }
    glint_free(a.bytes);
    glint_free(a.first);
    if (added == NULL) return NULL;
    glint_args_add_broadcast(args, "added", added);
    return glint_map_values(filters, &bloom_add_rows, args);
}

/* ---- bloom.add_rows: sets the bits of a filter's new rows */

struct add_rows_state {
    struct sizes sizes;
    struct glint_slice added;
    uint64_t row_bytes;
    int64_t strict, remove;
    int overfull; /* counter */
};

static int add_rows_init(struct glint_task *task, void *state)
{
    struct add_rows_state *s = state;
    int r = sizes_open(task, &s->sizes);
    if (r == 0) r = glint_arg_broadcast(task, "added", &s->added);
    if (r == 0) r = glint_arg_i64(task, "strict", &s->strict);
    if (r == 0) r = glint_arg_i64(task, "remove", &s->remove);
    if (r != 0) return r;
    s->row_bytes = bytes_of_added_row(&s->sizes, s->remove != 0);
    s->overfull = glint_counter(task, BLOOM_OVERFULL);
    if (s->added.size < (s->sizes.count + 1) * sizeof(uint64_t))
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "the broadcast rows are truncated");
    return s->overfull < 0 ? GLINT_E_NO_MEMORY : 0;
}

/* Names the id, whose beginning is in `shown`. */
static int set_absent_id_error(struct glint_task *task, const struct add_rows_state *s,
                               uint32_t number, const uint8_t *shown)
{
    char key[256], id[ID_VALUE_TEXT_MAX];
    const bool whole = shown[0] < SHOWN_BYTES;
    id_value_format(s->sizes.params[number].id_type, shown + 1, whole ? shown[0] : SHOWN_BYTES - 1,
                    whole, id);
    sizes_key_text(&s->sizes, number, key, sizeof key);
    return glint_fail(task, GLINT_E_FILTER_MISMATCH, BLOOM_ABSENT_HINT,
                      "the id \"%s\"%s is not in the filter of key %s", id, whole ? "" : "...",
                      key);
}

/* Adds the rows to the counters, or removes them. A filter with fewer hashes than others has more
 * indexes than it uses. */
static int add_or_remove_row_counts(struct glint_task *task, const struct add_rows_state *s,
                                    uint32_t number, struct bloom_filter *filter,
                                    struct glint_slice rows)
{
    const bool wide = bloom_indexes_are_wide(&filter->params);
    const uint64_t shown = s->row_bytes - (s->remove != 0 ? SHOWN_BYTES : 0);
    const uint64_t counters = bloom_positions(&filter->params);
    uint64_t indexes[BLOOM_K_MAX];
    for (uint64_t at = 0; at < rows.size; at += s->row_bytes) {
        const uint8_t *row = rows.data + at;
        for (uint32_t i = 0; i < filter->params.k; i++) {
            uint32_t narrow = 0;
            memcpy(wide ? (void *)&indexes[i] : (void *)&narrow, row + i * (wide ? 8 : 4),
                   wide ? 8 : 4);
            if (!wide) indexes[i] = narrow;
            if (indexes[i] >= counters)
                return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL,
                                  "an index beyond its filter");
        }
        if (s->remove != 0 && !counting_remove(filter->bits, indexes, filter->params.k))
            return set_absent_id_error(task, s, number, row + shown);
        for (uint32_t i = 0; s->remove == 0 && i < filter->params.k; i++)
            counting_increment(filter->bits, indexes[i]);
    }
    return 0;
}

/* Changes the bits in the filter's own memory. */
static int set_added_bits(struct glint_task *task, const struct add_rows_state *s, uint32_t number,
                          struct bloom_filter *filter)
{
    struct bloom_set set;
    uint64_t range[2];
    memcpy(range, s->added.data + number * sizeof range[0], sizeof range);
    if (range[1] > s->added.size || range[0] > range[1] ||
        (range[1] - range[0]) % s->row_bytes != 0)
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "the broadcast rows are invalid");
    if (range[0] == range[1]) return 0;
    if (filter->params.layout == BLOOM_COUNTING)
        return add_or_remove_row_counts(
            task, s, number, filter,
            (struct glint_slice){s->added.data + range[0], range[1] - range[0]});
    const enum bloom_result result = bloom_set_borrow(&set, &filter->params, 1, filter->bits);
    if (result != BLOOM_OK)
        return glint_fail(task, GLINT_E_NO_MEMORY, NULL, "%s", bloom_strerror(result));
    const void *indexes = s->added.data + range[0];
    const uint64_t count = (range[1] - range[0]) / (set.wide ? sizeof(uint64_t) : 4);
    const bool inside = set.wide ? bloom_set_bits_wide(&set, 0, indexes, count)
                                 : bloom_set_bits(&set, 0, indexes, count);
    bloom_set_fini(&set);
    return inside ? 0
                  : glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "an index beyond its filter");
}

/* Changes the record where the source has it: in memory of this task, which reads each record
 * once. A copy of all filters would cost more than all the rest. */
static int add_rows_to_filter(struct glint_task *task, void *state, const struct glint_record *in,
                              struct glint_emitter *out)
{
    struct add_rows_state *s = state;
    struct bloom_filter filter;
    uint8_t header[BLOOM_HEADER_MAX];
    char key[256];
    uint32_t number;
    int r = bloom_input_key_number(&s->sizes, task, &in->key, &number);
    if (r != 0) return r;
    const enum bloom_result result =
        bloom_decode(in->value.bytes.data, in->value.bytes.size, &filter);
    if (result != BLOOM_OK) {
        sizes_key_text(&s->sizes, number, key, sizeof key);
        return glint_fail(task, GLINT_E_FILTER_INVALID, NULL, "the filter of key %s: %s", key,
                          bloom_strerror(result));
    }
    if (r == 0 && !bloom_params_equal(&filter.params, &s->sizes.params[number]))
        r = glint_fail(task, GLINT_E_INPUT_CHANGED, NULL,
                       "a filter has another size than when its size was read");
    if (r == 0) r = set_added_bits(task, s, number, &filter);
    if (r != 0) return r;
    if (bloom_count_overfull_filter(task, s->overfull, &filter.params, filter.bits) &&
        s->strict != 0)
        return bloom_set_overfull_error(task, &s->sizes, number);
    const uint32_t size = bloom_encode_header(&filter, header);
    assert(filter.bits - size == in->value.bytes.data);
    memcpy(filter.bits - size, header, size);
    glint_emit(out, in);
    return 0;
}

const struct glint_function bloom_add_rows = {.name = "bloom.add_rows",
                                              .kind = GLINT_KIND_MAP,
                                              .in = {GLINT_ANY, GLINT_MSGPACK},
                                              .out = {GLINT_SAME, GLINT_MSGPACK},
                                              .state_size = sizeof(struct add_rows_state),
                                              .open = add_rows_init,
                                              .each = add_rows_to_filter};
