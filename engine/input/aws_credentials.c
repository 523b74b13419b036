/* Credentials for requests to S3, as the AWS SDKs find them, in this order: the environment; a role
 * by its web identity; the profile of ~/.aws/credentials and ~/.aws/config, with keys, a web
 * identity or SSO; the container (ECS, EKS); the machine (EC2, IMDSv2). Without any, requests are
 * not signed, which public buckets allow; but if a profile is named, or has credentials that this
 * does not read, that is an error. What a server gave is kept until shortly before it expires. */
#include "engine/input/aws_credentials.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/input/aws_service.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const char *env_variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

const char *aws_endpoint(const char *name)
{
    const char *endpoint = env_variable(name);
    return endpoint != NULL ? endpoint : env_variable("AWS_ENDPOINT_URL");
}

/* ---- Files */

#define FILE_BYTES_MAX       65536
#define SECTION_BYTES        256
#define CREDENTIALS_VARIABLE "AWS_SHARED_CREDENTIALS_FILE"
#define CONFIG_VARIABLE      "AWS_CONFIG_FILE"

static bool copy_text(char *out, size_t capacity, const char *text)
{
    return text_format(out, capacity, "%s", text != NULL ? text : "");
}

/* Reads a file of the user's directory .aws; `name` is a variable that names another one. Returns
 * the text, to be freed, or NULL. */
static char *read_credentials_file(struct env *env, const char *name, const char *file)
{
    char path[PATH_MAX];
    const char *other = env_variable(name), *home = env_variable("HOME");
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
    const char *region = env_variable("AWS_REGION");
    if (region == NULL) region = env_variable("AWS_DEFAULT_REGION");
    if (region != NULL) return copy_text(out, capacity, region);
    if (!format_config_section(profile, section, sizeof section) ||
        !read_value(env, CONFIG_VARIABLE, "config", section, "region", out, capacity))
        return false;
    return out[0] != '\0' || copy_text(out, capacity, "us-east-1");
}

