/* What driver and executors say to each other. The same structs go over every transport; over a
 * wire they are msgpack arrays, fields in the order of the table below.
 *
 *   driver -> executor                        executor -> driver
 *   JOB        id: your number, body: options DONE    stage, task, attempt, run_ns, counters,
 *   STAGE      stage, body: the plan                  body: result
 *   MAP_OUTPUTS    id: shuffle, body: map outputs FAILED  stage, task, attempt, run_ns, error,
 *   BROADCAST  id, body: the value, or size           body: fault
 *   TASK       stage, task, attempt, partition, body: splits
 *   KILL       stage, task, attempt: end it, nobody wants it any more; id: enum kill_mode
 *   CANCEL     id: 1 end running tasks, 0 run again
 *   RELEASE     stage, or id: a result
 *
 * JOB comes first, once. A BROADCAST without a body is fetched in blocks
 * (executor/broadcast_client.h). A DONE whose result is over RESULT_INLINE_BYTES_MAX has `id` and
 * `size` for it, and its XXH3-64 as the body, until the driver's transport has fetched it. The body
 * of a map task's DONE is one byte per reduce partition, how much there is for it
 * (size_code_encode); that of a FAILED of FETCH_FAILED is the fault.
 */
#ifndef GLINT_NET_MESSAGE_H
#define GLINT_NET_MESSAGE_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/data/task.h"

enum message_type {
    MSG_JOB = 1,
    MSG_STAGE,
    MSG_MAP_OUTPUTS,
    MSG_BROADCAST,
    MSG_TASK,
    MSG_KILL,
    MSG_CANCEL,
    MSG_RELEASE,
    MSG_DONE,
    MSG_FAILED,
    MSG_TYPES_END
};

#define RESULT_CHECKSUM_BYTES 8 /* little-endian */

enum kill_mode {
    KILL_ALWAYS,
    KILL_IF_QUEUED, /* only if it has not begun */
};

struct message {
    enum message_type type;
    uint32_t stage, task, attempt, partition;
    uint64_t id;
    uint64_t size;   /* BROADCAST, DONE: of what is not in the body */
    uint64_t run_ns; /* DONE, FAILED: how long it ran */
    struct buffer body;
    bool body_borrowed;        /* the body outlives the message and belongs to somebody else */
    struct buffer counters;    /* DONE: msgpack, see task_counters_encode */
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

/* The body of MAP_OUTPUTS: per map task who has its output, and the attempt that made it. encode: 0
 * or NO_MEMORY. decode: 0, PROTOCOL, NO_MEMORY; what it answers is freed with mem_free. */
struct map_output_location {
    uint32_t executor, attempt;
};
int map_outputs_encode(const struct map_output_location *locations, uint32_t count,
                       struct buffer *out, struct glint_error *error);
int map_outputs_decode(struct glint_slice bytes, struct map_output_location **out,
                       uint32_t *out_count, struct glint_error *error);

/* The body of JOB: what the driver's options say about every task (not its memory and work_dir,
 * which are the executor's own). */
int job_options_encode(const struct task_options *options, struct buffer *out,
                       struct glint_error *error);
int job_options_decode(struct glint_slice bytes, struct task_options *options,
                       struct glint_error *error);

/* The body of FAILED with FETCH_FAILED: the map output that could not be had. */
struct fetch_failure {
    uint64_t shuffle;
    uint32_t map, executor, attempt;
    bool unreachable; /* the executor did not answer: its other outputs cannot be had either */
};
int fetch_failure_encode(const struct fetch_failure *f, struct buffer *out,
                         struct glint_error *error);
int fetch_failure_decode(struct glint_slice bytes, struct fetch_failure *f,
                         struct glint_error *error);

/* Sizes in one byte, rounded down to eighths of a power of two; 0 is 0. */
uint8_t size_code_encode(uint64_t bytes);
uint64_t size_code_decode(uint8_t code);

#endif
