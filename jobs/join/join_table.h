/* The build side of a join as one block of memory: built on the driver, broadcast, read by tasks.
 *
 *     head | rows[count] | slots[mask + 1] | bytes: of each row its key, then its line
 *
 * Rows of one key are a linked list, in the order of insertion; a slot refers to the first one. It
 * has the hash, too: a key that is not in the table is mostly found missing without its row.
 * Driver and executors are the same build, so the block is in native layout. */
#ifndef GLINT_JOBS_JOIN_JOIN_TABLE_H
#define GLINT_JOBS_JOIN_JOIN_TABLE_H

#include "engine/glint.h"

struct join_table_row {
    uint64_t at; /* in bytes */
    uint32_t key_size, line_size;
    uint32_t hash, next; /* next: row + 1 of the same key; 0: none */
};
static_assert(sizeof(struct join_table_row) == 24, "rows are contiguous");

/* ---- Driver. Zero except for g and limit; call join_table_fini in any case. */

struct join_table_rows {
    struct glint *g;
    uint64_t limit; /* maximum bytes of the block */
    struct join_table_row *rows;
    uint8_t *bytes;
    uint64_t count, size, row_capacity, capacity;
};
enum { JOIN_TABLE_FULL = 1 };
/* Returns 0, FULL (no error is set), or the context's code. */
int join_table_add(struct join_table_rows *t, struct glint_slice key, struct glint_slice line);
/* Returns NULL with the context's error set. */
struct glint_broadcast *join_table_broadcast(struct join_table_rows *t);
void join_table_fini(struct join_table_rows *t);

/* ---- Task */

struct join_table {
    const struct join_table_row *rows;
    const uint64_t *slots; /* the hash of a key, and below it its first row + 1; 0: empty */
    const uint8_t *bytes;
    uint32_t count, mask;
};

/* Returns 0, or a code with the task's error set. Borrows from `block`. */
int join_table_open(struct glint_task *task, struct glint_slice block, struct join_table *out);

uint32_t join_table_hash(struct glint_slice key);
static inline void join_table_prefetch(const struct join_table *t, uint32_t hash)
{
    __builtin_prefetch(&t->slots[hash & t->mask]);
}
/* Returns the first row of the key + 1, or 0 if the key is not in the table. */
uint32_t join_table_find(const struct join_table *t, struct glint_slice key, uint32_t hash);
static inline struct glint_slice join_table_line(const struct join_table *t, uint32_t row)
{
    const struct join_table_row *r = &t->rows[row];
    return (struct glint_slice){t->bytes + r->at + r->key_size, r->line_size};
}

#endif
