/* Cached blocks: the records of partitions of persisted RDDs (glint_persist), kept between tasks
 * beside the map outputs.
 *
 * Blocks in memory share a budget, a part of the executor's memory. When a new one does not fit,
 * the least recently used blocks of other RDDs are evicted: dropped, or written to a file in the
 * work directory if their RDD is persisted with GLINT_DISK. Blocks of the same RDD stay: a scan of
 * an RDD that is larger than the budget would otherwise evict each block before it is read again.
 * What is not in the store is computed again. A block is constant; readers hold a reference, and
 * it is freed when it was removed and the last reference is released. Any thread; one lock, held
 * once per block and per MiB, never during I/O. */
#ifndef GLINT_EXECUTOR_BLOCK_STORE_H
#define GLINT_EXECUTOR_BLOCK_STORE_H

#include "engine/batch.h"
#include "engine/records/emitter.h"
#include "engine/transfer/message.h"

struct block_store;
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
/* Calls `push` with each batch of the block until it returns other than FLOW_MORE. Returns the
 * last flow; FLOW_FAIL with the task's error set if the block's file cannot be read, which also
 * removes the block, so that the next attempt computes it again. */
enum flow cached_block_read(struct block_store *s, struct cached_block *b, struct glint_task *task,
                            struct glint_schema schema,
                            enum flow (*push)(void *arg, const struct glint_batch *batch),
                            void *arg);

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
