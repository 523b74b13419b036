/* Payloads of block transfer: GET and its responses, and the assignment of broadcast blocks. As in
 * net/wire.h: pure functions, decoders validate everything.
 *
 * All encoders append to *out and return 0 or NO_MEMORY. All decoders return 0, PROTOCOL
 * or NO_MEMORY. */
#ifndef GLINT_TRANSFER_WIRE_FETCH_H
#define GLINT_TRANSFER_WIRE_FETCH_H

#include "engine/base/error.h"
#include "engine/net/payload.h"
#include "engine/records/run.h"

enum get_kind {
    GET_INDEX = 1,       /* a partition's segments in map outputs (map_output_index_encode) */
    GET_MAP_OUTPUT,      /* bytes [offset, offset + size) of a map output */
    GET_BROADCAST_BLOCK, /* block `block` of broadcast `id` (broadcast.h) */
    GET_RESULT,          /* bytes [offset, offset + size) of task result `id` */
    GET_PROGRAM,         /* bytes [offset, offset + size) of the driver's program; id is 0 */
    GET_CACHED_BLOCK,    /* bytes [offset, offset + size) of the block of `partition` of RDD `id` */
    GET_KINDS_END
};
/* GET: which bytes; `kind` says which of the fields are used. */
struct get_request {
    enum get_kind kind;
    uint64_t id; /* of the shuffle, broadcast, task result or RDD */
    uint32_t map, attempt, partition, block;
    uint64_t offset, size; /* INDEX: size is the limit for inlined bytes */
    /* INDEX: pairs of map and attempt. encode borrows it; decode allocates it, and the caller frees
     * it with get_request_fini. */
    uint32_t map_count;
    uint32_t (*maps)[2];
};
void get_request_fini(struct get_request *g);

/* BLOCK_REQUEST: an executor asks which blocks of a broadcast to fetch next. The driver responds
 * with a BLOCK_ASSIGN of at most blocks_max blocks. */
#define BLOCK_REQUEST_MAX 16u
struct block_request {
    uint64_t id;
    uint32_t blocks_max;
    uint32_t received_count; /* received since the last BLOCK_REQUEST; others may fetch them here */
    uint32_t received[BLOCK_REQUEST_MAX];
    uint32_t failed_count; /* assigned, but fetching failed: the driver assigns another source */
    uint32_t failed[BLOCK_REQUEST_MAX];
};
/* BLOCK_ASSIGN: blocks to fetch, and from which executor (or EXECUTOR_ID_DRIVER). */
#define EXECUTOR_ID_DRIVER UINT32_MAX
struct block_assignment {
    uint64_t id;
    uint32_t count; /* 0: nothing to fetch now; the driver sends another one later */
    struct assigned_block {
        uint32_t block, from; /* an executor's number, or EXECUTOR_ID_DRIVER */
        uint64_t checksum;    /* broadcast_block_checksum; not set by the tracker */
    } blocks[BLOCK_REQUEST_MAX];
};

int get_request_encode(const struct get_request *v, struct buffer *out, struct glint_error *error);
int get_request_decode(struct glint_slice bytes, struct get_request *v, struct glint_error *error);
PAYLOAD_CODEC(block_request, struct block_request);
PAYLOAD_CODEC(block_assignment, struct block_assignment);

/* Response to an INDEX request for one map output: the segment of the partition. */
struct index_entry {
    struct run_part part;
    struct glint_slice bytes; /* the segment inlined, borrowed; empty: must be fetched */
    bool lost;                /* there is no such map output; all else is zero */
    bool sorted;              /* struct run_slice.sorted */
};
/* The entry for `partition` of a map output, lost if `run` is NULL or has no such partition.
 * Inlines the bytes if the map output is in memory and they fit into *room, which is reduced by
 * their size. */
struct index_entry index_entry_create(const struct run *run, uint32_t partition, uint64_t *room);
/* The response to an INDEX request: XXH3-64 of the list of segments, the list in the order
 * requested, then the inlined bytes. The frame's checksum does not cover DATA, so the list has its
 * own, and the inlined bytes have those of their blocks. decode fills exactly `count` entries,
 * whose slices point into `bytes`; it returns PROTOCOL for impossible sizes. */
#define INDEX_CHECKSUM_BYTES  8
#define INDEX_HEAD_BYTES_MAX  (INDEX_CHECKSUM_BYTES + 5)
#define INDEX_ENTRY_BYTES_MAX (4 * 9 + 1) /* without the inlined bytes */
static_assert(PARTITIONS_MAX * (uint64_t)INDEX_ENTRY_BYTES_MAX + INDEX_HEAD_BYTES_MAX +
                      FETCH_CHUNK_BYTES_MAX <=
                  DATA_FRAME_BYTES_MAX,
              "the response fits one DATA frame");
int map_output_index_encode(const struct index_entry *entries, uint32_t count, struct buffer *out,
                            struct glint_error *error);
int map_output_index_decode(struct glint_slice bytes, struct index_entry *out, uint32_t count,
                            struct glint_error *error);

/* ---- A request for bytes of another process, and the interface of what sends it: a connection
 * or the connections to all peers (fetch_client.h), or a test. */

/* One request. The fetcher owns it from `submit` until it calls `done`; then the submitter does. */
struct fetch_request {
    uint32_t executor; /* its id, given by the driver, or EXECUTOR_ID_DRIVER */
    uint64_t owner;    /* for `cancel`: the attempt_id of the task; 0: of no task */
    struct get_request get;
    uint8_t *into; /* exactly get.size bytes. INDEX: NULL */
    /* Of INDEX and of a compressed BROADCAST_BLOCK. The submitter frees it. */
    struct buffer response;
    /* Called once, on the loop's thread; must not block. If error.code is OK, the bytes have
     * arrived. */
    void (*done)(struct fetch_request *r);
    void *arg; /* the submitter's */
    struct glint_error error;
    struct fetch_request *next; /* of the list for `submit`; then private to the fetcher */
};

struct fetcher {
    /* `first` is a list linked by next. Never blocks. Any thread, except for a fetch_client. */
    void (*submit)(void *arg, struct fetch_request *first);
    void *arg;
    /* Ends the requests that `owner` has submitted so far: `done` is called soon, with INTERRUPTED
     * if no response has arrived. Later requests are not affected. Any thread; never blocks. NULL:
     * not supported, requests end at their deadline. */
    void (*cancel)(void *arg, uint64_t owner);
};

#endif
