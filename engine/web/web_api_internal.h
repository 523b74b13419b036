/* Shared by the parts of the API; internal to web_api*.c. */
#ifndef GLINT_WEB_WEB_API_INTERNAL_H
#define GLINT_WEB_WEB_API_INTERNAL_H

#include "engine/base/json.h"
#include "engine/events/job_model.h"

/* Writes any value, as it is; NULL: null. */
void web_api_put_value(struct json *out, const char *name, const json_t *value);
/* The same, of a field of an event. */
void web_api_put_field(struct json *out, const char *name, const json_t *event, const char *field);
/* Milliseconds as the event log has them; a negative number: not known. */
void web_api_put_ms(struct json *out, const char *name, double ms);
/* Of a job, an action or a stage that has ended; one that the user cancelled has not failed. */
const char *web_api_status(const json_t *end);

/* web_api_stages.c */
void web_api_put_stages(struct json *out, const struct job_model *m);

#endif
