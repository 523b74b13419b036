/* Functions that merge, group and count. The result of those on texts depends on the order of the
 * values. */
#include "engine/batch.h"
#include "engine/plan/context_config.h"
#include "tests/unit/ops/actions.h"

#include <stdio.h>

/* ---- reduce */

static int sum_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                     const union glint_value *value)
{
    (void)task, (void)state;
    acc->value.i64 += value->i64;
    return 0;
}

static int sum_columns(struct glint_task *task, int64_t *acc, const uint32_t *slot,
                       const int64_t *value, uint32_t rows)
{
    (void)task;
    for (uint32_t i = 0; i < rows; i++) acc[slot[i]] += value[i];
    return 0;
}

static int sum_f64_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                         const union glint_value *value)
{
    (void)task, (void)state;
    acc->value.f64 += value->f64;
    return 0;
}

static int concat_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                        const union glint_value *value)
{
    (void)state;
    return glint_acc_append(task, acc, value->bytes.data, value->bytes.size);
}

static int fail_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                      const union glint_value *value)
{
    (void)state, (void)acc, (void)value;
    return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "as requested");
}

/* Breaks the contract: returns an error without setting it. */
static int mute_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                      const union glint_value *value)
{
    (void)task, (void)state, (void)acc, (void)value;
    return -1;
}

/* Adds a broadcast value and an argument to each sum. */
struct plus {
    int64_t broadcast, argument;
};

static int plus_open(struct glint_task *task, void *state)
{
    struct plus *p = state;
    struct glint_slice s;
    int r = glint_arg_broadcast(task, "shared", &s);
    if (r == 0) r = glint_arg_i64(task, "plus", &p->argument);
    if (r == 0) memcpy(&p->broadcast, s.data, sizeof p->broadcast);
    return r;
}

static int plus_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                      const union glint_value *value)
{
    (void)task;
    const struct plus *p = state;
    acc->value.i64 += value->i64 + p->broadcast + p->argument;
    return 0;
}

#define REDUCER(name_, type, ...)                                                                  \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_REDUCE, .in = {GLINT_ANY, type},                         \
        .out = {GLINT_SAME, GLINT_SAME}, __VA_ARGS__                                               \
    }

static const struct glint_function sum = REDUCER("red.sum", GLINT_I64, .merge = sum_merge);
static const struct glint_function columns =
    REDUCER("red.columns", GLINT_I64, .merge_i64 = sum_columns);
static const struct glint_function sum_f64 =
    REDUCER("red.sum_f64", GLINT_F64, .merge = sum_f64_merge);
static const struct glint_function concat =
    REDUCER("red.concat", GLINT_TEXT, .merge = concat_merge);
static const struct glint_function fail = REDUCER("red.fail", GLINT_ANY, .merge = fail_merge);
static const struct glint_function mute = REDUCER("red.mute", GLINT_ANY, .merge = mute_merge);
static const struct glint_function plus =
    REDUCER("red.plus", GLINT_I64, .merge = plus_merge, .open = plus_open,
            .state_size = sizeof(struct plus));
static const struct glint_function empty = REDUCER("red.empty", GLINT_ANY, .merge = NULL);
static const struct glint_function pieces =
    REDUCER("red.pieces", GLINT_ANY, .merge = concat_merge, .chunk_bytes_max = 100);

/* ---- aggregate: numbers to a text that records the order of the calls */

static int append_number(struct glint_task *task, struct glint_acc *acc, char mark, int64_t v)
{
    char digits[32];
    const int size = snprintf(digits, sizeof digits, "%c%lld", mark, (long long)v);
    return glint_acc_append(task, acc, digits, (uint64_t)size);
}

static int list_create(struct glint_task *task, void *state, struct glint_acc *acc,
                       const union glint_value *value)
{
    (void)state;
    return append_number(task, acc, '!', value->i64);
}

static int list_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                      const union glint_value *value)
{
    (void)state;
    return append_number(task, acc, ',', value->i64);
}

static int list_combine(struct glint_task *task, void *state, struct glint_acc *acc,
                        const union glint_value *other)
{
    (void)state;
    const int r = glint_acc_append(task, acc, "|", 1);
    return r < 0 ? r : glint_acc_append(task, acc, other->bytes.data, other->bytes.size);
}

#define AGGREGATOR(name_, ...)                                                                     \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_AGGREGATE, .in = {GLINT_ANY, GLINT_I64},                 \
        .out = {GLINT_SAME, GLINT_TEXT}, __VA_ARGS__                                               \
    }

