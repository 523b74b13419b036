/* Text of numbers and bounded formatting. Pure; any thread. */
#ifndef GLINT_BASE_TEXT_H
#define GLINT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_NUMBER_MAX 32 /* any i64 or f64, with its NUL */

/* As snprintf; false where the text was cut (out then holds the cut text). */
bool text_format(char *out, size_t capacity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Decimal; answers the length. `out` has TEXT_NUMBER_MAX bytes. */
size_t text_format_i64(char *out, int64_t value);
/* The shortest text that reads back as the same double, in Python's form: 0.5, 1e-05, 1e+16, inf,
 * nan. */
size_t text_format_f64(char *out, double value);
/* The same digits in Java's form (Double.toString): 0.5, 1.0E-5, 1.0E7, Infinity, NaN. */
size_t text_format_f64_java(char *out, double value);
/* 0..15; -1: no hexadecimal digit. */
static inline int text_hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* All of [data, size) is a decimal number within the type's range: no spaces, no hex; for doubles
 * nan and inf are refused, and so is what overflows. */
bool text_parse_i64(const uint8_t *data, uint64_t size, int64_t *out);
bool text_parse_f64(const uint8_t *data, uint64_t size, double *out);
/* Bytes with an optional unit: 4096, 64K, 64KiB, 1.5G; binary units. */
bool text_parse_bytes(const char *text, uint64_t *out);
/* 1.5 GiB, 12 KiB, 7 B. */
size_t text_format_bytes(char *out, uint64_t bytes);
/* Nanoseconds since 1970, UTC, in RFC 3339's form: 2026-11-21T07:00:00.123Z. */
size_t text_format_time(char *out, int64_t wall_ns);
/* UTF-8 without controls (utf8_printable_size): fit for a terminal and for one line of a log. */
bool text_is_printable(const char *text);
/* Makes it so, in place: a new line or a tab becomes a space, what else is not fit '?'. */
void text_make_printable(char *text);

#endif
