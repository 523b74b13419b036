/* Every bound in the system, in one place, with the relations between them.
 *
 * Rank 0. A bound that a user can set has its default here, and its option's name beside it. */
#ifndef GLINT_LIMITS_H
#define GLINT_LIMITS_H

#include <assert.h>
#include <stdint.h>

#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

/* Batches: what flows between operators. */
#define BATCH_ROWS_MAX    1024u
#define BATCH_BYTES_MAX   MIB         /* beyond it a value travels alone, by reference */
#define EMIT_BUFFER_BYTES (256 * KIB) /* a batch's own bytes, when they are not borrowed */
#define READ_SLACK        64u /* bytes readable past any slice: SIMD loads need no tail loop */

/* Text input. */
#define READ_BLOCK_BYTES       (256 * KIB)
#define LINE_BYTES_MAX_DEFAULT (16 * MIB) /* --max-line */
#define SPLIT_BYTES_MIN        MIB
#define SPLIT_BYTES_MAX        (32 * MIB)
#define SPLIT_TARGET_COUNT     32u
#define SPLIT_FILES_MAX        4096u /* small files packed into one split */

/* Shuffle. */
#define PARTITION_INPUT_BYTES   (64 * MIB) /* input per reduce partition */
#define PARTITIONS_DEFAULT_MAX  200u
#define PARTITIONS_MAX          100000u
#define RUN_BLOCK_BYTES         (64 * KIB)
#define MERGE_FAN_IN_MAX        128u
#define KEY_BYTES_MAX           (16 * MIB)
#define VALUE_BYTES_MAX         (4 * GIB - 1) /* msgpack's bin 32 */
#define MAP_OUTPUT_MEMORY_BYTES (8 * MIB)     /* a task's map output beyond it goes to a file */
#define RUN_MEMORY_SHARE        16u           /* of the memory: what all finished runs may take */

/* Running. */
#define STACK_BYTES_MIN       (256 * KIB) /* of the first thread; the others have their own size */
#define SLOTS_MAX             256u
#define TASK_ATTEMPTS_MAX     4u
#define MEMORY_BYTES_DEFAULT  GIB /* --memory */
#define SLOT_MEMORY_BYTES_MIN (16 * MIB)
#define RESULT_BYTES_MAX      (256 * MIB) /* of one action, all partitions together */
#define PLAN_NODES_MAX        4096u
#define ARGS_BYTES_MAX        MIB
#define ACTION_OUTPUTS_MAX    16u /* that an action saves to; a task has a file open in each */
#define OUTPUT_PATH_BYTES_MAX 1024u
#define EXPLAIN_ACTIONS_MAX   100u /* without results: a loop that waits for one would not end */
#define COUNTERS_MAX          256u /* of one task, by name */
#define NAME_BYTES_MAX        128u

/* Between processes. */
#define HELLO_BYTES_MAX            KIB
#define CONTROL_FRAME_BYTES_MAX    (16 * MIB)
#define SMALL_FRAME_BYTES_MAX      (32 * KIB) /* all but HELLO, MESSAGE, GET and DATA */
#define GET_FRAME_BYTES_MAX        (2 * MIB)
#define DATA_FRAME_BYTES_MAX       (8 * MIB)
#define CONN_QUEUE_BYTES_MAX       (64 * MIB) /* control frames that wait to be sent */
#define PENDING_MAX                256u /* not open yet, of each class (net/pending_conns.h) */
#define RESULT_INLINE_BYTES_MAX    (64 * KIB) /* a task's result beyond it is fetched, not sent */
#define BROADCAST_INLINE_BYTES_MAX (16 * KIB) /* a broadcast beyond it is fetched, not sent */
#define BROADCAST_BLOCK_BYTES_MIN  MIB        /* of a broadcast: its size / 64, but no less */
#define BROADCAST_PREFETCH_BYTES_MAX                                                               \
    (4 * MIB) /* of a broadcast that all get as an action begins                                   \
               */
#define BROADCAST_BLOCK_BYTES_MAX (4 * MIB)
#define PEERS_PRECONNECT_MAX      8u /* executors that one connects with before it fetches */
#define FETCH_CHUNK_BYTES_MAX     (256 * KIB)
#define FETCH_WINDOW_BYTES        (48 * MIB) /* of one task, and at most half a slot's memory */
#define EXECUTORS_MAX             65536u     /* in the life of one job */
#define STAGE_ATTEMPTS_MAX        4u         /* consecutive ones that failed to fetch */
#define EXECUTOR_FAILURES_MAX     16u        /* of executors, in one job */
#define AUTH_FAILURES_MAX         3u         /* failed handshakes in a row that end the attempts */
#define CLOSE_MS                  2000u

static_assert(EMIT_BUFFER_BYTES <= BATCH_BYTES_MAX, "an emitter's buffer is one batch");
static_assert(READ_BLOCK_BYTES <= BATCH_BYTES_MAX, "a block of lines is one batch at most");
static_assert(BATCH_BYTES_MAX < UINT32_MAX, "offsets in a batch have 32 bits");
static_assert(MERGE_FAN_IN_MAX * RUN_BLOCK_BYTES * 2 <= SLOT_MEMORY_BYTES_MIN,
              "a full merge fits into the smallest slot");
static_assert(LINE_BYTES_MAX_DEFAULT <= VALUE_BYTES_MAX, "a line is a value");

static_assert(BATCH_ROWS_MAX <= UINT16_MAX + 1u, "row numbers of a batch fit 16 bits");
static_assert(READ_SLACK >= 64, "a vector register may be loaded behind any end");
static_assert(SPLIT_BYTES_MIN <= SPLIT_BYTES_MAX, "there is a split size to choose");
static_assert(PARTITIONS_DEFAULT_MAX <= PARTITIONS_MAX, "the default is within the bound");
static_assert(MAP_OUTPUT_MEMORY_BYTES <= SLOT_MEMORY_BYTES_MIN,
              "a map output in memory fits a slot");
static_assert(ARGS_BYTES_MAX <= UINT32_MAX, "arguments are one msgpack bin");
static_assert(PARTITIONS_MAX * 10 + KIB <= GET_FRAME_BYTES_MAX, "a GET names every map output");
static_assert(FETCH_CHUNK_BYTES_MAX <= DATA_FRAME_BYTES_MAX, "a chunk is one frame");
static_assert(BROADCAST_BLOCK_BYTES_MAX + RUN_BLOCK_BYTES <= DATA_FRAME_BYTES_MAX,
              "a block is one frame");
static_assert(RESULT_INLINE_BYTES_MAX < CONTROL_FRAME_BYTES_MAX, "a small result is one frame");
static_assert(CONTROL_FRAME_BYTES_MAX < CONN_QUEUE_BYTES_MAX, "a frame may wait");
static_assert(RUN_BLOCK_BYTES <= EMIT_BUFFER_BYTES, "a block of a run fills no more than a batch");

#endif
