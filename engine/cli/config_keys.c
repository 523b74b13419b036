/* The table. Each key of the cluster is a row here, a field of struct cluster, and a row in
 * docs/cluster.md; a test compares the docs with this table. The order is that of the docs, and of
 * `glint config show`. */
#include "engine/cli/config_keys.h"

#include "engine/cli/settings.h"

#include <assert.h>
#include <string.h>

#define MINUTE_MS ((uint64_t)60 * 1000)
#define HOUR_MS   (60 * MINUTE_MS)

#define FIELD(type, member) offsetof(struct type, member), sizeof((struct type *)NULL)->member
#define CLUSTER(member)     FIELD(cluster, member)
#define EXECUTOR(member)    FIELD(cluster_executor, member)
#define SETTING(member)     FIELD(settings, member)
#define CONFIG(member)      FIELD(settings, config.member)

static const char *const launches[] = {
    [LAUNCH_NONE] = "none", [LAUNCH_LOCAL] = "local", [LAUNCH_SSH] = "ssh", NULL};
static const char *const graphs[] = {
    [GRAPH_NONE] = "none", [GRAPH_DOT] = "dot", [GRAPH_SVG] = "svg", NULL};
static const char *const colors[] = {[PRINT_COLOR_AUTO] = "auto",
                                     [PRINT_COLOR_ALWAYS] = "always",
                                     [PRINT_COLOR_NEVER] = "never",
                                     NULL};
static const char *const compressions[] = {
    [COMPRESSION_NONE] = "none", [COMPRESSION_GZIP] = "gzip", [COMPRESSION_ZSTD] = "zstd", NULL};
static const char *const binary_files[] = {[false] = "fail", [true] = "text", NULL};
static const char *const bad_rows[] = {[false] = "fail", [true] = "skip", NULL};

