/* Directories of running processes, and stale ones: which are removed and which are kept, also when
 * another user replaces them. Each trap contains a file that a bug would remove. */
#include "engine/base/locked_dir.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "mine-0123456789abcdef"
#define LOCK NAME "/" LOCKED_DIR_LOCK_NAME

static char scratch[] = "/tmp/dir-lock-test-XXXXXX";
static struct env env; /* the real one; tests replace some calls */

static void enter_scratch_dir(void)
{
    env = *env_real();
    cr_assert(mkdtemp(scratch) != NULL && chdir(scratch) == 0);
}

static void leave_scratch_dir(void)
{
    cr_assert_eq(chdir("/"), 0);
    cr_expect_eq(env_remove_tree(env_real(), ENV_CWD, scratch, 8), 0);
}

TestSuite(locked_dir, .init = enter_scratch_dir, .fini = leave_scratch_dir);

static bool path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    cr_assert(file != NULL && fputs(text, file) >= 0);
    cr_assert_eq(fclose(file), 0);
}

/* Creates the directory that a process of this node leaves when it is killed, with a file in it. */
static void make_stale_dir(void)
{
    char name[] = NAME;
    struct locked_dir lock;
    struct env real = *env_real();
    cr_assert_eq(locked_dir_create(&real, name, false, &lock), 0);
    cr_assert_str_eq(name, NAME);
    locked_dir_unlock(&real, &lock);
    put_file(NAME "/precious", "precious");
}

static void remove_stale(void)
{
    locked_dir_remove_stale(&env, ".", "mine-", 1);
}

