/* A session is a handle of libcurl with its connections. A transfer takes one, and gives it back
 * at its end, so that the next one, of any thread, finds open connections. A group is a session
 * whose connections several transfers use. */
#include "engine/input/remote_transfer.h"

#include "engine/base/text.h"
#include "engine/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RANGE_BYTES 64

struct remote_session {
    CURLM *multi;
    CURL *easy;
    struct remote_session *next;
};

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static struct remote_session *idle;
static unsigned idle_count;

static void destroy_session(const struct curl_library *curl, struct remote_session *s)
{
    if (s->easy != NULL) curl->easy_cleanup(s->easy);
    if (s->multi != NULL) curl->multi_cleanup(s->multi);
    mem_free(s);
}

/* Returns NULL when out of memory. */
static struct remote_session *take_session_from_pool(const struct curl_library *curl)
{
    pthread_mutex_lock(&idle_lock);
    struct remote_session *s = idle;
    if (s != NULL) {
        idle = s->next;
        idle_count--;
    }
    pthread_mutex_unlock(&idle_lock);
    if (s != NULL) return s;
    s = mem_zalloc(sizeof *s);
    if (s == NULL) return NULL;
    s->multi = curl->multi_init();
    s->easy = curl->easy_init();
    if (s->multi != NULL && s->easy != NULL) return s;
    destroy_session(curl, s);
    return NULL;
}

static void return_session_to_pool(const struct curl_library *curl, struct remote_session *s)
{
    curl->easy_reset(s->easy); /* keeps connections; forgets passwords */
    pthread_mutex_lock(&idle_lock);
    const bool keep = idle_count < REMOTE_IDLE_SESSIONS_MAX;
    if (keep) {
        s->next = idle;
        idle = s;
        idle_count++;
    }
    pthread_mutex_unlock(&idle_lock);
    if (!keep) destroy_session(curl, s);
}

struct remote_session *remote_session_open(struct glint_error *error)
{
    const struct curl_library *curl = curl_library_load(error);
    struct remote_session *group = curl != NULL ? take_session_from_pool(curl) : NULL;
    if (group == NULL && curl != NULL) error_no_memory(error);
    return group;
}

void remote_session_close(struct remote_session *group)
{
    struct glint_error ignored = {.code = GLINT_OK};
    if (group != NULL) return_session_to_pool(curl_library_load(&ignored), group);
}

uint64_t remote_timeout_ms(void)
{
    const char *text = getenv("GLINT_HTTP_TIMEOUT");
    int64_t seconds = 0;
    if (text == NULL || !text_parse_i64((const uint8_t *)text, strlen(text), &seconds) ||
        seconds < 1 || seconds > REMOTE_TIMEOUT_S_MAX)
        seconds = REMOTE_TIMEOUT_S;
    return (uint64_t)seconds * 1000;
}

/* ---- Calls from libcurl */

static size_t on_response_header(char *line, size_t size, size_t count, void *arg)
{
    struct remote_transfer *t = arg;
    remote_response_add_line(&t->response, line, size * count);
    return size * count;
}

static size_t on_response_body(char *data, size_t size, size_t count, void *arg)
{
    struct remote_transfer *t = arg;
    const size_t n = size * count;
    assert(n <= t->capacity);
    if (t->at == t->fill) t->at = t->fill = 0;
    if (n > t->capacity - t->fill) {
        t->paused = true; /* libcurl keeps the bytes, and passes them again */
        return CURL_WRITEFUNC_PAUSE;
    }
    memcpy(t->buffer + t->fill, data, n);
    t->fill += n;
    return n;
}

/* ---- Requests */

/* Options whose values are numbers, and those whose values are texts or other objects. */
static bool set_curl_number(const struct remote_transfer *t, CURLoption option, long value)
{
    return t->curl->easy_setopt(t->session->easy, option, value) == CURLE_OK;
}

static bool set_curl_pointer(const struct remote_transfer *t, CURLoption option, const void *value)
{
    return t->curl->easy_setopt(t->session->easy, option, value) == CURLE_OK;
}

