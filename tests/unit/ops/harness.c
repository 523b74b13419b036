/* Fixtures, scratch files and tables. The scratch directory is the only state of a test: each test
 * runs in a new process. */
#include "tests/unit/ops/harness.h"
#include "engine/driver/driver.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const struct fixture fixtures[] = {
    {.name = "one slot", .slots = 1},
    {.name = "two slots", .slots = 2},
    {.name = "eight slots", .slots = 8},
    {.name = "messages as bytes", .slots = 2, .encode_messages = true},
    {.name = NULL}};

static const struct glint_module *const modules[] = {
    &ops_module, &test_functions, &test_reducers, &test_accumulators, &test_two, NULL};

const struct glint_function *fn(const char *name)
{
    static struct glint_function unknown;
    const struct context_config registry = {.modules = modules};
    const struct glint_function *found = registry_find_function(&registry, name);
    unknown.name = name;
    return found != NULL || name == NULL ? found : &unknown;
}

static char scratch_dir[64];

struct glint *fixture_open(const struct fixture *w)
{
    struct glint_error error = {.code = GLINT_OK};
    const struct context_config config = {.slots = w->slots,
                                          .partitions = w->partitions,
                                          .memory_bytes = w->memory_bytes,
                                          .split_bytes = w->split_bytes,
                                          .result_bytes_max = w->result_bytes_max,
                                          .encode_messages = w->encode_messages,
                                          .skip_bad_rows = w->skip_bad_rows,
                                          .bad_rows_max = -1,
                                          .work_dir = scratch_dir[0] != '\0' ? scratch_dir : NULL,
                                          .ops = ops_table,
                                          .modules = modules};
    struct glint *g = context_create(&config, &error);
    cr_assert_not_null(g, "%s: %s", w->name, error.cause);
    return g;
}

void fixture_close(struct glint *g, enum glint_code code)
{
    const int r = glint_finish(g);
    cr_assert_eq(r, code, "the job returned %d, not %d: %s", r, code, glint_error(g)->cause);
    glint_destroy(g);
}

/* ---- Files */

void scratch_open(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(scratch_dir, sizeof scratch_dir, "%.40s/glint-test-XXXXXX",
             parent != NULL && strlen(parent) <= 40 ? parent : "/tmp");
    cr_assert_not_null(mkdtemp(scratch_dir));
}

void scratch_close(void)
{
    cr_assert_eq(env_remove_tree(env_real(), ENV_CWD, scratch_dir, 4), 0);
    scratch_dir[0] = '\0';
    cr_expect_eq(mem_live_blocks(), 0, "%lld blocks were not freed", (long long)mem_live_blocks());
}

const char *scratch_path(const char *name, char *out)
{
    cr_assert_lt(snprintf(out, PATH_BYTES, "%s/%s", scratch_dir, name), PATH_BYTES);
    return out;
}

void scratch_write(const char *name, const void *data, uint64_t size)
{
    char path[PATH_BYTES];
    FILE *f = fopen(scratch_path(name, path), "w");
    cr_assert_not_null(f, "%s", path);
    cr_assert_eq(fwrite(data, 1, size, f), size);
    cr_assert_eq(fclose(f), 0);
}

struct buffer scratch_read(const char *name)
{
    char path[PATH_BYTES];
    struct stat st;
    struct buffer b = {NULL, 0, 0};
    const int file = open(scratch_path(name, path), O_RDONLY);
    cr_assert(file >= 0 && fstat(file, &st) == 0, "%s", path);
    cr_assert(buffer_reserve(&b, (uint64_t)st.st_size + 1));
    while (b.size < (uint64_t)st.st_size) {
        const ssize_t n = read(file, b.data + b.size, (uint64_t)st.st_size - b.size);
        cr_assert_gt(n, 0);
        b.size += (uint64_t)n;
    }
    close(file);
    return b;
}

void scratch_remove(const char *name)
{
    char path[PATH_BYTES];
    cr_assert_eq(env_remove_tree(env_real(), ENV_CWD, scratch_path(name, path), 2), 0);
}

/* ---- Tables */

static bool is_bytes(enum glint_type type)
{
    return type == GLINT_BYTES || type == GLINT_TEXT || type == GLINT_MSGPACK;
}

static union glint_value copy_value(struct table *t, enum glint_type type, union glint_value v)
{
    if (!is_bytes(type)) return v;
    uint8_t *memory = arena_alloc(&t->arena, v.bytes.size + 1);
    cr_assert_not_null(memory);
    if (v.bytes.size > 0) memcpy(memory, v.bytes.data, v.bytes.size);
    return bytes(memory, v.bytes.size);
}

