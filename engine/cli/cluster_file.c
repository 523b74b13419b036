/* One pass over the table of keys: each key gets its default, then the values that override it,
 * each of which is checked, even where a later one overrides it. Then the relations between keys.
 */
#include "engine/cli/cluster_file.h"

#include "engine/base/file_check.h"
#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "engine/net/listener.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- A single pass over a TOML text that only recognizes strings and comments. The parser
 * recurses once per bracket and per part of a key, as does freeing its result, so their number is
 * limited before it starts. Outside of strings and comments, TOML is ASCII; but toml++ 3.3 misreads
 * some other characters there, so they are rejected. All other errors are left to the parser. */

struct toml_scanner {
    uint32_t brackets, dots;
    uint8_t quote;   /* of the open string; '#': in a comment; 0: neither */
    uint32_t quotes; /* that end the string: 1 or 3 */
    bool escaped;    /* the character after a backslash */
};

/* Scans a character of a string or comment; returns how many were scanned. */
static uint32_t scan_toml_quoted(struct toml_scanner *s, const uint8_t *p, uint64_t left)
{
    uint32_t run = 0;
    if (*p == '\n' && s->quotes == 1) {
        s->quote = 0; /* in any case, even if it was not closed */
        s->dots = 0;
    } else if (!s->escaped && *p == s->quote && s->quote != '#') {
        /* A multi-line string may end with two quotes of its own. */
        uint32_t most = s->quotes == 1 ? 1 : 5;
        while (run < most && run < left && p[run] == s->quote) run++;
        if (run >= s->quotes) s->quote = 0;
        if (s->quote == 0) return run;
    }
    s->escaped = !s->escaped && *p == '\\' && s->quote == '"';
    return 1;
}

/* Scans a character outside of both; returns how many were scanned, or 0 with *reason set. */
static uint32_t scan_toml_structure(struct toml_scanner *s, const uint8_t *p, uint64_t left,
                                    const char **reason)
{
    if (*p == '#' || *p == '"' || *p == '\'') {
        s->quote = *p;
        s->quotes = *p != '#' && left > 2 && p[1] == *p && p[2] == *p ? 3 : 1;
        s->escaped = false;
        return s->quotes;
    }
    if (*p == '.')
        s->dots++;
    else if (!isalnum(*p) && (*p == '\0' || strchr("-_ \t", *p) == NULL))
        s->dots = 0;
    s->brackets += *p == '[' || *p == '{';
    s->brackets -= (*p == ']' || *p == '}') && s->brackets > 0;
    *reason = s->brackets > TOML_NESTING_MAX ? "brackets are nested too deeply"
              : s->dots >= TOML_NESTING_MAX  ? "the key has too many parts"
              : *p >= 0x80                   ? "non-ASCII characters must be quoted"
                                             : NULL;
    return *reason == NULL;
}

bool toml_scan(const uint8_t *data, uint64_t size, struct toml_failure *failure)
{
    struct toml_scanner s = {.quote = 0};
    const char *reason = size > TOML_BYTES_MAX ? "it is larger than 1 MiB" : NULL;
    *failure = (struct toml_failure){.at = {1, 1}};
    uint64_t at = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* byte order mark */
    while (at < size && reason == NULL) {
        const uint8_t *p = data + at;
        unsigned bytes = utf8_size(p, size - at);
        uint32_t count = bytes == 0     ? 0
                         : s.quote != 0 ? scan_toml_quoted(&s, p, size - at)
                                        : scan_toml_structure(&s, p, size - at, &reason);
        if (bytes == 0)
            text_format(failure->reason, sizeof failure->reason, "byte 0x%02x is not UTF-8", *p);
        if (count == 0) break;
        assert(count == 1 || bytes == 1);
        at += (uint64_t)bytes * count;
        failure->at.line += *p == '\n';
        failure->at.column = *p == '\n' ? 1 : failure->at.column + count;
    }
    if (reason != NULL) text_format(failure->reason, sizeof failure->reason, "%s", reason);
    return failure->reason[0] == '\0';
}

