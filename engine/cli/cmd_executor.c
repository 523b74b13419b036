/* glint executor: runs a node of a cluster, in one of three modes: an executor daemon listed in a
 * cluster's file, an executor that connects to a waiting driver, or the executor process that a
 * daemon starts for a driver (internal). */
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/cli/cli.h"
#include "engine/cli/cli_internal.h"
#include "engine/cli/print.h"
#include "engine/cli/web.h"
#include "engine/executor/executor_process.h"
#include "engine/net/cluster.h"
#include "engine/net/listener.h"
#include "engine/net/wire.h"
#include "engine/node/daemon.h"
#include "engine/plan/context_config.h"
#include "engine/web/web_api.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The server's thread asks the daemon like any client, over its port, when a request comes and
 * the last answer is older than FRESH_NS: an idle daemon is not woken, and many requests cost it no
 * more than a few a second. */

#define FRESH_NS (250 * MS_NS)

struct executor_page {
    struct cluster cluster; /* with this executor alone */
    struct cluster_executor self;
    struct web_server *server;
    /* Of the server's thread. */
    struct daemon_status status;
    struct glint_error why; /* OK: the daemon has answered */
    uint64_t asked_ns;      /* 0: not yet */
};

static void ask_daemon_status(struct executor_page *p)
{
    struct env *env = env_real();
    if (p->asked_ns != 0 && env->now_ns(env) - p->asked_ns < FRESH_NS) return;
    const struct cluster_request request = {
        .cluster = &p->cluster, .request_type = FRAME_STATUS, .response_type = FRAME_STATUS_REPLY};
    struct cluster_response *r;
    p->why = (struct glint_error){.code = GLINT_OK};
    if (cluster_request_send(&request, &r, &p->why) == 0) {
        p->why = r->why;
        if (p->why.code == GLINT_OK)
            daemon_status_decode(buffer_slice(&r->payload), &p->status, &p->why);
        cluster_responses_free(r, &p->cluster);
    }
    p->asked_ns = env->now_ns(env);
}

/* Of all jobs of a daemon. */
struct job_sums {
    uint64_t jobs_running, tasks_running, memory_bytes, heartbeat_age_ns /* the oldest */;
};

static struct job_sums sum_job_status(const struct daemon_status *s)
{
    struct job_sums sums = {.jobs_running = 0};
    for (const struct status_job *j = s->jobs; j < s->jobs + s->job_count; j++) {
        sums.jobs_running += j->running;
        sums.tasks_running += j->running ? j->progress.tasks_running : 0;
        sums.memory_bytes += j->memory_bytes;
        if (j->heartbeat_age_ns > sums.heartbeat_age_ns)
            sums.heartbeat_age_ns = j->heartbeat_age_ns;
    }
    return sums;
}

/* ---- JSON */

static void put_status_job(struct json *out, const struct status_job *job)
{
    const struct job_progress *p = &job->progress;
    const bool started = p->stage_name[0] != '\0';
    json_begin(out, NULL, '{');
    json_id(out, "id", job->job);
    json_cstring(out, "name", job->name);
    json_cstring(out, "status", job->running ? "RUNNING" : "QUEUED");
    json_u64(out, "activeTasks", job->running ? p->tasks_running : 0);
    json_ms(out, "age", job->age_ns);
    json_ms(out, "heartbeatAgeMs", job->heartbeat_age_ns);
    json_u64(out, "memoryUsed", job->memory_bytes);
    json_cstring(out, "stageName", started ? p->stage_name : NULL);
    json_u64(out, "stageId", p->stage);
    json_u64(out, "numTasks", p->stage_tasks);
    json_u64(out, "numCompletedTasks", p->stage_done);
    json_u64(out, "numRetries", p->retries);
    json_end(out, '}');
}

