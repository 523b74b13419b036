/* Payloads of the frames that are not messages: small msgpack arrays, encoded and decoded side by
 * side. Pure; everything from outside is checked, ids are numbers, never paths.
 *
 * All encoders append to *out and answer 0 or NO_MEMORY; all decoders 0, PROTOCOL or NO_MEMORY. */
#ifndef GLINT_NET_WIRE_H
#define GLINT_NET_WIRE_H

#include "engine/data/run.h"
#include "engine/net/hello.h"

#define HOST_BYTES_MAX 256u

/* PING, on the control channel, both ways. Answered by nothing: both sides send their own. */
struct ping {
    uint64_t sent_ns;       /* the sender's monotonic clock */
    uint64_t memory_bytes;  /* resident, of an executor */
    uint32_t tasks_running; /* of an executor */
};

/* REGISTER: the executor's first frame on the control channel. */
struct executor_registration {
    uint16_t port; /* where its peers reach it; the host is the one the driver knows, or saw */
    uint32_t slots;
    uint64_t memory_bytes; /* of the whole process */
};

struct executor_address {
    uint32_t executor; /* the driver's number for it; never used twice in a job */
    char node[NAME_BYTES_MAX];
    char host[HOST_BYTES_MAX];
    uint16_t port;
    uint8_t incarnation[INCARNATION_BYTES];
};

/* One of the two is missing in a CANCEL: job 0, or no name. */
struct job_identity {
    uint64_t job;
    char name[NAME_BYTES_MAX]; /* of the job, for status and cancel */
};

/* CANCELLED: the jobs that were told to end; none: there is no such job. */
#define STATUS_JOBS_MAX 64u
struct cancelled_jobs {
    uint32_t job_count;
    struct job_identity jobs[STATUS_JOBS_MAX];
};

/* PROGRESS: how far a driver's job is, counted as in its summary. */
struct job_progress {
    uint32_t stages, tasks, retries;         /* of the job so far */
    char stage_name[NAME_BYTES_MAX];         /* of a stage that runs; "": there was none yet */
    uint32_t stage, stage_tasks, stage_done; /* its number, all its tasks, those that are done */
};

struct executor_started {
    uint16_t port;
    uint8_t incarnation[INCARNATION_BYTES];
};

struct executor_exited {
    int32_t wait_status; /* as waitpid gives it */
    bool out_of_memory;  /* the cgroup counted an OOM kill meanwhile */
    char log[1024];      /* path on that node; "" */
    char crash[512];     /* what the process said of its crash, cut; "" */
};

/* STATUS_REPLY: one per daemon. */
struct status_job {
    uint64_t job;
    char name[NAME_BYTES_MAX];
    struct job_progress progress; /* as its driver said last */
    bool running;                 /* else it waits */
    uint32_t tasks_running;       /* here */
    uint64_t age_ns;              /* since it was admitted */
    uint64_t heartbeat_age_ns;    /* since the last sign of life of its driver */
    uint64_t memory_bytes;        /* resident, of its executor */
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
    GET_INDEX = 1,       /* where one partition lies in map outputs; small ones come along: DATA is
                          * map_output_index_encode's */
    GET_MAP_OUTPUT,      /* bytes [offset, offset + size) of a map output */
    GET_BROADCAST_BLOCK, /* block `block` of broadcast `id` (broadcast_block.h) */
    GET_RESULT,          /* bytes [offset, offset + size) of a task's result, `id` */
    GET_KINDS_END
};
struct get_request {
    enum get_kind kind;
    uint64_t id; /* of the shuffle, broadcast or result */
    uint32_t map, attempt, partition, block;
    uint64_t offset, size; /* INDEX: how many bytes of small ones may come along */
    /* INDEX: pairs of map and attempt, borrowed by encode; of decode mem_alloc'ed, freed by
     * get_request_fini. */
    uint32_t map_count;
    uint32_t (*maps)[2];
};
void get_request_fini(struct get_request *g);

/* BLOCK_REQUEST: which blocks next? BLOCK_ASSIGN answers with at most `want` of them. */
#define BLOCK_REQUEST_MAX 16u
struct block_request {
    uint64_t id;
    uint32_t blocks_max;
    uint32_t have_count; /* arrived since the last BLOCK_REQUEST */
    uint32_t have[BLOCK_REQUEST_MAX];
    uint32_t failed_count; /* asked for, and not got: the driver names others */
    uint32_t failed[BLOCK_REQUEST_MAX];
};
#define EXECUTOR_ID_DRIVER UINT32_MAX
struct block_assignment {
    uint64_t id;
    uint32_t count; /* 0: nothing to fetch now; BLOCK_ASSIGN comes again when there is */
    struct assigned_block {
        uint32_t block, from; /* an executor's number, or EXECUTOR_ID_DRIVER */
        uint64_t checksum;    /* broadcast_block_checksum; the tracker leaves it to who sends */
    } blocks[BLOCK_REQUEST_MAX];
};

#define WIRE_CODEC(name)                                                                           \
    int name##_encode(const struct name *v, struct buffer *out, struct glint_error *error);        \
    int name##_decode(struct glint_slice bytes, struct name *v, struct glint_error *error)
WIRE_CODEC(ping);
WIRE_CODEC(executor_registration);
WIRE_CODEC(executor_address);
WIRE_CODEC(job_identity); /* CANCEL too: job 0 and a name, or the other way round */
WIRE_CODEC(cancelled_jobs);
WIRE_CODEC(job_progress);
WIRE_CODEC(executor_started);
WIRE_CODEC(executor_exited);
WIRE_CODEC(daemon_status);
WIRE_CODEC(get_request);
WIRE_CODEC(block_request);
WIRE_CODEC(block_assignment);
#undef WIRE_CODEC

/* FETCH_ERROR: an error. */
int fetch_error_encode(const struct glint_error *why, struct buffer *out,
                       struct glint_error *error);
int fetch_error_decode(struct glint_slice bytes, struct glint_error *why,
                       struct glint_error *error);

/* One partition's part of a map output, as INDEX is answered. */
struct index_entry {
    struct run_part part;
    struct glint_slice bytes; /* all of them, borrowed; none: they did not come along */
};
/* Its bytes are there if they lie in memory and fit into *room, which they are taken from. */
struct index_entry index_entry_create(const struct run *run, uint32_t partition, uint64_t *room);
/* In the order asked for, behind the XXH3-64 of all but the parts' bytes, which have their own: no
 * frame covers DATA. decode fills exactly `count`, its slices lie in `bytes`; sums that cannot be
 * are PROTOCOL. */
#define INDEX_CHECKSUM_BYTES  8
#define INDEX_HEAD_BYTES_MAX  (INDEX_CHECKSUM_BYTES + 5)
#define INDEX_ENTRY_BYTES_MAX (4 * 9 + 1) /* without the part's bytes */
static_assert(PARTITIONS_MAX * (uint64_t)INDEX_ENTRY_BYTES_MAX + INDEX_HEAD_BYTES_MAX +
                      FETCH_CHUNK_BYTES_MAX <=
                  DATA_FRAME_BYTES_MAX,
              "one DATA answers such a GET");
int map_output_index_encode(const struct index_entry *parts, uint32_t count, struct buffer *out,
                            struct glint_error *error);
int map_output_index_decode(struct glint_slice bytes, struct index_entry *out, uint32_t count,
                            struct glint_error *error);

#endif
