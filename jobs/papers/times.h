/* Times that a job measures on the driver: a few repeats, of which the median counts. */
#ifndef GLINT_JOBS_PAPERS_TIMES_H
#define GLINT_JOBS_PAPERS_TIMES_H

#include <stdint.h>

enum { TIMES_MAX = 25 };

struct times {
    uint32_t count;
    double items[TIMES_MAX];
};

/* Milliseconds; only their differences mean something. cpu: of all threads of this process. */
double times_wall_ms(void);
double times_cpu_ms(void);
void times_add(struct times *t, double x);
/* Sorts the items: the first is then the least, the last the greatest. There is at least one. */
double times_median(struct times *t);
double times_mean(const struct times *t); /* there is at least one */

#endif
