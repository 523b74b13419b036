/* Quantiles of agg, exact and without a group in memory: numbers are counted and sorted by the
 * shuffle, with the count of each column before its numbers.
 *
 *     line -> (group, column, number: 1) -> reduceByKey(+), by group -> (group, quantile)
 *
 * A key is the size of the group, 4 bytes, the group, the column, then 00: the count of all, or the
 * bytes of number_key and the number itself. Equal numbers are counted in the map tasks. */
#include "jobs/rows/arithmetic.h"
#include "jobs/tables/agg.h"
#include "jobs/tables/group_partition.h"

#include <assert.h>
#include <string.h>

enum { NUMBER_TEXT_MAX = 512 };

/* ---- agg.quantileKey */

/* Emits (key, 1) with `number` after the column. */
static int emit_key(struct agg_row_state *s, struct glint_task *task, struct glint_slice group,
                    uint8_t column, struct glint_slice number, struct glint_emitter *out)
{
    const uint32_t size = (uint32_t)group.size;
    s->buffer.size = 0;
    int e = glint_append(task, &s->buffer, &size, sizeof size);
    if (e == 0) e = glint_append(task, &s->buffer, group.data, group.size);
    if (e == 0) e = glint_append(task, &s->buffer, &column, 1);
    if (e == 0) e = glint_append(task, &s->buffer, number.data, number.size);
    if (e == 0) glint_emit_i64(out, (struct glint_slice){s->buffer.data, s->buffer.size}, 1);
    return e;
}

static bool has_quantile(const struct agg_plan *p, uint32_t column)
{
    for (uint32_t i = 0; i < p->quantile_count; i++)
        if (p->quantiles[i].column == column) return true;
    return false;
}

static int quantile_key_each(struct glint_task *task, void *state, const struct glint_record *in,
                             struct glint_emitter *out)
{
    static const uint8_t all = 0;
    struct agg_row_state *s = state;
    struct glint_slice fields[COLUMNS_MAX], group;
    uint8_t bytes[NUMBER_KEY_MAX + NUMBER_TEXT_MAX + sizeof(struct number)];
    int e = agg_read_row(s, task, in->value.bytes, fields, &group);
    if (e <= 0) return e;
    if (group.size > UINT32_MAX)
        return glint_bad_row(task, in->value.bytes, "the group is longer than 4 GiB");
    for (uint32_t i = 0; i < s->plan.numbers; i++) {
        const struct number *number = &s->numbers[i];
        if (number->decimals == NUMBER_NONE || !has_quantile(&s->plan, i)) continue;
        const struct glint_slice text = fields[s->plan.by + i];
        assert(text.size <= NUMBER_TEXT_MAX);
        const uint32_t size = number_key(text, bytes);
        memcpy(bytes + size, number, sizeof *number);
        e = emit_key(s, task, group, (uint8_t)i, (struct glint_slice){&all, 1}, out);
        if (e == 0)
            e = emit_key(s, task, group, (uint8_t)i,
                         (struct glint_slice){bytes, size + sizeof *number}, out);
        if (e != 0) return e;
    }
    return 0;
}

const struct glint_function agg_quantile_key = {.name = "agg.quantileKey",
                                                .kind = GLINT_KIND_FLAT_MAP,
                                                .in = GLINT_ELEMENTS(GLINT_TEXT),
                                                .out = GLINT_PAIRS(GLINT_BYTES, GLINT_I64),
                                                .state_size = sizeof(struct agg_row_state),
                                                .open = agg_open_row,
                                                .each = quantile_key_each};

/* ---- agg.quantilePartition: all keys of a group */

struct quantile_key {
    struct glint_slice group, number; /* number: 00, or number_key and the number */
    uint8_t column;
};

/* Keys may come from another process. Returns false if no task of agg made this one. */
static bool read_key(struct glint_slice key, struct quantile_key *out)
{
    uint32_t size;
    if (key.size < sizeof size) return false;
    memcpy(&size, key.data, sizeof size);
    const uint64_t head = sizeof size + (uint64_t)size;
    if (key.size < head + 2) return false;
    *out = (struct quantile_key){
        {key.data + sizeof size, size}, {key.data + head + 1, key.size - head - 1}, key.data[head]};
    return true;
}

static int64_t partition_of_group(struct glint_task *task, void *state,
                                  const union glint_value *key, uint32_t partitions)
{
    struct quantile_key parts;
    (void)task, (void)state;
    const bool valid = read_key(key->bytes, &parts); /* this task made it */
    assert(valid);
    return group_partition(parts.group, partitions);
}

const struct glint_function agg_quantile_partition = {.name = "agg.quantilePartition",
                                                      .kind = GLINT_KIND_PARTITION,
                                                      .in = {GLINT_BYTES, GLINT_ANY},
                                                      .partition = partition_of_group};

/* ---- agg.quantileValue: the numbers of a group and column arrive sorted, after their count */

