/* Dates and times in fields, as ISO 8601 writes them. Pure; any thread. */
#ifndef GLINT_JOBS_ROWS_TIMESTAMPS_H
#define GLINT_JOBS_ROWS_TIMESTAMPS_H

#include "engine/glint.h"

/* A time in UTC; a date is its first moment. */
struct timestamp {
    int64_t seconds; /* since 1970-01-01 */
    int32_t nanos;   /* 0 to 999,999,999 */
};

/* Accepts YYYY-MM-DD, then perhaps T or a space and HH:MM, :SS, a fraction of up to 9 digits, and Z
 * or an offset such as +02:00, +0200 or +02. Without an offset the time is UTC. The year is 0000 to
 * 9999, or has a sign and up to 7 digits, the date exists, the time is before 24:00; there are no
 * leap seconds. Returns false otherwise. */
bool timestamp_parse(struct glint_slice text, struct timestamp *out);
/* The same, of a date without a time. */
bool timestamp_parse_date(struct glint_slice text, struct timestamp *out);
/* HH:MM, perhaps with :SS and a fraction, as a time of 1970-01-01. */
bool timestamp_parse_time_of_day(struct glint_slice text, struct timestamp *out);

static inline int timestamp_compare(const struct timestamp *a, const struct timestamp *b)
{
    if (a->seconds != b->seconds) return a->seconds < b->seconds ? -1 : 1;
    return (a->nanos > b->nanos) - (a->nanos < b->nanos);
}

#endif
