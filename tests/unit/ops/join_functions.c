/* Functions of the results of joins and cogroups, and functions that emit many records. */
#include "engine/plan/context_config.h"
#include "tests/unit/ops/harness.h"

#include <stdio.h>

/* ---- group: "1,2,|3," for the left values 1, 2 and the right value 3 */

struct lists {
    char text[4096];
    size_t size;
    bool right;
};

static int sides_begin(struct glint_task *task, void *state, const union glint_value *key)
{
    (void)task, (void)key;
    *(struct lists *)state = (struct lists){.size = 0};
    return 0;
}

static int sides_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    (void)out;
    struct lists *s = state;
    const struct glint_pair pair = glint_pair(&in->value);
    const union glint_value number = pair.left.value, value = pair.right.value;
    if (pair.left.type != GLINT_I64 || pair.right.type != GLINT_I64 || number.i64 < s->right ||
        s->size > 4000)
        return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "not a [side, i64] in order");
    if (number.i64 == 1 && !s->right) s->text[s->size++] = '|';
    s->right = number.i64 == 1;
    s->size += (size_t)snprintf(s->text + s->size, sizeof s->text - s->size, "%lld,",
                                (long long)value.i64);
    return 0;
}

static int sides_end(struct glint_task *task, void *state, const union glint_value *key,
                     struct glint_emitter *out)
{
    (void)task;
    struct lists *s = state;
    if (!s->right) s->text[s->size++] = '|';
    const struct glint_record r = {*key, bytes(s->text, s->size)};
    glint_emit(out, &r);
    return 0;
}

/* ---- flatMap: from a number n, `count` records with key `key`, whose values have `size` bytes and
 * begin with "n-i " */

struct burst {
    int64_t count, size, key;
    char *text;
};

static int burst_open(struct glint_task *task, void *state)
{
    struct burst *s = state;
    int r = glint_arg_i64(task, "count", &s->count);
    if (r == 0) r = glint_arg_i64(task, "size", &s->size);
    if (r == 0) r = glint_arg_i64(task, "key", &s->key);
    if (r < 0) return r;
    s->text = glint_scratch(task, (uint64_t)s->size + 64);
    if (s->text == NULL) return GLINT_E_NO_MEMORY;
    uint64_t seed = 7;
    for (int64_t i = 0; i < s->size; i++) s->text[i] = (char)test_next(&seed);
    return 0;
}

static int burst_each(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    (void)task;
    const struct burst *s = state;
    for (int64_t i = 0; i < s->count; i++) {
        char head[64];
        const int n =
            snprintf(head, sizeof head, "%lld-%lld ", (long long)in->value.i64, (long long)i);
        memcpy(s->text, head, (size_t)n < (size_t)s->size ? (size_t)n : (size_t)s->size);
        const struct glint_record r = {number(s->key), bytes(s->text, (uint64_t)s->size)};
        glint_emit(out, &r);
    }
    return 0;
}

/* ---- map: [left, right] to "left+right", each up to its first space; nil is "nil" */

static int digest_part(const struct glint_cell *cell, char *text)
{
    const union glint_value v = cell->value;
    int n = 0;
    if (cell->type == GLINT_NONE) return snprintf(text, 32, "nil");
    if (cell->type != GLINT_TEXT) return snprintf(text, 32, "wrong");
    while (n < 31 && (uint64_t)n < v.bytes.size && v.bytes.data[n] != ' ') {
        text[n] = (char)v.bytes.data[n];
        n++;
    }
    return n;
}

static int digest_each(struct glint_task *task, void *state, const struct glint_record *in,
                       struct glint_emitter *out)
{
    (void)state;
    const struct glint_pair pair = glint_pair(&in->value);
    char text[80];
    (void)task;
    int n = digest_part(&pair.left, text);
    text[n++] = '+';
    n += digest_part(&pair.right, text + n);
    const struct glint_record r = {in->key, bytes(text, (uint64_t)n)};
    glint_emit(out, &r);
    return 0;
}

/* ---- A function that counts rows, and one that rejects rows */

static int count_rows(struct glint_task *task, void *state, const struct glint_record *in,
                      struct glint_emitter *out)
{
    (void)state;
    glint_counter_add(task, glint_counter(task, "counted rows"), 1);
    glint_emit(out, in);
    return 0;
}

/* The index of the partition as the key. */
static int add_partition(struct glint_task *task, void *state, const struct glint_record *in,
                         struct glint_emitter *out)
{
    (void)state;
    const struct glint_record r = {number(glint_partition(task)), in->value};
    glint_emit(out, &r);
    return 0;
}

static int refuse(struct glint_task *task, void *state, const struct glint_record *in,
                  struct glint_emitter *out)
{
    (void)state, (void)in, (void)out;
    return glint_fail(task, GLINT_E_FUNCTION_FAILED, NULL, "as requested");
}

static const struct glint_function sides = {.name = "two.sides",
                                            .kind = GLINT_KIND_GROUP,
                                            .in = {GLINT_ANY, GLINT_MSGPACK},
                                            .out = {GLINT_SAME, GLINT_TEXT},
                                            .state_size = sizeof(struct lists),
                                            .begin_group = sides_begin,
                                            .each = sides_each,
                                            .end_group = sides_end};
static const struct glint_function burst = {.name = "two.burst",
                                            .kind = GLINT_KIND_FLAT_MAP,
                                            .in = {GLINT_NONE, GLINT_I64},
                                            .out = {GLINT_I64, GLINT_TEXT},
                                            .state_size = sizeof(struct burst),
                                            .open = burst_open,
                                            .each = burst_each};
static const struct glint_function digest = {.name = "two.digest",
                                             .kind = GLINT_KIND_MAP,
                                             .in = {GLINT_ANY, GLINT_MSGPACK},
                                             .out = {GLINT_SAME, GLINT_TEXT},
                                             .each = digest_each};
static const struct glint_function counted = {.name = "two.count_rows",
                                              .kind = GLINT_KIND_FLAT_MAP,
                                              .in = {GLINT_ANY, GLINT_ANY},
                                              .out = {GLINT_SAME, GLINT_SAME},
                                              .each = count_rows};
static const struct glint_function refuses = {.name = "two.refuses",
                                              .kind = GLINT_KIND_FLAT_MAP,
                                              .in = {GLINT_ANY, GLINT_ANY},
                                              .out = {GLINT_SAME, GLINT_SAME},
                                              .each = refuse};

static const struct glint_function with_partition =
    GLINT_FLAT_MAP("two.with_partition", GLINT_ELEMENTS(GLINT_MSGPACK),
                   GLINT_PAIRS(GLINT_I64, GLINT_MSGPACK), add_partition);

static const struct glint_function *const functions[] = {
    &sides, &burst, &digest, &counted, &refuses, &with_partition, NULL};

const struct glint_module test_two = {"two", functions};
