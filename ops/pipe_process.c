/* Runs a command. The slot's thread writes its input and reads its output: both pipes are served
 * with one poll, so a process that does not read, or never stops writing, blocks neither side and
 * needs no memory here. A cancel wakes the poll. */
#include "engine/base/path.h"
#include "engine/base/text.h"
#include "engine/base/worker_parent.h"
#include "ops/pipe.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The environment of a command. Scripts for Hadoop Streaming find the variables that it sets,
 * where they have a meaning here, with their present and their old names. */

struct variables {
    struct glint_task *task;
    char **all;
    uint32_t count, capacity;
    bool failed;
};

/* Whether two texts NAME=VALUE have the same name. */
static bool is_same_variable(const char *a, const char *b)
{
    size_t size = strcspn(a, "=") + 1;
    return strncmp(a, b, size) == 0;
}

/* Adds a variable, or replaces the one of the same name. NULL: out of memory. */
static void add_or_replace_variable(struct variables *v, char *variable)
{
    uint32_t at = 0;
    if (variable == NULL) v->failed = true;
    if (v->failed) return;
    while (at < v->count && !is_same_variable(v->all[at], variable)) at++;
    assert(at < v->capacity);
    v->all[at] = variable;
    if (at == v->count) v->count++;
}

/* Sets a variable and its old name; `value` NULL: not known. */
static void set_hadoop_variable(struct variables *v, const char *name, const char *old,
                                const char *value)
{
    if (value == NULL) return;
    add_or_replace_variable(v, arena_format(&v->task->arena, "%s=%s", name, value));
    add_or_replace_variable(v, arena_format(&v->task->arena, "%s=%s", old, value));
}

#define HADOOP_VARIABLES 12u

/* Ids have Hadoop's form: some scripts take the number from them. */
static void set_hadoop_variables(struct variables *v, const struct pipe_command *c)
{
    struct arena *arena = &v->task->arena;
    const char *const id = arena_format(arena, "%016llx_0001", (unsigned long long)c->job);
    const char *const number = arena_format(arena, "%u", v->task->partition);
    const char *const task =
        arena_format(arena, "%s_%c_%06u", id, c->is_map ? 'm' : 'r', v->task->partition);
    v->failed = v->failed || id == NULL || number == NULL || task == NULL;
    if (v->failed) return;
    set_hadoop_variable(v, "mapreduce_job_id", "mapred_job_id", arena_format(arena, "job_%s", id));
    set_hadoop_variable(v, "mapreduce_task_id", "mapred_tip_id",
                        arena_format(arena, "task_%s", task));
    set_hadoop_variable(v, "mapreduce_task_attempt_id", "mapred_task_id",
                        arena_format(arena, "attempt_%s_%u", task, v->task->attempt));
    set_hadoop_variable(v, "mapreduce_task_partition", "mapred_task_partition", number);
    set_hadoop_variable(v, "mapreduce_task_ismap", "mapred_task_is_map",
                        c->is_map ? "true" : "false");
    set_hadoop_variable(v, "mapreduce_map_input_file", "map_input_file",
                        c->is_map ? v->task->input_path : NULL);
}

static char **collect_variables(struct glint_task *task, const struct pipe_command *command,
                                char **inherited, bool of_task)
{
    struct variables v = {.task = task, .capacity = HADOOP_VARIABLES};
    for (char **at = inherited; *at != NULL; at++) v.capacity++;
    for (char **at = command->variables; *at != NULL; at++) v.capacity++;
    v.all = task_alloc(task, sizeof *v.all * (v.capacity + 1));
    if (v.all == NULL) return NULL;
    for (char **at = inherited; *at != NULL; at++) add_or_replace_variable(&v, *at);
    if (of_task) set_hadoop_variables(&v, command);
    for (char **at = command->variables; *at != NULL; at++) add_or_replace_variable(&v, *at);
    v.all[v.count] = NULL;
    if (!v.failed) return v.all;
    error_no_memory(&task->error);
    return NULL;
}

/* Returns the environment of a process, in the task's arena: what this process has, what Hadoop
 * Streaming sets, unless it is a parent of workers, and the variables of the command, each
 * replacing those before. NULL with the task's error set. */
static char **pipe_variables(struct glint_task *task, const struct pipe_command *command)
{
    return collect_variables(task, command, environ, command->worker == NULL);
}

/* The same of a worker, without what this process has. */
static char **pipe_own_variables(struct glint_task *task, const struct pipe_command *command)
{
    char *none = NULL;
    return collect_variables(task, command, &none, true);
}

/* ---- Standard error of a command: its last bytes, for the message if the command fails, and the
 * counters that scripts for Hadoop Streaming report there. */

