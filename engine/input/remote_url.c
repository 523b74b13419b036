/* Only the parts that are needed here are parsed: libcurl parses the URL that it gets. */
#include "engine/input/remote_url.h"

#include "engine/base/text.h"

#include <assert.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#define HIDDEN "***"

static const struct {
    const char *prefix;
    enum remote_kind kind;
} schemes[] = {{"http://", REMOTE_HTTP},       {"https://", REMOTE_HTTP},
               {"s3://", REMOTE_S3},           {"s3a://", REMOTE_S3},
               {"webhdfs://", REMOTE_WEBHDFS}, {"swebhdfs://", REMOTE_WEBHDFS}};

/* The part after the scheme; NULL: not a URL of a known scheme. */
static const char *url_after_scheme(const char *url, enum remote_kind *out)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        const size_t size = strlen(schemes[i].prefix);
        if (strncasecmp(url, schemes[i].prefix, size) != 0) continue;
        *out = schemes[i].kind;
        return url + size;
    }
    *out = REMOTE_NONE;
    return NULL;
}

enum remote_kind remote_url_kind(const char *text)
{
    enum remote_kind kind;
    url_after_scheme(text, &kind);
    return kind;
}

/* The end of the authority that starts at `host`. */
static const char *authority_end(const char *host)
{
    return host + strcspn(host, "/?#");
}

/* The last @ of the authority: what is before it are a name and a password. */
static const char *userinfo_end(const char *host)
{
    const char *end = authority_end(host), *at = NULL;
    for (const char *p = host; p < end; p++)
        if (*p == '@') at = p;
    return at;
}

/* HDFS has no such names: its own client resolves them, a server may do so or answer 400. */
static bool has_dot_segment(const char *path)
{
    for (const char *p = path; *p != '\0'; p += strcspn(p, "/")) {
        p += strspn(p, "/");
        const size_t n = strcspn(p, "/");
        if ((n == 1 || n == 2) && strspn(p, ".") >= n) return true;
    }
    return false;
}

const char *remote_url_check(const char *url, const char **out_hint)
{
    enum remote_kind kind;
    const char *host = url_after_scheme(url, &kind);
    assert(host != NULL);
    *out_hint = NULL;
    if (userinfo_end(host) != NULL) {
        *out_hint = "write the name and the password of the host into ~/.netrc of each process: "
                    "a command line is not secret";
        return "a URL with a name or password";
    }
    if (authority_end(host) == host) return "a URL without a host";
    if (kind == REMOTE_WEBHDFS && has_dot_segment(authority_end(host))) {
        *out_hint = "write the path without . and ..";
        return "a path of HDFS with the name . or ..";
    }
    for (const char *p = url; kind == REMOTE_HTTP && *p != '\0'; p++)
        if (*p <= ' ' || *p > '~') {
            *out_hint = "write spaces and other characters in percent-encoding, such as %20";
            return "a URL with characters that URLs cannot have";
        }
    return NULL;
}

/* ---- Redaction */

struct text_out {
    char *at;
    size_t left; /* with the NUL */
    bool ok;
};

static void put_url_text(struct text_out *o, const char *text, size_t size)
{
    o->ok = o->ok && size < o->left;
    if (!o->ok) return;
    memcpy(o->at, text, size);
    o->at += size;
    o->left -= size;
    *o->at = '\0';
}

/* Copies a query from its ? on, without the values. */
static void append_query_without_values(struct text_out *o, const char *query)
{
    const char *p = query;
    while (*p != '\0') {
        const size_t name = strcspn(p, "=&");
        put_url_text(o, p, name);
        p += name;
        if (*p == '=') {
            put_url_text(o, "=" HIDDEN, sizeof "=" HIDDEN - 1);
            p += strcspn(p, "&");
        }
        if (*p == '&') put_url_text(o, p++, 1);
    }
}

bool remote_url_redact(const char *url, char *out, size_t capacity)
{
    enum remote_kind kind;
    const char *host = url_after_scheme(url, &kind);
    assert(host != NULL && capacity > 0);
    struct text_out o = {.at = out, .left = capacity, .ok = true};
    out[0] = '\0';
    put_url_text(&o, url, (size_t)(host - url));
    const char *at = userinfo_end(host);
    if (at != NULL) {
        put_url_text(&o, HIDDEN, sizeof HIDDEN - 1);
        host = at;
    }
    /* Names in stores of objects and files may contain a question mark. */
    const size_t path = kind == REMOTE_HTTP ? strcspn(host, "?#") : strlen(host);
    put_url_text(&o, host, path);
    append_query_without_values(&o, host + path);
    return o.ok;
}

bool remote_text_redact(const char *text, char *out, size_t capacity)
{
    struct text_out o = {.at = out, .left = capacity, .ok = capacity > 0};
    char url[2 * PATH_MAX];
    if (o.ok) out[0] = '\0';
    while (*text != '\0' && o.ok) {
        const bool begins = remote_url_kind(text) != REMOTE_NONE;
        const size_t size = begins ? strcspn(text, ", ") : 1;
        if (begins) {
            if (size >= sizeof url) return false;
            memcpy(url, text, size);
            url[size] = '\0';
            o.ok = remote_url_redact(url, o.at, o.left);
            const size_t n = o.ok ? strlen(o.at) : 0;
            o.at += n;
            o.left -= n;
        } else {
            put_url_text(&o, text, 1);
        }
        text += size;
    }
    return o.ok;
}

/* ---- Parts */

struct remote_place remote_url_split(const char *url)
{
    struct remote_place p;
    p.host = url_after_scheme(url, &p.kind);
    assert(p.host != NULL);
    p.tls = *url == 's' || *url == 'S';
    p.host_size = strcspn(p.host, "/");
    p.path = p.host + p.host_size;
    return p;
}

bool remote_url_append_encoded(const char *text, size_t size, const char *keep, char *out,
                               size_t capacity)
{
    static const char hex[] = "0123456789ABCDEF";
    struct text_out o = {.at = out + strlen(out), .left = capacity - strlen(out), .ok = true};
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)text[i];
        const char escaped[3] = {'%', hex[c >> 4], hex[c & 15]};
        const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                           (c >= 'a' && c <= 'z') || (c != 0 && strchr("-._~", c) != NULL) ||
                           (c != 0 && strchr(keep, c) != NULL);
        put_url_text(&o, plain ? text + i : escaped, plain ? 1 : 3);
    }
    return o.ok;
}

bool remote_url_add_parameter(char *out, size_t capacity, const char *name, const char *value)
{
    const size_t used = strlen(out);
    const bool first = used == 0 || out[used - 1] == '?';
    return text_format(out + used, capacity - used, "%s%s=", first ? "" : "&", name) &&
           remote_url_append_encoded(value, strlen(value), "", out, capacity);
}
