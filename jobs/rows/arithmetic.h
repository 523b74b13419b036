/* Arithmetic with numbers of tables. Exact numbers give exact results of up to 38 digits; beyond
 * that, and with a number that is not exact, results are doubles. Pure; any thread. */
#ifndef GLINT_JOBS_ROWS_ARITHMETIC_H
#define GLINT_JOBS_ROWS_ARITHMETIC_H

#include "jobs/rows/numbers.h"

enum arithmetic {
    ARITHMETIC_ADD,
    ARITHMETIC_SUBTRACT,
    ARITHMETIC_MULTIPLY,
    ARITHMETIC_DIVIDE,    /* always a double */
    ARITHMETIC_REMAINDER, /* has the sign of `a` */
    ARITHMETIC_COUNT
};

/* Sets *out, which is neither operand. Returns NULL, or why there is no result (static): an integer
 * of more than 38 digits, of finite numbers a double beyond 1.8e308, or a divisor of zero. */
const char *number_calculate(enum arithmetic operation, const struct number *a,
                             const struct number *b, struct number *out);
struct number number_negate(struct number n);
/* The order of values: an exact number equals the double that is nearest to it; NaN is last. */
int number_compare_values(const struct number *a, const struct number *b);

#endif
