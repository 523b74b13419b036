/* Requests the locations of map outputs: one GET_INDEX per executor, all at once. The response
 * contains the bytes of small parts, so a shuffle of many small parts needs one request per
 * executor and task.
 *
 * The response also says which of the map outputs are lost. */
#include "engine/shuffle/fetch_wait.h"

#include "engine/base/log.h"

#include <assert.h>
#include <stdlib.h>

/* One executor's GET_INDEX: for entries[first, first + count). */
struct index_request {
    struct pending_fetch pending; /* first */
    uint32_t first, count;
};

/* The arguments of fetch_index_request, and its work arrays. */
struct index_query {
    struct fetch_wait *wait;
    uint64_t shuffle;
    uint64_t bytes_max; /* inline bytes of one response */
    uint32_t partition;
    const struct fetch_input *inputs;
    struct fetch_index_entry *entries;
    uint32_t (*maps)[2];       /* [entries]: map, attempt */
    struct index_entry *parts; /* [entries]: as decoded */
};

static int compare_executors(const void *a, const void *b, void *inputs)
{
    const struct fetch_input *all = inputs;
    uint32_t x = ((const struct fetch_index_entry *)a)->input,
             y = ((const struct fetch_index_entry *)b)->input;
    if (all[x].executor != all[y].executor) return all[x].executor < all[y].executor ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int compare_inputs(const void *a, const void *b)
{
    uint32_t x = ((const struct fetch_index_entry *)a)->input,
             y = ((const struct fetch_index_entry *)b)->input;
    return x < y ? -1 : x > y;
}

/* Whether entry i is the first of its executor; the entries are sorted by executor. */
static bool is_first_of_executor(const struct index_query *a, uint32_t i)
{
    const struct fetch_input *inputs = a->inputs;
    return i == 0 ||
           inputs[a->entries[i].input].executor != inputs[a->entries[i - 1].input].executor;
}

static void build_index_request(struct index_query *a, struct index_request *q)
{
    struct fetch_request *r = &q->pending.request;
    assert(q->count > 0);
    *r = (struct fetch_request){.executor = a->inputs[a->entries[q->first].input].executor};
    r->get = (struct get_request){.kind = GET_INDEX,
                                  .id = a->shuffle,
                                  .partition = a->partition,
                                  .size = a->bytes_max,
                                  .map_count = q->count,
                                  .maps = a->maps + q->first};
}

/* Decodes a response into a->parts; sets the request's error if it is invalid. */
static void decode_response(struct index_query *a, struct index_request *q)
{
    struct fetch_request *r = &q->pending.request;
    map_output_index_decode((struct glint_slice){r->response.data, r->response.size},
                            a->parts + q->first, q->count, &r->error);
}

/* Sends the request once more: the response may have been damaged in transit. Blocks. */
static void retry_index_request(struct index_query *a, struct index_request *q)
{
    struct fetch_request *r = &q->pending.request;
    log_line(LOG_WARN, NULL, "damaged index response from executor %u, requesting it again",
             r->executor);
    buffer_fini(&r->response);
    build_index_request(a, q);
    fetch_wait_submit(a->wait, r);
    fetch_wait_until_done(a->wait, &q->pending);
}

/* Stores the entries of a finished request. Returns 0, or sets the task's error and *out_lost: the
 * input that is lost, or the first one if the executor did not respond, since the driver needs some
 * map output to recompute. */
static int accept_response(struct index_query *a, struct index_request *q, uint32_t *out_lost)
{
    struct fetch_request *r = &q->pending.request;
    uint32_t lost = q->first;
    if (r->error.code == GLINT_OK) {
        decode_response(a, q);
        if (r->error.code != GLINT_OK) retry_index_request(a, q);
        if (r->error.code == GLINT_OK) decode_response(a, q);
    }
    for (uint32_t i = q->first; r->error.code == GLINT_OK && i < q->first + q->count; i++) {
        a->entries[i].response = a->parts[i];
        if (!a->parts[i].lost) continue;
        lost = i;
        error_set(&r->error, GLINT_E_FETCH_FAILED, NULL,
                  "map output not found (shuffle %llu, map %u, attempt %u)",
                  (unsigned long long)a->shuffle, a->maps[i][0], a->maps[i][1]);
    }
    if (r->error.code == GLINT_OK) return 0;
    *out_lost = a->entries[lost].input;
    return fetch_set_error(a->wait->task, &r->error);
}

static int submit_index_requests(struct index_query *a, struct fetch_index *p)
{
    struct fetch_request *first = NULL;
    for (uint32_t i = p->request_count; i-- > 0;) {
        build_index_request(a, &p->requests[i]);
        p->requests[i].pending.request.next = first;
        first = &p->requests[i].pending.request;
    }
    fetch_wait_submit(a->wait, first);
    /* Wait for all, even if one fails: the fetcher still refers to the others. */
    for (uint32_t i = 0; i < p->request_count; i++)
        fetch_wait_until_done(a->wait, &p->requests[i].pending);
    int r = 0;
    for (uint32_t i = 0; i < p->request_count && r == 0; i++)
        r = accept_response(a, &p->requests[i], &p->lost);
    return r;
}

/* Allocates the arrays, sorts the entries by executor and divides the inline bytes among the
 * executors. */
static int prepare_index(struct index_query *a, struct fetch_index *p, uint32_t count)
{
    struct glint_task *task = a->wait->task;
    p->entries = task_alloc(task, (count + 1) * sizeof *p->entries);
    if (p->entries == NULL) return task->error.code;
    for (uint32_t i = 0; i < count; i++)
        if (a->inputs[i].local == NULL) p->entries[p->count++].input = i;
    qsort_r(p->entries, p->count, sizeof *p->entries, compare_executors,
            (void *)(uintptr_t)a->inputs);
    a->entries = p->entries;
    uint32_t executors = 0;
    for (uint32_t i = 0; i < p->count; i++) executors += is_first_of_executor(a, i);
    p->requests = task_alloc(task, (executors + 1) * sizeof *p->requests);
    a->maps = task_alloc(task, (p->count + 1) * sizeof *a->maps);
    a->parts = task_alloc(task, (p->count + 1) * sizeof *a->parts);
    if (p->requests == NULL || a->maps == NULL || a->parts == NULL) return task->error.code;
    if (executors > 0) a->bytes_max /= executors;
    if (a->bytes_max > FETCH_CHUNK_BYTES_MAX) a->bytes_max = FETCH_CHUNK_BYTES_MAX;
    return 0;
}

int fetch_index_request(struct fetch_index *p, struct fetch_wait *w, uint64_t bytes_max,
                        uint64_t shuffle, uint32_t partition, const struct fetch_input *inputs,
                        uint32_t count)
{
    struct index_query a = {.wait = w,
                            .shuffle = shuffle,
                            .bytes_max = bytes_max,
                            .partition = partition,
                            .inputs = inputs};
    *p = (struct fetch_index){.lost = UINT32_MAX};
    int r = prepare_index(&a, p, count);
    if (r != 0) return r;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct fetch_input *in = &inputs[p->entries[i].input];
        if (is_first_of_executor(&a, i))
            p->requests[p->request_count++] = (struct index_request){.first = i};
        p->requests[p->request_count - 1].count++;
        a.maps[i][0] = in->map;
        a.maps[i][1] = in->attempt;
    }
    r = submit_index_requests(&a, p);
    qsort(p->entries, p->count, sizeof *p->entries, compare_inputs); /* back to map order */
    return r;
}

void fetch_index_free(struct fetch_index *p)
{
    for (uint32_t i = 0; i < p->request_count; i++)
        buffer_fini(&p->requests[i].pending.request.response);
    p->request_count = 0;
}
