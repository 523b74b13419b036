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
    const struct cluster_source *source;
    struct glint_error *error;
    enum glint_code code; /* for errors in the layer that is being read */
    const char *cwd;
    const char *dir; /* of the file */
};

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

static void value_text(const struct toml_value *value, char *out, size_t capacity)
{
    static const char *const kinds[] = {[TOML_REAL] = "a number with a fraction",
                                        [TOML_DATE] = "a date",
                                        [TOML_ARRAY] = "an array",
                                        [TOML_TABLE] = "a table"};
    switch (value->kind) {
    case TOML_TEXT: text_format(out, capacity, "\"%.64s\"", value->text); break;
    case TOML_INTEGER: text_format(out, capacity, "%lld", (long long)value->integer); break;
    case TOML_BOOL: text_format(out, capacity, "%s", value->boolean ? "true" : "false"); break;
    default: text_format(out, capacity, "%s", kinds[value->kind]); break;
    }
}

/* `name`: the option or variable that has the value; NULL: the file. */
static bool set_value(struct cluster_file_reader *r, const struct cluster_key *key,
                      const struct toml_value *value, const char *name, const char *dir,
                      void *target)
{
    switch (key_set(key, value, dir, &r->file->memory, target)) {
    case KEY_SET: return true;
    case KEY_NO_MEMORY: return no_memory(r);
    case KEY_INVALID: break;
    }
    char wanted[256], found[80];
    key_expected(key, wanted, sizeof wanted);
    value_text(value, found, sizeof found);
    if (name == NULL)
        return cluster_file_error(r->file, value->at, r->error, key->help,
                                  "%s is %s; it must be %s", key->name, found, wanted);
    error_set(r->error, r->code, key->help, "%s is %s; it must be %s", name, found, wanted);
    return false;
}

static bool set_from_text(struct cluster_file_reader *r, const struct cluster_key *key,
                          const char *text, const char *name, void *target)
{
    struct toml_value value;
    if (!key_value_from_text(key, text, &r->file->memory, &value)) return no_memory(r);
    return set_value(r, key, &value, name, r->cwd, target);
}

static bool set_defaults(struct cluster_file_reader *r, const struct cluster_key *keys,
                         uint32_t count, void *target)
{
    for (uint32_t i = 0; i < count; i++)
        if (keys[i].default_value != NULL &&
            !set_from_text(r, &keys[i], keys[i].default_value, keys[i].name, target))
            return false;
    return true;
}

/* ---- The file */

static bool find_directory(struct cluster_file_reader *r, const char *name)
{
    struct cluster_file *f = r->file;
    char *cwd = arena_alloc(&f->memory, PATH_BYTES_MAX);
    if (cwd == NULL) return no_memory(r);
    r->cwd = getcwd(cwd, PATH_BYTES_MAX);
    if (r->cwd == NULL) {
        error_set(r->error, GLINT_E_CONFIG, "change to a directory that exists",
                  "cannot determine the current directory");
        return false;
    }
    if (name == NULL) return true;
    size_t size = strlen(r->cwd) + strlen(name) + 2;
    char *path = arena_alloc(&f->memory, size), *dir = arena_alloc(&f->memory, size);
    if (path == NULL || dir == NULL) return no_memory(r);
    bool absolute = name[0] == '/';
    text_format(path, size, "%s%s%s", absolute ? "" : r->cwd, absolute ? "" : "/", name);
    int length = (int)(strrchr(path, '/') - path);
    text_format(dir, size, "%.*s", length, path);
    f->name = name;
    f->cluster.path = path;
    r->dir = dir;
    return true;
}

/* Reads the whole file into the arena. The size limit is checked before reading. */
static bool load_file(struct cluster_file_reader *r, uint8_t **out_data, uint64_t *out_size)
{
    const char *name = r->file->name;
    struct toml_place nowhere = {0, 0};
    struct env_stat stat;
    int file = file_open_checked(r->env, name, FILE_CONFIG, GLINT_E_CONFIG, &stat, r->error);
    if (file == -ENOENT) text_format(r->error->hint, sizeof r->error->hint, "%s", missing_hint);
    if (file < 0) return false;
    int64_t size = 0;
    uint8_t *data = NULL;
    if (stat.size > TOML_BYTES_MAX) {
        cluster_file_error(r->file, nowhere, r->error, missing_hint, "it is larger than 1 MiB");
    } else if ((data = arena_alloc(&r->file->memory, stat.size + 1)) == NULL) {
        no_memory(r);
    } else {
        size = env_read_full(r->env, file, data, stat.size, 0);
        if (size < 0) error_set_system(r->error, GLINT_E_CONFIG, (int)size, "read", name);
    }
    r->env->close(r->env, file);
    *out_data = data;
    *out_size = size > 0 ? (uint64_t)size : 0;
    return r->error->code == GLINT_OK;
}