/* ---- Errors and their positions */

#define PATH_BYTES_MAX 4096u
#define CAUSE_MAX      512u

struct cluster_file_reader {
    struct cluster_file *file;
    struct env *env;
    struct glint_error *error;
    const char *cwd;
    const char *dir;        /* of the file */
    const char **variables; /* the next of cluster.launch_variables */
};

struct cluster_section cluster_file_section(struct cluster_file *f, uint32_t n)
{
    struct cluster *c = &f->cluster;
    assert(n <= c->executor_count);
    if (n == 0) return (struct cluster_section){cluster_keys, CLUSTER_KEYS, c, f->origins, NULL};
    struct cluster_executor *e = &c->executors[n - 1];
    return (struct cluster_section){cluster_executor_keys, CLUSTER_EXECUTOR_KEYS, e,
                                    f->executor_origins[n - 1], e->id};
}

static const struct cluster_origin *cluster_key_origin(struct cluster_file *f, uint32_t n,
                                                       const char *name)
{
    const struct cluster_section s = cluster_file_section(f, n);
    const struct config_key *key = config_key_find(s.keys, s.count, name);
    assert(key != NULL);
    return &s.origins[key - s.keys];
}

/* Returns the position in the file of a key of section n; of its executor if the file does not set
 * the key. */
static struct toml_place cluster_key_place(const struct cluster_file_reader *r, uint32_t n,
                                           const char *name)
{
    return cluster_key_origin(r->file, n, name)->at;
}

/* The same for the first of two keys of the cluster that the file sets. */
static struct toml_place place_of_first_set_key(const struct cluster_file_reader *r,
                                                const char *name, const char *other)
{
    struct toml_place at = cluster_key_place(r, 0, name);
    return at.line > 0 ? at : cluster_key_place(r, 0, other);
}

/* Sets CONFIG about what is at `at`, with file, line and column before the cause. Returns false. */
__attribute__((format(printf, 4, 5))) static bool
config_fail_at(const struct cluster_file_reader *r, struct toml_place at, const char *hint,
               const char *cause, ...)
{
    char text[CAUSE_MAX], place[2 * TEXT_NUMBER_MAX] = "";
    const char *name = r->file->name != NULL ? r->file->name : "the cluster's options";
    va_list args;
    va_start(args, cause);
    vsnprintf(text, sizeof text, cause, args);
    va_end(args);
    if (at.line > 0) text_format(place, sizeof place, ":%u:%u", at.line, at.column);
    error_set(r->error, GLINT_E_CONFIG, hint, "%s%s: %s", name, place, text);
    return false;
}

static bool set_reader_no_memory_error(const struct cluster_file_reader *r)
{
    error_no_memory(r->error);
    return false;
}

void cluster_file_add_position(struct cluster_file *f, const char *id, const char *key,
                               struct glint_error *error)
{
    const struct glint_error why = *error;
    assert(error->code != GLINT_OK);
    for (uint32_t n = 1; f->name != NULL && n <= f->cluster.executor_count; n++) {
        const struct toml_place at = cluster_key_origin(f, n, key)->at;
        if (strcmp(f->cluster.executors[n - 1].id, id) == 0)
            text_format(error->cause, sizeof error->cause, "%s:%u:%u: %s", f->name, at.line,
                        at.column, why.cause);
    }
}

/* Writes what the user set: "dead", "GLINT_DEAD" or "--dead". */
static void format_origin_name(const struct config_key *key, enum origin_from from, char *out,
                               size_t capacity)
{
    if (from == FROM_ENVIRONMENT)
        config_key_format_env_name(key, out, capacity);
    else
        text_format(out, capacity, "%s%s", from == FROM_OPTION ? "--" : "",
                    from == FROM_OPTION ? key->option : key->name);
}

