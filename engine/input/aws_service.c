/* See aws_service.h. Requests are small, and are tried three times; they follow no redirects. */
#include "engine/input/aws_service.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/input/aws_credentials.h"
#include "engine/input/xml_elements.h"
#include "engine/limits.h"

#include <assert.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#define ANSWER_BYTES_MAX (64 * KIB)
#define HEADER_BYTES     (AWS_TOKEN_BYTES + 64)
#define URL_BYTES        8192
#define TRIES            3
#define AGENT_TIMEOUT_MS 1000u /* it is on this machine, or nothing answers */
#define HELD_BYTES       16384 /* a file with a token */

/* ---- Answers */

static bool copy_text(char *out, size_t capacity, const char *text)
{
    return text_format(out, capacity, "%s", text != NULL ? text : "");
}

/* 2026-11-29T12:00:00Z, with or without fractions of a second. Returns 0 if it is none. */
static int64_t parse_time(const char *text)
{
    struct tm tm = {.tm_sec = 0};
    if (text == NULL || strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) == NULL) return 0;
    if (tm.tm_year < 70) return 0;
    if (tm.tm_year > 300) tm.tm_year = 300; /* nanoseconds end in 2262 */
    return (int64_t)timegm(&tm) * (int64_t)SECOND_NS;
}

static bool is_complete(const struct aws_keys *keys)
{
    return keys->user[0] != '\0' && keys->password[0] != '\0' && keys->expires_ns > 0 &&
           text_is_printable(keys->user) && text_is_printable(keys->password) &&
           text_is_printable(keys->token);
}

/* The names of the access key, the secret, the token and the time. */
static bool read_object(const json_t *object, const char *const names[4], struct aws_keys *out)
{
    const char *texts[3];
    const json_t *expires = json_object_get(object, names[3]);
    for (int i = 0; i < 3; i++) texts[i] = json_string_value(json_object_get(object, names[i]));
    const int64_t ms = json_is_integer(expires) ? json_integer_value(expires) : 0;
    out->expires_ns = parse_time(json_string_value(expires));
    if (ms > 0 && ms < INT64_MAX / (int64_t)MS_NS) out->expires_ns = ms * (int64_t)MS_NS;
    return copy_text(out->user, sizeof out->user, texts[0]) &&
           copy_text(out->password, sizeof out->password, texts[1]) &&
           copy_text(out->token, sizeof out->token, texts[2]);
}

static int on_sts_element(void *arg, const struct xml_element *e)
{
    struct aws_keys *keys = arg;
    bool fits = true;
    if (strcmp(e->parent, "Credentials") != 0) return 0;
    if (strcmp(e->name, "AccessKeyId") == 0)
        fits = copy_text(keys->user, sizeof keys->user, e->text);
    if (strcmp(e->name, "SecretAccessKey") == 0)
        fits = copy_text(keys->password, sizeof keys->password, e->text);
    if (strcmp(e->name, "SessionToken") == 0)
        fits = copy_text(keys->token, sizeof keys->token, e->text);
    if (strcmp(e->name, "Expiration") == 0) keys->expires_ns = parse_time(e->text);
    return fits && !e->too_long ? 0 : -1;
}

bool aws_answer_parse(enum aws_answer kind, const uint8_t *text, uint64_t size,
                      struct aws_keys *out)
{
    static const char *const agent[] = {"AccessKeyId", "SecretAccessKey", "Token", "Expiration"};
    static const char *const sso[] = {"accessKeyId", "secretAccessKey", "sessionToken",
                                      "expiration"};
    json_error_t where;
    memset(out, 0, sizeof *out);
    if (kind == AWS_ANSWER_STS)
        return xml_elements_parse(text, size, on_sts_element, out) == 0 && is_complete(out);
    json_t *root = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, &where);
    const bool sound = kind == AWS_ANSWER_SSO
                           ? read_object(json_object_get(root, "roleCredentials"), sso, out)
                           : read_object(root, agent, out);
    json_decref(root);
    return sound && is_complete(out);
}

/* ---- Requests */

static int set_refused(struct glint_error *error, const char *from, const char *what)
{
    return error_set(error, GLINT_E_INPUT_PERMISSION, NULL, "%s: %s", from, what);
}

