/* The real world's calls: what each open mode and each way of renaming promises, and removing
 * trees. */
#include "engine/base/env.h"
#include "engine/base/folder_lock.h"

#include <criterion/criterion.h>
#include <errno.h>
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
    cr_expect_eq(env_remove_tree(env, scratch, 8), 0);
    cr_expect_neq(access(scratch, F_OK), 0);
}

TestSuite(env, .init = enter, .fini = leave);

static void make(const char *path, const char *text)
{
    int file = env->open(env, path, ENV_CREATE);
    cr_assert_geq(file, 0);
    cr_assert_eq(env_write_all(env, file, text, strlen(text)), 0);
    cr_assert_eq(env->close(env, file), 0);
}

static bool holds(const char *path, const char *text)
{
    char found[32] = "";
    int file = env->open(env, path, ENV_READ);
    if (file < 0) return false;
    int64_t n = env_read_full(env, file, found, sizeof found - 1, 0);
    env->close(env, file);
    return n == (int64_t)strlen(text) && strcmp(found, text) == 0;
}

Test(env, renaming_to_a_new_name_replaces_nothing)
{
    make("a", "a");
    make("b", "b");
    cr_expect_eq(env->rename(env, "a", "b", ENV_RENAME_NEW), -EEXIST);
    cr_expect(holds("a", "a") && holds("b", "b"));
    cr_expect_eq(env->rename(env, "a", "c", ENV_RENAME_NEW), 0);
    cr_expect(holds("c", "a") && access("a", F_OK) != 0);
    cr_assert_eq(symlink("nowhere", "link"), 0);
    cr_expect_eq(env->rename(env, "c", "link", ENV_RENAME_NEW), -EEXIST);
}

Test(env, a_name_can_be_taken_before_it_is_used)
{
    make("a", "a");
    make("b", "b");
    cr_expect_eq(env_rename_reserved("a", "b"), -EEXIST);
    cr_expect(holds("a", "a") && holds("b", "b"));
    cr_expect_eq(env_rename_reserved("none", "c"), -ENOENT);
    cr_expect_neq(access("c", F_OK), 0);
    cr_expect_eq(env_rename_reserved("a", "c"), 0);
    cr_expect(holds("c", "a") && access("a", F_OK) != 0);
    cr_assert_eq(symlink("nowhere", "link"), 0);
    cr_expect_eq(env_rename_reserved("c", "link"), -EEXIST);
    cr_assert_eq(mkdir("folder", 0700), 0);
    make("folder/in", "in");
    cr_assert_eq(mkdir("taken", 0700), 0);
    cr_expect_eq(env_rename_reserved("folder", "taken"), -EEXIST);
    cr_expect_eq(env_rename_reserved("folder", "folder/in/side"), -ENOTDIR);
    cr_expect_eq(env_rename_reserved("folder", "folder/side"), -EINVAL); /* into itself */
    cr_expect_neq(access("folder/side", F_OK), 0);
    cr_expect_eq(env_rename_reserved("folder", "new"), 0);
    cr_expect(holds("new/in", "in") && access("folder", F_OK) != 0);
}

Test(env, renaming_by_exchange_needs_both)
{
    make("a", "a");
    cr_expect_eq(env->rename(env, "a", "b", ENV_RENAME_EXCHANGE), -ENOENT);
    make("b", "b");
    cr_expect_eq(env->rename(env, "a", "b", ENV_RENAME_EXCHANGE), 0);
    cr_expect(holds("a", "b") && holds("b", "a"));
    cr_expect_eq(env->rename(env, "a", "b", ENV_RENAME_REPLACE), 0);
    cr_expect(holds("b", "b") && access("a", F_OK) != 0);
}

Test(env, new_files_are_new)
{
    struct stat st;
    umask(022);
    make("private", "");
    cr_expect_eq(env->open(env, "private", ENV_CREATE), -EEXIST);
    cr_expect(stat("private", &st) == 0 && (st.st_mode & 0777) == 0600);
    int file = env->open(env, "public", ENV_PUBLIC);
    cr_expect(file >= 0 && fstat(file, &st) == 0 && (st.st_mode & 0777) == 0644);
    env->close(env, file);
    cr_assert_eq(symlink("target", "link"), 0);
    cr_expect_eq(env->open(env, "link", ENV_CREATE), -EEXIST);
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
    int file = env->open(env, "fifo", ENV_READ); /* does not block */
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
    cr_expect_eq(env->list(env, ".", count, &n), 0);
    cr_expect_eq(n, 2);
    cr_expect_eq(env->list(env, ".", count, &n), 42);
    cr_expect_eq(env->list(env, "missing", count, &n), -ENOENT);
}