static bool put_executor_status(void *arg, struct json *out)
{
    struct executor_page *p = arg;
    ask_daemon_status(p);
    const struct daemon_status *s = &p->status;
    if (p->why.code != GLINT_OK) return false;
    const struct job_sums sums = sum_job_status(s);
    char address[HOST_BYTES_MAX + 16];
    host_format_address(address, sizeof address, p->self.host, p->self.port);
    json_cstring(out, "id", s->node);
    json_cstring(out, "hostPort", address);
    json_cstring(out, "cluster", p->cluster.name);
    json_cstring(out, "build", s->build);
    json_cstring(out, "state", s->draining ? "draining" : s->job_count > 0 ? "busy" : "idle");
    json_u64(out, "totalCores", s->slots);
    json_u64(out, "activeTasks", sums.tasks_running);
    json_u64(out, "memoryUsed", sums.memory_bytes);
    json_u64(out, "maxMemory", s->memory_bytes);
    json_u64(out, "maxJobs", s->drivers_max);
    json_ms(out, "uptime", s->uptime_ns);
    json_begin(out, "jobs", '[');
    for (uint32_t i = 0; i < s->job_count; i++) put_status_job(out, &s->jobs[i]);
    json_end(out, ']');
    return true;
}

/* ---- Metrics */

static bool put_executor_metrics(void *arg, struct buffer *out)
{
    struct executor_page *p = arg;
    ask_daemon_status(p);
    const struct daemon_status *s = &p->status;
    const struct job_sums sums = sum_job_status(s);
    const struct web_metric rows[] = {
        {"glint_executor_slots", false, NULL, "Tasks that run at a time.", s->slots},
        {"glint_executor_tasks_running", false, NULL, "Attempts that run now.", sums.tasks_running},
        {"glint_executor_jobs_running", false, NULL, "Jobs that have an executor process here.",
         sums.jobs_running},
        {"glint_executor_jobs_queued", false, NULL, "Jobs that wait for one.",
         s->job_count - sums.jobs_running},
        {"glint_executor_memory_bytes", false, "bytes",
         "Resident memory of the executor processes.", sums.memory_bytes},
        {"glint_executor_memory_max_bytes", false, "bytes", "Memory for tasks, all slots together.",
         s->memory_bytes},
        {"glint_executor_heartbeat_age_seconds", false, "seconds",
         "Time since the last heartbeat of a driver, the longest.",
         sums.heartbeat_age_ns / SECOND_NS},
        {"glint_executor_uptime_seconds", false, "seconds", "Time since the daemon has started.",
         s->uptime_ns / SECOND_NS},
        {"glint_executor_draining", false, NULL, "1: it takes no more jobs.", s->draining},
    };
    return p->why.code == GLINT_OK && web_put_metrics(out, rows, sizeof rows / sizeof rows[0]);
}

/* An executor has no jobs of its own. */
static void list_no_jobs(void *arg, struct json *out)
{
    (void)arg;
    (void)out;
}

static const struct job_model *find_no_job(void *arg, const char *id)
{
    (void)arg;
    (void)id;
    return NULL;
}

/* NULL is allowed. */
static void executor_page_close(struct executor_page *page)
{
    if (page == NULL) return;
    web_server_close(page->server);
    mem_free(page);
}

/* Serves the page of executor `self` of the cluster, in a thread, until close; `address`,
 * `token_file` and `log` as cli_web_open, the cluster is borrowed. NULL: *error is set. */
static struct executor_page *executor_page_open(const struct cluster *cluster,
                                                const struct cluster_executor *self,
                                                const char *address, const char *token_file,
                                                bool log, struct glint_error *error)
{
    struct executor_page *p = mem_zalloc_or_fail(sizeof *p, error);
    if (p == NULL) return NULL;
    p->cluster = *cluster;
    p->self = *self;
    p->cluster.executors = &p->self;
    p->cluster.executor_count = 1;
    const struct web_jobs jobs = {.arg = p,
                                  .list = list_no_jobs,
                                  .find = find_no_job,
                                  .executor = put_executor_status,
                                  .executor_metrics = put_executor_metrics};
    p->server = cli_web_open(address, token_file, &jobs, log, error);
    if (p->server != NULL && web_server_start(p->server, error) == 0) return p;
    executor_page_close(p);
    return NULL;
}

/* ---- cmd executor */

static const char shown[] = "secret-file|insecure-plaintext|allow-programs|allow-commands|"
                            "drivers-max|heartbeat|suspect|dead|connect|start|drain|fetch";