static const struct glint_function list =
    AGGREGATOR("red.list", .create = list_create, .merge = list_merge, .combine = list_combine);
static const struct glint_function no_create =
    AGGREGATOR("red.no_create", .merge = list_merge, .combine = list_combine);
static const struct glint_function no_combine = AGGREGATOR("red.no_combine", .merge = list_merge);

/* Texts in order, as an aggregate. */
static const struct glint_function append_texts = {.name = "red.append",
                                                   .kind = GLINT_KIND_AGGREGATE,
                                                   .in = {GLINT_ANY, GLINT_TEXT},
                                                   .out = {GLINT_SAME, GLINT_TEXT},
                                                   .merge = concat_merge,
                                                   .combine = concat_merge};

/* Adds up the sizes of texts. */
static int bytes_create(struct glint_task *task, void *state, struct glint_acc *acc,
                        const union glint_value *value)
{
    (void)task, (void)state;
    acc->value.i64 = (int64_t)value->bytes.size;
    return 0;
}

static int bytes_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                       const union glint_value *value)
{
    (void)task, (void)state;
    acc->value.i64 += (int64_t)value->bytes.size;
    return 0;
}

static const struct glint_function byte_count = {.name = "red.byte_count",
                                                 .kind = GLINT_KIND_AGGREGATE,
                                                 .in = {GLINT_ANY, GLINT_TEXT},
                                                 .out = {GLINT_SAME, GLINT_I64},
                                                 .create = bytes_create,
                                                 .merge = bytes_merge,
                                                 .combine = sum_merge};

/* Joins texts to a list. The empty text is its neutral element, so the number of accumulators does
 * not change the result. */
static int text_list_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                           const union glint_value *value)
{
    (void)state;
    const int r = glint_acc_append(task, acc, ",", 1);
    return r < 0 ? r : glint_acc_append(task, acc, value->bytes.data, value->bytes.size);
}

static const struct glint_function text_list = {.name = "red.text_list",
                                                .kind = GLINT_KIND_AGGREGATE,
                                                .in = {GLINT_ANY, GLINT_TEXT},
                                                .out = {GLINT_SAME, GLINT_TEXT},
                                                .create = concat_merge,
                                                .merge = text_list_merge,
                                                .combine = concat_merge};

/* ---- flatMap: 150,000 records with 100,000 different keys of 100 bytes from each number: more
 * than the memory of a small slot */
#define MANY 150000u

static int many_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    (void)task, (void)state;
    uint64_t seed = (uint64_t)in->value.i64 * 2 + 1;
    char key[128], value[64];
    for (uint32_t i = 0; i < MANY; i++) {
        const uint64_t k = test_next(&seed) % 100000;
        const int size =
            snprintf(key, sizeof key, "key-%0*llu", (int)(60 + k % 50), (unsigned long long)k);
        const int n = snprintf(value, sizeof value, "%u of %lld", i, (long long)in->value.i64);
        const struct glint_record r = {bytes(key, (uint64_t)size), bytes(value, (uint64_t)n)};
        glint_emit(out, &r);
    }
    return 0;
}

static const struct glint_function many = {.name = "red.many",
                                           .kind = GLINT_KIND_FLAT_MAP,
                                           .in = {GLINT_NONE, GLINT_I64},
                                           .out = {GLINT_TEXT, GLINT_TEXT},
                                           .each = many_each};

/* ---- group: concatenates the values of a key */

struct group {
    char text[1 << 16];
    size_t size;
};

static int group_begin(struct glint_task *task, void *state, const union glint_value *key)
{
    (void)task, (void)key;
    ((struct group *)state)->size = 0;
    return 0;
}

static int group_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    (void)task, (void)out;
    struct group *s = state;
    if (s->size + 32 < sizeof s->text)
        s->size += (size_t)snprintf(s->text + s->size, sizeof s->text - s->size, "%lld;",
                                    (long long)in->value.i64);
    return 0;
}

static int group_end(struct glint_task *task, void *state, const union glint_value *key,
                     struct glint_emitter *out)
{
    (void)task;
    const struct group *s = state;
    const struct glint_record r = {*key, bytes(s->text, s->size)};
    glint_emit(out, &r);
    return 0;
}

