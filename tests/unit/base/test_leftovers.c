/* Directories that a process removes as it crashes: only what was added, and only while it is. */
#include "engine/base/leftovers.h"

#include "engine/base/env.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/leftovers-XXXXXX";

static void make(const char *path)
{
    cr_assert_eq(mkdir(path, 0700), 0);
}

static void write_file(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    cr_assert_geq(file, 0);
    close(file);
}

static void begin(void)
{
    cr_assert_not_null(mkdtemp(top));
    cr_assert_eq(chdir(top), 0);
    make("a");
    make("a/output");
    write_file("a/.glint-lock");
    write_file("a/output/part-0");
}

static void end(void)
{
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(env_remove_tree(env_real(), ENV_CWD, top, 4), 0);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

TestSuite(leftovers, .init = begin, .fini = end);

Test(leftovers, are_removed_with_what_they_hold)
{
    leftovers_add("a");
    cr_expect(leftovers_any());
    cr_expect(leftovers_remove());
    cr_expect_not(is_there("a"));
}

Test(leftovers, one_that_was_dropped_stays)
{
    leftovers_add("a");
    leftovers_drop("a");
    cr_expect_not(leftovers_any());
    cr_expect(leftovers_remove());
    cr_expect(is_there("a/output/part-0"));
}

Test(leftovers, a_directory_that_took_its_place_stays)
{
    leftovers_add("a");
    make("b");
    write_file("b/kept");
    cr_assert_eq(rename("a", "moved"), 0);
    cr_assert_eq(rename("b", "a"), 0);
    leftovers_remove();
    cr_expect(is_there("a/kept"));
    cr_expect(is_there("moved/output/part-0"));
}

Test(leftovers, a_link_is_neither_added_nor_followed)
{
    make("other");
    write_file("other/kept");
    cr_assert_eq(symlink("../other", "a/link"), 0);
    cr_assert_eq(symlink("other", "b"), 0);
    leftovers_add("b");
    cr_expect_not(leftovers_any());
    leftovers_add("a");
    cr_expect(leftovers_remove());
    cr_expect_not(is_there("a"));
    cr_expect(is_there("other/kept"));
}

Test(leftovers, what_is_deeper_than_outputs_are_stays)
{
    make("a/output/deep");
    write_file("a/output/deep/file");
    leftovers_add("a");
    cr_expect_not(leftovers_remove());
    cr_expect(is_there("a/output/deep/file"));
}

Test(leftovers, there_is_room_again_after_one_is_dropped)
{
    char name[16];
    for (int i = 0; i < LEFTOVERS_MAX; i++) {
        snprintf(name, sizeof name, "d%d", i);
        make(name);
        leftovers_add(name);
    }
    leftovers_add("a");
    leftovers_drop("d0");
    leftovers_add("a");
    cr_expect(leftovers_remove());
    cr_expect_not(is_there("a"));
    cr_expect(is_there("d0"));
    cr_expect_not(is_there("d1"));
}