static const struct glint_job_option own_rows[] = {
    {"id", "ID", NULL, "the executor's id in the file; with --join: its name (default: generated)"},
    {"join", "HOST:PORT", NULL, "connect to a driver started with glint submit --listen HOST:PORT"},
    {"slots", "N", NULL, "with --join: tasks at a time (default: number of processors)"},
    {"memory", "BYTES", "1G", "with --join: memory for tasks, all slots together"},
    {"work-dir", "DIR", NULL, "with --join: directory for spills (default: $TMPDIR or /tmp)"},
    {"listen", "HOST:PORT", NULL,
     "with --join: where other executors connect to it (default: any port; on all addresses, "
     "unless the driver is on loopback)"},
    {"log-format", "text|json", "text", "log format on standard error"},
    {"ui", "[HOST:PORT]", NULL,
     "serve a page of the executor, on 127.0.0.1:4040 or the next free port; not with --join"},
    {"ui-token", "FILE", NULL, "with --ui: only those who know the text in FILE may read the page"},
    {"launched", NULL, NULL,
     "exit `dead` after the last job, or if none arrives within `start`: for launch_command"},
    /* Given by a daemon to the processes that it starts. */
    {"executor-process", NULL, NULL, NULL},
    {"cluster-name", "NAME", NULL, NULL},
    {"host", "HOST", NULL, NULL},
    {"log-limit", "BYTES", NULL, NULL},
    {NULL, NULL, NULL, NULL}};

struct executor_args {
    const struct cli_line *line;
    const struct context_config *registry;
    struct cluster_file file;
    bool log_json;
};

/* ---- --cluster FILE --id ID */

static const struct cluster_executor *find_executor_section(const struct cluster *c, const char *id)
{
    for (uint32_t i = 0; i < c->executor_count; i++)
        if (strcmp(c->executors[i].id, id) == 0) return &c->executors[i];
    return NULL;
}

/* All functions below return 0, or a code with *error set. */
static int run_executor_daemon(struct executor_args *l, struct glint_error *error)
{
    static const char *const of_join[] = {"slots", "memory", "work-dir", "listen"};
    const char *id = cli_line_option(l->line, "id");
    for (size_t i = 0; i < sizeof of_join / sizeof of_join[0]; i++)
        if (cli_line_has(l->line, of_join[i]))
            return error_set(error, GLINT_E_USAGE, "set it in the cluster's file",
                             "--%s needs --join", of_join[i]);
    if (id == NULL)
        return error_set(error, GLINT_E_USAGE,
                         "glint executor --cluster FILE --id ID, or --join HOST:PORT",
                         "--id is missing");
    if (!cluster_file_open(&l->file, l->line, false, error)) return error->code;
    const struct cluster_executor *self = find_executor_section(&l->file.cluster, id);
    if (self == NULL)
        return error_set(error, GLINT_E_CONFIG, "add an [[executor]] section, or correct --id",
                         "the cluster has no executor %s", id);
    const struct daemon_config config = {.cluster = &l->file.cluster,
                                         .self = self,
                                         .log_json = l->log_json,
                                         .launched = cli_line_flag(l->line, "launched")};
    const char *ui = cli_line_option(l->line, "ui");
    struct executor_page *page = NULL;
    log_configure(env_real(), l->log_json, id); /* for the page's address */
    if (ui != NULL)
        page = executor_page_open(config.cluster, self, ui, cli_line_option(l->line, "ui-token"),
                                  l->log_json, error);
    if (ui != NULL && page == NULL) return error->code;
    int code = daemon_run(&config, error);
    executor_page_close(page);
    /* The port can only be checked by listening on it: add where the file sets it. */
    if (code == GLINT_E_ADDRESS) cluster_file_add_position(&l->file, id, "port", error);
    return code;
}

/* ---- --join HOST:PORT */