static const struct glint_function group = {.name = "red.group",
                                            .kind = GLINT_KIND_GROUP,
                                            .in = {GLINT_ANY, GLINT_I64},
                                            .out = {GLINT_SAME, GLINT_TEXT},
                                            .state_size = sizeof(struct group),
                                            .begin_group = group_begin,
                                            .each = group_each,
                                            .end_group = group_end};

/* ---- map: computes a key from a number */

static int modulo_each(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    (void)task, (void)state;
    const struct glint_record r = {.key = number(in->value.i64 % 7), .value = in->value};
    glint_emit(out, &r);
    return 0;
}

static int negative_each(struct glint_task *task, void *state, const struct glint_record *in,
                         struct glint_emitter *out)
{
    (void)task, (void)state;
    const struct glint_record r = {.key = number(-in->value.i64 / 16), .value = in->value};
    glint_emit(out, &r);
    return 0;
}

static const struct glint_function modulo = {.name = "red.modulo",
                                             .kind = GLINT_KIND_MAP,
                                             .in = {GLINT_NONE, GLINT_I64},
                                             .out = {GLINT_I64, GLINT_I64},
                                             .each = modulo_each};
static const struct glint_function negative = {.name = "red.negative",
                                               .kind = GLINT_KIND_MAP,
                                               .in = {GLINT_NONE, GLINT_I64},
                                               .out = {GLINT_I64, GLINT_NONE},
                                               .each = negative_each};

/* Emits the partition number for each row. */
static int index_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    (void)state, (void)in;
    const struct glint_record r = {.value = number(glint_partition(task))};
    glint_emit(out, &r);
    return 0;
}

static const struct glint_function index_of = {.name = "red.index",
                                               .kind = GLINT_KIND_FLAT_MAP,
                                               .in = {GLINT_NONE, GLINT_ANY},
                                               .out = {GLINT_NONE, GLINT_I64},
                                               .each = index_each};

/* ---- foreach */

struct visit {
    int rows, ends;
};

static int visit_open(struct glint_task *task, void *state)
{
    struct visit *v = state;
    v->rows = glint_counter(task, "visited");
    v->ends = glint_counter(task, "ended");
    return 0;
}

static int visit_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    (void)in, (void)out;
    glint_counter_add(task, ((struct visit *)state)->rows, 1);
    return 0;
}

static int visit_batch(struct glint_task *task, void *state, const struct glint_batch *in,
                       struct glint_emitter *out)
{
    (void)out;
    glint_counter_add(task, ((struct visit *)state)->rows, in->rows);
    return 0;
}

static int visit_end(struct glint_task *task, void *state, struct glint_emitter *out)
{
    (void)out;
    glint_counter_add(task, ((struct visit *)state)->ends, 1);
    return 0;
}

static int emit_end(struct glint_task *task, void *state, struct glint_emitter *out)
{
    (void)task, (void)state;
    const struct glint_record r = {.key = text("k"), .value = number(1)};
    glint_emit(out, &r);
    return 0;
}

static int emit_each(struct glint_task *task, void *state, const struct glint_record *in,
                     struct glint_emitter *out)
{
    (void)task, (void)state;
    glint_emit(out, in);
    return 0;
}

#define FOREACH_FUNCTION(name_, ...)                                                               \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_FLAT_MAP, .in = {GLINT_ANY, GLINT_ANY},                  \
        .out = {GLINT_SAME, GLINT_SAME}, .state_size = sizeof(struct visit), __VA_ARGS__           \
    }

static const struct glint_function visit =
    FOREACH_FUNCTION("red.visit", .open = visit_open, .each = visit_each, .end = visit_end);
static const struct glint_function visit_by_batch =
    FOREACH_FUNCTION("red.visit_batch", .open = visit_open, .batch = visit_batch);
static const struct glint_function visit_emits =
    FOREACH_FUNCTION("red.visit_emits", .each = emit_each);
static const struct glint_function visit_emits_late = FOREACH_FUNCTION(
    "red.visit_emits_late", .open = visit_open, .each = visit_each, .end = emit_end);

static const struct glint_function *const functions[] = {
    &sum,       &columns,    &sum_f64,        &concat,       &fail,
    &mute,      &plus,       &empty,          &pieces,       &list,
    &no_create, &no_combine, &byte_count,     &group,        &modulo,
    &negative,  &visit,      &visit_by_batch, &visit_emits,  &visit_emits_late,
    &text_list, &many,       &index_of,       &append_texts, NULL};

const struct glint_module test_reducers = {"red", functions};
