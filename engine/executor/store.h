/* What an executor keeps between tasks: stages, broadcasts that arrived inline, the map outputs it
 * produced and the locations of all, and results that are too large for a message.
 *
 * One lock, held only for a lookup. Tasks hold a reference on the stage they run and on the
 * broadcasts they use, because the driver frees them without waiting for attempts that lost or do
 * not end. Readers and senders hold a reference on a map output or a result. A value is constant;
 * it is freed once it was removed and the last reference is released. Any thread, except that
 * stages and broadcasts are added and removed only by the owner's thread. */
#ifndef GLINT_EXECUTOR_STORE_H
#define GLINT_EXECUTOR_STORE_H

#include "engine/batch.h"
#include "engine/plan/stage_plan.h"
#include "engine/records/emitter.h"
#include "engine/records/run.h"
#include "engine/transfer/broadcast.h"
#include "engine/transfer/fetch.h"
#include "engine/transfer/fetch_server.h"
#include "engine/transfer/message.h"

struct store;

enum stored_kind {
    STORED_STAGE,
    STORED_BROADCAST,
    STORED_RESULT,
    STORED_MAP_OUTPUT,
    STORED_LOCATIONS /* of a shuffle's map outputs */
};

struct store *store_create(void); /* NULL: out of memory */
/* The caller ensures that all references are released. */
void store_destroy(struct store *s);
/* Ends the use of what a function below has returned as a reference. */
void store_release(struct store *s, const void *ref);
/* Removes a stage, broadcast or result; does nothing if there is none. */
void store_remove(struct store *s, enum stored_kind kind, uint64_t id);

/* Takes ownership of the message: STAGE, MAP_OUTPUTS or BROADCAST. MAP_OUTPUTS replaces the
 * locations of the same shuffle and removes map outputs of older attempts than those named. Returns
 * 0, or a code with *error set (of stage_plan_decode or map_outputs_decode, NO_MEMORY). The error
 * of a STAGE's plan is also kept for store_acquire_stage, until the stage is removed. */
int store_add_message(struct store *s, struct message *m, const struct context_config *registry,
                      struct glint_error *error);

/* Owner's thread: returns the stage, valid until it is removed; NULL: not found, or its plan
 * cannot be decoded. */
const struct stage_plan *store_find_stage(struct store *s, uint32_t stage);
/* Any thread: returns a reference; NULL with *error set: the error of its plan, or PROTOCOL if it
 * is not found. */
const struct stage_plan *store_acquire_stage(struct store *s, uint32_t stage,
                                             struct glint_error *error);
/* Whether the stage that a task runs was removed: what the task makes is not used. */
bool store_stage_is_removed(struct store *s, const struct stage_plan *plan);

/* Of a broadcast or a result: returns a reference, with *out valid until its release; NULL: not
 * found. */
void *store_acquire_bytes(struct store *s, enum stored_kind kind, uint64_t id,
                          struct glint_slice *out);
/* Takes ownership of *bytes. Returns the result's id, or 0 when out of memory, with *bytes
 * unchanged. */
uint64_t store_add_result(struct store *s, struct buffer *bytes);

/* Takes ownership of *run, the output of map task `map`. Returns 0, or NO_MEMORY, and *run stays
 * the caller's. */
int store_add_map_output(struct store *s, uint64_t shuffle, uint32_t map, uint32_t attempt,
                         struct run *run);
/* Returns a reference; NULL: not found. */
const struct run *store_acquire_map_output(struct store *s, uint64_t shuffle, uint32_t map,
                                           uint32_t attempt);
/* Removes the map output of a superseded attempt; does nothing if there is none. Owner's thread. */
void store_remove_attempt_output(struct store *s, uint32_t stage, uint32_t task, uint32_t attempt);

/* Removes all outputs of a shuffle with `maps` map tasks, and the locations of its outputs. */
void store_remove_shuffle(struct store *s, uint64_t shuffle, uint32_t maps);

/* Copies the locations of a shuffle's map outputs, of the last MAP_OUTPUTS, to an array in `arena`,
 * in map order. `local` is a reference to an output of executor `self`, until store_release_inputs,
 * or NULL if it is not in this store. Returns 0, or PROTOCOL or NO_MEMORY with *error set. */
int store_acquire_inputs(struct store *s, uint64_t shuffle, uint32_t self, struct arena *arena,
                         struct fetch_input **out, uint32_t *out_count, struct glint_error *error);
void store_release_inputs(struct store *s, const struct fetch_input *inputs, uint32_t count);

/* Whether a map output or a result is left that the driver or another executor may fetch. */
bool store_has_fetchable_data(struct store *s);

struct block_store;

