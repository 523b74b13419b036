/* The values of one key, kept to be read again and again in their order: what a join holds of its
 * right side. Up to a share of the slot's memory they stay in memory; those that come later go to a
 * run in the work folder, checksummed as every spill, so any number takes bounded memory. */
#ifndef GLINT_OPS_SPOOL_H
#define GLINT_OPS_SPOOL_H

#include "engine/data/run.h"

#define SPOOL_MEMORY_SHARE 16u /* of a slot's memory: what is held stays in memory */

/* Zeros before spool_init. One task's thread. */
struct spool {
    uint64_t count;
    /* The rest is its own. */
    struct glint_task *task;
    uint64_t limit;
    struct buffer bytes;      /* varint size, value, ... */
    uint64_t at;              /* of the next value in `bytes` */
    struct run_writer writer; /* task == NULL: none */
    struct run run;           /* once sealed; records == 0: none */
    struct run_reader reader;
    struct buffer scratch;
};
void spool_init(struct spool *h, struct glint_task *task);
/* Copies the value. Not after spool_rewind. 0 or a negative code with the task's error set; so the
 * others. */
int spool_add(struct spool *h, struct glint_slice value);
/* To the first value. */
int spool_rewind(struct spool *h);
/* 1: *out is the next value, valid until the next call; 0: no more. */
int spool_next(struct spool *h, struct glint_slice *out);
/* Forgets all values, keeps memory. */
void spool_clear(struct spool *h);
void spool_fini(struct spool *h);

#endif
