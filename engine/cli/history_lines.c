/* The required fields of each event are a table. The file is read in chunks into a buffer that
 * never exceeds the longest allowed line plus one chunk. */
#include "engine/cli/history_lines.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/driver/event_log.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define READ_BYTES (64 * KIB)
#define FIELDS_MAX 12u

/* jansson does not always report out of memory: its lexer may fail with "invalid token" instead, so
 * the allocator records it. Only one thread reads a log. */
static bool out_of_memory;

static void *json_allocate(size_t size)
{
    void *block = mem_alloc(size);
    if (block == NULL) out_of_memory = true;
    return block;
}

void history_lines_init(void)
{
    out_of_memory = false;
    json_set_alloc_funcs(json_allocate, mem_free);
}

bool history_lines_out_of_memory(void)
{
    return out_of_memory;
}

/* ---- Kinds of fields */

static bool is_integer_below(const json_t *v, json_int_t end)
{
    return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) < end;
}

static bool is_u32(const json_t *v)
{
    return is_integer_below(v, UINT32_MAX);
}

static bool is_executor(const json_t *v)
{
    return is_integer_below(v, EXECUTORS_MAX);
}

static bool is_ms(const json_t *v)
{
    return json_is_number(v) && json_number_value(v) >= 0 && json_number_value(v) <= 9e15;
}

static bool is_ms_or_null(const json_t *v)
{
    return json_is_null(v) || is_ms(v);
}

static bool is_bool(const json_t *v)
{
    return json_is_boolean(v);
}

static bool is_text(const json_t *v)
{
    return json_is_string(v) || json_is_null(v);
}

static bool is_error(const json_t *v)
{
    return json_is_null(v) || (json_is_object(v) && json_is_string(json_object_get(v, "code")) &&
                               json_is_string(json_object_get(v, "text")) &&
                               json_is_string(json_object_get(v, "cause")));
}

static bool is_object(const json_t *v)
{
    return json_is_object(v);
}

/* An integer, or a string of digits. */
static bool is_whole_number(const json_t *v)
{
    int64_t value;
    if (!json_is_string(v)) return json_is_integer(v);
    if (json_string_length(v) == 0) return false;
    return text_parse_i64((const uint8_t *)json_string_value(v), json_string_length(v), &value) ||
           strspn(json_string_value(v), "0123456789") == json_string_length(v);
}

static bool is_counters(const json_t *v)
{
    const char *name;
    json_t *value;
    bool sound = json_is_object(v);
    json_object_foreach((json_t *)v, name, value) sound = sound && is_whole_number(value);
    return sound;
}

static bool is_list(const json_t *v, bool (*is_element)(const json_t *))
{
    bool sound = json_is_array(v);
    for (size_t i = 0; i < json_array_size(v); i++)
        sound = sound && is_element(json_array_get(v, i));
    return sound;
}

static bool is_texts(const json_t *v)
{
    return is_list(v, is_text);
}

static bool is_texts_if_any(const json_t *v)
{
    return v == NULL || is_texts(v); /* older versions do not write it */
}

static bool is_numbers(const json_t *v)
{
    return is_list(v, is_u32);
}

/* ---- Events */

struct field {
    const char *name;
    bool (*is_valid)(const json_t *value); /* NULL: missing */
};

static const struct event_schema {
    const char *name;
    struct field fields[FIELDS_MAX];
} event_schemas[] = {
    {"job",
     {{"id", is_text},
      {"name", is_text},
      {"version", is_text},
      {"build", is_text},
      {"master", is_text},
      {"arguments", is_texts},
      {"options", is_object}}},
    {"executor", {{"executor", is_executor}, {"state", is_text}}},
    {"action",
     {{"action", is_u32}, {"name", is_text}, {"output", is_text}, {"outputs", is_texts_if_any}}},
    {"action_end", {{"action", is_u32}, {"error", is_error}}},
    {"stage",
     {{"stage", is_u32},
      {"action", is_u32},
      {"name", is_text},
      {"tasks", is_u32},
      {"parents", is_numbers}}},
    {"stage_end", {{"stage", is_u32}, {"error", is_error}}},
    {"task",
     {{"stage", is_u32},
      {"task", is_u32},
      {"attempt", is_u32},
      {"executor", is_executor},
      {"speculative", is_bool},
      {"start_ms", is_ms},
      {"end_ms", is_ms},
      {"run_ms", is_ms_or_null},
      {"outcome", is_text},
      {"error", is_error},
      {"counters", is_counters}}},
    {"retry",
     {{"stage", is_u32},
      {"task", is_u32},
      {"attempt", is_u32},
      {"executor", is_executor},
      {"error", is_error}}},
    {"output", {{"path", is_text}}},
    {"note", {{"text", is_text}}},
    {"full", {{"bytes_max", is_whole_number}}},
    {"job_end", {{"error", is_error}}},
};

