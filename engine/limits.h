/* All limits, in one place, with the relations between them as static assertions.
 *
 * Rank 0. A limit that an option can change has its default here, next to the option's name. */
#ifndef GLINT_LIMITS_H
#define GLINT_LIMITS_H

#include <assert.h>
#include <stdint.h>

#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

/* Batches: what flows between operators. */
#define BATCH_ROWS_MAX    1024u
#define BATCH_BYTES_MAX   MIB         /* a larger value gets a batch of one row, by reference */
#define EMIT_BUFFER_BYTES (256 * KIB) /* bytes copied into a batch, as opposed to borrowed */
#define EMIT_COPY_BYTES_MAX (64 * KIB) /* a larger key or value is pushed by reference */
#define READ_SLACK        64u /* readable past any slice, so that SIMD loads need no tail loop */

/* Reading input files. */
#define READ_BLOCK_BYTES       (256 * KIB)
#define READ_TAIL_BYTES        (4 * KIB)   /* read after a piece, for the end of its last line */
#define DECOMPRESS_MEMORY_MAX  (128 * MIB) /* what a decompressor may need, per file being read */
#define LINE_BYTES_MAX_DEFAULT (16 * MIB)  /* --max-line */
#define SPLIT_BYTES_MIN        MIB
#define SPLIT_BYTES_MAX        (32 * MIB)
#define SPLIT_TARGET_COUNT     32u
#define SPLIT_FILES_MAX        4096u /* small files packed into one split */
#define SPLIT_OBJECTS_MAX      256u  /* the same of a server: each takes its time to answer */

#define BINARY_RECORD_BYTES_MAX MIB /* binaryRecords */

/* Reading URLs. */
#define REMOTE_BUFFER_BYTES        (256 * KIB) /* received and not read yet, per transfer */
#define REMOTE_RECEIVE_BYTES       (64 * KIB)  /* at once */
#define REMOTE_SMALL_BYTES_MAX     (256 * KIB) /* objects that are asked for as a whole, ahead */
#define REMOTE_GAP_BYTES_MAX       (256 * KIB) /* skipped by reading, not by a new request */
#define REMOTE_TIMEOUT_S           30u         /* to connect, and between bytes */
#define REMOTE_TIMEOUT_S_MAX       3600u
#define REMOTE_TIMEOUTS_TO_GIVE_UP 4u /* without a byte, over all attempts */
#define REMOTE_FIRST_TIMEOUT_SHARE 3u /* the first request is retried for 1/3 of the timeout */
#define REMOTE_BYTES_PER_SECOND_MIN KIB /* less is as if nothing came for a part of the time */
#define REMOTE_GARBLED_MAX         3u /* responses without sense, one after the other */
#define REMOTE_BACKOFF_MS_MIN      UINT64_C(100)
#define REMOTE_BACKOFF_MS_MAX      UINT64_C(10000)
#define REMOTE_RETRY_AFTER_S_MAX   86400 /* that a server may ask for: longer than any retry */
#define REMOTE_STATUS_BYTES_MAX    (64 * KIB) /* of one file; an entry of a list of files */
#define REMOTE_PAGE_BYTES_MAX      (8 * MIB)  /* a list of 1,000 objects */
#define REMOTE_LIST_BYTES_MAX      (64 * MIB) /* a list of all files of a directory */
#define REMOTE_NAMES_MAX           UINT64_C(4000000)
#define REMOTE_REDIRECTS_MAX       5u
#define REMOTE_IDLE_SESSIONS_MAX   16u
#define REMOTE_CONTINUE_MS         100u /* before a body is sent without 100 Continue */
#define COMMIT_RECORD_BYTES_MAX    (256 * MIB)
#define S3_PARTS_MAX               10000u    /* of an upload */
#define S3_PART_BYTES_MIN          (5 * MIB) /* of all but the last one */
#define REMOTE_AHEAD_MAX           40u /* requests of a process whose responses are not read yet */

/* Shuffle. */
#define PARTITION_INPUT_BYTES   (16 * MIB) /* input bytes per reduce partition */
#define PARTITIONS_DEFAULT_MAX  200u
#define PARTITIONS_MAX          100000u
#define RUN_BLOCK_BYTES         (64 * KIB)
#define MERGE_FAN_IN_MAX        128u
#define MERGE_RECORD_BYTES      512u /* on average: larger records are merged, not collected */
#define KEY_BYTES_MAX           (16 * MIB)
#define VALUE_BYTES_MAX         (4 * GIB - 1) /* the largest msgpack bin 32 */
#define MAP_OUTPUT_MEMORY_BYTES (8 * MIB)     /* a larger map output of a task goes to a file */
#define RUN_MEMORY_SHARE        16u           /* finished runs may take 1/16 of the memory */
#define KEPT_MEMORY_PERCENT     33u           /* large blocks: in use, or freed and kept */
#define CACHED_MEMORY_SHARE     4u            /* cached blocks may take 1/4 of the memory */