void cluster_key_origin_format(const struct cluster_file *file, const struct config_key *key,
                               const struct cluster_origin *origin, char *out, size_t capacity)
{
    static const char *const names[] = {
        [FROM_DEFAULT] = "default", [FROM_ENVIRONMENT] = "environment ", [FROM_OPTION] = "option "};
    char name[64] = "";
    if (origin->from == FROM_FILE) {
        text_format(out, capacity, "%s:%u", file->name, origin->at.line);
        return;
    }
    if (origin->from != FROM_DEFAULT) format_origin_name(key, origin->from, name, sizeof name);
    text_format(out, capacity, "%s%s", names[origin->from], name);
}

/* ---- Checks relations between the values of a cluster's file. */

/* The heartbeat limits must ascend. Reports the position of the later one that the file sets. */
static bool check_heartbeat_limits(const struct cluster_file_reader *r)
{
    static const char *const names[] = {"heartbeat", "suspect", "dead"};
    const struct liveness_limits *l = &r->file->cluster.heartbeat;
    const uint64_t values[] = {l->heartbeat_ns, l->suspect_ns, l->dead_ns};
    for (size_t i = 0; i + 1 < sizeof values / sizeof values[0]; i++) {
        if (values[i] < values[i + 1]) continue;
        return config_fail_at(
            r, place_of_first_set_key(r, names[i + 1], names[i]),
            "set all three, in the file or as --heartbeat, --suspect and --dead",
            "heartbeat < suspect < dead is required: %s is %llu ms, %s is %llu ms", names[i],
            (unsigned long long)(values[i] / 1000000), names[i + 1],
            (unsigned long long)(values[i + 1] / 1000000));
    }
    return true;
}

/* A best effort without DNS: equal names, and localhost as 127.0.0.1. */
static bool is_same_host(const char *a, const char *b)
{
    static const char loopback[] = "127.0.0.1";
    if (strcasecmp(a, "localhost") == 0) a = loopback;
    if (strcasecmp(b, "localhost") == 0) b = loopback;
    return strcasecmp(a, b) == 0;
}

static bool check_duplicate_executors(const struct cluster_file_reader *r, uint32_t n)
{
    const struct cluster_executor *e = &r->file->cluster.executors[n - 1];
    for (uint32_t i = 1; i < n; i++) {
        const struct cluster_executor *other = &r->file->cluster.executors[i - 1];
        if (strcmp(e->id, other->id) == 0)
            return config_fail_at(r, cluster_key_place(r, n, "id"),
                                  "give each executor a unique id", "duplicate id %s (line %u)",
                                  e->id, cluster_key_place(r, i, "id").line);
        if (e->port == other->port && is_same_host(e->host, other->host))
            return config_fail_at(r, cluster_key_place(r, n, "port"),
                                  "give each executor on the same host a different port",
                                  "%s and %s have the same address, %s port %u", other->id, e->id,
                                  e->host, e->port);
    }
    return true;
}

bool cluster_may_listen(const struct cluster *c, const char *host)
{
    return c->secret_file != NULL || c->insecure_plaintext || host_is_loopback(host);
}

const char cluster_secret_hint[] =
    "1. glint secret new FILE, copy FILE to every node, and set secret_file = \"FILE\"\n2. or set "
    "insecure_plaintext = true: any process that can reach a port can then run code as you";

/* `who` would listen on the value of `key`. */
static bool check_reachable_host(const struct cluster_file_reader *r, struct toml_place at,
                                 const char *who, const char *key, const char *host)
{
    if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
        return config_fail_at(r, at, "use an address that other nodes can connect to",
                              "%s %s is the wildcard address; no node can connect to it", key,
                              host);
    if (cluster_may_listen(&r->file->cluster, host)) return true;
    return config_fail_at(r, at, cluster_secret_hint,
                          "%s would listen on %s, but no secret_file is configured", who, host);
}

