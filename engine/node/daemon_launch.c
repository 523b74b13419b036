/* Starts processes by argument vectors, without a shell. They get their own session, so that ^C at
 * a terminal only reaches `glint submit`, which then stops them in order.
 *
 * A log larger than log_bytes_max is rotated when the next process starts: it is renamed to
 * ID.log.1, which replaces the previous one. */
#include "engine/node/daemon_launch.h"

#include "engine/base/file_check.h"
#include "engine/base/mem.h"
#include "engine/base/spawn.h"
#include "engine/base/text.h"
#include "engine/net/deadline.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

#define WORDS_MAX 64u
#define WORD_MAX  (2u * PATH_MAX)

struct launched_daemon {
    struct spawn process;
    struct deadline grace; /* of launched_daemon_stop */
    uint32_t open_handles; /* freed when the last one has closed */
    bool stopping;
    void (*ended)(void *arg, int wait_status);
    void *arg;
    char log[PATH_MAX];
};

/* ---- The log */

/* Creates all directories of `path` up to the last slash, with mode 0700. Existing ones are kept.
 * Returns 0 or a negative errno. */
static int rotate_launch_log(struct env *env, const char *path)
{
    char older[PATH_MAX];
    if (!text_format(older, sizeof older, "%s.1", path)) return -ENAMETOOLONG;
    return env->rename(env, ENV_CWD, path, ENV_CWD, older, ENV_RENAME_REPLACE);
}

/* Returns a descriptor, or a code with *error set. The path may be in a directory that others can
 * write to (/tmp): file_open_checked rejects links, pipes and other users' files. */
static int open_launch_log(struct env *env, const struct cluster *c, char *path,
                           struct glint_error *error)
{
    struct env_stat stat;
    int r = env_make_parents(env, path);
    int file = r == 0 ? file_open_checked(env, path, FILE_LOG, GLINT_E_CONFIG, &stat, error) : -1;
    if (file >= 0 && c->log_bytes_max > 0 && stat.size > c->log_bytes_max) {
        env->close(env, file);
        r = rotate_launch_log(env, path);
        file = r == 0 ? file_open_checked(env, path, FILE_LOG, GLINT_E_CONFIG, &stat, error) : -1;
    }
    if (r != 0) error_set_system(error, GLINT_E_CONFIG, r, "write the log", path);
    return file >= 0 ? file : (int)error->code;
}

/* ---- The command line */

struct arguments {
    char *items[WORDS_MAX + 1]; /* ends with NULL */
    uint32_t count;
};

static void launch_arguments_fini(struct arguments *w)
{
    for (uint32_t i = 0; i < w->count; i++) mem_free(w->items[i]);
}

static int launch_arguments_add(struct arguments *w, const char *word, struct glint_error *error)
{
    assert(w->count <= WORDS_MAX && w->items[w->count] == NULL);
    if (w->count == WORDS_MAX)
        return error_set(error, GLINT_E_CONFIG, NULL, "launch_command has more than %u arguments",
                         WORDS_MAX);
    w->items[w->count] = mem_strdup(word);
    if (w->items[w->count] == NULL) return error_no_memory(error);
    w->items[++w->count] = NULL;
    return 0;
}

/* Copies an argument and replaces {host}, {id} and {config}; other text in braces is kept. Returns
 * false if it does not fit. */
static bool expand_launch_argument(const char *word, const struct cluster *c, uint32_t executor,
                                   char *out, size_t capacity)
{
    const struct {
        const char *name, *value;
    } names[] = {{"{host}", c->executors[executor].host},
                 {"{id}", c->executors[executor].id},
                 {"{config}", c->path != NULL ? c->path : ""}};
    size_t used = 0;
    while (*word != '\0') {
        const char *value = NULL;
        for (size_t i = 0; i < sizeof names / sizeof names[0] && value == NULL; i++)
            if (strncmp(word, names[i].name, strlen(names[i].name)) == 0) {
                value = names[i].value;
                word += strlen(names[i].name);
            }
        bool fits = value != NULL ? text_format(out + used, capacity - used, "%s", value)
                                  : text_format(out + used, capacity - used, "%c", *word++);
        if (!fits) return false;
        used += strlen(out + used);
    }
    out[used] = '\0';
    return true;
}

static int build_launch_command(struct arguments *w, const struct cluster *c, uint32_t executor,
                                struct glint_error *error)
{
    char word[WORD_MAX];
    int r = 0;
    if (c->launch_command == NULL || c->launch_command[0] == NULL)
        return error_set(error, GLINT_E_CONFIG, "set launch_command", "launch_command is empty");
    for (uint32_t i = 0; c->launch_command[i] != NULL && r == 0; i++) {
        if (!expand_launch_argument(c->launch_command[i], c, executor, word, sizeof word))
            return error_set(error, GLINT_E_CONFIG, NULL,
                             "an argument of launch_command is too long");
        r = launch_arguments_add(w, word, error);
    }
    return r;
}

/* The command line of LAUNCH_LOCAL. Runs the executable of this process, or the cluster's program,
 * and not one found in PATH, since the handshake requires equal builds. */
