/* Chained steps: sources that read the output of an earlier step of the same job. */
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(chained_steps, .init = scratch_open, .fini = scratch_close);

static const struct glint_schema lines = {GLINT_NONE, GLINT_TEXT};

/* Saves `count` lines, "line 0" and so on, in `parts` parts. */
static int save_lines(struct glint *g, const char *path, uint64_t count, uint32_t parts)
{
    struct table t = {.schema = lines};
    char line[32];
    for (uint64_t i = 0; i < count; i++) {
        snprintf(line, sizeof line, "line %llu", (unsigned long long)i);
        table_add(&t, none(), text(line));
    }
    struct glint_rdd *rdd = glint_parallelize(g, lines, t.rows, t.count, parts);
    table_free(&t);
    return glint_save_as_text_file(rdd, path);
}

static bool path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void expect_lines(struct glint_rdd *rdd, uint64_t count)
{
    struct table got, expected = {.schema = lines};
    char line[32];
    for (uint64_t i = 0; i < count; i++) {
        snprintf(line, sizeof line, "line %llu", (unsigned long long)i);
        table_add(&expected, none(), text(line));
    }
    table_collect(rdd, &got);
    table_expect(&got, &expected, "the saved rows");
    table_free(&got);
    table_free(&expected);
}

Test(chained_steps, step_reads_output_of_previous_step)
{
    char first[PATH_BYTES], second[PATH_BYTES];
    scratch_path("first", first);
    scratch_path("second", second);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        struct glint *g = fixture_open(w);
        cr_assert_eq(save_lines(g, first, 2000, 3), 0);
        cr_assert_eq(glint_save_as_gzip_text_file(glint_text_file(g, first), second), 0);
        expect_lines(glint_text_file(g, second), 2000);
        cr_expect(!path_exists(first) && !path_exists(second),
                  "nothing is published before the end");
        fixture_close(g, GLINT_OK);
        g = fixture_open(w);
        expect_lines(glint_text_file(g, first), 2000);
        expect_lines(glint_text_file(g, second), 2000);
        fixture_close(g, GLINT_OK);
        scratch_remove("first");
        scratch_remove("second");
    }
}

/* Other sources, other ways to write the path, and lists. */
Test(chained_steps, output_is_read_by_any_path_and_source)
{
    char out[PATH_BYTES], name[3 * PATH_BYTES], here[PATH_BYTES];
    cr_assert_eq(chdir(scratch_path("", here)), 0);
    scratch_path("a,b", out);
    struct glint *g = fixture_open(&fixtures[1]);
    cr_assert_eq(save_lines(g, out, 10, 2), 0);
    expect_lines(glint_text_file(g, out), 10);
    expect_lines(glint_text_file(g, "a,b"), 10);
    expect_lines(glint_text_file(g, "./a,b//"), 10);
    snprintf(name, sizeof name, "file://%s", out);
    expect_lines(glint_text_file(g, name), 10);
    expect_lines(glint_n_line_text_file(g, out, 4), 10);
    expect_lines(glint_keys(glint_key_value_text_file(g, out, ';')), 10);
    cr_assert_eq(save_lines(g, "more", 3, 1), 0);
    struct glint_rows rows = {0};
    cr_assert_eq(glint_collect(glint_text_file(g, "more,more"), &rows), 0);
    cr_expect_eq(rows.count, 6);
    glint_rows_free(&rows);
    const struct glint_schema schema = {GLINT_NONE, GLINT_I64};
    const struct glint_record record = {none(), number(7)};
    cr_assert_eq(glint_save_as_msgpack_file(glint_parallelize(g, schema, &record, 1, 1), "m"), 0);
    cr_assert_eq(glint_collect(glint_msgpack_file(g, "m", schema), &rows), 0);
    cr_expect(rows.count == 1 && glint_rows_at(&rows, 0).value.i64 == 7);
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
    cr_assert_eq(chdir("/"), 0);
}

Test(chained_steps, empty_output_is_read)
{
    char out[PATH_BYTES];
    scratch_path("out", out);
    struct glint *g = fixture_open(&fixtures[1]);
    cr_assert_eq(save_lines(g, out, 0, 3), 0);
    expect_lines(glint_text_file(g, out), 0);
    fixture_close(g, GLINT_OK);
}

/* With --overwrite later steps read the new rows, while other processes see the old ones until the
 * job ends. */
Test(chained_steps, new_output_is_read_instead_of_replaced_one)
{
    char out[PATH_BYTES], part[2 * PATH_BYTES];
    scratch_path("out", out);
    snprintf(part, sizeof part, "%s/part-00001", out);
    struct glint *g = fixture_open(&fixtures[0]);
    cr_assert_eq(save_lines(g, out, 5, 2), 0);
    fixture_close(g, GLINT_OK);
    g = fixture_open(&fixtures[0]);
    g->config.overwrite = true;
    cr_assert_eq(save_lines(g, out, 3, 1), 0);
    expect_lines(glint_text_file(g, out), 3);
    cr_expect(path_exists(part));
    fixture_close(g, GLINT_OK);
    cr_expect(!path_exists(part));
}