/* Execution. */
#define STACK_BYTES_MIN       (256 * KIB) /* of the main thread; other threads: base/thread.c */
#define SLOTS_MAX             256u
#define TASK_ATTEMPTS_MAX     4u
#define MEMORY_BYTES_DEFAULT  GIB /* --memory */
#define SLOT_MEMORY_BYTES_MIN (16 * MIB)
#define RESULT_BYTES_MAX      (256 * MIB) /* of one action, all partitions together */
#define PLAN_NODES_MAX        16384u
#define LINEAGE_STAGES_MAX    64u /* in one process; longer ones are cut (rdd_cut_lineage) */
#define STAGES_KEPT_MAX       1024u /* of which a summary has times: the last ones */
#define ARGS_BYTES_MAX        MIB
#define STRUCT_BYTES_MAX      (MIB - 1) /* GLINT_STRUCT */
#define HISTOGRAM_BUCKETS_MAX 65536u
#define ACTION_OUTPUTS_MAX    16u /* directories per action; a task has a file open in each */
#define OUTPUT_PATH_BYTES_MAX 1024u
#define EXPLAIN_ACTIONS_MAX   100u /* empty results per job, to end a loop that waits for one */
#define COUNTERS_MAX          256u /* named counters per task */
#define ACCUMULATORS_MAX      64u  /* glint_accumulator, per task */
#define ACCUMULATOR_BYTES_MAX 65536u /* of all accumulators of a task */
#define NAME_BYTES_MAX        128u

/* Between processes. */
#define HELLO_BYTES_MAX            KIB
#define CONTROL_FRAME_BYTES_MAX    (16 * MIB)
#define SMALL_FRAME_BYTES_MAX      (32 * KIB) /* all frames except HELLO, MESSAGE, GET and DATA */
#define GET_FRAME_BYTES_MAX        (2 * MIB)
#define DATA_FRAME_BYTES_MAX       (8 * MIB)
#define CONN_QUEUE_BYTES_MAX       (64 * MIB) /* queued control frames of one connection */
#define PENDING_MAX                256u /* connections in handshake, per class (net/listener.c) */
#define RESULT_INLINE_BYTES_MAX    (64 * KIB) /* a larger task result is fetched, not pushed */
#define BROADCAST_INLINE_BYTES_MAX (16 * KIB) /* a larger broadcast is fetched, not pushed */
/* A block is 1/64 of the broadcast, but at least this. */
#define BROADCAST_BLOCK_BYTES_MIN MIB
#define BROADCAST_PREFETCH_BYTES_MAX                                                               \
    (4 * MIB) /* all executors get up to this at an action start                                   \
               */
#define BROADCAST_BLOCK_BYTES_MAX (4 * MIB)
#define PEERS_PRECONNECT_MAX      8u /* peers to which an executor connects before it fetches */
#define FETCH_CHUNK_BYTES_MAX     (256 * KIB)
#define FETCH_WINDOW_BYTES        (48 * MIB) /* per task, and at most half a slot's memory */
#define EXECUTORS_MAX             65536u     /* over the whole job */
#define STAGE_ATTEMPTS_MAX        4u         /* consecutive attempts that failed to fetch */
#define EXECUTOR_FAILURES_MAX     16u        /* over the whole job */
#define AUTH_FAILURES_MAX         3u         /* consecutive failed handshakes before giving up */
#define CLOSE_MS                  2000u

static_assert(EMIT_BUFFER_BYTES <= BATCH_BYTES_MAX, "an emitter's buffer fits one batch");
static_assert(READ_BLOCK_BYTES <= BATCH_BYTES_MAX, "a block of lines fits one batch");
static_assert(REMOTE_RECEIVE_BYTES <= REMOTE_BUFFER_BYTES, "what is received fits the buffer");
static_assert(REMOTE_SMALL_BYTES_MAX <= REMOTE_BUFFER_BYTES, "a small object fits the buffer");
static_assert(BATCH_BYTES_MAX < UINT32_MAX, "offsets in a batch have 32 bits");
static_assert(MERGE_FAN_IN_MAX * RUN_BLOCK_BYTES * 2 <= SLOT_MEMORY_BYTES_MIN,
              "a full merge fits into the smallest slot");
static_assert(LINEAGE_STAGES_MAX < PLAN_NODES_MAX, "lineages are cut before they are too long");
static_assert(LINE_BYTES_MAX_DEFAULT <= VALUE_BYTES_MAX, "a line fits a value");

static_assert(BATCH_ROWS_MAX <= UINT16_MAX + 1u, "row numbers of a batch fit in 16 bits");
static_assert(READ_SLACK >= 64, "a vector load may start at the last byte");
static_assert(SPLIT_BYTES_MIN <= SPLIT_BYTES_MAX, "the range of split sizes is not empty");
static_assert(PARTITIONS_DEFAULT_MAX <= PARTITIONS_MAX, "the default is within the limit");
static_assert(MAP_OUTPUT_MEMORY_BYTES <= SLOT_MEMORY_BYTES_MIN,
              "a map output in memory fits into a slot");
static_assert(ARGS_BYTES_MAX <= UINT32_MAX, "arguments fit one msgpack bin");
static_assert(BINARY_RECORD_BYTES_MAX <= BATCH_BYTES_MAX, "a binary record fits a batch");
static_assert(PARTITIONS_MAX * 10 + KIB <= GET_FRAME_BYTES_MAX,
              "one GET can name every map output");
static_assert(FETCH_CHUNK_BYTES_MAX <= DATA_FRAME_BYTES_MAX, "a chunk fits one frame");
static_assert(BROADCAST_BLOCK_BYTES_MAX + RUN_BLOCK_BYTES <= DATA_FRAME_BYTES_MAX,
              "a block fits one frame");
static_assert(RESULT_INLINE_BYTES_MAX < CONTROL_FRAME_BYTES_MAX, "an inline result fits one frame");
static_assert(CONTROL_FRAME_BYTES_MAX < CONN_QUEUE_BYTES_MAX,
              "the send queue has room for one frame");
static_assert(RUN_BLOCK_BYTES <= EMIT_BUFFER_BYTES, "a block of a run fits one batch");
static_assert(EMIT_COPY_BYTES_MAX <= EMIT_BUFFER_BYTES, "an emitter's buffer fits one value");

#endif
