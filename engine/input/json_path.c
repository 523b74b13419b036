/* See json_path.h. In a pointer, ~1 is a slash in a name and ~0 a tilde. */
#include "engine/input/json_path.h"

#include <assert.h>
#include <string.h>

/* ---- From what users write */

/* Returns the reason why it is no pointer, or NULL. */
static const char *check_pointer(struct glint_slice pointer)
{
    uint32_t segments = 0;
    if (pointer.size == 0 || pointer.data[0] != '/') return "a pointer begins with a slash";
    for (uint64_t i = 0; i < pointer.size; i++) {
        const uint8_t next = i + 1 < pointer.size ? pointer.data[i + 1] : '\0';
        if (pointer.data[i] == '\0') return "it contains a NUL";
        if (pointer.data[i] == '~' && next != '0' && next != '1')
            return "in a pointer, ~ is written ~0, and / in a name ~1";
        segments += pointer.data[i] == '/';
    }
    return segments <= JSON_SEGMENTS_MAX ? NULL : "it has more than 32 names";
}

static bool append_name(struct buffer *out, const uint8_t *name, uint64_t size)
{
    bool ok = buffer_append(out, "/", 1);
    for (uint64_t i = 0; ok && i < size; i++) {
        if (name[i] == '~')
            ok = buffer_append(out, "~0", 2);
        else if (name[i] == '/')
            ok = buffer_append(out, "~1", 2);
        else
            ok = buffer_append(out, &name[i], 1);
    }
    return ok;
}

/* Appends the indexes [N][N]... at *at. Returns NULL or the reason. */
static const char *append_indexes(struct buffer *out, struct glint_slice path, uint64_t *at,
                                  bool *ok)
{
    while (*at < path.size && path.data[*at] == '[') {
        uint64_t end = ++*at;
        while (end < path.size && path.data[end] >= '0' && path.data[end] <= '9') end++;
        if (end == *at || end == path.size || path.data[end] != ']')
            return "an index is a number in brackets, from 0";
        *ok = *ok && append_name(out, path.data + *at, end - *at);
        *at = end + 1;
    }
    return *at == path.size || path.data[*at] == '.' ? NULL : "a dot is missing after ]";
}

static const char *append_dotted(struct buffer *out, struct glint_slice path, bool *ok)
{
    uint64_t at = path.size > 1 && path.data[0] == '$' && path.data[1] == '.' ? 1 : 0;
    if (at < path.size && path.data[at] == '.') at++;
    for (;;) {
        const uint64_t name = at;
        while (at < path.size && strchr(".[]", path.data[at]) == NULL) at++;
        if (at == name) return "a name is empty";
        *ok = *ok && append_name(out, path.data + name, at - name);
        const char *reason = append_indexes(out, path, &at, ok);
        if (reason != NULL || at == path.size) return reason;
        at++;
    }
}

const char *json_path_append(struct buffer *pointers, struct glint_slice path, bool *out_no_memory)
{
    const uint64_t before = pointers->size;
    const char *reason = NULL;
    bool ok = true;
    *out_no_memory = false;
    if (path.size == 0) return "it is empty";
    if (memchr(path.data, '\0', path.size) != NULL) return "it contains a NUL";
    if (path.data[0] == '/')
        ok = buffer_append(pointers, path.data, path.size);
    else
        reason = append_dotted(pointers, path, &ok);
    if (reason == NULL && ok) {
        const uint8_t *pointer = pointers->data + before;
        reason = check_pointer((struct glint_slice){pointer, pointers->size - before});
    }
    if (reason == NULL && ok) ok = buffer_append(pointers, "", 1);
    if (reason == NULL && ok) return NULL;
    pointers->size = before;
    *out_no_memory = reason == NULL;
    return reason != NULL ? reason : "out of memory";
}

/* ---- As sent to tasks */

bool json_pointers_are_valid(struct glint_slice pointers)
{
    uint32_t count = 0;
    for (uint64_t at = 0; at < pointers.size; count++) {
        const uint8_t *pointer = pointers.data + at;
        const uint8_t *end = memchr(pointer, '\0', pointers.size - at);
        if (end == NULL || count == JSON_PATHS_MAX) return false;
        if (check_pointer((struct glint_slice){pointer, (uint64_t)(end - pointer)}) != NULL)
            return false;
        at += (uint64_t)(end - pointer) + 1;
    }
    return true;
}

/* RFC 6901: digits, without a zero in front. */
static uint64_t parse_index(struct glint_slice name)
{
    uint64_t index = 0;
    if (name.size == 0 || name.size > 18 || (name.size > 1 && name.data[0] == '0'))
        return UINT64_MAX;
    for (uint64_t i = 0; i < name.size; i++) {
        if (name.data[i] < '0' || name.data[i] > '9') return UINT64_MAX;
        index = 10 * index + (uint64_t)(name.data[i] - '0');
    }
    return index;
}

/* Decodes the name at `at`, up to a slash or the end of the pointer, to `out`. */
static const char *read_name(const char *at, uint8_t *out, struct json_segment *segment)
{
    uint64_t size = 0;
    for (; *at != '/' && *at != '\0'; at++) {
        const bool escape = *at == '~';
        if (escape) at++;
        out[size++] = escape ? (*at == '0' ? '~' : '/') : (uint8_t)*at;
    }
    segment->name = (struct glint_slice){out, size};
    segment->index = parse_index(segment->name);
    return at;
}

static bool read_pointer(const char *pointer, struct arena *arena, struct json_path *out)
{
    struct json_segment *segments = arena_alloc(arena, JSON_SEGMENTS_MAX * sizeof *segments);
    uint8_t *names = arena_alloc(arena, strlen(pointer) + 1);
    if (segments == NULL || names == NULL) return false;
    *out = (struct json_path){.pointer = pointer, .segments = segments};
    for (const char *at = pointer; *at != '\0';) {
        assert(*at == '/' && out->count < JSON_SEGMENTS_MAX);
        at = read_name(at + 1, names, &segments[out->count]);
        names += segments[out->count++].name.size;
    }
    assert(out->count > 0);
    return true;
}

bool json_paths_read(struct glint_slice pointers, struct arena *arena, struct json_paths *out)
{
    const char *at = (const char *)pointers.data;
    out->count = 0;
    for (uint64_t left = pointers.size; left > 0;) {
        const uint64_t size = strlen(at) + 1;
        assert(out->count < JSON_PATHS_MAX && size <= left);
        if (!read_pointer(at, arena, &out->items[out->count++])) return false;
        at += size;
        left -= size;
    }
    return true;
}