static bool check_executor_section(const struct cluster_file_reader *r, uint32_t n)
{
    const struct cluster *c = &r->file->cluster;
    const struct cluster_executor *e = &c->executors[n - 1];
    /* Each job served at a time needs at least one slot. */
    if (e->slots < c->drivers_max)
        return config_fail_at(
            r, cluster_key_place(r, n, "slots"), "raise slots, or lower drivers_max",
            "executor %s has %u slots for drivers_max = %u", e->id, e->slots, c->drivers_max);
    if (e->memory_bytes / e->slots < SLOT_MEMORY_BYTES_MIN)
        return config_fail_at(r, cluster_key_place(r, n, "memory"), "raise memory, or lower slots",
                              "executor %s has less than 16 MiB of memory for each of its %u "
                              "slots",
                              e->id, e->slots);
    char who[128];
    text_format(who, sizeof who, "executor %s", e->id);
    return check_reachable_host(r, cluster_key_place(r, n, "host"), who, "host", e->host) &&
           check_duplicate_executors(r, n);
}

/* ssh joins its arguments with spaces and passes them to a remote shell, which would interpret
 * special characters in the path. Ids and hosts cannot contain any (config_keys.c). */
static bool check_config_path_for_ssh_launch(const struct cluster_file_reader *r)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-";
    const struct cluster *c = &r->file->cluster;
    bool uses_config = false;
    if (c->launch != LAUNCH_SSH || c->path == NULL) return true;
    for (uint32_t i = 0; c->launch_command[i] != NULL; i++)
        uses_config = uses_config || strstr(c->launch_command[i], "{config}") != NULL;
    size_t sound = strspn(c->path, safe);
    if (!uses_config || c->path[sound] == '\0') return true;
    return config_fail_at(
        r, cluster_key_place(r, 0, "launch"),
        "move the file to a path of letters, digits and _ . / - on every node, or write the path "
        "into launch_command instead of {config}, quoted for the remote shell",
        "with launch = \"ssh\" a shell on each host parses the path of this file, which contains "
        "the character '%c': %s",
        c->path[sound], c->path);
}

static_assert(SLOT_MEMORY_BYTES_MIN == 16 * MIB, "the text above says 16 MiB");

/* Refuse both: one of them may be left over, perhaps in the environment, and must not silently
 * disable TLS. */
static bool check_secret_or_plaintext(const struct cluster_file_reader *r)
{
    static const char *const names[] = {"secret_file", "insecure_plaintext"};
    char from[2][PATH_MAX + 32];
    if (r->file->cluster.secret_file == NULL || !r->file->cluster.insecure_plaintext) return true;
    for (int i = 0; i < 2; i++)
        cluster_key_origin_format(r->file, config_key_find(cluster_keys, CLUSTER_KEYS, names[i]),
                                  cluster_key_origin(r->file, 0, names[i]), from[i],
                                  sizeof from[i]);
    return config_fail_at(
        r, place_of_first_set_key(r, "insecure_plaintext", "secret_file"),
        "remove insecure_plaintext to use the secret, or secret_file to run without TLS",
        "secret_file (%s) and insecure_plaintext (%s) cannot both be set", from[0], from[1]);
}

/* Without a secret, any process that reaches a port could have its own program run. */
static bool check_program_security(const struct cluster_file_reader *r)
{
    const char *key = r->file->cluster.allow_programs   ? "allow_programs"
                      : r->file->cluster.allow_commands ? "allow_commands"
                                                        : NULL;
    if (key == NULL || !r->file->cluster.insecure_plaintext) return true;
    return config_fail_at(
        r, place_of_first_set_key(r, key, "insecure_plaintext"),
        "remove one of them; with secret_file, programs and commands can be allowed",
        "%s and insecure_plaintext cannot both be true", key);
}

/* Each job that an executor serves needs its own port. */
static bool check_executor_ports(const struct cluster_file_reader *r)
{
    const struct cluster *c = &r->file->cluster;
    uint32_t count = c->ports.last - c->ports.first + 1u;
    /* 0: the system chooses ports. */
    if (c->ports.first == 0 || count >= c->drivers_max) return true;
    return config_fail_at(r, cluster_key_place(r, 0, "ports"),
                          "use a larger range of ports, or lower drivers_max",
                          "%u ports for drivers_max = %u", count, c->drivers_max);
}

