/* The table. Each key of the cluster is a row here, a field of struct cluster, and a row in
 * docs/cluster.md; a test compares the docs with this table. The order is that of the docs, and of
 * `glint config show`. */
#include "engine/base/text.h"
#include "engine/cli/cli_internal.h"
#include "engine/cli/cluster_file.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/* ---- Converts values of keys: from TOML or text to a field, and back to text. Fields are accessed
 * by offset, and written completely or not at all. */

#define NS_PER_MS    ((uint64_t)1000000)
#define NAME_MAX_OWN 64u
#define HOST_MAX     255u
#define WORDS_MAX    256u
#define PORTS_MAX    1000 /* size of a range */

#define TEXT    (1u << TOML_TEXT)
#define INTEGER (1u << TOML_INTEGER)

struct unit {
    uint64_t factor;
    const char *name;
};
static const struct unit times[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};

/* ---- One function per form of text: false if the text is not of this form; *out: the bytes of the
 * field. */

static bool parse_i64(const char *text, size_t size, int64_t *out)
{
    return text_parse_i64((const uint8_t *)text, size, out);
}

static bool parse_count(const char *text, uint64_t *out)
{
    int64_t value;
    if (!parse_i64(text, strlen(text), &value) || value < 0) return false;
    *out = (uint64_t)value;
    return true;
}

/* Parses 90 (seconds), 200ms, 1.5s, 5m, 2h. */
static bool parse_ms(const char *text, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789."), i = 0, count = sizeof times / sizeof times[0];
    const char *unit = text[digits] != '\0' ? text + digits : "s";
    double number;
    while (i < count && strcmp(unit, times[i].name) != 0) i++;
    if (i == count || !text_parse_f64((const uint8_t *)text, digits, &number)) return false;
    number *= (double)times[i].factor;
    *out = number < 1e18 ? (uint64_t)(number + 0.5) : UINT64_MAX;
    return true;
}

/* local has one slot, as in Spark. 0 is for local[*]: one per processor. */
static bool parse_master(const char *text, uint64_t *out)
{
    static const char prefix[] = "local[";
    size_t size = strlen(text), before = sizeof prefix - 1;
    char number[TEXT_NUMBER_MAX];
    *out = strcmp(text, "local") == 0;
    if (*out == 1 || strcmp(text, "local[*]") == 0) return true;
    return strncmp(text, prefix, before) == 0 && text[size - 1] == ']' &&
           text_format(number, sizeof number, "%.*s", (int)(size - before - 1), text + before) &&
           parse_count(number, out) && *out > 0;
}

/* Parses FIRST-LAST, or one port, as struct port_range. */
static bool parse_ports(const char *text, uint64_t *out)
{
    const char *dash = strchrnul(text, '-');
    int64_t first, last;
    if (!parse_i64(text, (size_t)(dash - text), &first)) return false;
    last = first;
    if (*dash != '\0' && !parse_i64(dash + 1, strlen(dash + 1), &last)) return false;
    if (first < 1 || last < first || last > UINT16_MAX || last - first >= PORTS_MAX) return false;
    const struct port_range ports = {(uint16_t)first, (uint16_t)last};
    memcpy(out, &ports, sizeof ports);
    return true;
}

static bool accept_any_text(const char *text, uint64_t *out)
{
    *out = (uintptr_t)text;
    return true;
}

static bool has_only_name_characters(const char *text, const char *marks, size_t size_max)
{
    size_t size = strlen(text);
    if (size < 1 || size > size_max) return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr(marks, *text) == NULL) return false;
    return true;
}

static bool parse_config_name(const char *text, uint64_t *out)
{
    return isalnum((unsigned char)text[0]) && has_only_name_characters(text, "-_.", NAME_MAX_OWN) &&
           accept_any_text(text, out);
}

/* A host becomes an argument of launch_command, so it must not look like an option. */
bool config_key_is_host(const char *text)
{
    return text[0] != '-' && has_only_name_characters(text, "-_.:%", HOST_MAX);
}

static bool parse_host(const char *text, uint64_t *out)
{
    return config_key_is_host(text) && accept_any_text(text, out);
}

static bool parse_config_path(const char *text, uint64_t *out)
{
    return text[0] != '\0' && text[0] != '~' && text[0] != '$' && accept_any_text(text, out);
}

/* What the docs call a kind, the TOML types that it accepts, the text before and after its range in
 * messages, and how its text is parsed; NULL: it has choices, or words. */