static int build_local_launch_command(struct arguments *w, const struct cluster *c,
                                      uint32_t executor, struct glint_error *error)
{
    char self[PATH_MAX];
    size_t size = sizeof self;
    int r = 0;
    if (c->program != NULL)
        text_format(self, sizeof self, "%s", c->program);
    else
        r = uv_exepath(self, &size);
    if (r != 0) return error_set_system(error, GLINT_E_SYSTEM, r, "find", "this program's file");
    if (c->path == NULL)
        return error_set(error, GLINT_E_CONFIG, "write a cluster.toml",
                         "executors can be launched only with a cluster.toml");
    const char *const items[] = {
        self, "executor", "--cluster", c->path, "--id", c->executors[executor].id, "--launched"};
    for (size_t i = 0; i < sizeof items / sizeof items[0] && r == 0; i++)
        r = launch_arguments_add(w, items[i], error);
    return r;
}

/* ---- The process */

static void on_launch_closed(void *arg)
{
    struct launched_daemon *p = arg;
    assert(p->open_handles > 0);
    if (--p->open_handles == 0) mem_free(p);
}

static void close_launch_handles(struct launched_daemon *p)
{
    p->open_handles = 1;
    if (spawn_close(&p->process, on_launch_closed)) p->open_handles++;
    deadline_close(&p->grace, on_launch_closed);
}

static void on_stop_grace_over(void *arg)
{
    struct launched_daemon *p = arg;
    spawn_kill(&p->process, SIGKILL);
}

/* `ended` is skipped after launched_daemon_stop: its owner may be gone by then. */
static void on_launched_process_exit(void *arg, int wait_status)
{
    struct launched_daemon *p = arg;
    if (!p->stopping) p->ended(p->arg, wait_status);
    close_launch_handles(p);
}

static bool is_environment_overridden(const char *const *variables, const char *variable)
{
    size_t size = strcspn(variable, "=") + 1;
    for (; variables != NULL && *variables != NULL; variables++)
        if (strncmp(*variables, variable, size) == 0) return true;
    return false;
}

/* Returns the environment: launch_variables, which carry the options of `glint submit`, and the
 * variables of this process that they do not override. The array is the caller's, its strings are
 * borrowed. NULL: out of memory. */
static char **build_launch_environment(const struct cluster *c)
{
    uint64_t own = 0, count = 0, n = 0;
    while (environ[own] != NULL) own++;
    while (c->launch_variables != NULL && c->launch_variables[count] != NULL) count++;
    char **all = mem_alloc((own + count + 1) * sizeof *all);
    if (all == NULL) return NULL;
    for (uint64_t i = 0; i < count; i++) all[n++] = (char *)(uintptr_t)c->launch_variables[i];
    for (uint64_t i = 0; i < own; i++)
        if (!is_environment_overridden(c->launch_variables, environ[i])) all[n++] = environ[i];
    assert(n <= own + count);
    all[n] = NULL;
    return all;
}

/* Returns 0 or a negative errno. The deadline is open in either case, so it must be closed by the
 * loop before `p` is freed. */
static int spawn_daemon_process(struct launched_daemon *p, uv_loop_t *loop, const struct cluster *c,
                                struct arguments *w, int log)
{
    char **variables = build_launch_environment(c);
    const struct spawn_program program = {.path = w->items[0],
                                          .words = w->items,
                                          .variables = variables,
                                          .files = {-1, log, log},
                                          .file_count = 3,
                                          .own_session = true};
    deadline_init(&p->grace, loop, on_stop_grace_over, p);
    p->open_handles = 1;
    int r = variables != NULL
                ? spawn_start(&p->process, loop, &program, on_launched_process_exit, p)
                : UV_ENOMEM;
    mem_free(variables);
    return r;
}

struct launched_daemon *launched_daemon_start(uv_loop_t *loop, struct env *env,
                                              const struct cluster *cluster, uint32_t executor,
                                              void (*ended)(void *arg, int wait_status), void *arg,
                                              struct glint_error *error)
{
    struct arguments w = {.count = 0};
    struct launched_daemon *p = mem_zalloc_or_fail(sizeof *p, error);
    int log = -1, r = 0;
    assert(executor < cluster->executor_count && cluster->launch != LAUNCH_NONE);
    if (p == NULL) return NULL;
    p->ended = ended;
    p->arg = arg;
    if (!text_format(p->log, sizeof p->log, "%s/%s.log",
                     cluster->log_dir != NULL ? cluster->log_dir : "/tmp",
                     cluster->executors[executor].id))
        r = error_set(error, GLINT_E_CONFIG, NULL, "log_dir is too long");
    if (r == 0)
        r = cluster->launch == LAUNCH_LOCAL
                ? build_local_launch_command(&w, cluster, executor, error)
                : build_launch_command(&w, cluster, executor, error);
    if (r == 0) {
        log = open_launch_log(env, cluster, p->log, error);
        r = log < 0 ? log : spawn_daemon_process(p, loop, cluster, &w, log);
        if (r != 0 && log >= 0) spawn_set_error(error, GLINT_E_SYSTEM, r, w.items[0]);
    }
    if (log >= 0) env->close(env, log); /* the process has its own descriptor */
    launch_arguments_fini(&w);
    if (r == 0) return p;
    if (p->open_handles > 0)
        close_launch_handles(p);
    else
        mem_free(p);
    return NULL;
}

const char *launched_daemon_log_path(const struct launched_daemon *p)
{
    return p->log;
}

void launched_daemon_stop(struct launched_daemon *p, uint64_t grace_ms)
{
    assert(!p->stopping);
    p->stopping = true;
    if (!p->process.running) return;
    spawn_kill(&p->process, SIGTERM);
    deadline_start(&p->grace, grace_ms);
}