static bool check_key_relations(const struct cluster_file_reader *r, bool listens)
{
    const struct cluster *c = &r->file->cluster;
    if (!check_heartbeat_limits(r) || !check_secret_or_plaintext(r) || !check_program_security(r) ||
        !check_executor_ports(r))
        return false;
    if (c->driver_host != NULL &&
        !check_reachable_host(r, cluster_key_place(r, 0, "driver_host"), "the driver",
                              "driver_host", c->driver_host))
        return false;
    if (c->executor_count == 0 && r->file->name != NULL && !listens)
        return config_fail_at(r, (struct toml_place){1, 1},
                              "add an [[executor]] with id and port; example: docs/cluster.md",
                              "the file has no [[executor]]");
    if (c->launch != LAUNCH_NONE && c->log_dir == NULL)
        return config_fail_at(r, cluster_key_place(r, 0, "launch"), "set log_dir",
                              "launched executors need a directory for their logs, and neither "
                              "XDG_STATE_HOME nor HOME is set");
    for (uint32_t n = 1; n <= c->executor_count; n++)
        if (!check_executor_section(r, n)) return false;
    return check_config_path_for_ssh_launch(r);
}

static const char missing_hint[] =
    "pass --cluster FILE or set GLINT_CLUSTER; all keys: docs/cluster.md";

/* ---- The file */

/* Sets the directories of relative paths. */
static bool set_path_directories(struct cluster_file_reader *r, const char *name)
{
    struct cluster_file *f = r->file;
    char cwd[PATH_BYTES_MAX];
    if (getcwd(cwd, sizeof cwd) == NULL) {
        error_set(r->error, GLINT_E_CONFIG, "change to a directory that exists",
                  "cannot determine the current directory");
        return false;
    }
    r->cwd = arena_strdup(&f->memory, cwd);
    r->variables = arena_alloc(&f->memory, (CLUSTER_KEYS + 1) * sizeof *r->variables);
    if (r->cwd == NULL || r->variables == NULL) return set_reader_no_memory_error(r);
    memset(r->variables, 0, (CLUSTER_KEYS + 1) * sizeof *r->variables);
    f->cluster.launch_variables = r->variables;
    if (name == NULL) return true;
    const char *path = config_key_absolute_path(&f->memory, r->cwd, name);
    if (path == NULL) return set_reader_no_memory_error(r);
    r->dir = arena_format(&f->memory, "%.*s", (int)(strrchr(path, '/') - path), path);
    if (r->dir == NULL) return set_reader_no_memory_error(r);
    f->name = name;
    f->cluster.path = path;
    return true;
}

/* ---- Values */

static bool set_key_from_toml(struct cluster_file_reader *r, const struct cluster_section *s,
                              const struct config_key *key, const struct toml_value *value,
                              enum origin_from from)
{
    const char *dir = from == FROM_FILE ? r->dir : r->cwd;
    switch (config_key_set(key, value, dir, &r->file->memory, s->target)) {
    case KEY_SET: s->origins[key - s->keys] = (struct cluster_origin){from, value->at}; return true;
    case KEY_NO_MEMORY: return set_reader_no_memory_error(r);
    case KEY_INVALID: break;
    }
    char cause[CAUSE_MAX], expected[256], name[64];
    const char *quote = value->kind == TOML_TEXT ? "\"" : "";
    assert(from != FROM_DEFAULT);
    config_key_format_expected(key, expected, sizeof expected);
    format_origin_name(key, from, name, sizeof name);
    text_format(cause, sizeof cause, "%s is %s%.64s%s; it must be %s", name, quote, value->text,
                quote, expected);
    if (from == FROM_FILE) return config_fail_at(r, value->at, key->help, "%s", cause);
    error_set(r->error, from == FROM_OPTION ? GLINT_E_BAD_VALUE : GLINT_E_CONFIG, key->help, "%s",
              cause);
    return false;
}

