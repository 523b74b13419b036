/* A program like glint, whose only job does what a job should not: it crashes or never returns.
 *
 *     mistakes submit mistake WHAT INPUT OUTPUT [--then WHAT]
 *
 * Lines become (line, 1) in mistake.map and are added up in mistake.add. WHAT is the mistake, made
 * at each line that begins with "!": in mistake.map; with the prefix "add-" in mistake.add; with
 * "job-" in the job itself. "none" is no mistake. With --then, all lines are then counted with
 * another mistake. */
#include "engine/cli/cli.h"
#include "engine/executor/executor_process.h"
#include "engine/net/wire.h"
#include "engine/plan/context_config.h"
#include "ops/ops.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WHAT_MAX = 256, DEPTH_BYTES = 4096 };

/* ---- Mistakes */

static volatile int zero;
static int *volatile nowhere;

static void bus_error(void)
{
    int file = memfd_create("empty", MFD_CLOEXEC);
    volatile char *page = mmap(NULL, DEPTH_BYTES, PROT_READ, MAP_SHARED, file, 0);
    zero = page[0];
}

/* Recursion that the compiler cannot prove to be endless. */
static int overflow_stack(int depth)
{
    volatile char frame[DEPTH_BYTES];
    frame[0] = (char)depth;
    return zero == 0 ? overflow_stack(depth + 1) + frame[0] : 0;
}

static void loop_forever(void)
{
    for (volatile unsigned long n = 0;; n++) continue;
}

static bool create_file(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) close(file);
    return file >= 0;
}

/* Waits until the file exists: a long task that does return. Creates PATH.started when it starts to
 * wait. */
static void wait_for(const char *path)
{
    char started[WHAT_MAX];
    snprintf(started, sizeof started, "%s.started", path);
    create_file(started);
    while (access(path, F_OK) != 0) poll(NULL, 0, 2);
}

/* Sends the executor daemon a false report, far over its limit, and closes the pipe to it. */
static void break_daemon_pipe(void)
{
    static char text[4 * EXIT_REPORT_BYTES_MAX];
    memset(text, '\033', sizeof text);
    for (size_t sent = 0; sent < sizeof text;) {
        ssize_t n = write(PROCESS_PIPE_FD, text + sent, sizeof text - sent);
        if (n < 0) poll(&(struct pollfd){PROCESS_PIPE_FD, POLLOUT, 0}, 1, -1);
        sent += n > 0 ? (size_t)n : 0;
    }
    close(PROCESS_PIPE_FD);
}

static void make_mistake(const char *what)
{
    if (strcmp(what, "segv") == 0) *nowhere = 1;
    if (strcmp(what, "bus") == 0) bus_error();
    if (strcmp(what, "fpe") == 0) zero = 1000 / zero;
    if (strcmp(what, "ill") == 0) __builtin_trap();
    if (strcmp(what, "abort") == 0) abort();
    if (strcmp(what, "overflow") == 0) zero = overflow_stack(0);
    if (strcmp(what, "loop") == 0) loop_forever();
    if (strncmp(what, "wait:", 5) == 0) wait_for(what + 5);
    if (strncmp(what, "once:", 5) == 0 && create_file(what + 5)) loop_forever();
    if (strncmp(what, "pipe:", 5) == 0 && create_file(what + 5)) {
        break_daemon_pipe();
        loop_forever();
    }
}

/* ---- Functions */

struct what {
    char text[WHAT_MAX];
};

static int what_open(struct glint_task *task, void *state)
{
    struct what *w = state;
    struct glint_slice text;
    int r = glint_arg_slice(task, "what", &text);
    if (r == 0) memcpy(w->text, text.data, text.size < WHAT_MAX ? text.size : WHAT_MAX - 1);
    return r;
}

static int map_each(struct glint_task *task, void *state, const struct glint_record *in,
                    struct glint_emitter *out)
{
    const struct what *w = state;
    const struct glint_slice line = in->value.bytes;
    (void)task;
    if (line.size > 0 && line.data[0] == '!') make_mistake(w->text);
    glint_emit(out, &(struct glint_record){.key.bytes = line, .value.i64 = 1});
    return 0;
}

