/* Applies layer after layer: defaults first, then those that override them. Each layer is checked
 * completely, even where a later one overrides it. */
#include "engine/cli/cluster_file.h"

#include "engine/base/file_check.h"
#include "engine/base/text.h"
#include "engine/cli/suggest.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES_MAX 4096u
#define CAUSE_MAX      512u

static const char missing_hint[] =
    "pass --cluster FILE or set GLINT_CLUSTER; all keys: docs/cluster.md";

struct cluster_file_reader {
    struct cluster_file *file;
    struct env *env;
    struct glint_error *error;
    const char *cwd;
    const char *dir; /* of the file */
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

bool cluster_file_error(const struct cluster_file *file, struct toml_place at,
                        struct glint_error *error, const char *hint, const char *cause, ...)
{
    char text[CAUSE_MAX];
    va_list args;
    va_start(args, cause);
    vsnprintf(text, sizeof text, cause, args);
    va_end(args);
    const char *name = file->name != NULL ? file->name : "the cluster's options";
    if (at.line > 0)
        error_set(error, GLINT_E_CONFIG, hint, "%s:%u:%u: %s", name, at.line, at.column, text);
    else
        error_set(error, GLINT_E_CONFIG, hint, "%s: %s", name, text);
    return false;
}

static bool no_memory(struct cluster_file_reader *r)
{
    error_no_memory(r->error);
    return false;
}

/* ---- One value */

/* Writes what the user set: "dead", "GLINT_DEAD" or "--dead". */
static void source_name(const struct config_key *key, enum origin_from from, char *out,
                        size_t capacity)
{
    if (from == FROM_ENVIRONMENT)
        key_env_name(key, out, capacity);
    else
        text_format(out, capacity, "%s%s", from == FROM_OPTION ? "--" : "",
                    from == FROM_OPTION ? key->option : key->name);
}

static bool set_value(struct cluster_file_reader *r, const struct cluster_section *s,
                      const struct config_key *key, const struct toml_value *value,
                      enum origin_from from)
{
    const char *dir = from == FROM_FILE ? r->dir : r->cwd;
    switch (key_set(key, value, dir, &r->file->memory, s->target)) {
    case KEY_SET: s->origins[key - s->keys] = (struct cluster_origin){from, value->at}; return true;
    case KEY_NO_MEMORY: return no_memory(r);
    case KEY_INVALID: break;
    }
    char cause[CAUSE_MAX], expected[256], name[64];
    const char *quote = value->kind == TOML_TEXT ? "\"" : "";
    assert(from != FROM_DEFAULT);
    key_expected(key, expected, sizeof expected);
    source_name(key, from, name, sizeof name);
    text_format(cause, sizeof cause, "%s is %s%.64s%s; it must be %s", name, quote, value->text,
                quote, expected);
    if (from == FROM_FILE)
        return cluster_file_error(r->file, value->at, r->error, key->help, "%s", cause);
    error_set(r->error, from == FROM_OPTION ? GLINT_E_BAD_VALUE : GLINT_E_CONFIG, key->help, "%s",
              cause);
    return false;
}

/* `at`: for FROM_DEFAULT, the executor. */
static bool set_text(struct cluster_file_reader *r, const struct cluster_section *s,
                     const struct config_key *key, const char *text, enum origin_from from,
                     struct toml_place at)
{
    struct toml_value value;
    if (!key_value_from_text(key, text, &r->file->memory, &value)) return no_memory(r);
    value.at = at;
    return set_value(r, s, key, &value, from);
}

static bool set_defaults(struct cluster_file_reader *r, const struct cluster_section *s,
                         struct toml_place at)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct config_key *key = &s->keys[i];
        s->origins[i] = (struct cluster_origin){FROM_DEFAULT, at};
        if (key->default_value != NULL &&
            !set_text(r, s, key, key->default_value, FROM_DEFAULT, at))
            return false;
    }
    return true;
}

/* ---- The file */

