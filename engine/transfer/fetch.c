/* Prefetches chunks of map outputs into a bounded number of buffers that are reused.
 *
 * All buffers have one size and belong to the task. An open input that is not at its end always has
 * at least one chunk in flight or received. So the merge can read its inputs in any order without a
 * deadlock: no input waits for a buffer that only reading another input would free. Inputs are
 * opened in the order of the merge, at most MERGE_FAN_IN_MAX at a time, which is how many it reads
 * at once; further ones are opened as these end.
 *
 *     an input:   |--- read ---|--- received ---|--- in flight ---|--- later ---|
 *                              at               .             requested       bytes
 *
 * A free buffer goes first to the input that the merge has just read from, up to its share, then to
 * inputs that are not open yet, then to reading further ahead. */
#include "engine/transfer/fetch.h"

#include "engine/base/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- One lock and one condition variable per task: only the slot's thread waits. */

void fetch_wait_init(struct fetch_wait *w, struct glint_task *task, const struct fetcher *fetcher)
{
    w->task = task;
    w->fetcher = fetcher;
    w->in_flight = 0;
    w->waited_for = NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
}

static void cancel_requests(struct fetch_wait *w)
{
    if (w->fetcher->cancel != NULL) w->fetcher->cancel(w->fetcher->arg, w->task->attempt_id);
}