/* An output that is not saved yet is read from the existing files. */
Test(chained_steps, output_saved_later_is_not_found)
{
    char out[PATH_BYTES];
    scratch_path("out", out);
    struct glint *g = fixture_open(&fixtures[0]);
    cr_assert_eq(glint_reserve_output(g, out), 0);
    cr_expect_null(glint_text_file(g, out));
    cr_expect_str_empty(glint_error(g)->hint);
    fixture_close(g, GLINT_E_INPUT_NOT_FOUND);
}

static void expect_nothing_left(void)
{
    char here[PATH_BYTES];
    cr_expect_eq(rmdir(scratch_path("", here)), 0, "files are left");
    cr_assert_eq(mkdir(here, 0700), 0);
}

/* A later step fails: nothing is committed, and the error shows the path of the output as the job
 * gave it. */
Test(chained_steps, failed_step_publishes_nothing)
{
    char out[PATH_BYTES], second[PATH_BYTES], place[PATH_BYTES + 64];
    scratch_path("out", out);
    scratch_path("second", second);
    for (const struct fixture *w = fixtures; w->name != NULL; w++) {
        const struct glint_record row = {none(), bytes("\x1f\x8b\x08\x00 no gzip", 12)};
        struct glint *g = fixture_open(w);
        cr_assert_eq(glint_save_as_text_file(glint_parallelize(g, lines, &row, 1, 1), out), 0);
        struct glint_rdd *damaged = glint_text_file(g, out);
        cr_expect_eq(glint_save_as_text_file(damaged, second), GLINT_E_COMPRESSED_TRUNCATED);
        snprintf(place, sizeof place, "%s/part-00000: the gzip data ends early", out);
        cr_expect_not_null(strstr(glint_error(g)->cause, place), "%s", glint_error(g)->cause);
        fixture_close(g, GLINT_E_COMPRESSED_TRUNCATED);
        expect_nothing_left();
    }
}

/* ---- Explain */

static struct buffer note_text;

static void take_note(void *arg, const char *line)
{
    (void)arg;
    cr_assert(buffer_append(&note_text, line, strlen(line)) && buffer_append(&note_text, "\n", 1));
}

static void expect_note(const char *what)
{
    cr_assert(buffer_reserve(&note_text, 1));
    note_text.data[note_text.size] = '\0';
    cr_expect_not_null(strstr((const char *)note_text.data, what), "%s is not in: %s", what,
                       (const char *)note_text.data);
}

/* The output does not exist yet: the plan names the stage that writes it, and says that the size is
 * unknown. */
Test(chained_steps, explain_names_the_producing_stage)
{
    char here[PATH_BYTES];
    struct glint_rows rows = {0};
    cr_assert_eq(chdir(scratch_path("", here)), 0);
    scratch_write("old", "a line\n", 7);
    struct glint *g = fixture_open(&fixtures[0]);
    g->config.explain = true;
    g->config.note = take_note;
    cr_assert_eq(save_lines(g, "first", 10, 2), 0);
    cr_assert_eq(save_lines(g, "second", 10, 3), 0);
    struct glint_rdd *both = glint_text_file(g, "first,old,./second");
    cr_assert_eq(glint_save_as_text_file(both, "third"), 0);
    expect_note("\nstage 2 textFile..saveAsTextFile: 6 tasks, input unknown\n"
                "  textFile first from stage 0, second from stage 1 (task count estimated: not "
                "saved yet)\n");
    /* explain runs actions on side files, except when an earlier step, which is not run, writes the
     * file. */
    struct glint_rdd *side = glint_as_side_file(glint_text_file(g, "third"));
    cr_assert_eq(glint_collect(side, &rows), 0);
    cr_expect_eq(rows.count, 0);
    expect_note("collect, not run: returns an empty result\n"
                "stage 3 textFile..collect: 6 tasks, input unknown\n"
                "  textFile third from stage 2 (task count");
    struct glint_rdd *pairs = glint_key_value_text_file(g, "first", ' ');
    cr_assert_eq(glint_save_as_text_file(glint_group_by_key(pairs), "fourth"), 0);
    expect_note("groupByKey (write) into 1 partition (estimated from the input)\n");
    struct glint_rdd *three = glint_with_partitions(glint_group_by_key(pairs), 3);
    cr_assert_eq(glint_save_as_text_file(three, "fifth"), 0);
    expect_note("groupByKey (write) into 3 partitions\n");
    cr_expect(!path_exists("first") && !path_exists("third"));
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
    buffer_fini(&note_text);
    cr_assert_eq(chdir("/"), 0);
}
