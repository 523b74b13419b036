/* JSON written to memory, so that standard output gets a complete object or nothing. Commas and
 * escapes are automatic; bytes that are not UTF-8 become U+FFFD. (Names must not collide with
 * jansson's, which has json_string.) */
#ifndef GLINT_BASE_JSON_H
#define GLINT_BASE_JSON_H

#include "engine/base/error.h"
#include "engine/base/mem.h"

#include <stdint.h>

/* A writer; zeros are empty. When out of memory, sets `failed` and ignores further calls: check it
 * once, at the end. Free with json_fini. */
struct json {
    struct buffer out;
    bool failed;
    bool after_value; /* the next element needs a comma */
};

/* `name` is that of the value, inside an object; NULL: an element of an array, or the whole. */
/* Opens with '{' or '[', closes with '}' or ']'. */
void json_begin(struct json *j, const char *name, char bracket);
void json_end(struct json *j, char bracket);
void json_text(struct json *j, const char *name, const void *data, uint64_t size);
/* The same, but each byte that is not UTF-8 is an escape of half a surrogate pair, \udc80 to
 * \udcff, as with Python's surrogateescape: nothing is lost. */
void json_bytes(struct json *j, const char *name, const void *data, uint64_t size);
void json_cstring(struct json *j, const char *name, const char *text); /* NULL: null */
/* A number; as a string beyond 2^53, where many readers lose digits. */
void json_i64(struct json *j, const char *name, int64_t value);
void json_u64(struct json *j, const char *name, uint64_t value);
void json_id(struct json *j, const char *name, uint64_t id);   /* 16 hexadecimal digits */
void json_f64(struct json *j, const char *name, double value); /* NaN and infinities: null */
void json_ms(struct json *j, const char *name, uint64_t ns);   /* milliseconds, three decimals */
/* A value that is JSON already. */
void json_raw(struct json *j, const char *name, const void *data, uint64_t size);
void json_bool(struct json *j, const char *name, bool value);
/* An object with code, name, text, cause, effect, hint and exit status; null if `error` is NULL or
 * has no code. */
void json_error(struct json *j, const char *name, const struct glint_error *error);
void json_fini(struct json *j);

#endif
