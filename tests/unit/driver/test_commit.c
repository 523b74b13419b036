/* Outputs appear complete and together or not at all, whatever else is in the directory and
 * whichever system call fails. Uses real directories in a scratch directory. */
#include "engine/driver/commit.h"
#include "tests/support/faults.h"
#include "tests/unit/driver/scratch_dirs.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW     ((struct commit_options){.overwrite = false})
#define REPLACE ((struct commit_options){.overwrite = true})

static struct glint_error error;

static void enter(void)
{
    scratch_enter();
    error = (struct glint_error){.code = GLINT_OK};
}

TestSuite(commit, .init = enter, .fini = scratch_leave);

static int open_files(void)
{
    return entries("/proc/self/fd");
}

static struct glint_slice slice(const char *text)
{
    return (struct glint_slice){(const uint8_t *)text, strlen(text)};
}

static int write_part(struct commit *c, const char *text)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/part-00000.attempt-1", c->attempts);
    write_file(path, text);
    return commit_task(c, slice("part-00000.attempt-1"), NULL, "part-00000", "e1", &error);
}

/* From commit_open_output to commit_complete_output, with one part that contains `text`. */
static int prepare(struct commit *c, struct env *env, const char *out, bool overwrite,
                   const char *text)
{
    struct commit_options options = {.overwrite = overwrite};
    int r = commit_open_output(c, env, out, options, (uint64_t)(uintptr_t)c, &error);
    if (r == 0) r = write_part(c, text);
    if (r == 0) r = commit_complete_output(c, &error);
    return r;
}

Test(commit, publishes_a_directory)
{
    struct commit c, *all[] = {&c};
    int files = open_files();
    cr_assert_eq(prepare(&c, env_real(), "out//", false, "rows"), 0);
    cr_expect_eq(entries("."), 1);
    cr_expect_neq(access("out", F_OK), 0);
    cr_assert_eq(commit_publish_all_or_none(all, 1, &error), 0);
    cr_expect(commit_cleanup(&c) && commit_cleanup(&c));
    cr_expect(file_contains("out/part-00000", "rows") && file_contains("out/_SUCCESS", ""));
    cr_expect_eq(entries("out"), 2);
    cr_expect_eq(entries("."), 1);
    cr_expect_eq(open_files(), files);
}

Test(commit, cleanup_removes_unpublished_output)
{
    struct commit c;
    cr_assert_eq(prepare(&c, env_real(), "out", false, "rows"), 0);
    cr_expect(commit_cleanup(&c));
    cr_expect_eq(entries("."), 0);
}

static void expect_rejected(const char *out, bool overwrite, enum glint_code code)
{
    struct commit c;
    int before = entries(".");
    error.code = GLINT_OK;
    struct commit_options options = {.overwrite = overwrite};
    cr_expect_eq(commit_open_output(&c, env_real(), out, options, 1, &error), code, "%s", out);
    cr_expect_eq(error.code, code);
    cr_expect(commit_cleanup(&c));
    cr_expect_eq(entries("."), before);
}

Test(commit, existing_or_invalid_output_is_rejected)
{
    cr_assert_eq(mkdir("directory", 0777), 0);
    write_file("file", "precious");
    cr_assert_eq(symlink("nowhere", "dangling"), 0);
    expect_rejected("directory", false, GLINT_E_OUTPUT_EXISTS);
    expect_rejected("file", false, GLINT_E_OUTPUT_EXISTS);
    expect_rejected("file", true, GLINT_E_OUTPUT_EXISTS);
    expect_rejected("dangling", false, GLINT_E_OUTPUT_EXISTS);
    expect_rejected("dangling", true, GLINT_E_OUTPUT_EXISTS);
    expect_rejected("missing/out", false, GLINT_E_OUTPUT_CREATE);
    expect_rejected("file/out", false, GLINT_E_OUTPUT_CREATE);
    expect_rejected("", false, GLINT_E_OUTPUT_CREATE);
    expect_rejected("/", false, GLINT_E_OUTPUT_CREATE);
    expect_rejected("directory/..", false, GLINT_E_OUTPUT_CREATE);
    expect_rejected(".", true, GLINT_E_OUTPUT_CREATE);
    char longest[PATH_MAX + 8];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    expect_rejected(longest, false, GLINT_E_OUTPUT_CREATE);
    longest[255] = '\0'; /* a valid name, but too long with a suffix */
    expect_rejected(longest, false, GLINT_E_OUTPUT_CREATE);
    cr_expect(file_contains("file", "precious"));
}