static const struct cluster_key *find_key(const struct cluster_key *keys, uint32_t count,
                                          const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(keys[i].name, name) == 0) return &keys[i];
    return NULL;
}

static bool unknown_key(struct cluster_file_reader *r, const struct toml_value *value,
                        bool in_executor)
{
    const struct cluster_key *keys = in_executor ? cluster_executor_keys : cluster_keys;
    uint32_t count = in_executor ? CLUSTER_EXECUTOR_KEYS : CLUSTER_KEYS;
    struct suggest suggest;
    char hint[160];
    suggest_init(&suggest, value->key);
    for (uint32_t i = 0; i < count; i++) suggest_offer(&suggest, keys[i].name);
    if (!in_executor) suggest_offer(&suggest, "executor");
    /* A known key in the wrong table is the most frequent mistake in TOML: say where it belongs. */
    if (find_key(cluster_keys, CLUSTER_KEYS, value->key) != NULL)
        text_format(hint, sizeof hint, "put %s before the first [[executor]]", value->key);
    else if (find_key(cluster_executor_keys, CLUSTER_EXECUTOR_KEYS, value->key) != NULL)
        text_format(hint, sizeof hint, "put %s into an [[executor]]", value->key);
    else if (suggest.name != NULL)
        text_format(hint, sizeof hint, "did you mean %s?  all keys: docs/cluster.md", suggest.name);
    else
        text_format(hint, sizeof hint, "all keys: docs/cluster.md, or glint config show");
    return cluster_file_error(r->file, value->key_at, r->error, hint, "unknown key %.64s%s",
                              value->key, in_executor ? " in [[executor]]" : "");
}

static bool set_executor(struct cluster_file_reader *r, const struct toml_value *table,
                         uint32_t index)
{
    struct cluster_executor *executor = &r->file->cluster.executors[index];
    struct cluster_origin *origins = r->file->executor_origins[index];
    if (!set_defaults(r, cluster_executor_keys, CLUSTER_EXECUTOR_KEYS, executor)) return false;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct toml_value *value = &table->items[i];
        const struct cluster_key *key =
            find_key(cluster_executor_keys, CLUSTER_EXECUTOR_KEYS, value->key);
        if (key == NULL) return unknown_key(r, value, true);
        if (!set_value(r, key, value, NULL, r->dir, executor)) return false;
        origins[key - cluster_executor_keys] = (struct cluster_origin){FROM_FILE, value->at};
    }
    for (uint32_t i = 0; i < CLUSTER_EXECUTOR_KEYS; i++) {
        const struct cluster_key *key = &cluster_executor_keys[i];
        /* Only the keys of [[executor]] can be required. */
        bool needed = key->default_value == NULL && key->absent == NULL;
        if (needed && origins[i].from == FROM_DEFAULT)
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
    f->executor_places = arena_alloc(&f->memory, slots * sizeof *f->executor_places);
    if (f->cluster.executors == NULL || f->executor_origins == NULL || f->executor_places == NULL)
        return no_memory(r);
    memset(f->cluster.executors, 0, slots * sizeof *f->cluster.executors);
    memset(f->executor_origins, 0, slots * sizeof *f->executor_origins);
    for (uint32_t i = 0; i < count; i++) {
        const struct toml_value *table = &list->items[i];
        if (table->kind != TOML_TABLE)
            return cluster_file_error(f, table->at, r->error, hint,
                                      "executor must be a list of tables");
        f->executor_places[i] = table->at;
        if (!set_executor(r, table, i)) return false;
        f->cluster.executor_count = i + 1;
    }
    return true;
}

static bool read_file(struct cluster_file_reader *r)
{
    struct toml_failure failure;
    struct toml_value table;
    uint8_t *data;
    uint64_t size;
    if (!load_file(r, &data, &size)) return false;
    if (!toml_read(&r->file->memory, data, size, &table, &failure)) {
        if (failure.no_memory) return no_memory(r);
        return cluster_file_error(r->file, failure.at, r->error,
                                  "the format is TOML (toml.io); an example: docs/cluster.md", "%s",
                                  failure.reason);
    }
    assert(table.kind == TOML_TABLE);
    for (uint32_t i = 0; i < table.count; i++) {
        const struct toml_value *value = &table.items[i];
        const struct cluster_key *key = find_key(cluster_keys, CLUSTER_KEYS, value->key);
        bool sound;
        if (strcmp(value->key, "executor") == 0)
            sound = set_executors(r, value);
        else if (key == NULL)
            sound = unknown_key(r, value, false);
        else
            sound = set_value(r, key, value, NULL, r->dir, &r->file->cluster);
        if (!sound) return false;
        if (key != NULL)
            r->file->origins[key - cluster_keys] = (struct cluster_origin){FROM_FILE, value->at};
    }
    return true;
}

