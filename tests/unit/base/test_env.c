/* The env of the real system: what each open mode and rename mode guarantees, and the removal of
 * trees. */
#include "engine/base/env.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[] = "/tmp/env-test-XXXXXX";
static struct env *env;

static void enter_scratch_dir(void)
{
    env = env_real();
    cr_assert(mkdtemp(scratch) != NULL && chdir(scratch) == 0);
}

static void leave_scratch_dir(void)
{
    cr_assert_eq(chdir("/"), 0);
    cr_expect_eq(env_remove_tree(env, ENV_CWD, scratch, 8), 0);
    cr_expect_neq(access(scratch, F_OK), 0);
}

TestSuite(env, .init = enter_scratch_dir, .fini = leave_scratch_dir);

static void make_file(const char *path, const char *text)
{
    int file = env->open(env, ENV_CWD, path, ENV_CREATE);
    cr_assert_geq(file, 0);
    cr_assert_eq(env_write_all(env, file, text, strlen(text)), 0);
    cr_assert_eq(env->close(env, file), 0);
}

static bool file_holds(const char *path, const char *text)
{
    char found[32] = "";
    int file = env->open(env, ENV_CWD, path, ENV_READ);
    if (file < 0) return false;
    int64_t n = env_read_full(env, file, found, sizeof found - 1, 0);
    env->close(env, file);
    return n == (int64_t)strlen(text) && strcmp(found, text) == 0;
}

Test(env, rename_new_never_replaces)
{
    make_file("a", "a");
    make_file("b", "b");
    cr_expect_eq(env->rename(env, ENV_CWD, "a", ENV_CWD, "b", ENV_RENAME_NOREPLACE), -EEXIST);
    cr_expect(file_holds("a", "a") && file_holds("b", "b"));
    cr_expect_eq(env->rename(env, ENV_CWD, "a", ENV_CWD, "c", ENV_RENAME_NOREPLACE), 0);
    cr_expect(file_holds("c", "a") && access("a", F_OK) != 0);
    cr_assert_eq(symlink("nowhere", "link"), 0);
    cr_expect_eq(env->rename(env, ENV_CWD, "c", ENV_CWD, "link", ENV_RENAME_NOREPLACE), -EEXIST);
}

Test(env, rename_reserved_never_replaces)
{
    make_file("a", "a");
    make_file("b", "b");
    cr_expect_eq(env_rename_noreplace_emulated(ENV_CWD, "a", ENV_CWD, "b"), -EEXIST);
    cr_expect(file_holds("a", "a") && file_holds("b", "b"));
    cr_expect_eq(env_rename_noreplace_emulated(ENV_CWD, "none", ENV_CWD, "c"), -ENOENT);
    cr_expect_neq(access("c", F_OK), 0);
    cr_expect_eq(env_rename_noreplace_emulated(ENV_CWD, "a", ENV_CWD, "c"), 0);
    cr_expect(file_holds("c", "a") && access("a", F_OK) != 0);
    cr_assert_eq(symlink("nowhere", "link"), 0);
    cr_expect_eq(env_rename_noreplace_emulated(ENV_CWD, "c", ENV_CWD, "link"), -EEXIST);
    cr_assert_eq(mkdir("dir", 0700), 0);
    make_file("dir/in", "in");
    cr_assert_eq(mkdir("taken", 0700), 0);
    cr_expect_eq(env_rename_noreplace_emulated(ENV_CWD, "dir", ENV_CWD, "taken"), -EEXIST);
    cr_expect_eq(env_rename_noreplace_emulated(ENV_CWD, "dir", ENV_CWD, "dir/in/side"), -ENOTDIR);
    cr_expect_eq(env_rename_noreplace_emulated(ENV_CWD, "dir", ENV_CWD, "dir/side"),
                 -EINVAL); /* into itself */
    cr_expect_neq(access("dir/side", F_OK), 0);
    cr_expect_eq(env_rename_noreplace_emulated(ENV_CWD, "dir", ENV_CWD, "new"), 0);
    cr_expect(file_holds("new/in", "in") && access("dir", F_OK) != 0);
}

Test(env, rename_exchange_needs_both_names)
{
    make_file("a", "a");
    cr_expect_eq(env->rename(env, ENV_CWD, "a", ENV_CWD, "b", ENV_RENAME_EXCHANGE), -ENOENT);
    make_file("b", "b");
    cr_expect_eq(env->rename(env, ENV_CWD, "a", ENV_CWD, "b", ENV_RENAME_EXCHANGE), 0);
    cr_expect(file_holds("a", "b") && file_holds("b", "a"));
    cr_expect_eq(env->rename(env, ENV_CWD, "a", ENV_CWD, "b", ENV_RENAME_REPLACE), 0);
    cr_expect(file_holds("b", "b") && access("a", F_OK) != 0);
}