Test(commit, overwrite_replaces_the_whole_output)
{
    struct commit c, *all[] = {&c};
    make_output("out", "old");
    write_file("out/part-00001.gz", "old");
    cr_assert_eq(prepare(&c, env_real(), "out", true, "new"), 0);
    cr_expect(file_contains("out/part-00000", "old") && file_contains("out/part-00001.gz", "old"));
    cr_assert_eq(commit_publish_all_or_none(all, 1, &error), 0);
    cr_expect(commit_cleanup(&c));
    cr_expect(file_contains("out/part-00000", "new"));
    cr_expect_eq(entries("out"), 2);
    cr_expect_eq(entries("."), 1);
}

static int rename_cannot_exchange(struct env *env, int from_dir, const char *from, int to_dir,
                                  const char *to, enum env_rename_mode mode)
{
    if (mode == ENV_RENAME_EXCHANGE) return -EINVAL;
    return env_real()->rename(env, from_dir, from, to_dir, to, mode);
}

/* Reported before anything runs, not after the result is computed. */
Test(commit, overwrite_needs_atomic_exchange)
{
    struct commit c, *all[] = {&c};
    struct env env = *env_real();
    env.rename = rename_cannot_exchange;
    make_output("out", "old");
    cr_expect_eq(commit_open_output(&c, &env, "out", REPLACE, 1, &error), GLINT_E_OUTPUT_CREATE);
    cr_expect_not_null(strstr(error.cause, "cannot exchange"));
    cr_expect(file_contains("out/part-00000", "old"));
    cr_expect_eq(entries("."), 1);
    error.code = GLINT_OK;
    cr_assert_eq(prepare(&c, &env, "fresh", true, "new"), 0); /* nothing is replaced */
    cr_assert_eq(commit_publish_all_or_none(all, 1, &error), 0);
    cr_expect(commit_cleanup(&c));
    cr_expect(file_contains("fresh/part-00000", "new"));
}

Test(commit, output_created_meanwhile_is_kept)
{
    struct commit c, *all[] = {&c};
    cr_assert_eq(prepare(&c, env_real(), "out", false, "new"), 0);
    cr_assert_eq(mkdir("out", 0777), 0); /* even an empty one */
    cr_expect_eq(commit_publish_all_or_none(all, 1, &error), GLINT_E_OUTPUT_EXISTS);
    cr_expect(commit_cleanup(&c));
    cr_expect_eq(entries("out"), 0);
    cr_expect_eq(entries("."), 1);

    error.code = GLINT_OK;
    cr_assert_eq(prepare(&c, env_real(), "out2", true, "new"), 0);
    write_file("out2", "file");
    cr_expect_eq(commit_publish_all_or_none(all, 1, &error), GLINT_E_OUTPUT_EXISTS);
    cr_expect(commit_cleanup(&c));
    cr_expect(file_contains("out2", "file"));
    cr_expect_eq(entries("."), 2);
}

Test(commit, overwrite_works_without_an_old_output)
{
    struct commit c, *all[] = {&c};
    cr_assert_eq(prepare(&c, env_real(), "out", true, "new"), 0);
    cr_assert_eq(commit_publish_all_or_none(all, 1, &error), 0);
    cr_expect(commit_cleanup(&c) && file_contains("out/part-00000", "new"));
}

Test(commit, losing_attempts_are_removed)
{
    struct commit c, *all[] = {&c};
    char path[PATH_MAX + 64];
    cr_assert_eq(commit_open_output(&c, env_real(), "out", NEW, 1, &error), 0);
    cr_assert_eq(write_part(&c, "rows"), 0);
    snprintf(path, sizeof path, "%s/part-00000.attempt-2", c.attempts);
    write_file(path, "half");
    cr_assert_eq(commit_complete_output(&c, &error), 0);
    cr_assert_eq(commit_publish_all_or_none(all, 1, &error), 0);
    cr_expect(commit_cleanup(&c));
    cr_expect_eq(entries("out"), 2);
}