/* `text`: NULL: it is not set there. */
static bool set_key_from_text(struct cluster_file_reader *r, const struct cluster_section *s,
                              const struct config_key *key, const char *text, enum origin_from from)
{
    struct toml_value value;
    if (text == NULL) return true;
    if (!config_key_value_from_text(key, text, &r->file->memory, &value))
        return set_reader_no_memory_error(r);
    if (from == FROM_DEFAULT) value.at = s->origins[key - s->keys].at;
    return set_key_from_toml(r, s, key, &value, from);
}

/* For each key the environment first, then the option, which overrides it. */
static bool set_key_overrides(struct cluster_file_reader *r, const struct cluster_section *s,
                              const struct config_key *key, const struct cli_line *line)
{
    char name[64];
    if (key->option == NULL) return true;
    config_key_format_env_name(key, name, sizeof name);
    const char *variable = getenv(name);
    const char *option = line != NULL ? cli_line_option(line, key->option) : NULL;
    if (variable != NULL && variable[0] == '\0') variable = NULL;
    if (!set_key_from_text(r, s, key, variable, FROM_ENVIRONMENT)) return false;
    if (!set_key_from_text(r, s, key, option, FROM_OPTION)) return false;
    if (option == NULL) return true;
    /* Options override the file only in this process. Pass them on as environment variables to the
     * executors that it launches, which read the same file. */
    *r->variables = arena_format(&r->file->memory, "%s=%s", name, option);
    return *r->variables++ != NULL || set_reader_no_memory_error(r);
}

static const struct toml_value *find_toml_member(const struct toml_value *table, const char *name)
{
    for (uint32_t i = 0; i < table->count; i++)
        if (strcmp(table->items[i].key, name) == 0) return &table->items[i];
    return NULL;
}

static bool set_unknown_key_error(struct cluster_file_reader *r, const struct cluster_section *s,
                                  const struct toml_value *value)
{
    bool in_executor = s->keys == cluster_executor_keys;
    struct suggest suggest;
    char hint[160];
    suggest_init(&suggest, value->key);
    for (uint32_t i = 0; i < s->count; i++) suggest_add_candidate(&suggest, s->keys[i].name);
    if (!in_executor) suggest_add_candidate(&suggest, "executor");
    /* A known key in the wrong table is the most frequent mistake in TOML: say where it belongs. */
    if (config_key_find(cluster_keys, CLUSTER_KEYS, value->key) != NULL)
        text_format(hint, sizeof hint, "put %s before the first [[executor]]", value->key);
    else if (config_key_find(cluster_executor_keys, CLUSTER_EXECUTOR_KEYS, value->key) != NULL)
        text_format(hint, sizeof hint, "put %s into an [[executor]]", value->key);
    else if (suggest.name != NULL)
        text_format(hint, sizeof hint, "did you mean %s?  all keys: docs/cluster.md", suggest.name);
    else
        text_format(hint, sizeof hint, "all keys: docs/cluster.md, or glint config show");
    return config_fail_at(r, value->key_at, hint, "unknown key %.64s%s", value->key,
                          in_executor ? " in [[executor]]" : "");
}

/* Sets all keys of section n; `table` is its part of the file. */
static bool read_cluster_section(struct cluster_file_reader *r, uint32_t n,
                                 const struct toml_value *table, const struct cli_line *line)
{
    const struct cluster_section s = cluster_file_section(r->file, n);
    for (uint32_t i = 0; i < table->count; i++) {
        const char *name = table->items[i].key;
        if (config_key_find(s.keys, s.count, name) == NULL &&
            (n > 0 || strcmp(name, "executor") != 0))
            return set_unknown_key_error(r, &s, &table->items[i]);
    }
    for (uint32_t i = 0; i < s.count; i++) {
        const struct config_key *key = &s.keys[i];
        const struct toml_value *value = find_toml_member(table, key->name);
        s.origins[i] = (struct cluster_origin){.from = FROM_DEFAULT};
        if (n > 0) s.origins[i].at = table->at;
        if (!set_key_from_text(r, &s, key, key->default_value, FROM_DEFAULT) ||
            (value != NULL && !set_key_from_toml(r, &s, key, value, FROM_FILE)) ||
            !set_key_overrides(r, &s, key, line))
            return false;
        /* Only keys of [[executor]] are required. */
        if (value == NULL && key->default_value == NULL && key->absent == NULL)
            return config_fail_at(r, table->at, key->help, "an [[executor]] has no %s", key->name);
    }
    return true;
}

