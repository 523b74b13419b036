/* The real world's calls: what each open mode and each way of renaming promises, and removing
 * trees. */
#include "engine/base/env.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[] = "/tmp/env-test-XXXXXX";
static struct env *env;

static void enter(void)
{
    env = env_real();
    cr_assert(mkdtemp(scratch) != NULL && chdir(scratch) == 0);
}

static void leave(void)
{
    cr_assert_eq(chdir("/"), 0);
    cr_expect_eq(env_remove_tree(env, ENV_CWD, scratch, 8), 0);
    cr_expect_neq(access(scratch, F_OK), 0);
}

TestSuite(env, .init = enter, .fini = leave);

static void make(const char *path, const char *text)
{
    int file = env->open(env, ENV_CWD, path, ENV_CREATE);
    cr_assert_geq(file, 0);
    cr_assert_eq(env_write_all(env, file, text, strlen(text)), 0);
    cr_assert_eq(env->close(env, file), 0);
}

static bool holds(const char *path, const char *text)
{
    char found[32] = "";
    int file = env->open(env, ENV_CWD, path, ENV_READ);
    if (file < 0) return false;
    int64_t n = env_read_full(env, file, found, sizeof found - 1, 0);
    env->close(env, file);
    return n == (int64_t)strlen(text) && strcmp(found, text) == 0;
}

Test(env, renaming_to_a_new_name_replaces_nothing)
{
    make("a", "a");
    make("b", "b");
    cr_expect_eq(env->rename(env, ENV_CWD, "a", ENV_CWD, "b", ENV_RENAME_NEW), -EEXIST);
    cr_expect(holds("a", "a") && holds("b", "b"));
    cr_expect_eq(env->rename(env, ENV_CWD, "a", ENV_CWD, "c", ENV_RENAME_NEW), 0);
    cr_expect(holds("c", "a") && access("a", F_OK) != 0);
    cr_assert_eq(symlink("nowhere", "link"), 0);
    cr_expect_eq(env->rename(env, ENV_CWD, "c", ENV_CWD, "link", ENV_RENAME_NEW), -EEXIST);
}

Test(env, a_name_can_be_taken_before_it_is_used)
{
    make("a", "a");
    make("b", "b");
    cr_expect_eq(env_rename_reserved(ENV_CWD, "a", ENV_CWD, "b"), -EEXIST);
    cr_expect(holds("a", "a") && holds("b", "b"));
    cr_expect_eq(env_rename_reserved(ENV_CWD, "none", ENV_CWD, "c"), -ENOENT);
    cr_expect_neq(access("c", F_OK), 0);
    cr_expect_eq(env_rename_reserved(ENV_CWD, "a", ENV_CWD, "c"), 0);
    cr_expect(holds("c", "a") && access("a", F_OK) != 0);
    cr_assert_eq(symlink("nowhere", "link"), 0);
    cr_expect_eq(env_rename_reserved(ENV_CWD, "c", ENV_CWD, "link"), -EEXIST);
    cr_assert_eq(mkdir("folder", 0700), 0);
    make("folder/in", "in");
    cr_assert_eq(mkdir("taken", 0700), 0);
    cr_expect_eq(env_rename_reserved(ENV_CWD, "folder", ENV_CWD, "taken"), -EEXIST);
    cr_expect_eq(env_rename_reserved(ENV_CWD, "folder", ENV_CWD, "folder/in/side"), -ENOTDIR);
    cr_expect_eq(env_rename_reserved(ENV_CWD, "folder", ENV_CWD, "folder/side"),
                 -EINVAL); /* into itself */
    cr_expect_neq(access("folder/side", F_OK), 0);
    cr_expect_eq(env_rename_reserved(ENV_CWD, "folder", ENV_CWD, "new"), 0);
    cr_expect(holds("new/in", "in") && access("folder", F_OK) != 0);
}

Test(env, renaming_by_exchange_needs_both)
{
    make("a", "a");
    cr_expect_eq(env->rename(env, ENV_CWD, "a", ENV_CWD, "b", ENV_RENAME_EXCHANGE), -ENOENT);
    make("b", "b");
    cr_expect_eq(env->rename(env, ENV_CWD, "a", ENV_CWD, "b", ENV_RENAME_EXCHANGE), 0);
    cr_expect(holds("a", "b") && holds("b", "a"));
    cr_expect_eq(env->rename(env, ENV_CWD, "a", ENV_CWD, "b", ENV_RENAME_REPLACE), 0);
    cr_expect(holds("b", "b") && access("a", F_OK) != 0);
}

