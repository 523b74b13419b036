/* reduceByKeyLocally: reduceByKey, whose result is returned as by collectAsMap. */
#include "ops/ops.h"

int glint_reduce_by_key_locally(struct glint_rdd *rdd, const struct glint_function *function,
                                struct glint_args *args, struct glint_rows *out)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) return rdd_null_error("reduceByKeyLocally");
    struct glint_rdd *reduced = glint_reduce_by_key(rdd, function, args);
    return reduced != NULL ? glint_collect_as_map(reduced, out) : (int)rdd->g->error.code;
}
