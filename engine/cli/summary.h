/* The summary at the end of a job: text for people on standard error, or one JSON object for
 * programs. */
#ifndef GLINT_CLI_SUMMARY_H
#define GLINT_CLI_SUMMARY_H

#include "engine/base/mem.h"

#include <stdio.h>

/* What to report; everything is borrowed. */
struct summary_report {
    const char *job;
    const struct glint_error *error; /* code 0: no error */
    const struct glint_summary *summary;
    const struct buffer *notes; /* the job's own lines, each NUL-terminated */
};

/* Prints rows, bytes, time, non-zero counters and outputs; with `verbose` all counters and the
 * stages. */
void summary_print(FILE *out, const struct summary_report *report, bool verbose);
/* Prints a line for each answer of the job: NAME TAB VALUE. */
void summary_print_answers(FILE *out, const struct glint_summary *s);
/* Prints one object and a newline. Returns false when out of memory, having printed nothing. */
bool summary_print_json(FILE *out, const struct summary_report *report);

#endif
