/* What driver and executors say to each other. The same structs go over every transport; over a
 * wire they are msgpack arrays, fields in the order of the table below.
 *
 *   driver -> executor                        executor -> driver
 *   STAGE      stage, body: the plan          DONE    stage, task, attempt, counters, body: result
 *   OUTPUTS    shuffle, body: map outputs     FAILED  stage, task, attempt, error
 *   BROADCAST  id, body: the value
 *   TASK       stage, task, attempt, partition, body: splits
 *   CANCEL     id: 1 end running tasks, 0 run again
 *   FORGET     stage
 */
#ifndef GLINT_NET_MESSAGE_H
#define GLINT_NET_MESSAGE_H

#include "engine/base/error.h"
#include "engine/base/mem.h"

enum message_type {
    MSG_STAGE = 1,
    MSG_OUTPUTS,
    MSG_BROADCAST,
    MSG_TASK,
    MSG_CANCEL,
    MSG_FORGET,
    MSG_DONE,
    MSG_FAILED,
    MSG_TYPES_END
};

struct message {
    enum message_type type;
    uint32_t stage, task, attempt, partition;
    uint64_t id; /* BROADCAST: of the value; OUTPUTS: of the shuffle */
    struct buffer body;
    bool body_borrowed;        /* the body outlives the message and belongs to somebody else */
    struct buffer counters;    /* DONE: msgpack, see counters_encode */
    struct glint_error *error; /* FAILED */
    struct message *outcome;   /* an executor's: the answer to a TASK, made ahead */
    struct message *next;      /* in a queue */
};

struct message *message_create(enum message_type type); /* NULL without memory */
void message_destroy(struct message *m);
/* 0, or NO_MEMORY, PROTOCOL. */
int message_encode(const struct message *m, struct buffer *out, struct glint_error *error);
/* Everything is copied and checked; NULL: error set. */
struct message *message_decode(struct glint_slice bytes, struct glint_error *error);

/* The body of OUTPUTS: per map task the attempt that counts. 0, or NO_MEMORY, PROTOCOL. What decode
 * answers is freed with mem_free. */
int outputs_encode(const uint32_t *attempts, uint32_t count, struct buffer *out,
                   struct glint_error *error);
int outputs_decode(struct glint_slice bytes, uint32_t **out_attempts, uint32_t *out_count,
                   struct glint_error *error);

#endif
