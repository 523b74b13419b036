/* Credentials for requests to S3, as the AWS SDKs find them, in this order: the environment; a role
 * by its web identity; the profile of ~/.aws/credentials and ~/.aws/config, with keys, a web
 * identity or SSO; the container (ECS, EKS); the machine (EC2, IMDSv2). Without any, requests are
 * not signed, which public buckets allow; but if a profile is named, or has credentials that this
 * does not read, that is an error. What a server gave is kept until shortly before it expires. */
#include "engine/input/aws_credentials.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/input/xml_elements.h"
#include "engine/limits.h"

#include <assert.h>
#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define ANSWER_BYTES_MAX (64 * KIB)
#define HEADER_BYTES     (AWS_TOKEN_BYTES + 64)
#define URL_BYTES        8192
#define TRIES            3
#define AGENT_TIMEOUT_MS 1000u /* it is on this machine, or nothing answers */
#define SECTION_BYTES    256
#define HELD_BYTES       16384 /* a file with a token */

const char *nonempty_env_variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

const char *aws_endpoint(const char *name)
{
    const char *endpoint = nonempty_env_variable(name);
    return endpoint != NULL ? endpoint : nonempty_env_variable("AWS_ENDPOINT_URL");
}

static bool copy_text_if_it_fits(char *out, size_t capacity, const char *text)
{
    return text_format(out, capacity, "%s", text != NULL ? text : "");
}

struct chain {
    struct env *env;
    const char *profile, *region;
    char section[SECTION_BYTES]; /* of the profile in the file config */
};

/* ---- Answers */

/* 2026-11-29T12:00:00Z, with or without fractions of a second. Returns 0 if it is none. */
static int64_t parse_aws_key_expiry(const char *text)
{
    struct tm tm = {.tm_sec = 0};
    if (text == NULL || strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) == NULL) return 0;
    if (tm.tm_year < 70) return 0;
    if (tm.tm_year > 300) tm.tm_year = 300; /* nanoseconds end in 2262 */
    return (int64_t)timegm(&tm) * (int64_t)SECOND_NS;
}

static bool are_aws_keys_complete(const struct aws_keys *keys)
{
    return keys->user[0] != '\0' && keys->password[0] != '\0' && keys->expires_ns > 0 &&
           text_is_printable(keys->user) && text_is_printable(keys->password) &&
           text_is_printable(keys->token);
}

/* The names of the access key, the secret, the token and the time. */
static bool read_aws_keys_from_json(const json_t *object, const char *const names[4],
                                    struct aws_keys *out)
{
    const char *texts[3];
    const json_t *expires = json_object_get(object, names[3]);
    for (int i = 0; i < 3; i++) texts[i] = json_string_value(json_object_get(object, names[i]));
    const int64_t ms = json_is_integer(expires) ? json_integer_value(expires) : 0;
    out->expires_ns = parse_aws_key_expiry(json_string_value(expires));
    if (ms > 0 && ms < INT64_MAX / (int64_t)MS_NS) out->expires_ns = ms * (int64_t)MS_NS;
    return copy_text_if_it_fits(out->user, sizeof out->user, texts[0]) &&
           copy_text_if_it_fits(out->password, sizeof out->password, texts[1]) &&
           copy_text_if_it_fits(out->token, sizeof out->token, texts[2]);
}

static int on_sts_element(void *arg, const struct xml_element *e)
{
    struct aws_keys *keys = arg;
    bool fits = true;
    if (strcmp(e->parent, "Credentials") != 0) return 0;
    if (strcmp(e->name, "AccessKeyId") == 0)
        fits = copy_text_if_it_fits(keys->user, sizeof keys->user, e->text);
    if (strcmp(e->name, "SecretAccessKey") == 0)
        fits = copy_text_if_it_fits(keys->password, sizeof keys->password, e->text);
    if (strcmp(e->name, "SessionToken") == 0)
        fits = copy_text_if_it_fits(keys->token, sizeof keys->token, e->text);
    if (strcmp(e->name, "Expiration") == 0) keys->expires_ns = parse_aws_key_expiry(e->text);
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
        return xml_elements_parse(text, size, on_sts_element, out) == 0 &&
               are_aws_keys_complete(out);
    json_t *root = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, &where);
    const bool sound =
        kind == AWS_ANSWER_SSO
            ? read_aws_keys_from_json(json_object_get(root, "roleCredentials"), sso, out)
            : read_aws_keys_from_json(root, agent, out);
    json_decref(root);
    return sound && are_aws_keys_complete(out);
}

