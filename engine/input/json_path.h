/* Paths of values in JSON: what users write, and the one form that is sent to tasks.
 *
 * A path is names separated by dots, with [N] for the elements of arrays: user.id, tags[0].name; $.
 * or a dot may precede it, as in DuckDB and jq. Or it is a JSON pointer (RFC 6901), which begins
 * with a slash and can express every name: /user/id. Pure; any thread. */
#ifndef GLINT_INPUT_JSON_PATH_H
#define GLINT_INPUT_JSON_PATH_H

#include "engine/base/mem.h"
#include "engine/glint.h"

enum { JSON_PATHS_MAX = 64, JSON_SEGMENTS_MAX = 32 };

/* Appends the path as a JSON pointer that ends with a NUL. Returns NULL, or why it is no path
 * (static). Sets *out_no_memory, and returns a reason, when out of memory. */
const char *json_path_append(struct buffer *pointers, struct glint_slice path, bool *out_no_memory);
/* Whether `pointers` is at most JSON_PATHS_MAX valid pointers, each with a NUL at its end. */
bool json_pointers_are_valid(struct glint_slice pointers);

struct json_segment {
    struct glint_slice name;
    uint64_t index; /* of an element of an array; UINT64_MAX: the name is no index */
};

struct json_path {
    const char *pointer;
    const struct json_segment *segments;
    uint32_t count; /* 1 .. JSON_SEGMENTS_MAX */
};

struct json_paths {
    struct json_path items[JSON_PATHS_MAX];
    uint32_t count;
};

/* Reads valid pointers, which are borrowed. Returns false when out of memory. */
bool json_paths_read(struct glint_slice pointers, struct arena *arena, struct json_paths *out);

#endif