static const struct {
    const char *name;
    unsigned types;
    const char *expected, *as_in;
    bool (*parse)(const char *text, uint64_t *out);
} kinds[] = {
    [KEY_TEXT] = {"text", TEXT, "text", "", accept_any_text},
    [KEY_NAME] = {"name", TEXT,
                  "1 to 64 letters, digits, - _ or ., and begin with a letter or digit", "",
                  parse_config_name},
    [KEY_HOST] = {"host", TEXT, "a host name or address", "", parse_host},
    [KEY_PATH] = {"path", TEXT, "a path; ~ and $ are not expanded", "", parse_config_path},
    [KEY_BOOL] = {"boolean", 1u << TOML_BOOL, "true or false", "", NULL},
    [KEY_COUNT] = {"number", INTEGER, "a whole number from ", "", parse_count},
    [KEY_PORTS] = {"ports", TEXT | INTEGER,
                   "a port, or the first and the last of at most 1000 ports, as in \"7500-7599\"",
                   "", parse_ports},
    [KEY_BYTES] = {"bytes", TEXT | INTEGER, "bytes from ", ", as in 65536, \"512M\" or \"1.5G\"",
                   text_parse_bytes},
    [KEY_TIME_MS] = {"time", TEXT, "a time from ", ", as in \"5s\" or \"200ms\"", parse_ms},
    [KEY_TIME_NS] = {"time", TEXT, "a time from ", ", as in \"5s\" or \"200ms\"", parse_ms},
    [KEY_CHOICE] = {"choice", TEXT, "one of ", "", NULL},
    [KEY_WORDS] = {"list", 1u << TOML_ARRAY,
                   "a program and its arguments, as in [\"ssh\", \"{host}\"]; only {host}, {id} "
                   "and {config} are allowed in braces",
                   "", NULL},
    [KEY_MASTER] = {"master", TEXT, "local[*], or local[N] with N from ", "", parse_master},
};

static_assert(NAME_MAX_OWN == 64 && PORTS_MAX == 1000, "the texts above contain them");

const char *config_key_kind_name(enum key_kind kind)
{
    assert((size_t)kind < sizeof kinds / sizeof kinds[0]);
    return kinds[kind].name;
}

/* Formats a number in the largest unit without a remainder, so that it can be parsed again. */
static void format_config_key_number(enum key_kind kind, uint64_t value, char *out, size_t capacity)
{
    static const struct unit sizes[] = {
        {1024 * GIB, "T"}, {GIB, "G"}, {MIB, "M"}, {KIB, "K"}, {1, ""}};
    static const struct unit counts[] = {{1, ""}};
    bool time = kind == KEY_TIME_MS || kind == KEY_TIME_NS;
    const struct unit *u = time ? times : kind == KEY_BYTES ? sizes : counts;
    while (value == 0 ? u->factor > 1 : value % u->factor != 0) u++;
    bool fits =
        text_format(out, capacity, "%llu%s", (unsigned long long)(value / u->factor), u->name);
    assert(fits);
}

void format_config_key_range(const struct config_key *key, char *out, size_t capacity)
{
    char min[TEXT_NUMBER_MAX], max[TEXT_NUMBER_MAX];
    out[0] = '\0';
    if (key->max == 0) return;
    assert(key->min < key->max);
    format_config_key_number(key->kind, key->min, min, sizeof min);
    format_config_key_number(key->kind, key->max, max, sizeof max);
    text_format(out, capacity, "%s to %s", min, max);
}

void config_key_format_expected(const struct config_key *key, char *out, size_t capacity)
{
    char range[2 * TEXT_NUMBER_MAX + 8];
    format_config_key_range(key, range, sizeof range);
    text_format(out, capacity, "%s%s%s%s", kinds[key->kind].expected, range, kinds[key->kind].as_in,
                key->kind == KEY_CHOICE ? key->value : "");
    while ((out = strchr(out, '|')) != NULL) *out = ' ';
}

void config_key_format_env_name(const struct config_key *key, char *out, size_t capacity)
{
    bool fits = text_format(out, capacity, "GLINT_%s", key->name);
    assert(fits);
    for (; *out != '\0'; out++) *out = (char)toupper((unsigned char)*out);
}

const char *config_key_absolute_path(struct arena *memory, const char *dir, const char *path)
{
    return path[0] == '/' ? arena_strdup(memory, path) : arena_format(memory, "%s/%s", dir, path);
}