/* ---- Environment and options */

static bool read_environment(struct cluster_file_reader *r)
{
    for (uint32_t i = 0; i < CLUSTER_KEYS; i++) {
        char name[64];
        key_env_name(&cluster_keys[i], name, sizeof name);
        const char *text = cluster_keys[i].option != NULL ? getenv(name) : NULL;
        if (text == NULL || text[0] == '\0') continue;
        if (!set_from_text(r, &cluster_keys[i], text, name, &r->file->cluster)) return false;
        r->file->origins[i] = (struct cluster_origin){.from = FROM_ENVIRONMENT};
    }
    return true;
}

/* Options override the file only in this process. Pass them on as environment variables to the
 * executors that it launches, which read the same file. */
static bool add_launch_variable(struct cluster_file_reader *r, const struct cluster_option *option,
                                const char **out)
{
    char name[64];
    key_env_name(option->key, name, sizeof name);
    size_t size = strlen(name) + strlen(option->text) + 2;
    char *text = arena_alloc(&r->file->memory, size);
    if (text == NULL) return no_memory(r);
    text_format(text, size, "%s=%s", name, option->text);
    *out = text;
    return true;
}

static bool read_options(struct cluster_file_reader *r)
{
    r->code = GLINT_E_BAD_VALUE;
    uint64_t size = (r->source->option_count + 1) * sizeof(char *);
    const char **variables = arena_alloc(&r->file->memory, size);
    if (variables == NULL) return no_memory(r);
    memset(variables, 0, size);
    r->file->cluster.launch_variables = variables;
    for (uint32_t i = 0; i < r->source->option_count; i++) {
        const struct cluster_option *option = &r->source->options[i];
        char name[64];
        assert(option->key->option != NULL && option->key >= cluster_keys);
        text_format(name, sizeof name, "--%s", option->key->option);
        if (!set_from_text(r, option->key, option->text, name, &r->file->cluster)) return false;
        if (!add_launch_variable(r, option, &variables[i])) return false;
        assert(option->key < cluster_keys + CLUSTER_KEYS);
        r->file->origins[option->key - cluster_keys] = (struct cluster_origin){.from = FROM_OPTION};
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

/* Defaults that depend on other values. */
static bool derive_defaults(struct cluster_file_reader *r)
{
    struct cluster *c = &r->file->cluster;
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool has_state = state != NULL && state[0] == '/';
    for (uint32_t i = 0; i < c->executor_count; i++)
        if (c->executors[i].slots == 0) c->executors[i].slots = derive_slots(c, &c->executors[i]);
    if (c->log_dir != NULL || (!has_state && (home == NULL || home[0] != '/'))) return true;
    const char *parent = has_state ? state : home;
    const char *below = has_state ? "/glint/log/" : "/.local/state/glint/log/";
    size_t size = strlen(parent) + strlen(below) + strlen(c->name) + 1;
    char *path = arena_alloc(&r->file->memory, size);
    if (path == NULL) return no_memory(r);
    text_format(path, size, "%s%s%s", parent, below, c->name);
    c->log_dir = path;
    return true;
}

int cluster_file_read(struct cluster_file *out, struct env *env,
                      const struct cluster_source *source, struct glint_error *error)
{
    struct cluster_file_reader r = {.file = out, .env = env, .source = source, .error = error};
    r.code = GLINT_E_CONFIG;
    const char *name = source->path != NULL ? source->path : getenv("GLINT_CLUSTER");
    if (name != NULL && name[0] == '\0' && source->path == NULL) name = NULL;
    *out = (struct cluster_file){.name = NULL};
    bool sound = find_directory(&r, name) &&
                 set_defaults(&r, cluster_keys, CLUSTER_KEYS, &out->cluster) &&
                 (name == NULL || read_file(&r)) && read_environment(&r) && read_options(&r) &&
                 derive_defaults(&r) && cluster_file_check(out, source->listens, error);
    assert(sound == (error->code == GLINT_OK));
    return error->code;
}

void cluster_file_fini(struct cluster_file *file)
{
    if (file == NULL) return;
    arena_fini(&file->memory);
    *file = (struct cluster_file){.name = NULL};
}

void cluster_origin_text(const struct cluster_file *file, const struct cluster_key *key,
                         const struct cluster_origin *origin, char *out, size_t capacity)
{
    char variable[64];
    switch (origin->from) {
    case FROM_DEFAULT: text_format(out, capacity, "default"); break;
    case FROM_FILE:
        assert(file->name != NULL);
        text_format(out, capacity, "%s:%u", file->name, origin->at.line);
        break;
    case FROM_ENVIRONMENT:
        key_env_name(key, variable, sizeof variable);
        text_format(out, capacity, "environment %s", variable);
        break;
    case FROM_OPTION: text_format(out, capacity, "option --%s", key->option); break;
    }
}
