/* saveAsTextFile, plain and compressed: the lines of each type, and reading them back. */
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(save, .init = scratch_open, .fini = scratch_close);

/* Saves one row with every fixture and compares the part file. */
static void expect_line(struct glint_schema schema, union glint_value key, union glint_value value,
                        const char *line)
{
    const struct glint_record row = {key, value};
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        char path[PATH_BYTES];
        struct glint *g = fixture_open(w);
        struct glint_rdd *rdd = glint_parallelize(g, schema, &row, 1, 1);
        cr_assert_eq(glint_save_as_text_file(rdd, scratch_path("out", path)), 0);
        fixture_close(g, GLINT_OK);
        struct buffer got = scratch_read("out/part-00000");
        cr_assert(got.size == strlen(line) && memcmp(got.data, line, got.size) == 0,
                  "%s: %.*s, not %s", w->name, (int)got.size, (char *)got.data, line);
        buffer_fini(&got);
        got = scratch_read("out/_SUCCESS");
        cr_assert_eq(got.size, 0);
        buffer_fini(&got);
        scratch_remove("out");
    }
}

Test(save, every_type_prints_as_a_line)
{
    const union glint_value array = bytes("\x93\x01\xa1x\xc0", 5);
    expect_line((struct glint_schema){GLINT_NONE, GLINT_TEXT}, none(), text("a b"), "a b\n");
    expect_line((struct glint_schema){GLINT_NONE, GLINT_TEXT}, none(), text(""), "\n");
    expect_line((struct glint_schema){GLINT_TEXT, GLINT_I64}, text("k"), number(-3), "k\t-3\n");
    expect_line((struct glint_schema){GLINT_I64, GLINT_F64}, number(INT64_MIN), real(0.1),
                "-9223372036854775808\t0.1\n");
    expect_line((struct glint_schema){GLINT_F64, GLINT_BYTES}, real(1e16), text("\xff"),
                "1e+16\t\xff\n");
    expect_line((struct glint_schema){GLINT_BYTES, GLINT_MSGPACK}, text("k"), array,
                "k\t[1, \"x\", null]\n");
    expect_line((struct glint_schema){GLINT_TEXT, GLINT_NONE}, text("k"), none(), "k\t\n");
}

struct saved {
    char path[PATH_BYTES];
};

static struct glint_rdd *make_lines(struct glint *g, void *arg)
{
    return glint_text_file(g, ((struct saved *)arg)->path);
}

/* Short and long lines, more than a block of them; compressed parts end in .gz and are smaller. */
Test(save, gzip_output_is_read_back)
{
    struct table t = {.schema = {GLINT_NONE, GLINT_TEXT}};
    static char line[100000];
    struct saved out;
    memset(line, 'x', sizeof line);
    for (uint64_t i = 0, size = 0; i < 2000; i++) {
        size = i % 500 == 499 ? sizeof line - i : i % 70;
        table_add(&t, none(), bytes(line, size));
    }
    scratch_path("out", out.path);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        struct glint_rdd *rdd = glint_parallelize(g, t.schema, t.rows, t.count, 3);
        cr_assert_eq(glint_save_as_gzip_text_file(rdd, out.path), 0);
        fixture_close(g, GLINT_OK);
        for (int part = 0; part < 3; part++) {
            char name[64];
            snprintf(name, sizeof name, "out/part-%05d.gz", part);
            struct buffer got = scratch_read(name);
            cr_assert(got.size > 20 && got.size < 20000 && memcmp(got.data, "\x1f\x8b", 2) == 0);
            buffer_fini(&got);
        }
        plan_expect(make_lines, &out, NULL, &t);
        scratch_remove("out");
    }
    table_free(&t);
}

/* A path inside an output of this job that is not committed: the hint names the output. Other
 * missing files get no such hint. */
Test(save, part_of_own_output_cannot_be_read)
{
    char out[PATH_BYTES], inside[2 * PATH_BYTES];
    scratch_path("out", out);
    for (int i = 0; i < 4; i++) {
        static const char *const suffixes[] = {"/part-*", "/part-00000", ",/nowhere", ""};
        struct glint *g = fixture_open(&fixtures[0]);
        struct glint_record r = {.value.i64 = 1};
        struct glint_rdd *rdd =
            glint_parallelize(g, (struct glint_schema){GLINT_NONE, GLINT_I64}, &r, 1, 1);
        cr_assert_eq(glint_save_as_text_file(rdd, out), 0);
        snprintf(inside, sizeof inside, "%s%s", i == 3 ? "/nowhere" : out, suffixes[i]);
        cr_expect_null(glint_text_file(g, inside));
        cr_expect_eq(strstr(glint_error(g)->hint, "is an output of this job") != NULL, i < 3,
                     "%s: %s", inside, glint_error(g)->hint);
        fixture_close(g, GLINT_E_INPUT_NOT_FOUND);
    }
}

/* ---- Empty cells: their column may have a NULL buffer */

enum { EMPTY_ROWS = 3, EMPTY_LARGE = 200000 };

/* Rows with an empty text as key and another text as value, after a shuffle. */
static struct glint_rdd *make_empty(struct glint *g, uint64_t value_size, bool reduced)
{
    static char large[EMPTY_LARGE];
    struct glint_record rows[EMPTY_ROWS];
    for (int i = 0; i < EMPTY_ROWS; i++)
        rows[i] = (struct glint_record){text(""), bytes(large, value_size)};
    struct glint_rdd *rdd =
        glint_parallelize(g, (struct glint_schema){GLINT_TEXT, GLINT_TEXT}, rows, EMPTY_ROWS, 1);
    return reduced ? glint_distinct(glint_keys(rdd)) : glint_partition_by(rdd, 1);
}

static void expect_empty_saved(uint64_t value_size, bool reduced,
                               int (*save)(struct glint_rdd *rdd, const char *path), uint64_t size)
{
    char path[PATH_BYTES];
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        cr_expect_eq(save(make_empty(g, value_size, reduced), scratch_path("out", path)), 0);
        fixture_close(g, GLINT_OK);
        struct buffer got = scratch_read("out/part-00000");
        cr_expect_eq(got.size, size, "%s: %llu", w->name, (unsigned long long)got.size);
        buffer_fini(&got);
        scratch_remove("out");
    }
}

Test(save, empty_cells_after_a_shuffle_are_saved)
{
    expect_empty_saved(0, false, glint_save_as_text_file, 2 * EMPTY_ROWS);
    expect_empty_saved(0, true, glint_save_as_text_file, 1);
    expect_empty_saved(0, false, glint_save_as_msgpack_file, 3 * EMPTY_ROWS);
    expect_empty_saved(0, true, glint_save_as_msgpack_file, 1);
    expect_empty_saved(EMPTY_LARGE, false, glint_save_as_text_file, (EMPTY_LARGE + 2) * EMPTY_ROWS);
    expect_empty_saved(EMPTY_LARGE, false, glint_save_as_msgpack_file,
                       (EMPTY_LARGE + 7) * EMPTY_ROWS);
}
