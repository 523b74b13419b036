/* toLocalIterator: returns the records of an RDD one by one, and computes one partition at a time,
 * when the caller needs its first record: an action for each partition, as in Spark. */
#include "ops/ops.h"

#include <assert.h>

struct glint_iterator {
    struct glint_rdd *rdd;
    uint32_t partition, partitions; /* the next one; all */
    struct glint_rows rows;         /* of the partition before */
    uint64_t at;                    /* the next of them */
};

struct glint_iterator *glint_to_local_iterator(struct glint_rdd *rdd)
{
    if (rdd == NULL) {
        rdd_null_error("toLocalIterator");
        return NULL;
    }
    const uint32_t partitions = glint_partitions(rdd);
    if (context_failed(rdd->g)) return NULL;
    struct glint_iterator *it = mem_zalloc(sizeof *it);
    if (it == NULL) {
        error_no_memory(&rdd->g->error);
        return NULL;
    }
    *it = (struct glint_iterator){.rdd = rdd, .partitions = partitions};
    return it;
}

static int add_iterator_rows(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct glint_iterator *it = arg;
    return result_rows_add_partition(it->rdd->g, &it->rows, result);
}

static int run_next_partition(struct glint_iterator *it)
{
    glint_rows_free(&it->rows);
    it->rows.schema = it->rdd->schema;
    it->at = 0;
    const uint32_t partition = it->partition++;
    struct action a = {.op = &op_collect,
                       .rdd = it->rdd,
                       .partitions = &partition,
                       .partition_count = 1,
                       .on_result = add_iterator_rows,
                       .arg = it};
    if (rdd_is_explain_only(it->rdd)) { /* one action shows all */
        a.partitions = NULL;
        it->partition = it->partitions;
    }
    return run_action_of_rdd(&a);
}

int glint_iterator_next(struct glint_iterator *it, struct glint_record *out)
{
    return (int)glint_iterator_take(it, 1, out);
}

int64_t glint_iterator_take(struct glint_iterator *it, uint64_t count, struct glint_record *out)
{
    assert(count > 0);
    if (it == NULL) return rdd_null_error("toLocalIterator");
    while (it->at == it->rows.count) {
        if (context_failed(it->rdd->g)) return it->rdd->g->error.code;
        if (it->partition == it->partitions) return 0;
        const int r = run_next_partition(it);
        if (r != 0) return r;
    }
    assert(it->at < it->rows.count);
    const uint64_t rest = it->rows.count - it->at, taken = count < rest ? count : rest;
    glint_rows_records(&it->rows, it->at, taken, out);
    it->at += taken;
    return (int64_t)taken;
}

void glint_iterator_close(struct glint_iterator *it)
{
    if (it == NULL) return;
    glint_rows_free(&it->rows);
    mem_free(it);
}