Test(env, reading_ends_at_the_end)
{
    char bytes[16];
    make("file", "0123456789");
    int file = env->open(env, "file", ENV_READ);
    cr_expect_eq(env_read_full(env, file, bytes, 4, 3), 4);
    cr_expect_eq(memcmp(bytes, "3456", 4), 0);
    cr_expect_eq(env_read_full(env, file, bytes, sizeof bytes, 8), 2);
    cr_expect_eq(env_read_full(env, file, bytes, sizeof bytes, 99), 0);
    env->close(env, file);
    cr_expect_eq(env_read_full(env, -1, bytes, 1, 0), -EBADF);
}

Test(env, removing_a_tree_follows_no_link)
{
    cr_assert_eq(env->make_folder(env, "tree", false), 0);
    cr_assert_eq(env->make_folder(env, "tree/deep", false), 0);
    cr_assert_eq(env->make_folder(env, "other", true), 0);
    make("tree/deep/file", "");
    make("other/precious", "precious");
    cr_assert_eq(symlink("../other", "tree/link"), 0);
    cr_assert_eq(symlink("other", "link"), 0);
    cr_expect_eq(env_remove_tree(env, "link", 8), 0);
    cr_expect_neq(env_remove_tree(env, "tree", 0), 0); /* deeper than allowed */
    cr_expect_eq(env_remove_tree(env, "tree", 1), 0);
    cr_expect(holds("other/precious", "precious"));
    cr_expect_neq(access("tree", F_OK), 0);
    cr_expect_eq(env_remove_tree(env, "tree", 1), 0); /* missing is fine */
    cr_expect_eq(env_remove_tree(env, "other/precious", 1), 0);
}

Test(env, a_folder_is_locked_once)
{
    char name[] = "mine-0123456789abcdef", missing[] = "missing/mine-0123456789abcdef";
    int lock = folder_make(env, name, false);
    cr_assert_geq(lock, 0);
    cr_expect_str_eq(name, "mine-0123456789abcdef");
    cr_expect_eq(folder_make(env, name, false), -EEXIST);
    folder_remove_unlocked(env, ".", "mine-", 1);
    cr_expect_eq(access("mine-0123456789abcdef/.lock", F_OK), 0);
    env->close(env, lock);
    folder_remove_unlocked(env, ".", "mine-", 1);
    cr_expect_neq(access(name, F_OK), 0);
    cr_expect_eq(folder_make(env, missing, false), -ENOENT);
}

static int locks;

static int lock_is_taken_twice(struct env *e, int file)
{
    (void)e;
    return locks++ < 2 ? -EWOULDBLOCK : env->lock(env, file);
}

/* Somebody sweeps it before it is locked, and may not be through: another name is taken. */
Test(env, a_folder_that_is_swept_is_made_again_elsewhere)
{
    char name[] = "mine-ffffffffffffffff";
    struct env swept = *env_real();
    swept.lock = lock_is_taken_twice;
    int lock = folder_make(&swept, name, false);
    cr_assert_geq(lock, 0);
    cr_expect_eq(locks, 3);
    cr_expect_str_eq(name, "mine-3c6ef372fe94f829");
    cr_expect_eq(access("mine-3c6ef372fe94f829/.lock", F_OK), 0);
    cr_expect_neq(access("mine-ffffffffffffffff", F_OK), 0);
    env->close(env, lock);
}

Test(env, a_folder_whose_maker_died_at_once_is_removed)
{
    static const char *const leftovers[] = {"mine-0123456789abcdef", "mine-fedcba9876543210"};
    static const char *const others[] = {"mine-0123456789abcdeF", "mine-notes",
                                         "mine-0000000000000000"};
    for (int i = 0; i < 2; i++) cr_assert_eq(env->make_folder(env, leftovers[i], false), 0);
    for (int i = 0; i < 3; i++) cr_assert_eq(env->make_folder(env, others[i], false), 0);
    make("mine-fedcba9876543210/.lock.new", "");
    make("mine-0000000000000000/file", "precious");
    make("mine-notes/.lock", "");
    folder_remove_unlocked(env, ".", "mine-", 1);
    for (int i = 0; i < 2; i++) cr_expect_neq(access(leftovers[i], F_OK), 0, "%s", leftovers[i]);
    for (int i = 0; i < 3; i++) cr_expect_eq(access(others[i], F_OK), 0, "%s", others[i]);
}

Test(env, clocks_and_chance)
{
    uint64_t a = 0, b = 0, before = env->now_ns(env);
    cr_expect_geq(env->now_ns(env), before);
    cr_expect_gt(env->wall_ns(env), (int64_t)1600000000 * 1000000000);
    cr_expect(env->random(env, &a, sizeof a) == 0 && env->random(env, &b, sizeof b) == 0);
    cr_expect_neq(a, b);
}