static bool find_directory(struct cluster_file_reader *r, const char *name)
{
    struct cluster_file *f = r->file;
    char cwd[PATH_BYTES_MAX];
    if (getcwd(cwd, sizeof cwd) == NULL) {
        error_set(r->error, GLINT_E_CONFIG, "change to a directory that exists",
                  "cannot determine the current directory");
        return false;
    }
    r->cwd = arena_strdup(&f->memory, cwd);
    if (r->cwd == NULL) return no_memory(r);
    if (name == NULL) return true;
    const char *path = key_absolute_path(&f->memory, r->cwd, name);
    if (path == NULL) return no_memory(r);
    r->dir = arena_format(&f->memory, "%.*s", (int)(strrchr(path, '/') - path), path);
    if (r->dir == NULL) return no_memory(r);
    f->name = name;
    f->cluster.path = path;
    return true;
}

static bool unknown_key(struct cluster_file_reader *r, const struct cluster_section *s,
                        const struct toml_value *value)
{
    bool in_executor = s->keys == cluster_executor_keys;
    struct suggest suggest;
    char hint[160];
    suggest_init(&suggest, value->key);
    for (uint32_t i = 0; i < s->count; i++) suggest_offer(&suggest, s->keys[i].name);
    if (!in_executor) suggest_offer(&suggest, "executor");
    /* A known key in the wrong table is the most frequent mistake in TOML: say where it belongs. */
    if (key_find(cluster_keys, CLUSTER_KEYS, value->key) != NULL)
        text_format(hint, sizeof hint, "put %s before the first [[executor]]", value->key);
    else if (key_find(cluster_executor_keys, CLUSTER_EXECUTOR_KEYS, value->key) != NULL)
        text_format(hint, sizeof hint, "put %s into an [[executor]]", value->key);
    else if (suggest.name != NULL)
        text_format(hint, sizeof hint, "did you mean %s?  all keys: docs/cluster.md", suggest.name);
    else
        text_format(hint, sizeof hint, "all keys: docs/cluster.md, or glint config show");
    return cluster_file_error(r->file, value->key_at, r->error, hint, "unknown key %.64s%s",
                              value->key, in_executor ? " in [[executor]]" : "");
}

static bool set_executors(struct cluster_file_reader *r, const struct toml_value *list);

static bool set_table(struct cluster_file_reader *r, const struct cluster_section *s,
                      const struct toml_value *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct toml_value *value = &table->items[i];
        const struct config_key *key = key_find(s->keys, s->count, value->key);
        bool sound;
        if (s->keys == cluster_keys && strcmp(value->key, "executor") == 0)
            sound = set_executors(r, value);
        else if (key == NULL)
            sound = unknown_key(r, s, value);
        else
            sound = set_value(r, s, key, value, FROM_FILE);
        if (!sound) return false;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        const struct config_key *key = &s->keys[i];
        bool required = key->default_value == NULL && key->absent == NULL;
        /* Only keys of [[executor]] are required. */
        if (required && s->origins[i].from == FROM_DEFAULT)
            return cluster_file_error(r->file, table->at, r->error, key->help,
                                      "an [[executor]] has no %s", key->name);
    }
    return true;
}

static bool set_executors(struct cluster_file_reader *r, const struct toml_value *list)
{
    static const char hint[] = "write [[executor]], with two brackets, once for each executor";
    struct cluster_file *f = r->file;
    uint32_t count = list->count;
    if (list->kind != TOML_ARRAY)
        return cluster_file_error(f, list->key_at, r->error, hint,
                                  "executor must be a list of tables");
    if (count > CLUSTER_EXECUTORS_MAX)
        return cluster_file_error(f, list->items[CLUSTER_EXECUTORS_MAX].at, r->error,
                                  "several clusters can share a machine on different ports",
                                  "%u executors; the maximum is %u", count, CLUSTER_EXECUTORS_MAX);
    uint64_t slots = (uint64_t)count + 1; /* avoids allocating 0 bytes */
    f->cluster.executors = arena_alloc(&f->memory, slots * sizeof *f->cluster.executors);
    f->executor_origins = arena_alloc(&f->memory, slots * sizeof *f->executor_origins);
    if (f->cluster.executors == NULL || f->executor_origins == NULL) return no_memory(r);
    memset(f->cluster.executors, 0, slots * sizeof *f->cluster.executors);
    for (uint32_t i = 0; i < count; i++) {
        const struct toml_value *table = &list->items[i];
        f->cluster.executor_count = i + 1;
        const struct cluster_section s = cluster_file_section(f, i + 1);
        if (table->kind != TOML_TABLE)
            return cluster_file_error(f, table->at, r->error, hint,
                                      "executor must be a list of tables");
        if (!set_defaults(r, &s, table->at) || !set_table(r, &s, table)) return false;
    }
    return true;
}

