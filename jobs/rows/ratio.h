/* --ratio A/B, of jobs that split a table into two. */
#ifndef GLINT_JOBS_ROWS_RATIO_H
#define GLINT_JOBS_ROWS_RATIO_H

#include "engine/glint.h"

/* Parses "60/40" as two weights. Returns 0 or the context's code. */
int ratio_parse(struct glint *g, const char *text, double out[2]);

#endif
