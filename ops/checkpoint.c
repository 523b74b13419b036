/* checkpoint: an action saves the records as msgpack and publishes the directory at once; the new
 * RDD reads it. Each part is one partition, so that the partitions are those of the old RDD. */
#include "engine/input/split.h"
#include "ops/ops.h"

static int checkpoint_make_splits(struct glint_rdd *rdd, uint64_t split_bytes)
{
    struct splits splits = {NULL, 0, {NULL, NULL, 0}};
    (void)split_bytes;
    int r = splits_make_of_each_file(rdd->source, &splits, &rdd->g->error);
    if (r == 0) r = text_source_add_splits(rdd, &splits);
    splits_fini(&splits);
    return r;
}

struct glint_rdd *glint_checkpoint(struct glint_rdd *rdd, const char *path)
{
    if (rdd == NULL) return rdd_fail_null("checkpoint");
    struct glint *g = rdd->g;
    const struct glint_schema schema = rdd->schema;
    if (g->config.stage != NULL)
        return rdd_fail(rdd, GLINT_E_STAGE_ACTION,
                        "checkpoint: it is published before the job ends, which glint stage cannot "
                        "do");
    if (save_check_paths(rdd, "checkpoint", &path, 1) != 0) return NULL;
    struct action a = {.op = &op_save_as_msgpack_file,
                       .rdd = rdd,
                       .outputs = &path,
                       .output_count = 1,
                       .publish = true};
    if (run_action_of_rdd(&a) != 0) return NULL;
    const struct file_source source = {.op = &op_msgpack_file,
                                       .schema = schema,
                                       .binary = true,
                                       .make_splits = checkpoint_make_splits};
    return file_source_create(g, path, &source);
}
