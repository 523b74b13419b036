/* Events from the loop's thread of the cluster transport to the driver's thread. Loop's thread,
 * except inbox_wait. */
#ifndef GLINT_DRIVER_TRANSPORT_INBOX_H
#define GLINT_DRIVER_TRANSPORT_INBOX_H

#include "engine/driver/driver.h"

struct cluster_transport;

enum inbox_event_kind {
    INBOX_EXECUTOR_ADDED,
    INBOX_MESSAGE,
    INBOX_EXECUTOR_DRAINING,
    INBOX_EXECUTOR_SUSPECT, /* heartbeats are missing */
    INBOX_EXECUTOR_ALIVE,   /* was suspect, responds again */
    INBOX_EXECUTOR_LOST,
    INBOX_NO_EXECUTORS,     /* none is left, and none can come or start_ms has passed */
    INBOX_CANCEL_REQUESTED, /* glint cancel */
    INBOX_NOTE,             /* a line for the user */
};

struct inbox_event {
    struct inbox_event *next;
    enum inbox_event_kind kind;
    uint32_t executor; /* its number; 0 for events of no executor */
    union {
        struct {                     /* MESSAGE */
            struct message *message; /* owned */
            uint64_t fetched_bytes;  /* of a fetched result; part of fetched_results_bytes until
                                        the driver takes it. 0: the result was inline */
        };
        struct { /* EXECUTOR_ADDED */
            uint32_t slots;
            char name[NAME_BYTES_MAX], host[HOST_BYTES_MAX];
        };
        struct { /* EXECUTOR_LOST, NO_EXECUTORS (only `why`) */
            enum executor_loss_reason loss;
            struct glint_error why;
        };
        char line[1024]; /* NOTE */
    };
};

struct inbox_event *inbox_event_create(enum inbox_event_kind kind,
                                       uint32_t executor); /* NULL: out of memory */
void inbox_event_destroy(struct inbox_event *e);           /* and its message; NULL is allowed */
/* Appends an event and wakes the driver. Takes ownership of `e`. */
void inbox_push(struct cluster_transport *r, struct inbox_event *e);
/* Pushes a message, with the bytes of a fetched result that it contains. Takes ownership of `m`.
 * False: out of memory. */
bool inbox_push_message(struct cluster_transport *r, uint32_t executor, struct message *m,
                        uint64_t fetched_bytes);
/* Pushes a line for the user. Dropped when out of memory. */
void inbox_push_note(struct cluster_transport *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Makes inbox_wait return without an event. */
void inbox_wake_driver(struct cluster_transport *r);
/* Driver's thread: transport->wait. Blocks until an event, a wake or the deadline (env->now_ns),
 * then passes all events to the driver, oldest first. */
void inbox_wait(struct cluster_transport *r, struct driver *driver, uint64_t deadline_ns);

#endif