void fetch_wait_cancel_all(struct fetch_wait *w)
{
    pthread_mutex_lock(&w->lock);
    bool some = w->in_flight > 0;
    pthread_mutex_unlock(&w->lock);
    if (some) cancel_requests(w);
    pthread_mutex_lock(&w->lock);
    while (w->in_flight > 0) pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

void fetch_wait_fini(struct fetch_wait *w)
{
    assert(w->in_flight == 0);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
}

/* Called on the loop's thread. After the unlock it must not touch the request or `w`: the slot's
 * thread may have seen `finished` and freed both. */
static void on_fetch_request_done(struct fetch_request *r)
{
    static_assert(offsetof(struct pending_fetch, request) == 0, "cast back from its first member");
    struct pending_fetch *a = (struct pending_fetch *)r;
    struct fetch_wait *w = a->wait;
    pthread_mutex_lock(&w->lock);
    assert(!a->finished && w->in_flight > 0);
    a->finished = true;
    w->in_flight--;
    if (w->waited_for == a || (w->waited_for == NULL && w->in_flight == 0))
        pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void fetch_wait_submit(struct fetch_wait *w, struct fetch_request *first)
{
    uint32_t count = 0;
    for (struct fetch_request *r = first; r != NULL; r = r->next, count++) {
        struct pending_fetch *a = (struct pending_fetch *)r;
        a->wait = w;
        a->finished = a->ready = false;
        r->owner = w->task->attempt_id;
        r->done = on_fetch_request_done;
        r->error.code = GLINT_OK;
    }
    if (count == 0) return;
    pthread_mutex_lock(&w->lock);
    w->in_flight += count;
    pthread_mutex_unlock(&w->lock);
    w->fetcher->submit(w->fetcher->arg, first);
    /* After the submission, not before: see fetch.h on the race with the executor's cancel. */
    if (task_is_cancelled(w->task)) cancel_requests(w);
}

/* The clock is read only if the slot has to wait. */
void fetch_wait_until_done(struct fetch_wait *w, struct pending_fetch *a)
{
    struct env *env = w->task->env;
    pthread_mutex_lock(&w->lock);
    if (!a->finished) {
        const uint64_t start_ns = env->now_ns(env);
        w->waited_for = a;
        while (!a->finished) pthread_cond_wait(&w->changed, &w->lock);
        w->waited_for = NULL;
        w->task->counters.values[COUNT_FETCH_WAIT_US] +=
            (int64_t)((env->now_ns(env) - start_ns) / 1000);
    }
    pthread_mutex_unlock(&w->lock);
}

/* Sets and returns the task's error after a request failed with `why`: INTERRUPTED if the task was
 * cancelled, NO_MEMORY for want of local memory, else FETCH_FAILED, which makes the driver
 * recompute the map output. Also sets task->unreachable if the connection failed. */
static int fetch_set_error(struct glint_task *task, const struct glint_error *why)
{
    assert(why->code != GLINT_OK);
    /* The requests of a cancelled task fail with INTERRUPTED; that says nothing about the map
     * output, so the driver must not count it as lost. */
    if (task_check_cancelled(task) != 0) return GLINT_E_INTERRUPTED;
    if (why->code == GLINT_E_NO_MEMORY) return error_no_memory(&task->error);
    /* The driver treats all map outputs of an unreachable executor as lost, not only this one. Set
     * only with the first error, which is the one that is reported. */
    if (task->error.code == GLINT_OK) task->unreachable = why->code == GLINT_E_CONNECTION;
    return error_set(&task->error, GLINT_E_FETCH_FAILED, why->hint[0] != '\0' ? why->hint : NULL,
                     "%s", why->cause);
}

/* ---- fetch */

/* ---- Requests the locations of map outputs: one GET_INDEX per executor, all at once. The response
 * contains the bytes of small parts, so a shuffle of many small parts needs one request per
 * executor and task.
 *
 * The response also says which of the map outputs are lost. */

/* One executor's GET_INDEX: for order[first, first + count). */
struct index_request {
    struct pending_fetch pending; /* first */
    uint32_t first, count;
};

/* The locations of all remote inputs. The arrays are in the task's arena. */
struct fetch_index {
    struct fetch_wait *wait;
    uint64_t shuffle;
    uint32_t partition;
    uint64_t bytes_max; /* inline bytes of one response */
    const struct fetch_input *inputs;
    struct index_entry *entries; /* [inputs]; those of remote ones are set */
    uint32_t remote_count;
    uint32_t *order;                /* [remote_count]: remote inputs, by executor, then by map */
    uint32_t (*maps)[2];            /* [remote_count]: their map and attempt */
    struct index_entry *parts;      /* [remote_count]: as decoded */
    struct index_request *requests; /* [request_count]; own the bytes of the small parts */
    uint32_t request_count;
    uint32_t lost; /* after FETCH_FAILED: the input that is lost */
};

static int compare_executors(const void *a, const void *b, void *inputs)
{
    const struct fetch_input *all = inputs;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (all[x].executor != all[y].executor) return all[x].executor < all[y].executor ? -1 : 1;
    return x < y ? -1 : x > y;
}

static uint32_t index_executor_at(const struct fetch_index *p, uint32_t i)
{
    return p->inputs[p->order[i]].executor;
}

static bool index_is_first_of_executor(const struct fetch_index *p, uint32_t i)
{
    return i == 0 || index_executor_at(p, i) != index_executor_at(p, i - 1);
}

static struct fetch_request *build_index_request(struct fetch_index *p, struct index_request *q)
{
    struct fetch_request *r = &q->pending.request;
    assert(q->count > 0);
    *r = (struct fetch_request){.executor = index_executor_at(p, q->first)};
    r->get = (struct get_request){.kind = GET_INDEX,
                                  .id = p->shuffle,
                                  .partition = p->partition,
                                  .size = p->bytes_max,
                                  .map_count = q->count,
                                  .maps = p->maps + q->first};
    return r;
}

/* Decodes a response into p->parts; sets the request's error if it is invalid. */
static void decode_index_response(struct fetch_index *p, struct index_request *q)
{
    struct fetch_request *r = &q->pending.request;
    map_output_index_decode(buffer_slice(&r->response), p->parts + q->first, q->count, &r->error);
}

/* Sends the request once more: the response may have been damaged in transit. Blocks. */
static void retry_index_request(struct fetch_index *p, struct index_request *q)
{
    struct fetch_request *r = &q->pending.request;
    log_line(LOG_WARN, NULL, "damaged index response from executor %u, requesting it again",
             r->executor);
    buffer_fini(&r->response);
    fetch_wait_submit(p->wait, build_index_request(p, q));
    fetch_wait_until_done(p->wait, &q->pending);
}

/* Stores the entries of a finished request. Returns 0, or sets the task's error and p->lost: the
 * input that is lost, or the first one if the executor did not respond, since the driver needs some
 * map output to recompute. */
static int accept_index_response(struct fetch_index *p, struct index_request *q)
{
    struct fetch_request *r = &q->pending.request;
    uint32_t lost = q->first;
    if (r->error.code == GLINT_OK) {
        decode_index_response(p, q);
        if (r->error.code != GLINT_OK) retry_index_request(p, q);
        if (r->error.code == GLINT_OK) decode_index_response(p, q);
    }
    for (uint32_t i = q->first; r->error.code == GLINT_OK && i < q->first + q->count; i++) {
        p->entries[p->order[i]] = p->parts[i];
        if (!p->parts[i].lost) continue;
        lost = i;
        error_set(&r->error, GLINT_E_FETCH_FAILED, NULL,
                  "map output not found (shuffle %llu, map %u, attempt %u)",
                  (unsigned long long)p->shuffle, p->maps[i][0], p->maps[i][1]);
    }
    if (r->error.code == GLINT_OK) return 0;
    p->lost = p->order[lost];
    return fetch_set_error(p->wait->task, &r->error);
}

/* Allocates the arrays, sorts the remote inputs by executor and divides the inline bytes among the
 * executors. */
static int prepare_fetch_index(struct fetch_index *p, uint32_t count)
{
    struct glint_task *task = p->wait->task;
    p->entries = task_alloc(task, (count + 1) * sizeof *p->entries);
    p->order = task_alloc(task, (count + 1) * sizeof *p->order);
    if (p->entries == NULL || p->order == NULL) return task->error.code;
    for (uint32_t i = 0; i < count; i++)
        if (p->inputs[i].local == NULL) p->order[p->remote_count++] = i;
    qsort_r(p->order, p->remote_count, sizeof *p->order, compare_executors,
            (void *)(uintptr_t)p->inputs);
    uint32_t executors = 0;
    for (uint32_t i = 0; i < p->remote_count; i++) executors += index_is_first_of_executor(p, i);
    p->requests = task_alloc(task, (executors + 1) * sizeof *p->requests);
    p->maps = task_alloc(task, (p->remote_count + 1) * sizeof *p->maps);
    p->parts = task_alloc(task, (p->remote_count + 1) * sizeof *p->parts);
    if (p->requests == NULL || p->maps == NULL || p->parts == NULL) return task->error.code;
    if (executors > 0) p->bytes_max /= executors;
    if (p->bytes_max > FETCH_CHUNK_BYTES_MAX) p->bytes_max = FETCH_CHUNK_BYTES_MAX;
    return 0;
}

/* Requests the locations from the inputs' executors, one GET_INDEX each, and waits for all. The
 * responses contain up to p->bytes_max bytes of small parts inline, all together. Returns 0, or
 * FETCH_FAILED, INTERRUPTED or NO_MEMORY with the task's error set; call fetch_index_free in both
 * cases. */
static int fetch_index_request(struct fetch_index *p, uint32_t count)
{
    struct fetch_request *first = NULL;
    int r = prepare_fetch_index(p, count);
    if (r != 0) return r;
    for (uint32_t i = 0; i < p->remote_count; i++) {
        const struct fetch_input *in = &p->inputs[p->order[i]];
        if (index_is_first_of_executor(p, i))
            p->requests[p->request_count++] = (struct index_request){.first = i};
        p->requests[p->request_count - 1].count++;
        p->maps[i][0] = in->map;
        p->maps[i][1] = in->attempt;
    }
    for (uint32_t i = p->request_count; i-- > 0;) {
        struct fetch_request *request = build_index_request(p, &p->requests[i]);
        request->next = first;
        first = request;
    }
    fetch_wait_submit(p->wait, first);
    /* Wait for all, even if one fails: the fetcher still refers to the others. */
    for (uint32_t i = 0; i < p->request_count; i++)
        fetch_wait_until_done(p->wait, &p->requests[i].pending);
    for (uint32_t i = 0; i < p->request_count && r == 0; i++)
        r = accept_index_response(p, &p->requests[i]);
    return r;
}

/* Frees the responses; slices of inline bytes become invalid. Zeros are fine. */
static void fetch_index_free(struct fetch_index *p)
{
    for (uint32_t i = 0; i < p->request_count; i++)
        buffer_fini(&p->requests[i].pending.request.response);
    p->request_count = 0;
}

/* ---- The fetch */

#define CHUNK_BYTES_MIN (4 * KIB)
#define PART_BYTES_MAX  ((uint64_t)1 << 48)

/* One GET_MAP_OUTPUT request and its buffer. */
struct chunk {
    struct pending_fetch pending; /* first */
    struct chunk *next;           /* in its input's list, or in the free list */
    struct chunk *next_all;
    uint32_t size, consumed;
    uint8_t bytes[]; /* [f->chunk_bytes] */
};

/* The states, with the function of each change. ensure_chunk_requested opens an input that the
 * merge reads before its turn.
 *
 *     WAITING -> OPEN    [open_next_inputs, ensure_chunk_requested]
 *     OPEN    -> ENDED   [end_remote_input]
 *     any     -> OPEN    [rewind_remote_input]
 *     ENDED   -> WAITING [reread_remote_input, of inline bytes] */
enum remote_input_state { REMOTE_INPUT_WAITING, REMOTE_INPUT_OPEN, REMOTE_INPUT_ENDED };

/* A remote input with records. If its bytes were inline in the index response, source.memory is set
 * and it starts as REMOTE_INPUT_ENDED. Offsets in the source are relative to the part. */
struct remote_input {
    struct run_source source; /* first: read_remote_input casts it back */
    struct fetch *fetch;
    uint32_t input;
    enum remote_input_state state;
    uint64_t offset;            /* of the part in its run */
    uint64_t requested, at;     /* bytes requested; bytes read by the merge */
    struct chunk *first, *last; /* in flight or received, in order of offset */
    uint32_t chunks;
};

struct fetch {
    struct fetch_wait wait;
    struct glint_task *task;
    uint64_t shuffle;
    const struct fetch_input *inputs;
    uint32_t input_count;
    struct remote_input *remotes; /* those with records, in map order */
    uint32_t remote_count;
    uint32_t next_open, open; /* remotes before next_open were opened; `open` of them still are */
    uint64_t window;          /* bytes of all chunks, at most */
    uint64_t chunk_bytes;
    uint32_t share;            /* chunks that an input may have while other inputs are not open */
    struct chunk *free, *all;  /* lists */
    uint32_t count, count_max; /* chunks allocated; at most */
    struct fetch_request *to_submit, **to_submit_end; /* list, in the order that the merge needs */
    struct fetch_index index;
    uint32_t lost; /* see fetch_find_lost_input */
};

/* ---- Chunks */

static bool has_free_chunk(const struct fetch *f)
{
    return f->free != NULL || f->count < f->count_max;
}

/* Returns false when out of memory. */
static bool add_chunk_buffer(struct fetch *f)
{
    struct chunk *c = mem_alloc(sizeof *c + f->chunk_bytes);
    if (c == NULL) return false;
    c->pending.request.response = (struct buffer){NULL, 0, 0};
    c->next_all = f->all;
    c->next = f->free;
    f->all = f->free = c;
    f->count++;
    return true;
}

/* Queues a request for the next bytes of an input, for submit_requests. Returns false if no buffer
 * is free or the free one has no memory: prefetching less is no error. */
static bool queue_request_for_next_chunk(struct fetch *f, struct remote_input *r)
{
    uint64_t left = r->source.bytes - r->requested;
    assert(left > 0 && r->state == REMOTE_INPUT_OPEN);
    if (!has_free_chunk(f) || (f->free == NULL && !add_chunk_buffer(f))) return false;
    struct chunk *c = f->free;
    const struct fetch_input *in = &f->inputs[r->input];
    struct fetch_request *q = &c->pending.request;
    f->free = c->next;
    c->size = (uint32_t)(left < f->chunk_bytes ? left : f->chunk_bytes);
    c->consumed = 0;
    c->next = NULL;
    q->executor = in->executor;
    q->into = c->bytes;
    q->get = (struct get_request){.kind = GET_MAP_OUTPUT,
                                  .id = f->shuffle,
                                  .map = in->map,
                                  .attempt = in->attempt,
                                  .offset = r->offset + r->requested,
                                  .size = c->size};
    if (r->last != NULL)
        r->last->next = c;
    else
        r->first = c;
    r->last = c;
    r->chunks++;
    r->requested += c->size;
    q->next = NULL;
    *f->to_submit_end = q;
    f->to_submit_end = &q->next;
    return true;
}

static void submit_requests(struct fetch *f)
{
    fetch_wait_submit(&f->wait, f->to_submit);
    f->to_submit = NULL;
    f->to_submit_end = &f->to_submit;
}

/* Moves the first chunk of an input to the free list: it was read, or is discarded. Its request has
 * finished, so the fetcher no longer writes into it. */
static void release_first_chunk(struct fetch *f, struct remote_input *r)
{
    struct chunk *c = r->first;
    assert(c != NULL && r->chunks > 0);
    r->first = c->next;
    if (r->first == NULL) r->last = NULL;
    r->chunks--;
    c->next = f->free;
    f->free = c;
}

static bool has_bytes_to_request(const struct remote_input *r)
{
    return r->state == REMOTE_INPUT_OPEN && r->requested < r->source.bytes;
}

/* Opens inputs in merge order while there are free buffers. Inline inputs are skipped. */
static void open_next_inputs(struct fetch *f)
{
    while (has_free_chunk(f) && f->next_open < f->remote_count && f->open < MERGE_FAN_IN_MAX) {
        struct remote_input *r = &f->remotes[f->next_open];
        if (r->state == REMOTE_INPUT_WAITING) {
            r->state = REMOTE_INPUT_OPEN;
            if (!queue_request_for_next_chunk(f, r)) {
                r->state = REMOTE_INPUT_WAITING;
                return;
            }
            f->open++;
        }
        f->next_open++;
    }
}

/* Distributes the free buffers round robin over the open inputs, after the first chunk of each. */
static void request_initial_chunks(struct fetch *f)
{
    bool more = true;
    open_next_inputs(f);
    while (more) {
        more = false;
        for (uint32_t i = 0; i < f->next_open && has_free_chunk(f); i++)
            if (has_bytes_to_request(&f->remotes[i]))
                more |= queue_request_for_next_chunk(f, &f->remotes[i]);
    }
}

/* Reuses the buffers that reading `r` has freed. Beyond its share `r` gets them only if no other
 * input could be opened with them, so that one long input cannot use up the window. */
static void request_more_chunks(struct fetch *f, struct remote_input *r)
{
    while (has_bytes_to_request(r) && r->chunks < f->share && queue_request_for_next_chunk(f, r)) {
    }
    open_next_inputs(f);
    if (f->next_open == f->remote_count || f->open == MERGE_FAN_IN_MAX)
        while (has_bytes_to_request(r) && queue_request_for_next_chunk(f, r)) {
        }
}

/* ---- Reading */

/* Makes sure that the next chunk of the input is in flight or received. If no chunk is free, adds
 * one: the merge reads an input again, or one that was not opened yet. Exceeding the window by one
 * chunk is better than a deadlock. */
static int ensure_chunk_requested(struct fetch *f, struct remote_input *r)
{
    if (r->state == REMOTE_INPUT_WAITING) {
        r->state = REMOTE_INPUT_OPEN;
        f->open++;
    }
    if (r->first != NULL) return 0;
    assert(has_bytes_to_request(r));
    if (!has_free_chunk(f)) f->count_max++;
    if (!queue_request_for_next_chunk(f, r)) return error_no_memory(&f->task->error);
    submit_requests(f);
    return 0;
}

static int wait_for_next_chunk(struct fetch *f, struct remote_input *r)
{
    struct pending_fetch *a = &r->first->pending;
    if (a->ready) return 0;
    fetch_wait_until_done(&f->wait, a);
    if (a->request.error.code == GLINT_OK) {
        a->ready = true;
        return 0;
    }
    int e = fetch_set_error(f->task, &a->request.error);
    if (e == GLINT_E_FETCH_FAILED) f->lost = r->input;
    return e;
}

static void end_remote_input(struct fetch *f, struct remote_input *r)
{
    assert(r->first == NULL && r->at == r->source.bytes);
    if (r->state == REMOTE_INPUT_OPEN) f->open--;
    r->state = REMOTE_INPUT_ENDED;
}

/* The reader continues at another offset, after a damaged block. The chunks in flight are waited
 * for, since the fetcher writes into their buffers, and discarded. */
static void rewind_remote_input(struct fetch *f, struct remote_input *r, uint64_t offset)
{
    while (r->first != NULL) {
        fetch_wait_until_done(&f->wait, &r->first->pending);
        release_first_chunk(f, r);
    }
    if (r->state != REMOTE_INPUT_OPEN) f->open++;
    r->state = REMOTE_INPUT_OPEN;
    r->at = r->requested = offset;
}

/* run_source.read */
static int read_remote_input(const struct run_source *source, struct glint_task *task,
                             uint64_t offset, uint64_t size, uint8_t *out)
{
    static_assert(offsetof(struct remote_input, source) == 0, "cast back from its first member");
    struct remote_input *r = (struct remote_input *)(uintptr_t)source;
    struct fetch *f = r->fetch;
    assert(offset + size <= source->bytes && task == f->task);
    if (offset != r->at) rewind_remote_input(f, r, offset);
    while (size > 0) {
        int e = ensure_chunk_requested(f, r);
        if (e == 0) e = wait_for_next_chunk(f, r);
        if (e < 0) return e;
        struct chunk *c = r->first;
        uint64_t n = c->size - c->consumed;
        if (n > size) n = size;
        memcpy(out, c->bytes + c->consumed, n);
        c->consumed += (uint32_t)n;
        r->at += n;
        out += n;
        size -= n;
        if (c->consumed < c->size) continue;
        release_first_chunk(f, r);
        if (r->at == source->bytes) end_remote_input(f, r);
        request_more_chunks(f, r);
        submit_requests(f);
    }
    return 0;
}

/* run_source.reread: later reads must request the bytes again. */
static void reread_remote_input(const struct run_source *source)
{
    struct remote_input *r = (struct remote_input *)(uintptr_t)source;
    log_line(LOG_WARN, NULL, "damaged data from executor %u, fetching it again",
             r->fetch->inputs[r->input].executor);
    if (r->source.memory == NULL) return; /* rewind_remote_input discards the chunks */
    /* The inline bytes were damaged: fetch the part as a large one. */
    r->source.memory = NULL;
    r->state = REMOTE_INPUT_WAITING;
}

/* ---- Opening */

/* Sets the size and the number of the buffers. An input's share of the window is split into two
 * chunks, one to read while the other is in flight, unless the longest part fits into a share
 * whole. Chunks are not smaller than CHUNK_BYTES_MIN, since each costs a request: then the window
 * may be exceeded by at most MERGE_FAN_IN_MAX of them. */
static void plan_chunk_sizes(struct fetch *f)
{
    uint64_t longest = 0, need = 0;
    uint32_t at_once = 0;
    for (uint32_t i = 0; i < f->remote_count; i++) {
        if (f->remotes[i].state != REMOTE_INPUT_WAITING) continue;
        if (at_once < MERGE_FAN_IN_MAX) at_once++;
        if (f->remotes[i].source.bytes > longest) longest = f->remotes[i].source.bytes;
    }
    f->chunk_bytes = CHUNK_BYTES_MIN; /* all are inline, but a damaged one is fetched in chunks */
    if (at_once == 0) return;
    uint64_t share = f->window / at_once;
    uint64_t size = longest <= share ? longest : share / 2;
    if (size > FETCH_CHUNK_BYTES_MAX) size = FETCH_CHUNK_BYTES_MAX;
    if (size < CHUNK_BYTES_MIN) size = longest < CHUNK_BYTES_MIN ? longest : CHUNK_BYTES_MIN;
    for (uint32_t i = 0; i < f->remote_count; i++)
        if (f->remotes[i].state == REMOTE_INPUT_WAITING)
            need += (f->remotes[i].source.bytes + size - 1) / size;
    uint64_t count = f->window / size > at_once ? f->window / size : at_once;
    if (count > need) count = need;
    assert(size > 0 && count >= at_once && count <= UINT32_MAX);
    f->chunk_bytes = size;
    f->count_max = (uint32_t)count;
    f->share = (uint32_t)(count / at_once);
}

/* The response is not trusted: these limits keep the sums and divisions here from overflowing.
 * run_reader_open checks the rest. */
static bool is_valid_run_part(struct run_part part)
{
    return part.bytes > 0 && part.bytes <= PART_BYTES_MAX && part.offset <= PART_BYTES_MAX;
}

/* Adds a remote input and returns its slice. Inline bytes are counted against the window, since
 * they stay in memory until fetch_close. */
static struct run_slice add_remote_input(struct fetch *f, uint32_t input)
{
    const struct index_entry *entry = &f->index.entries[input];
    struct run_part part = entry->part;
    struct remote_input *r = &f->remotes[f->remote_count++];
    *r = (struct remote_input){.fetch = f, .input = input, .offset = part.offset};
    r->source = (struct run_source){.name = "fetched data",
                                    .bytes = part.bytes,
                                    .read = read_remote_input,
                                    .reread = reread_remote_input};
    if (entry->bytes.size > 0) {
        r->source.memory = entry->bytes.data;
        r->state = REMOTE_INPUT_ENDED;
        f->window -= part.bytes < f->window ? part.bytes : f->window;
    }
    part.offset = 0;
    return (struct run_slice){&r->source, part, entry->sorted};
}

/* Makes the slices of all inputs with records, in map order, and the state of the remote ones. */
static int make_input_slices(struct fetch *f, uint32_t partition, uint32_t count,
                             struct run_slice *out, uint32_t *out_count)
{
    f->remotes = task_alloc(f->task, (f->index.remote_count + 1) * sizeof *f->remotes);
    if (f->remotes == NULL) return f->task->error.code;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct run *local = f->inputs[i].local;
        if (local != NULL) {
            out[n] = run_slice(local, partition);
            n += out[n].part.records > 0;
            continue;
        }
        const struct run_part part = f->index.entries[i].part;
        if (part.records > 0 && !is_valid_run_part(part)) {
            f->lost = i;
            return error_set(&f->task->error, GLINT_E_FETCH_FAILED, NULL, "invalid index");
        }
        if (part.records > 0) out[n++] = add_remote_input(f, i);
    }
    *out_count = n;
    return 0;
}

static int open_fetch_inputs(struct fetch *f, uint32_t partition, uint32_t count,
                             struct run_slice **out, uint32_t *out_count)
{
    struct run_slice *slices = task_alloc(f->task, (count + 1) * sizeof *slices);
    if (slices == NULL) return f->task->error.code;
    f->window = f->task->options->memory_bytes / 2;
    if (f->window > FETCH_WINDOW_BYTES) f->window = FETCH_WINDOW_BYTES;
    /* At most half of the window for inline parts: the chunks of the others need the rest. */
    f->index = (struct fetch_index){.wait = &f->wait,
                                    .shuffle = f->shuffle,
                                    .partition = partition,
                                    .bytes_max = f->window / 2,
                                    .inputs = f->inputs,
                                    .lost = UINT32_MAX};
    int r = fetch_index_request(&f->index, count);
    if (r != 0) f->lost = f->index.lost;
    if (r == 0) r = make_input_slices(f, partition, count, slices, out_count);
    if (r != 0) return r;
    plan_chunk_sizes(f);
    request_initial_chunks(f);
    submit_requests(f);
    *out = slices;
    return 0;
}

struct fetch *fetch_open(struct glint_task *task, const struct fetcher *fetcher, uint64_t shuffle,
                         uint32_t partition, const struct fetch_input *inputs, uint32_t count,
                         struct run_slice **out, uint32_t *out_count, uint32_t *out_lost)
{
    struct fetch *f = task_alloc(task, sizeof *f);
    struct fetch_input *copy = task_alloc(task, (count + 1) * sizeof *copy);
    if (f == NULL || copy == NULL) return NULL;
    memcpy(copy, inputs, count * sizeof *copy);
    *f = (struct fetch){
        .task = task, .shuffle = shuffle, .inputs = copy, .input_count = count, .lost = UINT32_MAX};
    f->to_submit_end = &f->to_submit;
    fetch_wait_init(&f->wait, task, fetcher);
    if (open_fetch_inputs(f, partition, count, out, out_count) == 0) return f;
    *out_lost = f->lost;
    fetch_close(f);
    return NULL;
}

uint32_t fetch_find_lost_input(const struct fetch *f)
{
    if (f->task->error.code == GLINT_E_FETCH_FAILED) return f->lost;
    /* SHUFFLE_CORRUPT: the reader has recorded the source. */
    const struct run_source *source = f->task->failed_source;
    for (uint32_t i = 0; source != NULL && i < f->input_count; i++)
        if (f->inputs[i].local != NULL && &f->inputs[i].local->source == source) return i;
    for (uint32_t i = 0; source != NULL && i < f->remote_count; i++)
        if (&f->remotes[i].source == source) return f->remotes[i].input;
    return UINT32_MAX;
}

void fetch_close(struct fetch *f)
{
    if (f == NULL) return;
    fetch_wait_cancel_all(&f->wait);
    fetch_wait_fini(&f->wait);
    for (struct chunk *c = f->all, *next; c != NULL; c = next) {
        next = c->next_all;
        mem_free(c);
    }
    f->all = NULL;
    fetch_index_free(&f->index);
}
