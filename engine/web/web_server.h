/* The web server of a process: of a running job or an executor in a thread of its own, so that
 * neither can delay the other, or of finished jobs in the calling thread. */
#ifndef GLINT_WEB_WEB_SERVER_H
#define GLINT_WEB_WEB_SERVER_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/events/event_log.h"
#include "engine/events/job_model.h"

/* The jobs that are shown. */
struct web_jobs {
    void *arg;
    /* Writes an object for each job. */
    void (*list)(void *arg, struct json *out);
    /* Returns the model of a job, valid until the next call; NULL: there is none. `id` NULL: the
     * only one, or the newest. */
    const struct job_model *(*find)(void *arg, const char *id);
    /* Reads what is not known yet, for a short time; called a few times a second. NULL: nothing. */
    void (*step)(void *arg);
    /* Of an executor, which has none of these jobs; NULL: of jobs. Write the fields of its object,
     * and its metrics. Return false if they are not known now, or when out of memory. */
    bool (*executor)(void *arg, struct json *out);
    bool (*executor_metrics)(void *arg, struct buffer *out);
};

#define WEB_PORT_DEFAULT 4040u
#define WEB_PORT_TRIES   16u /* as many ports as Spark tries */

struct web_config {
    struct env *env;
    const char *host; /* to listen on: a name or an address */
    uint16_t port;    /* the first to try; 0: any */
    /* NULL: a random one; then only this machine may connect. */
    const char *token;
    /* What to show; find NULL: the job whose events come to the sink. */
    struct web_jobs jobs;
};

struct web_server;

/* Starts to listen. Returns NULL with *error set: WEB_LIBRARY, ADDRESS, SYSTEM, NO_MEMORY. */
struct web_server *web_server_open(const struct web_config *config, struct glint_error *error);
/* The page's address, with a random token in it. Valid as long as the server. */
const char *web_server_url(const struct web_server *s);
/* Serves in a thread. Returns 0 or a code. */
int web_server_start(struct web_server *s, struct glint_error *error);
/* For context_config.event_sink; valid as long as the server. */
const struct event_sink *web_server_sink(struct web_server *s);
/* Serves until SIGINT or SIGTERM, which are caught from web_server_open on. Only for finished
 * jobs. */
void web_server_run(struct web_server *s);
/* Ends the thread, if there is one, after the clients got the last events, and frees the server. */
void web_server_close(struct web_server *s); /* NULL is allowed */

#endif
