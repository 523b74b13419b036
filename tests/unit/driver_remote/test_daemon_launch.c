/* Launched daemons: command line, environment, log, exit. */
#include "engine/base/text.h"
#include "engine/driver/cluster_transport_internal.h"
#include "fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[64], logs[128], log_path[160];
static uv_loop_t loop;
static struct cluster_executor one = {.id = "e1", .host = "node-7", .port = 1};
static int ends, last_signal, last_status;

static void open_dir(void)
{
    enter();
    memcpy(dir, "/tmp/launch-test-XXXXXX", sizeof "/tmp/launch-test-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    text_format(logs, sizeof logs, "%s/a/b", dir);
    text_format(log_path, sizeof log_path, "%s/e1.log", logs);
    cluster.executors = &one;
    cluster.executor_count = 1;
    cluster.launch = LAUNCH_SSH;
    cluster.log_dir = logs;
    cluster.log_bytes_max = 64;
    cluster.path = "/etc/my cluster.toml";
    ends = 0;
    cr_assert_eq(uv_loop_init(&loop), 0);
}

static void close_dir(void)
{
    cr_expect_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    cr_expect_eq(uv_loop_close(&loop), 0);
    cr_expect_eq(env_remove_tree(env_real(), ENV_CWD, dir, 3), 0);
    leave();
}

TestSuite(daemon_launch, .init = open_dir, .fini = close_dir);

static void on_ended(void *arg, int wait_status)
{
    cr_assert_eq(arg, &ends);
    ends++;
    last_status = WEXITSTATUS(wait_status);
    last_signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}

static struct launched_daemon *launch(const char *const *command)
{
    cluster.launch_command = command;
    return launched_daemon_start(&loop, env_real(), &cluster, 0, on_ended, &ends, &error);
}

static const char *read_file(const char *path)
{
    static char text[4096];
    int file = open(path, O_RDONLY);
    if (file < 0) return "missing";
    ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

Test(daemon_launch, placeholders_are_replaced_without_a_shell)
{
    static const char *const command[] = {"/bin/sh",
                                          "-c",
                                          "for w; do echo \"<$w>\"; done; echo late >&2; exit 3",
                                          "x",
                                          "a",
                                          "{host}:{id}",
                                          "{config}",
                                          "{other} $HOME {",
                                          NULL};
    struct launched_daemon *p = launch(command);
    cr_assert_not_null(p, "%s", error.cause);
    cr_expect_str_eq(launched_daemon_log_path(p), log_path);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(ends, 1);
    cr_expect_eq(last_status, 3);
    cr_expect_eq(last_signal, 0);
    cr_expect_str_eq(read_file(log_path),
                     "<a>\n<node-7:e1>\n</etc/my cluster.toml>\n<{other} $HOME {>\nlate\n");
    struct stat s;
    cr_assert_eq(stat(log_path, &s), 0);
    cr_expect_eq(s.st_mode & 0777, 0600);
    cr_assert_eq(stat(logs, &s), 0);
    cr_expect_eq(s.st_mode & 0777, 0700);
}

Test(daemon_launch, options_override_the_environment)
{
    static const char *const command[] = {"/bin/sh", "-c", "echo $GLINT_DEAD $GLINT_DRAIN $HOME",
                                          NULL};
    static const char *const variables[] = {"GLINT_DEAD=3s", "GLINT_DRAIN=4s", NULL};
    setenv("GLINT_DEAD", "9s", 1);
    setenv("HOME", "/here", 1);
    cluster.launch_variables = variables;
    struct launched_daemon *p = launch(command);
    cr_assert_not_null(p, "%s", error.cause);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_str_eq(read_file(log_path), "3s 4s /here\n");
}

Test(daemon_launch, logs_are_appended_and_rotated)
{
    static const char *const command[] = {"/bin/sh", "-c", "echo 0123456789012345678901234567890",
                                          NULL};
    char older[200];
    text_format(older, sizeof older, "%s.1", log_path);
    for (int i = 0; i < 4; i++) {
        cr_assert_not_null(launch(command), "%s", error.cause);
        uv_run(&loop, UV_RUN_DEFAULT);
    }
    cr_expect_eq(ends, 4);
    cr_expect_eq(strlen(read_file(older)), 3 * 32);
    cr_expect_eq(strlen(read_file(log_path)), 32);
}

Test(daemon_launch, stop_terminates_the_process)
{
    static const char *const command[] = {"/bin/sh", "-c", "exec cat /dev/zero >/dev/null", NULL};
    struct launched_daemon *p = launch(command);
    cr_assert_not_null(p, "%s", error.cause);
    launched_daemon_stop(p, 60000);
    uv_run(&loop, UV_RUN_DEFAULT); /* ends with the process */
    cr_expect_eq(ends, 0);
}

Test(daemon_launch, stop_kills_a_process_that_ignores_sigterm)
{
    static const char *const command[] = {"/bin/sh", "-c",
                                          "trap '' TERM; echo deaf; while :; do :; done", NULL};
    struct launched_daemon *p = launch(command);
    cr_assert_not_null(p, "%s", error.cause);
    for (int i = 0; i < 4000 && strcmp(read_file(log_path), "deaf\n") != 0; i++) fake_pause_ms(5);
    cr_assert_str_eq(read_file(log_path), "deaf\n");
    launched_daemon_stop(p, 20);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(ends, 0);
}

Test(daemon_launch, death_by_signal_is_reported)
{
    static const char *const command[] = {"/bin/sh", "-c", "kill -9 $$", NULL};
    cr_assert_not_null(launch(command), "%s", error.cause);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(ends, 1);
    cr_expect_eq(last_signal, SIGKILL);
}

Test(daemon_launch, missing_program_is_an_error)
{
    static const char *const command[] = {"/nowhere/ssh", "{host}", NULL};
    cr_expect_null(launch(command));
    cr_expect_eq(error.code, GLINT_E_SYSTEM);
    cr_expect_not_null(strstr(error.cause, "/nowhere/ssh"));
    cr_expect_eq(ends, 0);
}

Test(daemon_launch, unwritable_log_is_an_error)
{
    static const char *const command[] = {"/bin/true", NULL};
    cluster.log_dir = "/dev/null/logs";
    cr_expect_null(launch(command));
    cr_expect_eq(error.code, GLINT_E_CONFIG);
    cr_expect_not_null(strstr(error.cause, "/dev/null/logs"));
}

/* Another user may have created a pipe at the path: opening it must not block. */
Test(daemon_launch, log_that_is_a_pipe_is_rejected)
{
    static const char *const command[] = {"/bin/true", NULL};
    cr_assert_not_null(launch(command), "%s", error.cause); /* creates the directories */
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert(unlink(log_path) == 0 && mkfifo(log_path, 0600) == 0);
    cr_expect_null(launch(command));
    cr_expect_eq(error.code, GLINT_E_CONFIG);
    cr_expect_not_null(strstr(error.cause, log_path));
    cr_expect_not_null(strstr(error.cause, "a pipe or a device"), "%s", error.cause);
    cr_expect_not_null(strstr(error.hint, "log_dir"), "%s", error.hint);
}

Test(daemon_launch, too_long_word_is_an_error)
{
    static char word[2 * PATH_MAX + 1];
    const char *const command[] = {"/bin/true", word, NULL};
    memset(word, 'x', sizeof word - 1);
    cr_expect_null(launch(command));
    cr_expect_eq(error.code, GLINT_E_CONFIG);
    cr_expect_not_null(strstr(error.cause, "an argument of launch_command is too long"), "%s",
                       error.cause);
    word[sizeof word - 2] = '\0'; /* the longest that is allowed */
    cr_assert_not_null(launch(command), "%s", error.cause);
    uv_run(&loop, UV_RUN_DEFAULT);
}

Test(daemon_launch, local_launch_needs_a_cluster_file)
{
    cluster.launch = LAUNCH_LOCAL;
    cluster.path = NULL;
    cr_expect_null(launch(NULL));
    cr_expect_eq(error.code, GLINT_E_CONFIG);
}
