/* Who may read the page: those who know its token. Pure. */
#ifndef GLINT_WEB_WEB_ACCESS_H
#define GLINT_WEB_WEB_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#define WEB_TOKEN_MAX 256u

struct web_access {
    char token[WEB_TOKEN_MAX];
    char cookie[32];   /* its name, which has the port: cookies of all ports are sent to each */
    char address[256]; /* as bound: 127.0.0.1 or [::1] */
    uint16_t port;
    bool loopback; /* only this machine can connect */
};

enum web_denial {
    WEB_ALLOWED,
    WEB_WRONG_HOST,   /* 421: the name that the browser used may be another site's */
    WEB_WRONG_ORIGIN, /* 403: the request was made by a page of another site */
    WEB_NO_TOKEN,     /* 401 */
};

/* Headers of a request; NULL: not sent. */
struct web_credentials {
    const char *host, *origin, *authorization, *cookie, *query_token;
};
/* *out_by_query: the token came in the query, and nothing else. */
enum web_denial web_access_check(const struct web_access *a, const struct web_credentials *c,
                                 bool *out_by_query);
/* A token has 16 to 255 letters, digits, '-', '_', '.' or '~', which need no escape in a URL. */
bool web_token_is_valid(const char *token);

#endif
