/* A page of another site could reach the server by a name that it controls (DNS rebinding), so the
 * name must be one of this machine. A server beyond loopback does not know its names; there the
 * cookie, which a browser sends to the name that it got it from, is the only protection. */
#include "engine/web/web_http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool web_token_is_valid(const char *token)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
    const size_t size = strlen(token);
    return size >= 16 && size < WEB_TOKEN_MAX && strspn(token, allowed) == size;
}

/* True if the texts are equal; takes the same time wherever they differ. */
static bool web_token_is(const struct web_access *a, const char *given)
{
    const size_t size = strlen(a->token), given_size = strlen(given);
    unsigned differences = size != given_size;
    if (size == 0) return false;
    for (size_t i = 0; i < given_size; i++)
        differences |= (unsigned)((uint8_t)given[i] ^ (uint8_t)a->token[i < size ? i : 0]);
    return differences == 0;
}

/* Compares a Host header with a name, with or without the port. */
static bool host_header_matches(const char *host, const char *name, uint16_t port)
{
    char with_port[300];
    snprintf(with_port, sizeof with_port, "%s:%u", name, port);
    return strcasecmp(host, with_port) == 0 || (port == 80 && strcasecmp(host, name) == 0);
}

static bool is_known_host(const struct web_access *a, const char *host)
{
    if (host == NULL) return false;
    if (!a->loopback) return true;
    return host_header_matches(host, a->address, a->port) ||
           host_header_matches(host, "localhost", a->port);
}

/* The origin is this server, also behind a proxy with TLS that passes the name on. */
static bool is_same_origin(const char *origin, const char *host)
{
    const char *schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const size_t size = strlen(schemes[i]);
        if (strncasecmp(origin, schemes[i], size) == 0 && strcasecmp(origin + size, host) == 0)
            return true;
    }
    return false;
}

enum web_denial web_access_check(const struct web_access *a, const struct web_credentials *c,
                                 bool *out_by_query)
{
    static const char bearer[] = "Bearer ";
    *out_by_query = false;
    if (!is_known_host(a, c->host)) return WEB_WRONG_HOST;
    if (c->origin != NULL && !is_same_origin(c->origin, c->host)) return WEB_WRONG_ORIGIN;
    if (c->authorization != NULL && strncasecmp(c->authorization, bearer, sizeof bearer - 1) == 0)
        return web_token_is(a, c->authorization + sizeof bearer - 1) ? WEB_ALLOWED : WEB_NO_TOKEN;
    if (c->cookie != NULL && web_token_is(a, c->cookie)) return WEB_ALLOWED;
    if (c->query_token == NULL || !web_token_is(a, c->query_token)) return WEB_NO_TOKEN;
    *out_by_query = true;
    return WEB_ALLOWED;
}
