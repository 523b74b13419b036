/* What a job did, at its end: for people on standard error, for programs as one JSON object. */
#ifndef GLINT_CLI_SUMMARY_H
#define GLINT_CLI_SUMMARY_H

#include "engine/base/mem.h"
#include "engine/plan/progress.h"

#include <stdio.h>

struct summary_report {
    const char *job;
    const struct glint_error *error; /* code 0: none */
    const struct glint_summary *summary;
    const struct buffer *notes; /* the job's own lines, each ended by NUL */
};

/* Rows, bytes, time, counters that are not 0, outputs; with `verbose` all counters and the stages.
 */
void summary_print(FILE *out, const struct summary_report *report, bool verbose);
/* The object and a newline. False: no memory, nothing was printed. */
bool summary_print_json(FILE *out, const struct summary_report *report);

#endif