/* ---- Requests */

static int set_credentials_refused_error(struct glint_error *error, const char *from,
                                         const char *what)
{
    return error_set(error, GLINT_E_INPUT_PERMISSION, NULL, "%s: %s", from, what);
}

/* Sets `out` to the response. Of another status than 200 the body, of any size, is not read. */
static int fetch_document_once(struct env *env, const char *from,
                               const struct remote_request *request, struct buffer *out,
                               long *out_status, struct glint_error *error)
{
    struct remote_transfer t;
    char status[64];
    out->size = 0;
    enum remote_result result = remote_transfer_open(&t, env, from, request, error);
    if (result == REMOTE_OK && t.status == 200)
        result = remote_transfer_read_all(&t, ANSWER_BYTES_MAX, NULL, out, error);
    *out_status = result == REMOTE_OK ? t.status : 0;
    text_format(status, sizeof status, "the server answered %ld", t.status);
    remote_transfer_close(&t);
    if (error->code != GLINT_OK || *out_status == 200) return error->code;
    if (*out_status >= 500 || *out_status == 429)
        return error_set(error, GLINT_E_INPUT_IO, NULL, "%s: %s", from, status);
    return set_credentials_refused_error(error, from, status);
}

/* `from` names the server in messages. */
static int fetch_document_with_retries(struct env *env, const char *from, int tries,
                                       struct remote_request *request, struct buffer *out,
                                       long *out_status, struct glint_error *error)
{
    struct glint_error problem = {.code = GLINT_OK};
    int r = GLINT_E_INPUT_IO;
    request->no_redirects = true;
    for (int i = 0; i < tries && r == GLINT_E_INPUT_IO; i++) {
        memset(&problem, 0, sizeof problem);
        r = fetch_document_once(env, from, request, out, out_status, &problem);
    }
    const char *hint = problem.hint[0] != '\0' ? problem.hint : NULL;
    return r == 0 ? 0 : error_set(error, (enum glint_code)r, hint, "%s", problem.cause);
}

static int fetch_aws_keys(struct env *env, const char *from, struct remote_request *request,
                          enum aws_answer kind, struct aws_keys *out, struct glint_error *error)
{
    struct buffer text = {NULL, 0, 0};
    long status;
    int r = fetch_document_with_retries(env, from, TRIES, request, &text, &status, error);
    if (r == 0 && !aws_answer_parse(kind, text.data, text.size, out))
        r = set_credentials_refused_error(error, from, "the answer has no credentials");
    buffer_fini(&text);
    return r;
}

/* Reads a file with a token, without the white space at its end. */
static int read_token_file(struct env *env, const char *path, char *out, size_t capacity,
                           struct glint_error *error)
{
    if (!env_read_text(env, path, out, capacity))
        return set_credentials_refused_error(error, path, "this file with a token cannot be read");
    size_t size = strlen(out);
    while (size > 0 && strchr(" \t\r\n", out[size - 1]) != NULL) out[--size] = '\0';
    if (size + 1 == capacity || !text_is_printable(out))
        return set_credentials_refused_error(error, path, "this is no file with a token");
    return 0;
}