/* Accepts {host}, {id} and {config}, and no other braces. */
static bool is_launch_template(const char *word)
{
    static const char *const names[] = {"{host}", "{id}", "{config}"};
    while ((word = strpbrk(word, "{}")) != NULL) {
        size_t i = 0, count = sizeof names / sizeof names[0];
        while (i < count && strncmp(word, names[i], strlen(names[i])) != 0) i++;
        if (i == count) return false;
        word += strlen(names[i]);
    }
    return true;
}

static bool are_launch_words(const struct toml_value *list)
{
    bool valid = list->count >= 1 && list->count <= WORDS_MAX;
    for (uint32_t i = 0; i < list->count && valid; i++)
        valid = list->items[i].kind == TOML_TEXT && is_launch_template(list->items[i].text);
    return valid && list->items[0].text[0] != '\0';
}

static const char **copy_launch_words(const struct toml_value *list, struct arena *memory)
{
    const char **words = arena_alloc(memory, ((uint64_t)list->count + 1) * sizeof *words);
    for (uint32_t i = 0; words != NULL && i <= list->count; i++)
        words[i] = i < list->count ? list->items[i].text : NULL;
    return words;
}

static const char *config_key_choices(const struct config_key *key)
{
    return key->kind == KEY_BOOL ? "false|true" : key->kind == KEY_CHOICE ? key->value : NULL;
}