Test(env, new_files_are_new)
{
    struct stat st;
    umask(022);
    make("private", "");
    cr_expect_eq(env->open(env, ENV_CWD, "private", ENV_CREATE), -EEXIST);
    cr_expect(stat("private", &st) == 0 && (st.st_mode & 0777) == 0600);
    int file = env->open(env, ENV_CWD, "public", ENV_PUBLIC);
    cr_expect(file >= 0 && fstat(file, &st) == 0 && (st.st_mode & 0777) == 0644);
    env->close(env, file);
    cr_assert_eq(symlink("target", "link"), 0);
    cr_expect_eq(env->open(env, ENV_CWD, "link", ENV_CREATE), -EEXIST);
    cr_expect_neq(access("target", F_OK), 0);
}

Test(env, kinds_of_files)
{
    struct env_stat st;
    make("file", "12345");
    cr_assert_eq(mkfifo("fifo", 0600), 0);
    cr_assert_eq(symlink("file", "link"), 0);
    cr_expect(env->stat(env, "file", &st) == 0 && st.kind == ENV_FILE && st.size == 5 && st.mine);
    cr_expect(env->stat(env, "link", &st) == 0 && st.kind == ENV_FILE);
    cr_expect(env->stat(env, ".", &st) == 0 && st.kind == ENV_FOLDER);
    cr_expect(env->stat(env, "fifo", &st) == 0 && st.kind == ENV_OTHER);
    cr_expect_eq(env->stat(env, "missing", &st), -ENOENT);
    int file = env->open(env, ENV_CWD, "fifo", ENV_READ); /* does not block */
    cr_expect_geq(file, 0);
    env->close(env, file);
}