const struct config_key cluster_keys[CLUSTER_KEYS] = {
    {"cluster", NULL, NULL, KEY_NAME, CLUSTER(name),
     "name of the cluster; processes of another cluster are rejected", .default_value = "glint"},
    {"secret_file", "secret-file", "PATH", KEY_PATH, CLUSTER(secret_file),
     "file with the secret that all processes of the cluster share (`glint secret new`)",
     .absent = "your own secret, and loopback addresses only"},
    {"insecure_plaintext", "insecure-plaintext", NULL, KEY_BOOL, CLUSTER(insecure_plaintext),
     "no TLS and no secret: any process that can reach a port can run code as you",
     .default_value = "false"},
    {"allow_programs", "allow-programs", NULL, KEY_BOOL, CLUSTER(allow_programs),
     "executors may fetch a program of another build from a driver, and run it; not with "
     "`insecure_plaintext`",
     .absent = "`true` with your own secret, where all addresses are loopback, else `false`"},
    {"allow_commands", "allow-commands", NULL, KEY_BOOL, CLUSTER(allow_commands),
     "tasks of a job may run commands (`stream`); not with `insecure_plaintext`",
     .absent = "as `allow_programs`: `true` with your own secret, else `false`"},
    {"launch", "launch", "none|local|ssh", KEY_CHOICE, CLUSTER(launch),
     "how `glint submit` starts executors that are not running: as processes on this machine "
     "(`local`), by `launch_command` (`ssh`), or not at all (`none`)",
     .default_value = "none", .choices = launches},
    {"launch_command", "launch-command", "LIST", KEY_WORDS, CLUSTER(launch_command),
     "with `launch = \"ssh\"`: program and arguments that start one executor; `{host}`, `{id}` and "
     "`{config}` are replaced by its host, its id and the path of this file",
     .default_value = "[\"ssh\", \"-o\", \"BatchMode=yes\", \"{host}\", \"glint\", \"executor\", "
                      "\"--cluster\", \"{config}\", \"--id\", \"{id}\", \"--launched\"]"},
    {"log_dir", "log-dir", "PATH", KEY_PATH, CLUSTER(log_dir),
     "directory for the logs of launched executors, one `ID.log` each",
     .absent = "`$XDG_STATE_HOME/glint/log/CLUSTER`, else `~/.local/state/glint/log/CLUSTER`"},
    {"log_bytes_max", "log-bytes-max", "BYTES", KEY_BYTES, CLUSTER(log_bytes_max),
     "size above which a log is renamed to `ID.log.1` when its executor is launched; at twice this "
     "size it gets no more lines",
     .default_value = "16M", .min = 64 * KIB, .max = 1024 * GIB},
    {"drivers_max", "drivers-max", "N", KEY_COUNT, CLUSTER(drivers_max),
     "jobs that one executor serves at a time, each with its share of slots and memory; others "
     "wait",
     .default_value = "1", .min = 1, .max = 64},
    {"ports", "ports", "PORTS", KEY_PORTS, CLUSTER(ports),
     "ports that executor processes listen on, one for each job served at a time on the host, as "
     "in `\"7500-7599\"`",
     .absent = "chosen by the system"},
    {"driver_host", "driver-host", "HOST", KEY_HOST, CLUSTER(driver_host),
     "name or address of the driver that executors connect to",
     .absent = "the local address of the driver's connection to each executor"},
    {"driver_ports", "driver-ports", "PORTS", KEY_PORTS, CLUSTER(driver_ports),
     "ports that the driver listens on, one for each job that runs at a time on its host, as in "
     "`\"7600-7620\"`",
     .absent = "chosen by the system"},
    {"heartbeat", "heartbeat", "TIME", KEY_TIME_NS, CLUSTER(heartbeat.heartbeat_ns),
     "time between two heartbeats", .default_value = "1s", .min = 10, .max = HOUR_MS},
    {"suspect", "suspect", "TIME", KEY_TIME_NS, CLUSTER(heartbeat.suspect_ns),
     "time without a heartbeat after which an executor gets no new tasks; above `heartbeat`",
     .default_value = "5s", .min = 10, .max = HOUR_MS},
    {"dead", "dead", "TIME", KEY_TIME_NS, CLUSTER(heartbeat.dead_ns),
     "time without a heartbeat after which an executor is lost and its tasks run elsewhere; above "
     "`suspect`",
     .default_value = "10s", .min = 10, .max = HOUR_MS},
    {"connect", "connect", "TIME", KEY_TIME_MS, CLUSTER(connect_ms),
     "time limit of one connection, handshake included, and of the acknowledgement of a request to "
     "another executor",
     .default_value = "5s", .min = 10, .max = HOUR_MS},
    {"start", "start", "TIME", KEY_TIME_MS, CLUSTER(start_ms),
     "how long a job waits for its first executor", .default_value = "30s", .min = 10,
     .max = 24 * HOUR_MS},
    {"drain", "drain", "TIME", KEY_TIME_MS, CLUSTER(drain_ms),
     "how long a draining executor (SIGTERM) finishes tasks and serves map outputs",
     .default_value = "30s", .min = 10, .max = 24 * HOUR_MS},
    {"fetch", "fetch", "TIME", KEY_TIME_MS, CLUSTER(fetch_ms),
     "how long a transfer between executors may make no progress", .default_value = "60s",
     .min = 10, .max = 24 * HOUR_MS},
    {"speculate", "speculate", NULL, KEY_BOOL, CLUSTER(speculate),
     "start a second attempt of a task that is much slower than the others of its stage",
     .default_value = "false"},
};

const struct config_key cluster_executor_keys[CLUSTER_EXECUTOR_KEYS] = {
    {"id", NULL, NULL, KEY_NAME, EXECUTOR(id),
     .help = "name of the executor, unique in the cluster"},
    {"host", NULL, NULL, KEY_HOST, EXECUTOR(host),
     "name or address that it listens on, and that other nodes connect to",
     .default_value = "127.0.0.1"},
    {"port", NULL, NULL, KEY_COUNT, EXECUTOR(port), "TCP port that it listens on", .min = 1,
     .max = UINT16_MAX},
    {"slots", NULL, NULL, KEY_COUNT, EXECUTOR(slots), "tasks that run at a time",
     .absent = "number of its processors", .min = 1, .max = SLOTS_MAX},
    {"memory", NULL, NULL, KEY_BYTES, EXECUTOR(memory_bytes),
     "memory for tasks, all slots together; what does not fit is spilled to disk",
     .default_value = "1G", .min = SLOT_MEMORY_BYTES_MIN, .max = 128 * 1024 * GIB},
    {"work_dir", NULL, NULL, KEY_PATH, EXECUTOR(work_dir),
     "directory in which it creates directories for spills and map outputs",
     .absent = "`$TMPDIR`, else `/tmp`"},
};

