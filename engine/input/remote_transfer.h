/* One HTTP request, whose body the caller pulls: libcurl stops reading from the connection while
 * the buffer is full. Connections are kept for later requests of this process. One thread per
 * transfer, and per group. */
#ifndef GLINT_INPUT_REMOTE_TRANSFER_H
#define GLINT_INPUT_REMOTE_TRANSFER_H

#include "engine/base/env.h"
#include "engine/base/mem.h"
#include "engine/input/curl_library.h"
#include "engine/input/remote_url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The headers of a response that say what its body is: RFC 9110. Pure; any thread. */

/* The version of an object: its ETag, with quotes and W/, or else its Last-Modified; "": neither.
 */
#define REMOTE_VERSION_BYTES 256u

struct remote_response {
    bool has_length, has_range, malformed;
    bool ended;        /* the empty line after the headers has come */
    uint64_t length;   /* Content-Length */
    uint64_t from, to; /* Content-Range: the first byte, and the one after the last */
    uint64_t total;    /* of the whole object */
    bool has_total;    /* false: the server does not know it */
    bool has_etag;     /* `version` is one */
    char version[REMOTE_VERSION_BYTES];
};

/* A line with or without its line end. A line that begins with HTTP/ starts a new response; other
 * headers are ignored. Headers that contradict themselves or each other set `malformed`. */
void remote_response_add_line(struct remote_response *r, const char *line, size_t size);

struct remote_session;

/* Transfers that go on together: while one of them is waited for, the others proceed. Returns NULL
 * with *error set. */
struct remote_session *remote_session_open(struct glint_error *error);
/* All its transfers are closed. NULL is fine. */
void remote_session_close(struct remote_session *group);

/* Who asks, and how a request is signed: of a store of objects. */
struct remote_signature {
    char scheme[96]; /* as CURLOPT_AWS_SIGV4 has it; "": requests are not signed */
    char user[256], password[256];
    char token_header[4096]; /* of credentials for a session; "": none */
};

/* What is asked for. Texts are borrowed until the transfer is closed. */
struct remote_request {
    const char *url;       /* http or https */
    uint64_t from, to;     /* bytes of the object; to == 0: all of it, without a Range header */
    const char *condition; /* a header, such as If-Match: ...; NULL: none */
    const char *method;    /* NULL: GET */
    const void *body;      /* of a PUT or POST */
    uint64_t body_size;
    uint64_t timeout_ms; /* 0: remote_timeout_ms() */
    bool no_proxy;
    bool no_redirects;
    bool as_is;       /* the path's segments . and .. are names */
    bool same_scheme; /* redirects from http to https are refused, too */
    bool use_netrc;
    const struct remote_signature *signature; /* NULL: none */
    int cancelled;                /* a descriptor that is readable when waits must end; 0: none */
    uint64_t grace_ms;            /* a wait for the response goes on so long after that */
    struct remote_session *group; /* NULL: it goes on only while it is waited for itself */
};

/* How a step of a transfer ended. */
enum remote_result {
    REMOTE_OK,
    REMOTE_RETRY,   /* failed in a way that may pass: *error is set, too */
    REMOTE_GARBLED, /* the response makes no sense; so will the next one, or not: *error is set */
    REMOTE_FAILED,  /* *error is set */
};

struct remote_transfer {
    struct env *env;
    const char *name; /* the URL as it is shown */
    const struct curl_library *curl;
    struct remote_session *session; /* NULL: closed */
    CURLM *multi;                   /* of the group, or the session's own */
    struct curl_slist *headers;
    struct remote_response response;
    long status;
    uint64_t retry_after_ms; /* what the server asks for, of Retry-After; 0: nothing */
    uint8_t *buffer;         /* [at, fill) is received and not read */
    uint64_t at, fill, capacity;
    uint64_t timeout_ms;
    uint64_t sent; /* bytes of the request's body, when the wait was last extended */
    int cancelled; /* of the request */
    uint64_t grace_ms;
    const char *schemes; /* that redirects may lead to */
    bool paused, done;
    CURLcode result; /* once `done` */
    char problem[CURL_ERROR_SIZE];
};

/* Begins to send the request. `t` may be uninitialized, and must not move; call
 * remote_transfer_close in any case. */
enum remote_result remote_transfer_start(struct remote_transfer *t, struct env *env,
                                         const char *name, const struct remote_request *request,
                                         struct glint_error *error);
/* Waits until the body begins or the response is complete; t->status and t->response are set
 * then. */
enum remote_result remote_transfer_await(struct remote_transfer *t, struct glint_error *error);
/* Both. */
enum remote_result remote_transfer_open(struct remote_transfer *t, struct env *env,
                                        const char *name, const struct remote_request *request,
                                        struct glint_error *error);
/* Reads up to `size` > 0 bytes of the body; *out_size is 0 only at its end. */
enum remote_result remote_transfer_read(struct remote_transfer *t, void *out, uint64_t size,
                                        uint64_t *out_size, struct glint_error *error);
/* Zeros and a second call are fine. A connection whose body was not read to the end is closed. */
void remote_transfer_close(struct remote_transfer *t);
/* Waits without a transfer, for backoff, but not after `cancelled` is readable (0: none). */
void remote_wait_before_retry(uint64_t ms, int cancelled);
/* How long a connection may take to open, or to send its next bytes: GLINT_HTTP_TIMEOUT, in
 * seconds, or REMOTE_TIMEOUT_S. */
uint64_t remote_timeout_ms(void);

/* When a failed request is repeated, and when not any more. The time that a server takes is
 * limited, not the number of attempts: what it has sent, at the least rate, pays for it. So neither
 * a server that is down nor one that sends a byte now and then holds a task. One thread. */
struct remote_retry {
    uint32_t failures; /* since the server was not late */
    uint64_t late_ns;  /* that bytes have not paid for */
    uint64_t since_ns; /* until then time is counted */
    uint64_t wait_ms;  /* at least, before the next attempt: the server asks for it */
    int cancelled;     /* a descriptor that is readable when the wait must end; 0: none */
};

/* The server is asked for bytes, from now on. */
void remote_retry_begin(struct remote_retry *r, struct env *env);
/* So many bytes were received. Returns 0, or INPUT_IO with *error set: the server is too slow. */
int remote_retry_received(struct remote_retry *r, struct env *env, const char *name, uint64_t bytes,
                          struct glint_error *error);
/* After a failure: waits with backoff and jitter and returns true if there is time for another
 * attempt. `first`: nothing was read yet, so the URL may be wrong; less time then. */
bool remote_retry_wait(struct remote_retry *r, struct env *env, enum remote_result result,
                       bool first);
/* Sets *error to the last problem, with the number of attempts. Returns its code. */
int remote_retry_set_error(const struct remote_retry *r, const struct glint_error *last,
                           struct glint_error *error);
/* Appends the rest of the body to `out`; INPUT_URL if there are more than `size_max` bytes in `out`
 * then. `retry`: they are received bytes of it; NULL: they are not counted. */
enum remote_result remote_transfer_read_all(struct remote_transfer *t, uint64_t size_max,
                                            struct remote_retry *retry, struct buffer *out,
                                            struct glint_error *error);
/* Sets the error of a response that has no content. */
enum remote_result remote_set_status_error(enum remote_kind kind, const char *name,
                                           const struct remote_transfer *t,
                                           struct glint_error *error);

#endif
