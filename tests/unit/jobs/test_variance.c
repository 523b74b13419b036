/* Variances: exact ones do not depend on order or division, others nearly. */
#include "jobs/rows/variance.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

static struct number parsed(const char *text)
{
    struct number n;
    cr_assert(number_parse((struct glint_slice){(const uint8_t *)text, strlen(text)}, &n));
    return n;
}

static struct variance of_texts(const char *const *texts, int count)
{
    struct variance v = {.exact = 0};
    for (int i = 0; i < count; i++) {
        const struct number n = parsed(texts[i]);
        variance_add(&v, &n);
    }
    return v;
}

Test(variance, of_few_numbers)
{
    static const char *const texts[] = {"1", "2", "4"};
    struct variance v = of_texts(texts, 0);
    double value;
    cr_expect(!variance_value(&v, true, &value) && !variance_value(&v, false, &value));
    v = of_texts(texts, 1);
    cr_expect(!variance_value(&v, true, &value));
    cr_expect(variance_value(&v, false, &value) && value == 0);
    v = of_texts(texts, 3);
    cr_expect(variance_value(&v, true, &value) && value == 7.0 / 3);
    cr_expect(variance_value(&v, false, &value) && value == 14.0 / 9);
}

/* Where doubles, and sums of their squares, lose all digits. */
Test(variance, of_close_numbers)
{
    static const char *const texts[] = {"9999999999999999998", "9999999999999999999",
                                        "9999999999999999997"};
    static const char *const decimals[] = {"-12345678901.00000001", "-12345678901.00000003"};
    struct variance v = of_texts(texts, 3);
    double value;
    cr_expect(variance_value(&v, true, &value) && value == 1);
    v = of_texts(decimals, 2);
    cr_expect(v.exact == 2 && variance_value(&v, true, &value));
    cr_expect(fabs(value / 2e-16 - 1) < 4 * DBL_EPSILON, "%.17g", value);
}

Test(variance, merged_in_any_way)
{
    static const char *const texts[] = {"-3.25", "1000000007", "0.000000001", "-999999999999999999",
                                        "7",     "0",          "123456.789",  "-1"};
    enum { COUNT = sizeof texts / sizeof texts[0] };
    double all, value;
    struct variance v = of_texts(texts, COUNT);
    cr_assert(variance_value(&v, true, &all));
    for (int cut = 0; cut <= COUNT; cut++) {
        v = of_texts(texts + cut, COUNT - cut);
        const struct variance more = of_texts(texts, cut);
        variance_merge(&v, &more);
        cr_expect(variance_value(&v, true, &value) && value == all, "%d", cut);
    }
}

Test(variance, of_doubles)
{
    static const char *const texts[] = {"1e0", "2", "123456789012345678901e-20", "4.0e0", "-5"};
    enum { COUNT = sizeof texts / sizeof texts[0] };
    double sum = 0, squares = 0, value;
    for (int i = 0; i < COUNT; i++) sum += strtod(texts[i], NULL);
    for (int i = 0; i < COUNT; i++) squares += pow(strtod(texts[i], NULL) - sum / COUNT, 2);
    for (int cut = 0; cut <= COUNT; cut++) {
        struct variance v = of_texts(texts, cut);
        const struct variance more = of_texts(texts + cut, COUNT - cut);
        variance_merge(&v, &more);
        cr_expect(variance_value(&v, false, &value));
        cr_expect(fabs(value / (squares / COUNT) - 1) < 1e-14, "%d: %.17g", cut, value);
    }
    static const char *const large[] = {"1e308", "-1e308"};
    struct variance v = of_texts(large, 1);
    cr_expect(variance_value(&v, false, &value) && value == 0);
    v = of_texts(large, 2);
    cr_expect(variance_value(&v, true, &value) && isinf(value));
}