Test(commit, invalid_part_names_are_rejected)
{
    static const char *const bad[] = {"", "a/b", "../out", "/etc/passwd"};
    struct commit c;
    cr_assert_eq(commit_open_output(&c, env_real(), "out", NEW, 1, &error), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        error.code = GLINT_OK;
        cr_expect_eq(commit_task(&c, slice(bad[i]), NULL, "part-00000", "e1", &error),
                     GLINT_E_PROTOCOL);
    }
    error.code = GLINT_OK;
    struct glint_slice nul = {(const uint8_t *)"a\0b", 3};
    cr_expect_eq(commit_task(&c, nul, NULL, "part-00000", "e1", &error), GLINT_E_PROTOCOL);
    error.code = GLINT_OK;
    cr_expect_eq(commit_task(&c, slice("missing"), NULL, "part-00000", "e1", &error),
                 GLINT_E_PATH_NOT_SHARED);
    cr_expect(strstr(error.cause, "e1") != NULL);
    error.code = GLINT_OK;
    cr_assert_eq(write_part(&c, "one"), 0);
    cr_expect_eq(write_part(&c, "two"), GLINT_E_OUTPUT_IO); /* a part is committed once */
    cr_expect(commit_cleanup(&c));
}

Test(commit, two_outputs_are_published_atomically)
{
    struct commit a, b, *all[] = {&a, &b};
    cr_assert_eq(prepare(&a, env_real(), "a", false, "a"), 0);
    cr_assert_eq(prepare(&b, env_real(), "b", false, "b"), 0);
    cr_assert_eq(mkdir("b", 0777), 0);
    cr_expect_eq(commit_publish_all_or_none(all, 2, &error), GLINT_E_OUTPUT_EXISTS);
    cr_expect_eq(a.state, COMMIT_COMPLETE);
    cr_expect(commit_cleanup(&a) && commit_cleanup(&b));
    cr_expect_neq(access("a", F_OK), 0);
    cr_expect_eq(entries("."), 1);
}

Test(commit, rollback_restores_overwritten_output)
{
    struct commit a, b, *all[] = {&a, &b};
    make_output("a", "old");
    cr_assert_eq(prepare(&a, env_real(), "a", true, "a"), 0);
    cr_assert_eq(prepare(&b, env_real(), "b", true, "b"), 0);
    write_file("b", "appeared");
    cr_expect_eq(commit_publish_all_or_none(all, 2, &error), GLINT_E_OUTPUT_EXISTS);
    cr_expect(commit_cleanup(&a) && commit_cleanup(&b));
    cr_expect(file_contains("a/part-00000", "old") && file_contains("b", "appeared"));
    cr_expect_eq(entries("a"), 2);
    cr_expect_eq(entries("."), 2);
}

/* A locked directory with a part in it; without the lock it is what a dead job left. */
static struct locked_dir make_hidden_dir(const char *name)
{
    struct locked_dir lock;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", name);
    cr_assert_eq(locked_dir_create(env_real(), path, false, &lock), 0);
    cr_assert_str_eq(path, name);
    snprintf(path, sizeof path, "%s/precious", name);
    write_file(path, "precious");
    return lock;
}

static void make_leftover(const char *name)
{
    struct locked_dir lock = make_hidden_dir(name);
    locked_dir_unlock(env_real(), &lock);
}

Test(commit, only_unlocked_stale_directories_are_removed)
{
    struct commit c;
    make_leftover(".out.glint-0000000000000001");
    struct locked_dir living = make_hidden_dir(".out.glint-0000000000000002");
    cr_assert_eq(mkdir(".out.glint-0000000000000003", 0777), 0); /* no lock file: not ours */
    write_file(".out.glint-0000000000000003/precious", "precious");
    make_leftover(".other.glint-0000000000000005"); /* another output's */
    cr_assert_eq(commit_open_output(&c, env_real(), "out", NEW, 9, &error), 0);
    cr_expect_neq(access(".out.glint-0000000000000001", F_OK), 0);
    cr_expect(file_contains(".out.glint-0000000000000002/precious", "precious"));
    cr_expect(file_contains(".out.glint-0000000000000003/precious", "precious"));
    cr_expect(file_contains(".other.glint-0000000000000005/precious", "precious"));
    cr_expect(commit_cleanup(&c));
    locked_dir_unlock(env_real(), &living);
}

Test(commit, planted_symlink_is_not_followed)
{
    struct commit c;
    make_leftover(".out.glint-0000000000000001");
    cr_assert_eq(rename(".out.glint-0000000000000001", "target"), 0);
    cr_assert_eq(symlink("target", ".out.glint-0000000000000004"), 0);
    cr_assert_eq(commit_open_output(&c, env_real(), "out", NEW, 9, &error), 0);
    cr_expect(file_contains("target/precious", "precious"));
    cr_expect_eq(access("target/" LOCKED_DIR_LOCK_NAME, F_OK), 0);
    cr_expect(commit_cleanup(&c));
}