static int add_merge(struct glint_task *task, void *state, struct glint_acc *acc,
                     const union glint_value *value)
{
    const struct what *w = state;
    (void)task;
    if (strncmp(w->text, "add-", 4) == 0) make_mistake(w->text + 4);
    acc->value.i64 += value->i64;
    return 0;
}

static const struct glint_function map = {.name = "mistake.map",
                                          .kind = GLINT_KIND_MAP,
                                          .in = {GLINT_NONE, GLINT_TEXT},
                                          .out = {GLINT_TEXT, GLINT_I64},
                                          .state_size = sizeof(struct what),
                                          .open = what_open,
                                          .each = map_each};
static const struct glint_function add = {.name = "mistake.add",
                                          .kind = GLINT_KIND_REDUCE,
                                          .in = {GLINT_ANY, GLINT_I64},
                                          .out = {GLINT_SAME, GLINT_I64},
                                          .state_size = sizeof(struct what),
                                          .open = what_open,
                                          .merge = add_merge};
static const struct glint_function *const functions[] = {&map, &add, NULL};
static const struct glint_module module = {"mistake", functions};

/* ---- The job */

static struct glint_args *mistake_args(struct glint *g, const char *what)
{
    struct glint_args *executed = glint_args(g);
    glint_args_add_text(executed, "what", what);
    return executed;
}

/* Mistakes of a job with its own options and arguments. */
static int misuse(struct glint *g, const struct glint_job_args *args, const char *what)
{
    const char *missing = args->positional[5];
    struct glint_rdd *lines = glint_text_file(g, args->positional[1]);
    if (strcmp(what, "read-option") == 0) glint_job_option(args, "nowhere");
    if (strcmp(what, "read-number") == 0) glint_job_i64(g, args, "nowhere", 0, 9);
    if (strcmp(what, "read-double") == 0) glint_job_f64(g, args, "nowhere");
    if (strcmp(what, "read-unset") == 0) glint_job_i64(g, args, "then", 0, 9);
    if (strcmp(what, "read-input") == 0) lines = glint_text_file(g, missing);
    if (strcmp(what, "read-save") == 0) glint_save_as_text_file(lines, missing);
    if (strcmp(what, "read-msgpack") == 0) glint_save_as_msgpack_file(lines, missing);
    if (strcmp(what, "read-checkpoint") == 0) glint_checkpoint(lines, missing);
    if (strcmp(what, "read-reserve") == 0) glint_reserve_output(g, missing);
    return glint_error(g)->code;
}

static int run(struct glint *g, const struct glint_job_args *args)
{
    const char *what = args->positional[0], *then = glint_job_option(args, "then");
    if (strncmp(what, "read-", 5) == 0) return misuse(g, args, what);
    struct glint_rdd *lines = glint_text_file(g, args->positional[1]);
    struct glint_rdd *pairs = glint_map(lines, &map, mistake_args(g, what));
    struct glint_rdd *sums = glint_reduce_by_key(pairs, &add, mistake_args(g, what));
    int64_t count;
    if (strncmp(what, "job-", 4) == 0) glint_save_as_text_file(pairs, args->positional[2]);
    if (strncmp(what, "job-", 4) == 0) make_mistake(what + 4);
    glint_save_as_text_file(sums, args->positional[2]);
    if (then != NULL) glint_count(glint_map(lines, &map, mistake_args(g, then)), &count);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    {"then", "WHAT", NULL, "another mistake, in a second action"}, {NULL, NULL, NULL, NULL}};
static const struct glint_job mistake = {.name = "mistake",
                                         .summary = "make a mistake",
                                         .positional = {"WHAT", "INPUT", "OUTPUT"},
                                         .options = options,
                                         .run = run};

int main(int argc, char **argv)
{
    extern const struct glint_module ops_module;
    static const struct glint_job *const jobs[] = {&mistake, NULL};
    static const struct glint_module *const modules[] = {&ops_module, &module, NULL};
    static const struct cli_command *const commands[] = {NULL};
    const struct cli_program program = {.name = "mistakes",
                                        .summary = "Runs jobs with mistakes.",
                                        .jobs = jobs,
                                        .ops = ops_table,
                                        .modules = modules,
                                        .commands = commands};
    return cli_main(&program, argc, argv);
}
