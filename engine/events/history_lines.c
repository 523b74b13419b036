/* The fields of each event are a table. The file is read in chunks into a buffer that
 * never exceeds the longest allowed line plus one chunk. */
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/events/event_log.h"
#include "engine/events/history.h"
#include "engine/input/input.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define READ_BYTES (64 * KIB)

/* jansson does not always report out of memory: its lexer may fail with "invalid token" instead, so
 * the allocator records it. Only one thread reads a log. */
static bool out_of_memory;

/* What jansson may still allocate for a line. A tree of JSON takes up to 80 times the memory of its
 * text; the smallest event, without texts, takes 17 times. */
#define JSON_TIMES      18u
#define JSON_MORE_BYTES MIB /* of a whole log */
static uint64_t allowance = UINT64_MAX;
static bool too_large;

static void *json_allocate(size_t size)
{
    const uint64_t taken = (size / 16 + 1) * 16; /* as malloc does */
    too_large = too_large || taken > allowance;
    if (too_large) return NULL;
    if (allowance != UINT64_MAX) allowance -= taken;
    void *block = mem_alloc_small(size);
    if (block == NULL) out_of_memory = true;
    return block;
}

void history_lines_init(void)
{
    out_of_memory = too_large = false;
    json_set_alloc_funcs(json_allocate, mem_free);
}

bool history_lines_out_of_memory(void)
{
    return out_of_memory;
}

/* ---- Events */

/* The fields that each event must have, and their kinds: n is a number, e the number of an
 * executor, m milliseconds, M the same or null, b a boolean, t a text or null, T an array of texts,
 * N an array of numbers, O one of objects, w an integer of any size, c an object of such, o any
 * object, E an error or null. "?": the field is optional: older versions do not write it. */
static const struct event_schema {
    const char *name, *fields;
} event_schemas[] = {
    {"job", "id:t name:t version:t build:t master:t arguments:T options:o"},
    {"executor", "executor:e state:t"},
    {"action", "action:n name:t output:t outputs:T?"},
    {"action_end", "action:n error:E accumulators:o?"},
    {"storage", "rdds:O"},
    {"stage", "stage:n action:n name:t tasks:n parents:N operators:T? operator_count:n?"},
    {"stage_end", "stage:n error:E"},
    {"task", "stage:n task:n attempt:n executor:e speculative:b start_ms:m end_ms:m run_ms:M "
             "outcome:t error:E counters:c"},
    {"retry", "stage:n task:n attempt:n executor:e error:E"},
    {"output", "path:t"},
    {"note", "text:t"},
    {"report", "name:t fields:o"},
    {"full", "bytes_max:w"},
    {"job_end", "error:E accumulators:o?"},
};

static bool is_integer_below(const json_t *v, json_int_t end)
{
    return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) < end;
}

static bool is_ms(const json_t *v)
{
    return json_is_number(v) && json_number_value(v) >= 0 && json_number_value(v) <= 9e15;
}

static bool is_error(const json_t *v)
{
    return json_is_object(v) && json_is_string(json_object_get(v, "code")) &&
           json_is_string(json_object_get(v, "text")) &&
           json_is_string(json_object_get(v, "cause"));
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

static bool is_element_of_kind(const json_t *v, char kind)
{
    switch (kind) {
    case 'n': return is_integer_below(v, UINT32_MAX);
    case 'e': return is_integer_below(v, EXECUTORS_MAX);
    case 'm': return is_ms(v);
    case 'M': return json_is_null(v) || is_ms(v);
    case 'b': return json_is_boolean(v);
    case 't': return json_is_null(v) || json_is_string(v);
    case 'w': return is_whole_number(v);
    case 'o': return json_is_object(v);
    default: return json_is_null(v) || is_error(v);
    }
}

static bool is_of_kind(json_t *v, char kind)
{
    const char *name;
    json_t *element;
    size_t i;
    bool sound = kind == 'c' ? json_is_object(v) : json_is_array(v);
    if (strchr("TNOc", kind) == NULL) return is_element_of_kind(v, kind);
    json_object_foreach(v, name, element) sound = sound && is_element_of_kind(element, 'w');
    json_array_foreach(v, i, element) sound =
        sound && is_element_of_kind(element, kind == 'T'   ? 't'
                                             : kind == 'O' ? 'o'
                                                           : 'n');
    return sound;
}

static int check_fields(const json_t *o, const char *event, const char *fields,
                        struct glint_error *error)
{
    while (*fields != '\0') {
        const size_t size = strcspn(fields, ":");
        const char *name = fields;
        json_t *value = json_object_getn(o, name, size);
        const char kind = name[size + 1];
        fields += strcspn(fields, " ");
        const bool missing = value == NULL && fields[-1] == '?';
        fields += strspn(fields, " ");
        if (!missing && !is_of_kind(value, kind))
            return error_set(error, GLINT_E_EVENT_LOG_INVALID, NULL,
                             "\"%.*s\" of a \"%s\" is missing or of another type", (int)size, name,
                             event);
    }
    return 0;
}

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
    for (size_t i = 0; i < sizeof event_schemas / sizeof event_schemas[0]; i++)
        if (strcmp(event_schemas[i].name, event) == 0)
            return check_fields(o, event, event_schemas[i].fields, error);
    return 0;
}

struct event_log_reader {
    const char *path;
    uint64_t number;    /* of the current line, from 1 */
    uint64_t allowance; /* that previous lines have left */
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

static int parse_event_line(struct event_log_reader *r, const uint8_t *data, uint64_t size)
{
    json_error_t wrong;
    struct glint_error why = {.code = GLINT_OK};
    allowance = r->allowance + size * JSON_TIMES;
    json_t *o = json_loadb((const char *)data, size, 0, &wrong);
    r->allowance = allowance;
    allowance = UINT64_MAX;
    if (too_large)
        error_set(&why, GLINT_E_EVENT_LOG_INVALID, NULL,
                  "the log takes more than %u times its size in memory", JSON_TIMES);
    else if (o == NULL)
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
        code = parse_event_line(r, at, (uint64_t)(found - at));
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
    if (file < 0) return error_set_system(error, input_error_code(file), file, "open", path);
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
    struct event_log_reader r = {
        .path = path, .allowance = JSON_MORE_BYTES, .line = line, .arg = arg, .error = error};
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
