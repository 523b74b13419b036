/* agg: sums, means and other numbers about the rows of each group.
 *
 *     line -> (group, numbers) -------------------------------+-> combineByKey -> line
 *     line -> (group, value) -> distinct -> (group, 1 value) -+
 *
 *     line -> sorted numbers -> (group, quantile) ------------+
 *
 * The second line is once for each column of --distinct, the third for all quantiles; each reads
 * the input again. */
#include "jobs/tables/agg.h"

#include "engine/base/text.h"
#include "jobs/rows/arithmetic.h"
#include "jobs/rows/row_output.h"
#include "jobs/tables/group_partition.h"
#include "jobs/tables/text_column.h"

#include <assert.h>
#include <string.h>

/* ---- Quantiles, exact and without a group in memory: numbers are counted and sorted by the
 * shuffle, with the count of each column before its numbers.
 *
 *     line -> (group, column, number: 1) -> reduceByKey(+), by group -> (group, quantile)
 *
 * A key is the size of the group, 4 bytes, the group, the column, then 00: the count of all, or the
 * bytes of number_key and the number itself. Equal numbers are counted in the map tasks. */

enum { NUMBER_TEXT_MAX = 512 };

/* ---- agg.quantileKey */

/* Emits (key, 1) with `number` after the column. */
static int emit_quantile_key(struct agg_row_state *s, struct glint_task *task,
                             struct glint_slice group, uint8_t column, struct glint_slice number,
                             struct glint_emitter *out)
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
        e = emit_quantile_key(s, task, group, (uint8_t)i, (struct glint_slice){&all, 1}, out);
        if (e == 0)
            e = emit_quantile_key(s, task, group, (uint8_t)i,
                                  (struct glint_slice){bytes, size + sizeof *number}, out);
        if (e != 0) return e;
    }
    return 0;
}

static const struct glint_function agg_quantile_key = {.name = "agg.quantileKey",
                                                       .kind = GLINT_KIND_FLAT_MAP,
                                                       .in = GLINT_ELEMENTS(GLINT_TEXT),
                                                       .out = GLINT_PAIRS(GLINT_BYTES, GLINT_I64),
                                                       .state_size = sizeof(struct agg_row_state),
                                                       .open = agg_open_row_again,
                                                       .each = quantile_key_each};

/* ---- agg.quantilePartition: all keys of a group */

struct quantile_key {
    struct glint_slice group, number; /* number: 00, or number_key and the number */
    uint8_t column;
};

/* Keys may come from another process. Returns false if no task of agg made this one. */
static bool decode_quantile_key(struct glint_slice key, struct quantile_key *out)
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
    const bool valid = decode_quantile_key(key->bytes, &parts); /* this task made it */
    assert(valid);
    return group_partition(parts.group, partitions);
}