/* Another user who may rename the hidden directory replaces it by a link. The driver keeps working
 * in the original directory; the link's target, which has the same names, does not change. */
Test(commit, swapped_hidden_directory_is_not_followed)
{
    struct commit c, *all[] = {&c};
    cr_assert(mkdir("target", 0777) == 0 && mkdir("target/output", 0777) == 0);
    cr_assert_eq(mkdir("target/attempts", 0777), 0);
    write_file("target/output/precious", "precious");
    write_file("target/attempts/precious", "precious");
    write_file("target/precious", "precious");
    for (int publishes = 0; publishes < 2; publishes++) {
        cr_assert_eq(commit_open_output(&c, env_real(), "out", NEW, 9, &error), 0);
        cr_assert_eq(write_part(&c, "rows"), 0);
        cr_assert(rename(c.hidden, "aside") == 0 && symlink("target", c.hidden) == 0);
        cr_assert_eq(commit_complete_output(&c, &error), 0);
        if (publishes) cr_assert_eq(commit_publish_all_or_none(all, 1, &error), 0);
        cr_expect(!commit_cleanup(&c)); /* the name is no longer our directory */
        cr_expect(file_contains("target/output/precious", "precious"));
        cr_expect(file_contains("target/attempts/precious", "precious"));
        cr_expect(file_contains("target/precious", "precious") && entries("target") == 3);
        cr_expect_eq(entries("aside"), 0);
        cr_expect_eq(file_contains("out/part-00000", "rows"), publishes);
        cr_assert(unlink(c.hidden) == 0 && rmdir("aside") == 0);
    }
}

/* Two outputs, one of which replaces an old one. *out_stuck: the new one was not rolled back. */
static int run_faulty(int64_t n, enum fault_mode mode, int fault, bool *out_stuck)
{
    struct commit a, b, *all[] = {&a, &b};
    make_output("old", "old");
    error = (struct glint_error){.code = GLINT_OK};
    faults_set(mode, n, fault);
    int r = prepare(&a, faults_env(), "new", false, "a");
    int second = r == 0 ? prepare(&b, faults_env(), "old", true, "b") : 0;
    bool opened = r == 0;
    if (r == 0) r = second;
    if (r == 0) r = commit_publish_all_or_none(all, 2, &error);
    *out_stuck = r != 0 && opened && b.state == COMMIT_PUBLISHED;
    commit_cleanup(&a);
    if (opened) commit_cleanup(&b);
    return r;
}

/* All or nothing, for every call that can fail. If all calls fail from one after the exchange on,
 * the old output is kept in the hidden directory. */
Test(commit, any_failed_call_is_all_or_nothing)
{
    static const struct {
        enum fault_mode mode;
        int error;
    } kinds[] = {{FAULT_ONCE, -EIO},
                 {FAULT_ONCE, -ENOSPC},
                 {FAULT_ONCE, -EMFILE},
                 {FAULT_FROM_THEN_ON, -EIO}};
    int files = open_files();
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (int64_t n = 1;; n++) {
            bool rollback_failed;
            int r = run_faulty(n, kinds[k].mode, kinds[k].error, &rollback_failed);
            const char *call = faults_failed();
            cr_expect_eq(open_files(), files);
            if (r == 0) {
                cr_expect(file_contains("new/part-00000", "a"));
            } else {
                cr_expect(r == error.code && error.cause[0] != '\0');
                cr_expect_neq(access("new", F_OK), 0, "%s", call);
            }
            cr_expect(!rollback_failed || kinds[k].mode == FAULT_FROM_THEN_ON);
            cr_expect(file_contains("old/part-00000", r == 0 || rollback_failed ? "b" : "old"),
                      "%s", call);
            /* A directory that cannot be listed cannot be removed. */
            bool left = rollback_failed || (call != NULL && strcmp(call, "list") == 0);
            int wanted = r == 0 ? 2 : 1;
            cr_expect(left || entries(".") == wanted, "%s %lld", call, (long long)n);
            cr_expect(!rollback_failed || entries(".") == 2, "the old output was removed");
            scratch_leave();
            scratch_enter();
            if (call == NULL) break;
        }
    }
}

/* ---- fsync */

static unsigned synced_files, synced_dirs, sync_fails;
static int sync_error;

static int count_sync_file(struct env *env, int file)
{
    (void)env;
    (void)file;
    synced_files++;
    return synced_files + synced_dirs == sync_fails ? sync_error : 0;
}

