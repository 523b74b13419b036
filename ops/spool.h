/* Buffers values, such as those of one key, so that a join can read its right side repeatedly, in
 * order. Values up to a share of the slot's memory stay in memory; later ones go to a run file in
 * the work directory, checksummed like every spill. So any number of values needs bounded memory.
 */
#ifndef GLINT_OPS_SPOOL_H
#define GLINT_OPS_SPOOL_H

#include "engine/batch.h"
#include "engine/records/run.h"

#define SPOOL_MEMORY_SHARE 16u /* 1/16 of a slot's memory for values in memory */

/* Call spool_init before use. Only on the task's thread. */
struct spool {
    uint64_t count;
    /* Private. */
    struct glint_task *task;
    uint64_t limit;
    struct buffer bytes;      /* pairs of varint size and value */
    uint64_t at;              /* offset of the next value in `bytes` */
    struct run_writer writer; /* task == NULL: not open */
    struct run run;           /* once the writer is finished; records == 0: none */
    struct run_reader reader;
    struct buffer scratch;
};
void spool_init(struct spool *h, struct glint_task *task);
/* Appends a copy of the value. Not after the first spool_rewind. Returns 0 or a negative code with
 * the task's error set, as do the others. */
int spool_add(struct spool *h, struct glint_slice value);
/* Appends the values of a batch, for spool_next_value. Not of type NONE. */
int spool_add_values(struct spool *h, const struct glint_batch *batch);
/* Moves to the first value; any number of times. */
int spool_rewind(struct spool *h);
/* Returns 1 with the next value in *out, valid until the next call; 0 at the end. */
int spool_next(struct spool *h, struct glint_slice *out);
/* The same for values of spool_add_values. */
int spool_next_value(struct spool *h, enum glint_type type, union glint_value *out);
/* Removes all values, keeps memory for reuse. */
void spool_clear(struct spool *h);
/* Frees all memory and removes the run file. Allowed on zeros, and after any error. */
void spool_fini(struct spool *h);

#endif
