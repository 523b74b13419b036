/* Runs a command. The slot's thread writes its input and reads its output: both pipes are served
 * with one poll, so a process that does not read, or never stops writing, blocks neither side and
 * needs no memory here. A cancel wakes the poll. */
#include "engine/base/path.h"
#include "engine/base/text.h"
#include "engine/base/worker_parent.h"
#include "ops/pipe.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a process that the command has started may keep its output open without writing, once
 * the command has exited. */
#define REST_NS      (5 * SECOND_NS)
#define ERRORS_READS 32u /* as many as a full pipe needs */

#define HINT_OF_WORKERS                                                                            \
    "a function has ended its process, as os._exit does: raise an exception instead"
#define HINT_OF_NODES "on a cluster it must be at the same path on every node"

void pipe_process_init(struct pipe_process *p, struct glint_task *task,
                       const struct pipe_command *command)
{
    *p = (struct pipe_process){.task = task, .command = command};
    size_t used = 0;
    for (char **word = command->words; *word != NULL && used < sizeof p->text - 1; word++) {
        text_format(p->text + used, sizeof p->text - used, used > 0 ? " %s" : "%s", *word);
        used = strlen(p->text);
    }
}

/* ---- Start */

/* Returns the path of the program, NULL with the task's error set. */
static const char *find_command_path(struct pipe_process *p)
{
    const char *name = p->command->words[0];
    char file[PATH_MAX];
    if (strchr(name, '/') != NULL) return name;
    if (path_find_program(p->task->env, name, file, sizeof file)) {
        char *found = task_alloc(p->task, strlen(file) + 1);
        if (found != NULL) memcpy(found, file, strlen(file) + 1);
        return found;
    }
    error_set(&p->task->error, GLINT_E_COMMAND_FAILED,
              "install it on every node, or name a file with its directory: ./NAME",
              "cannot run %s: %s was not found in $PATH", p->text, name);
    return NULL;
}

/* Sets why the program at `path` cannot be started. */
static int set_start_error(struct pipe_process *p, int error, const char *path)
{
    struct glint_error *e = &p->task->error;
    switch (-error) {
    case ENOENT:
    case ENOTDIR:
        return error_set(e, GLINT_E_COMMAND_FAILED, HINT_OF_NODES,
                         "cannot run %s: %s, or the interpreter that it names, does not exist",
                         p->text, path);
    case EACCES:
    case EISDIR:
    case EPERM:
        return error_set(e, GLINT_E_COMMAND_FAILED,
                         "make it executable (chmod +x), or run its interpreter: python3 FILE",
                         "cannot run %s: %s is not executable", p->text, path);
    case ENOEXEC:
        return error_set(e, GLINT_E_COMMAND_FAILED,
                         "a script begins with #!/path/of/interpreter; a program must be built for "
                         "the node's processor",
                         "cannot run %s: %s is not a program for this machine", p->text, path);
    case E2BIG:
        return error_set(e, GLINT_E_COMMAND_FAILED, "pass large values in a file",
                         "cannot run %s: its arguments are too long", p->text);
    default: return error_set_system(e, GLINT_E_SYSTEM, error, "start", p->text);
    }
}

/* Starts a worker, and its parent if this is the first one. */
static int start_worker(struct pipe_process *p, const char *path, char *const *variables)
{
    struct glint_task *task = p->task;
    char why[WORKER_WHY_BYTES];
    struct worker_start start = {.path = path,
                                 .words = p->command->words,
                                 .variables = variables,
                                 .worker_words = p->command->worker,
                                 .worker_variables = pipe_own_variables(task, p->command)};
    if (start.worker_variables == NULL) return task->error.code;
    if (task->workers == NULL)
        return error_set(&task->error, GLINT_E_COMMAND_FAILED, "run it with glint submit",
                         "%s: workers are not forked here", p->text);
    const int r = worker_start(task->workers, &start, &p->child, why);
    if (r != -EPROTO) return r == 0 ? 0 : set_start_error(p, r, path);
    return error_set(&task->error, GLINT_E_COMMAND_FAILED,
                     "the interpreter of an executor is python in its cluster.toml",
                     "%s cannot start a worker: %s", p->text, why);
}