static int read_slots_and_memory(struct executor_args *l, struct executor_process_config *c,
                                 struct glint_error *error)
{
    const char *slots = cli_line_option(l->line, "slots");
    const char *memory = cli_line_option(l->line, "memory");
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t count = processors > 0 ? processors : 1;
    /* Only a given number is checked: a large machine is no error. */
    if (slots == NULL && count > SLOTS_MAX) count = SLOTS_MAX;
    if (slots != NULL && (!text_parse_i64((const uint8_t *)slots, strlen(slots), &count) ||
                          count < 1 || count > SLOTS_MAX))
        return error_set(error, GLINT_E_BAD_VALUE, NULL,
                         "--slots %s: it must be a whole number from 1 to %u", slots, SLOTS_MAX);
    if (!text_parse_bytes(memory, &c->memory_bytes))
        return error_set(error, GLINT_E_BAD_VALUE, NULL,
                         "--memory %s: it must be a size, as in 512M", memory);
    c->slots = (uint32_t)count;
    if (c->memory_bytes / c->slots >= SLOT_MEMORY_BYTES_MIN) return 0;
    return error_set(error, GLINT_E_MEMORY_LIMIT, "raise --memory, or use fewer slots",
                     "%u slots need at least %llu MiB of memory", c->slots,
                     (unsigned long long)(c->slots * SLOT_MEMORY_BYTES_MIN / MIB));
}

/* Chooses the default address to listen on: loopback if the driver is on loopback, else every
 * address, since other executors may be on other hosts. */
static int read_listen_address(struct executor_args *l, struct executor_process_config *c,
                               struct glint_error *error)
{
    const struct cluster *cluster = &l->file.cluster;
    bool v6 = strchr(c->join_host, ':') != NULL;
    if (!settings_read_address(l->line, "listen", &l->file.memory, &c->host, &c->port, error))
        return error->code;
    if (c->host == NULL && host_is_loopback(c->join_host)) c->host = c->join_host;
    if (c->host == NULL) c->host = v6 ? "::" : "0.0.0.0";
    if (cluster_may_listen(cluster, c->host) && cluster_may_listen(cluster, c->join_host)) return 0;
    return error_set(error, GLINT_E_CONFIG, cluster_secret_hint,
                     "other hosts can connect to %s, but no secret_file is configured",
                     cluster_may_listen(cluster, c->host) ? c->join_host : c->host);
}

/* HOSTNAME-PID: unique among executors that one batch scheduler starts. */
static void make_executor_name(char *out, size_t capacity)
{
    char host[64];
    size_t size = sizeof host;
    if (uv_os_gethostname(host, &size) != 0) text_format(host, sizeof host, "executor");
    text_format(out, capacity, "%s-%d", host, (int)getpid());
}

/* All configuration of a daemon's process comes from the daemon: its own environment could be that
 * of another cluster. */
static void unset_config_environment(void)
{
    char name[64];
    unsetenv("GLINT_CLUSTER");
    for (uint32_t i = 0; i < CLUSTER_KEYS; i++) {
        config_key_format_env_name(&cluster_keys[i], name, sizeof name);
        unsetenv(name);
    }
}

/* The parts that only a daemon's process has. */
static int read_daemon_options(struct executor_args *l, struct executor_process_config *c,
                               struct process_credentials *credentials, struct glint_error *error)
{
    const char *limit = cli_line_option(l->line, "log-limit");
    if (executor_process_read_credentials(credentials, error) != 0) return error->code;
    /* The defaults depend on the secret, which a daemon does not pass on. */
    l->file.cluster.allow_commands = cli_line_flag(l->line, "allow-commands");
    l->file.cluster.name = cli_line_option(l->line, "cluster-name");
    c->host = cli_line_option(l->line, "host");
    c->from_daemon = credentials;
    if (c->join_host != NULL && c->cluster->name != NULL && c->host != NULL && limit != NULL &&
        (strcmp(limit, "0") == 0 || text_parse_bytes(limit, &c->log_bytes_max)))
        return 0;
    return error_set(error, GLINT_E_USAGE, NULL, "the daemon's arguments are not complete");
}

/* Its only job has a page. */
static int reject_page_option(const struct executor_args *l, struct glint_error *error)
{
    if (!cli_line_has(l->line, "ui")) return 0;
    return error_set(error, GLINT_E_USAGE, "give it to the driver: glint submit --ui",
                     "--ui has no effect with --join: the page of the job shows its executors");
}

