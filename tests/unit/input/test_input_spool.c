/* Copies of piped input: their content, that nothing is left, and every failing call. */
#include "engine/input/input.h"
#include "engine/input/input_source.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>

static char scratch_dir[] = "/tmp/glint-spool-XXXXXX";
static struct env env; /* the real one; call number `fail_at` fails */
static uint64_t calls, fail_at;

static bool fails(void)
{
    return ++calls == fail_at;
}

static int failing_random(struct env *e, void *out, size_t size)
{
    (void)e;
    return fails() ? -EIO : env_real()->random(env_real(), out, size);
}

static int failing_open(struct env *e, int dir, const char *name, enum env_open_mode mode)
{
    (void)e;
    return fails() ? -EIO : env_real()->open(env_real(), dir, name, mode);
}

static int failing_remove(struct env *e, int dir, const char *name, bool is_dir)
{
    (void)e;
    const int r = env_real()->remove(env_real(), dir, name, is_dir);
    return fails() ? -EIO : r;
}

static int failing_poll(struct env *e, struct pollfd *files, uint32_t count, int timeout_ms)
{
    (void)e;
    return fails() ? -EIO : env_real()->poll(env_real(), files, count, timeout_ms);
}

static int64_t failing_read(struct env *e, int file, void *out, size_t size)
{
    (void)e;
    return fails() ? -EIO : env_real()->read(env_real(), file, out, size);
}

static int64_t failing_write(struct env *e, int file, const void *data, size_t size)
{
    (void)e;
    return fails() ? -ENOSPC : env_real()->write(env_real(), file, data, size);
}

static void setup(void)
{
    env = *env_real();
    env.random = failing_random;
    env.open = failing_open;
    env.remove = failing_remove;
    env.poll = failing_poll;
    env.read = failing_read;
    env.write = failing_write;
    cr_assert_not_null(mkdtemp(scratch_dir));
}

static uint32_t count_entries(const char *path)
{
    uint32_t n = 0;
    DIR *dir = opendir(path);
    cr_assert_not_null(dir);
    while (readdir(dir) != NULL) n++;
    closedir(dir);
    return n;
}

static void teardown(void)
{
    cr_expect_eq(count_entries(scratch_dir), 2, "only . and ..");
    cr_expect_eq(mem_live_blocks(), 0);
    rmdir(scratch_dir);
}

TestSuite(input_spool, .init = setup, .fini = teardown);

/* A pipe that contains `text` and has no writer any more; its path is written into `path`. */
static int make_pipe(const char *text, char path[32])
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
    close(ends[1]);
    snprintf(path, 32, "/dev/fd/%d", ends[0]);
    return ends[0];
}

Test(input_spool, pipe_is_copied_once)
{
    struct input_spool spool = {.parent = scratch_dir};
    struct input_list list = {.spool = &spool, .content = INPUT_TEXT};
    struct glint_error error = {.code = GLINT_OK};
    char path[32], got[16];
    const int pipe_end = make_pipe("one\ntwo\n", path);
    for (unsigned i = 0; i < 2; i++) { /* the second time the pipe is empty */
        list = (struct input_list){.spool = &spool};
        cr_assert_eq(input_list_resolve(&env, path, INPUT_TEXT, &list, &error), 0, "%s",
                     error.cause);
        cr_assert_eq(list.count, 1);
        cr_expect_str_eq(list.files[0].path, path);
        cr_expect_eq(list.files[0].size, 8);
        const int copy = open(list.files[0].stored, O_RDONLY);
        cr_expect(read(copy, got, sizeof got) == 8 && memcmp(got, "one\ntwo\n", 8) == 0);
        close(copy);
        input_list_fini(&list);
    }
    list = (struct input_list){.spool = NULL};
    cr_expect_eq(input_list_resolve(&env, path, INPUT_TEXT, &list, &error), GLINT_E_INPUT_KIND);
    cr_expect(strstr(error.hint, "without a cluster") != NULL, "%s", error.hint);
    input_list_fini(&list);
    close(pipe_end);
    input_spool_fini(&spool, &env);
}

Test(input_spool, every_failing_call_is_reported)
{
    const uint32_t open_before = count_entries("/proc/self/fd");
    int r = -1;
    for (uint64_t n = 1; r != 0; n++) {
        struct input_spool spool = {.parent = scratch_dir};
        struct glint_error error = {.code = GLINT_OK};
        const struct spooled_input *copy;
        char path[32];
        const int pipe_end = make_pipe("text", path);
        calls = 0;
        fail_at = n;
        r = input_spool_copy(&spool, &env, path, 0, &copy, &error);
        fail_at = 0;
        cr_expect(r == 0 || r == GLINT_E_INPUT_IO || r == GLINT_E_WORK_DIR || r == GLINT_E_SYSTEM ||
                      r == GLINT_E_SPILL_FULL,
                  "call %lu: %d", n, r);
        cr_expect_eq(r, error.code);
        cr_expect(r != 0 || n > 8);
        input_spool_fini(&spool, &env);
        close(pipe_end);
        cr_expect_eq(count_entries("/proc/self/fd"), open_before);
    }
    r = -1;
    for (int64_t n = 1; r != 0; n++) {
        struct input_spool spool = {.parent = scratch_dir};
        struct glint_error error = {.code = GLINT_OK};
        const struct spooled_input *copy;
        char path[32];
        const int pipe_end = make_pipe("text", path);
        mem_fail_at(n, false);
        r = input_spool_copy(&spool, &env, path, 0, &copy, &error);
        mem_fail_at(0, false);
        cr_expect(r == 0 || r == GLINT_E_NO_MEMORY);
        input_spool_fini(&spool, &env);
        close(pipe_end);
        cr_expect_eq(count_entries("/proc/self/fd"), open_before);
    }
}

Test(input_spool, missing_directory_is_reported)
{
    struct input_spool spool = {.parent = "/nowhere"};
    struct glint_error error = {.code = GLINT_OK};
    const struct spooled_input *copy;
    char path[32];
    const int pipe_end = make_pipe("text", path);
    cr_expect_eq(input_spool_copy(&spool, &env, path, 0, &copy, &error), GLINT_E_WORK_DIR);
    cr_expect(strstr(error.cause, "/nowhere/glint-input-") != NULL, "%s", error.cause);
    close(pipe_end);
    input_spool_fini(&spool, &env);
}