static int fetch_aws_keys_of_web_identity(struct env *env, const char *role, const char *token_file,
                                          const char *region, struct aws_keys *out,
                                          struct glint_error *error)
{
    static const char from[] = "credentials of a web identity";
    static const char action[] = "/?Action=AssumeRoleWithWebIdentity&Version=2011-06-15";
    char token[HELD_BYTES], url[URL_BYTES];
    const char *session = nonempty_env_variable("AWS_ROLE_SESSION_NAME");
    const char *endpoint = aws_endpoint("AWS_ENDPOINT_URL_STS");
    if (read_token_file(env, token_file, token, sizeof token, error) != 0) return error->code;
    const bool fits =
        (endpoint != NULL
             ? text_format(url, sizeof url, "%s%s", endpoint, action)
             : text_format(url, sizeof url, "https://sts.%s.amazonaws.com%s", region, action)) &&
        remote_url_add_parameter(url, sizeof url, "RoleArn", role) &&
        remote_url_add_parameter(url, sizeof url, "RoleSessionName",
                                 session != NULL ? session : "glint") &&
        remote_url_add_parameter(url, sizeof url, "WebIdentityToken", token);
    if (!fits) return set_credentials_refused_error(error, from, "the token is too long");
    struct remote_request request = {.url = url};
    return fetch_aws_keys(env, from, &request, AWS_ANSWER_STS, out, error);
}

/* ---- Containers */

/* Over http only on this machine: the token of the agent goes there. */
static bool may_send_token_to_url(const char *url)
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

