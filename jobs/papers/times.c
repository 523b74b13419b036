/* Wall time is read from the monotonic clock, which is not affected by clock changes. */
#include "jobs/papers/times.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

static double clock_ms(clockid_t clock)
{
    struct timespec t;
    int r = clock_gettime(clock, &t);
    assert(r == 0);
    (void)r;
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

double times_wall_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

double times_cpu_ms(void)
{
    return clock_ms(CLOCK_PROCESS_CPUTIME_ID);
}

void times_add(struct times *t, double x)
{
    assert(t->count < TIMES_MAX);
    t->items[t->count++] = x;
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double times_median(struct times *t)
{
    assert(t->count > 0 && t->count <= TIMES_MAX);
    qsort(t->items, t->count, sizeof *t->items, compare_double);
    const uint32_t half = t->count / 2;
    return t->count % 2 == 1 ? t->items[half] : (t->items[half - 1] + t->items[half]) / 2;
}

double times_mean(const struct times *t)
{
    double sum = 0;
    assert(t->count > 0);
    for (uint32_t i = 0; i < t->count; i++) sum += t->items[i];
    return sum / t->count;
}