static bool read_executor_sections(struct cluster_file_reader *r, const struct toml_value *list)
{
    static const char hint[] = "write [[executor]], with two brackets, once for each executor";
    struct cluster_file *f = r->file;
    struct cluster *c = &f->cluster;
    const uint32_t count = list != NULL ? list->count : 0;
    if (count > CLUSTER_EXECUTORS_MAX)
        return config_fail_at(r, list->items[CLUSTER_EXECUTORS_MAX].at,
                              "several clusters can share a machine on different ports",
                              "%u executors; the maximum is %u", count, CLUSTER_EXECUTORS_MAX);
    c->executors = arena_alloc(&f->memory, ((uint64_t)count + 1) * sizeof *c->executors);
    f->executor_origins =
        arena_alloc(&f->memory, ((uint64_t)count + 1) * sizeof *f->executor_origins);
    if (c->executors == NULL || f->executor_origins == NULL) return set_reader_no_memory_error(r);
    memset(c->executors, 0, (uint64_t)count * sizeof *c->executors);
    if (list != NULL && list->kind != TOML_ARRAY)
        return config_fail_at(r, list->key_at, hint, "executor must be a list of tables");
    while (c->executor_count < count) {
        const struct toml_value *table = &list->items[c->executor_count++];
        if (table->kind != TOML_TABLE)
            return config_fail_at(r, table->at, hint, "executor must be a list of tables");
        if (!read_cluster_section(r, c->executor_count, table, NULL)) return false;
    }
    return true;
}

static bool read_toml_file(struct cluster_file_reader *r, struct toml_value *table)
{
    const char *name = r->file->name;
    struct toml_failure failure = {.at = {0, 0}};
    struct env_stat stat;
    int file = file_open_checked(r->env, name, FILE_CONFIG, GLINT_E_CONFIG, &stat, r->error);
    if (file == -ENOENT) text_format(r->error->hint, sizeof r->error->hint, "%s", missing_hint);
    if (file < 0) return false;
    /* The size limit is checked before reading. */
    const uint64_t size = stat.size <= TOML_BYTES_MAX ? stat.size : 0;
    uint8_t *data = arena_alloc(&r->file->memory, size + 1);
    int64_t n = data != NULL ? env_read_full(r->env, file, data, size, 0) : 0;
    r->env->close(r->env, file);
    if (data == NULL) return set_reader_no_memory_error(r);
    if (n < 0) error_set_system(r->error, GLINT_E_CONFIG, (int)n, "read", name);
    if (n < 0) return false;
    if (stat.size > TOML_BYTES_MAX)
        return config_fail_at(r, failure.at, missing_hint, "it is larger than 1 MiB");
    if (toml_read(&r->file->memory, data, (uint64_t)n, table, &failure)) return true;
    if (failure.no_memory) return set_reader_no_memory_error(r);
    return config_fail_at(r, failure.at,
                          "the format is TOML (toml.io); an example: docs/cluster.md", "%s",
                          failure.reason);
}

const struct glint_job_option *
cluster_option_table(const char *shown, struct glint_job_option out[CLUSTER_OPTIONS_MAX])
{
    struct glint_job_option *row = out;
    *row++ = (struct glint_job_option){"cluster", "FILE", NULL,
                                       "the cluster's file (default: $GLINT_CLUSTER)"};
    for (const struct config_key *key = cluster_keys; key < cluster_keys + CLUSTER_KEYS; key++) {
        uint64_t at;
        if (key->option == NULL) continue;
        const bool show = shown == NULL || cli_choice_find(shown, key->option, &at);
        /* A row without help works, but is hidden. */
        *row++ = (struct glint_job_option){key->option, key->value, NULL, show ? key->help : NULL};
    }
    *row = (struct glint_job_option){NULL, NULL, NULL, NULL};
    return out;
}