int pipe_process_start(struct pipe_process *p, struct glint_emitter *out)
{
    struct env *env = p->task->env;
    assert(!p->running && p->output.buffer == NULL);
    int r = pipe_output_init(&p->output, p->task, p->text, p->command);
    if (r != 0) return r;
    char **variables = pipe_variables(p->task, p->command);
    const char *path = variables != NULL ? find_command_path(p) : NULL;
    p->cancelled = -1;
    if (path != NULL && p->task->cancel_file != NULL) p->cancelled = p->task->cancel_file(p->task);
    if (p->task->error.code != GLINT_OK) return p->task->error.code;
    if (p->command->worker != NULL) {
        if (start_worker(p, path, variables) != 0) return p->task->error.code;
    } else {
        r = env->spawn(env, path, p->command->words, variables, &p->child);
        if (r < 0) return set_start_error(p, r, path);
    }
    p->out = out;
    p->running = true;
    p->exited = false;
    p->active_ns = env->now_ns(env);
    p->errors.line_size = p->errors.end_size = 0;
    p->errors.is_rest = false;
    return 0;
}

/* ---- Input and output */

static void close_pipe_file(struct pipe_process *p, int *file)
{
    if (*file >= 0) p->task->env->close(p->task->env, *file);
    *file = -1;
}

static enum flow set_pipe_system_error(struct pipe_process *p, int error, const char *operation)
{
    error_set_system(&p->task->error, GLINT_E_SYSTEM, error, operation, p->text);
    return FLOW_FAIL;
}

static enum flow read_command_stdout(struct pipe_process *p)
{
    struct env *env = p->task->env;
    struct pipe_output *o = &p->output;
    int64_t room = pipe_output_reserve(o);
    if (room < 0) return FLOW_FAIL;
    int64_t n = env->read(env, p->child.output, o->buffer + o->fill, (size_t)room);
    if (n == -EAGAIN) return FLOW_MORE;
    if (n < 0) return set_pipe_system_error(p, (int)n, "read the output of");
    if (n == 0) close_pipe_file(p, &p->child.output);
    o->fill += (uint64_t)n;
    return pipe_output_emit(o, n == 0, p->out);
}

/* Returns how many bytes it has read, or a code. */
static int64_t read_command_stderr(struct pipe_process *p)
{
    char bytes[PIPE_ERRORS_BYTES];
    struct env *env = p->task->env;
    int64_t n = env->read(env, p->child.errors, bytes, sizeof bytes);
    if (n == -EAGAIN) return 0;
    if (n < 0) set_pipe_system_error(p, (int)n, "read the standard error of");
    if (n < 0) return p->task->error.code;
    if (n == 0) close_pipe_file(p, &p->child.errors);
    int r = pipe_errors_add(&p->errors, p->task, bytes, (uint64_t)n);
    return r < 0 ? r : n;
}

/* How long to wait. The command may take any time; once it has exited, another process may have its
 * output open, which may still be writing, or run forever. */
static int pipe_wait_ms(const struct pipe_process *p)
{
    struct env *env = p->task->env;
    const uint64_t quiet_ns = env->now_ns(env) - p->active_ns;
    if (!p->exited) return -1;
    return quiet_ns < REST_NS ? (int)((REST_NS - quiet_ns + MS_NS - 1) / MS_NS) : 0;
}

static enum flow check_exited_with_open_pipes(struct pipe_process *p)
{
    if (!p->exited || pipe_wait_ms(p) > 0) return FLOW_MORE;
    pipe_errors_fail(&p->errors, p->task, GLINT_E_COMMAND_FAILED,
                     "let the command wait for the processes that it starts, or redirect their "
                     "output",
                     "%s has exited, but a process that it started keeps its output open", p->text);
    return FLOW_FAIL;
}

/* Waits until something can be read or written, and reads. */
static enum flow poll_command_pipes(struct pipe_process *p)
{
    struct env *env = p->task->env;
    struct pollfd files[] = {{.fd = p->child.output, .events = POLLIN},
                             {.fd = p->child.errors, .events = POLLIN},
                             {.fd = p->exited ? -1 : p->child.exited, .events = POLLIN},
                             {.fd = p->child.input, .events = POLLOUT},
                             {.fd = p->cancelled, .events = POLLIN}};
    if (task_check_cancelled(p->task) != 0) return FLOW_FAIL;
    int ready = env->poll(env, files, sizeof files / sizeof files[0], pipe_wait_ms(p));
    if (ready < 0) return set_pipe_system_error(p, ready, "wait for");
    if (ready == 0) return check_exited_with_open_pipes(p);
    if (files[4].revents != 0) return FLOW_MORE; /* the next call sees that it is cancelled */
    p->exited = p->exited || files[2].revents != 0;
    p->active_ns = env->now_ns(env);
    enum flow flow = files[0].revents != 0 ? read_command_stdout(p) : FLOW_MORE;
    if (flow == FLOW_MORE && files[1].revents != 0 && read_command_stderr(p) < 0) flow = FLOW_FAIL;
    return flow;
}

