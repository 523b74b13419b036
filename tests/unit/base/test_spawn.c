/* Child processes: their files, environment and exit. */
#include "engine/base/spawn.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static uv_loop_t loop;
static int ends, closes, last;

static void begin(void)
{
    ends = closes = last = 0;
    cr_assert_eq(uv_loop_init(&loop), 0);
}

static void end(void)
{
    cr_expect_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    cr_expect_eq(uv_loop_close(&loop), 0);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "a child is left");
}

TestSuite(spawn, .init = begin, .fini = end);

static void on_closed(void *arg)
{
    (void)arg;
    closes++;
}

static void on_ended(void *arg, int wait_status)
{
    ends++;
    last = wait_status;
    cr_expect(spawn_close(arg, on_closed));
}

/* Starts a shell with the commands `text`; its output goes to `out`. */
static int shell(struct spawn *s, const char *text, int out, char *const *variables)
{
    char *words[] = {"sh", "-c", (char *)(uintptr_t)text, NULL};
    const struct spawn_program p = {.path = "sh",
                                    .words = words,
                                    .variables = variables,
                                    .files = {-1, out, 2},
                                    .file_count = 3};
    return spawn_start(s, &loop, &p, on_ended, s);
}

static int run_shell(const char *text)
{
    struct spawn s;
    cr_assert_eq(shell(&s, text, 2, NULL), 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(ends, 1);
    cr_expect_eq(closes, 1);
    return last;
}

Test(spawn, exit_status_is_reported)
{
    int status = run_shell("exit 42");
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

Test(spawn, death_by_signal_is_reported)
{
    struct spawn s;
    cr_assert_eq(shell(&s, "while :; do read x </dev/zero; done", 2, NULL), 0);
    spawn_kill(&s, SIGKILL);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect(WIFSIGNALED(last) && WTERMSIG(last) == SIGKILL);
    spawn_kill(&s, SIGKILL); /* no effect: it has exited */
}

Test(spawn, process_gets_its_files_and_variables)
{
    char text[256] = "", *variables[] = {"COLOUR=red", NULL};
    struct spawn s;
    int pipes[2];
    cr_assert_eq(pipe2(pipes, O_CLOEXEC), 0);
    cr_assert_eq(shell(&s, "read x; echo $COLOUR$HOME", pipes[1], variables), 0);
    close(pipes[1]);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_gt(read(pipes[0], text, sizeof text - 1), 0);
    close(pipes[0]);
    cr_expect_str_eq(text, "red\n");
}

Test(spawn, process_has_default_signal_handling)
{
    sigset_t held;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    sigemptyset(&held);
    sigaddset(&held, SIGTERM);
    sigprocmask(SIG_BLOCK, &held, NULL);
    int status = run_shell(
        "grep -c -e 'SigBlk:.*[^0\t]' -e 'SigIgn:.*[^0\t]' /proc/$$/status; kill $$; exit 3");
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "%x", (unsigned)status);
}

Test(spawn, missing_program_is_not_started)
{
    char *words[] = {"no such program", NULL};
    const struct spawn_program p = {.path = "/no such program", .words = words};
    struct spawn s;
    cr_expect_eq(spawn_start(&s, &loop, &p, on_ended, &s), -ENOENT);
    cr_expect_not(spawn_close(&s, on_closed));
    spawn_kill(&s, SIGKILL);
}

Test(spawn, descriptor_shortage_leaves_nothing)
{
    struct rlimit limit, low;
    struct spawn s;
    int next = dup(2);
    close(next);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = limit;
    low.rlim_cur = (rlim_t)next;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    int r = shell(&s, "while :; do read x </dev/zero; done", 2, NULL);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_expect_eq(r, -EMFILE);
    cr_expect_not(spawn_close(&s, on_closed));
}