/* Serves what is in the store (transfer/fetch_server.h): map outputs and their indexes, results of
 * tasks; and, if they are not NULL, cached blocks and blocks of broadcasts. All are borrowed until
 * the server is destroyed. Loop thread. Returns NULL when out of memory. */
struct fetch_server *store_create_fetch_server(uv_loop_t *loop, struct store *store,
                                               struct block_store *blocks,
                                               struct broadcast_client *broadcasts);

/* ---- Cached blocks: the records of partitions of persisted RDDs (glint_persist), kept between
 * tasks beside the map outputs.
 *
 * Blocks in memory share a budget, a part of the executor's memory. When a new one does not fit,
 * the least recently used blocks of other RDDs are evicted: dropped, or written to a file in the
 * work directory if their RDD is persisted with GLINT_DISK. Blocks of the same RDD stay: a scan of
 * an RDD that is larger than the budget would otherwise evict each block before it is read again.
 * What is not in the store is computed again. A block is constant; readers hold a reference, and it
 * is freed when it was removed and the last reference is released. Any thread; one lock, held once
 * per block and per MiB, never during I/O. Other executors may read the blocks (remote_block.c). */

struct cached_block;
struct block_writer;

/* The files of blocks are in `work_dir`, which is borrowed. NULL: out of memory. */
struct block_store *block_store_create(struct env *env, const char *work_dir, uint64_t memory_max);
/* The caller ensures that all references and writers are released. NULL is allowed. */
void block_store_destroy(struct block_store *s);
/* Removes all blocks of an RDD. */
void block_store_remove_rdd(struct block_store *s, uint32_t rdd);
/* Bytes of all blocks in memory, also of those that are being written. */
uint64_t block_store_memory_bytes(struct block_store *s);

/* What changed since the last call, for the driver: for each block its RDD, partition, bytes in
 * memory and bytes on disk, both 0 if it is gone. Returns how many; the caller frees *out with
 * mem_free. */
uint32_t block_store_take_changes(struct block_store *s, struct cached_block_state **out);

/* Returns a reference and makes the block the most recently used one; NULL: not found. */
struct cached_block *block_store_acquire(struct block_store *s, uint32_t rdd, uint32_t partition);
void block_store_release(struct block_store *s, struct cached_block *b);

/* Gets the batches of a block, of these columns. */
struct block_reader {
    struct glint_schema schema;
    enum flow (*push)(void *arg, const struct glint_batch *batch);
    void *arg;
};

/* Calls `push` with each batch of the block until it returns other than FLOW_MORE. Returns the
 * last flow; FLOW_FAIL with the task's error set if the block's file cannot be read, which also
 * removes the block, so that the next attempt computes it again. */
enum flow cached_block_read(struct block_store *s, struct cached_block *b, struct glint_task *task,
                            const struct block_reader *to);

/* A block of another executor. */
struct remote_block {
    const struct fetcher *fetcher;
    uint32_t executor, rdd, partition;
    uint64_t bytes;
};

/* As cached_block_read. If the block is gone or damaged, the error is SPILL_IO. */
enum flow remote_block_read(const struct remote_block *b, struct glint_task *task,
                            const struct block_reader *to);
/* Serves GET_CACHED_BLOCK. */
struct fetch_source block_store_source(struct block_store *s);

/* A block is a number of chunks, each a header with a checksum and an encoded batch. `offset`: of
 * the chunk in its block. */
uint64_t block_chunk_size(const struct glint_batch *batch);
/* Writes block_chunk_size bytes. */
void block_chunk_encode(const struct glint_batch *batch, uint64_t offset, uint8_t *out);
/* `size` is that of a header or more. */
bool block_chunk_is_intact(const uint8_t *chunk, uint64_t size, uint64_t offset);
/* Sets *out, which borrows the bytes of an intact chunk. False: it has other columns. */
bool block_chunk_decode(struct glint_slice chunk, struct glint_schema schema,
                        struct glint_batch *out);

/* Writes one block; task's thread. `level` has bits of enum glint_level. NULL: out of memory, with
 * the task's error set. */
struct block_writer *block_writer_open(struct block_store *s, struct glint_task *task, uint32_t rdd,
                                       uint32_t partition, unsigned level,
                                       struct glint_schema schema);
/* Copies a batch. A block that finds no room, or whose file cannot be written, is given up; that is
 * no error: the records are computed again when they are needed. */
void block_writer_push(struct block_writer *w, const struct glint_batch *batch);
/* Adds the block to the store, unless it was given up or the store has one for the partition. */
void block_writer_commit(struct block_writer *w);
/* Frees the writer, and its block if it was not committed. NULL is allowed. */
void block_writer_close(struct block_writer *w);

#endif
