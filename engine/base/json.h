/* JSON written into memory, so that standard output gets one object or none. (Names keep clear of
 * jansson's, which reads it: json_string is one of theirs.) Commas and escapes
 * take care of themselves; what is no UTF-8 becomes U+FFFD. */
#ifndef GLINT_BASE_JSON_H
#define GLINT_BASE_JSON_H

#include "engine/base/error.h"
#include "engine/base/mem.h"

#include <stdint.h>

/* Zeros are an empty text. Without memory `failed` is set and the rest is skipped: check it once,
 * at the end. */
struct json {
    struct buffer out;
    bool failed;
    bool after_value; /* a comma is due before the next element */
};

/* '{' or '[', and '}' or ']'. */
void json_begin(struct json *j, char bracket);
void json_end(struct json *j, char bracket);
/* The name of the next value; inside objects only. */
void json_key(struct json *j, const char *name);
void json_text(struct json *j, const void *data, uint64_t size);
void json_cstring(struct json *j, const char *text); /* NULL: null */
/* A number; beyond 2^53, where readers lose digits, the same digits as a string. */
void json_i64(struct json *j, int64_t value);
void json_u64(struct json *j, uint64_t value);
void json_f64(struct json *j, double value); /* NaN and infinities: null */
void json_ms(struct json *j, uint64_t ns);   /* milliseconds, to the microsecond */
void json_bool(struct json *j, bool value);
/* Code, name, text, cause, effect, hint and exit status as an object; NULL, or no error: null. */
void json_error(struct json *j, const struct glint_error *error);
void json_fini(struct json *j);

#endif