static bool read_cluster_file(struct cluster_file_reader *r, const struct cluster_section *s)
{
    const char *name = r->file->name;
    struct toml_failure failure = {.at = {0, 0}};
    struct toml_value table;
    struct env_stat stat;
    int file = file_open_checked(r->env, name, FILE_CONFIG, GLINT_E_CONFIG, &stat, r->error);
    if (file == -ENOENT) text_format(r->error->hint, sizeof r->error->hint, "%s", missing_hint);
    if (file < 0) return false;
    /* The size limit is checked before reading. */
    const uint64_t size = stat.size <= TOML_BYTES_MAX ? stat.size : 0;
    uint8_t *data = arena_alloc(&r->file->memory, size + 1);
    int64_t n = data != NULL ? env_read_full(r->env, file, data, size, 0) : 0;
    r->env->close(r->env, file);
    if (data == NULL) return no_memory(r);
    if (n < 0) error_set_system(r->error, GLINT_E_CONFIG, (int)n, "read", name);
    if (n < 0) return false;
    if (stat.size > TOML_BYTES_MAX)
        return cluster_file_error(r->file, failure.at, r->error, missing_hint,
                                  "it is larger than 1 MiB");
    if (toml_read(&r->file->memory, data, (uint64_t)n, &table, &failure))
        return set_table(r, s, &table);
    if (failure.no_memory) return no_memory(r);
    return cluster_file_error(r->file, failure.at, r->error,
                              "the format is TOML (toml.io); an example: docs/cluster.md", "%s",
                              failure.reason);
}

/* ---- Environment and options */

const struct glint_job_option *cluster_options(const char *const *shown,
                                               struct glint_job_option out[CLUSTER_OPTIONS_MAX])
{
    struct glint_job_option *row = out;
    *row++ = (struct glint_job_option){"cluster", "FILE", NULL,
                                       "the cluster's file (default: $GLINT_CLUSTER)"};
    for (const struct config_key *key = cluster_keys; key < cluster_keys + CLUSTER_KEYS; key++) {
        bool show = shown == NULL;
        if (key->option == NULL) continue;
        for (uint32_t i = 0; shown != NULL && shown[i] != NULL; i++)
            show = show || strcmp(shown[i], key->option) == 0;
        /* A row without help works, but is hidden. */
        *row++ = (struct glint_job_option){key->option, key->value, NULL, show ? key->help : NULL};
    }
    *row = (struct glint_job_option){NULL, NULL, NULL, NULL};
    return out;
}

/* For each key the environment first, then the option, which overrides it. */
static bool read_overrides(struct cluster_file_reader *r, const struct cluster_section *s,
                           const struct cli_line *line)
{
    uint64_t size = (CLUSTER_KEYS + 1) * sizeof(char *);
    const char **variables = arena_alloc(&r->file->memory, size), *text;
    const struct toml_place none = {0, 0};
    char name[64];
    if (variables == NULL) return no_memory(r);
    memset(variables, 0, size);
    r->file->cluster.launch_variables = variables;
    for (const struct config_key *key = s->keys; key < s->keys + s->count; key++) {
        if (key->option == NULL) continue;
        key_env_name(key, name, sizeof name);
        text = getenv(name);
        if (text != NULL && text[0] != '\0' && !set_text(r, s, key, text, FROM_ENVIRONMENT, none))
            return false;
        text = line != NULL ? cli_line_option(line, key->option) : NULL;
        if (text == NULL) continue;
        if (!set_text(r, s, key, text, FROM_OPTION, none)) return false;
        /* Options override the file only in this process. Pass them on as environment variables to
         * the executors that it launches, which read the same file. */
        *variables = arena_format(&r->file->memory, "%s=%s", name, text);
        if (*variables++ == NULL) return no_memory(r);
    }
    return true;
}

