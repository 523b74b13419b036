/* Messages between driver and executors. Every transport carries the same structs; over the network
 * they are msgpack arrays (message_encode).
 *
 *   driver -> executor
 *     JOB          id: the executor's number, body: options. Once, first.
 *     STAGE        stage, body: the plan
 *     MAP_OUTPUTS  id: shuffle, body: map output locations
 *     BROADCAST    id, body: the value; or size, and no body: fetch it in blocks
 *                  (transfer/broadcast.h)
 *     TASK         stage, task, attempt, partition, body: splits
 *     KILL         stage, task, attempt, id: enum kill_mode. Ends an attempt that is not needed
 *     CANCEL       id: 1 end running tasks and start none, 0 run tasks again
 *     RELEASE      stage: free its data; or id: free a task's result
 *     FREE         task: enum free_kind, id, partition: map tasks. Free what no action needs
 *   executor -> driver
 *     DONE         stage, task, attempt, slot, start_ns, run_ns, counters, body: result, blocks
 *     FAILED       stage, task, attempt, slot, start_ns, run_ns, error, body: fetch_failure, blocks
 *
 * A DONE whose result is over RESULT_INLINE_BYTES_MAX has its `id` and `size`, and the XXH3-64 of
 * the result as body, until the driver's transport has fetched it. The body of a map task's DONE
 * has one byte per reduce partition, the size of its output for it (size_code_encode). FAILED has a
 * body only if its error is FETCH_FAILED. FAILED of ATTEMPT_NONE: the executor got a STAGE with
 * outputs, and cannot write there. */
#ifndef GLINT_TRANSFER_MESSAGE_H
#define GLINT_TRANSFER_MESSAGE_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/net/payload.h"
#include "engine/records/task.h"

struct conn;

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
    MSG_FREE,
    MSG_TYPES_END
};

#define RESULT_CHECKSUM_BYTES 8 /* little-endian */
#define ATTEMPT_NONE          UINT32_MAX

enum kill_mode {
    KILL_ALWAYS,
    KILL_IF_QUEUED, /* only if it has not started */
};

/* What FREE frees. */
enum free_kind {
    FREE_CACHED_BLOCKS, /* of the RDD `id` */
    FREE_MAP_OUTPUTS,   /* of the shuffle `id`, with `partition` map tasks, and their locations */
    FREE_BROADCAST,     /* `id` */
};

/* One message, of any type; unused fields are zero. */
struct message {
    enum message_type type;
    uint32_t stage, task, attempt, partition;
    uint32_t slot; /* DONE, FAILED: that ran it */
    uint64_t id;
    uint64_t size;     /* BROADCAST, DONE: bytes not in the body, fetched separately */
    uint64_t start_ns; /* DONE, FAILED: on the executor's clock; 0 if it has not started */
    uint64_t run_ns;   /* DONE, FAILED: run time */
    struct buffer body;
    bool body_borrowed;        /* the caller keeps the body until the message is destroyed */
    struct buffer counters;    /* DONE: task_counters_encode */
    struct buffer blocks;      /* DONE, FAILED: cached_blocks_encode */
    struct glint_error *error; /* FAILED */
    struct message *outcome;   /* TASK, in an executor: its DONE or FAILED, allocated ahead */
    struct message *next;      /* of a queue */
};

struct message *message_create(enum message_type type); /* NULL when out of memory */
/* Frees it with its body (unless borrowed), counters, error and outcome. NULL is allowed. */
void message_destroy(struct message *m);
/* Sets task->outcome to a FAILED of the same attempt, with memory for its error. False: out of
 * memory. */
bool message_create_outcome(struct message *task);

/* Messages in order of arrival; zeros are an empty queue. */
struct message_queue {
    struct message *first, *last;
};
void message_queue_append(struct message_queue *q, struct message *m); /* takes ownership */
struct message *message_queue_pop(struct message_queue *q);            /* NULL: it is empty */
void message_queue_fini(struct message_queue *q); /* destroys the messages that are left */

/* Writes the encoded message to the empty *out. Returns 0 or NO_MEMORY. */
int message_encode(const struct message *m, struct buffer *out, struct glint_error *error);
/* Encodes the message and sends it with conn_send_encoded. Loop thread only. */
bool message_send(struct conn *c, const struct message *m);
/* Copies and validates everything. Returns NULL with *error set: PROTOCOL or NO_MEMORY. */
struct message *message_decode(struct glint_slice bytes, struct glint_error *error);

/* The body of MAP_OUTPUTS: for each map task the executor that has its output, and the attempt that
 * produced it. encode returns 0 or NO_MEMORY. decode returns 0, PROTOCOL or NO_MEMORY; *out is
 * freed with mem_free. */
struct map_output_location {
    uint32_t executor, attempt;
};
PAYLOAD_LIST_CODEC(map_outputs, struct map_output_location, PARTITIONS_MAX);

/* What changed in an executor's cached blocks: for each its RDD, partition, and bytes in memory and
 * on disk, both 0 if it is gone. As for map outputs. */
struct cached_block_state {
    uint32_t rdd, partition;
    uint64_t memory_bytes, disk_bytes;
};
PAYLOAD_LIST_CODEC(cached_blocks, struct cached_block_state, UINT32_MAX);

/* The body of JOB: the driver's options for every task, except memory and work_dir, which are
 * configured per executor. */
PAYLOAD_CODEC(job_options, struct task_options);

/* The body of FAILED with FETCH_FAILED: the map output that could not be fetched. */
struct fetch_failure {
    uint64_t shuffle;
    uint32_t map, executor, attempt;
    bool unreachable; /* the executor did not respond: its other outputs are unreachable too */
};
PAYLOAD_CODEC(fetch_failure, struct fetch_failure);

/* A size in one byte, rounded down to an eighth of a power of two: precise enough to choose the
 * executor with most of a partition's input. 0 stays 0. */
uint8_t size_code_encode(uint64_t bytes);
uint64_t size_code_decode(uint8_t code);

#endif
