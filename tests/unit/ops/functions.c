/* Functions of the tests: small ones, with every callback that an operator can use. */
#include "engine/batch.h"
#include "engine/plan/context_config.h"
#include "tests/unit/ops/harness.h"

/* The number of bytes of a text. */
static int length_each(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    (void)task, (void)state;
    const struct glint_record r = {.key = number((int64_t)in->value.bytes.size),
                                   .value = number((int64_t)in->value.bytes.size)};
    glint_emit(out, &r);
    return 0;
}

struct length_batch {
    int64_t sizes[BATCH_ROWS_MAX];
};

static int length_batch(struct glint_task *task, void *state, const struct glint_batch *in,
                        struct glint_emitter *out)
{
    (void)task;
    struct length_batch *s = state;
    for (uint32_t i = 0; i < in->rows; i++)
        s->sizes[i] = (int64_t)glint_column_slice(&in->value, i).size;
    const struct glint_batch batch = {.rows = in->rows,
                                      .key = {.type = GLINT_I64, .i64 = s->sizes},
                                      .value = {.type = GLINT_NONE}};
    glint_emit_batch(out, &batch);
    return 0;
}

/* The first three bytes of a text as the key: a slice of the row itself. */
static int prefix_each(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    (void)task, (void)state;
    const uint64_t size = in->value.bytes.size < 3 ? in->value.bytes.size : 3;
    const struct glint_record r = {.key = bytes(in->value.bytes.data, size)};
    glint_emit(out, &r);
    return 0;
}

static int fail_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    (void)state, (void)in, (void)out;
    return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "as requested");
}

/* Each row, with the number of its partition as the key. */
static int index_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    (void)state;
    const struct glint_record r = {.key = number(glint_partition(task)), .value = in->value};
    glint_emit(out, &r);
    return 0;
}

static int index_end(struct glint_task *task, void *state, struct glint_emitter *out)
{
    (void)state;
    const struct glint_record r = {.key = number(glint_partition(task)), .value = text("end")};
    glint_emit(out, &r);
    return 0;
}

/* Emits each row twice and calls glint_partition each time: appends the partition as a decimal
 * digit to the key. */
static int index_twice(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct glint_record r = {.key = number(10 * in->key.i64 + glint_partition(task)),
                                       .value = in->value};
        glint_emit(out, &r);
    }
    return 0;
}

/* Keeps odd values. */
static int odd_keep(struct glint_task *task, void *state, const struct glint_record *in)
{
    (void)task, (void)state;
    return in->value.i64 % 2 != 0;
}

static int odd_keep_batch(struct glint_task *task, void *state, const struct glint_batch *in,
                          uint16_t *out_rows, uint32_t *out_count)
{
    (void)task, (void)state;
    *out_count = 0;
    for (uint32_t i = 0; i < in->rows; i++)
        if (in->value.i64[i] % 2 != 0) out_rows[(*out_count)++] = (uint16_t)i;
    return 0;
}

static int fail_keep(struct glint_task *task, void *state, const struct glint_record *in)
{
    (void)state;
    if (in->value.i64 != 7) return 1;
    return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "as requested");
}

/* Emits as many values as the last digit of the value: the value itself, then each one less. */
static int down_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    (void)task, (void)state;
    for (int64_t i = 0; i < in->value.i64 % 10; i++) {
        const struct glint_record r = {.value = number(in->value.i64 - i)};
        glint_emit(out, &r);
    }
    return 0;
}

static const struct glint_function length = {.name = "test.length",
                                             .kind = GLINT_KIND_MAP,
                                             .in = {GLINT_ANY, GLINT_TEXT},
                                             .out = {GLINT_I64, GLINT_NONE},
                                             .each = length_each};
static const struct glint_function length_by_batch = {.name = "test.length_batch",
                                                      .kind = GLINT_KIND_MAP,
                                                      .in = {GLINT_ANY, GLINT_TEXT},
                                                      .out = {GLINT_I64, GLINT_NONE},
                                                      .state_size = sizeof(struct length_batch),
                                                      .batch = length_batch};
static const struct glint_function prefix = {.name = "test.prefix",
                                             .kind = GLINT_KIND_MAP,
                                             .in = {GLINT_NONE, GLINT_TEXT},
                                             .out = {GLINT_TEXT, GLINT_NONE},
                                             .each = prefix_each};
static const struct glint_function no_key = {.name = "test.no_key",
                                             .kind = GLINT_KIND_MAP,
                                             .in = {GLINT_ANY, GLINT_TEXT},
                                             .out = {GLINT_NONE, GLINT_I64},
                                             .each = length_each};
static const struct glint_function fail = {.name = "test.fail",
                                           .kind = GLINT_KIND_MAP,
                                           .in = {GLINT_ANY, GLINT_ANY},
                                           .out = {GLINT_I64, GLINT_NONE},
                                           .each = fail_each};
static const struct glint_function with_index = {.name = "test.with_index",
                                                 .kind = GLINT_KIND_FLAT_MAP,
                                                 .in = {GLINT_NONE, GLINT_TEXT},
                                                 .out = {GLINT_I64, GLINT_TEXT},
                                                 .each = index_each,
                                                 .end = index_end};

static const struct glint_function with_index_twice = {.name = "test.with_index_twice",
                                                       .kind = GLINT_KIND_FLAT_MAP,
                                                       .in = {GLINT_I64, GLINT_TEXT},
                                                       .out = {GLINT_I64, GLINT_TEXT},
                                                       .each = index_twice};

/* ---- Partitioners */

struct by_remainder {
    int64_t shift; /* bound */
    int64_t base;  /* an argument */
};