/* Sets `out` to the response. */
static int fetch_once(struct env *env, const char *from, const struct remote_request *request,
                      struct buffer *out, long *out_status, struct glint_error *error)
{
    struct remote_transfer t;
    char status[64];
    uint64_t n = 1;
    out->size = 0;
    enum remote_result result = remote_transfer_open(&t, env, from, request, error);
    while (result == REMOTE_OK && n > 0 && out->size < ANSWER_BYTES_MAX) {
        if (!buffer_reserve(out, 4 * KIB)) {
            error_no_memory(error);
            break;
        }
        result = remote_transfer_read(&t, out->data + out->size, 4 * KIB, &n, error);
        out->size += n;
    }
    *out_status = result == REMOTE_OK ? t.status : 0;
    text_format(status, sizeof status, "the server answered %ld", t.status);
    remote_transfer_close(&t);
    if (error->code != GLINT_OK || *out_status == 200) return error->code;
    if (*out_status >= 500 || *out_status == 429)
        return error_set(error, GLINT_E_INPUT_IO, NULL, "%s: %s", from, status);
    return set_refused(error, from, status);
}

/* `from` names the server in messages. */
static int fetch(struct env *env, const char *from, int tries, struct remote_request *request,
                 struct buffer *out, long *out_status, struct glint_error *error)
{
    struct glint_error problem = {.code = GLINT_OK};
    int r = GLINT_E_INPUT_IO;
    request->no_redirects = true;
    for (int i = 0; i < tries && r == GLINT_E_INPUT_IO; i++) {
        memset(&problem, 0, sizeof problem);
        r = fetch_once(env, from, request, out, out_status, &problem);
    }
    const char *hint = problem.hint[0] != '\0' ? problem.hint : NULL;
    return r == 0 ? 0 : error_set(error, (enum glint_code)r, hint, "%s", problem.cause);
}

static int fetch_keys(struct env *env, const char *from, struct remote_request *request,
                      enum aws_answer kind, struct aws_keys *out, struct glint_error *error)
{
    struct buffer text = {NULL, 0, 0};
    long status;
    int r = fetch(env, from, TRIES, request, &text, &status, error);
    if (r == 0 && !aws_answer_parse(kind, text.data, text.size, out))
        r = set_refused(error, from, "the answer has no credentials");
    buffer_fini(&text);
    return r;
}

/* Reads a file with a token, without the white space at its end. */
static int read_token(struct env *env, const char *path, char *out, size_t capacity,
                      struct glint_error *error)
{
    if (!env_read_text(env, path, out, capacity))
        return set_refused(error, path, "this file with a token cannot be read");
    size_t size = strlen(out);
    while (size > 0 && strchr(" \t\r\n", out[size - 1]) != NULL) out[--size] = '\0';
    if (size + 1 == capacity || !text_is_printable(out))
        return set_refused(error, path, "this is no file with a token");
    return 0;
}

static bool add_parameter(char *url, const char *name, const char *value)
{
    const size_t used = strlen(url);
    return text_format(url + used, URL_BYTES - used, "&%s=", name) &&
           remote_url_encode(value, strlen(value), "", url, URL_BYTES);
}

int aws_fetch_web_identity(struct env *env, const char *role, const char *token_file,
                           const char *region, struct aws_keys *out, struct glint_error *error)
{
    static const char from[] = "credentials of a web identity";
    static const char action[] = "/?Action=AssumeRoleWithWebIdentity&Version=2011-06-15";
    char token[HELD_BYTES], url[URL_BYTES];
    const char *session = env_variable("AWS_ROLE_SESSION_NAME");
    const char *endpoint = aws_endpoint("AWS_ENDPOINT_URL_STS");
    if (read_token(env, token_file, token, sizeof token, error) != 0) return error->code;
    const bool fits =
        (endpoint != NULL
             ? text_format(url, sizeof url, "%s%s", endpoint, action)
             : text_format(url, sizeof url, "https://sts.%s.amazonaws.com%s", region, action)) &&
        add_parameter(url, "RoleArn", role) &&
        add_parameter(url, "RoleSessionName", session != NULL ? session : "glint") &&
        add_parameter(url, "WebIdentityToken", token);
    if (!fits) return set_refused(error, from, "the token is too long");
    struct remote_request request = {.url = url};
    return fetch_keys(env, from, &request, AWS_ANSWER_STS, out, error);
}

