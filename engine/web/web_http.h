/* The HTTP side of the page: connections, access, and the answers of web_api.h, by libmicrohttpd in
 * the caller's loop. One thread. */
#ifndef GLINT_WEB_WEB_HTTP_H
#define GLINT_WEB_WEB_HTTP_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/events/job_model.h"
#include "engine/web/web_access.h"

#include <microhttpd.h>

/* libmicrohttpd, loaded when a page is served: other runs of glint neither need it nor pay for
 * it. */

#define WEB_FUNCTIONS(X) \
    X(get_version) X(start_daemon) X(stop_daemon) \
    X(get_daemon_info) X(get_connection_info) X(run) \
    X(get_timeout) X(lookup_connection_value) X(create_response_from_buffer) \
    X(create_response_from_callback) X(add_response_header) X(queue_response) \
    X(destroy_response) X(suspend_connection) X(resume_connection)

struct web_library {
#define MEMBER(name) __typeof__(&MHD_##name) name;
    WEB_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Returns the functions, or NULL with *error set to WEB_LIBRARY. It stays loaded: the library
 * registers functions for the process's end. */
const struct web_library *web_library_load(struct glint_error *error);

/* Connections that have not sent a whole request: libmicrohttpd ends those without progress only,
 * so a byte now and then would keep one without limit. One thread. */

struct web_connection;

struct web_connections {
    struct env *env;
    const struct web_library *library;
    struct web_connection *first;
};

#define WEB_CONNECTIONS_MAX 64u
#define WEB_PER_ADDRESS_MAX 32u        /* of them from one address */
#define WEB_STREAMS_MAX     16u        /* of them with server-sent events */
#define WEB_REQUEST_BYTES   (16 * KIB) /* memory of a connection: line and headers of a request */
#define WEB_TIMEOUT_S       15u        /* without progress of a connection; for a whole request */
#define WEB_CHANGE_NS       (500 * MS_NS)
#define WEB_KEEP_ALIVE_NS   (10 * SECOND_NS)

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

struct web_stream;

struct web_http {
    struct env *env;
    const struct web_library *library;
    struct MHD_Daemon *daemon;
    const struct web_access *access;
    struct web_jobs jobs;
    struct web_connections connections;
    struct web_stream *streams;
    uint32_t stream_count;
    bool closing; /* streams end */
};

struct sockaddr;

/* Listens on the address. Returns 0 or an errno: EADDRINUSE, ... */
int web_http_start(struct web_http *h, const struct sockaddr *address);
uint16_t web_http_port(const struct web_http *h);
int web_http_epoll(const struct web_http *h); /* readable: call web_http_run */
/* Returns the time in ms until the next call is due without an event; -1: none. */
int64_t web_http_run(struct web_http *h);
/* Wakes the streams that have something to send. Call a few times a second. */
void web_http_tick(struct web_http *h);
void web_http_stop(struct web_http *h);

#endif
