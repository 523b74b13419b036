/* Numbers in fields of tables: exact where that is possible in 64 bits, so that sums and orders do
 * not depend on rounding. Pure; any thread. */
#ifndef GLINT_JOBS_ROWS_NUMBERS_H
#define GLINT_JOBS_ROWS_NUMBERS_H

#include "engine/glint.h"

enum { NUMBER_DECIMALS_MAX = 9, NUMBER_INEXACT = -1, NUMBER_NONE = -2, NUMBER_KEY_MAX = 10 };

struct number {
    double f64;      /* the nearest double; never -0.0 */
    int64_t units;   /* the value is units / 10^decimals */
    int8_t decimals; /* 0: an integer; up to NUMBER_DECIMALS_MAX; NUMBER_INEXACT: use f64;
                        NUMBER_NONE: no number, for callers */
};

/* Accepts what glint_parse_f64 accepts: no spaces, hex, inf or nan. Returns false otherwise. */
bool number_parse(struct glint_slice text, struct number *out);
/* A negative, zero or positive number. Integers of 64 bits compare exactly, others as doubles. */
int number_compare(const struct number *a, const struct number *b);
/* Writes bytes whose bytewise order is that of number_compare; returns their size, 8 or 10. */
uint32_t number_key(const struct number *n, uint8_t out[NUMBER_KEY_MAX]);
/* As decimal, or like Python's repr; returns the length. `out` has TEXT_NUMBER_MAX bytes. */
size_t number_format(char *out, const struct number *n);

#endif