Test(env, create_fails_on_existing_name)
{
    struct stat st;
    umask(022);
    make_file("private", "");
    cr_expect_eq(env->open(env, ENV_CWD, "private", ENV_CREATE), -EEXIST);
    cr_expect(stat("private", &st) == 0 && (st.st_mode & 0777) == 0600);
    int file = env->open(env, ENV_CWD, "public", ENV_CREATE_PUBLIC);
    cr_expect(file >= 0 && fstat(file, &st) == 0 && (st.st_mode & 0777) == 0644);
    env->close(env, file);
    cr_assert_eq(symlink("target", "link"), 0);
    cr_expect_eq(env->open(env, ENV_CWD, "link", ENV_CREATE), -EEXIST);
    cr_expect_neq(access("target", F_OK), 0);
}

Test(env, stat_reports_file_kind)
{
    struct env_stat st;
    make_file("file", "12345");
    cr_assert_eq(mkfifo("fifo", 0600), 0);
    cr_assert_eq(symlink("file", "link"), 0);
    cr_expect(env->stat(env, "file", &st) == 0 && st.kind == ENV_FILE && st.size == 5 && st.mine);
    cr_expect(env->stat(env, "link", &st) == 0 && st.kind == ENV_FILE);
    cr_expect(env->stat(env, ".", &st) == 0 && st.kind == ENV_DIRECTORY);
    cr_expect(env->stat(env, "fifo", &st) == 0 && st.kind == ENV_FIFO);
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

Test(env, list_stops_when_callback_returns_nonzero)
{
    int n = 0;
    make_file("a", "");
    make_file("b", "");
    cr_expect_eq(env_list_dir(env, ".", count, &n), 0);
    cr_expect_eq(n, 2);
    cr_expect_eq(env_list_dir(env, ".", count, &n), 42);
    cr_expect_eq(env_list_dir(env, "missing", count, &n), -ENOENT);
}

Test(env, read_full_stops_at_end_of_file)
{
    char bytes[16];
    make_file("file", "0123456789");
    int file = env->open(env, ENV_CWD, "file", ENV_READ);
    cr_expect_eq(env_read_full(env, file, bytes, 4, 3), 4);
    cr_expect_eq(memcmp(bytes, "3456", 4), 0);
    cr_expect_eq(env_read_full(env, file, bytes, sizeof bytes, 8), 2);
    cr_expect_eq(env_read_full(env, file, bytes, sizeof bytes, 99), 0);
    env->close(env, file);
    cr_expect_eq(env_read_full(env, -1, bytes, 1, 0), -EBADF);
}

Test(env, open_dir_own_rejects_symlink)
{
    cr_assert_eq(env->make_dir(env, ENV_CWD, "dir", false), 0);
    cr_assert_eq(symlink("dir", "link"), 0);
    make_file("file", "");
    cr_expect_eq(env->open(env, ENV_CWD, "link", ENV_DIR_NOFOLLOW), -ENOTDIR);
    cr_expect_eq(env->open(env, ENV_CWD, "file", ENV_DIR), -ENOTDIR);
    int dir = env->open(env, ENV_CWD, "link", ENV_DIR);
    cr_assert_geq(dir, 0);
    cr_expect_eq(env->make_dir(env, dir, "inner", true), 0);
    cr_expect_eq(env->rename(env, ENV_CWD, "file", dir, "moved", ENV_RENAME_NOREPLACE), 0);
    cr_expect_eq(access("dir/moved", F_OK), 0);
    cr_assert_eq(rename("dir", "elsewhere"), 0); /* the descriptor remains valid */
    int n = 1;
    cr_expect_eq(env->list(env, dir, count, &n), 42);
    n = 0;
    cr_expect_eq(env->list(env, dir, count, &n), 0); /* from the start again */
    cr_expect_eq(n, 2);
    cr_expect_eq(env->remove(env, dir, "inner", false), -EISDIR);
    cr_expect_eq(env->remove(env, dir, "inner", true), 0);
    cr_expect_eq(env->remove(env, dir, "moved", false), 0);
    env->close(env, dir);
}

/* As in a program that was started without standard input. */
Test(env, list_in_a_process_without_standard_input)
{
    int n = 0;
    make_file("one", "");
    const int dir = env->open(env, ENV_CWD, ".", ENV_DIR);
    cr_assert_gt(dir, 0);
    close(0);
    cr_expect(env->list(env, dir, count, &n) == 0 && n == 1);
    cr_expect_lt(fcntl(0, F_GETFD), 0, "closed again");
    cr_expect_eq(env->close(env, dir), 0);
}

Test(env, remove_tree_follows_no_symlink)
{
    cr_assert_eq(env->make_dir(env, ENV_CWD, "tree", false), 0);
    cr_assert_eq(env->make_dir(env, ENV_CWD, "tree/deep", false), 0);
    cr_assert_eq(env->make_dir(env, ENV_CWD, "other", true), 0);
    make_file("tree/deep/file", "");
    make_file("other/precious", "precious");
    cr_assert_eq(symlink("../other", "tree/link"), 0);
    cr_assert_eq(symlink("../../other", "tree/deep/link"), 0);
    cr_assert_eq(symlink("other", "link"), 0);
    cr_expect_eq(env_remove_tree(env, ENV_CWD, "link", 8), 0);
    cr_expect_neq(env_remove_tree(env, ENV_CWD, "tree", 0), 0); /* deeper than allowed */
    cr_expect_eq(env_remove_tree(env, ENV_CWD, "tree", 1), 0);
    cr_expect(file_holds("other/precious", "precious"));
    cr_expect_neq(access("tree", F_OK), 0);
    cr_expect_eq(env_remove_tree(env, ENV_CWD, "tree", 1), 0); /* missing is fine */
    cr_expect_eq(env_remove_tree(env, ENV_CWD, "other/precious", 1), 0);
}

/* Once tree/deep is open, replaces it by a link to a directory that must stay. */
static int list_and_swap(struct env *e, int dir, int (*entry)(void *arg, const char *name),
                         void *arg)
{
    struct env_stat listed, named;
    cr_assert(env->stat_open(e, dir, &listed) == 0 && env->stat(e, "tree/deep", &named) == 0);
    if (listed.inode == named.inode)
        cr_assert(rename("tree/deep", "aside") == 0 && symlink("../other", "tree/deep") == 0);
    return env->list(e, dir, entry, arg);
}

Test(env, remove_tree_is_safe_if_dir_is_swapped_while_listed)
{
    struct env swaps = *env_real();
    swaps.list = list_and_swap;
    cr_assert(mkdir("tree", 0777) == 0 && mkdir("tree/deep", 0777) == 0);
    cr_assert_eq(mkdir("other", 0777), 0);
    make_file("tree/deep/precious", "");
    make_file("other/precious", "precious");
    cr_expect_neq(env_remove_tree(&swaps, ENV_CWD, "tree", 2), 0);
    cr_expect(access("aside", F_OK) == 0 && access("aside/precious", F_OK) != 0);
    cr_expect(file_holds("other/precious", "precious"));
}

/* Replaces tree/deep after it is known to be a directory, and before it is opened. */
static int remove_and_swap(struct env *e, int dir, const char *name, bool is_dir)
{
    int r = env->remove(e, dir, name, is_dir);
    if (r == -EISDIR && strcmp(name, "deep") == 0)
        cr_assert(rename("tree/deep", "aside") == 0 && symlink("../other", "tree/deep") == 0);
    return r;
}

Test(env, remove_tree_is_safe_if_dir_is_swapped_before_open)
{
    struct env swaps = *env_real();
    swaps.remove = remove_and_swap;
    cr_assert(mkdir("tree", 0777) == 0 && mkdir("tree/deep", 0777) == 0);
    cr_assert_eq(mkdir("other", 0777), 0);
    make_file("other/precious", "precious");
    cr_expect_neq(env_remove_tree(&swaps, ENV_CWD, "tree", 2), 0);
    cr_expect(file_holds("other/precious", "precious"));
}

Test(env, clocks_advance_and_random_bytes_differ)
{
    uint64_t a = 0, b = 0, before = env->now_ns(env);
    cr_expect_geq(env->now_ns(env), before);
    cr_expect_gt(env->wall_ns(env), (int64_t)1600000000 * 1000000000);
    cr_expect(env->random(env, &a, sizeof a) == 0 && env->random(env, &b, sizeof b) == 0);
    cr_expect_neq(a, b);
}

Test(env, node_reports_host_and_boot_id)
{
    struct env_node here;
    char host[65] = "";
    env->node(env, &here);
    cr_assert_eq(gethostname(host, sizeof host - 1), 0);
    cr_expect_str_eq(here.host, host);
    cr_expect_eq(strlen(here.boot), 36, "%s", here.boot);
}