static int by_remainder_open(struct glint_task *task, void *state)
{
    struct by_remainder *s = state;
    return glint_arg_i64(task, "base", &s->base);
}

static int64_t by_remainder(struct glint_task *task, void *state, const union glint_value *key,
                            uint32_t partitions)
{
    const struct by_remainder *s = state;
    (void)task;
    return ((key->i64 + s->shift) % s->base + s->base) % s->base % partitions;
}

/* By the last byte, which is a digit. */
static int64_t by_digit(struct glint_task *task, void *state, const union glint_value *key,
                        uint32_t partitions)
{
    (void)state;
    /* There is no following shuffle inside a partitioner. */
    if (glint_output_partition(task, GLINT_TEXT, key) != 0)
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "glint_output_partition is not 0");
    return (key->bytes.data[key->bytes.size - 1] - '0') % partitions;
}

/* Numbers below -0.5, up to 0.5, and the rest. */
static int64_t by_sign(struct glint_task *task, void *state, const union glint_value *key,
                       uint32_t partitions)
{
    (void)task, (void)state, (void)partitions;
    return key->f64 < -0.5 ? 0 : key->f64 <= 0.5 ? 1 : 2;
}

static int64_t by_key(struct glint_task *task, void *state, const union glint_value *key,
                      uint32_t partitions)
{
    (void)task, (void)state, (void)partitions;
    return key->i64;
}

/* Against the rule: equal keys get different indexes. */
static int64_t by_turns(struct glint_task *task, void *state, const union glint_value *key,
                        uint32_t partitions)
{
    (void)task, (void)key;
    return (*(int64_t *)state)++ % partitions;
}

static int64_t fail_partition(struct glint_task *task, void *state, const union glint_value *key,
                              uint32_t partitions)
{
    (void)state, (void)partitions;
    if (key->i64 != 7) return 0;
    glint_fail(task, GLINT_E_BAD_VALUE, "a hint", "as requested");
    return 1; /* an error counts even if it is not returned */
}

static int fail_open(struct glint_task *task, void *state)
{
    (void)state;
    return glint_fail(task, GLINT_E_BAD_VALUE, NULL, "cannot open");
}

/* (key, glint_output_partition of it) */
static int output_partition_each(struct glint_task *task, void *state,
                                 const struct glint_record *in, struct glint_emitter *out)
{
    (void)state;
    const struct glint_record r = {
        .key = in->key, .value = number(glint_output_partition(task, GLINT_I64, &in->key))};
    glint_emit(out, &r);
    return 0;
}

/* (number of the partition, key) */
static int key_place_each(struct glint_task *task, void *state, const struct glint_record *in,
                          struct glint_emitter *out)
{
    (void)state;
    const struct glint_record r = {.key = number(glint_partition(task)), .value = in->key};
    glint_emit(out, &r);
    return 0;
}

static const struct glint_function remainder_partition =
    GLINT_PARTITION("test.by_remainder", GLINT_I64, by_remainder,
                    .state_size = sizeof(struct by_remainder), .open = by_remainder_open);
static const struct glint_function digit_partition =
    GLINT_PARTITION("test.by_digit", GLINT_TEXT, by_digit);
static const struct glint_function sign_partition =
    GLINT_PARTITION("test.by_sign", GLINT_F64, by_sign);
static const struct glint_function key_partition =
    GLINT_PARTITION("test.by_key", GLINT_I64, by_key);
static const struct glint_function turns_partition =
    GLINT_PARTITION("test.by_turns", GLINT_I64, by_turns, .state_size = sizeof(int64_t));
static const struct glint_function failing_partition =
    GLINT_PARTITION("test.fail_partition", GLINT_I64, fail_partition);
static const struct glint_function unopened_partition =
    GLINT_PARTITION("test.fail_open", GLINT_I64, by_key, .open = fail_open);
static const struct glint_function output_partition =
    GLINT_MAP("test.output_partition", GLINT_PAIRS(GLINT_I64, GLINT_ANY),
              GLINT_PAIRS(GLINT_SAME, GLINT_I64), output_partition_each);
static const struct glint_function key_place =
    GLINT_MAP("test.key_place", GLINT_PAIRS(GLINT_I64, GLINT_ANY),
              GLINT_PAIRS(GLINT_I64, GLINT_I64), key_place_each);

#define KEEPS(name_) .name = name_, .kind = GLINT_KIND_FILTER, .in = {GLINT_ANY, GLINT_I64}
static const struct glint_function odd = {KEEPS("test.odd"), .keep = odd_keep};
static const struct glint_function odd_by_batch = {KEEPS("test.odd_batch"),
                                                   .keep_batch = odd_keep_batch};
static const struct glint_function fail_filter = {KEEPS("test.fail_filter"), .keep = fail_keep};
static const struct glint_function down = {.name = "test.down",
                                           .kind = GLINT_KIND_FLAT_MAP,
                                           .in = {GLINT_ANY, GLINT_I64},
                                           .out = {GLINT_NONE, GLINT_I64},
                                           .each = down_each};

static const struct glint_function *const functions[] = {&length,
                                                         &length_by_batch,
                                                         &prefix,
                                                         &no_key,
                                                         &fail,
                                                         &with_index,
                                                         &down,
                                                         &with_index_twice,
                                                         &odd,
                                                         &odd_by_batch,
                                                         &fail_filter,
                                                         &remainder_partition,
                                                         &digit_partition,
                                                         &sign_partition,
                                                         &key_partition,
                                                         &turns_partition,
                                                         &failing_partition,
                                                         &unopened_partition,
                                                         &output_partition,
                                                         &key_place,
                                                         NULL};

const struct glint_module test_functions = {"test", functions};
