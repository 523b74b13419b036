/* Times that a job measures on the driver: a few repeats, reported as their median. */
#ifndef GLINT_JOBS_PAPERS_TIMES_H
#define GLINT_JOBS_PAPERS_TIMES_H

#include <stdint.h>

enum { TIMES_MAX = 25 };

struct times {
    uint32_t count;
    double items[TIMES_MAX];
};

/* Milliseconds; only differences are meaningful. cpu: of all threads of this process. */
double times_wall_ms(void);
double times_cpu_ms(void);
void times_add(struct times *t, double x);
/* Sorts the items, so that the first is the lowest and the last the highest. Needs at least one. */
double times_median(struct times *t);
double times_mean(const struct times *t); /* needs at least one */

#endif