/* ---- Containers */

/* Over http only on this machine: the token of the agent goes there. */
static bool is_agent_url(const char *url)
{
    static const char *const hosts[] = {"127.0.0.1",     "localhost",      "[::1]",
                                        "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
    if (strncmp(url, "https://", 8) == 0) return true;
    if (strncmp(url, "http://", 7) != 0) return false;
    const char *host = url + 7, *end;
    size_t size = strcspn(host, "/?#");
    if (host[0] == '[' && (end = memchr(host, ']', size)) != NULL)
        size = (size_t)(end + 1 - host);
    else
        size = strcspn(host, ":/?#");
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (strlen(hosts[i]) == size && memcmp(hosts[i], host, size) == 0) return true;
    return false;
}

int aws_fetch_container(struct env *env, struct aws_keys *out, struct glint_error *error)
{
    static const char from[] = "credentials of the container";
    char url[URL_BYTES], token[AWS_TOKEN_BYTES] = "", header[HEADER_BYTES];
    const char *path = env_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = env_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *file = env_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    bool fits = path != NULL ? text_format(url, sizeof url, "http://169.254.170.2%s", path)
                             : copy_text(url, sizeof url, full);
    if (!fits || (path == NULL && !is_agent_url(url)))
        return set_refused(error, from,
                           "AWS_CONTAINER_CREDENTIALS_FULL_URI is no URL of https or this machine");
    if (file != NULL && read_token(env, file, token, sizeof token, error) != 0) return error->code;
    if (file == NULL)
        fits = copy_text(token, sizeof token, env_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"));
    fits = fits && text_is_printable(token) &&
           text_format(header, sizeof header, "Authorization: %s", token);
    if (!fits) return set_refused(error, from, "the authorization token is no text of one line");
    struct remote_request request = {.url = url,
                                     .no_proxy = true,
                                     .timeout_ms = AGENT_TIMEOUT_MS,
                                     .condition = token[0] != '\0' ? header : NULL};
    return fetch_keys(env, from, &request, AWS_ANSWER_AGENT, out, error);
}

/* ---- Machines. IMDSv2: a token that only this machine can get comes first. */

static const char machine[] = "credentials of the machine";

static int fetch_text(struct env *env, int tries, struct remote_request *request, char *out,
                      size_t capacity, long *out_status, struct glint_error *error)
{
    struct buffer text = {NULL, 0, 0};
    int r = fetch(env, machine, tries, request, &text, out_status, error);
    if (r == 0 && (text.size == 0 || text.size >= capacity))
        r = set_refused(error, machine, "the answer makes no sense");
    if (r == 0) {
        memcpy(out, text.data, text.size);
        out[text.size] = '\0';
        out[strcspn(out, "\r\n")] = '\0';
        if (out[0] == '\0' || !text_is_printable(out))
            r = set_refused(error, machine, "the answer makes no sense");
    }
    buffer_fini(&text);
    return r;
}

int aws_fetch_machine(struct env *env, struct aws_keys *out, struct glint_error *error)
{
    static const char roles[] = "/latest/meta-data/iam/security-credentials/";
    char url[URL_BYTES], token[AWS_TOKEN_BYTES], header[HEADER_BYTES], role[AWS_KEY_BYTES];
    const char *endpoint = env_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    struct glint_error problem = {.code = GLINT_OK};
    long status;
    if (endpoint == NULL) endpoint = "http://169.254.169.254";
    const int size = (int)(strlen(endpoint) - (endpoint[strlen(endpoint) - 1] == '/'));
    struct remote_request request = {.url = url,
                                     .method = "PUT",
                                     .no_proxy = true,
                                     .timeout_ms = AGENT_TIMEOUT_MS,
                                     .condition = "X-aws-ec2-metadata-token-ttl-seconds: 21600"};
    if (!text_format(url, sizeof url, "%.*s/latest/api/token", size, endpoint))
        return set_refused(error, machine, "the endpoint is too long");
    int r = fetch_text(env, 1, &request, token, sizeof token, &status, &problem);
    if (r != 0) return GLINT_E_INPUT_NOT_FOUND;
    text_format(header, sizeof header, "X-aws-ec2-metadata-token: %s", token);
    request.method = NULL;
    request.condition = header;
    text_format(url, sizeof url, "%.*s%s", size, endpoint, roles);
    r = fetch_text(env, TRIES, &request, role, sizeof role, &status, &problem);
    if (r != 0 && status == 404) return GLINT_E_INPUT_NOT_FOUND; /* it has no role */
    if (r != 0) return error_set(error, (enum glint_code)r, NULL, "%s", problem.cause);
    if (!text_format(url, sizeof url, "%.*s%s", size, endpoint, roles) ||
        !remote_url_encode(role, strlen(role), "", url, sizeof url))
        return set_refused(error, machine, "the role's name is too long");
    return fetch_keys(env, machine, &request, AWS_ANSWER_AGENT, out, error);
}

/* ---- SSO */

struct sso_search {
    struct env *env;
    const struct aws_sso *sso;
    char directory[PATH_MAX];
    char token[AWS_TOKEN_BYTES];
    int64_t expires_ns; /* the token's; the latest one is taken */
};

static int try_token(void *arg, const char *name)
{
    struct sso_search *s = arg;
    char path[PATH_MAX], text[HELD_BYTES];
    json_error_t where;
    const size_t size = strlen(name);
    if (size < 5 || strcmp(name + size - 5, ".json") != 0 ||
        !text_format(path, sizeof path, "%s/%s", s->directory, name) ||
        !env_read_text(s->env, path, text, sizeof text))
        return 0;
    json_t *root = json_loads(text, 0, &where);
    const char *url = json_string_value(json_object_get(root, "startUrl"));
    const char *token = json_string_value(json_object_get(root, "accessToken"));
    const int64_t expires = parse_time(json_string_value(json_object_get(root, "expiresAt")));
    if (url != NULL && token != NULL && strcmp(url, s->sso->start_url) == 0 &&
        expires > s->expires_ns && copy_text(s->token, sizeof s->token, token))
        s->expires_ns = expires;
    json_decref(root);
    return 0;
}

int aws_fetch_sso(struct env *env, const struct aws_sso *sso, struct aws_keys *out,
                  struct glint_error *error)
{
    static const char from[] = "credentials of SSO";
    char url[URL_BYTES], header[HEADER_BYTES];
    struct sso_search search = {.env = env, .sso = sso};
    const char *home = env_variable("HOME"), *endpoint = aws_endpoint("AWS_ENDPOINT_URL_SSO");
    assert(sso->start_url[0] != '\0' && sso->role[0] != '\0');
    if (home != NULL &&
        text_format(search.directory, sizeof search.directory, "%s/.aws/sso/cache", home))
        env_list_dir(env, search.directory, try_token, &search); /* none: not logged in */
    if (search.expires_ns <= env->wall_ns(env) || !text_is_printable(search.token))
        return error_set(error, GLINT_E_INPUT_PERMISSION, "log in: aws sso login",
                         "%s: there is no token of %s in ~/.aws/sso/cache that is valid now", from,
                         sso->start_url);
    bool fits = endpoint != NULL ? copy_text(url, sizeof url, endpoint)
                                 : text_format(url, sizeof url,
                                               "https://portal.sso.%s.amazonaws.com", sso->region);
    const size_t used = strlen(url);
    fits = fits &&
           text_format(url + used, sizeof url - used, "/federation/credentials?role_name=") &&
           remote_url_encode(sso->role, strlen(sso->role), "", url, sizeof url) &&
           add_parameter(url, "account_id", sso->account) &&
           text_format(header, sizeof header, "x-amz-sso_bearer_token: %s", search.token);
    if (!fits) return set_refused(error, from, "the profile's texts are too long");
    struct remote_request request = {.url = url, .condition = header};
    return fetch_keys(env, from, &request, AWS_ANSWER_SSO, out, error);
}
