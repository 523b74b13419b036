/* The state of reduce, fold and aggregate, which treeReduce and treeAggregate share. */
#ifndef GLINT_OPS_REDUCE_H
#define GLINT_OPS_REDUCE_H

#include "engine/plan/context.h"
#include "engine/shuffle/aggregator.h"

struct reduce_state {
    struct function_call call;
    struct shuffle_spec spec;
    struct combiner combiner;
};
/* The callbacks of the operators (plan/op.h). The parameters are [zero], or [] for reduce. */
int reduce_open(void *state, const struct op_open *o);
enum flow reduce_push(void *state, const struct glint_batch *batch, struct glint_emitter *out);
int reduce_result(void *state, struct buffer *out);
void reduce_close(void *state);

/* The type of the accumulators that the function makes of values of this type. */
enum glint_type reduce_accumulator_type(const struct glint_function *fn, enum glint_type value);
/* Runs an action whose tasks return an accumulator each, as reduce_result does, and merges them in
 * order of the partitions. Returns 0 or the context's code. */
int reduce_run(const struct action *action, struct glint_rows *out);

#endif