#define REPORTER "reporter:"
#define COUNTER  REPORTER "counter:"
#define TAIL     "; the end of its standard error:\n"

/* Appends to the end, and drops what is before the last bytes. */
static void keep_last_stderr_bytes(struct pipe_errors *e, const char *bytes, uint32_t size)
{
    assert(size <= sizeof e->end && e->end_size <= sizeof e->end);
    uint32_t kept = (uint32_t)sizeof e->end - size;
    if (kept > e->end_size) kept = e->end_size;
    memmove(e->end, e->end + e->end_size - kept, kept);
    memcpy(e->end + kept, bytes, size);
    e->end_size = kept + size;
}

/* GROUP,COUNTER,AMOUNT: what is not of this form is ignored, as in Hadoop. */
static int add_reported_counter(struct glint_task *task, struct glint_slice text)
{
    struct glint_slice field[3], none;
    char name[NAME_BYTES_MAX];
    int64_t amount;
    for (int i = 0; i < 3; i++)
        if (!glint_next_field(&text, ',', &field[i])) return 0;
    if (glint_next_field(&text, ',', &none)) return 0;
    struct glint_slice last = field[2];
    while (last.size > 0 && (last.data[last.size - 1] == ' ' || last.data[last.size - 1] == '\r'))
        last.size--;
    if (!text_parse_i64(last.data, last.size, &amount)) return 0;
    text_format(name, sizeof name, "%.*s: %.*s", (int)field[0].size, (const char *)field[0].data,
                (int)field[1].size, (const char *)field[1].data);
    if (!text_is_printable(name)) return 0;
    int counter = glint_counter(task, name);
    if (counter < 0) return counter;
    glint_counter_add(task, counter, amount);
    return 0;
}

static bool starts_with(const struct pipe_errors *e, const char *prefix)
{
    size_t size = strlen(prefix);
    return !e->is_rest && e->line_size >= size && memcmp(e->line, prefix, size) == 0;
}

/* `whole`: the line has its LF, or the process has ended. */
static int end_stderr_line(struct pipe_errors *e, struct glint_task *task, bool whole)
{
    const uint32_t prefix = sizeof COUNTER - 1;
    int r = 0;
    assert(e->line_size <= sizeof e->line);
    if (starts_with(e, COUNTER)) {
        uint32_t size = e->line_size - prefix;
        if (size > 0 && e->line[e->line_size - 1] == '\n') size--;
        r = add_reported_counter(task,
                                 (struct glint_slice){(const uint8_t *)e->line + prefix, size});
    } else if (!starts_with(e, REPORTER)) {
        keep_last_stderr_bytes(e, e->line, e->line_size);
    }
    e->is_rest = !whole;
    e->line_size = 0;
    return r;
}

/* Lines "reporter:counter:GROUP,COUNTER,AMOUNT" add to a counter, other reporter lines are
 * ignored. */
static int pipe_errors_add(struct pipe_errors *e, struct glint_task *task, const char *bytes,
                           uint64_t size)
{
    int r = 0;
    while (size > 0 && r == 0) {
        const char *lf = memchr(bytes, '\n', size);
        uint64_t n = lf != NULL ? (uint64_t)(lf - bytes) + 1 : size;
        uint64_t room = sizeof e->line - e->line_size;
        if (n > room) n = room;
        memcpy(e->line + e->line_size, bytes, n);
        e->line_size += (uint32_t)n;
        bytes += n;
        size -= n;
        bool whole = e->line[e->line_size - 1] == '\n';
        if (whole || e->line_size == sizeof e->line) r = end_stderr_line(e, task, whole);
    }
    return r;
}

/* The last line may lack its LF. */
static int pipe_errors_finish(struct pipe_errors *e, struct glint_task *task)
{
    return e->line_size > 0 ? end_stderr_line(e, task, true) : 0;
}

/* Sets an error about the command; the cause ends with as much of standard error as fits. */
__attribute__((format(printf, 5, 6))) static int
pipe_errors_fail(const struct pipe_errors *e, struct glint_task *task, enum glint_code code,
                 const char *hint, const char *cause, ...)
{
    char text[512], end[sizeof task->error.cause];
    va_list args;
    va_start(args, cause);
    vsnprintf(text, sizeof text, cause, args);
    va_end(args);
    const char *kept = e->end;
    uint64_t size = e->end_size, room = sizeof end - strlen(text) - sizeof TAIL;
    while (size > 0 && kept[size - 1] == '\n') size--;
    if (size > room) {
        kept += size - room;
        size = room;
    }
    for (uint64_t i = 0; i < size; i++) end[i] = kept[i] != '\0' ? kept[i] : ' ';
    return error_set(&task->error, code, hint, "%s%s%.*s", text, size > 0 ? TAIL : "", (int)size,
                     end);
}

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
