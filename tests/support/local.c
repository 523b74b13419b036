/* Functions on numbers that fail, wait and count as configured, and small plans of them. */
#include "tests/support/local.h"
#include "engine/plan/context_config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

extern const struct op *const ops_table[];
extern const struct glint_module ops_module;

atomic_int local_failures, local_started;

struct local_state {
    int counter;
};

static int state_open(struct glint_task *task, void *state)
{
    struct local_state *s = state;
    s->counter = glint_counter(task, "mapped");
    return s->counter < 0 ? s->counter : 0;
}

static int map_each(struct glint_task *task, void *state, const struct glint_record *in,
                    struct glint_emitter *out)
{
    const struct local_state *s = state;
    struct glint_record r = {.key.i64 = in->value.i64 % 10, .value = in->value};
    glint_counter_add(task, s->counter, 1);
    glint_emit(out, &r);
    return 0;
}

static int flaky_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    int r = map_each(task, state, in, out);
    if (atomic_load(&local_failures) > 0 && atomic_fetch_sub(&local_failures, 1) > 0)
        return glint_fail(task, GLINT_E_NO_MEMORY, NULL, "as requested");
    return r;
}

static int picky_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    if (in->value.i64 == 13) return glint_fail(task, GLINT_E_FUNCTION_FAILED, "a hint", "thirteen");
    return map_each(task, state, in, out);
}

static int endless_each(struct glint_task *task, void *state, const struct glint_record *in,
                        struct glint_emitter *out)
{
    atomic_fetch_add(&local_started, 1);
    while (out->flow == FLOW_MORE) map_each(task, state, in, out);
    return 0;
}

static int silent_each(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    (void)task, (void)state, (void)in, (void)out;
    return -1;
}

static int sly_each(struct glint_task *task, void *state, const struct glint_record *in,
                    struct glint_emitter *out)
{
    glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "set but not returned");
    return map_each(task, state, in, out);
}

struct large_state {
    uint8_t bytes[LOCAL_LARGE_BYTES];
};

static int large_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    (void)task;
    struct large_state *s = state;
    memset(s->bytes, (int)in->value.i64, sizeof s->bytes);
    struct glint_record r = {.key.i64 = in->value.i64 % 10,
                             .value.bytes = {s->bytes, sizeof s->bytes}};
    glint_emit(out, &r);
    return 0;
}

static int first_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    (void)task, (void)state;
    assert(in->value.bytes.size == LOCAL_LARGE_BYTES);
    struct glint_record r = {.key = in->key, .value.i64 = in->value.bytes.data[0]};
    glint_emit(out, &r);
    return 0;
}

static int firsts_each(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    (void)state;
    const struct glint_pair pair = glint_pair(&in->value);
    const union glint_value l = pair.left.value, r = pair.right.value;
    if (pair.left.type != GLINT_BYTES || pair.right.type != GLINT_BYTES)
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "not a pair of bytes");
    assert(l.bytes.size == LOCAL_LARGE_BYTES && r.bytes.size == LOCAL_LARGE_BYTES);
    struct glint_record sum = {.key = in->key, .value.i64 = 10 * l.bytes.data[0] + r.bytes.data[0]};
    glint_emit(out, &sum);
    return 0;
}

static int part_open(struct glint_task *task, void *state)
{
    return glint_arg_i64(task, "step", state);
}

static int64_t part_key(struct glint_task *task, void *state, const union glint_value *key,
                        uint32_t partitions)
{
    (void)task;
    return *(const int64_t *)state * key->i64 % partitions;
}

const struct glint_function local_part = GLINT_PARTITION(
    "local.part", GLINT_I64, part_key, .state_size = sizeof(int64_t), .open = part_open);
const struct glint_function local_large = {.name = "local.large",
                                           .kind = GLINT_KIND_MAP,
                                           .in = {GLINT_NONE, GLINT_I64},
                                           .out = {GLINT_I64, GLINT_BYTES},
                                           .state_size = sizeof(struct large_state),
                                           .each = large_each};
const struct glint_function local_first = {.name = "local.first",
                                           .kind = GLINT_KIND_MAP,
                                           .in = {GLINT_I64, GLINT_BYTES},
                                           .out = {GLINT_I64, GLINT_I64},
                                           .each = first_each};

const struct glint_function local_firsts = {.name = "local.firsts",
                                            .kind = GLINT_KIND_MAP,
                                            .in = {GLINT_I64, GLINT_MSGPACK},
                                            .out = {GLINT_I64, GLINT_I64},
                                            .each = firsts_each};

#define FUNCTION(name_, kind_, each_)                                                              \
    {                                                                                              \
        .name = name_, .kind = kind_, .in = {GLINT_NONE, GLINT_I64},                               \
        .out = {GLINT_I64, GLINT_I64}, .state_size = sizeof(struct local_state),                   \
        .open = state_open, .each = each_                                                          \
    }

const struct glint_function local_map = FUNCTION("local.map", GLINT_KIND_MAP, map_each);
const struct glint_function local_flaky = FUNCTION("local.flaky", GLINT_KIND_MAP, flaky_each);
const struct glint_function local_picky = FUNCTION("local.picky", GLINT_KIND_MAP, picky_each);
const struct glint_function local_endless =
    FUNCTION("local.endless", GLINT_KIND_FLAT_MAP, endless_each);
const struct glint_function local_silent = FUNCTION("local.silent", GLINT_KIND_MAP, silent_each);
const struct glint_function local_sly = FUNCTION("local.sly", GLINT_KIND_MAP, sly_each);
static const struct glint_function *const functions[] = {
    &local_map,   &local_flaky, &local_picky,  &local_endless, &local_silent, &local_sly,
    &local_large, &local_first, &local_firsts, &local_part,    NULL};
static const struct glint_module module = {"local", functions};
static const struct glint_module *const modules[] = {&ops_module, &module, NULL};

struct context_config local_config(uint32_t slots, bool encode)
{
    return (struct context_config){.slots = slots,
                                   .memory_bytes = slots * SLOT_MEMORY_BYTES_MIN,
                                   .partitions = 3,
                                   .bad_rows_max = -1,
                                   .encode_messages = encode,
                                   .ops = ops_table,
                                   .modules = modules};
}

struct glint_rdd *local_numbers(struct glint *g, uint64_t count, uint32_t partitions)
{
    struct glint_record *records = calloc(count + 1, sizeof *records);
    assert(records != NULL);
    for (uint64_t i = 0; i < count; i++) records[i].value.i64 = (int64_t)i;
    struct glint_schema schema = {GLINT_NONE, GLINT_I64};
    struct glint_rdd *rdd = glint_parallelize(g, schema, records, count, partitions);
    free(records);
    return rdd;
}

struct glint_rdd *local_counts(struct glint_rdd *pairs)
{
    return glint_reduce_by_key(pairs, &GLINT_SUM_I64, NULL);
}