enum flow pipe_process_write(struct pipe_process *p, const uint8_t *data, uint64_t size)
{
    struct env *env = p->task->env;
    while (size > 0 && p->running) {
        int64_t n = env->write(env, p->child.input, data, size);
        /* It reads no more, as head does; only its exit status counts. */
        if (n == -EPIPE) return pipe_process_finish(p);
        if (n < 0 && n != -EAGAIN) return set_pipe_system_error(p, (int)n, "write the input of");
        if (n < 0) {
            enum flow flow = poll_command_pipes(p);
            if (flow != FLOW_MORE) return flow;
            continue;
        }
        assert((uint64_t)n <= size);
        data += n;
        size -= (uint64_t)n;
    }
    return FLOW_MORE;
}

/* ---- End */

static enum flow check_exit_status(struct pipe_process *p, int status)
{
    if (status >= 0 && WIFEXITED(status) && p->command->ok[WEXITSTATUS(status)]) return FLOW_MORE;
    if (status < 0)
        set_pipe_system_error(p, status, "determine the exit status of");
    else if (WIFSIGNALED(status))
        pipe_errors_fail(&p->errors, p->task, GLINT_E_COMMAND_KILLED,
                         WTERMSIG(status) == SIGKILL
                             ? "the kernel kills a process so when memory runs out: see dmesg"
                             : NULL,
                         "%s was killed by signal %d (%s)", p->text, WTERMSIG(status),
                         sigabbrev_np(WTERMSIG(status)));
    else
        pipe_errors_fail(&p->errors, p->task, GLINT_E_COMMAND_FAILED,
                         p->command->worker != NULL
                             ? HINT_OF_WORKERS
                             : "run it alone on a part of the input: head INPUT | COMMAND; --ok "
                               "lists statuses that are no errors",
                         "%s exited with status %d", p->text, WEXITSTATUS(status));
    return FLOW_FAIL;
}

/* Kills what is left of it. Returns its status as from waitpid. */
static int kill_and_reap_command(struct pipe_process *p)
{
    int status = p->command->worker != NULL ? worker_reap(p->task->workers, p->child.pid)
                                            : p->task->env->reap(p->task->env, p->child.pid);
    assert(p->running);
    close_pipe_file(p, &p->child.input);
    close_pipe_file(p, &p->child.output);
    close_pipe_file(p, &p->child.errors);
    close_pipe_file(p, &p->child.exited);
    p->running = false;
    pipe_output_fini(&p->output);
    return status;
}

enum flow pipe_process_finish(struct pipe_process *p)
{
    enum flow flow = FLOW_MORE;
    if (!p->running) return FLOW_MORE;
    close_pipe_file(p, &p->child.input);
    while (flow == FLOW_MORE && (p->child.output >= 0 || !p->exited)) flow = poll_command_pipes(p);
    if (flow != FLOW_MORE) return flow;
    /* Bounded: another process may write on. */
    for (uint32_t i = 0; i < ERRORS_READS && p->child.errors >= 0; i++) {
        int64_t n = read_command_stderr(p);
        if (n < 0) return FLOW_FAIL;
        if (n == 0) break;
    }
    if (pipe_errors_finish(&p->errors, p->task) != 0) return FLOW_FAIL;
    const char *problem = pipe_output_end_problem(&p->output);
    flow = check_exit_status(p, kill_and_reap_command(p));
    if (flow != FLOW_MORE || problem == NULL) return flow;
    return pipe_records_fail(p->task, p->text, problem,
                             p->command->worker != NULL ? HINT_OF_WORKERS : NULL);
}

void pipe_process_close(struct pipe_process *p)
{
    if (p->running) kill_and_reap_command(p);
    pipe_output_fini(&p->output);
}
