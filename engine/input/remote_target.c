/* A bucket is named in the host (virtual-hosted style) at Amazon, and in the path at other
 * endpoints, and if its name has dots, which certificates do not match. */
#include "engine/input/remote_target.h"

#include "engine/base/text.h"
#include "engine/input/aws_credentials.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define REGION_BYTES 64

int remote_set_url_error(const char *name, const char *what, struct glint_error *error)
{
    return error_set(error, GLINT_E_INPUT_URL, NULL, "%s: %s", name, what);
}

static int init_s3_target(struct remote_target *t, struct env *env, const char *name,
                          struct glint_error *error)
{
    const struct remote_place p = remote_url_split(t->url);
    const char *endpoint = aws_endpoint("AWS_ENDPOINT_URL_S3");
    char region[REGION_BYTES];
    const int n = (int)p.host_size;
    struct glint_error problem = {.code = GLINT_OK};
    bool ok = true;
    if (p.host_size == 0) return remote_set_url_error(name, "a URL without a bucket", error);
    /* A bucket is named in the path, perhaps: . and .. would lead elsewhere. */
    if (strspn(p.host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") <
            p.host_size ||
        p.host[0] == '.')
        return remote_set_url_error(name, "this is not the name of a bucket", error);
    if (aws_credentials_read(env, &t->signature, &t->expires_ns, region, sizeof region, &problem) <
        0)
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
    return ok ? 0 : remote_set_url_error(name, "the endpoint is too long", error);
}

static int init_webhdfs_target(struct remote_target *t, const char *name, struct glint_error *error)
{
    const struct remote_place p = remote_url_split(t->url);
    bool ok = text_format(t->base, sizeof t->base, "%s://%.*s/webhdfs/v1", p.tls ? "https" : "http",
                          (int)p.host_size, p.host);
    ok = ok && remote_url_append_encoded(p.path, strlen(p.path), "/", t->base, sizeof t->base);
    return ok ? 0 : remote_set_url_error(name, "the URL is too long", error);
}

int remote_target_init(struct remote_target *t, struct env *env, const char *url, const char *name,
                       int cancelled, struct glint_error *error)
{
    memset(t, 0, sizeof *t);
    t->env = env;
    t->cancelled = cancelled;
    t->kind = remote_url_kind(url);
    t->url = url;
    assert(t->kind != REMOTE_NONE);
    if (t->kind == REMOTE_S3) return init_s3_target(t, env, name, error);
    return t->kind == REMOTE_WEBHDFS ? init_webhdfs_target(t, name, error) : 0;
}

/* Credentials of a role end: a target that is used for hours gets others. What fails here, the
 * request will say. */
static void refresh_signature(struct remote_target *t)
{
    char region[REGION_BYTES];
    struct glint_error ignored = {.code = GLINT_OK};
    struct remote_signature fresh;
    int64_t expires_ns;
    if (t->expires_ns == 0 || t->env->wall_ns(t->env) + AWS_REFRESH_NS < t->expires_ns) return;
    if (aws_credentials_read(t->env, &fresh, &expires_ns, region, sizeof region, &ignored) < 0)
        return;
    t->signature = fresh;
    t->expires_ns = expires_ns;
}

/* Appends &user.name=USER, which is all that simple authentication of Hadoop asks for. */
static bool append_hadoop_user(struct remote_target *t)
{
    const char *user = nonempty_env_variable("HADOOP_USER_NAME");
    if (user == NULL) user = nonempty_env_variable("USER");
    if (user == NULL) return true;
    return remote_url_add_parameter(t->request, sizeof t->request, "user.name", user);
}

bool remote_target_query(struct remote_target *t, const char *query, struct remote_request *out)
{
    assert(t->kind != REMOTE_HTTP);
    if (t->kind == REMOTE_S3) return remote_target_key(t, "", query, out);
    *out =
        (struct remote_request){.url = t->request, .same_scheme = true, .cancelled = t->cancelled};
    return text_format(t->request, sizeof t->request, "%s?%s", t->base, query) &&
           append_hadoop_user(t);
}

bool remote_target_key(struct remote_target *t, const char *key, const char *query,
                       struct remote_request *out)
{
    assert(t->kind == REMOTE_S3);
    refresh_signature(t);
    *out = (struct remote_request){.url = t->request,
                                   .no_redirects = true,
                                   .as_is = true,
                                   .cancelled = t->cancelled,
                                   .signature = &t->signature};
    if (!text_format(t->request, sizeof t->request, "%s/", t->base) ||
        !remote_url_append_encoded(key, strlen(key), "/", t->request, sizeof t->request))
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
    const char *path = remote_url_split(t->url).path;
    const bool ok = remote_target_key(t, path + (path[0] == '/'), "", out);
    out->from = from;
    out->to = to;
    return ok;
}