static bool read_profile(struct env *env, const char *profile, struct aws_keys *out)
{
    static const char name[] = CREDENTIALS_VARIABLE, file[] = "credentials";
    return read_value(env, name, file, profile, "aws_access_key_id", out->user, sizeof out->user) &&
           read_value(env, name, file, profile, "aws_secret_access_key", out->password,
                      sizeof out->password) &&
           read_value(env, name, file, profile, "aws_session_token", out->token, sizeof out->token);
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
    const bool named = env_variable("AWS_PROFILE") != NULL;
    if (has_other_credentials(env, profile))
        return error_set(
            error, GLINT_E_INPUT_PERMISSION,
            "set what `aws configure export-credentials --format env` prints",
            "the profile %s has a role of another profile, a program, or not all that SSO "
            "needs; those are not read",
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

struct chain {
    struct env *env;
    const char *profile, *region;
    char section[SECTION_BYTES]; /* of the profile in the file config */
};

typedef int fetch_call(const struct chain *c, struct aws_keys *out, struct glint_error *error);

/* Calls `call` unless what it gave before is still valid. */
static int fetch_cached(const struct chain *c, const char *source, fetch_call *call,
                        struct aws_keys *out, struct glint_error *error)
{
    int r = 0;
    pthread_mutex_lock(&cache.lock);
    const int64_t now = c->env->wall_ns(c->env);
    if (strcmp(cache.source, source) != 0 || now + AWS_REFRESH_NS >= cache.keys.expires_ns) {
        struct aws_keys keys = {.user = ""};
        r = call(c, &keys, error);
        if (r == 0 && copy_text(cache.source, sizeof cache.source, source)) cache.keys = keys;
        *out = keys;
    } else {
        *out = cache.keys;
    }
    pthread_mutex_unlock(&cache.lock);
    return r;
}

static int fetch_role_of_environment(const struct chain *c, struct aws_keys *out,
                                     struct glint_error *error)
{
    return aws_fetch_web_identity(c->env, env_variable("AWS_ROLE_ARN"),
                                  env_variable("AWS_WEB_IDENTITY_TOKEN_FILE"), c->region, out,
                                  error);
}

/* Reads a key of the profile, or of a section of config. Returns false if there is none. */
static bool read_config(const struct chain *c, const char *section, const char *key, char *out,
                        size_t capacity)
{
    return read_value(c->env, CONFIG_VARIABLE, "config", section, key, out, capacity) &&
           out[0] != '\0';
}

static int fetch_role_of_profile(const struct chain *c, struct aws_keys *out,
                                 struct glint_error *error)
{
    char role[2048], file[PATH_MAX];
    const bool fits = read_config(c, c->section, "role_arn", role, sizeof role) &&
                      read_config(c, c->section, "web_identity_token_file", file, sizeof file);
    if (!fits)
        return error_set(error, GLINT_E_INPUT_PERMISSION, NULL, "the profile %s is not valid",
                         c->profile);
    return aws_fetch_web_identity(c->env, role, file, c->region, out, error);
}

/* Returns false if the profile has no SSO, or not all that it needs. */
static bool read_sso(const struct chain *c, struct aws_sso *out)
{
    char session[SECTION_BYTES], section[SECTION_BYTES + 16];
    const char *from = c->section;
    if (read_config(c, c->section, "sso_session", session, sizeof session) &&
        text_format(section, sizeof section, "sso-session %s", session))
        from = section;
    return read_config(c, from, "sso_start_url", out->start_url, sizeof out->start_url) &&
           read_config(c, from, "sso_region", out->region, sizeof out->region) &&
           read_config(c, c->section, "sso_account_id", out->account, sizeof out->account) &&
           read_config(c, c->section, "sso_role_name", out->role, sizeof out->role);
}

static int fetch_sso_of_profile(const struct chain *c, struct aws_keys *out,
                                struct glint_error *error)
{
    struct aws_sso sso = {.role = ""};
    const bool sound = read_sso(c, &sso);
    assert(sound);
    return aws_fetch_sso(c->env, &sso, out, error);
}

static int fetch_container(const struct chain *c, struct aws_keys *out, struct glint_error *error)
{
    return aws_fetch_container(c->env, out, error);
}

/* Where nothing answers, it is not asked again for a while, and there are no credentials. */
static int fetch_machine(const struct chain *c, struct aws_keys *out, struct glint_error *error)
{
    const int64_t now = c->env->wall_ns(c->env);
    if (cache.absent_ns != 0 && now < cache.absent_ns + MACHINE_ABSENT_NS) return 0;
    const int r = aws_fetch_machine(c->env, out, error);
    if (r == GLINT_E_INPUT_NOT_FOUND) cache.absent_ns = now;
    return r == GLINT_E_INPUT_NOT_FOUND ? 0 : r;
}

static bool is_machine_disabled(void)
{
    const char *disabled = env_variable("AWS_EC2_METADATA_DISABLED");
    return disabled != NULL && strcasecmp(disabled, "true") == 0;
}

/* ---- The order */

static int find_keys_of_profile(const struct chain *c, struct aws_keys *out,
                                struct glint_error *error)
{
    char source[SECTION_BYTES + 16];
    struct aws_sso sso;
    if (!read_profile(c->env, c->profile, out))
        return error_set(error, GLINT_E_INPUT_URL, NULL, "the credentials are too long");
    if (out->user[0] != '\0' && out->password[0] != '\0') return 0;
    out->user[0] = '\0';
    text_format(source, sizeof source, "profile %s", c->profile);
    if (has_value(c->env, CONFIG_VARIABLE, "config", c->section, "web_identity_token_file"))
        return fetch_cached(c, source, fetch_role_of_profile, out, error);
    if (read_sso(c, &sso)) return fetch_cached(c, source, fetch_sso_of_profile, out, error);
    return check_unsigned(c->env, c->profile, error);
}

/* Sets *out to credentials; without a `user` there are none. */
static int find_keys(const struct chain *c, struct aws_keys *out, struct glint_error *error)
{
    const char *user = env_variable("AWS_ACCESS_KEY_ID");
    const char *password = env_variable("AWS_SECRET_ACCESS_KEY");
    memset(out, 0, sizeof *out);
    if (user != NULL && password != NULL) {
        if (copy_text(out->user, sizeof out->user, user) &&
            copy_text(out->password, sizeof out->password, password) &&
            copy_text(out->token, sizeof out->token, env_variable("AWS_SESSION_TOKEN")))
            return 0;
        return error_set(error, GLINT_E_INPUT_URL, NULL, "the credentials are too long");
    }
    if (env_variable("AWS_WEB_IDENTITY_TOKEN_FILE") != NULL && env_variable("AWS_ROLE_ARN") != NULL)
        return fetch_cached(c, "web identity", fetch_role_of_environment, out, error);
    const int r = find_keys_of_profile(c, out, error);
    if (r != 0 || out->user[0] != '\0') return r;
    if (env_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != NULL ||
        env_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") != NULL)
        return fetch_cached(c, "container", fetch_container, out, error);
    return is_machine_disabled() ? 0 : fetch_cached(c, "machine", fetch_machine, out, error);
}

int aws_credentials_read(struct env *env, struct remote_signature *out, int64_t *out_expires_ns,
                         char *region, size_t capacity, struct glint_error *error)
{
    struct aws_keys keys;
    struct chain c = {.env = env, .profile = env_variable("AWS_PROFILE"), .region = region};
    if (c.profile == NULL) c.profile = "default";
    *out = (struct remote_signature){.scheme = ""};
    *out_expires_ns = 0;
    bool fits = read_region(env, c.profile, region, capacity) &&
                format_config_section(c.profile, c.section, sizeof c.section);
    if (fits) {
        const int r = find_keys(&c, &keys, error);
        if (r != 0 || keys.user[0] == '\0') return r;
        *out_expires_ns = keys.expires_ns;
        fits = copy_text(out->user, sizeof out->user, keys.user) &&
               copy_text(out->password, sizeof out->password, keys.password) &&
               text_format(out->scheme, sizeof out->scheme, "aws:amz:%s:s3", region);
    }
    if (fits && keys.token[0] != '\0')
        fits = text_format(out->token_header, sizeof out->token_header, "x-amz-security-token: %s",
                           keys.token);
    if (fits) return 0;
    return error_set(error, GLINT_E_INPUT_URL, NULL, "the credentials or the region are too long");
}
