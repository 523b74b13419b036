/* keyBy, keys and values, compared with plain loops. */
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(keys, .init = scratch_open, .fini = scratch_close);

#define LINES 5000u

/* Lines of 0 to 40 bytes, and one that does not fit into a batch. */
static struct table lines_make(const char *name, uint32_t count)
{
    struct table lines = {.schema = {GLINT_NONE, GLINT_TEXT}};
    struct buffer file = {NULL, 0, 0};
    uint64_t seed = 1;
    char line[64];
    for (uint32_t i = 0; i < count; i++) {
        const int size = snprintf(line, sizeof line, "%.*s%u", (int)(test_next(&seed) % 32),
                                  "abcdefghijklmnopqrstuvwxyzabcdef", i % 97);
        table_add(&lines, none(), bytes(line, (uint64_t)size));
        cr_assert(buffer_append(&file, line, (uint64_t)size) && buffer_append(&file, "\n", 1));
        if (i != count / 2) continue;
        const uint64_t start = file.size;
        for (uint32_t n = 0; n < 300000; n++) cr_assert(buffer_append(&file, "long", 4));
        table_add(&lines, none(), bytes(file.data + start, file.size - start));
        cr_assert(buffer_append(&file, "\n", 1));
    }
    scratch_write(name, file.data, file.size);
    buffer_fini(&file);
    return lines;
}

struct plan {
    const char *function;
    char path[PATH_BYTES];
};

static struct glint_rdd *make_key_by(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return glint_key_by(glint_text_file(g, p->path), fn(p->function), NULL);
}

static struct glint_rdd *make_keys(struct glint *g, void *arg)
{
    return glint_keys(make_key_by(g, arg));
}

static struct glint_rdd *make_values(struct glint *g, void *arg)
{
    return glint_values(make_key_by(g, arg));
}

static void run_all(struct plan *p, const struct table *lines, enum glint_type type,
                    union glint_value (*key)(union glint_value line))
{
    struct table pairs = {.schema = {type, GLINT_TEXT}}, keys = {.schema = {GLINT_NONE, type}};
    for (uint64_t i = 0; i < lines->count; i++) {
        const union glint_value line = lines->rows[i].value;
        table_add(&pairs, key(line), line);
        table_add(&keys, none(), key(line));
    }
    const uint64_t split_bytes[] = {0, 777, 65536};
    for (int i = 0; i < 3; i++) {
        const struct fixture base = {.split_bytes = split_bytes[i]};
        plan_expect(make_key_by, p, &base, &pairs);
        plan_expect(make_keys, p, &base, &keys);
        plan_expect(make_values, p, &base, lines);
    }
    table_free(&pairs);
    table_free(&keys);
}

static union glint_value key_length(union glint_value line)
{
    return number((int64_t)line.bytes.size);
}

static union glint_value key_prefix(union glint_value line)
{
    return bytes(line.bytes.data, line.bytes.size < 3 ? line.bytes.size : 3);
}

Test(keys, row_and_batch_functions_give_the_same_keys)
{
    struct table lines = lines_make("lines", LINES);
    struct plan p = {.function = "test.length"};
    scratch_path("lines", p.path);
    run_all(&p, &lines, GLINT_I64, key_length);
    p.function = "test.length_batch";
    run_all(&p, &lines, GLINT_I64, key_length);
    p.function = "test.prefix";
    run_all(&p, &lines, GLINT_TEXT, key_prefix);
    table_free(&lines);
}

Test(keys, empty_input_gives_no_keys)
{
    struct table none_at_all = {.schema = {GLINT_NONE, GLINT_I64}};
    struct plan p = {.function = "test.length"};
    scratch_write("empty", "", 0);
    scratch_path("empty", p.path);
    plan_expect(make_keys, &p, NULL, &none_at_all);
}

static struct glint_rdd *make_keys_of_lines(struct glint *g, void *arg)
{
    return glint_keys(glint_text_file(g, arg));
}

static struct glint_rdd *make_values_of_lines(struct glint *g, void *arg)
{
    return glint_values(glint_text_file(g, arg));
}

static struct glint_rdd *make_twice(struct glint *g, void *arg)
{
    return glint_key_by(make_key_by(g, arg), fn("test.length"), NULL);
}

Test(keys, misuse_is_rejected)
{
    struct plan p = {.function = "test.length"};
    scratch_write("one", "line\n", 5);
    scratch_path("one", p.path);
    plan_expect_error(make_keys_of_lines, p.path, NULL, GLINT_E_PLAN_TYPE, "keys needs keys");
    plan_expect_error(make_values_of_lines, p.path, NULL, GLINT_E_PLAN_TYPE, "values needs keys");
    plan_expect_error(make_twice, &p, NULL, GLINT_E_PLAN_TYPE, "keyBy needs single elements");
    p.function = "test.no_key";
    plan_expect_error(make_key_by, &p, NULL, GLINT_E_PLAN_TYPE, "emits no key");
    p.function = "test.unknown";
    plan_expect_error(make_key_by, &p, NULL, GLINT_E_PLAN_FUNCTION, "test.unknown");
    p.function = "glint.sum_i64";
    plan_expect_error(make_key_by, &p, NULL, GLINT_E_PLAN_FUNCTION, "does not accept");
    p.function = "test.fail";
    plan_expect_error(make_key_by, &p, NULL, GLINT_E_FUNCTION_FAILED, "as requested");
}
