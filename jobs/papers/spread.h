/* A running mean and variance (Welford). */
#ifndef GLINT_JOBS_PAPERS_SPREAD_H
#define GLINT_JOBS_PAPERS_SPREAD_H

#include <math.h>
#include <stdint.h>

struct spread {
    uint32_t count;
    double mean, squares;
};

static inline void spread_add(struct spread *s, double x)
{
    double from = x - s->mean;
    s->count++;
    s->mean += from / s->count;
    s->squares += from * (x - s->mean);
}

/* The standard deviation of the samples; 0 if there is only one. */
static inline double spread_deviation(const struct spread *s)
{
    return s->count > 1 ? sqrt(s->squares / (s->count - 1)) : 0;
}

#endif
