/* Numbers as text, and bounded formatting. Pure; any thread. */
#ifndef GLINT_BASE_TEXT_H
#define GLINT_BASE_TEXT_H

#include "engine/glint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_NUMBER_MAX 32 /* any i64 or f64, with the NUL */

/* Like snprintf; returns false if the text was truncated. */
bool text_format(char *out, size_t capacity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool text_ends_with(const char *text, const char *end);
/* Decimal; returns the length. `out` has TEXT_NUMBER_MAX bytes, here and below. */
size_t text_format_i64(char *out, int64_t value);
size_t text_format_u64(char *out, uint64_t value);
/* Writes the last `count` decimal digits of `value`, with leading zeros and without a NUL. */
void text_put_digits(char *out, uint64_t value, uint32_t count);
/* The shortest text that parses to the same double, formatted as in Python: 0.5, 1e-05, 1e+16, inf,
 * nan. */
size_t text_format_f64(char *out, double value);
/* The shortest text that is nearest to the same float, or, for a `value` that a half has, half. */
size_t text_format_f32(char *out, float value);
size_t text_format_f16(char *out, double value);
/* The digits of text_format_f64 formatted as in Java (Double.toString): 0.5, 1.0E-5, 1.0E7,
 * Infinity, NaN. */
size_t text_format_f64_java(char *out, double value);
/* Two digits for each byte, and a NUL. */
void text_format_hex(char *out, const uint8_t *bytes, size_t size);
/* Returns 0..15; -1: not a hexadecimal digit. */
static inline int text_hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Parse all of [data, size) as a decimal number. Return false if it is not one, or out of range.
 * Spaces, hex, nan and inf are not accepted. */
bool text_parse_i64(const uint8_t *data, uint64_t size, int64_t *out);
bool text_parse_f64(const uint8_t *data, uint64_t size, double *out);
/* Parses nan, and inf or infinity with or without a sign, in any case: what Python, Java and
 * databases write. Returns false if the text is none of these. */
bool text_parse_f64_word(const uint8_t *data, uint64_t size, double *out);
/* Parses a size with an optional binary unit: 4096, 64K, 64KiB, 1.5G. */
bool text_parse_bytes(const char *text, uint64_t *out);
/* Formats a size: 1.5 GiB, 12.0 KiB, 7 B. */
size_t text_format_bytes(char *out, uint64_t bytes);
/* Formats nanoseconds since 1970 as UTC in RFC 3339: 2026-11-21T07:00:00.123Z. */
size_t text_format_time(char *out, int64_t wall_ns);
/* True for UTF-8 without control characters (utf8_printable_size): safe for a terminal and for one
 * line of a log. */
bool text_is_printable(const char *text);
/* Makes text printable in place: newlines and tabs become spaces, other unprintable bytes '?'. */
void text_make_printable(char *text);

/* The names of a table's columns in messages. Pure; any thread. */

#define HEADER_NAMES_BYTES 400u

/* Writes the names, separated by commas, as many as fit, and then how many there are besides:
 * "id, price and 19998 more". Unprintable bytes become '?'. `capacity` is at least 64. */
void header_names_format(struct glint_slice header, uint8_t separator, char *out, size_t capacity);
/* Appends the printable name to the `size` bytes in `out`, as much as fits; returns the new size.
 */
size_t header_name_append(char *out, size_t size, size_t capacity, struct glint_slice name);

#endif
