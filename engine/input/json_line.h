/* Lines of JSON (RFC 8259): one object each. Finds the values at some paths while it checks the
 * whole line, in one pass, without allocations, conversions of numbers, or recursion: the text of a
 * number stays as it is.
 *
 * None of Debian's libraries does that. simdjson is there as a shared library with an interface in
 * C++ only, and neither its tree nor jansson's keeps the text of a number or accepts an integer of
 * more than 64 bits; json-c changes such an integer; yajl does not check that an allocation
 * succeeded, accepts overlong UTF-8, and replaces unpaired surrogates. A fuzz target compares this
 * with jansson. Pure; any thread. */
#ifndef GLINT_INPUT_JSON_LINE_H
#define GLINT_INPUT_JSON_LINE_H

#include "engine/base/mem.h"
#include "engine/glint.h"

/* Paths of values in JSON: what users write, and the one form that is sent to tasks.
 *
 * A path is names separated by dots, with [N] for the elements of arrays: user.id, tags[0].name; $.
 * or a dot may precede it, as in DuckDB and jq. Or it is a JSON pointer (RFC 6901), which begins
 * with a slash and can express every name: /user/id. Pure; any thread. */
enum { JSON_PATHS_MAX = 64, JSON_SEGMENTS_MAX = 32 };

/* Before a path: the value as JSON, also an object or array. */
#define JSON_PATH_RAW 0x1e
/* Appends the path as a JSON pointer that ends with a NUL, after JSON_PATH_RAW if the path has it.
 * Returns NULL, or why it is no path (static). Sets *out_no_memory, and returns a reason, when out
 * of memory. */
const char *json_path_append(struct buffer *pointers, struct glint_slice path, bool *out_no_memory);
/* Whether `pointers` is at most JSON_PATHS_MAX valid pointers, each with a NUL at its end. */
bool json_pointers_are_valid(struct glint_slice pointers);

struct json_segment {
    struct glint_slice name;
    uint64_t index; /* of an element of an array; UINT64_MAX: the name is no index */
};

struct json_path {
    const char *pointer; /* without JSON_PATH_RAW */
    bool raw;
    const struct json_segment *segments;
    uint32_t count; /* 1 .. JSON_SEGMENTS_MAX */
};

struct json_paths {
    struct json_path items[JSON_PATHS_MAX];
    uint32_t count;
    bool arrays; /* what is scanned may be an array, too */
};

/* Reads valid pointers, which are borrowed. Returns false when out of memory. */
bool json_paths_read(struct glint_slice pointers, struct arena *arena, struct json_paths *out);

/* Reads a valid one with memory of the caller: JSON_SEGMENTS_MAX segments, and for names as many
 * bytes as the pointer has. */
void json_pointer_read(const char *pointer, struct json_segment *segments, uint8_t *names,
                       struct json_path *out);

/* Depth of objects and arrays in a line; also the limit of many other readers. */
enum { JSON_DEPTH_MAX = 1024 };

/* How operators get a line with values: JSON_ROW, the line, and before each value, which is a text
 * of rows (row_text.h), CSV_SEPARATOR. A line of JSON contains neither of these bytes. */

enum json_kind {
    JSON_KIND_MISSING,
    JSON_KIND_NULL,
    JSON_KIND_TEXT,      /* raw: between the quotes */
    JSON_KIND_LITERAL,   /* a number, true or false; raw: its text */
    JSON_KIND_CONTAINER, /* an object or array; raw: all of it, or nothing deeper than a path */
};

struct json_value {
    enum json_kind kind;
    bool escaped;           /* TEXT: raw contains escapes */
    bool unpaired;          /* TEXT: one of them is half of a surrogate pair: it is no Unicode */
    struct glint_slice raw; /* in the line */
};

/* Whether there is only white space. */
bool json_line_is_blank(struct glint_slice line);
/* Checks the line, and sets values[i] to what is at paths->items[i]; of equal names in an object
 * the last one counts. Returns NULL, or why the line is no object of JSON (static), with *out_at
 * the offset of the mistake. */
const char *json_line_scan(const struct json_paths *paths, struct glint_slice line,
                           struct json_value *values, uint64_t *out_at);
/* The problem of a line that is the start of an object, and what helps with an array. */
#define JSON_LINE_ENDS "JSON: the line ends before the object does"
#define JSON_ARRAY_HINT                                                                            \
    "an array? jq -c '.[]' FILE writes its elements as lines; jq before 1.7 rounds long numbers"
/* Returns the hint for a line with this problem that is most probably a part of an array, or of an
 * object over several lines; to skip such lines would lose data. NULL: the line is neither.
 * `first`: it is the first of its file. */
const char *json_line_hint(struct glint_slice line, const char *problem, bool first);
/* Writes the text between quotes, which was scanned and is not `unpaired`, without its escapes.
 * Returns its size, at most raw.size. */
uint64_t json_text_decode(struct glint_slice raw, uint8_t *out);
/* Reads the string whose first quote is at *at, which is below `end`, as json_bytes writes them:
 * appends what is between the quotes, without escapes, and passes it. *out_utf8: it is UTF-8.
 * Returns NULL, or why it is no such string (static), also when out of memory. */
const char *json_string_read(const uint8_t **at, const uint8_t *end, struct buffer *out,
                             bool *out_utf8);
/* The line of a row, which is a line with values or one without. */
struct glint_slice json_row_line(struct glint_slice row);

#endif
