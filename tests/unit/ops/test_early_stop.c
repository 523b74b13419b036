/* Early stops: take through every source and through every operator that passes batches on. The
 * tests count how many rows are read. */
#include "tests/unit/ops/msgpack_tables.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(early_stop, .init = scratch_open, .fini = scratch_close);

#define ROWS 100000u

struct plan {
    struct table lines; /* (none, text) */
    char text[PATH_BYTES], msgpack[PATH_BYTES];
};

static void plan_open(struct plan *p)
{
    struct buffer file = {NULL, 0, 0};
    char line[32];
    *p = (struct plan){.lines = {.schema = {GLINT_NONE, GLINT_TEXT}}};
    for (uint32_t i = 0; i < ROWS; i++) {
        const int size = snprintf(line, sizeof line, "key,%u\n", i);
        cr_assert(buffer_append(&file, line, (uint64_t)size));
        table_add(&p->lines, none(), bytes(line, (uint64_t)size - 1));
    }
    scratch_write("text", file.data, file.size);
    buffer_fini(&file);
    file = table_pack(&p->lines, 0, ROWS);
    scratch_write("msgpack", file.data, file.size);
    buffer_fini(&file);
    scratch_path("text", p->text);
    scratch_path("msgpack", p->msgpack);
}

static struct glint_rdd *make_text(struct glint *g, void *arg)
{
    return glint_text_file(g, ((struct plan *)arg)->text);
}

static struct glint_rdd *make_n_line(struct glint *g, void *arg)
{
    return glint_n_line_text_file(g, ((struct plan *)arg)->text, ROWS);
}

static struct glint_rdd *make_key_value(struct glint *g, void *arg)
{
    return glint_key_value_text_file(g, ((struct plan *)arg)->text, ',');
}

static struct glint_rdd *make_msgpack(struct glint *g, void *arg)
{
    return glint_msgpack_file(g, ((struct plan *)arg)->msgpack,
                              (struct glint_schema){GLINT_NONE, GLINT_TEXT});
}

static struct glint_rdd *make_parallel(struct glint *g, void *arg)
{
    const struct table *t = &((struct plan *)arg)->lines;
    return glint_parallelize(g, t->schema, t->rows, t->count, 1);
}

static struct glint_rdd *make_key_by(struct glint *g, void *arg)
{
    return glint_key_by(make_msgpack(g, arg), fn("test.length"), NULL);
}

static struct glint_rdd *make_keys(struct glint *g, void *arg)
{
    return glint_keys(make_key_by(g, arg));
}

static struct glint_rdd *make_values(struct glint *g, void *arg)
{
    return glint_values(make_key_value(g, arg));
}

static struct glint_rdd *make_sample(struct glint *g, void *arg)
{
    return glint_sample(make_parallel(g, arg), 0.5, 1);
}

static struct glint_rdd *make_joined(struct glint *g, void *arg)
{
    struct glint_rdd *both = glint_union(make_msgpack(g, arg), make_text(g, arg));
    return glint_coalesce(glint_union(both, make_parallel(g, arg)), 1);
}

static void expect_early_end(plan_make make, struct plan *p, const char *what)
{
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct table all;
        struct glint_rows rows = {.count = 0};
        struct glint *g = fixture_open(w);
        table_collect(make(g, p), &all);
        const int64_t before = glint_counter_value(g, "rows read");
        cr_assert_eq(glint_take(make(g, p), 7, &rows), 0, "%s: %s", what, glint_error(g)->cause);
        const int64_t read = glint_counter_value(g, "rows read") - before;
        cr_assert_eq(rows.count, 7, "%s, %s", what, w->name);
        struct table taken = {.schema = rows.schema};
        for (uint64_t i = 0; i < rows.count; i++)
            table_add(&taken, glint_rows_at(&rows, i).key, glint_rows_at(&rows, i).value);
        all.count = 7;
        table_expect(&taken, &all, what);
        cr_assert_leq(read, 2 * BATCH_ROWS_MAX, "%s, %s: %lld rows read for 7", what, w->name,
                      (long long)read);
        glint_rows_free(&rows);
        table_free(&taken);
        table_free(&all);
        fixture_close(g, GLINT_OK);
    }
}

Test(early_stop, take_reads_few_rows)
{
    struct plan p;
    plan_open(&p);
    expect_early_end(make_text, &p, "textFile");
    expect_early_end(make_n_line, &p, "nLineTextFile");
    expect_early_end(make_key_value, &p, "keyValueTextFile");
    expect_early_end(make_msgpack, &p, "msgpackFile");
    expect_early_end(make_parallel, &p, "parallelize");
    expect_early_end(make_key_by, &p, "keyBy");
    expect_early_end(make_keys, &p, "keys");
    expect_early_end(make_values, &p, "values");
    expect_early_end(make_sample, &p, "sample");
    expect_early_end(make_joined, &p, "union and coalesce");
    table_free(&p.lines);
}
