/* What a server of filters answers over HTTP; see docs/tables.md. */
#ifndef GLINT_JOBS_COMMANDS_FILTER_HTTP_H
#define GLINT_JOBS_COMMANDS_FILTER_HTTP_H

#include "engine/web/web_http.h"
#include "jobs/commands/filter_batch.h"
#include "jobs/commands/filter_commands.h"

#define FILTER_BODY_BYTES_MAX (16u << 20) /* as a request of RESP */

struct filter_http {
    struct filter_service *service;
    struct filter_batch batch; /* of the last request */
    struct buffer reply;
};

/* web_http_config.answer; `http` is a struct filter_http. */
enum MHD_Result filter_http_answer(void *http, const struct web_request *r);
void filter_http_fini(struct filter_http *h);

#endif
