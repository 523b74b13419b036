/* Which wide RDDs need no shuffle, because their parents are partitioned alike: Spark's default
 * partitioner. Two RDDs are partitioned alike if their keys were distributed over as many
 * partitions by the same partitioner: both by hash, both by the same function and arguments, or
 * both by the bounds of the same sort. */
#ifndef GLINT_PLAN_PARTITIONING_H
#define GLINT_PLAN_PARTITIONING_H

#include "engine/plan/context.h"

/* Called while a wide RDD is counted: `partitions` is what the shuffle would have, and its parents
 * are counted. Unless the job has chosen otherwise, takes over the partitioner of the parent that
 * has most partitions, if these are more than a tenth of `partitions`. The RDD then becomes narrow,
 * and parents that are partitioned in another way are shuffled by themselves. */
void partitioning_reuse(struct glint_rdd *rdd);
/* Called while a union is counted: if its parents are partitioned alike, it becomes narrow: each
 * partition has the records of the same partition of both, as in Spark's PartitionerAwareUnionRDD.
 * Not the union of the inputs of a wide RDD (ops/sides.h), for which partitioning_reuse decides. */
void partitioning_align_union(struct glint_rdd *rdd);
/* Returns the wide RDD whose partitioner distributed the keys of `rdd`, which is counted. NULL:
 * none. */
struct glint_rdd *partitioning_find(struct glint_rdd *rdd);
/* Creates the RDD that shuffles `input`, one of several inputs of a wide RDD, if the others need no
 * shuffle. Returns false with the error set. */
bool partitioning_add_exchange(struct glint_rdd *input);

#endif
