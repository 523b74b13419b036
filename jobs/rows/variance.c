/* Variances: see variance.h. Doubles are merged by the formulas of Chan, Golub and LeVeque,
 * "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances" (1979). */
#include "jobs/rows/variance.h"

#include "jobs/rows/arithmetic.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { LIMBS = 6 }; /* n * sum of squares: 76 digits, twice 63 bits */

static void merge_inexact_variance(struct variance *v, int64_t count, double mean,
                                   double differences)
{
    if (count == 0) return;
    if (!isfinite(v->differences) || !isfinite(differences)) { /* NaN, or inf, stays */
        v->differences += differences;
        v->inexact += count;
        return;
    }
    if (v->inexact == 0) { /* the square of delta may be inf, times 0 */
        v->inexact = count;
        v->mean = mean;
        v->differences = differences;
        return;
    }
    const double total = (double)v->inexact + (double)count, delta = mean - v->mean;
    v->differences += differences + delta * delta * ((double)v->inexact * (double)count / total);
    v->mean += delta * ((double)count / total);
    v->inexact += count;
}

void variance_add(struct variance *v, const struct number *n)
{
    struct number square;
    assert(n->decimals != NUMBER_NONE);
    const bool exact = n->decimals >= 0 &&
                       number_calculate(ARITHMETIC_MULTIPLY, n, n, &square) == NULL &&
                       square.decimals >= 0;
    if (!exact) {
        const double value = number_f64(n);
        merge_inexact_variance(v, 1, value, isfinite(value) ? 0 : (double)NAN);
        return;
    }
    struct exact_sum sum = v->sum, squares = v->squares;
    exact_sum_add(&sum, n);
    exact_sum_add(&squares, &square);
    v->sum = sum;
    v->squares = squares;
    v->exact++;
}

void variance_merge(struct variance *v, const struct variance *more)
{
    struct exact_sum sum = v->sum, squares = v->squares, other = more->sum;
    exact_sum_merge(&sum, &other);
    other = more->squares;
    exact_sum_merge(&squares, &other);
    v->sum = sum;
    v->squares = squares;
    v->exact += more->exact;
    merge_inexact_variance(v, more->inexact, more->mean, more->differences);
}

/* Subtracts a times b from `out`, modulo 2^(64 * LIMBS). */
static void subtract_product_of_limbs(uint64_t *out, const uint64_t *a, const uint64_t *b)
{
    for (int i = 0; i < LIMBS; i++) {
        unsigned __int128 carry = 0;
        for (int j = 0; i + j < LIMBS; j++) {
            carry += (unsigned __int128)a[i] * b[j];
            const uint64_t part = (uint64_t)carry;
            carry >>= 64;
            carry += out[i + j] < part;
            out[i + j] -= part;
        }
    }
}

/* The nearest double but for bits below the first 64, which are cut off. */
static double limbs_f64(const uint64_t *limbs)
{
    int top = LIMBS - 1;
    while (top > 0 && limbs[top] == 0) top--;
    if (top == 0) return (double)limbs[0];
    assert(limbs[top] != 0); /* clz of 0 is not defined */
    const int shift = __builtin_clzll(limbs[top]);
    const uint64_t high =
        shift == 0 ? limbs[top] : limbs[top] << shift | limbs[top - 1] >> (64 - shift);
    return ldexp((double)high, 64 * top - shift);
}

/* n * sum of squares - sum^2, which is n times the sum of squared differences from the mean, times
 * 10^(2 * decimals). It is not negative, so that the result modulo 2^384 is the result. */
static double exact_squared_differences(const struct variance *v)
{
    uint64_t squares[LIMBS] = {0}, sum[LIMBS], minus_count[LIMBS], out[LIMBS] = {0};
    memcpy(squares, v->squares.limbs, sizeof v->squares.limbs);
    memcpy(sum, v->sum.limbs, sizeof v->sum.limbs);
    sum[LIMBS - 1] = exact_sum_sign(&v->sum) < 0 ? UINT64_MAX : 0;
    for (int i = 0; i < LIMBS; i++) minus_count[i] = UINT64_MAX;
    minus_count[0] = -(uint64_t)v->exact;
    assert(v->squares.decimals == 2 * v->sum.decimals);
    subtract_product_of_limbs(out, squares, minus_count);
    subtract_product_of_limbs(out, sum, sum);
    return limbs_f64(out);
}

bool variance_value(const struct variance *v, bool sample, double *out)
{
    const int64_t count = v->exact + v->inexact;
    if (count < (sample ? 2 : 1)) return false;
    const double divisor = (double)count - (sample ? 1 : 0);
    const double exact = v->exact > 0 ? exact_squared_differences(v) : 0;
    const double scale = pow(10, v->squares.decimals);
    if (v->inexact == 0) {
        *out = exact / ((double)count * divisor * scale);
        return true;
    }
    struct variance all = *v;
    const double n = v->exact > 0 ? (double)v->exact : 1;
    merge_inexact_variance(&all, v->exact, exact_sum_f64(&v->sum) / n, exact / (n * scale));
    *out = all.differences / divisor;
    return true;
}
