/* See json_members.h. */
#include "ops/json_members.h"

#include "engine/base/text.h"
#include "engine/input/csv.h"
#include "engine/input/format.h"
#include "engine/input/input_stream.h"
#include "engine/input/json_line.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#define HEAD_BYTES (64 * KIB)

struct head {
    struct buffer bytes; /* whole lines */
    bool all;            /* of the file */
};

static void read_head(struct env *env, const struct input_file *file, struct head *out)
{
    const struct split_piece piece = split_whole_file(file);
    struct glint_error ignored = {.code = GLINT_OK};
    struct buffer *const b = &out->bytes;
    struct input_stream s;
    int64_t n = input_stream_open(&s, env, &piece, 0, &ignored);
    if (n == 0 && !buffer_reserve(b, HEAD_BYTES)) n = -1;
    while (n >= 0 && b->size < HEAD_BYTES && !s.ended)
        if ((n = input_stream_read(&s, b->data + b->size, HEAD_BYTES - b->size)) > 0)
            b->size += (uint64_t)n;
    out->all = n >= 0 && s.ended;
    while (!out->all && b->size > 0 && b->data[b->size - 1] != '\n') b->size--;
    input_stream_close(&s);
}

/* Cuts the next line off *rest. */
static struct glint_slice next_line(struct glint_slice *rest)
{
    const uint8_t *lf = memchr(rest->data, '\n', rest->size);
    const struct glint_slice line = {rest->data,
                                     lf != NULL ? (uint64_t)(lf - rest->data) : rest->size};
    const uint64_t passed = line.size + (lf != NULL);
    *rest = (struct glint_slice){rest->data + passed, rest->size - passed};
    return line;
}

/* Returns the set of paths that a line has. *out_first: the first line that is an object. */
static uint64_t find_paths_in_lines(const struct json_paths *paths, struct glint_slice rest,
                                    uint32_t *out_lines, struct glint_slice *out_first)
{
    struct json_value values[JSON_PATHS_MAX];
    uint64_t found = 0, at;
    while (rest.size > 0) {
        const struct glint_slice line = next_line(&rest);
        if (json_line_scan(paths, line, values, &at) != NULL) continue;
        if ((*out_lines)++ == 0) *out_first = line;
        for (uint32_t i = 0; i < paths->count; i++)
            found |= (uint64_t)(values[i].kind != JSON_KIND_MISSING) << i;
    }
    return found;
}

/* Finds the innermost object of the line on the way to the path; cuts *path, a JSON pointer, to
 * what leads to it. Returns data NULL when out of memory. */
static struct glint_slice find_object_of_path(struct arena *arena, struct glint_slice line,
                                              char *path)
{
    struct json_value value;
    uint64_t at;
    for (char *slash = strrchr(path, '/'); slash != NULL && slash > path;
         slash = strrchr(path, '/')) {
        *slash = '\0';
        const char *pointer = arena_format(arena, "%c%s", JSON_PATH_RAW, path);
        struct json_paths *one = pointer != NULL ? arena_alloc(arena, sizeof *one) : NULL;
        const struct glint_slice pointers = {(const uint8_t *)pointer, strlen(path) + 2};
        if (one == NULL || !json_paths_read(pointers, arena, one))
            return (struct glint_slice){NULL, 0};
        if (json_line_scan(one, line, &value, &at) == NULL && value.kind == JSON_KIND_CONTAINER &&
            value.raw.size > 0 && value.raw.data[0] == '{')
            return value.raw;
    }
    path[0] = '\0';
    return line;
}

/* Appends the names of an object's members, each before CSV_SEPARATOR. */
static void append_member_names(struct glint_slice object, struct buffer *names)
{
    json_t *const members = json_loadb((const char *)object.data, object.size, 0, NULL);
    const char *name;
    json_t *value;
    json_object_foreach(members, name, value) {
        const uint8_t separator = CSV_SEPARATOR;
        if (names->size > 0 && !buffer_append(names, &separator, 1)) break;
        if (!buffer_append(names, name, strlen(name))) break;
    }
    json_decref(members);
}

static void warn_of_path(struct glint *g, const struct input_list *list, const char *pointer,
                         struct glint_slice line, uint32_t lines, bool all)
{
    char where[64] = "no line", members[HEADER_NAMES_BYTES];
    struct buffer names = {NULL, 0, 0};
    char *const path = arena_strdup(&g->arena, pointer);
    if (path == NULL) return;
    if (!all) text_format(where, sizeof where, "none of the first %" PRIu32 " lines", lines);
    const struct glint_slice object = find_object_of_path(&g->arena, line, path);
    if (object.data != NULL) append_member_names(object, &names);
    header_names_format(buffer_slice(&names), CSV_SEPARATOR, members, sizeof members);
    buffer_fini(&names);
    glint_warn(g, "%s: %s has a value at %s; the members of %s%sthe first line are: %s",
               list->files[0].path, where, pointer, path, path[0] != '\0' ? " in " : "", members);
}

void json_members_warn_of_missing_paths(struct glint *g, const struct input_list *list)
{
    struct head head = {.all = false};
    struct glint_slice first = {NULL, 0};
    uint32_t lines = 0;
    const struct input_file *const file = list->count > 0 ? &list->files[0] : NULL;
    if (file == NULL || file->remote != NULL || (file->pipe && file->stored == NULL)) return;
    struct json_paths *paths = arena_alloc(&g->arena, sizeof *paths);
    if (paths == NULL || !json_paths_read(buffer_slice(&list->json), &g->arena, paths)) return;
    read_head(g->config.env, file, &head);
    const struct buffer *b = &head.bytes;
    const uint64_t mark = b->size > 0 ? byte_order_mark_size(b->data, b->size) : 0;
    if (b->size > mark) {
        const struct glint_slice text = {b->data + mark, b->size - mark};
        const uint64_t found = find_paths_in_lines(paths, text, &lines, &first);
        for (uint32_t i = 0; lines > 0 && i < paths->count; i++)
            if ((found >> i & 1) == 0)
                warn_of_path(g, list, paths->items[i].pointer, first, lines,
                             head.all && list->count == 1);
    }
    buffer_fini(&head.bytes);
}
