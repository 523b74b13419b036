/* Reports of filters, for the event log and the web page: how full each one is. Driver only.
 * Nothing is done if the job's events have no receiver. */
#ifndef GLINT_JOBS_FILTERS_FILTER_REPORT_H
#define GLINT_JOBS_FILTERS_FILTER_REPORT_H

#include "jobs/filters/sizes.h"

/* `key`: as text. */
void report_filter_fill(struct glint *g, const char *key, const struct bloom_filter *filter);

/* Reports the filters that the job has saved to `path`, whole ones of the sizes' keys. They are in
 * the parts, not on the driver, so this is an action, which reads them. It does nothing for more
 * than GLINT_REPORTS_MAX filters, or if their bits exceed FILTER_REPORT_BYTES_MAX. Returns 0 or the
 * context's code. */
#define FILTER_REPORT_BYTES_MAX (256u << 20)
int filter_report_saved(struct glint *g, const char *path, const struct sizes *sizes);
/* (key, filter) to (key, its parameters and number of set bits), for filter_report_saved. */
extern const struct glint_function filter_fill;

#endif
