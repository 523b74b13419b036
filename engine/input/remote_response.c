/* Numbers are at most INT64_MAX, so that sums of them cannot overflow in readers. */
#include "engine/input/remote_response.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

struct slice {
    const char *at, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Returns the value of the header if the line is one of that name; at == NULL: it is not. */
static struct slice header_value(const char *line, size_t size, const char *name)
{
    const size_t n = strlen(name);
    if (size <= n || line[n] != ':' || strncasecmp(line, name, n) != 0)
        return (struct slice){NULL, NULL};
    struct slice v = {line + n + 1, line + size};
    while (v.at < v.end && is_blank(*v.at)) v.at++;
    while (v.end > v.at && is_blank(v.end[-1])) v.end--;
    return v;
}

/* Parses digits at the front. */
static bool parse_number(struct slice *v, uint64_t *out)
{
    const char *begin = v->at;
    uint64_t n = 0;
    for (; v->at < v->end && *v->at >= '0' && *v->at <= '9'; v->at++) {
        const uint64_t digit = (uint64_t)(*v->at - '0');
        if (n > ((uint64_t)INT64_MAX - digit) / 10) return false;
        n = n * 10 + digit;
    }
    *out = n;
    return v->at > begin;
}

static bool skip_char(struct slice *v, char c)
{
    if (v->at == v->end || *v->at != c) return false;
    v->at++;
    return true;
}

static void add_length(struct remote_response *r, struct slice v)
{
    uint64_t length;
    if (!parse_number(&v, &length) || v.at != v.end || (r->has_length && r->length != length))
        r->malformed = true;
    else
        r->length = length;
    r->has_length = !r->malformed;
}

/* bytes 0-99/1000, bytes 0-99/ *, bytes * /1000 */
static bool parse_range(struct remote_response *r, struct slice v)
{
    static const char unit[] = "bytes";
    if (v.end - v.at < (ptrdiff_t)sizeof unit || strncasecmp(v.at, unit, sizeof unit - 1) != 0)
        return false;
    v.at += sizeof unit - 1;
    if (!skip_char(&v, ' ')) return false;
    r->from = r->to = 0;
    if (!skip_char(&v, '*')) {
        if (!parse_number(&v, &r->from) || !skip_char(&v, '-') || !parse_number(&v, &r->to) ||
            r->to < r->from)
            return false;
        r->to++;
    }
    if (!skip_char(&v, '/')) return false;
    r->has_total = !skip_char(&v, '*');
    if (r->has_total && !parse_number(&v, &r->total)) return false;
    return v.at == v.end && (!r->has_total || r->to <= r->total);
}

static void set_version(struct remote_response *r, struct slice v, bool etag)
{
    const size_t size = (size_t)(v.end - v.at);
    if (size == 0 || size >= sizeof r->version || (r->has_etag && !etag)) return;
    for (const char *p = v.at; p < v.end; p++)
        if (*p < ' ' || *p > '~') return;
    memcpy(r->version, v.at, size);
    r->version[size] = '\0';
    r->has_etag = etag;
}

void remote_response_add_line(struct remote_response *r, const char *line, size_t size)
{
    if (size >= 5 && memcmp(line, "HTTP/", 5) == 0) *r = (struct remote_response){.length = 0};
    if (size == 0 || *line == '\r' || *line == '\n') r->ended = true;
    struct slice v = header_value(line, size, "Content-Length");
    if (v.at != NULL) add_length(r, v);
    v = header_value(line, size, "Content-Range");
    if (v.at != NULL) {
        if (r->has_range || !parse_range(r, v)) r->malformed = true;
        r->has_range = true;
    }
    v = header_value(line, size, "ETag");
    if (v.at != NULL) set_version(r, v, true);
    v = header_value(line, size, "Last-Modified");
    if (v.at != NULL) set_version(r, v, false);
    assert(strlen(r->version) < sizeof r->version);
}