static int count_sync_dir(struct env *env, int directory)
{
    (void)env;
    (void)directory;
    synced_dirs++;
    return synced_files + synced_dirs == sync_fails ? sync_error : 0;
}

/* A new output and one that replaces another; fsync number `fails` (0: none) fails. */
static int run_synced(struct commit_options options, unsigned fails, int fault)
{
    struct commit a, b, *all[] = {&a, &b};
    struct env env = *env_real();
    env.sync_file = count_sync_file;
    env.sync_dir = count_sync_dir;
    error = (struct glint_error){.code = GLINT_OK};
    synced_files = synced_dirs = 0;
    sync_fails = fails;
    sync_error = fault;
    make_output("old", "old");
    cr_assert_eq(commit_open_output(&a, &env, "new", options, 1, &error), 0);
    cr_assert_eq(commit_open_output(&b, &env, "old", options, 1, &error), 0);
    cr_assert(write_part(&a, "a") == 0 && write_part(&b, "b") == 0);
    int r = commit_complete_output(&a, &error);
    if (r == 0) r = commit_complete_output(&b, &error);
    if (r == 0) r = commit_publish_all_or_none(all, 2, &error);
    cr_expect(commit_cleanup(&a) && commit_cleanup(&b));
    return r;
}

Test(commit, failed_fsync_publishes_nothing)
{
    enum { SYNCS = 8 }; /* per output: _SUCCESS, itself, the hidden directory, its parent */
    static const struct {
        int error;
        enum glint_code code;
    } kinds[] = {
        {-EIO, GLINT_E_OUTPUT_IO}, {-ENOSPC, GLINT_E_OUTPUT_FULL}, {-EDQUOT, GLINT_E_OUTPUT_FULL}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (unsigned n = 1; n <= SYNCS + 1; n++) {
            int r = run_synced(REPLACE, n, kinds[k].error);
            cr_expect_eq(r, n <= SYNCS ? (int)kinds[k].code : 0, "%u", n);
            cr_expect(r == 0 || strstr(error.cause, strerror(-kinds[k].error)) != NULL);
            cr_expect(file_contains("old/part-00000", r == 0 ? "b" : "old"), "%u", n);
            cr_expect_eq(entries("."), r == 0 ? 2 : 1, "%u", n);
            scratch_leave();
            scratch_enter();
        }
}

Test(commit, directory_fsync_may_be_unsupported)
{
    cr_expect_eq(run_synced(REPLACE, 2, -EINVAL), 0);
    cr_expect(file_contains("new/part-00000", "a") && file_contains("old/part-00000", "b"));
}

Test(commit, no_sync_skips_every_fsync)
{
    struct commit_options options = {.overwrite = true, .no_sync = true};
    cr_expect_eq(run_synced(options, 0, 0), 0);
    cr_expect(synced_files == 0 && synced_dirs == 0);
}

static int open_denied(struct env *env, int dir, const char *name, enum env_open_mode mode)
{
    return mode == ENV_DIR ? -EACCES : env_real()->open(env, dir, name, mode);
}

/* New entries of an unreadable directory cannot be synced. */
Test(commit, parent_must_be_readable_for_fsync)
{
    struct commit c, *all[] = {&c};
    struct env env = *env_real();
    struct commit_options options = {.no_sync = true};
    env.open = open_denied;
    cr_expect_eq(commit_open_output(&c, &env, "out", NEW, 1, &error), GLINT_E_OUTPUT_CREATE);
    cr_expect_not_null(strstr(error.hint, "--no-sync"));
    cr_expect_eq(entries("."), 0);
    error.code = GLINT_OK;
    cr_assert_eq(commit_open_output(&c, &env, "out", options, 1, &error), 0);
    cr_assert(write_part(&c, "rows") == 0 && commit_complete_output(&c, &error) == 0);
    cr_expect_eq(commit_publish_all_or_none(all, 1, &error), 0);
    cr_expect(commit_cleanup(&c) && file_contains("out/part-00000", "rows"));
}

Test(commit, unwritten_reserved_output_is_not_published)
{
    struct commit a, b, *all[] = {&a, &b};
    cr_assert_eq(commit_open_output(&a, env_real(), "unused", NEW, 1, &error), 0);
    cr_assert_eq(prepare(&b, env_real(), "used", false, "b"), 0);
    cr_expect_eq(commit_publish_all_or_none(all, 2, &error), 0);
    cr_expect(commit_cleanup(&a) && commit_cleanup(&b));
    cr_expect(file_contains("used/part-00000", "b") && entries(".") == 1);
}
