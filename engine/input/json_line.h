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

#include "engine/input/json_path.h"

/* Depth of objects and arrays in a line; also the limit of many other readers. */
enum { JSON_DEPTH_MAX = 1024 };

/* How operators get a line with values: this byte, the line, and before each value CSV_SEPARATOR.
 * A line of JSON contains neither of these bytes. */
#define JSON_ROW 0x1e

enum json_kind {
    JSON_KIND_MISSING,
    JSON_KIND_NULL,
    JSON_KIND_TEXT,      /* raw: between the quotes */
    JSON_KIND_LITERAL,   /* a number, true or false; raw: its text */
    JSON_KIND_CONTAINER, /* an object or array */
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
#define JSON_LINE_ENDS  "JSON: the line ends before the object does"
#define JSON_ARRAY_HINT "an array? jq -c '.[]' FILE writes its elements as lines"
/* Returns the hint for a line with this problem that is most probably a part of an array, or of an
 * object over several lines; to skip such lines would lose data. NULL: the line is neither.
 * `first`: it is the first of its file. */
const char *json_line_hint(struct glint_slice line, const char *problem, bool first);
/* Writes the text between quotes, which was scanned and is not `unpaired`, without its escapes.
 * Returns its size, at most raw.size. */
uint64_t json_text_decode(struct glint_slice raw, uint8_t *out);
/* The line of a row, which is a line with values or one without. */
struct glint_slice json_row_line(struct glint_slice row);

#endif
