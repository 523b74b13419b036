/* zipWithIndex: each element becomes (element, index). The first index of a partition is the count
 * of all partitions before it. An internal count action computes these when an action first needs
 * them, for all partitions but the last; with a single partition it is not needed. */
#include "engine/base/endian.h"
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>

#define INDEX_BYTES 8 /* size of a partition's first index, little-endian */

struct zip_state {
    int64_t next;
    int64_t index[BATCH_ROWS_MAX];
};

static int zip_with_index_open(void *state, const struct op_open *o)
{
    struct zip_state *s = state;
    struct unpacker u = unpack_begin(o->params);
    struct glint_slice firsts = unpack_bytes(&u);
    bool sound = unpack_is_complete(&u) && firsts.size / INDEX_BYTES > o->task->partition &&
                 o->out.key == o->in.value;
    if (sound) s->next = (int64_t)get_le64(firsts.data + INDEX_BYTES * o->task->partition);
    if (sound) return 0;
    return error_set(&o->task->error, GLINT_E_PROTOCOL, NULL,
                     "zipWithIndex: the first index is missing");
}

static enum flow zip_with_index_push(void *state, const struct glint_batch *batch,
                                     struct glint_emitter *out)
{
    struct zip_state *s = state;
    assert(batch->key.type == GLINT_NONE && batch->rows <= BATCH_ROWS_MAX);
    for (uint32_t row = 0; row < batch->rows; row++) s->index[row] = s->next++;
    struct glint_batch zipped = {.rows = batch->rows,
                                 .key = batch->value,
                                 .value = {.type = GLINT_I64, .i64 = s->index},
                                 .origin = batch->origin};
    glint_emit_batch(out, &zipped);
    return out->flow;
}

const struct op op_zip_with_index = {.name = "zipWithIndex",
                                     .kind = OP_NARROW,
                                     .state_size = sizeof(struct zip_state),
                                     .open = zip_with_index_open,
                                     .push = zip_with_index_push};

/* ---- Driver side */

struct index_counting {
    struct glint *g;
    uint8_t *firsts;
    uint64_t rows; /* so far */
};

static int index_count_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    struct index_counting *c = arg;
    uint64_t rows;
    unsigned n = codec_get_varint(result.data, result.data + result.size, &rows);
    if (n == 0 || n != result.size || rows > INT64_MAX - c->rows)
        return set_malformed_result_error(c->g, &op_count);
    c->rows += rows;
    /* Results arrive in order of partitions, so `rows` is the first index of the next one. */
    put_le64(c->firsts + INDEX_BYTES * ((uint64_t)partition + 1), c->rows);
    return 0;
}

int first_indexes_count(struct glint_rdd *in, uint32_t count, uint8_t *firsts)
{
    assert(in->counted && count <= in->partitions);
    if (count == 0) return in->g->error.code;
    struct index_counting c = {.g = in->g, .firsts = firsts};
    uint32_t *partitions = mem_alloc(sizeof *partitions * count);
    if (partitions == NULL) return error_no_memory(&c.g->error);
    for (uint32_t p = 0; p < count; p++) partitions[p] = p;
    struct action a = {.op = &op_count,
                       .rdd = in,
                       .partitions = partitions,
                       .partition_count = count,
                       .internal = true,
                       .on_result = index_count_on_result,
                       .arg = &c};
    int r = run_action_of_rdd(&a);
    mem_free(partitions);
    return r;
}

static int prepare_first_indexes(struct glint_rdd *rdd)
{
    struct glint *g = rdd->g;
    uint64_t size = INDEX_BYTES * (uint64_t)rdd->partitions;
    uint8_t *firsts = mem_zalloc(size + 1);
    assert(rdd->counted && rdd->partitions == rdd->parents[0]->partitions);
    if (firsts == NULL) return error_no_memory(&g->error);
    /* All partitions except the last. */
    int r = first_indexes_count(rdd->parents[0], rdd->partitions - (rdd->partitions > 0), firsts);
    if (r == 0) {
        struct packer p = {.failed = false};
        pack_array(&p, 1);
        pack_bytes(&p, (struct glint_slice){firsts, size});
        rdd->params = rdd_copy_slice(rdd, (struct glint_slice){p.out.data, p.out.size});
        r = p.failed ? error_no_memory(&g->error) : g->error.code;
        packer_fini(&p);
    }
    mem_free(firsts);
    return r;
}

struct glint_rdd *glint_zip_with_index(struct glint_rdd *rdd)
{
    if (!rdd_has_single_elements(rdd, "zipWithIndex")) return NULL;
    struct rdd_spec spec = {
        .op = &op_zip_with_index, .parents = {rdd}, .schema = {rdd->schema.value, GLINT_I64}};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    /* Counting is an action, so it is delayed until an action needs the result. */
    if (out != NULL) out->prepare = prepare_first_indexes;
    return out;
}
