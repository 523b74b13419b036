/* A man in the middle: accepts a connection of conn_fixture's client, connects to its listener, and
 * forwards bytes, a few at a time, up to a position where it cuts the connection. Records the
 * bytes. Runs in the fixture's loop; uses malloc. */
#ifndef TESTS_SUPPORT_WIRE_TAP_H
#define TESTS_SUPPORT_WIRE_TAP_H

#include "tests/support/conn_fixture.h"

enum { TAP_TO_SERVER, TAP_TO_CLIENT, TAP_DIRECTIONS };

struct tap_direction {
    uint8_t *bytes; /* all bytes received */
    uint64_t size, capacity, sent;
    uint64_t cut_at; /* bytes forwarded before the cut; UINT64_MAX: no cut */
    bool ended;      /* EOF received */
};

struct tap {
    uv_tcp_t listener, ends[TAP_DIRECTIONS]; /* directions[i] goes to ends[i] */
    uv_connect_t connect;
    uv_idle_t pace;
    struct tap_direction directions[TAP_DIRECTIONS];
    uint64_t step; /* bytes per direction and loop iteration */
    bool reflects; /* sends the client's bytes back to the client */
    bool stalls;   /* stops forwarding instead of cutting */
    bool joined, closing;
};

/* Aborts if a system call fails. A tap is used once. */
void tap_open(struct tap *t, uint64_t step);
/* Makes the client dial the tap. */
void tap_dial(struct tap *t);
/* Call before conn_fixture_close. */
void tap_close(struct tap *t);
void tap_free(struct tap *t);

#endif