static const struct glint_function agg_quantile_partition = {.name = "agg.quantilePartition",
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
static struct search find_quantile_position(const struct number *at, int64_t count)
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
static bool read_number_of_key(struct glint_slice bytes, struct number *out)
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
    bool valid = decode_quantile_key(in->key.bytes, &key) && count > 0 && from <= INT64_MAX - count;
    const bool first = valid && key.number.size == 1;
    if (valid && !first) valid = read_number_of_key(key.number, &number);
    if (!valid)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "a number of a group is not valid");
    s->position = first ? 0 : from + count;
    for (uint32_t i = 0; i < s->plan.quantile_count; i++) {
        struct search *const search = &s->searches[i];
        if (s->plan.quantiles[i].column != key.column) continue;
        if (first) {
            *search = find_quantile_position(&s->plan.quantiles[i].at, count);
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

/* (group, input) for each quantile of each group. `args` are those of agg_row. */
static struct glint_rdd *quantile_inputs_rdd(struct glint_rdd *lines, struct glint_args *args)
{
    struct glint_rdd *keys = glint_flat_map(lines, &agg_quantile_key, args);
    struct glint_rdd *counts = glint_with_partitioner(
        glint_reduce_by_key(keys, &GLINT_SUM_I64, NULL), &agg_quantile_partition, NULL);
    return glint_flat_map(counts, &agg_quantile_value, args);
}

/* ---- Options */

enum { AT_DECIMALS_MAX = 18 };
/* Reading cells is fast, so that fewer tasks, which each shuffle all their groups, are faster. */
#define CELLS_SPLIT_BYTES (48u << 20)

/* Options of kinds; AGG_QUANTILE has two, with an order of its own. */
static const char *const kind_options[AGG_KINDS] = {
    [AGG_SUM] = "sum",
    [AGG_MIN] = "min",
    [AGG_MIN_TEXT] = "min",
    [AGG_MAX] = "max",
    [AGG_MAX_TEXT] = "max",
    [AGG_MEAN] = "mean",
    [AGG_DISTINCT] = "distinct",
    [AGG_VARIANCE] = "variance",
    [AGG_VARIANCE_POP] = "variance-pop",
    [AGG_STDDEV] = "stddev",
    [AGG_STDDEV_POP] = "stddev-pop",
    [AGG_FIRST] = "first",
    [AGG_LAST] = "last",
};
#define LIMIT_LETTERS "nt" /* --min day:t */
enum { LIMIT_NUMERIC = 1, LIMIT_TEXT = 2 };

/* Finds the column among columns [first, c->count), or appends it. Returns its index there. */
static uint32_t find_or_add_column(struct columns *c, uint32_t first, uint32_t number)
{
    uint32_t i = first;
    while (i < c->count && c->number[i] != number) i++;
    if (i == c->count && c->count < COLUMNS_MAX) c->number[c->count++] = number;
    return i - first;
}

static int set_too_many_columns_error(struct table *t)
{
    return glint_abort(t->g, GLINT_E_BAD_VALUE, NULL, "more than %d columns", COLUMNS_MAX);
}

/* Adds a result, before those of later kinds. Returns 0 or the context's code. */
static int add_output(struct table *t, struct agg_plan *plan, enum agg_kind kind, uint32_t index)
{
    uint32_t at = plan->output_count;
    if (at == AGG_OUTPUTS_MAX) return set_too_many_columns_error(t);
    for (; at > 0 && plan->outputs[at - 1].kind > kind; at--)
        plan->outputs[at] = plan->outputs[at - 1];
    plan->outputs[at] = (struct agg_output){(uint8_t)kind, (uint8_t)index};
    plan->output_count++;
    return 0;
}

static bool is_text_kind(enum agg_kind kind)
{
    return kind == AGG_MIN_TEXT || kind == AGG_MAX_TEXT || kind == AGG_FIRST || kind == AGG_LAST;
}

/* Rejects a column whose type has no numbers; texts may be some. Returns 0 or the context's code.
 */
static int check_has_numbers(struct table *t, const char *option, uint32_t number)
{
    const enum column_values values = columns_value_kind(t, number);
    char label[COLUMN_LABEL_BYTES];
    if (values <= VALUES_NUMBERS || values == VALUES_TEXTS) return glint_error(t->g)->code;
    columns_label_of(t, number, label);
    return glint_abort(t->g, GLINT_E_BAD_VALUE,
                       "use --min, --max, --first, --last, --count or --distinct",
                       "--%s: %s has %s, and no numbers", option, label,
                       values == VALUES_BOOLEANS ? "truth values"
                       : values == VALUES_NESTED ? "lists or structs"
                                                 : "times");
}

/* Adds the results of one kind of the columns that its option lists: their fields are among columns
 * [first, c->count), or added to them. Returns 0 or the context's code. */
static int read_option_of_kind(struct table *t, const struct glint_job_args *args,
                               enum agg_kind kind, uint32_t first, struct columns *c,
                               struct agg_plan *plan)
{
    const bool limit = kind >= AGG_MIN && kind <= AGG_MAX_TEXT;
    struct columns chosen = {.count = 0};
    int r = columns_read_option(t, args, kind_options[kind], limit ? LIMIT_LETTERS : "", &chosen);
    for (uint32_t i = 0; i < chosen.count && r == 0; i++) {
        const enum column_values values = columns_value_kind(t, chosen.number[i]);
        const uint8_t letters = chosen.letters[i];
        const bool text = letters != 0 ? (letters & LIMIT_TEXT) != 0 : values > VALUES_NUMBERS;
        if (limit && is_text_kind(kind) != text) continue;
        if (limit && text && letters == 0)
            text_column_warn(t, kind_options[kind], chosen.number[i],
                             kind == AGG_MIN_TEXT ? "the least text" : "the greatest text");
        if (kind != AGG_DISTINCT && !is_text_kind(kind))
            r = check_has_numbers(t, kind_options[kind], chosen.number[i]);
        if (r != 0) return r;
        uint32_t index = find_or_add_column(c, first, chosen.number[i]);
        if (first + index == COLUMNS_MAX) return set_too_many_columns_error(t);
        if (is_text_kind(kind)) {
            if (plan->text_count == COLUMNS_MAX) return set_too_many_columns_error(t);
            plan->text[plan->text_count] =
                (struct agg_text){(uint8_t)kind, (uint8_t)index, values == VALUES_TIMES};
            index = plan->text_count++;
        }
        r = add_output(t, plan, kind, index);
    }
    return r;
}

static int add_quantile(struct table *t, struct agg_plan *plan, uint32_t column, struct number at)
{
    if (plan->quantile_count == AGG_QUANTILES_MAX)
        return glint_abort(t->g, GLINT_E_BAD_VALUE, NULL, "more than %d quantiles",
                           AGG_QUANTILES_MAX);
    plan->quantiles[plan->quantile_count] = (struct agg_quantile){(uint8_t)column, at};
    return add_output(t, plan, AGG_QUANTILE, plan->quantile_count++);
}

/* Cuts a probability off the list of --at. */
static int next_probability(struct table *t, struct glint_slice *rest, struct number *out)
{
    const struct number zero = {.low = 0}, one = {.low = 1};
    struct glint_slice item;
    glint_next_field(rest, ',', &item);
    if (number_parse(item, out) && out->decimals >= 0 && out->decimals <= AT_DECIMALS_MAX &&
        number_compare(out, &zero) >= 0 && number_compare(out, &one) <= 0)
        return 0;
    return glint_abort(t->g, GLINT_E_BAD_VALUE, "use numbers from 0 to 1, as in 0.25,0.9",
                       "--at: \"%.*s\" is no probability of up to %d decimals", (int)item.size,
                       (const char *)item.data, AT_DECIMALS_MAX);
}

/* --median, then --quantile with --at. */
static int read_quantile_options(struct table *t, const struct glint_job_args *args, uint32_t first,
                                 struct columns *c, struct agg_plan *plan)
{
    const struct number half = {.low = 5, .decimals = 1};
    struct columns medians = {.count = 0}, chosen = {.count = 0};
    const char *list = glint_job_option(args, "at");
    int r = columns_read_option(t, args, "median", "", &medians);
    if (r == 0) r = columns_read_option(t, args, "quantile", "", &chosen);
    if (r == 0 && (chosen.count > 0) != (list != NULL))
        r = glint_abort(t->g, GLINT_E_USAGE, "--quantile COLS --at 0.25,0.9",
                        "--quantile and --at need each other");
    for (uint32_t i = 0; i < medians.count + chosen.count && r == 0; i++) {
        const bool median = i < medians.count;
        const uint32_t number = median ? medians.number[i] : chosen.number[i - medians.count];
        if (check_has_numbers(t, median ? "median" : "quantile", number) != 0)
            return glint_error(t->g)->code;
        const uint32_t column = find_or_add_column(c, first, number);
        if (first + column == COLUMNS_MAX) return set_too_many_columns_error(t);
        struct glint_slice rest = {(const uint8_t *)list, list != NULL ? strlen(list) : 0};
        struct number at = half;
        do {
            if (!median) r = next_probability(t, &rest, &at);
            if (r == 0) r = add_quantile(t, plan, column, at);
        } while (!median && rest.data != NULL && r == 0);
    }
    return r;
}

/* Reads kinds whose columns are in one part of all columns, from c->count. Returns 0 or the
 * context's code. */
static int read_options_of_kinds(struct table *t, const struct glint_job_args *args,
                                 const enum agg_kind *kinds, uint32_t count, uint32_t first,
                                 struct columns *c, struct agg_plan *plan)
{
    int r = glint_error(t->g)->code;
    for (uint32_t i = 0; i < count && r == 0; i++)
        r = read_option_of_kind(t, args, kinds[i], first, c, plan);
    return r;
}

static int read_agg_plan(struct table *t, const struct glint_job_args *args, struct columns *c,
                         struct agg_plan *plan)
{
    static const enum agg_kind variances[] = {AGG_VARIANCE, AGG_VARIANCE_POP, AGG_STDDEV,
                                              AGG_STDDEV_POP},
                               numbers[] = {AGG_SUM, AGG_MIN, AGG_MAX, AGG_MEAN},
                               distinct[] = {AGG_DISTINCT},
                               texts[] = {AGG_MIN_TEXT, AGG_MAX_TEXT, AGG_FIRST, AGG_LAST};
    int r = columns_read_option(t, args, "by", "", c);
    const uint32_t by = c->count;
    plan->by = (uint8_t)by;
    if (r == 0) r = read_options_of_kinds(t, args, variances, 4, by, c, plan);
    plan->variances = (uint8_t)(c->count - by);
    if (r == 0) r = read_options_of_kinds(t, args, numbers, 4, by, c, plan);
    if (r == 0) r = read_quantile_options(t, args, by, c, plan);
    plan->numbers = (uint8_t)(c->count - by);
    for (uint32_t i = 0; i < plan->numbers && r == 0; i++) {
        const uint32_t bits = columns_float_bits(t, c->number[by + i]);
        plan->small_floats[i] = bits < 64 ? (uint8_t)bits : 0;
    }
    plan->counted = glint_job_option(args, "count") != NULL;
    if (r == 0 && plan->counted) r = add_output(t, plan, AGG_COUNT, 0);
    if (r == 0) r = read_options_of_kinds(t, args, distinct, 1, c->count, c, plan);
    plan->distinct = (uint8_t)(c->count - by - plan->numbers);
    if (r == 0) r = read_options_of_kinds(t, args, texts, 4, c->count, c, plan);
    plan->texts = (uint8_t)(c->count - by - plan->numbers - plan->distinct);
    if (r != 0 || plan->output_count > 0) return r;
    return glint_abort(t->g, GLINT_E_USAGE,
                       "use --count, --sum, --min, --max, --mean, --median or others of --help",
                       "there is nothing to compute");
}

static struct glint_args *agg_function_args(const struct table *t, const struct columns *c,
                                            const struct agg_plan *plan, uint32_t column)
{
    struct glint_args *args = glint_args(t->g);
    columns_args(args, t, c);
    glint_args_add_bytes(args, "plan", plan, sizeof *plan);
    glint_args_add_i64(args, "column", column);
    return args;
}

/* Without --by there is always one group, even without rows. */
static struct glint_rdd *make_input_without_row(struct glint *g)
{
    static const uint8_t input = (uint8_t)AGG_NO_ROW;
    const struct glint_record record = {.key.bytes = {(const uint8_t *)"", 0},
                                        .value.bytes = {&input, sizeof input}};
    return glint_parallelize(g, (struct glint_schema){GLINT_TEXT, GLINT_BYTES}, &record, 1, 1);
}

/* (group, input) of each row. */
static struct glint_rdd *group_inputs_rdd(const struct table *t, const struct columns *c,
                                          const struct agg_plan *plan, struct glint_args *args)
{
    const struct glint_column_cells cells = {.keys = c->number,
                                             .numbers = c->number + plan->by,
                                             .key_count = plan->by,
                                             .number_count = plan->numbers};
    struct glint_rdd *pairs = NULL;
    if (t->where == NULL && plan->distinct == 0 && plan->texts == 0)
        pairs = glint_column_cells(t->lines, t->paths, &cells);
    if (pairs == NULL) return glint_map(table_rows(t), &agg_row, args);
    return glint_map(glint_with_split_bytes(pairs, CELLS_SPLIT_BYTES), &agg_cells, args);
}

static int agg_run(struct glint *g, const struct glint_job_args *args)
{
    struct table table;
    struct columns columns = {.count = 0};
    struct agg_plan plan = {.by = 0};
    if (table_open(g, args, args->positional[0], &table) != 0 ||
        read_agg_plan(&table, args, &columns, &plan) != 0)
        return glint_error(g)->code;
    const uint32_t distinct = 0u + plan.by + plan.numbers;
    table_key_columns(&table, &columns, 0, plan.by);
    table_key_columns(&table, &columns, distinct, distinct + plan.distinct);
    table_read_only_columns(&table, &columns);
    struct glint_args *row_args = agg_function_args(&table, &columns, &plan, 0);
    struct glint_rdd *inputs = group_inputs_rdd(&table, &columns, &plan, row_args);
    for (uint32_t i = 0; i < plan.distinct; i++) {
        struct glint_args *value_args = agg_function_args(&table, &columns, &plan, i);
        struct glint_rdd *values = glint_flat_map(table_read_again(&table), &agg_value, value_args);
        inputs =
            glint_union(inputs, glint_map_values(glint_distinct(values), &agg_seen, value_args));
    }
    if (plan.quantile_count > 0)
        inputs = glint_union(inputs, quantile_inputs_rdd(table_read_again(&table), row_args));
    if (plan.by == 0) inputs = glint_union(inputs, make_input_without_row(g));
    struct glint_rdd *groups = glint_combine_by_key(inputs, &agg_merge, row_args);
    if (plan.by == 0) groups = glint_with_partitions(groups, 1);
    return agg_save(groups, row_args, &table, args, &columns, &plan);
}

static const struct glint_job_option options[] = {
    {"by", "COLS", NULL,
     "columns that make a group: numbers or, with --header, names, separated by commas (one group "
     "of all rows)"},
    {"sum", "COLS", NULL, "the sum of each of these columns"},
    {"min", "COLS", NULL,
     "the least number of each; with :t, as in day:t, the least text; of texts of Parquet, too, "
     "but with :n"},
    {"max", "COLS", NULL, "the greatest number of each, or with :t text, as --min"},
    {"mean", "COLS", NULL, "the mean of each"},
    {"median", "COLS", NULL, "the median of each, exact; reads INPUT once more"},
    {"quantile", "COLS", NULL, "quantiles of each, exact, with --at; reads INPUT once more"},
    {"at", "LIST", NULL, "--quantile: which ones, such as 0.25,0.9"},
    {"variance", "COLS", NULL, "the variance of each, of a sample (by n - 1)"},
    {"variance-pop", "COLS", NULL, "the variance of each, of all (by n)"},
    {"stddev", "COLS", NULL, "the standard deviation of each, of a sample"},
    {"stddev-pop", "COLS", NULL, "the standard deviation of each, of all"},
    {"first", "COLS", NULL, "the text of each in the first row of INPUT"},
    {"last", "COLS", NULL, "the text of each in the last row of INPUT"},
    {"count", NULL, NULL, "the number of rows"},
    {"distinct", "COLS", NULL, "how many different texts each column has; reads INPUT once more"},
    TABLE_OPTIONS,
    OUTPUT_FORMAT_OPTIONS,
    {NULL, NULL, NULL, NULL}};

const struct glint_job agg_job = {
    .name = "agg",
    .summary = "sums, means and counts of the rows of each group",
    .help = "Saves one line per group, sorted by group within each part: the columns of --by, then "
            "sums, least and greatest numbers and texts, means, the count, numbers of different "
            "texts, variances, standard deviations, medians, quantiles, first and last texts, "
            "in this order, separated by the delimiter. Null is a group of its own, no number, and "
            "no text that --distinct counts. An empty field is no number, too; without any number "
            "the result is null. Another text in a column of numbers is a bad row. In a file of "
            "columns the names are like sum(votes), sums of integers and decimals are decimals, "
            "and means, variances and quantiles doubles.",
    .positional = {"INPUT", "OUTPUT"},
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&agg_row, &agg_cells, &agg_value, &agg_seen, &agg_quantile_key,
                  &agg_quantile_partition, &agg_quantile_value, &agg_merge, &agg_line,
                  &agg_number_forms},
    .run = agg_run};
