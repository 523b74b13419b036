/* Somebody in the middle: takes one connection of conn_world's client, dials its gate, and passes
 * bytes on, a few at a time, up to a place where the wire is cut; it remembers what it has seen.
 * In the world's loop; memory comes from the C library. */
#ifndef TESTS_SUPPORT_WIRE_TAP_H
#define TESTS_SUPPORT_WIRE_TAP_H

#include "tests/support/conn_fixture.h"

enum { TAP_TO_SERVER, TAP_TO_CLIENT, TAP_DIRECTIONS };

struct tap_direction {
    uint8_t *bytes; /* all that came */
    uint64_t size, capacity, sent;
    uint64_t cut_at; /* so many are passed on, then the wire is cut; UINT64_MAX: never */
    bool ended;      /* no more comes */
};

struct tap {
    uv_tcp_t listener, ends[TAP_DIRECTIONS]; /* ways[i] goes to ends[i] */
    uv_connect_t connect;
    uv_idle_t pace;
    struct tap_direction directions[TAP_DIRECTIONS];
    uint64_t step; /* bytes of each way that are passed on in a turn of the loop */
    bool reflects; /* what the client says is said to the client */
    bool stalls;   /* where it would be cut it only goes silent */
    bool joined, closing;
};

/* Aborts where the system lacks something. The tap is used once. */
void tap_open(struct tap *t, uint64_t step);
/* The client dials it. */
void tap_dial(struct tap *t);
/* Before conn_fixture_close. */
void tap_close(struct tap *t);
void tap_free(struct tap *t);

#endif
