/* A bucket is named in the host (virtual-hosted style) at Amazon, and in the path at other
 * endpoints, and if its name has dots, which certificates do not match. */
#include "engine/input/remote_target.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- Credentials for requests to S3, as the AWS SDKs find them: the environment, then the profile
 * of ~/.aws/credentials and ~/.aws/config. Without any, requests are not signed, which public
 * buckets allow; but if a profile is named, or has credentials that this does not read, that is an
 * error. */

#define FILE_BYTES_MAX       65536
#define SECTION_BYTES        256
#define CREDENTIALS_VARIABLE "AWS_SHARED_CREDENTIALS_FILE"
#define CONFIG_VARIABLE      "AWS_CONFIG_FILE"

static bool copy_text(char *out, size_t capacity, const char *text)
{
    return text_format(out, capacity, "%s", text != NULL ? text : "");
}

static const char *get_variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Reads a file of the user's directory .aws; `name` is a variable that names another one. Returns
 * the text, to be freed, or NULL. */
static char *read_credentials_file(struct env *env, const char *name, const char *file)
{
    char path[PATH_MAX];
    const char *other = get_variable(name), *home = get_variable("HOME");
    if (other == NULL && home == NULL) return NULL;
    const bool fits = other != NULL ? text_format(path, sizeof path, "%s", other)
                                    : text_format(path, sizeof path, "%s/.aws/%s", home, file);
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
static const char *find_value(char *text, const char *section, const char *key)
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
static bool read_value(struct env *env, const char *name, const char *file, const char *section,
                       const char *key, char *out, size_t capacity)
{
    char *text = read_credentials_file(env, name, file);
    const bool fits =
        copy_text(out, capacity, text != NULL ? find_value(text, section, key) : NULL);
    mem_free(text);
    return fits;
}

/* Whether the section has the key; NULL: whether it exists. */
static bool has_value(struct env *env, const char *name, const char *file, const char *section,
                      const char *key)
{
    char *text = read_credentials_file(env, name, file);
    const bool found = text != NULL && find_value(text, section, key) != NULL;
    mem_free(text);
    return found;
}

/* The name of a profile's section in the file config. */
static bool format_config_section(const char *profile, char *out, size_t capacity)
{
    const bool first = strcmp(profile, "default") == 0;
    return text_format(out, capacity, first ? "%s" : "profile %s", profile);
}

static bool read_region(struct env *env, const char *profile, char *out, size_t capacity)
{
    char section[SECTION_BYTES];
    const char *region = get_variable("AWS_REGION");
    if (region == NULL) region = get_variable("AWS_DEFAULT_REGION");
    if (region != NULL) return copy_text(out, capacity, region);
    if (!format_config_section(profile, section, sizeof section) ||
        !read_value(env, CONFIG_VARIABLE, "config", section, "region", out, capacity))
        return false;
    return out[0] != '\0' || copy_text(out, capacity, "us-east-1");
}

static bool read_profile(struct env *env, const char *profile, struct remote_signature *out,
                         char *token, size_t token_capacity)
{
    static const char name[] = CREDENTIALS_VARIABLE, file[] = "credentials";
    return read_value(env, name, file, profile, "aws_access_key_id", out->user, sizeof out->user) &&
           read_value(env, name, file, profile, "aws_secret_access_key", out->password,
                      sizeof out->password) &&
           read_value(env, name, file, profile, "aws_session_token", token, token_capacity);
}

/* Whether the profile's credentials come from elsewhere than its keys. */
static bool has_other_credentials(struct env *env, const char *profile)
{
    static const char *const keys[] = {"role_arn", "sso_session", "sso_start_url",
                                       "credential_process", "web_identity_token_file"};
    char section[SECTION_BYTES];
    bool found = false;
    if (!format_config_section(profile, section, sizeof section)) return false;
    for (size_t i = 0; !found && i < sizeof keys / sizeof *keys; i++)
        found = has_value(env, CONFIG_VARIABLE, "config", section, keys[i]) ||
                has_value(env, CREDENTIALS_VARIABLE, "credentials", profile, keys[i]);
    return found;
}

/* The profile has no keys: sets the error unless requests are not to be signed. */
static int check_unsigned(struct env *env, const char *profile, struct glint_error *error)
{
    char section[SECTION_BYTES];
    const bool named = get_variable("AWS_PROFILE") != NULL;
    if (has_other_credentials(env, profile))
        return error_set(error, GLINT_E_INPUT_PERMISSION,
                         "set what `aws configure export-credentials --format env` prints",
                         "the profile %s has a role, SSO or a program for its credentials; only "
                         "aws_access_key_id and aws_secret_access_key are read",
                         profile);
    if (!named) return 0;
    if (!format_config_section(profile, section, sizeof section) ||
        (!has_value(env, CREDENTIALS_VARIABLE, "credentials", profile, NULL) &&
         !has_value(env, CONFIG_VARIABLE, "config", section, NULL)))
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

/* Fills in the signature's parts if this process has credentials, and sets `region`. Returns 0,
 * INPUT_PERMISSION if the profile has none that can be read, or INPUT_URL if they do not fit. */
static int aws_credentials_read(struct env *env, struct remote_signature *out, char *region,
                                size_t capacity, struct glint_error *error)
{
    char token[sizeof out->token_header - sizeof "x-amz-security-token: "];
    const char *profile = get_variable("AWS_PROFILE"), *user = get_variable("AWS_ACCESS_KEY_ID");
    if (profile == NULL) profile = "default";
    *out = (struct remote_signature){.scheme = ""};
    bool fits = read_region(env, profile, region, capacity);
    if (user != NULL && get_variable("AWS_SECRET_ACCESS_KEY") != NULL)
        fits =
            fits && copy_text(out->user, sizeof out->user, user) &&
            copy_text(out->password, sizeof out->password, get_variable("AWS_SECRET_ACCESS_KEY")) &&
            copy_text(token, sizeof token, get_variable("AWS_SESSION_TOKEN"));
    else
        fits = fits && read_profile(env, profile, out, token, sizeof token);
    if (fits && (out->user[0] == '\0' || out->password[0] == '\0'))
        return check_unsigned(env, profile, error);
    if (fits && token[0] != '\0')
        text_format(out->token_header, sizeof out->token_header, "x-amz-security-token: %s", token);
    if (fits && text_format(out->scheme, sizeof out->scheme, "aws:amz:%s:s3", region)) return 0;
    return error_set(error, GLINT_E_INPUT_URL, NULL, "the credentials or the region are too long");
}

/* ---- Targets */

#define REGION_BYTES 64

static int set_url_error(const char *name, const char *what, struct glint_error *error)
{
    return error_set(error, GLINT_E_INPUT_URL, NULL, "%s: %s", name, what);
}

static int open_s3(struct remote_target *t, struct env *env, const char *name,
                   struct glint_error *error)
{
    const struct remote_place p = remote_url_place(t->url);
    const char *endpoint = get_variable("AWS_ENDPOINT_URL_S3");
    char region[REGION_BYTES];
    const int n = (int)p.host_size;
    struct glint_error problem = {.code = GLINT_OK};
    bool ok = true;
    if (endpoint == NULL) endpoint = get_variable("AWS_ENDPOINT_URL");
    if (p.host_size == 0) return set_url_error(name, "a URL without a bucket", error);
    /* A bucket is named in the path, perhaps: . and .. would lead elsewhere. */
    if (strspn(p.host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") <
            p.host_size ||
        p.host[0] == '.')
        return set_url_error(name, "this is not the name of a bucket", error);
    if (aws_credentials_read(env, &t->signature, region, sizeof region, &problem) < 0)
        return error_set(error, problem.code, problem.hint, "%s: %s", name, problem.cause);
    if (endpoint != NULL) {
        const size_t size = strlen(endpoint);
        const bool slash = endpoint[size - 1] == '/';
        ok = ok && text_format(t->base, sizeof t->base, "%.*s/%.*s", (int)(size - slash), endpoint,
                               n, p.host);
    } else if (memchr(p.host, '.', p.host_size) != NULL) {
        ok = ok && text_format(t->base, sizeof t->base, "https://s3.%s.amazonaws.com/%.*s", region,
                               n, p.host);
    } else {
        ok = ok && text_format(t->base, sizeof t->base, "https://%.*s.s3.%s.amazonaws.com", n,
                               p.host, region);
    }
    return ok ? 0 : set_url_error(name, "the endpoint is too long", error);
}

static int open_webhdfs(struct remote_target *t, const char *name, struct glint_error *error)
{
    const struct remote_place p = remote_url_place(t->url);
    bool ok = text_format(t->base, sizeof t->base, "%s://%.*s/webhdfs/v1", p.tls ? "https" : "http",
                          (int)p.host_size, p.host);
    ok = ok && remote_url_encode(p.path, strlen(p.path), "/", t->base, sizeof t->base);
    return ok ? 0 : set_url_error(name, "the URL is too long", error);
}

int remote_target_init(struct remote_target *t, struct env *env, const char *url, const char *name,
                       int cancelled, struct glint_error *error)
{
    memset(t, 0, sizeof *t);
    t->cancelled = cancelled;
    t->kind = remote_url_kind(url);
    t->url = url;
    assert(t->kind != REMOTE_NONE);
    if (t->kind == REMOTE_S3) return open_s3(t, env, name, error);
    return t->kind == REMOTE_WEBHDFS ? open_webhdfs(t, name, error) : 0;
}

/* Appends &user.name=USER, which is all that simple authentication of Hadoop asks for. */
static bool append_hadoop_user(struct remote_target *t)
{
    const char *user = get_variable("HADOOP_USER_NAME");
    if (user == NULL) user = get_variable("USER");
    if (user == NULL) return true;
    const size_t used = strlen(t->request);
    return text_format(t->request + used, sizeof t->request - used, "&user.name=") &&
           remote_url_encode(user, strlen(user), "", t->request, sizeof t->request);
}

bool remote_target_query(struct remote_target *t, const char *query, struct remote_request *out)
{
    assert(t->kind != REMOTE_HTTP);
    const bool s3 = t->kind == REMOTE_S3;
    *out = (struct remote_request){.url = t->request,
                                   .no_redirects = s3,
                                   .same_scheme = true,
                                   .cancelled = t->cancelled,
                                   .signature = s3 ? &t->signature : NULL};
    return text_format(t->request, sizeof t->request, s3 ? "%s/?%s" : "%s?%s", t->base, query) &&
           (s3 || append_hadoop_user(t));
}

bool remote_target_key(struct remote_target *t, const char *key, const char *query,
                       struct remote_request *out)
{
    assert(t->kind == REMOTE_S3);
    *out = (struct remote_request){.url = t->request,
                                   .no_redirects = true,
                                   .as_is = true,
                                   .cancelled = t->cancelled,
                                   .signature = &t->signature};
    if (!text_format(t->request, sizeof t->request, "%s/", t->base) ||
        !remote_url_encode(key, strlen(key), "/", t->request, sizeof t->request))
        return false;
    const size_t used = strlen(t->request);
    return query[0] == '\0' ||
           text_format(t->request + used, sizeof t->request - used, "?%s", query);
}

bool remote_target_object(struct remote_target *t, uint64_t from, uint64_t to,
                          struct remote_request *out)
{
    char query[96];
    *out = (struct remote_request){
        .url = t->url, .from = from, .to = to, .use_netrc = true, .cancelled = t->cancelled};
    if (t->kind == REMOTE_HTTP) return true;
    if (t->kind == REMOTE_WEBHDFS) {
        text_format(query, sizeof query, "op=OPEN&offset=%" PRIu64 "&length=%" PRIu64, from,
                    to - from);
        return remote_target_query(t, query, out); /* the range is in the query */
    }
    const char *path = remote_url_place(t->url).path;
    const bool ok = remote_target_key(t, path + (path[0] == '/'), "", out);
    out->from = from;
    out->to = to;
    return ok;
}