static unsigned open_files(void)
{
    unsigned count = 0;
    for (int i = 0; i < 256; i++) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

Test(locked_dir, lock_is_exclusive)
{
    char name[] = NAME, missing[] = "missing/" NAME;
    struct locked_dir lock, other;
    unsigned files = open_files();
    cr_assert_eq(locked_dir_create(&env, name, false, &lock), 0);
    cr_expect_str_eq(name, NAME);
    cr_expect_eq(locked_dir_create(&env, name, false, &other), -EEXIST);
    cr_expect(other.dir == -1 && other.file == -1);
    remove_stale();
    cr_expect(path_exists(LOCK));
    locked_dir_unlock(&env, &lock);
    locked_dir_unlock(&env, &lock);
    remove_stale();
    cr_expect(!path_exists(NAME));
    cr_expect_eq(locked_dir_create(&env, missing, false, &lock), -ENOENT);
    cr_expect_eq(open_files(), files);
}

Test(locked_dir, removal_deletes_dir_and_lock)
{
    char name[] = NAME;
    struct locked_dir lock;
    cr_assert_eq(locked_dir_create(&env, name, true, &lock), 0);
    cr_assert_eq(mkdir(NAME "/deep", 0700), 0);
    put_file(NAME "/deep/file", "");
    cr_expect_eq(locked_dir_remove(&env, name, &lock, 1), 0);
    cr_expect(!path_exists(NAME));
    locked_dir_unlock(&env, &lock);
}

static int locks;

static int lock_is_taken_twice(struct env *e, int file)
{
    return locks++ < 2 ? -EWOULDBLOCK : env_real()->lock(e, file);
}

Test(locked_dir, removal_stops_at_its_depth)
{
    char name[] = NAME;
    struct locked_dir lock;
    cr_assert_eq(locked_dir_create(&env, name, false, &lock), 0);
    cr_assert(mkdir(NAME "/a", 0700) == 0 && mkdir(NAME "/a/b", 0700) == 0);
    cr_expect_lt(locked_dir_remove(&env, name, &lock, 1), 0);
    cr_expect(path_exists(NAME "/a/b"));
    cr_expect_eq(locked_dir_remove(&env, name, &lock, 2), 0);
    cr_expect_not(path_exists(NAME));
    locked_dir_unlock(&env, &lock);
}

Test(locked_dir, other_name_is_used_if_sweeper_holds_lock)
{
    char name[] = "mine-ffffffffffffffff";
    struct locked_dir lock;
    env.lock = lock_is_taken_twice;
    cr_assert_eq(locked_dir_create(&env, name, false, &lock), 0);
    cr_expect_eq(locks, 3);
    cr_expect_str_eq(name, "mine-3c6ef372fe94f829");
    cr_expect(path_exists("mine-3c6ef372fe94f829/" LOCKED_DIR_LOCK_NAME));
    cr_expect(!path_exists("mine-ffffffffffffffff"));
    locked_dir_unlock(&env, &lock);
}

static int lock_after_a_sweep(struct env *e, int file)
{
    if (locks++ == 0) cr_assert(unlink(LOCK) == 0 && rmdir(NAME) == 0);
    return env_real()->lock(e, file);
}

/* A sweep has removed the directory before the lock is taken, so no other process can see the
 * lock. */
Test(locked_dir, other_name_is_used_if_dir_was_removed)
{
    char name[] = NAME;
    struct locked_dir lock;
    env.lock = lock_after_a_sweep;
    cr_assert_eq(locked_dir_create(&env, name, false, &lock), 0);
    cr_expect_str_neq(name, NAME);
    cr_expect(path_exists(name));
    locked_dir_unlock(&env, &lock);
}

static void set_time(const char *path, int64_t at_s)
{
    const struct timespec times[2] = {{.tv_sec = at_s}, {.tv_sec = at_s}};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

Test(locked_dir, sweep_removes_dir_without_lock_only_if_empty)
{
    static const char *const others[] = {"mine-0123456789abcdeF", "mine-notes",
                                         "mine-0000000000000000"};
    cr_assert_eq(mkdir(NAME, 0777), 0);
    for (int i = 0; i < 3; i++) cr_assert_eq(mkdir(others[i], 0777), 0);
    put_file("mine-0000000000000000/precious", "precious");
    put_file("mine-notes/" LOCKED_DIR_LOCK_NAME, "");
    remove_stale();
    cr_expect(!path_exists(NAME));
    for (int i = 0; i < 3; i++) cr_expect(path_exists(others[i]), "%s", others[i]);
    cr_expect(path_exists("mine-0000000000000000/precious"));
}

/* ---- Traps */

static void make_target(void)
{
    make_stale_dir();
    cr_assert_eq(rename(NAME, "target"), 0);
}

static bool target_is_whole(void)
{
    return path_exists("target/precious") && path_exists("target/" LOCKED_DIR_LOCK_NAME);
}

Test(locked_dir, sweep_skips_symlink_to_dir)
{
    make_target();
    cr_assert_eq(symlink("target", NAME), 0);
    remove_stale();
    cr_expect(target_is_whole() && path_exists(NAME));
}

Test(locked_dir, sweep_skips_dir_with_symlink_as_lock)
{
    make_target();
    make_stale_dir();
    cr_assert(unlink(LOCK) == 0 && symlink("../target/" LOCKED_DIR_LOCK_NAME, LOCK) == 0);
    remove_stale();
    cr_expect(target_is_whole() && path_exists(NAME "/precious"));
}

/* Another user cannot create a file that we own, but may be able to hard-link one. */
Test(locked_dir, sweep_skips_hard_linked_lock)
{
    make_stale_dir();
    cr_assert_eq(link(LOCK, "other"), 0);
    remove_stale();
    cr_expect(path_exists(NAME "/precious") && path_exists(LOCK));
    cr_assert_eq(unlink("other"), 0);
    remove_stale();
    cr_expect(!path_exists(NAME));
}

static int dirs_are_others(struct env *e, int file, struct env_stat *out)
{
    int r = env_real()->stat_open(e, file, out);
    if (r == 0 && out->kind == ENV_DIRECTORY) out->mine = false;
    return r;
}

Test(locked_dir, sweep_skips_dir_of_another_user)
{
    make_stale_dir();
    env.stat_open = dirs_are_others;
    remove_stale();
    cr_expect(path_exists(NAME "/precious") && path_exists(LOCK));
    env.stat_open = env_real()->stat_open;
    if (geteuid() == 0) {
        cr_assert_eq(chown(NAME, 65534, 65534), 0);
        remove_stale();
        cr_expect(path_exists(NAME "/precious") && path_exists(LOCK));
        cr_assert_eq(chown(NAME, 0, 0), 0);
    }
    remove_stale();
    cr_expect(!path_exists(NAME));
}

static void swap_for_link(void)
{
    cr_assert(rename(NAME, "aside") == 0 && symlink("target", NAME) == 0);
}

/* Another user replaces the stale directory after it is listed and before the first removal. */
static int list_and_swap(struct env *e, int dir, int (*entry)(void *arg, const char *name),
                         void *arg)
{
    struct env_stat listed, named;
    cr_assert_eq(env_real()->stat_open(e, dir, &listed), 0);
    bool is_stale = env_real()->stat(e, NAME, &named) == 0 && listed.inode == named.inode;
    if (is_stale && !path_exists("aside")) swap_for_link();
    return env_real()->list(e, dir, entry, arg);
}

Test(locked_dir, sweep_is_safe_if_dir_is_swapped_while_listed)
{
    make_target();
    make_stale_dir();
    env.list = list_and_swap;
    remove_stale();
    cr_expect(target_is_whole());
    cr_expect(path_exists("aside") && !path_exists("aside/precious"));
}

static int open_and_swap(struct env *e, int dir, const char *name, enum env_open_mode mode)
{
    int file = env_real()->open(e, dir, name, mode);
    if (mode == ENV_LOCK) swap_for_link();
    return file;
}

Test(locked_dir, sweep_is_safe_if_dir_is_swapped_after_open)
{
    make_target();
    make_stale_dir();
    env.open = open_and_swap;
    remove_stale();
    cr_expect(target_is_whole());
    cr_expect(path_exists("aside") && !path_exists("aside/precious"));
}

Test(locked_dir, removal_is_safe_if_own_dir_is_swapped)
{
    char name[] = NAME;
    struct locked_dir lock;
    make_target();
    cr_assert_eq(locked_dir_create(&env, name, false, &lock), 0);
    put_file(NAME "/precious", "");
    swap_for_link();
    cr_expect_neq(locked_dir_remove(&env, name, &lock, 1), 0);
    locked_dir_unlock(&env, &lock);
    cr_expect(target_is_whole());
    cr_expect(path_exists("aside") && !path_exists("aside/precious"));
}

static const char *swapped_for; /* NULL: a link to the target */

static int make_and_swap(struct env *e, int dir, const char *name, bool only_owner)
{
    int r = env_real()->make_dir(e, dir, name, only_owner);
    if (swapped_for == NULL)
        swap_for_link();
    else
        cr_assert(rename(NAME, "aside") == 0 && rename(swapped_for, NAME) == 0);
    return r;
}

/* The new directory is replaced before it is opened: by a link, by another directory of this user,
 * by a directory of another user. */
Test(locked_dir, lock_is_created_only_in_own_new_dir)
{
    char name[] = NAME;
    struct locked_dir lock;
    unsigned files = open_files();
    make_target();
    env.make_dir = make_and_swap;
    cr_expect_eq(locked_dir_create(&env, name, false, &lock), -ENOTDIR);
    cr_expect(target_is_whole() && lock.dir == -1 && lock.file == -1);
    cr_assert(unlink(NAME) == 0 && rmdir("aside") == 0);
    cr_assert_eq(mkdir("project", 0700), 0);
    put_file("project/precious", "precious");
    swapped_for = "project";
    cr_expect_eq(locked_dir_create(&env, name, false, &lock), -EEXIST);
    cr_expect(path_exists(NAME "/precious") && !path_exists(LOCK));
    cr_assert(rename(NAME, "project") == 0 && rmdir("aside") == 0);
    env = *env_real();
    env.stat_open = dirs_are_others;
    cr_expect_eq(locked_dir_create(&env, name, false, &lock), -EPERM);
    cr_expect(!path_exists(NAME));
    cr_expect_eq(open_files(), files);
}

/* ---- Locks of other nodes */

static struct env_node other_node = {.host = "other-host",
                                     .boot = "00000000-0000-0000-0000-000000000000"};
static int64_t now_s;

static void be_other_node(struct env *e, struct env_node *out)
{
    (void)e;
    *out = other_node;
}

static int64_t wall_at_now_s(struct env *e)
{
    (void)e;
    return now_s * 1000000000;
}

/* Creates a stale directory locked that many seconds ago, by the clock in the lock file and by the
 * file's mtime. */
static void make_stale_dir_of(int64_t start_ago_s, int64_t file_ago_s)
{
    struct env_node here;
    char text[256];
    make_stale_dir();
    env_real()->node(env_real(), &here);
    snprintf(text, sizeof text, "%s\n%s\n%lld\n", here.host, here.boot,
             (long long)(now_s - start_ago_s));
    put_file(LOCK, text);
    set_time(LOCK, now_s - file_ago_s);
}

Test(locked_dir, lock_of_other_node_is_valid_for_a_day)
{
    const int64_t day_s = 86400;
    now_s = 1800000000;
    env.wall_ns = wall_at_now_s;
    env.node = be_other_node;
    make_stale_dir_of(0, 0);
    remove_stale();
    cr_expect(path_exists(NAME "/precious"));
    cr_assert(unlink(NAME "/precious") == 0 && unlink(LOCK) == 0 && rmdir(NAME) == 0);
    make_stale_dir_of(day_s - 1, 2 * day_s); /* recent by one clock is enough */
    remove_stale();
    cr_expect(path_exists(NAME "/precious"));
    set_time(LOCK, now_s - day_s + 1);
    now_s++;
    remove_stale();
    cr_expect(!path_exists(NAME)); /* a day old by both */
    make_stale_dir_of(2 * day_s, 1);
    remove_stale();
    cr_expect(path_exists(NAME "/precious"));
    set_time(LOCK, now_s - day_s);
    remove_stale();
    cr_expect(!path_exists(NAME));
}

Test(locked_dir, same_host_or_boot_id_means_same_node)
{
    env.node = be_other_node;
    env_real()->node(env_real(), &other_node);
    snprintf(other_node.host, sizeof other_node.host, "a-container");
    make_stale_dir();
    remove_stale();
    cr_expect(!path_exists(NAME));
    env_real()->node(env_real(), &other_node);
    snprintf(other_node.boot, sizeof other_node.boot, "of an earlier start");
    make_stale_dir();
    remove_stale();
    cr_expect(!path_exists(NAME));
}

Test(locked_dir, invalid_owner_counts_as_other_node)
{
    static const char *const texts[] = {"", "host", "host\nboot\n", "host\nboot\nnever\n",
                                        "\n\n\n"};
    env.node = be_other_node;
    other_node.boot[0] = '\0'; /* two unknown boot ids are not equal */
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        make_stale_dir();
        put_file(LOCK, texts[i]);
        remove_stale();
        cr_expect(path_exists(NAME "/precious"), "%s", texts[i]);
        set_time(LOCK, 1000);
        remove_stale();
        cr_expect(!path_exists(NAME), "%s", texts[i]);
    }
}

static int64_t no_room(struct env *e, int file, const void *data, size_t size)
{
    (void)e;
    (void)file;
    (void)data;
    (void)size;
    return -ENOSPC;
}

Test(locked_dir, lock_works_on_full_disk)
{
    char name[] = NAME;
    struct locked_dir lock;
    env.write = no_room;
    cr_expect_eq(locked_dir_create(&env, name, false, &lock), 0);
    cr_expect_eq(locked_dir_remove(&env, name, &lock, 1), 0);
    locked_dir_unlock(&env, &lock);
    cr_expect(!path_exists(NAME));
}
