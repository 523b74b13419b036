/* Whole records as keys of a shuffle: how distinct, intersection and subtract tell records apart.
 *
 * An element simply changes its column. A pair becomes one run of bytes, from which both cells are
 * later referred to:
 *
 *     key's byte form | value's byte form | key's size, 4 bytes (only where the key is bytes-like)
 */
#ifndef GLINT_OPS_RECORD_KEY_H
#define GLINT_OPS_RECORD_KEY_H

#include "ops/ops.h"

/* The records of `rdd` as keys. The value is none, or, where `mark` is not 0, that number, an i64.
 * `name` is the operator's, for errors: a pair over KEY_BYTES_MAX is one. */
struct glint_rdd *record_key_pack(struct glint_rdd *rdd, const char *name, int64_t mark);
/* Records of `shape` again, from their keys and no values; the partitions are those that `shuffle`
 * makes. */
struct glint_rdd *record_key_unpack(struct glint_rdd *packed, struct glint_schema schema,
                                    struct glint_rdd *shuffle);
/* Two RDDs of one shape, the records of `a` marked by one number, those of `b` by another; a REDUCE
 * function by name merges the marks of equal records, before and behind the shuffle `wide`. NULL:
 * an error is set, also if the shapes differ. */
struct glint_rdd *record_key_marks(const struct op *shuffle_op, struct glint_rdd *a, int64_t a_mark,
                                   struct glint_rdd *b, int64_t b_mark, const char *function);

#endif