static int fetch_aws_keys_of_container(const struct chain *c, struct aws_keys *out,
                                       struct glint_error *error)
{
    static const char from[] = "credentials of the container";
    char url[URL_BYTES], token[AWS_TOKEN_BYTES] = "", header[HEADER_BYTES];
    const char *path = nonempty_env_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = nonempty_env_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *file = nonempty_env_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    bool fits = path != NULL ? text_format(url, sizeof url, "http://169.254.170.2%s", path)
                             : copy_text_if_it_fits(url, sizeof url, full);
    if (!fits || (path == NULL && !may_send_token_to_url(url)))
        return set_credentials_refused_error(
            error, from, "AWS_CONTAINER_CREDENTIALS_FULL_URI is no URL of https or this machine");
    if (file != NULL && read_token_file(c->env, file, token, sizeof token, error) != 0)
        return error->code;
    if (file == NULL)
        fits = copy_text_if_it_fits(token, sizeof token,
                                    nonempty_env_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"));
    fits = fits && text_is_printable(token) &&
           text_format(header, sizeof header, "Authorization: %s", token);
    if (!fits)
        return set_credentials_refused_error(error, from,
                                             "the authorization token is no text of one line");
    struct remote_request request = {.url = url,
                                     .no_proxy = true,
                                     .timeout_ms = AGENT_TIMEOUT_MS,
                                     .condition = token[0] != '\0' ? header : NULL};
    return fetch_aws_keys(c->env, from, &request, AWS_ANSWER_AGENT, out, error);
}

/* ---- Machines. IMDSv2: a token that only this machine can get comes first. */

static const char machine[] = "credentials of the machine";

static int fetch_metadata_text(struct env *env, int tries, struct remote_request *request,
                               char *out, size_t capacity, long *out_status,
                               struct glint_error *error)
{
    struct buffer text = {NULL, 0, 0};
    int r = fetch_document_with_retries(env, machine, tries, request, &text, out_status, error);
    if (r == 0 && (text.size == 0 || text.size >= capacity))
        r = set_credentials_refused_error(error, machine, "the answer makes no sense");
    if (r == 0) {
        memcpy(out, text.data, text.size);
        out[text.size] = '\0';
        out[strcspn(out, "\r\n")] = '\0';
        if (out[0] == '\0' || !text_is_printable(out))
            r = set_credentials_refused_error(error, machine, "the answer makes no sense");
    }
    buffer_fini(&text);
    return r;
}

static int fetch_aws_keys_of_machine(struct env *env, struct aws_keys *out,
                                     struct glint_error *error)
{
    static const char roles[] = "/latest/meta-data/iam/security-credentials/";
    char url[URL_BYTES], token[AWS_TOKEN_BYTES], header[HEADER_BYTES], role[AWS_KEY_BYTES];
    const char *endpoint = nonempty_env_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
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
        return set_credentials_refused_error(error, machine, "the endpoint is too long");
    int r = fetch_metadata_text(env, 1, &request, token, sizeof token, &status, &problem);
    if (r != 0) return GLINT_E_INPUT_NOT_FOUND;
    text_format(header, sizeof header, "X-aws-ec2-metadata-token: %s", token);
    request.method = NULL;
    request.condition = header;
    text_format(url, sizeof url, "%.*s%s", size, endpoint, roles);
    r = fetch_metadata_text(env, TRIES, &request, role, sizeof role, &status, &problem);
    if (r != 0 && status == 404) return GLINT_E_INPUT_NOT_FOUND; /* it has no role */
    if (r != 0) return error_set(error, (enum glint_code)r, NULL, "%s", problem.cause);
    if (!text_format(url, sizeof url, "%.*s%s", size, endpoint, roles) ||
        !remote_url_append_encoded(role, strlen(role), "", url, sizeof url))
        return set_credentials_refused_error(error, machine, "the role's name is too long");
    return fetch_aws_keys(env, machine, &request, AWS_ANSWER_AGENT, out, error);
}

/* ---- SSO */

/* A profile with SSO; texts are not empty. */
struct aws_sso {
    char start_url[512], region[64], account[64], role[128];
};

struct sso_search {
    struct env *env;
    const struct aws_sso *sso;
    char directory[PATH_MAX];
    char token[AWS_TOKEN_BYTES];
    int64_t expires_ns; /* the token's; the latest one is taken */
};

static int read_sso_token_file(void *arg, const char *name)
{
    struct sso_search *s = arg;
    char path[PATH_MAX], text[HELD_BYTES];
    json_error_t where;
    if (!text_ends_with(name, ".json") ||
        !text_format(path, sizeof path, "%s/%s", s->directory, name) ||
        !env_read_text(s->env, path, text, sizeof text))
        return 0;
    json_t *root = json_loads(text, 0, &where);
    const char *url = json_string_value(json_object_get(root, "startUrl"));
    const char *token = json_string_value(json_object_get(root, "accessToken"));
    const int64_t expires =
        parse_aws_key_expiry(json_string_value(json_object_get(root, "expiresAt")));
    if (url != NULL && token != NULL && strcmp(url, s->sso->start_url) == 0 &&
        expires > s->expires_ns && copy_text_if_it_fits(s->token, sizeof s->token, token))
        s->expires_ns = expires;
    json_decref(root);
    return 0;
}

static int fetch_aws_keys_of_sso(struct env *env, const struct aws_sso *sso, struct aws_keys *out,
                                 struct glint_error *error)
{
    static const char from[] = "credentials of SSO";
    char url[URL_BYTES], header[HEADER_BYTES];
    struct sso_search search = {.env = env, .sso = sso};
    const char *home = nonempty_env_variable("HOME"),
               *endpoint = aws_endpoint("AWS_ENDPOINT_URL_SSO");
    assert(sso->start_url[0] != '\0' && sso->role[0] != '\0');
    if (home != NULL &&
        text_format(search.directory, sizeof search.directory, "%s/.aws/sso/cache", home))
        env_list_dir(env, search.directory, read_sso_token_file, &search); /* none: not logged in */
    if (search.expires_ns <= env->wall_ns(env) || !text_is_printable(search.token))
        return error_set(error, GLINT_E_INPUT_PERMISSION, "log in: aws sso login",
                         "%s: there is no token of %s in ~/.aws/sso/cache that is valid now", from,
                         sso->start_url);
    bool fits = endpoint != NULL ? copy_text_if_it_fits(url, sizeof url, endpoint)
                                 : text_format(url, sizeof url,
                                               "https://portal.sso.%s.amazonaws.com", sso->region);
    const size_t used = strlen(url);
    fits = fits && text_format(url + used, sizeof url - used, "/federation/credentials?") &&
           remote_url_add_parameter(url, sizeof url, "role_name", sso->role) &&
           remote_url_add_parameter(url, sizeof url, "account_id", sso->account) &&
           text_format(header, sizeof header, "x-amz-sso_bearer_token: %s", search.token);
    if (!fits)
        return set_credentials_refused_error(error, from, "the profile's texts are too long");
    struct remote_request request = {.url = url, .condition = header};
    return fetch_aws_keys(env, from, &request, AWS_ANSWER_SSO, out, error);
}

/* ---- Files */

#define FILE_BYTES_MAX 65536

/* A file of the user's directory .aws; the variable names another one. */
struct aws_file {
    const char *variable, *name;
};
static const struct aws_file credentials_file = {"AWS_SHARED_CREDENTIALS_FILE", "credentials"};
static const struct aws_file config_file = {"AWS_CONFIG_FILE", "config"};

/* Returns the text, to be freed, or NULL. */
static char *read_aws_file(struct env *env, const struct aws_file *file)
{
    char path[PATH_MAX];
    const char *other = nonempty_env_variable(file->variable),
               *home = nonempty_env_variable("HOME");
    if (other == NULL && home == NULL) return NULL;
    const bool fits = other != NULL
                          ? text_format(path, sizeof path, "%s", other)
                          : text_format(path, sizeof path, "%s/.aws/%s", home, file->name);
    char *text = fits ? mem_alloc(FILE_BYTES_MAX) : NULL;
    if (text != NULL && env_read_text(env, path, text, FILE_BYTES_MAX)) return text;
    mem_free(text);
    return NULL;
}

static char *trim_spaces(char *at, char *end)
{
    while (at < end && strchr(" \t\r", *at) != NULL) at++;
    while (end > at && strchr(" \t\r", end[-1]) != NULL) end--;
    *end = '\0';
    return at;
}

/* Returns the value of `key` in the section, or NULL; key NULL: the section's name. Changes the
 * text: call it on a fresh copy. */
static const char *find_aws_file_value(char *text, const char *section, const char *key)
{
    bool inside = false;
    for (char *next, *line = text; line != NULL; line = next) {
        char *end = strchr(line, '\n');
        next = end != NULL ? end + 1 : NULL;
        line = trim_spaces(line, end != NULL ? end : line + strlen(line));
        const size_t n = strlen(line);
        if (line[0] == '[' && line[n - 1] == ']') {
            line[n - 1] = '\0';
            inside = strcmp(trim_spaces(line + 1, line + n - 1), section) == 0;
            if (inside && key == NULL) return section;
        }
        char *equals = inside && key != NULL ? strchr(line, '=') : NULL;
        if (equals == NULL || strcmp(trim_spaces(line, equals), key) != 0) continue;
        return trim_spaces(equals + 1, equals + 1 + strlen(equals + 1));
    }
    return NULL;
}

/* Copies the value of a key of a file to `out`; "" if there is none. */
static bool read_aws_file_value(struct env *env, const struct aws_file *file, const char *section,
                                const char *key, char *out, size_t capacity)
{
    char *text = read_aws_file(env, file);
    const bool fits = copy_text_if_it_fits(
        out, capacity, text != NULL ? find_aws_file_value(text, section, key) : NULL);
    mem_free(text);
    return fits;
}

/* Whether the section has the key; NULL: whether it exists. */
static bool aws_file_has_value(struct env *env, const struct aws_file *file, const char *section,
                               const char *key)
{
    char *text = read_aws_file(env, file);
    const bool found = text != NULL && find_aws_file_value(text, section, key) != NULL;
    mem_free(text);
    return found;
}

/* The name of a profile's section in the file config. */
static bool format_aws_profile_section(const char *profile, char *out, size_t capacity)
{
    const bool first = strcmp(profile, "default") == 0;
    return text_format(out, capacity, first ? "%s" : "profile %s", profile);
}

static bool read_aws_region(struct env *env, const char *profile, char *out, size_t capacity)
{
    char section[SECTION_BYTES];
    const char *region = nonempty_env_variable("AWS_REGION");
    if (region == NULL) region = nonempty_env_variable("AWS_DEFAULT_REGION");
    if (region != NULL) return copy_text_if_it_fits(out, capacity, region);
    if (!format_aws_profile_section(profile, section, sizeof section) ||
        !read_aws_file_value(env, &config_file, section, "region", out, capacity))
        return false;
    return out[0] != '\0' || copy_text_if_it_fits(out, capacity, "us-east-1");
}

static bool read_aws_keys_of_profile(struct env *env, const char *profile, struct aws_keys *out)
{
    static const struct aws_file *const file = &credentials_file;
    return read_aws_file_value(env, file, profile, "aws_access_key_id", out->user,
                               sizeof out->user) &&
           read_aws_file_value(env, file, profile, "aws_secret_access_key", out->password,
                               sizeof out->password) &&
           read_aws_file_value(env, file, profile, "aws_session_token", out->token,
                               sizeof out->token);
}

/* Whether the profile's credentials come from elsewhere than its keys. */
static bool has_aws_credentials_besides_keys(struct env *env, const char *profile)
{
    static const char *const keys[] = {"role_arn", "sso_session", "sso_start_url",
                                       "credential_process", "web_identity_token_file"};
    char section[SECTION_BYTES];
    bool found = false;
    if (!format_aws_profile_section(profile, section, sizeof section)) return false;
    for (size_t i = 0; !found && i < sizeof keys / sizeof *keys; i++)
        found = aws_file_has_value(env, &config_file, section, keys[i]) ||
                aws_file_has_value(env, &credentials_file, profile, keys[i]);
    return found;
}

/* The profile has no keys: sets the error unless requests are not to be signed. */
static int check_aws_requests_may_be_unsigned(struct env *env, const char *profile,
                                              struct glint_error *error)
{
    char section[SECTION_BYTES];
    const bool named = nonempty_env_variable("AWS_PROFILE") != NULL;
    if (has_aws_credentials_besides_keys(env, profile))
        return error_set(
            error, GLINT_E_INPUT_PERMISSION,
            "set what `aws configure export-credentials --format env` prints",
            "the profile %s has a role of another profile, a program, or not all that SSO "
            "needs; those are not read",
            profile);
    if (!named) return 0;
    if (!format_aws_profile_section(profile, section, sizeof section) ||
        (!aws_file_has_value(env, &credentials_file, profile, NULL) &&
         !aws_file_has_value(env, &config_file, section, NULL)))
        return error_set(error, GLINT_E_INPUT_PERMISSION,
                         "name one of ~/.aws/credentials or ~/.aws/config, or unset AWS_PROFILE",
                         "AWS_PROFILE: there is no profile %s", profile);
    return error_set(error, GLINT_E_INPUT_PERMISSION,
                     "write its keys into ~/.aws/credentials, or unset AWS_PROFILE: requests are "
                     "not signed then, which public buckets allow",
                     "AWS_PROFILE: the profile %s has no aws_access_key_id or no "
                     "aws_secret_access_key",
                     profile);
}

/* ---- Credentials that servers give */

#define MACHINE_ABSENT_NS (60 * (int64_t)SECOND_NS)

/* Of this process, which has one source. The lock is held while they are fetched, so that one
 * thread asks for all. */
static struct {
    pthread_mutex_t lock;
    char source[PATH_MAX];
    struct aws_keys keys;
    int64_t absent_ns; /* when no machine answered; 0: not asked */
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef int fetch_call(const struct chain *c, struct aws_keys *out, struct glint_error *error);

/* Calls `call` unless what it gave before is still valid. */
static int fetch_aws_keys_unless_cached(const struct chain *c, const char *source, fetch_call *call,
                                        struct aws_keys *out, struct glint_error *error)
{
    int r = 0;
    pthread_mutex_lock(&cache.lock);
    const int64_t now = c->env->wall_ns(c->env);
    if (strcmp(cache.source, source) != 0 || now + AWS_REFRESH_NS >= cache.keys.expires_ns) {
        struct aws_keys keys = {.user = ""};
        r = call(c, &keys, error);
        if (r == 0 && copy_text_if_it_fits(cache.source, sizeof cache.source, source))
            cache.keys = keys;
        *out = keys;
    } else {
        *out = cache.keys;
    }
    pthread_mutex_unlock(&cache.lock);
    return r;
}

static int fetch_aws_keys_of_environment_role(const struct chain *c, struct aws_keys *out,
                                              struct glint_error *error)
{
    return fetch_aws_keys_of_web_identity(c->env, nonempty_env_variable("AWS_ROLE_ARN"),
                                          nonempty_env_variable("AWS_WEB_IDENTITY_TOKEN_FILE"),
                                          c->region, out, error);
}

/* Reads a key of the profile, or of a section of config. Returns false if there is none. */
static bool read_config_file_value(const struct chain *c, const char *section, const char *key,
                                   char *out, size_t capacity)
{
    return read_aws_file_value(c->env, &config_file, section, key, out, capacity) && out[0] != '\0';
}

static int fetch_aws_keys_of_profile_role(const struct chain *c, struct aws_keys *out,
                                          struct glint_error *error)
{
    char role[2048], file[PATH_MAX];
    const bool fits =
        read_config_file_value(c, c->section, "role_arn", role, sizeof role) &&
        read_config_file_value(c, c->section, "web_identity_token_file", file, sizeof file);
    if (!fits)
        return error_set(error, GLINT_E_INPUT_PERMISSION, NULL, "the profile %s is not valid",
                         c->profile);
    return fetch_aws_keys_of_web_identity(c->env, role, file, c->region, out, error);
}

/* Returns false if the profile has no SSO, or not all that it needs. */
static bool read_aws_sso_settings(const struct chain *c, struct aws_sso *out)
{
    char session[SECTION_BYTES], section[SECTION_BYTES + 16];
    const char *from = c->section;
    if (read_config_file_value(c, c->section, "sso_session", session, sizeof session) &&
        text_format(section, sizeof section, "sso-session %s", session))
        from = section;
    return read_config_file_value(c, from, "sso_start_url", out->start_url,
                                  sizeof out->start_url) &&
           read_config_file_value(c, from, "sso_region", out->region, sizeof out->region) &&
           read_config_file_value(c, c->section, "sso_account_id", out->account,
                                  sizeof out->account) &&
           read_config_file_value(c, c->section, "sso_role_name", out->role, sizeof out->role);
}

static int fetch_aws_keys_of_profile_sso(const struct chain *c, struct aws_keys *out,
                                         struct glint_error *error)
{
    struct aws_sso sso = {.role = ""};
    const bool sound = read_aws_sso_settings(c, &sso);
    assert(sound);
    return fetch_aws_keys_of_sso(c->env, &sso, out, error);
}

/* Where nothing answers, it is not asked again for a while, and there are no credentials. */
static int fetch_aws_keys_of_machine_if_present(const struct chain *c, struct aws_keys *out,
                                                struct glint_error *error)
{
    const int64_t now = c->env->wall_ns(c->env);
    if (cache.absent_ns != 0 && now < cache.absent_ns + MACHINE_ABSENT_NS) return 0;
    const int r = fetch_aws_keys_of_machine(c->env, out, error);
    if (r == GLINT_E_INPUT_NOT_FOUND) cache.absent_ns = now;
    return r == GLINT_E_INPUT_NOT_FOUND ? 0 : r;
}

static bool is_aws_metadata_service_disabled(void)
{
    const char *disabled = nonempty_env_variable("AWS_EC2_METADATA_DISABLED");
    return disabled != NULL && strcasecmp(disabled, "true") == 0;
}

/* ---- The order */

static int find_aws_keys_of_profile(const struct chain *c, struct aws_keys *out,
                                    struct glint_error *error)
{
    char source[SECTION_BYTES + 16];
    struct aws_sso sso;
    if (!read_aws_keys_of_profile(c->env, c->profile, out))
        return error_set(error, GLINT_E_INPUT_URL, NULL, "the credentials are too long");
    if (out->user[0] != '\0' && out->password[0] != '\0') return 0;
    out->user[0] = '\0';
    text_format(source, sizeof source, "profile %s", c->profile);
    if (aws_file_has_value(c->env, &config_file, c->section, "web_identity_token_file"))
        return fetch_aws_keys_unless_cached(c, source, fetch_aws_keys_of_profile_role, out, error);
    if (read_aws_sso_settings(c, &sso))
        return fetch_aws_keys_unless_cached(c, source, fetch_aws_keys_of_profile_sso, out, error);
    return check_aws_requests_may_be_unsigned(c->env, c->profile, error);
}

/* Sets *out to credentials; without a `user` there are none. */
static int find_aws_keys(const struct chain *c, struct aws_keys *out, struct glint_error *error)
{
    const char *user = nonempty_env_variable("AWS_ACCESS_KEY_ID");
    const char *password = nonempty_env_variable("AWS_SECRET_ACCESS_KEY");
    memset(out, 0, sizeof *out);
    if (user != NULL && password != NULL) {
        if (copy_text_if_it_fits(out->user, sizeof out->user, user) &&
            copy_text_if_it_fits(out->password, sizeof out->password, password) &&
            copy_text_if_it_fits(out->token, sizeof out->token,
                                 nonempty_env_variable("AWS_SESSION_TOKEN")))
            return 0;
        return error_set(error, GLINT_E_INPUT_URL, NULL, "the credentials are too long");
    }
    if (nonempty_env_variable("AWS_WEB_IDENTITY_TOKEN_FILE") != NULL &&
        nonempty_env_variable("AWS_ROLE_ARN") != NULL)
        return fetch_aws_keys_unless_cached(c, "web identity", fetch_aws_keys_of_environment_role,
                                            out, error);
    const int r = find_aws_keys_of_profile(c, out, error);
    if (r != 0 || out->user[0] != '\0') return r;
    if (nonempty_env_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != NULL ||
        nonempty_env_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") != NULL)
        return fetch_aws_keys_unless_cached(c, "container", fetch_aws_keys_of_container, out,
                                            error);
    return is_aws_metadata_service_disabled()
               ? 0
               : fetch_aws_keys_unless_cached(c, "machine", fetch_aws_keys_of_machine_if_present,
                                              out, error);
}

int aws_credentials_read(struct env *env, struct remote_signature *out, int64_t *out_expires_ns,
                         char *region, size_t capacity, struct glint_error *error)
{
    struct aws_keys keys;
    struct chain c = {
        .env = env, .profile = nonempty_env_variable("AWS_PROFILE"), .region = region};
    if (c.profile == NULL) c.profile = "default";
    *out = (struct remote_signature){.scheme = ""};
    *out_expires_ns = 0;
    bool fits = read_aws_region(env, c.profile, region, capacity) &&
                format_aws_profile_section(c.profile, c.section, sizeof c.section);
    if (fits) {
        const int r = find_aws_keys(&c, &keys, error);
        if (r != 0 || keys.user[0] == '\0') return r;
        *out_expires_ns = keys.expires_ns;
        fits = copy_text_if_it_fits(out->user, sizeof out->user, keys.user) &&
               copy_text_if_it_fits(out->password, sizeof out->password, keys.password) &&
               text_format(out->scheme, sizeof out->scheme, "aws:amz:%s:s3", region);
    }
    if (fits && keys.token[0] != '\0')
        fits = text_format(out->token_header, sizeof out->token_header, "x-amz-security-token: %s",
                           keys.token);
    if (fits) return 0;
    return error_set(error, GLINT_E_INPUT_URL, NULL, "the credentials or the region are too long");
}