void table_add(struct table *t, union glint_value key, union glint_value value)
{
    if (t->count == t->capacity) {
        const uint64_t capacity = t->capacity > 0 ? 2 * t->capacity : 64;
        struct glint_record *rows =
            mem_grow(t->rows, t->count * sizeof *rows, capacity * sizeof *rows);
        cr_assert_not_null(rows);
        t->rows = rows;
        t->capacity = capacity;
    }
    t->rows[t->count++] = (struct glint_record){copy_value(t, t->schema.key, key),
                                                copy_value(t, t->schema.value, value)};
}

void table_free(struct table *t)
{
    mem_free(t->rows);
    arena_fini(&t->arena);
    *t = (struct table){.rows = NULL};
}

void table_collect(struct glint_rdd *rdd, struct table *out)
{
    struct glint_rows rows = {.count = 0};
    *out = (struct table){.rows = NULL};
    cr_assert_not_null(rdd, "no plan was made");
    const int r = glint_collect(rdd, &rows);
    cr_assert_eq(r, 0, "collect returned %d: %s", r, glint_error(glint_context(rdd))->cause);
    out->schema = rows.schema;
    for (uint64_t i = 0; i < rows.count; i++) {
        const struct glint_record record = glint_rows_at(&rows, i);
        table_add(out, record.key, record.value);
    }
    glint_rows_free(&rows);
}

static bool is_same_value(enum glint_type type, const union glint_value *a,
                          const union glint_value *b)
{
    if (type == GLINT_NONE) return true;
    if (is_bytes(type))
        return a->bytes.size == b->bytes.size &&
               memcmp(a->bytes.data, b->bytes.data, a->bytes.size) == 0;
    return a->i64 == b->i64; /* a double by its bits */
}

void table_expect(const struct table *got, const struct table *expected, const char *what)
{
    cr_assert_eq(got->schema.key, expected->schema.key, "%s: type of the keys", what);
    cr_assert_eq(got->schema.value, expected->schema.value, "%s: type of the values", what);
    for (uint64_t i = 0; i < got->count && i < expected->count; i++) {
        const struct glint_record *a = &got->rows[i], *b = &expected->rows[i];
        cr_assert(is_same_value(got->schema.key, &a->key, &b->key), "%s: key of row %llu", what,
                  (unsigned long long)i);
        cr_assert(is_same_value(got->schema.value, &a->value, &b->value), "%s: value of row %llu",
                  what, (unsigned long long)i);
    }
    cr_assert_eq(got->count, expected->count, "%s: %llu rows, not %llu", what,
                 (unsigned long long)got->count, (unsigned long long)expected->count);
}

/* ---- Plans */

/* `base` with the name, slots and encoding of `w`; NULL: `w`. */
static struct fixture fixture_with(const struct fixture *w, const struct fixture *base)
{
    struct fixture both = base != NULL ? *base : *w;
    both.name = w->name;
    both.slots = w->slots;
    both.encode_messages = w->encode_messages;
    return both;
}

void plan_expect(plan_make make, void *arg, const struct fixture *base,
                 const struct table *expected)
{
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        const struct fixture fixture = fixture_with(w, base);
        struct table got;
        struct glint *g = fixture_open(&fixture);
        struct glint_rdd *rdd = make(g, arg);
        cr_assert_not_null(rdd, "%s: %s", w->name, glint_error(g)->cause);
        table_collect(rdd, &got);
        table_expect(&got, expected, w->name);
        table_free(&got);
        fixture_close(g, GLINT_OK);
    }
}

void plan_expect_error(plan_make make, void *arg, const struct fixture *base, enum glint_code code,
                       const char *cause)
{
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        const struct fixture fixture = fixture_with(w, base);
        struct glint_rows rows = {.count = 0};
        struct glint *g = fixture_open(&fixture);
        struct glint_rdd *rdd = make(g, arg);
        if (rdd != NULL) glint_collect(rdd, &rows);
        cr_assert_eq(glint_error(g)->code, code, "%s: code %d, not %d: %s", w->name,
                     glint_error(g)->code, code, glint_error(g)->cause);
        cr_assert_not_null(strstr(glint_error(g)->cause, cause),
                           "%s: \"%s\" does not contain \"%s\"", w->name, glint_error(g)->cause,
                           cause);
        glint_rows_free(&rows);
        fixture_close(g, code);
    }
}

uint64_t test_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}
