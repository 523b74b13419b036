/* Map outputs that are all in this process are read directly; if one is on another executor, all
 * are read through a fetch (transfer/fetch.h). A map output that cannot be fetched or is corrupt,
 * local or remote, ends the attempt with FETCH_FAILED, which names it, so that the driver
 * recomputes it. */
#include "engine/executor/attempt.h"

#include "engine/base/endian.h"
#include "engine/executor/pipeline.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

/* With more partitions the driver gets no partition sizes. */
#define SIZES_MAX 65536u

/* A broadcast that the task uses, from the store or from the client. */
struct held_broadcast {
    struct held_broadcast *next;
    void *stored, *fetched; /* one is NULL */
};

struct attempt {
    const struct executor_config *config;
    struct store *store;
    struct block_store *blocks;
    struct glint_task *task;
    /* The shuffle being read. */
    uint64_t shuffle;
    struct fetch_input *inputs;
    uint32_t input_count;
    struct run_slice *slices;
    uint32_t slice_count;
    struct fetch *fetch;                /* NULL: none is open */
    struct fetch_failure fetch_failure; /* with FETCH_FAILED */
    struct held_broadcast *broadcasts;  /* in the task's arena */
};

static int attempt_find_broadcast(void *arg, uint64_t id, struct glint_slice *out)
{
    struct attempt *a = arg;
    struct held_broadcast *held = task_alloc(a->task, sizeof *held);
    if (held == NULL) return a->task->error.code;
    *held = (struct held_broadcast){.next = a->broadcasts};
    /* Inline broadcasts are in the store; larger ones are fetched in blocks. */
    held->stored = store_acquire_broadcast(a->store, id, out);
    if (held->stored == NULL && a->config->broadcasts != NULL)
        held->fetched = broadcast_client_wait(a->config->broadcasts, id, a->task->cancel_flag, out,
                                              &a->task->error);
    if (held->stored == NULL && held->fetched == NULL) return GLINT_E_PROTOCOL;
    a->broadcasts = held;
    return 0;
}

static void release_attempt_broadcasts(struct attempt *a)
{
    for (struct held_broadcast *b = a->broadcasts; b != NULL; b = b->next)
        if (b->stored != NULL)
            store_release_broadcast(a->store, b->stored);
        else
            broadcast_client_release(a->config->broadcasts, b->fetched);
    a->broadcasts = NULL;
}

/* ---- Inputs */

/* Replaces the task's error by FETCH_FAILED with the location of one input. `unreachable` tells the
 * driver that the executor did not respond, so its other outputs are lost too. */
static int set_fetch_failed(struct attempt *a, uint32_t input)
{
    assert(input < a->input_count);
    const struct fetch_input *in = &a->inputs[input];
    struct glint_error why = a->task->error;
    a->task->error.code = GLINT_OK;
    a->fetch_failure =
        (struct fetch_failure){a->shuffle, in->map, in->executor, in->attempt,
                               why.code == GLINT_E_FETCH_FAILED && a->task->unreachable};
    return error_set(&a->task->error, GLINT_E_FETCH_FAILED, why.code != GLINT_OK ? why.hint : NULL,
                     "map output %u of shuffle %llu at executor %u: %s", in->map,
                     (unsigned long long)a->shuffle, in->executor,
                     why.code != GLINT_OK ? why.cause : "not found");
}

static bool is_local_input(const struct fetch_input *in, uint32_t partition)
{
    return in->local != NULL && partition < in->local->partitions;
}

static int open_attempt_inputs(struct attempt *a, uint32_t partition)
{
    uint32_t lost = UINT32_MAX;
    a->fetch = fetch_open(a->task, a->config->fetcher, a->shuffle, partition, a->inputs,
                          a->input_count, &a->slices, &a->slice_count, &lost);
    if (a->fetch != NULL) return 0;
    bool named = a->task->error.code == GLINT_E_FETCH_FAILED && lost < a->input_count;
    return named ? set_fetch_failed(a, lost) : a->task->error.code;
}

static int inputs_open(void *arg, struct glint_task *task, uint64_t shuffle, uint32_t partition,
                       struct run_slice **out, uint32_t *out_count)
{
    struct attempt *a = arg;
    assert(a->inputs == NULL && a->fetch == NULL && task == a->task);
    a->shuffle = shuffle;
    a->slice_count = 0;
    int r = store_acquire_inputs(a->store, shuffle, a->config->self, &task->arena, &a->inputs,
                                 &a->input_count, &task->error);
    for (uint32_t i = 0; r == 0 && i < a->input_count; i++) {
        bool mine = a->inputs[i].executor == a->config->self;
        /* A local output may have been removed, or belong to a shuffle with fewer partitions. */
        if (mine ? !is_local_input(&a->inputs[i], partition) : a->config->fetcher == NULL)
            r = set_fetch_failed(a, i);
    }
    if (r == 0) r = open_attempt_inputs(a, partition);
    *out = a->slices;
    *out_count = a->slice_count;
    if (r == 0) return 0;
    if (a->inputs != NULL) store_release_inputs(a->store, a->inputs, a->input_count);
    a->inputs = NULL;
    return r;
}

/* Converts the error of reading an input to FETCH_FAILED. In local mode an I/O error stays
 * SPILL_IO, so that the same task is retried: the disk may work again. In a cluster the map output
 * is recomputed on another executor. */
static void convert_input_error(struct attempt *a)
{
    enum glint_code code = a->task->error.code;
    uint32_t input = fetch_lost_input(a->fetch);
    if (input == UINT32_MAX) return;
    if (code == GLINT_E_SHUFFLE_CORRUPT || code == GLINT_E_FETCH_FAILED ||
        (code == GLINT_E_SPILL_IO && a->config->fetcher))
        set_fetch_failed(a, input);
}

