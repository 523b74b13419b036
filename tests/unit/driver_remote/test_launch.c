/* Processes that are started: their words, their logs, their ends. */
#include "engine/base/text.h"
#include "engine/driver/launch.h"
#include "fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[64], logs[128], log_path[160];
static uv_loop_t loop;
static struct cluster_executor one = {.id = "e1", .host = "node-7", .port = 1};
static int ends, last_signal, last_status;

static void open_folder(void)
{
    enter();
    memcpy(folder, "/tmp/launch-test-XXXXXX", sizeof "/tmp/launch-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    text_format(logs, sizeof logs, "%s/a/b", folder);
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

static void close_folder(void)
{
    cr_expect_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    cr_expect_eq(uv_loop_close(&loop), 0);
    cr_expect_eq(env_remove_tree(env_real(), ENV_CWD, folder, 3), 0);
    leave();
}

TestSuite(launch, .init = open_folder, .fini = close_folder);

static void on_ended(void *arg, int wait_status)
{
    cr_assert_eq(arg, &ends);
    ends++;
    last_status = WEXITSTATUS(wait_status);
    last_signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}

static struct launch_process *launch(const char *const *command)
{
    cluster.launch_command = command;
    return launch_start(&loop, env_real(), &cluster, 0, on_ended, &ends, &error);
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

Test(launch, words_are_replaced_and_no_shell_reads_them)
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
    struct launch_process *p = launch(command);
    cr_assert_not_null(p, "%s", error.cause);
    cr_expect_str_eq(launch_log(p), log_path);
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

Test(launch, what_options_said_comes_before_the_environment)
{
    static const char *const command[] = {"/bin/sh", "-c", "echo $GLINT_DEAD $GLINT_DRAIN $HOME",
                                          NULL};
    static const char *const variables[] = {"GLINT_DEAD=3s", "GLINT_DRAIN=4s", NULL};
    setenv("GLINT_DEAD", "9s", 1);
    setenv("HOME", "/here", 1);
    cluster.launch_variables = variables;
    struct launch_process *p = launch(command);
    cr_assert_not_null(p, "%s", error.cause);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_str_eq(read_file(log_path), "3s 4s /here\n");
}

Test(launch, logs_are_appended_to_and_make_room)
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

Test(launch, it_is_asked_to_end)
{
    static const char *const command[] = {"/bin/sh", "-c", "exec cat /dev/zero >/dev/null", NULL};
    struct launch_process *p = launch(command);
    cr_assert_not_null(p, "%s", error.cause);
    launch_stop(p, 60000);
    uv_run(&loop, UV_RUN_DEFAULT); /* ends with the process */
    cr_expect_eq(ends, 0);
}

Test(launch, it_is_ended_if_it_does_not)
{
    static const char *const command[] = {"/bin/sh", "-c",
                                          "trap '' TERM; echo deaf; while :; do :; done", NULL};
    struct launch_process *p = launch(command);
    cr_assert_not_null(p, "%s", error.cause);
    for (int i = 0; i < 4000 && strcmp(read_file(log_path), "deaf\n") != 0; i++) fake_pause_ms(5);
    cr_assert_str_eq(read_file(log_path), "deaf\n");
    launch_stop(p, 20);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(ends, 0);
}

Test(launch, a_signal_is_told)
{
    static const char *const command[] = {"/bin/sh", "-c", "kill -9 $$", NULL};
    cr_assert_not_null(launch(command), "%s", error.cause);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_expect_eq(ends, 1);
    cr_expect_eq(last_signal, SIGKILL);
}

Test(launch, a_program_that_is_not_there)
{
    static const char *const command[] = {"/nowhere/ssh", "{host}", NULL};
    cr_expect_null(launch(command));
    cr_expect_eq(error.code, GLINT_E_SYSTEM);
    cr_expect_not_null(strstr(error.cause, "/nowhere/ssh"));
    cr_expect_eq(ends, 0);
}

Test(launch, a_log_that_cannot_be_written)
{
    static const char *const command[] = {"/bin/true", NULL};
    cluster.log_dir = "/dev/null/logs";
    cr_expect_null(launch(command));
    cr_expect_eq(error.code, GLINT_E_CONFIG);
    cr_expect_not_null(strstr(error.cause, "/dev/null/logs"));
}

/* Another user has put it there; it has no reader, and must not be waited for. */
Test(launch, a_log_that_is_a_pipe)
{
    static const char *const command[] = {"/bin/true", NULL};
    cr_assert_not_null(launch(command), "%s", error.cause); /* makes the folders */
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert(unlink(log_path) == 0 && mkfifo(log_path, 0600) == 0);
    cr_expect_null(launch(command));
    cr_expect_eq(error.code, GLINT_E_CONFIG);
    cr_expect_not_null(strstr(error.cause, log_path));
    cr_expect_not_null(strstr(error.cause, "a pipe or a device"), "%s", error.cause);
    cr_expect_not_null(strstr(error.hint, "log_dir"), "%s", error.hint);
}

Test(launch, a_command_of_no_words)
{
    static const char *const command[] = {NULL};
    cr_expect_null(launch(command));
    cr_expect_eq(error.code, GLINT_E_CONFIG);
}

Test(launch, too_long_a_word_is_refused)
{
    static char word[2 * PATH_MAX + 1];
    const char *const command[] = {"/bin/true", word, NULL};
    memset(word, 'x', sizeof word - 1);
    cr_expect_null(launch(command));
    cr_expect_eq(error.code, GLINT_E_CONFIG);
    cr_expect_not_null(strstr(error.cause, "a word of launch_command is too long"), "%s",
                       error.cause);
    word[sizeof word - 2] = '\0'; /* the longest */
    cr_assert_not_null(launch(command), "%s", error.cause);
    uv_run(&loop, UV_RUN_DEFAULT);
}

Test(launch, own_executors_need_a_file)
{
    cluster.launch = LAUNCH_LOCAL;
    cluster.path = NULL;
    cr_expect_null(launch(NULL));
    cr_expect_eq(error.code, GLINT_E_CONFIG);
}