static int run_joining_executor(struct executor_args *l, struct glint_error *error)
{
    char name[NAME_BYTES_MAX];
    struct process_credentials credentials;
    bool from_daemon = cli_line_flag(l->line, "executor-process");
    if (reject_page_option(l, error) != 0) return error->code;
    if (from_daemon) unset_config_environment();
    const char *id = cli_line_option(l->line, "id");
    if (!cluster_file_open(&l->file, l->line, true, error)) return error->code;
    struct executor_process_config config = {.registry = l->registry,
                                             .env = env_real(),
                                             .cluster = &l->file.cluster,
                                             .node = id != NULL ? id : name,
                                             .work_dir = cli_line_option(l->line, "work-dir"),
                                             .log_json = l->log_json};
    make_executor_name(name, sizeof name);
    if (id != NULL && (id[0] == '\0' || strlen(id) >= NAME_BYTES_MAX || !text_is_printable(id)))
        return error_set(error, GLINT_E_USAGE, "choose a shorter one", "--id is not a valid name");
    if (!settings_read_address(l->line, "join", &l->file.memory, &config.join_host,
                               &config.join_port, error) ||
        read_slots_and_memory(l, &config, error) != 0 ||
        (from_daemon ? read_daemon_options(l, &config, &credentials, error)
                     : read_listen_address(l, &config, error)) != 0)
        return error->code;
    assert(config.join_host != NULL && config.host != NULL);
    int code = executor_process_run(&config, error);
    log_flush_repeats();
    return code;
}

/* ---- The command */

static int check_daemon_options(const struct executor_args *l, bool from_daemon,
                                struct glint_error *error)
{
    static const char *const names[] = {"cluster-name", "host", "log-limit"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !from_daemon; i++)
        if (cli_line_has(l->line, names[i]))
            return error_set(error, GLINT_E_USAGE, NULL,
                             "--%s is for processes that a daemon starts", names[i]);
    return 0;
}

static int run_executor_command(const struct cli_program *program, int argc, char **argv)
{
    struct glint_job_option rows[CLUSTER_OPTIONS_MAX];
    char name[CLI_COMMAND_BYTES];
    const struct cli_syntax syntax = {
        .command = cli_own_command(program, "glint executor", name),
        .summary = "Runs an executor in the foreground: it runs the tasks of jobs.",
        .help =
            "With --cluster FILE --id ID it serves jobs until SIGTERM, and finishes running jobs "
            "first. With --join it serves one job, that of the driver it connects to, and exits "
            "with it; keys of the cluster are read from options, the environment and --cluster.",
        .own = own_rows,
        .common = cluster_option_table(shown, rows),
        .common_title = "The cluster:"};
    struct glint_error error = {.code = GLINT_OK};
    const struct context_config registry = {
        .ops = program->ops, .modules = program->modules, .jobs = program->jobs};
    struct cli_line line;
    int status;
    if (!cli_line_parse_or_report(&line, &syntax, argc, argv, &status)) return status;
    struct executor_args l = {.line = &line,
                              .registry = &registry,
                              .log_json =
                                  strcmp(cli_line_option(&line, "log-format"), "json") == 0};
    bool join = cli_line_has(&line, "join"), from_daemon = cli_line_flag(&line, "executor-process");
    if (cli_line_has(&line, "ui-token") && !cli_line_has(&line, "ui"))
        error_set(&error, GLINT_E_USAGE, "add --ui", "--ui-token has no effect without --ui");
    else if (check_daemon_options(&l, from_daemon, &error) == 0)
        (join || from_daemon ? run_joining_executor : run_executor_daemon)(&l, &error);
    cluster_file_fini(&l.file);
    cli_line_fini(&line);
    if (error.code == GLINT_OK) return 0;
    if (!from_daemon) return cli_fail(&error);
    log_error(LOG_ERROR, NULL, &error);
    log_flush_repeats();
    return glint_code_exit_status(error.code);
}

const struct cli_command cmd_executor = {
    .name = "executor", .summary = "run an executor", .run = run_executor_command};
