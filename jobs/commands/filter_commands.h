/* What a server of filters answers to a request: the commands, without sockets. */
#ifndef GLINT_JOBS_COMMANDS_FILTER_COMMANDS_H
#define GLINT_JOBS_COMMANDS_FILTER_COMMANDS_H

#include "jobs/commands/filter_table.h"
#include "jobs/commands/resp.h"

#include <stdbool.h>

#define CLIENT_NAME_MAX 64u

/* What the server counts, for INFO. */
struct filter_counts {
    uint64_t connections, rejected, handshakes_failed; /* since the start */
    uint32_t clients;                                  /* now */
    uint64_t requests, errors, lookups, hits;
    uint64_t swaps, failed_swaps;
};

/* What a request is answered from. */
struct filter_service {
    const struct filter_table *table;
    const char *password; /* NULL: none */
    uint64_t uptime_s;
    int64_t loaded_s; /* Unix time */
    struct filter_counts counts;
};

/* One connection. */
struct filter_client {
    uint64_t id;
    char name[CLIENT_NAME_MAX];
    unsigned version; /* of the protocol: 2 at first */
    bool authenticated;
    bool quits; /* close it after the reply */
};

/* Answers the request at `data`, which is complete and has words. */
void filter_command_run(struct filter_service *s, struct filter_client *c, const uint8_t *data,
                        const struct resp_parser *request, struct resp_reply *reply);

#endif
