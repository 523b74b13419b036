/* Payloads of the frames that are not messages: small msgpack arrays. Pure functions. Decoders
 * validate everything, since input may be malicious; ids are numbers, never paths.
 *
 * All encoders append to *out and return 0 or NO_MEMORY. All decoders return 0, PROTOCOL
 * or NO_MEMORY. */
#ifndef GLINT_NET_WIRE_H
#define GLINT_NET_WIRE_H

#include "engine/data/run.h"
#include "engine/net/hello.h"

#define HOST_BYTES_MAX 256u

/* PING, a heartbeat on the control channel. Both sides send it; there is no response. */
struct ping {
    uint64_t sent_ns;       /* monotonic clock of the sender */
    uint64_t memory_bytes;  /* of an executor: resident memory */
    uint32_t tasks_running; /* of an executor */
};

/* REGISTER: the executor's first frame on the control channel. */
struct executor_registration {
    uint16_t port; /* for connections of other executors; the host is known to the driver */
    uint32_t slots;
    uint64_t memory_bytes; /* of the process */
};

/* EXECUTOR_ADDED: where to connect to an executor. */
struct executor_address {
    uint32_t executor; /* number in the job, never reused */
    char node[NAME_BYTES_MAX];
    char host[HOST_BYTES_MAX];
    uint16_t port;
    uint8_t incarnation[INCARNATION_BYTES];
};

/* A job, in REQUEST_EXECUTOR and CANCEL. CANCEL has only one of the two: job 0, or an
 * empty name. */
struct job_identity {
    uint64_t job;
    char name[NAME_BYTES_MAX]; /* of the job, for `status` and `cancel` */
};

/* CANCELLED: the jobs that are being cancelled; none: no such job. */
#define STATUS_JOBS_MAX 64u
struct cancelled_jobs {
    uint32_t job_count;
    struct job_identity jobs[STATUS_JOBS_MAX];
};

/* PROGRESS: progress of a driver's job, counted as in its summary. */
struct job_progress {
    uint32_t stages, tasks, retries;         /* of the job, up to now */
    char stage_name[NAME_BYTES_MAX];         /* of a running stage; "": none has started */
    uint32_t stage, stage_tasks, stage_done; /* of that stage: number, tasks, finished tasks */
};

/* EXECUTOR_STARTED: where the driver connects to its executor. */
struct executor_started {
    uint16_t port;
    uint8_t incarnation[INCARNATION_BYTES];
};

/* EXECUTOR_EXITED: how an executor process ended. */
struct executor_exited {
    int32_t wait_status; /* as from waitpid */
    bool out_of_memory;  /* the cgroup counted an OOM kill while it ran */
    char log[1024];      /* path of its log on that node; "": none */
    char crash[512];     /* its crash report, truncated; "": none */
};

/* STATUS_REPLY: a daemon, and its running and queued jobs. */
struct status_job {
    uint64_t job;
    char name[NAME_BYTES_MAX];
    struct job_progress progress; /* last one from its driver */
    bool running;                 /* else it is queued */
    uint32_t tasks_running;       /* here */
    uint64_t age_ns;              /* since its driver requested an executor */
    uint64_t heartbeat_age_ns;    /* since the last heartbeat of its driver */
    uint64_t memory_bytes;        /* of its executor: resident memory */
};
struct daemon_status {
    char node[NAME_BYTES_MAX], build[NAME_BYTES_MAX];
    uint32_t slots, drivers_max;
    uint64_t memory_bytes, uptime_ns;
    bool draining;
    uint32_t job_count;
    struct status_job jobs[STATUS_JOBS_MAX];
};

enum get_kind {
    GET_INDEX = 1,       /* a partition's segments in map outputs (map_output_index_encode) */
    GET_MAP_OUTPUT,      /* bytes [offset, offset + size) of a map output */
    GET_BROADCAST_BLOCK, /* block `block` of broadcast `id` (broadcast_block.h) */
    GET_RESULT,          /* bytes [offset, offset + size) of task result `id` */
    GET_KINDS_END
};
/* GET: which bytes; `kind` says which of the fields are used. */
struct get_request {
    enum get_kind kind;
    uint64_t id; /* of the shuffle, broadcast or task result */
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

#define WIRE_CODEC(name)                                                                           \
    int name##_encode(const struct name *v, struct buffer *out, struct glint_error *error);        \
    int name##_decode(struct glint_slice bytes, struct name *v, struct glint_error *error)
WIRE_CODEC(ping);
WIRE_CODEC(executor_registration);
WIRE_CODEC(executor_address);
WIRE_CODEC(job_identity); /* REQUEST_EXECUTOR, CANCEL */
WIRE_CODEC(cancelled_jobs);
WIRE_CODEC(job_progress);
WIRE_CODEC(executor_started);
WIRE_CODEC(executor_exited);
WIRE_CODEC(daemon_status);
WIRE_CODEC(get_request);
WIRE_CODEC(block_request);
WIRE_CODEC(block_assignment);
#undef WIRE_CODEC

/* FETCH_ERROR: why a GET failed. */
int fetch_error_encode(const struct glint_error *why, struct buffer *out,
                       struct glint_error *error);
int fetch_error_decode(struct glint_slice bytes, struct glint_error *why,
                       struct glint_error *error);

/* Response to an INDEX request for one map output: the segment of the partition. */
struct index_entry {
    struct run_part part;
    struct glint_slice bytes; /* the segment inlined, borrowed; empty: must be fetched */
};
/* The entry for `partition` of a map output. Inlines the bytes if the map output is in memory and
 * they fit into *room, which is reduced by their size. */
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

#endif