static int check_event(const json_t *o, struct glint_error *error)
{
    const json_t *schema = json_object_get(o, "schema");
    const char *event = json_string_value(json_object_get(o, "event"));
    if (!json_is_integer(schema) || event == NULL)
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "not an event log event");
    if (json_integer_value(schema) != EVENT_LOG_SCHEMA)
        return error_set(error, GLINT_E_EVENT_LOG_INVALID,
                         "use the version of glint that wrote the log",
                         "schema %lld, this version reads %d",
                         (long long)json_integer_value(schema), EVENT_LOG_SCHEMA);
    if (!is_ms(json_object_get(o, "ms")) || !json_is_string(json_object_get(o, "time")))
        return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL, "\"ms\" or \"time\" is missing");
    const struct event_schema *expected = NULL;
    for (size_t i = 0; i < sizeof event_schemas / sizeof event_schemas[0]; i++)
        if (strcmp(event_schemas[i].name, event) == 0) expected = &event_schemas[i];
    for (uint32_t i = 0; expected != NULL && i < FIELDS_MAX && expected->fields[i].name != NULL;
         i++) {
        const struct field *f = &expected->fields[i];
        if (!f->is_valid(json_object_get(o, f->name)))
            return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL,
                             "\"%s\" of a \"%s\" is missing or of another type", f->name, event);
    }
    return 0;
}

struct event_log_reader {
    const char *path;
    uint64_t number; /* of the current line, from 1 */
    int (*line)(void *arg, json_t *o, struct glint_error *error);
    void *arg;
    struct glint_error *error;
};

static int fail_at(const struct event_log_reader *r, const struct glint_error *why)
{
    const char *hint = why->hint[0] != '\0' ? why->hint : NULL;
    if (why->code == GLINT_E_NO_MEMORY) return error_no_memory(r->error);
    return error_set(r->error, why->code, hint, "%s:%llu: %s", r->path,
                     (unsigned long long)r->number, why->cause);
}

static int parse_line(struct event_log_reader *r, const uint8_t *data, uint64_t size)
{
    json_error_t wrong;
    struct glint_error why = {.code = GLINT_OK};
    json_t *o = json_loadb((const char *)data, size, 0, &wrong);
    if (o == NULL)
        error_set(&why, GLINT_E_EVENT_LOG_INVALID, NULL, "%s", wrong.text);
    else if (check_event(o, &why) == 0)
        r->line(r->arg, o, &why);
    json_decref(o);
    if (out_of_memory) return error_no_memory(r->error);
    return why.code == GLINT_OK ? 0 : fail_at(r, &why);
}

/* Parses all complete lines in the buffer, and moves the rest to its start. */
static int parse_lines(struct event_log_reader *r, struct buffer *b)
{
    const uint8_t *at = b->data, *end = b->data + b->size, *found;
    int code = 0;
    while (code == 0 && at < end && (found = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        r->number++;
        code = parse_line(r, at, (uint64_t)(found - at));
        at = found + 1;
    }
    b->size = (uint64_t)(end - at);
    if (b->size > 0) memmove(b->data, at, b->size);
    /* A longer line is not from glint; without this limit the buffer would grow with the file. */
    if (code != 0 || b->size <= EVENT_LOG_LINE_BYTES_MAX) return code;
    r->number++;
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_EVENT_LOG_INVALID, NULL, "a line is longer than %llu bytes",
              (unsigned long long)EVENT_LOG_LINE_BYTES_MAX);
    return fail_at(r, &why);
}

static int open_file(struct env *env, const char *path, int *out, struct glint_error *error)
{
    struct env_stat st;
    int file = env->open(env, ENV_CWD, path, ENV_READ);
    if (file == -ENOENT)
        return error_set(error, GLINT_E_INPUT_NOT_FOUND, NULL, "%s does not exist", path);
    if (file == -EACCES || file == -EPERM)
        return error_set_system(error, GLINT_E_INPUT_PERMISSION, file, "open", path);
    if (file < 0) return error_set_system(error, GLINT_E_INPUT_IO, file, "open", path);
    int r = env->stat_open(env, file, &st);
    if (r < 0)
        r = error_set_system(error, GLINT_E_INPUT_IO, r, "stat", path);
    else if (st.kind != ENV_FILE)
        r = error_set(error, GLINT_E_INPUT_KIND, NULL, "%s is not a regular file", path);
    if (r == 0)
        *out = file;
    else
        env->close(env, file);
    return r;
}

int history_read_lines(struct env *env, const char *path,
                       int (*line)(void *arg, json_t *o, struct glint_error *error), void *arg,
                       bool *out_truncated, struct glint_error *error)
{
    struct event_log_reader r = {.path = path, .line = line, .arg = arg, .error = error};
    struct buffer b = {NULL, 0, 0};
    int file = -1, code = open_file(env, path, &file, error);
    uint64_t offset = 0;
    for (bool more = code == 0; more && code == 0;) {
        if (!buffer_reserve(&b, READ_BYTES)) {
            code = error_no_memory(error);
            break;
        }
        int64_t n = env_read_full(env, file, b.data + b.size, READ_BYTES, offset);
        if (n < 0) code = error_set_system(error, GLINT_E_INPUT_IO, (int)n, "read", path);
        if (n <= 0) break;
        b.size += (uint64_t)n;
        offset += (uint64_t)n;
        /* Less than requested is the end of the file. A log of a running job may grow meanwhile. */
        more = (uint64_t)n == READ_BYTES;
        code = parse_lines(&r, &b);
    }
    *out_truncated = b.size > 0;
    buffer_fini(&b);
    if (file >= 0) env->close(env, file);
    return code;
}
