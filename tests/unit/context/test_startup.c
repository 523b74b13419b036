/* Starting and ending a context: invalid settings, the run's own directory, a system without free
 * resources. */
#include "engine/base/locked_dir.h"
#include "engine/base/text.h"
#include "engine/driver/driver.h"
#include "tests/support/faults.h"
#include "tests/support/local.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char scratch[64];
static struct glint_error error;

static void enter_scratch_dir(void)
{
    memcpy(scratch, "/tmp/local-test-XXXXXX", sizeof "/tmp/local-test-XXXXXX");
    cr_assert_not_null(mkdtemp(scratch));
    cr_assert_eq(chdir(scratch), 0);
    error = (struct glint_error){.code = GLINT_OK};
}

static void leave_scratch_dir(void)
{
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(env_remove_tree(env_real(), ENV_CWD, scratch, 4), 0);
}

TestSuite(startup, .init = enter_scratch_dir, .fini = leave_scratch_dir);

static int count_entries(const char *path)
{
    int n = 0;
    DIR *dir = opendir(path);
    if (dir == NULL) return -1;
    while (readdir(dir) != NULL) n++;
    closedir(dir);
    return n - 2;
}

static int create_context(const struct context_config *c)
{
    struct glint *g = context_create(c, &error);
    cr_expect_eq(g == NULL, error.code != GLINT_OK);
    cr_expect(g != NULL || error.cause[0] != '\0');
    int code = g != NULL ? glint_finish(g) : error.code;
    glint_destroy(g);
    return code;
}

/* After the first context: libuv opens some descriptors and keeps them as long as the process
 * runs. */
static int files_open(void)
{
    static bool warm;
    struct context_config c = local_config(1, false);
    if (!warm) cr_assert_eq(create_context(&c), 0);
    warm = true;
    return count_entries("/proc/self/fd");
}

Test(startup, out_of_range_settings_are_rejected)
{
    struct context_config c = local_config(SLOTS_MAX + 1, false);
    cr_expect_eq(create_context(&c), GLINT_E_BAD_VALUE);
    c = local_config(4, false);
    c.memory_bytes = 4 * SLOT_MEMORY_BYTES_MIN - 1;
    cr_expect_eq(create_context(&c), GLINT_E_MEMORY_LIMIT);
    c = local_config(1, false);
    c.line_bytes_max = VALUE_BYTES_MAX + 1;
    cr_expect_eq(create_context(&c), GLINT_E_BAD_VALUE);
    c = local_config(1, false);
    c.work_dir = "missing";
    cr_expect_eq(create_context(&c), GLINT_E_WORK_DIR);
    cr_expect_neq(error.hint[0], '\0');
}

Test(startup, work_dir_is_private_and_removed)
{
    struct work_dir w;
    struct stat st;
    cr_assert_eq(work_dir_open(&w, env_real(), ".", &error), 0);
    cr_expect(stat(w.path, &st) == 0 && (st.st_mode & 0777) == 0700);
    cr_expect_eq(count_entries(w.path), 1); /* the lock */
    work_dir_close(&w);
    work_dir_close(&w);
    cr_expect_eq(count_entries("."), 0);
}

static struct locked_dir make_locked(const char *name)
{
    struct locked_dir lock;
    char path[128];
    text_format(path, sizeof path, "%s", name);
    cr_assert_eq(locked_dir_create(env_real(), path, true, &lock), 0);
    cr_assert_str_eq(path, name);
    return lock;
}

static void make_unlocked(const char *name)
{
    struct locked_dir lock = make_locked(name);
    locked_dir_unlock(env_real(), &lock);
}