struct quantile_state {
    struct agg_plan plan;
    int64_t position; /* of the next number, from 0 */
    /* For the current group and column. */
    struct search {
        int64_t low;        /* the quantile is at `low` + `part` */
        struct number part; /* at least 0, less than 1; exact */
        struct number low_number;
    } searches[AGG_QUANTILES_MAX];
};

static int quantile_value_open(struct glint_task *task, void *state)
{
    return agg_open_plan(task, &((struct quantile_state *)state)->plan);
}

static bool is_zero(const struct number *n)
{
    return number_units(n) == 0;
}

/* Where the quantile is among `count` sorted numbers: at * (count - 1), in exact decimals. */
static struct search begin_search(const struct number *at, int64_t count)
{
    const struct number last = {.low = (uint64_t)count - 1}, one = {.low = 1};
    struct search s;
    struct number product, low;
    const char *problem = number_calculate(ARITHMETIC_MULTIPLY, at, &last, &product);
    if (problem == NULL) problem = number_calculate(ARITHMETIC_REMAINDER, &product, &one, &s.part);
    if (problem == NULL) problem = number_calculate(ARITHMETIC_SUBTRACT, &product, &s.part, &low);
    assert(problem == NULL && low.decimals >= 0);
    __int128 units = number_units(&low);
    for (int i = 0; i < low.decimals; i++) units /= 10;
    s.low = (int64_t)units;
    return s;
}

/* low * (1 - part) + high * part. */
static struct number interpolate(const struct number *low, const struct number *high,
                                 const struct number *part)
{
    const struct number one = {.low = 1};
    struct number rest, x, y, result;
    assert(part->decimals >= 0 && number_compare(part, &one) < 0);
    if (is_zero(part) || number_compare(low, high) == 0) return *low;
    const char *problem = number_calculate(ARITHMETIC_SUBTRACT, &one, part, &rest);
    if (problem == NULL) problem = number_calculate(ARITHMETIC_MULTIPLY, low, &rest, &x);
    if (problem == NULL) problem = number_calculate(ARITHMETIC_MULTIPLY, high, part, &y);
    if (problem == NULL) problem = number_calculate(ARITHMETIC_ADD, &x, &y, &result);
    return problem == NULL ? result : *high; /* it was rounded beyond the largest double */
}

static void emit_quantile(struct glint_slice group, uint32_t quantile, const struct number *value,
                          struct glint_emitter *out)
{
    uint8_t input[AGG_INPUT_MAX];
    input[0] = (uint8_t)(AGG_QUANTILES - (int)quantile);
    const uint64_t size = (uint64_t)(number_put(input + 1, value) - input);
    const struct glint_record record = {.key.bytes = group, .value.bytes = {input, size}};
    glint_emit(out, &record);
}

/* At the end of a key. */
static bool read_number(struct glint_slice bytes, struct number *out)
{
    if (bytes.size < sizeof *out) return false;
    memcpy(out, bytes.data + bytes.size - sizeof *out, sizeof *out);
    return out->decimals >= NUMBER_INEXACT && out->decimals <= NUMBER_DIGITS_MAX;
}

static int quantile_value_each(struct glint_task *task, void *state, const struct glint_record *in,
                               struct glint_emitter *out)
{
    struct quantile_state *s = state;
    const int64_t count = in->value.i64, from = s->position;
    struct quantile_key key;
    struct number number = {.low = 0};
    bool valid = read_key(in->key.bytes, &key) && count > 0 && from <= INT64_MAX - count;
    const bool first = valid && key.number.size == 1;
    if (valid && !first) valid = read_number(key.number, &number);
    if (!valid)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "a number of a group is not valid");
    s->position = first ? 0 : from + count;
    for (uint32_t i = 0; i < s->plan.quantile_count; i++) {
        struct search *const search = &s->searches[i];
        if (s->plan.quantiles[i].column != key.column) continue;
        if (first) {
            *search = begin_search(&s->plan.quantiles[i].at, count);
            continue;
        }
        const int64_t high = search->low + !is_zero(&search->part);
        if (search->low >= from && search->low < s->position) search->low_number = number;
        if (high < from || high >= s->position) continue;
        const struct number value = interpolate(&search->low_number, &number, &search->part);
        emit_quantile(key.group, i, &value, out);
    }
    return 0;
}

const struct glint_function agg_quantile_value = {.name = "agg.quantileValue",
                                                  .kind = GLINT_KIND_FLAT_MAP,
                                                  .in = GLINT_PAIRS(GLINT_BYTES, GLINT_I64),
                                                  .out = GLINT_PAIRS(GLINT_TEXT, GLINT_BYTES),
                                                  .state_size = sizeof(struct quantile_state),
                                                  .open = quantile_value_open,
                                                  .each = quantile_value_each};

struct glint_rdd *agg_quantiles(struct glint_rdd *lines, struct glint_args *args)
{
    struct glint_rdd *keys = glint_flat_map(lines, &agg_quantile_key, args);
    struct glint_rdd *counts = glint_with_partitioner(
        glint_reduce_by_key(keys, &GLINT_SUM_I64, NULL), &agg_quantile_partition, NULL);
    return glint_flat_map(counts, &agg_quantile_value, args);
}
