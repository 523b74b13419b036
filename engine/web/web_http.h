/* HTTP on a loop of libuv, by libmicrohttpd: who may ask, connections and their limits, requests
 * with their bodies, answers. What is asked for and answered is its user's. */
#ifndef GLINT_WEB_WEB_HTTP_H
#define GLINT_WEB_WEB_HTTP_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/json.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* libmicrohttpd, loaded when a page is served: other runs of glint neither need it nor pay for
 * it. */

#define WEB_FUNCTIONS(X)                                                                           \
    X(get_version)                                                                                 \
    X(start_daemon) X(stop_daemon) X(is_feature_supported) X(get_daemon_info)                      \
        X(get_connection_info) X(run) X(get_timeout) X(lookup_connection_value)                    \
            X(lookup_connection_value_n) X(create_response_from_buffer)                            \
                X(create_response_from_callback) X(add_response_header) X(queue_response)          \
                    X(destroy_response) X(suspend_connection) X(resume_connection)

struct web_library {
#define MEMBER(name) __typeof__(&MHD_##name) name;
    WEB_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Returns the functions, or NULL with *error set to WEB_LIBRARY. It stays loaded: the library
 * registers functions for the process's end. */
const struct web_library *web_library_load(struct glint_error *error);

#define WEB_JSON_TYPE    "application/json; charset=utf-8"
#define WEB_TEXT_TYPE    "text/plain; charset=utf-8"
#define WEB_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* A request that is complete, and allowed. */
struct web_request {
    struct web_http *http;
    const struct web_library *library;
    struct MHD_Connection *connection;
    const char *path;   /* without its escapes */
    bool post;          /* the method; else GET or HEAD */
    bool by_query;      /* the token came in the query of the path "/" */
    struct buffer body; /* of POST; READ_SLACK bytes behind it are readable */
};

/* NULL: not sent. */
const char *web_request_header(const struct web_request *r, const char *name);
/* A parameter of the query; `r` is a struct web_request. NULL: not given, or without a value. */
const char *web_request_query(void *r, const char *name);
/* The same with any bytes. Returns false if it is not given; without a value it is empty. */
bool web_request_query_bytes(const struct web_request *r, const char *name, const char **out,
                             size_t *out_size);

/* Answers, to be returned by web_http_config.answer. */

/* Copies the data. `name`, `value`: one more header; may be NULL. */
enum MHD_Result web_answer(const struct web_request *r, unsigned status, const char *type,
                           const void *data, uint64_t size, const char *name, const char *value);
enum MHD_Result web_answer_text(const struct web_request *r, unsigned status, const char *text,
                                const char *name, const char *value);
/* Takes the writer. */
enum MHD_Result web_answer_json(const struct web_request *r, unsigned status, struct json *out);
enum MHD_Result web_answer_error(const struct web_request *r, unsigned status, const char *text);
/* Adds the headers that all answers have. Takes the response. */
enum MHD_Result web_answer_response(const struct web_request *r, unsigned status, const char *type,
                                    struct MHD_Response *response);

struct web_http_config {
    struct env *env;
    uv_loop_t *loop;
    const char *host;   /* to listen on: a name or an address */
    uint16_t port;      /* the first to try; 0: any */
    unsigned tries;     /* ports */
    const char *option; /* in errors: "--ui" */
    /* NULL: a random one; then only this machine may connect. */
    const char *token;
    const char *certificate, *key; /* PEM; NULL: HTTP without TLS */
    uint64_t body_bytes_max;       /* of POST; 0: there is only GET */
    /* Loop thread. Answers a request: calls one of the functions above. */
    enum MHD_Result (*answer)(void *arg, const struct web_request *r);
    void *arg;
};

/* Listens, and answers requests on the loop. Returns NULL with *error set and nothing open:
 * WEB_LIBRARY, ADDRESS, SYSTEM, NO_MEMORY. */
struct web_http *web_http_open(const struct web_http_config *config, struct glint_error *error);
/* Call it a few times a second: ends what is too slow. */
void web_http_tick(struct web_http *h);
/* Ends all connections, and closes the handles. */
void web_http_stop(struct web_http *h);
/* After the loop has closed the handles. NULL is allowed. */
void web_http_free(struct web_http *h);
const struct web_access *web_http_access(const struct web_http *h);
/* "http://HOST:PORT/", with a random token in it. Valid as long as `h`. */
const char *web_http_url(const struct web_http *h);

/* ---- Who may read the page: those who know its token. Pure. */

#define WEB_TOKEN_MAX 256u

struct web_access {
    char token[WEB_TOKEN_MAX];
    char cookie[32];   /* its name, which has the port: cookies of all ports are sent to each */
    char address[256]; /* as bound: 127.0.0.1 or [::1] */
    uint16_t port;
    bool loopback; /* only this machine can connect */
};

enum web_denial {
    WEB_ALLOWED,
    WEB_WRONG_HOST,   /* 421: the name that the browser used may be another site's */
    WEB_WRONG_ORIGIN, /* 403: the request was made by a page of another site */
    WEB_NO_TOKEN,     /* 401 */
};

/* Headers of a request; NULL: not sent. */
struct web_credentials {
    const char *host, *origin, *authorization, *cookie, *query_token;
};
/* *out_by_query: the token came in the query, and nothing else. */
enum web_denial web_access_check(const struct web_access *a, const struct web_credentials *c,
                                 bool *out_by_query);
/* A token has 16 to 255 letters, digits, '-', '_', '.' or '~', which need no escape in a URL. */
bool web_token_is_valid(const char *token);

#endif
