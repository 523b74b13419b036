/* The sum of exact numbers: as many bits as any 2^63 of them need, so that it never overflows and
 * does not depend on their order. Pure; any thread. */
#ifndef GLINT_JOBS_ROWS_EXACT_SUM_H
#define GLINT_JOBS_ROWS_EXACT_SUM_H

#include "jobs/rows/numbers.h"

enum {
    EXACT_SUM_LIMBS = 5, /* 38 digits before the point, 38 after it, 2^63 numbers: 316 bits */
    EXACT_SUM_FORMAT_MAX = 104,
    EXACT_SUM_SHIFT_MAX = 18 /* powers of ten in 64 bits */
};

/* Zeros are the sum of no number. */
struct __attribute__((packed)) exact_sum {
    uint64_t limbs[EXACT_SUM_LIMBS]; /* the sum times 10^decimals in two's complement, the lowest
                                        limb first */
    int8_t decimals;                 /* the most of any number added */
};

extern const int64_t exact_sum_powers[EXACT_SUM_SHIFT_MAX + 1];

void exact_sum_add_wide(struct exact_sum *s, const struct number *n);
void exact_sum_carry(struct exact_sum *s, int by);

/* Adds an exact number. */
static inline void exact_sum_add(struct exact_sum *s, const struct number *n)
{
    const unsigned shift = (unsigned)(s->decimals - n->decimals);
    if (shift > EXACT_SUM_SHIFT_MAX || n->high != (int64_t)n->low >> 63) {
        exact_sum_add_wide(s, n);
        return;
    }
    const __int128 units = (__int128)(int64_t)n->low * exact_sum_powers[shift];
    unsigned __int128 sum = (unsigned __int128)s->limbs[1] << 64 | s->limbs[0];
    sum += (unsigned __int128)units;
    s->limbs[0] = (uint64_t)sum;
    s->limbs[1] = (uint64_t)(sum >> 64);
    const int carry = (sum < (unsigned __int128)units) - (units < 0);
    if (carry != 0) exact_sum_carry(s, carry);
}

/* Adds another sum. */
void exact_sum_merge(struct exact_sum *s, const struct exact_sum *more);
/* A negative, zero or positive number. */
int exact_sum_sign(const struct exact_sum *s);
/* Formats all digits; with a point if a number had decimals, as if by Python's repr. Returns the
 * length. `out` has EXACT_SUM_FORMAT_MAX bytes. */
size_t exact_sum_format(char *out, const struct exact_sum *s);
/* The nearest double. */
double exact_sum_f64(const struct exact_sum *s);

#endif