const struct config_key job_keys[JOB_KEYS] = {
    {"master", "master", "MASTER", KEY_MASTER, CONFIG(slots),
     "local[N]: N slots in this process; local[*]: one per processor", .default_value = "local[*]",
     .min = 1, .max = SLOTS_MAX},
    {"memory", "memory", "BYTES", KEY_BYTES, CONFIG(memory_bytes),
     "memory of the whole process: 512M, 2G", .default_value = "1G", .min = 1,
     .max = 128 * 1024 * GIB},
    {"work-dir", "work-dir", "DIR", KEY_TEXT, CONFIG(work_dir),
     .help = "parent of this run's work directory (default: $TMPDIR, else /tmp)"},
    {"input", "input", "PATH", KEY_TEXT, SETTING(input),
     .help = "instead of INPUT: a path that may have commas; may be repeated"},
    {"split-size", "split-size", "BYTES", KEY_BYTES, CONFIG(split_bytes),
     "input bytes per task (default: by input size, 1M to 32M)", .min = 1, .max = 128 * 1024 * GIB},
    {"partitions", "partitions", "N", KEY_COUNT, CONFIG(partitions),
     "partitions after a shuffle (default: by input size)", .min = 1, .max = PARTITIONS_MAX},
    {"max-line", "max-line", "BYTES", KEY_BYTES, CONFIG(line_bytes_max),
     "longest line that is accepted", .default_value = "16M", .min = 1, .max = VALUE_BYTES_MAX},
    {"binary-files", "binary-files", "fail|text", KEY_CHOICE, CONFIG(nul_is_text),
     "inputs with NUL bytes at their start", .default_value = "fail", .choices = binary_files},
    {"overwrite", "overwrite", NULL, KEY_BOOL, CONFIG(overwrite),
     .help = "replace existing outputs"},
    {"no-sync", "no-sync", NULL, KEY_BOOL, CONFIG(no_sync),
     .help = "do not sync outputs to disk; a power loss may leave them incomplete"},
    {"compress", "compress", "none|gzip|zstd", KEY_CHOICE, CONFIG(compress),
     "compress the parts of text outputs", .default_value = "none", .choices = compressions},
    {"bad-rows", "bad-rows", "fail|skip", KEY_CHOICE, CONFIG(skip_bad_rows),
     "what to do with invalid rows", .default_value = "fail", .choices = bad_rows},
    {"max-bad-rows", "max-bad-rows", "N", KEY_COUNT, CONFIG(bad_rows_max),
     "with --bad-rows skip: fail if there are more than N", .max = INT64_MAX},
    {"timeout", "timeout", "TIME", KEY_TIME_NS, CONFIG(timeout_ns),
     "cancel the job after 90, 30s, 5m, 2h", .min = 1, .max = 2499999 * HOUR_MS},
    {"listen", "listen", "HOST:PORT", KEY_TEXT, SETTING(listen),
     .help = "accept executors that run glint executor --join HOST:PORT"},
    {"executors", "executors", "N", KEY_COUNT, SETTING(executors),
     "wait for N executors before the first task (default: 1)", .min = 1,
     .max = CLUSTER_EXECUTORS_MAX},
    {"event-log", "event-log", "FILE", KEY_TEXT, CONFIG(event_log),
     .help = "write an event log to FILE, for glint history"},
    {"ui", "ui", "[HOST:PORT]", KEY_TEXT, SETTING(ui),
     .help = "serve a page of the job, on 127.0.0.1:4040 or the next free port"},
    {"ui-token", "ui-token", "FILE", KEY_TEXT, SETTING(ui_token),
     .help = "with --ui: only those who know the text in FILE may read the page"},
    {"json", "json", NULL, KEY_BOOL, SETTING(json),
     .help = "print one JSON object on standard output at the end"},
    {"graph", "graph", "none|dot|svg", KEY_CHOICE, SETTING(graph),
     "with glint explain: draw the plan; dot is for Graphviz", .default_value = "none",
     .choices = graphs},
    {"quiet", "quiet", NULL, KEY_BOOL, SETTING(quiet), .help = "print only errors and warnings"},
    {"verbose", "verbose", NULL, KEY_BOOL, SETTING(verbose),
     .help = "print each stage and its time"},
    {"color", "color", "auto|always|never", KEY_CHOICE, SETTING(color), "colour messages",
     .default_value = "auto", .choices = colors},
    {"encode-messages", "encode-messages", NULL, KEY_BOOL, CONFIG(encode_messages),
     .help = NULL}, /* tests only */
};

static_assert(MEMORY_BYTES_DEFAULT == GIB && LINE_BYTES_MAX_DEFAULT == 16 * MIB,
              "the defaults above must equal those in limits.h");

const struct config_key *key_find(const struct config_key *keys, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(keys[i].name, name) == 0) return &keys[i];
    return NULL;
}
