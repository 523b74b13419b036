/* zipWithUniqueId: the i-th element of partition k of n becomes (element, k + i * n). In contrast
 * to zipWithIndex no partition has to be counted first. */
#include "engine/batch.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>

struct unique_id_state {
    uint64_t next, step;
    int64_t ids[BATCH_ROWS_MAX];
};

static int unique_id_open(void *state, const struct op_open *o)
{
    struct unique_id_state *s = state;
    struct unpacker u = unpack_begin(o->params);
    s->step = unpack_u64(&u, PARTITIONS_MAX);
    s->next = o->task->partition;
    if (unpack_is_complete(&u) && s->next < s->step && o->out.key == o->in.value) return 0;
    return error_set(&o->task->error, GLINT_E_PROTOCOL, NULL,
                     "zipWithUniqueId: the number of partitions is missing");
}

static enum flow unique_id_push(void *state, const struct glint_batch *batch,
                                struct glint_emitter *out)
{
    struct unique_id_state *s = state;
    assert(batch->key.type == GLINT_NONE && batch->rows <= BATCH_ROWS_MAX);
    for (uint32_t row = 0; row < batch->rows; row++, s->next += s->step)
        s->ids[row] = (int64_t)s->next;
    const struct glint_batch zipped = {.rows = batch->rows,
                                       .key = batch->value,
                                       .value = {.type = GLINT_I64, .i64 = s->ids},
                                       .origin = batch->origin};
    glint_emit_batch(out, &zipped);
    return out->flow;
}

const struct op op_zip_with_unique_id = {.name = "zipWithUniqueId",
                                         .kind = OP_NARROW,
                                         .state_size = sizeof(struct unique_id_state),
                                         .open = unique_id_open,
                                         .push = unique_id_push};

/* The number of partitions is known only when the plan is cut. */
static int unique_id_prepare(struct glint_rdd *rdd)
{
    struct glint *g = rdd->g;
    struct packer p = {.failed = false};
    assert(rdd->counted);
    pack_array(&p, 1);
    pack_u64(&p, rdd->partitions);
    if (p.failed)
        error_no_memory(&g->error);
    else
        rdd->params = rdd_copy_slice(rdd, (struct glint_slice){p.out.data, p.out.size});
    packer_fini(&p);
    return g->error.code;
}

struct glint_rdd *glint_zip_with_unique_id(struct glint_rdd *rdd)
{
    if (!rdd_has_single_elements(rdd, "zipWithUniqueId")) return NULL;
    const struct rdd_spec spec = {
        .op = &op_zip_with_unique_id, .parents = {rdd}, .schema = {rdd->schema.value, GLINT_I64}};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    if (out != NULL) out->prepare = unique_id_prepare;
    return out;
}