/* Default number of slots: as many as processors, limited by memory, but at least one per
 * driver. */
static uint32_t derive_slots(const struct cluster *c, const struct cluster_executor *executor)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t slots = processors < 1 ? 1 : (uint64_t)processors;
    uint64_t fit = executor->memory_bytes / SLOT_MEMORY_BYTES_MIN;
    if (slots > fit) slots = fit;
    if (slots > SLOTS_MAX) slots = SLOTS_MAX;
    assert(slots >= 1);
    return slots < c->drivers_max ? c->drivers_max : (uint32_t)slots;
}

static bool is_default(const struct cluster_file_reader *r, const char *name)
{
    const struct config_key *key = key_find(cluster_keys, CLUSTER_KEYS, name);
    return r->file->origins[key - cluster_keys].from == FROM_DEFAULT;
}

/* Defaults that depend on other values. */
static bool derive_defaults(struct cluster_file_reader *r)
{
    struct cluster *c = &r->file->cluster;
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool has_state = state != NULL && state[0] == '/';
    /* With the user's own secret, cluster_file_check allows only loopback addresses. */
    const bool own_secret = c->secret_file == NULL && !c->insecure_plaintext;
    if (is_default(r, "allow_programs")) c->allow_programs = own_secret;
    if (is_default(r, "allow_commands")) c->allow_commands = own_secret;
    for (uint32_t i = 0; i < c->executor_count; i++)
        if (c->executors[i].slots == 0) c->executors[i].slots = derive_slots(c, &c->executors[i]);
    if (c->log_dir != NULL || (!has_state && (home == NULL || home[0] != '/'))) return true;
    const char *parent = has_state ? state : home;
    const char *below = has_state ? "/glint/log/" : "/.local/state/glint/log/";
    c->log_dir = arena_format(&r->file->memory, "%s%s%s", parent, below, c->name);
    return c->log_dir != NULL || no_memory(r);
}

const char *cluster_file_name(const struct cli_line *line)
{
    const char *name = line != NULL ? cli_line_option(line, "cluster") : NULL;
    if (name != NULL) return name;
    name = getenv("GLINT_CLUSTER");
    return name != NULL && name[0] != '\0' ? name : NULL;
}

int cluster_file_read(struct cluster_file *out, struct env *env, const struct cli_line *line,
                      bool listens, struct glint_error *error)
{
    struct cluster_file_reader r = {.file = out, .env = env, .error = error};
    const char *name = cluster_file_name(line);
    const struct toml_place none = {0, 0};
    *out = (struct cluster_file){.name = NULL};
    const struct cluster_section s = cluster_file_section(out, 0);
    bool sound = find_directory(&r, name) && set_defaults(&r, &s, none) &&
                 (name == NULL || read_cluster_file(&r, &s)) && read_overrides(&r, &s, line) &&
                 derive_defaults(&r) && cluster_file_check(out, listens, error);
    assert(sound == (error->code == GLINT_OK));
    return error->code;
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

void cluster_origin_text(const struct cluster_file *file, const struct config_key *key,
                         const struct cluster_origin *origin, char *out, size_t capacity)
{
    char name[64];
    source_name(key, origin->from, name, sizeof name);
    assert(origin->from != FROM_FILE || file->name != NULL);
    if (origin->from == FROM_DEFAULT)
        text_format(out, capacity, "default");
    else if (origin->from == FROM_FILE)
        text_format(out, capacity, "%s:%u", file->name, origin->at.line);
    else
        text_format(out, capacity, "%s %s", origin->from == FROM_OPTION ? "option" : "environment",
                    name);
}
