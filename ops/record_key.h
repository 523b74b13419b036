/* Whole records as keys of a shuffle: used by distinct, intersection and subtract, which compare
 * whole records.
 *
 * A single element just moves to the key column. A pair is packed into one byte string, from which
 * both cells are later read by reference:
 *
 *     encoded key | encoded value | size of the key, 4 bytes (only if the key is bytes-like) */
#ifndef GLINT_OPS_RECORD_KEY_H
#define GLINT_OPS_RECORD_KEY_H

#include "ops/ops.h"

/* Makes the records of `rdd` the keys. The value is none or, if `mark` is not 0, the i64 `mark`.
 * `name` is the operator's, for errors: a pair over KEY_BYTES_MAX is VALUE_LIMIT. Returns NULL with
 * the error set, as the next two. */
struct glint_rdd *record_key_packed_rdd(struct glint_rdd *rdd, const char *name, int64_t mark);
/* Appends a pair of bytes-like or number cells, packed. Returns false when out of memory. */
bool record_key_append(struct buffer *out, struct glint_schema schema,
                       const struct glint_record *record);
/* Unpacks single elements, or keys without values, into records of `schema`. `shuffle` is the wide
 * RDD before it, to which glint_with_partitions applies. */
struct glint_rdd *record_key_unpacked_rdd(struct glint_rdd *packed, struct glint_schema schema,
                                          struct glint_rdd *shuffle);
/* For two RDDs of equal schema: marks the records of `a` and `b` with different numbers; the REDUCE
 * function of that name merges the marks of equal records, on both sides of the shuffle
 * `shuffle_op`. PLAN_TYPE if the schemas differ. */
struct glint_rdd *group_records_by_marks(const struct op *shuffle_op, struct glint_rdd *a,
                                         int64_t a_mark, struct glint_rdd *b, int64_t b_mark,
                                         const struct glint_function *function);

#endif