Test(startup, only_work_dirs_of_dead_runs_are_removed)
{
    struct work_dir w;
    make_unlocked("glint-0123456789abcdef");
    struct locked_dir living = make_locked("glint-00000000000000ff");
    make_unlocked("other-0123456789abcdef");
    make_unlocked("0123456789abcdef");
    cr_assert_eq(rename("0123456789abcdef", "glint-anybodys"), 0);
    cr_assert_eq(work_dir_open(&w, env_real(), ".", &error), 0);
    cr_expect_neq(access("glint-0123456789abcdef", F_OK), 0);
    cr_expect_eq(access("glint-00000000000000ff/" LOCKED_DIR_LOCK_NAME, F_OK), 0);
    cr_expect_eq(access("other-0123456789abcdef/" LOCKED_DIR_LOCK_NAME, F_OK), 0);
    cr_expect_eq(access("glint-anybodys/" LOCKED_DIR_LOCK_NAME, F_OK), 0);
    work_dir_close(&w);
    locked_dir_unlock(env_real(), &living);
}

/* Many contexts start at the same time, each removing stale directories while others lock theirs:
 * none may lose its directory. */
Test(startup, concurrent_runs_keep_their_work_dirs)
{
    struct work_dir w[64];
    pid_t child = fork();
    cr_assert_geq(child, 0);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 64; i++) {
            if (work_dir_open(&w[i], env_real(), ".", &error) != 0) _exit(1);
            char lock[PATH_MAX + 16];
            text_format(lock, sizeof lock, "%s/" LOCKED_DIR_LOCK_NAME, w[i].path);
            if (access(lock, F_OK) != 0) _exit(2);
        }
        for (int i = 0; i < 64; i++) {
            if (access(w[i].path, F_OK) != 0) _exit(3);
            work_dir_close(&w[i]);
        }
    }
    if (child == 0) _exit(0);
    int status = -1;
    cr_expect(waitpid(child, &status, 0) == child && status == 0);
    cr_expect_eq(count_entries("."), 0);
}

Test(startup, failed_system_call_leaks_nothing)
{
    struct context_config c = local_config(2, false);
    int files = files_open();
    int64_t live = mem_live_blocks();
    c.env = faults_env();
    c.work_dir = ".";
    for (int64_t n = 1;; n++) {
        faults_set(FAULT_ONCE, n, -ENOSPC);
        create_context(&c);
        cr_expect_eq(files_open(), files);
        cr_expect_eq(mem_live_blocks(), live);
        bool left = faults_failed() != NULL && strcmp(faults_failed(), "list") == 0;
        cr_expect(left || count_entries(".") == 0, "%s", faults_failed());
        leave_scratch_dir();
        enter_scratch_dir();
        if (faults_failed() == NULL) break;
    }
}

Test(startup, out_of_memory_leaks_nothing)
{
    struct context_config c = local_config(2, true);
    int files = files_open();
    int64_t live = mem_live_blocks();
    c.work_dir = ".";
    for (int64_t n = 1; n < 20; n++) {
        mem_fail_at(n, false);
        int code = create_context(&c);
        mem_fail_at(0, false);
        cr_expect(code == 0 || code == GLINT_E_NO_MEMORY);
        cr_expect_eq(files_open(), files);
        cr_expect_eq(mem_live_blocks(), live);
        cr_expect_eq(count_entries("."), 0);
    }
}

Test(startup, work_dir_that_cannot_be_locked_is_removed)
{
    struct work_dir w;
    struct rlimit before, low;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = 0;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    int code = work_dir_open(&w, env_real(), ".", &error);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    cr_expect_eq(code, GLINT_E_SYSTEM);
    cr_expect_eq(count_entries("."), 0);
}

Test(startup, descriptor_shortage_is_reported)
{
    struct context_config c = local_config(1, false);
    struct rlimit before, low;
    int refused = 0, files = files_open();
    c.work_dir = ".";
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (rlim_t limit = 3; limit < 24; limit++) {
        low = before;
        low.rlim_cur = limit;
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
        int code = create_context(&c);
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
        cr_expect(code == 0 || code == GLINT_E_SYSTEM, "%d: %s", code, error.cause);
        refused += code != 0;
        cr_expect_eq(files_open(), files, "limit %d", (int)limit);
        cr_expect(code == 0 ||
                  count_entries(".") <= 1); /* a locked directory that cannot be listed stays */
        leave_scratch_dir();
        enter_scratch_dir();
    }
    cr_expect_gt(refused, 0);
}