static bool add_request_header(struct remote_transfer *t, const char *line)
{
    struct curl_slist *grown = t->curl->slist_append(t->headers, line);
    if (grown != NULL) t->headers = grown;
    return grown != NULL;
}

/* The file with the certificates of authorities, as curl(1) and OpenSSL name it; NULL: libcurl's.
 */
static const char *ca_certificates_file(void)
{
    const char *path = getenv("CURL_CA_BUNDLE");
    if (path == NULL || path[0] == '\0') path = getenv("SSL_CERT_FILE");
    return path != NULL && path[0] != '\0' ? path : NULL;
}

/* Certificates are checked by default. */
static bool set_tls_and_redirect_options(struct remote_transfer *t,
                                         const struct remote_request *request)
{
    const bool tls = strncasecmp(request->url, "https:", 6) == 0;
    t->schemes = tls ? "https" : request->same_scheme ? "http" : "http,https";
    bool ok = set_curl_pointer(t, CURLOPT_PROTOCOLS_STR, "http,https");
    ok &= set_curl_pointer(t, CURLOPT_REDIR_PROTOCOLS_STR, t->schemes);
    ok &= set_curl_number(t, CURLOPT_FOLLOWLOCATION, !request->no_redirects);
    ok &= set_curl_number(t, CURLOPT_MAXREDIRS, REMOTE_REDIRECTS_MAX);
    if (request->no_proxy) ok &= set_curl_pointer(t, CURLOPT_NOPROXY, "*");
    if (request->use_netrc) ok &= set_curl_number(t, CURLOPT_NETRC, CURL_NETRC_OPTIONAL);
    ok &= set_curl_number(t, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    if (ca_certificates_file() != NULL)
        ok &= set_curl_pointer(t, CURLOPT_CAINFO, ca_certificates_file());
    return ok;
}

/* The secret stays in this process: the request has a signature of it. */
static bool set_signature(struct remote_transfer *t, const struct remote_signature *s)
{
    if (s == NULL || s->scheme[0] == '\0') return true;
    bool ok = set_curl_pointer(t, CURLOPT_AWS_SIGV4, s->scheme);
    ok &= set_curl_pointer(t, CURLOPT_USERNAME, s->user);
    ok &= set_curl_pointer(t, CURLOPT_PASSWORD, s->password);
    ok = ok && add_request_header(t, "x-amz-content-sha256: UNSIGNED-PAYLOAD");
    return ok && (s->token_header[0] == '\0' || add_request_header(t, s->token_header));
}

/* libcurl reads the body where it is. Expect: 100-continue cannot be suppressed: libcurl 7.88 signs
 * headers that it is told not to send. So it does not wait long for 100 Continue. */
static bool set_request_method(struct remote_transfer *t, const struct remote_request *request)
{
    bool ok = true;
    if (request->method == NULL) return true;
    if (strcmp(request->method, "DELETE") != 0) {
        const void *body = request->body != NULL ? request->body : "";
        ok = t->curl->easy_setopt(t->session->easy, CURLOPT_POSTFIELDSIZE_LARGE,
                                  (curl_off_t)request->body_size) == CURLE_OK;
        ok &= set_curl_pointer(t, CURLOPT_POSTFIELDS, body);
        ok &= set_curl_number(t, CURLOPT_EXPECT_100_TIMEOUT_MS, REMOTE_CONTINUE_MS);
        ok = ok && add_request_header(t, "Content-Type: application/octet-stream");
    }
    return ok && set_curl_pointer(t, CURLOPT_CUSTOMREQUEST, request->method);
}

static bool set_timeout_options(const struct remote_transfer *t)
{
    const long ms = (long)t->timeout_ms;
    bool ok = set_curl_number(t, CURLOPT_NOSIGNAL, 1);
    ok &= set_curl_number(t, CURLOPT_CONNECTTIMEOUT_MS, ms);
    /* One stream per connection: what HTTP/2 adds is of no use here. */
    ok &= set_curl_number(t, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    /* Only a wish: a handle that has a buffer from a transfer that failed keeps it. */
    set_curl_number(t, CURLOPT_BUFFERSIZE, REMOTE_RECEIVE_BYTES);
    return ok;
}

static bool set_request_options(struct remote_transfer *t, const struct remote_request *request)
{
    char range[RANGE_BYTES];
    bool ok = set_curl_pointer(t, CURLOPT_URL, request->url);
    ok &= set_curl_number(t, CURLOPT_PATH_AS_IS, request->as_is);
    if (request->to > 0) {
        assert(request->from < request->to);
        text_format(range, sizeof range, "%" PRIu64 "-%" PRIu64, request->from, request->to - 1);
        ok &= set_curl_pointer(t, CURLOPT_RANGE, range);
    }
    if (request->condition != NULL) ok &= add_request_header(t, request->condition);
    ok = ok && set_signature(t, request->signature) && set_request_method(t, request);
    ok &= set_curl_pointer(t, CURLOPT_HTTPHEADER, t->headers);
    ok &= set_curl_pointer(t, CURLOPT_USERAGENT, "glint/" GLINT_VERSION);
    ok &= set_curl_pointer(t, CURLOPT_ERRORBUFFER, t->problem);
    ok &= t->curl->easy_setopt(t->session->easy, CURLOPT_HEADERFUNCTION, on_response_header) ==
          CURLE_OK;
    ok &= set_curl_pointer(t, CURLOPT_HEADERDATA, t);
    ok &=
        t->curl->easy_setopt(t->session->easy, CURLOPT_WRITEFUNCTION, on_response_body) == CURLE_OK;
    ok &= set_curl_pointer(t, CURLOPT_WRITEDATA, t);
    ok &= set_curl_pointer(t, CURLOPT_PRIVATE, t);
    return ok && set_timeout_options(t) && set_tls_and_redirect_options(t, request);
}

/* ---- Progress */

/* Returns whether another attempt may have another result. */
static bool is_transient_curl_error(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return true;
    default: return false;
    }
}

/* Whether libcurl refused to follow a redirect. A response that is not HTTP has the same code. */
static bool is_refused_redirect(const struct remote_transfer *t)
{
    const char *url = NULL;
    if (t->curl->easy_getinfo(t->session->easy, CURLINFO_EFFECTIVE_URL, &url) != CURLE_OK ||
        url == NULL)
        return true;
    const size_t scheme = strcspn(url, ":");
    for (const char *s = t->schemes; *s != '\0'; s += strcspn(s, ","), s += *s == ',')
        if (strcspn(s, ",") == scheme && strncasecmp(s, url, scheme) == 0) return false;
    return true;
}

static enum remote_result set_transfer_error(const struct remote_transfer *t,
                                             struct glint_error *error)
{
    const char *problem = t->problem[0] != '\0' ? t->problem : t->curl->easy_strerror(t->result);
    const char *hint = NULL;
    if (t->result == CURLE_OUT_OF_MEMORY) {
        error_no_memory(error);
        return REMOTE_FAILED;
    }
    if (t->result == CURLE_PEER_FAILED_VERIFICATION || t->result == CURLE_SSL_CACERT_BADFILE)
        hint = "CURL_CA_BUNDLE=FILE names the certificates of authorities to trust";
    if (t->result == CURLE_UNSUPPORTED_PROTOCOL && !is_refused_redirect(t)) {
        error_set(error, GLINT_E_INPUT_URL, NULL, "%s: the server's response is not HTTP", t->name);
        return REMOTE_GARBLED;
    }
    if (t->result == CURLE_UNSUPPORTED_PROTOCOL)
        hint = "redirects are followed to http and https only, and from https to https only";
    const bool passing = is_transient_curl_error(t->result);
    error_set(error, passing ? GLINT_E_INPUT_IO : GLINT_E_INPUT_URL, hint, "%s: %s", t->name,
              problem);
    return passing ? REMOTE_RETRY : REMOTE_FAILED;
}

/* Also for the others of the group. */
static void mark_finished_transfers(struct remote_transfer *t)
{
    int left;
    CURLMsg *message;
    while ((message = t->curl->multi_info_read(t->multi, &left)) != NULL) {
        struct remote_transfer *ended = NULL;
        t->curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&ended);
        if (message->msg != CURLMSG_DONE || ended == NULL) continue;
        ended->done = true;
        ended->result = message->data.result;
    }
}