/* Default number of slots: as many as processors, limited by memory, but at least one per
 * driver. */
static uint32_t default_slot_count(const struct cluster *c, const struct cluster_executor *executor)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t slots = processors < 1 ? 1 : (uint64_t)processors;
    uint64_t fit = executor->memory_bytes / SLOT_MEMORY_BYTES_MIN;
    if (slots > fit) slots = fit;
    if (slots > SLOTS_MAX) slots = SLOTS_MAX;
    assert(slots >= 1);
    return slots < c->drivers_max ? c->drivers_max : (uint32_t)slots;
}

/* Defaults that depend on other values. */
static bool set_derived_defaults(struct cluster_file_reader *r)
{
    struct cluster *c = &r->file->cluster;
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool has_state = state != NULL && state[0] == '/';
    /* With the user's own secret, check_reachable_host allows only loopback addresses. */
    const bool own_secret = c->secret_file == NULL && !c->insecure_plaintext;
    if (cluster_key_origin(r->file, 0, "allow_programs")->from == FROM_DEFAULT)
        c->allow_programs = own_secret;
    if (cluster_key_origin(r->file, 0, "allow_commands")->from == FROM_DEFAULT)
        c->allow_commands = own_secret;
    for (uint32_t i = 0; i < c->executor_count; i++)
        if (c->executors[i].slots == 0)
            c->executors[i].slots = default_slot_count(c, &c->executors[i]);
    if (c->log_dir != NULL || (!has_state && (home == NULL || home[0] != '/'))) return true;
    const char *parent = has_state ? state : home;
    const char *below = has_state ? "/glint/log/" : "/.local/state/glint/log/";
    c->log_dir = arena_format(&r->file->memory, "%s%s%s", parent, below, c->name);
    return c->log_dir != NULL || set_reader_no_memory_error(r);
}

const char *cluster_file_name(const struct cli_line *line)
{
    const char *name = line != NULL ? cli_line_option(line, "cluster") : NULL;
    if (name != NULL) return name;
    name = getenv("GLINT_CLUSTER");
    return name != NULL && name[0] != '\0' ? name : NULL;
}

static int read_cluster_file(struct cluster_file *out, struct env *env, const char *name,
                             const struct cli_line *line, bool listens, struct glint_error *error)
{
    struct cluster_file_reader r = {.file = out, .env = env, .error = error};
    struct toml_value table = {.kind = TOML_TABLE};
    *out = (struct cluster_file){.name = NULL};
    bool sound = set_path_directories(&r, name) &&
                 (out->name == NULL || read_toml_file(&r, &table)) &&
                 read_cluster_section(&r, 0, &table, line) &&
                 read_executor_sections(&r, find_toml_member(&table, "executor")) &&
                 set_derived_defaults(&r) && check_key_relations(&r, listens);
    assert(sound == (error->code == GLINT_OK));
    return error->code;
}

int cluster_file_read(struct cluster_file *out, struct env *env, const struct cli_line *line,
                      bool listens, struct glint_error *error)
{
    return read_cluster_file(out, env, cluster_file_name(line), line, listens, error);
}

int cluster_file_read_named(struct cluster_file *out, struct env *env, const char *name,
                            struct glint_error *error)
{
    return read_cluster_file(out, env, name, NULL, false, error);
}

bool cluster_file_open(struct cluster_file *out, const struct cli_line *line, bool listens,
                       struct glint_error *error)
{
    /* The caller calls cluster_file_fini even after an early return. */
    memset(out, 0, sizeof *out);
    if (!listens && cluster_file_name(line) == NULL) {
        error_set(error, GLINT_E_USAGE, "add --cluster FILE, as in --cluster cluster.toml",
                  "%s needs a cluster file", line->syntax->command);
        return false;
    }
    return cluster_file_read(out, env_real(), line, listens, error) == GLINT_OK;
}

void cluster_file_fini(struct cluster_file *file)
{
    if (file == NULL) return;
    arena_fini(&file->memory);
    *file = (struct cluster_file){.name = NULL};
}