static int count(void *arg, const char *name)
{
    cr_expect(strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
    return ++*(int *)arg == 3 ? 42 : 0;
}

Test(env, listing_stops_when_told)
{
    int n = 0;
    make("a", "");
    make("b", "");
    cr_expect_eq(env_list(env, ".", count, &n), 0);
    cr_expect_eq(n, 2);
    cr_expect_eq(env_list(env, ".", count, &n), 42);
    cr_expect_eq(env_list(env, "missing", count, &n), -ENOENT);
}

Test(env, reading_ends_at_the_end)
{
    char bytes[16];
    make("file", "0123456789");
    int file = env->open(env, ENV_CWD, "file", ENV_READ);
    cr_expect_eq(env_read_full(env, file, bytes, 4, 3), 4);
    cr_expect_eq(memcmp(bytes, "3456", 4), 0);
    cr_expect_eq(env_read_full(env, file, bytes, sizeof bytes, 8), 2);
    cr_expect_eq(env_read_full(env, file, bytes, sizeof bytes, 99), 0);
    env->close(env, file);
    cr_expect_eq(env_read_full(env, -1, bytes, 1, 0), -EBADF);
}

Test(env, a_directory_is_opened_itself_not_by_a_link)
{
    cr_assert_eq(env->make_folder(env, ENV_CWD, "dir", false), 0);
    cr_assert_eq(symlink("dir", "link"), 0);
    make("file", "");
    cr_expect_eq(env->open(env, ENV_CWD, "link", ENV_DIR_OWN), -ENOTDIR);
    cr_expect_eq(env->open(env, ENV_CWD, "file", ENV_DIR), -ENOTDIR);
    int dir = env->open(env, ENV_CWD, "link", ENV_DIR);
    cr_assert_geq(dir, 0);
    cr_expect_eq(env->make_folder(env, dir, "inner", true), 0);
    cr_expect_eq(env->rename(env, ENV_CWD, "file", dir, "moved", ENV_RENAME_NEW), 0);
    cr_expect_eq(access("dir/moved", F_OK), 0);
    cr_assert_eq(rename("dir", "elsewhere"), 0); /* its descriptor is that of the same directory */
    int n = 1;
    cr_expect_eq(env->list(env, dir, count, &n), 42);
    n = 0;
    cr_expect_eq(env->list(env, dir, count, &n), 0); /* from its beginning */
    cr_expect_eq(n, 2);
    cr_expect_eq(env->remove(env, dir, "inner", false), -EISDIR);
    cr_expect_eq(env->remove(env, dir, "inner", true), 0);
    cr_expect_eq(env->remove(env, dir, "moved", false), 0);
    env->close(env, dir);
}

Test(env, removing_a_tree_follows_no_link)
{
    cr_assert_eq(env->make_folder(env, ENV_CWD, "tree", false), 0);
    cr_assert_eq(env->make_folder(env, ENV_CWD, "tree/deep", false), 0);
    cr_assert_eq(env->make_folder(env, ENV_CWD, "other", true), 0);
    make("tree/deep/file", "");
    make("other/precious", "precious");
    cr_assert_eq(symlink("../other", "tree/link"), 0);
    cr_assert_eq(symlink("../../other", "tree/deep/link"), 0);
    cr_assert_eq(symlink("other", "link"), 0);
    cr_expect_eq(env_remove_tree(env, ENV_CWD, "link", 8), 0);
    cr_expect_neq(env_remove_tree(env, ENV_CWD, "tree", 0), 0); /* deeper than allowed */
    cr_expect_eq(env_remove_tree(env, ENV_CWD, "tree", 1), 0);
    cr_expect(holds("other/precious", "precious"));
    cr_expect_neq(access("tree", F_OK), 0);
    cr_expect_eq(env_remove_tree(env, ENV_CWD, "tree", 1), 0); /* missing is fine */
    cr_expect_eq(env_remove_tree(env, ENV_CWD, "other/precious", 1), 0);
}

/* Replaces tree/deep by a link to what must stay, once it is open. */
static int list_and_swap(struct env *e, int dir, int (*entry)(void *arg, const char *name),
                         void *arg)
{
    struct env_stat listed, named;
    cr_assert(env->stat_open(e, dir, &listed) == 0 && env->stat(e, "tree/deep", &named) == 0);
    if (listed.inode == named.inode)
        cr_assert(rename("tree/deep", "aside") == 0 && symlink("../other", "tree/deep") == 0);
    return env->list(e, dir, entry, arg);
}

Test(env, a_directory_that_is_swapped_while_it_is_removed_leads_nowhere)
{
    struct env swaps = *env_real();
    swaps.list = list_and_swap;
    cr_assert(mkdir("tree", 0777) == 0 && mkdir("tree/deep", 0777) == 0);
    cr_assert_eq(mkdir("other", 0777), 0);
    make("tree/deep/precious", "");
    make("other/precious", "precious");
    cr_expect_neq(env_remove_tree(&swaps, ENV_CWD, "tree", 2), 0);
    cr_expect(access("aside", F_OK) == 0 && access("aside/precious", F_OK) != 0);
    cr_expect(holds("other/precious", "precious"));
}

/* Replaces it once it is known to be a directory, and before it is opened. */
static int remove_and_swap(struct env *e, int dir, const char *name, bool folder)
{
    int r = env->remove(e, dir, name, folder);
    if (r == -EISDIR && strcmp(name, "deep") == 0)
        cr_assert(rename("tree/deep", "aside") == 0 && symlink("../other", "tree/deep") == 0);
    return r;
}

Test(env, a_directory_that_is_swapped_before_it_is_opened_is_not_entered)
{
    struct env swaps = *env_real();
    swaps.remove = remove_and_swap;
    cr_assert(mkdir("tree", 0777) == 0 && mkdir("tree/deep", 0777) == 0);
    cr_assert_eq(mkdir("other", 0777), 0);
    make("other/precious", "precious");
    cr_expect_neq(env_remove_tree(&swaps, ENV_CWD, "tree", 2), 0);
    cr_expect(holds("other/precious", "precious"));
}

Test(env, clocks_and_chance)
{
    uint64_t a = 0, b = 0, before = env->now_ns(env);
    cr_expect_geq(env->now_ns(env), before);
    cr_expect_gt(env->wall_ns(env), (int64_t)1600000000 * 1000000000);
    cr_expect(env->random(env, &a, sizeof a) == 0 && env->random(env, &b, sizeof b) == 0);
    cr_expect_neq(a, b);
}

Test(env, a_node_has_names)
{
    struct env_node here;
    char host[65] = "";
    env->node(env, &here);
    cr_assert_eq(gethostname(host, sizeof host - 1), 0);
    cr_expect_str_eq(here.host, host);
    cr_expect_eq(strlen(here.boot), 36, "%s", here.boot);
}
