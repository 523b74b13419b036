/* Arbitrary bytes as a path and a line of JSON. jansson must accept and reject the same lines, and
 * find the same value; only numbers that do not fit its types are an exception. */
#include "engine/input/json_line.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Follows the names in the tree; NULL: there is nothing. */
static json_t *find_in_tree(json_t *tree, const struct json_path *path)
{
    for (uint32_t i = 0; i < path->count && tree != NULL; i++) {
        const struct json_segment *s = &path->segments[i];
        if (json_is_array(tree))
            tree = s->index == UINT64_MAX ? NULL : json_array_get(tree, s->index);
        else if (json_is_object(tree))
            tree = json_object_getn(tree, (const char *)s->name.data, s->name.size);
        else
            tree = NULL;
    }
    return tree;
}

static void check_text(const struct json_value *v, const json_t *wanted)
{
    uint8_t *text = malloc(v->raw.size + 1);
    if (text == NULL) abort();
    const uint64_t size = json_text_decode(v->raw, text);
    if (!v->escaped && (size != v->raw.size || memcmp(text, v->raw.data, size) != 0)) abort();
    if (size != json_string_length(wanted)) abort();
    if (size > 0 && memcmp(text, json_string_value(wanted), size) != 0) abort();
    free(text);
}

static void check_value(const struct json_value *v, const json_t *wanted)
{
    if ((v->kind == JSON_KIND_MISSING) != (wanted == NULL)) abort();
    if (wanted == NULL) return;
    if ((v->kind == JSON_KIND_NULL) != json_is_null(wanted)) abort();
    if ((v->kind == JSON_KIND_CONTAINER) != (json_is_object(wanted) || json_is_array(wanted)))
        abort();
    if ((v->kind == JSON_KIND_TEXT) != json_is_string(wanted)) abort();
    if (v->kind == JSON_KIND_TEXT) check_text(v, wanted);
}

static void check_line(const struct json_paths *paths, struct glint_slice line)
{
    struct json_value values[JSON_PATHS_MAX];
    uint64_t at;
    json_error_t error;
    const char *problem = json_line_scan(paths, line, values, &at);
    if (at > line.size) abort();
    if (line.size > 0 && memchr(line.data, '\0', line.size) != NULL) { /* jansson skips some */
        if (problem == NULL) abort();
        return;
    }
    /* jansson accepts no NUL in names. */
    json_t *tree = json_loadb((const char *)line.data, line.size,
                              JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    const enum json_error_code code = tree == NULL ? json_error_code(&error) : json_error_unknown;
    if (code == json_error_numeric_overflow || code == json_error_null_byte_in_key) return;
    if (tree == NULL && strstr(error.text, "invalid Unicode") != NULL) return; /* half of a pair */
    if ((problem == NULL) != (tree != NULL && json_is_object(tree))) {
        const bool deep = problem != NULL && strstr(problem, "levels") != NULL;
        if (!deep) abort();
    }
    for (uint32_t i = 0; problem == NULL && i < paths->count; i++)
        check_value(&values[i], find_in_tree(tree, &paths->items[i]));
    json_decref(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer pointers = {NULL, 0, 0};
    struct arena arena = {NULL, NULL, 0};
    struct json_paths paths;
    bool no_memory;
    const uint8_t *lf = size > 0 ? memchr(data, '\n', size) : NULL;
    if (lf == NULL) return 0;
    const struct glint_slice path = {data, (uint64_t)(lf - data)};
    const struct glint_slice line = {lf + 1, size - path.size - 1};
    const bool found = json_path_append(&pointers, path, &no_memory) == NULL;
    const struct glint_slice bytes = {pointers.data, pointers.size};
    if (no_memory || found != (bytes.size > 0) || !json_pointers_are_valid(bytes)) abort();
    if (!json_paths_read(bytes, &arena, &paths) || paths.count != found) abort();
    check_line(&paths, line);
    if (json_pointers_are_valid(line) && !json_paths_read(line, &arena, &paths)) abort();
    arena_fini(&arena);
    buffer_fini(&pointers);
    if (mem_live_blocks() != 0) abort();
    return 0;
}
