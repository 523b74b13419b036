/* The headers of a response that say what its body is: RFC 9110. Pure; any thread. */
#ifndef GLINT_INPUT_REMOTE_RESPONSE_H
#define GLINT_INPUT_REMOTE_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of an object: its ETag, with quotes and W/, or else its Last-Modified; "": neither.
 */
#define REMOTE_VERSION_BYTES 256u

struct remote_response {
    bool has_length, has_range, malformed;
    bool ended;        /* the empty line after the headers has come */
    uint64_t length;   /* Content-Length */
    uint64_t from, to; /* Content-Range: the first byte, and the one after the last */
    uint64_t total;    /* of the whole object */
    bool has_total;    /* false: the server does not know it */
    bool has_etag;     /* `version` is one */
    char version[REMOTE_VERSION_BYTES];
};

/* A line with or without its line end. A line that begins with HTTP/ starts a new response; other
 * headers are ignored. Headers that contradict themselves or each other set `malformed`. */
void remote_response_add_line(struct remote_response *r, const char *line, size_t size);

#endif
