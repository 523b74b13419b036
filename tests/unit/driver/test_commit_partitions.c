/* Parts that are directories of partitions: their files are moved to the output's directories, and
 * such an output can be replaced, but for what glint has not written. */
#include "engine/driver/commit.h"
#include "tests/unit/driver/scratch_dirs.h"

static struct glint_error error;

TestSuite(commit_partitions, .init = scratch_enter, .fini = scratch_leave);

static void make_directory(const char *path)
{
    cr_assert_eq(mkdir(path, 0777), 0, "%s", path);
}

static int merge(void)
{
    error = (struct glint_error){.code = GLINT_OK};
    return commit_partitions_merge(env_real(), ENV_CWD, "output", true, "OUT", &error);
}

Test(commit_partitions, files_are_moved_to_the_directories_of_all_parts)
{
    make_directory("output");
    write_file("output/part-00002.parquet", "a part as always");
    make_directory("output/part-00000.parquet");
    make_directory("output/part-00000.parquet/a=1");
    make_directory("output/part-00000.parquet/a=1/b=2");
    write_file("output/part-00000.parquet/a=1/b=2/part-00000.parquet", "first");
    make_directory("output/part-00001.parquet");
    make_directory("output/part-00001.parquet/a=1");
    make_directory("output/part-00001.parquet/a=1/b=3");
    write_file("output/part-00001.parquet/a=1/b=3/part-00001.parquet", "second");
    make_directory("output/part-00003.parquet"); /* of a task without rows */
    cr_assert_eq(merge(), 0, "%s", error.cause);
    cr_expect(file_contains("output/a=1/b=2/part-00000.parquet", "first"));
    cr_expect(file_contains("output/a=1/b=3/part-00001.parquet", "second"));
    cr_expect(file_contains("output/part-00002.parquet", "a part as always"));
    cr_expect_eq(entries("output"), 2);
    cr_expect_eq(entries("output/a=1"), 2);
}

Test(commit_partitions, what_cannot_be_moved_is_an_error)
{
    make_directory("output");
    make_directory("output/part-00000.parquet");
    write_file("output/part-00000.parquet/part-00000.parquet", "no directory of a partition");
    cr_expect_eq(merge(), GLINT_E_OUTPUT_IO);
    cr_assert_eq(unlink("output/part-00000.parquet/part-00000.parquet"), 0);
    cr_assert_eq(symlink("/tmp", "output/part-00000.parquet/a=1"), 0);
    cr_expect_eq(merge(), GLINT_E_OUTPUT_IO);
    cr_assert_eq(unlink("output/part-00000.parquet/a=1"), 0);
    cr_expect_eq(merge(), 0, "%s", error.cause);
}

static int publish(const char *text)
{
    static const struct commit_options replace = {.overwrite = true};
    static uint64_t job;
    struct commit c, *all[] = {&c};
    char path[PATH_MAX + 64];
    const char *const name = "part-00000.parquet.attempt-1";
    error = (struct glint_error){.code = GLINT_OK};
    int r = commit_open_output(&c, env_real(), "out", replace, ++job, &error);
    if (r != 0) return r;
    snprintf(path, sizeof path, "%s/%s", c.attempts, name);
    make_directory(path);
    snprintf(path, sizeof path, "%s/%s/k=1", c.attempts, name);
    make_directory(path);
    snprintf(path, sizeof path, "%s/%s/k=1/part-00000.parquet", c.attempts, name);
    write_file(path, text);
    const struct glint_slice slice = {(const uint8_t *)name, strlen(name)};
    r = commit_task(&c, slice, NULL, "part-00000.parquet", "e1", &error);
    if (r == 0) r = commit_complete_output(&c, &error);
    if (r == 0) r = commit_publish_all_or_none(all, 1, &error);
    cr_expect(commit_cleanup(&c));
    return r;
}

Test(commit_partitions, an_output_is_replaced_unless_it_has_other_files)
{
    make_output("out", "one file");
    cr_assert_eq(publish("old"), 0, "%s", error.cause);
    cr_assert_eq(publish("new"), 0, "%s", error.cause);
    cr_expect(file_contains("out/k=1/part-00000.parquet", "new"));
    cr_expect_eq(entries("out"), 2);
    cr_expect_eq(entries("."), 1);
    write_file("out/k=1/_SUCCESS", "");
    cr_expect_eq(publish("newer"), GLINT_E_OUTPUT_EXISTS);
    cr_expect_not_null(strstr(error.cause, "out contains k=1/_SUCCESS,"), "%s", error.cause);
    cr_assert_eq(unlink("out/k=1/_SUCCESS"), 0);
    make_directory("out/k=1/other");
    cr_expect_eq(publish("newer"), GLINT_E_OUTPUT_EXISTS);
    cr_expect_not_null(strstr(error.cause, "out contains k=1/other,"), "%s", error.cause);
    cr_expect(file_contains("out/k=1/part-00000.parquet", "new"));
}