/* Waits for the connections of a session. Returns whether it was cancelled. */
static bool wait_for_session(const struct curl_library *c, CURLM *multi, uint64_t ms, int cancelled)
{
    struct curl_waitfd wait = {.fd = cancelled, .events = CURL_WAIT_POLLIN};
    c->multi_poll(multi, &wait, cancelled > 0, (int)ms, NULL);
    return wait.revents != 0;
}

/* Whether the server has taken bytes of the request's body since the last call. */
static bool has_sent_more(struct remote_transfer *t)
{
    curl_off_t sent = 0;
    const CURLcode r = t->curl->easy_getinfo(t->session->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    const bool more = r == CURLE_OK && (uint64_t)sent > t->sent;
    if (more) t->sent = (uint64_t)sent;
    return more;
}

/* Runs the transfer until the buffer has bytes or it is done; waits at most the timeout in which
 * nothing is sent or received. */
static enum remote_result receive_bytes(struct remote_transfer *t, struct glint_error *error)
{
    const struct curl_library *c = t->curl;
    uint64_t deadline = t->env->now_ns(t->env) + t->timeout_ms * MS_NS;
    if (t->paused) {
        t->paused = false;
        c->easy_pause(t->session->easy, CURLPAUSE_CONT);
    }
    while (t->at == t->fill && !t->done) {
        int running;
        if (c->multi_perform(t->multi, &running) != CURLM_OK) {
            error_set(error, GLINT_E_INPUT_URL, NULL, "%s: libcurl failed", t->name);
            return REMOTE_FAILED;
        }
        mark_finished_transfers(t);
        if (t->at < t->fill || t->done) break;
        const uint64_t now = t->env->now_ns(t->env);
        if (now >= deadline && has_sent_more(t)) deadline = now + t->timeout_ms * MS_NS;
        if (now >= deadline) {
            error_set(error, GLINT_E_INPUT_IO, NULL, "%s: no bytes came for %" PRIu64 " seconds",
                      t->name, t->timeout_ms / 1000);
            return REMOTE_RETRY;
        }
        if (!wait_for_session(c, t->multi, (deadline - now) / MS_NS + 1, t->cancelled)) continue;
        if (t->grace_ms == 0) {
            error_set(error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
            return REMOTE_FAILED;
        }
        t->cancelled = 0;
        t->timeout_ms = t->grace_ms < t->timeout_ms ? t->grace_ms : t->timeout_ms;
        deadline = t->env->now_ns(t->env) + t->timeout_ms * MS_NS;
    }
    if (t->at < t->fill || t->result == CURLE_OK) return REMOTE_OK;
    return set_transfer_error(t, error);
}

static uint64_t retry_after_ms(const struct remote_transfer *t)
{
    curl_off_t seconds = 0;
    if (t->curl->easy_getinfo(t->session->easy, CURLINFO_RETRY_AFTER, &seconds) != CURLE_OK ||
        seconds <= 0)
        return 0;
    return (uint64_t)(seconds < REMOTE_RETRY_AFTER_S_MAX ? seconds : REMOTE_RETRY_AFTER_S_MAX) *
           1000;
}

/* A transfer of few bytes takes little memory: there are many of them in a group. */
static uint64_t receive_buffer_bytes(const struct remote_request *request)
{
    const uint64_t wanted = request->to - request->from;
    return request->to > 0 && wanted < REMOTE_RECEIVE_BYTES ? REMOTE_RECEIVE_BYTES
                                                            : REMOTE_BUFFER_BYTES;
}

enum remote_result remote_transfer_start(struct remote_transfer *t, struct env *env,
                                         const char *name, const struct remote_request *request,
                                         struct glint_error *error)
{
    int running;
    memset(t, 0, sizeof *t);
    t->env = env;
    t->name = name;
    t->timeout_ms = request->timeout_ms > 0 ? request->timeout_ms : remote_timeout_ms();
    t->cancelled = request->cancelled;
    t->grace_ms = request->grace_ms;
    t->curl = curl_library_load(error);
    if (t->curl == NULL) return REMOTE_FAILED;
    t->session = take_session_from_pool(t->curl);
    t->capacity = receive_buffer_bytes(request);
    t->buffer = t->session != NULL ? mem_alloc(t->capacity) : NULL;
    if (t->session != NULL)
        t->multi = request->group != NULL ? request->group->multi : t->session->multi;
    if (t->buffer == NULL || !set_request_options(t, request) ||
        t->curl->multi_add_handle(t->multi, t->session->easy) != CURLM_OK) {
        error_no_memory(error);
        return REMOTE_FAILED;
    }
    if (t->curl->multi_perform(t->multi, &running) == CURLM_OK) mark_finished_transfers(t);
    return REMOTE_OK;
}

enum remote_result remote_transfer_await(struct remote_transfer *t, struct glint_error *error)
{
    const enum remote_result result = receive_bytes(t, error);
    t->curl->easy_getinfo(t->session->easy, CURLINFO_RESPONSE_CODE, &t->status);
    t->retry_after_ms = retry_after_ms(t);
    if (result != REMOTE_OK || t->response.ended) return result;
    /* For libcurl a connection that is closed among the headers ends a response without a body. */
    error_set(error, GLINT_E_INPUT_IO, NULL, "%s: the response ends in its headers", t->name);
    return REMOTE_RETRY;
}

enum remote_result remote_transfer_open(struct remote_transfer *t, struct env *env,
                                        const char *name, const struct remote_request *request,
                                        struct glint_error *error)
{
    const enum remote_result result = remote_transfer_start(t, env, name, request, error);
    return result == REMOTE_OK ? remote_transfer_await(t, error) : result;
}

enum remote_result remote_transfer_read(struct remote_transfer *t, void *out, uint64_t size,
                                        uint64_t *out_size, struct glint_error *error)
{
    assert(t->session != NULL && size > 0);
    *out_size = 0;
    if (t->at == t->fill) {
        const enum remote_result result = receive_bytes(t, error);
        if (result != REMOTE_OK) return result;
    }
    const uint64_t n = t->fill - t->at < size ? t->fill - t->at : size;
    if (n > 0) memcpy(out, t->buffer + t->at, n);
    t->at += n;
    *out_size = n;
    return REMOTE_OK;
}

/* If the body has been read to its end, libcurl notices it now, and keeps the connection. */
static void finish_response_body(struct remote_transfer *t)
{
    int running;
    if (t->done || t->paused || t->at < t->fill) return;
    if (t->curl->multi_perform(t->multi, &running) == CURLM_OK) mark_finished_transfers(t);
}

void remote_transfer_close(struct remote_transfer *t)
{
    if (t->session != NULL) {
        finish_response_body(t);
        t->curl->multi_remove_handle(t->multi, t->session->easy);
        return_session_to_pool(t->curl, t->session);
    }
    if (t->headers != NULL) t->curl->slist_free_all(t->headers);
    mem_free(t->buffer);
    t->session = NULL;
    t->headers = NULL;
    t->buffer = NULL;
}

void remote_wait_before_retry(uint64_t ms, int cancelled)
{
    struct glint_error ignored = {.code = GLINT_OK};
    const struct curl_library *c = curl_library_load(&ignored);
    struct remote_session *s = c != NULL ? take_session_from_pool(c) : NULL;
    if (s == NULL) return;
    wait_for_session(c, s->multi, ms, cancelled);
    return_session_to_pool(c, s);
}
