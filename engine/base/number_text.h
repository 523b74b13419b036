/* Conversions between numbers and text by the C++ standard library, whose shortest texts and exact
 * parser are many times faster than those of C: Ryu (Adams, 2018) and fast_float (Lemire, 2021).
 * For base/text.c. Pure; any thread. */
#ifndef GLINT_BASE_NUMBER_TEXT_H
#define GLINT_BASE_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NUMBER_SCIENTIFIC_MAX 32
#define NUMBER_PARSED_MAX     511u /* bytes */

/* Write a finite number as d.ddde+xx, or de+xx, and return the size; `out` has
 * NUMBER_SCIENTIFIC_MAX bytes. The digits are the fewest that parse to the same double or float,
 * and of those the nearest. */
size_t number_shortest_f64(char *out, double value);
size_t number_shortest_f32(char *out, float value);
/* The nearest text of `digits` digits, 1 to 17. */
size_t number_rounded_f64(char *out, double value, int digits);
/* Parses all of a decimal number, which may have a sign, a point and an exponent. Returns false if
 * it is not one, is longer than NUMBER_PARSED_MAX, or beyond the largest double. */
bool number_parse_f64(const char *text, size_t size, double *out);

#ifdef __cplusplus
}
#endif
#endif
