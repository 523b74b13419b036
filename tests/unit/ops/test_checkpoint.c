/* checkpoint: the new RDD has the records and partitions of the old one, without its lineage; the
 * directory stays when the job fails, and another job reads it. */
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

TestSuite(checkpoint, .init = scratch_open, .fini = scratch_close);

enum { PARTITIONS = 5 };

static struct glint_rdd *sums(struct glint *g)
{
    struct glint_rdd *pairs = glint_key_by(glint_range(g, 0, 5000, 1, 3), fn("red.modulo"), NULL);
    return glint_with_partitions(glint_reduce_by_key(pairs, &GLINT_SUM_I64, NULL), PARTITIONS);
}

static bool has_file(const char *directory, const char *name)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

static int count_saved(struct glint *g, const char *path, enum glint_type key, int64_t *out)
{
    return glint_count(glint_msgpack_file(g, path, (struct glint_schema){key, GLINT_I64}), out);
}

Test(checkpoint, has_the_records_and_partitions)
{
    for (const struct fixture *f = fixtures; f->name != NULL; f++) {
        char path[PATH_BYTES];
        struct table expected, got, again;
        struct glint *g = fixture_open(f);
        struct glint_rdd *made = sums(g);
        table_collect(made, &expected);
        struct glint_rdd *rdd = glint_checkpoint(made, scratch_path("saved", path));
        cr_assert_not_null(rdd, "%s: %s", f->name, glint_error(g)->cause);
        cr_expect(has_file(path, "_SUCCESS") && has_file(path, "part-00004"), "published at once");
        cr_expect_eq(glint_partitions(rdd), PARTITIONS);
        glint_release(made);
        table_collect(rdd, &got);
        table_expect(&got, &expected, f->name);
        fixture_close(g, GLINT_OK);
        g = fixture_open(f);
        table_collect(glint_msgpack_file(g, path, expected.schema), &again);
        table_expect(&again, &expected, "another job");
        fixture_close(g, GLINT_OK);
        table_free(&expected);
        table_free(&got);
        table_free(&again);
        scratch_remove("saved");
    }
}

/* Partitions without records, and a path that looks like a list and a pattern. */
Test(checkpoint, of_empty_partitions)
{
    char path[PATH_BYTES];
    struct table got;
    struct glint *g = fixture_open(&fixtures[0]);
    struct glint_rdd *rdd =
        glint_checkpoint(glint_range(g, 0, 2, 1, 6), scratch_path("a,b*[c]", path));
    cr_assert_not_null(rdd, "%s", glint_error(g)->cause);
    cr_expect_eq(glint_partitions(rdd), 6);
    table_collect(rdd, &got);
    cr_expect_eq(got.count, 2);
    table_free(&got);
    fixture_close(g, GLINT_OK);
}

Test(checkpoint, stays_when_the_job_fails)
{
    char path[PATH_BYTES], output[PATH_BYTES];
    int64_t count;
    struct glint *g = fixture_open(&fixtures[0]);
    struct glint_rdd *rdd = glint_checkpoint(sums(g), scratch_path("saved", path));
    cr_assert_not_null(glint_checkpoint(rdd, scratch_path("saved2", output)));
    cr_assert_eq(glint_save_as_text_file(rdd, scratch_path("out", output)), 0);
    glint_abort(g, GLINT_E_BAD_VALUE, NULL, "the job's own error");
    glint_finish(g);
    cr_expect_str_eq(glint_error(g)->effect,
                     "no output was published; existing outputs are unchanged; "
                     "2 checkpoints are left");
    cr_expect_not(has_file(output, "_SUCCESS"));
    cr_expect(has_file(path, "_SUCCESS"));
    glint_destroy(g);
    g = fixture_open(&fixtures[1]);
    cr_assert_eq(count_saved(g, path, GLINT_I64, &count), 0, "%s", glint_error(g)->cause);
    cr_expect_gt(count, 0);
    fixture_close(g, GLINT_OK);
}

Test(checkpoint, mistakes_are_errors)
{
    char path[PATH_BYTES];
    struct glint *g = fixture_open(&fixtures[0]);
    cr_assert_not_null(glint_checkpoint(sums(g), scratch_path("saved", path)));
    cr_expect_null(glint_checkpoint(sums(g), path));
    cr_expect_eq(glint_error(g)->code, GLINT_E_OUTPUT_EXISTS);
    glint_finish(g);
    cr_expect_str_eq(strstr(glint_error(g)->effect, "1 checkpoint"), "1 checkpoint is left");
    fixture_close(g, GLINT_E_OUTPUT_EXISTS);
    /* The records of a damaged or wrong file are checked when they are read. */
    scratch_write("saved/part-00002", "\xc1", 1);
    g = fixture_open(&fixtures[0]);
    int64_t count;
    cr_expect_eq(count_saved(g, path, GLINT_I64, &count), GLINT_E_MSGPACK_CORRUPT);
    fixture_close(g, GLINT_E_MSGPACK_CORRUPT);
    g = fixture_open(&fixtures[0]);
    cr_expect_eq(count_saved(g, path, GLINT_TEXT, &count), GLINT_E_MSGPACK_CORRUPT);
    fixture_close(g, GLINT_E_MSGPACK_CORRUPT);
}
