/* RESP, the protocol of Redis, versions 2 and 3: the requests of a client, and replies.
 *
 * A request is an array of bulk strings, or a line of words (an inline command). Source: the
 * protocol specification at redis.io, and what Valkey 9.1.2 answers. */
#ifndef GLINT_JOBS_COMMANDS_RESP_H
#define GLINT_JOBS_COMMANDS_RESP_H

#include "engine/base/mem.h"

/* Limits of one request. */
struct resp_limits {
    uint32_t words;
    uint64_t bytes; /* of the whole request */
};

struct resp_word {
    uint64_t offset, size; /* from the begin of the request */
};

/* A request that may have arrived in part. Zeros: nothing has arrived. */
struct resp_parser {
    struct resp_word *words; /* all that have arrived */
    uint64_t capacity;
    uint32_t count, expected;
    uint64_t at; /* bytes that are parsed */
    bool in_array;
};

enum resp_result {
    RESP_COMPLETE, /* parser->at is the size of the request; without words it needs no reply */
    RESP_PARTIAL,
    RESP_INVALID, /* *why says it; what follows cannot be parsed */
    RESP_NO_MEMORY,
};

/* Goes on parsing the request at `data`, which started with the same bytes at the call before.
 * After COMPLETE call resp_next before the next request. */
enum resp_result resp_parse(struct resp_parser *p, const uint8_t *data, uint64_t size,
                            const struct resp_limits *limits, const char **why);
/* Forgets the request, and keeps the memory. */
void resp_next(struct resp_parser *p);
void resp_parser_fini(struct resp_parser *p);

/* Replies, appended to a buffer. */
struct resp_reply {
    struct buffer out;
    unsigned version; /* 2 or 3 */
    bool failed;      /* out of memory: the reply is incomplete */
};

void resp_status(struct resp_reply *r, const char *text);
/* `text` begins with a code, such as ERR; line ends in it become spaces. */
void resp_error(struct resp_reply *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void resp_number(struct resp_reply *r, int64_t number);
/* true or false, in version 2: 1 or 0, for each of `yes`, which are 1 or 0. */
void resp_bools(struct resp_reply *r, const uint8_t *yes, uint32_t count);
void resp_bulk(struct resp_reply *r, const void *data, uint64_t size);
void resp_text(struct resp_reply *r, const char *text);
void resp_null(struct resp_reply *r);
void resp_array(struct resp_reply *r, uint64_t count);
void resp_set(struct resp_reply *r, uint64_t count); /* version 2: an array */
/* Version 2: an array of names and values. `pairs` of them follow. */
void resp_map(struct resp_reply *r, uint64_t pairs);

#endif