static void inputs_close(void *arg, struct glint_task *task)
{
    struct attempt *a = arg;
    assert(a->inputs != NULL);
    /* Before fetch_close and the release: both free what names the input. */
    if (task->error.code != GLINT_OK) convert_input_error(a);
    fetch_close(a->fetch);
    store_release_inputs(a->store, a->inputs, a->input_count);
    a->fetch = NULL;
    a->inputs = NULL;
}

/* ---- The outcome */

/* Takes ownership of the run. Writes one size code per partition to `body`, for the driver's choice
 * of executors near the data. */
static int store_map_output(struct attempt *a, const struct message *m, uint64_t shuffle,
                            struct run *run, struct buffer *body)
{
    uint32_t sizes = run->partitions <= SIZES_MAX ? run->partitions : 0;
    bool memory = buffer_reserve(body, sizes);
    if (memory && sizes > 0) memset(body->data + body->size, size_code_encode(0), sizes);
    const uint32_t parts = run->numbers != NULL ? run->used : sizes;
    for (uint32_t i = 0; memory && sizes > 0 && i < parts; i++) {
        const uint32_t partition = run->numbers != NULL ? run->numbers[i] : i;
        body->data[body->size + partition] = size_code_encode(run->parts[i].bytes);
    }
    if (memory) body->size += sizes;
    /* From here on other executors can fetch the output; the driver names it to them only after
     * DONE. */
    if (memory && store_add_map_output(a->store, shuffle, m->task, m->attempt, run) == 0) return 0;
    run_destroy(run);
    return error_no_memory(&a->task->error);
}

/* A result too large for a message stays in the store until the driver has fetched it. */
static int store_large_result(struct attempt *a, struct message *outcome)
{
    if (a->config->fetcher == NULL || outcome->body.size <= RESULT_INLINE_BYTES_MAX) return 0;
    uint8_t checksum[RESULT_CHECKSUM_BYTES];
    outcome->size = outcome->body.size;
    put_le64(checksum, XXH3_64bits(outcome->body.data, outcome->body.size));
    outcome->id = store_add_result(a->store, &outcome->body);
    bool ok = outcome->id != 0 && buffer_append(&outcome->body, checksum, sizeof checksum);
    return ok ? 0 : error_no_memory(&a->task->error);
}

static void set_outcome_failed(struct attempt *a, struct message *outcome)
{
    buffer_fini(&outcome->body);
    outcome->type = MSG_FAILED;
    *outcome->error = a->task->error;
    if (outcome->error->code != GLINT_E_FETCH_FAILED) return;
    struct glint_error error = {.code = GLINT_OK};
    /* Out of memory: report that instead of a FETCH_FAILED without a location. */
    if (fetch_failure_encode(&a->fetch_failure, &outcome->body, &error) != 0)
        *outcome->error = error;
}

static int run_stage(struct attempt *a, const struct stage_plan *stage, const struct message *m,
                     struct message *outcome)
{
    struct run run = {.partitions = 0};
    struct pipeline_input input = {.stage = stage,
                                   .partition = m->partition,
                                   .splits = {m->body.data, m->body.size},
                                   .fetch = inputs_open,
                                   .fetch_end = inputs_close,
                                   .fetch_arg = a,
                                   .blocks = a->blocks};
    int r = pipeline_run(a->task, &input, &run, &outcome->body);
    if (r != 0) return r;
    const struct stage_node *root = &stage->nodes[stage->node_count - 1];
    bool wide = stage_node_is_shuffle(root);
    if (wide && store_stage_is_removed(a->store, stage)) { /* the driver ignores this attempt */
        run_destroy(&run);
        return error_set(&a->task->error, GLINT_E_INTERRUPTED, NULL, "attempt superseded");
    }
    r = wide ? store_map_output(a, m, root->rdd, &run, &outcome->body)
             : store_large_result(a, outcome);
    return r == 0 ? task_counters_encode(a->task, &outcome->counters) : r;
}

/* Tells the driver which cached blocks this executor has. Out of memory, it does not learn of them,
 * and prefers no executor for them. */
static void add_block_changes(struct block_store *blocks, struct message *outcome)
{
    struct cached_block_state *changes;
    struct glint_error ignored = {.code = GLINT_OK};
    const uint32_t count = block_store_take_changes(blocks, &changes);
    if (count > 0) cached_blocks_encode(changes, count, &outcome->blocks, &ignored);
    mem_free(changes);
}

void attempt_run(const struct executor_config *config, struct store *store,
                 struct block_store *blocks, struct glint_task *task, const struct message *m,
                 struct message *outcome)
{
    struct attempt a = {.config = config, .store = store, .blocks = blocks, .task = task};
    assert(m->type == MSG_TASK && outcome->error != NULL);
    task->broadcast = attempt_find_broadcast;
    task->broadcast_arg = &a;
    /* A reference: the driver may release the stage while this attempt still runs. */
    const struct stage_plan *stage = store_acquire_stage(store, m->stage, &task->error);
    task->stage = stage;
    int r = stage != NULL ? run_stage(&a, stage, m, outcome) : (int)task->error.code;
    task->stage = NULL;
    if (stage != NULL) store_release_stage(store, stage);
    task->broadcast_arg = NULL;
    release_attempt_broadcasts(&a);
    assert(a.inputs == NULL && a.fetch == NULL);
    task_free_accumulators(task);
    if (blocks != NULL) add_block_changes(blocks, outcome);
    if (r != 0)
        set_outcome_failed(&a, outcome);
    else
        outcome->type = MSG_DONE;
}
