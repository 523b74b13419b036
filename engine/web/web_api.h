/* The answers of the API (docs/web.md): JSON, and metrics in the text format of OpenMetrics. Pure;
 * each returns an HTTP status. */
#ifndef GLINT_WEB_WEB_API_H
#define GLINT_WEB_WEB_API_H

#include "engine/base/json.h"
#include "engine/events/job_model.h"

#define WEB_TASKS_PER_ANSWER 20000u

/* The object of a job, without its braces: of the list, or with `all` of the job itself. */
void web_api_put_application(struct json *out, const struct job_model *m, bool all);
/* Part NAME of /api/v1/applications/ID/NAME. `query` returns a parameter or NULL. */
unsigned web_api_put_resource(struct json *out, const struct job_model *m, const char *name,
                              const char *(*query)(void *arg, const char *name), void *arg);
/* {"error": {...}} */
unsigned web_api_error(struct json *out, unsigned status, const char *text);
/* False when out of memory. */
bool web_put_job_metrics(struct buffer *out, const struct job_model *m);
/* A metric with one value; a counter's name gets _total. */
struct web_metric {
    const char *name;
    bool counter;
    const char *unit; /* NULL: none */
    const char *help;
    uint64_t value;
};
/* Appends the last metrics of an answer. Returns false when out of memory. */
bool web_put_metrics(struct buffer *out, const struct web_metric *rows, size_t count);
/* A value of `query` from 0 to max; `absent` if it is not given. False: it is not such a number. */
bool web_parse_count(const char *text, uint64_t absent, uint64_t max, uint64_t *out);

#endif