static bool parse_config_key_value(const struct config_key *key, const struct toml_value *value,
                                   uint64_t *out)
{
    const char *choices = config_key_choices(key);
    if ((kinds[key->kind].types & 1u << value->kind) == 0) return false;
    if (key->kind == KEY_WORDS) return are_launch_words(value);
    return choices != NULL ? cli_choice_find(choices, value->text, out)
                           : kinds[key->kind].parse(value->text, out);
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first bytes are the low ones");

enum key_set_result config_key_set(const struct config_key *key, const struct toml_value *value,
                                   const char *dir, struct arena *memory, void *target)
{
    uint64_t bits = 0;
    if (!parse_config_key_value(key, value, &bits)) return KEY_INVALID;
    const bool all = key->kind == KEY_MASTER && bits == 0;
    if (key->max != 0 && !all && (bits < key->min || bits > key->max)) return KEY_INVALID;
    if (key->kind == KEY_PATH) bits = (uintptr_t)config_key_absolute_path(memory, dir, value->text);
    if (key->kind == KEY_WORDS) bits = (uintptr_t)copy_launch_words(value, memory);
    if (bits == 0 && (key->kind == KEY_PATH || key->kind == KEY_WORDS)) return KEY_NO_MEMORY;
    if (key->kind == KEY_TIME_NS) bits *= NS_PER_MS;
    assert(key->size == 8 || bits >> (8 * key->size) == 0);
    memcpy((char *)target + key->offset, &bits, key->size);
    return KEY_SET;
}

bool config_key_value_from_text(const struct config_key *key, const char *text,
                                struct arena *memory, struct toml_value *out)
{
    struct toml_failure failure;
    struct toml_value table;
    *out = (struct toml_value){.kind = TOML_TEXT, .text = text};
    while (key->kind != KEY_WORDS && (kinds[key->kind].types & 1u << out->kind) == 0) out->kind++;
    if (key->kind != KEY_WORDS) return true;
    /* The TOML parser reads lists, so that quoting is the same as in the file. */
    const char *line = arena_format(memory, "words = %s", text);
    if (line == NULL) return false;
    if (!toml_read(memory, (const uint8_t *)line, strlen(line), &table, &failure))
        return !failure.no_memory;
    if (table.count == 1) *out = table.items[0];
    return true;
}

enum key_set_result config_key_set_text(const struct config_key *key, const char *text,
                                        struct arena *memory, void *target)
{
    struct toml_value value;
    if (!config_key_value_from_text(key, text, memory, &value)) return KEY_NO_MEMORY;
    return config_key_set(key, &value, "", memory, target);
}

static bool print_launch_words(const char *const *words, struct buffer *out)
{
    bool kept = true;
    for (uint32_t i = 0; words[i] != NULL; i++) {
        kept = kept && buffer_append(out, i > 0 ? ", \"" : "[\"", i > 0 ? 3 : 2);
        for (const char *p = words[i]; *p != '\0'; p++) {
            if (*p == '"' || *p == '\\') kept = kept && buffer_append(out, "\\", 1);
            kept = kept && buffer_append(out, p, 1);
        }
        kept = kept && buffer_append(out, "\"", 1);
    }
    return kept && buffer_append(out, "]", 1); /* a list has at least one word */
}

bool config_key_print(const struct config_key *key, const void *target, struct buffer *out)
{
    char number[2 * TEXT_NUMBER_MAX];
    uint64_t bits = 0;
    memcpy(&bits, (const char *)target + key->offset, key->size);
    const void *pointer = (const void *)(uintptr_t)bits;
    const char *text = number;
    struct port_range ports;
    switch (key->kind) {
    case KEY_NAME:
    case KEY_HOST:
    case KEY_PATH: text = pointer; break;
    case KEY_BOOL:
    case KEY_CHOICE:
        for (text = config_key_choices(key); bits > 0; bits--) text = strchr(text, '|') + 1;
        return buffer_append(out, text, strcspn(text, "|"));
    case KEY_WORDS: return print_launch_words(pointer, out);
    case KEY_PORTS:
        memcpy(&ports, &bits, sizeof ports);
        if (ports.first == 0) return false; /* the system chooses */
        text_format(number, sizeof number, ports.first == ports.last ? "%u" : "%u-%u", ports.first,
                    ports.last);
        break;
    default:
        format_config_key_number(key->kind, bits / (key->kind == KEY_TIME_NS ? NS_PER_MS : 1),
                                 number, sizeof number);
    }
    return text != NULL && buffer_append(out, text, strlen(text));
}

/* ---- config keys */

#define MINUTE_MS ((uint64_t)60 * 1000)
#define HOUR_MS   (60 * MINUTE_MS)

#define FIELD(type, member) offsetof(struct type, member), sizeof((struct type *)NULL)->member
#define CLUSTER(member)     FIELD(cluster, member)
#define EXECUTOR(member)    FIELD(cluster_executor, member)
#define SETTING(member)     FIELD(settings, member)
#define CONFIG(member)      FIELD(settings, config.member)

static_assert(LAUNCH_NONE == 0 && LAUNCH_LOCAL == 1 && LAUNCH_SSH == 2 && OUTPUT_AUTO == 0 &&
                  OUTPUT_UNCOMPRESSED == 1 && OUTPUT_GZIP == 2 && OUTPUT_ZSTD == 3 &&
                  GRAPH_NONE == 0 && GRAPH_DOT == 1 && GRAPH_SVG == 2 && PRINT_COLOR_AUTO == 0 &&
                  PRINT_COLOR_ALWAYS == 1 && PRINT_COLOR_NEVER == 2,
              "the order of the choices below");

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
    {"python", "python", "PATH", KEY_PATH, CLUSTER(python),
     "interpreter of the functions of Python's programs (`python -m glint.submit --cluster`), of "
     "the driver's version of Python; it is a command: see `allow_commands`",
     .absent = "`python3` in `$PATH`"},
    {"launch", "launch", "none|local|ssh", KEY_CHOICE, CLUSTER(launch),
     "how `glint submit` starts executors that are not running: as processes on this machine "
     "(`local`), by `launch_command` (`ssh`), or not at all (`none`)",
     .default_value = "none"},
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
     "inputs with NUL bytes at their start", .default_value = "fail"},
    {"overwrite", "overwrite", NULL, KEY_BOOL, CONFIG(overwrite),
     .help = "replace existing outputs"},
    {"no-sync", "no-sync", NULL, KEY_BOOL, CONFIG(no_sync),
     .help = "do not sync outputs to disk; a power loss may leave them incomplete"},
    {"compress", "compress", "auto|none|gzip|zstd", KEY_CHOICE, CONFIG(compress),
     "compression of outputs; auto: none, snappy of Parquet", .default_value = "auto"},
    {"bad-rows", "bad-rows", "fail|skip", KEY_CHOICE, CONFIG(skip_bad_rows),
     "what to do with invalid rows", .default_value = "fail"},
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
     "with glint explain: draw the plan; dot is for Graphviz", .default_value = "none"},
    {"quiet", "quiet", NULL, KEY_BOOL, SETTING(quiet), .help = "print only errors and warnings"},
    {"verbose", "verbose", NULL, KEY_BOOL, SETTING(verbose),
     .help = "print each stage and its time"},
    {"color", "color", "auto|always|never", KEY_CHOICE, SETTING(color), "colour messages",
     .default_value = "auto"},
    {"encode-messages", "encode-messages", NULL, KEY_BOOL, CONFIG(encode_messages),
     .help = NULL}, /* tests only */
};

static_assert(MEMORY_BYTES_DEFAULT == GIB && LINE_BYTES_MAX_DEFAULT == 16 * MIB,
              "the defaults above must equal those in limits.h");

const struct config_key *config_key_find(const struct config_key *keys, uint32_t count,
                                         const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(keys[i].name, name) == 0) return &keys[i];
    return NULL;
}
