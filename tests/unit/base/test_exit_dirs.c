/* Directories that a process removes when it crashes: only registered ones, and only while they are
 * registered. */
#include "engine/base/crash.h"

#include "engine/base/env.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/leftovers-XXXXXX";

static void make_output_dir(const char *path)
{
    cr_assert_eq(mkdir(path, 0700), 0);
}

static void write_file(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    cr_assert_geq(file, 0);
    close(file);
}

static void enter_scratch_dir(void)
{
    cr_assert_not_null(mkdtemp(top));
    cr_assert_eq(chdir(top), 0);
    make_output_dir("a");
    make_output_dir("a/output");
    write_file("a/.glint-lock");
    write_file("a/output/part-0");
}

static void leave_scratch_dir(void)
{
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(env_remove_tree(env_real(), ENV_CWD, top, 4), 0);
}

static bool path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

TestSuite(exit_dirs, .init = enter_scratch_dir, .fini = leave_scratch_dir);

Test(exit_dirs, added_dir_is_removed_with_contents)
{
    exit_dirs_register("a");
    cr_expect(exit_dirs_any_registered());
    cr_expect(exit_dirs_remove_all());
    cr_expect_not(path_exists("a"));
}

Test(exit_dirs, dropped_dir_is_kept)
{
    exit_dirs_register("a");
    exit_dirs_unregister("a");
    cr_expect_not(exit_dirs_any_registered());
    cr_expect(exit_dirs_remove_all());
    cr_expect(path_exists("a/output/part-0"));
}

Test(exit_dirs, replaced_dir_is_kept)
{
    exit_dirs_register("a");
    make_output_dir("b");
    write_file("b/kept");
    cr_assert_eq(rename("a", "moved"), 0);
    cr_assert_eq(rename("b", "a"), 0);
    exit_dirs_remove_all();
    cr_expect(path_exists("a/kept"));
    cr_expect(path_exists("moved/output/part-0"));
}

Test(exit_dirs, symlink_is_neither_added_nor_followed)
{
    make_output_dir("other");
    write_file("other/kept");
    cr_assert_eq(symlink("../other", "a/link"), 0);
    cr_assert_eq(symlink("other", "b"), 0);
    exit_dirs_register("b");
    cr_expect_not(exit_dirs_any_registered());
    exit_dirs_register("a");
    cr_expect(exit_dirs_remove_all());
    cr_expect_not(path_exists("a"));
    cr_expect(path_exists("other/kept"));
}

Test(exit_dirs, deeper_tree_than_an_output_is_kept)
{
    make_output_dir("a/output/deep");
    write_file("a/output/deep/file");
    exit_dirs_register("a");
    cr_expect_not(exit_dirs_remove_all());
    cr_expect(path_exists("a/output/deep/file"));
}

Test(exit_dirs, dropping_a_dir_frees_its_entry)
{
    char name[16];
    for (int i = 0; i < EXIT_DIRS_MAX; i++) {
        snprintf(name, sizeof name, "d%d", i);
        make_output_dir(name);
        exit_dirs_register(name);
    }
    exit_dirs_register("a");
    exit_dirs_unregister("d0");
    exit_dirs_register("a");
    cr_expect(exit_dirs_remove_all());
    cr_expect_not(path_exists("a"));
    cr_expect(path_exists("d0"));
    cr_expect_not(path_exists("d1"));
}
