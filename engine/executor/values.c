/* The loop thread fetches, checks and serves; slots only wait. What both look at (is it whole, has
 * it failed, when did the last block come) changes under one lock; the blocks' own states are the
 * loop's alone, and a value's bytes are read by slots only once it is whole.
 *
 * At most REQUESTS_WANTED blocks of a value are asked for at a time: each TRACK wants what is
 * missing to that, and reports what came or failed, so every request that ends asks for the next.
 *
 *   block: MISSING -> ASKED   [values_on_tracked]
 *          ASKED   -> HERE    [block_arrived]
 *          ASKED   -> MISSING [block_failed; at BLOCK_TRIES_MAX the value fails] */
#include "engine/executor/values.h"

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/net/value.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define REQUESTS_WANTED 4u
#define BLOCK_TRIES_MAX 8u
/* A block may take the time of a request that hangs, and then that of another one, from the driver.
 */
#define PATIENCE_REQUESTS 3u
static_assert(REQUESTS_WANTED <= TRACK_BLOCKS_MAX, "a TRACK can ask for them");

enum block_state { BLOCK_MISSING, BLOCK_ASKED, BLOCK_HERE };

struct block {
    uint8_t state, failures;
    struct buffer packed; /* as it came, if it came so: others will ask for it */
};

struct request {
    struct fetch_request fetch;
    struct value *value; /* NULL: free */
    uint64_t sum;
};

struct value {
    struct value *next; /* changes under the lock */
    struct values *owner;
    uint64_t id, size;
    uint8_t *data;
    uint32_t block_count, requests_out;
    struct request requests[TRACK_BLOCKS_MAX];
    /* These four change under the lock. */
    bool whole;
    uint32_t here;
    uint64_t progress_ns;
    struct glint_error error; /* it cannot be had */
    struct block blocks[];
};

struct values {
    struct env *env;
    const struct fetcher *fetcher;
    uint64_t fetch_ms;
    bool (*track)(void *arg, const struct track *t);
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something that waiting slots look at */
    struct value *first;
};

struct values *values_create(struct env *env, const struct fetcher *fetcher, uint64_t fetch_ms,
                             bool (*track)(void *arg, const struct track *t), void *arg)
{
    struct values *v = mem_zalloc(sizeof *v);
    if (v == NULL) return NULL;
    v->env = env;
    v->fetcher = fetcher;
    v->fetch_ms = fetch_ms;
    v->track = track;
    v->arg = arg;
    pthread_mutex_init(&v->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&v->changed, &clock);
    pthread_condattr_destroy(&clock);
    return v;
}

static void value_free(struct value *value)
{
    assert(value->requests_out == 0);
    for (uint32_t b = 0; b < value->block_count; b++) buffer_fini(&value->blocks[b].packed);
    mem_free(value->data);
    mem_free(value);
}

void values_destroy(struct values *v)
{
    if (v == NULL) return;
    for (struct value *value = v->first, *next; value != NULL; value = next) {
        next = value->next;
        value_free(value);
    }
    pthread_cond_destroy(&v->changed);
    pthread_mutex_destroy(&v->lock);
    mem_free(v);
}

/* The loop's thread needs no lock for the list, which only it changes. */
static struct value *find(const struct values *v, uint64_t id)
{
    struct value *value = v->first;
    while (value != NULL && value->id != id) value = value->next;
    return value;
}

/* ---- Fetching: the loop's thread */

/* Only the first failure counts. */
static void value_fail(struct value *value, const struct glint_error *why)
{
    struct values *v = value->owner;
    assert(why->code != GLINT_OK && !value->whole);
    pthread_mutex_lock(&v->lock);
    if (value->error.code == GLINT_OK) value->error = *why;
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
}

static void send_track(struct value *value, struct track *t)
{
    t->id = value->id;
    bool ended = value->whole || value->error.code != GLINT_OK;
    if (!ended && value->requests_out < REQUESTS_WANTED)
        t->want = REQUESTS_WANTED - value->requests_out;
    if (value->owner->track(value->owner->arg, t) || ended) return;
    struct glint_error gone = {.code = GLINT_OK};
    error_set(&gone, GLINT_E_CONNECTION, NULL, "the driver is gone, broadcast %llu is not complete",
              (unsigned long long)value->id);
    value_fail(value, &gone);
}

int values_announce(struct values *v, uint64_t id, uint64_t size, struct glint_error *error)
{
    if (find(v, id) != NULL) return 0;
    if (size > UINT32_MAX * (VALUE_BLOCK_BYTES_MAX / 2))
        return error_set(error, GLINT_E_VALUE_LIMIT, NULL, "a broadcast of %llu bytes",
                         (unsigned long long)size);
    uint32_t blocks = value_blocks(size);
    struct value *value = mem_zalloc(sizeof *value + sizeof value->blocks[0] * blocks);
    uint8_t *data = mem_alloc(size > 0 ? size : 1);
    if (value == NULL || data == NULL) {
        mem_free(value);
        mem_free(data);
        return error_no_memory(error);
    }
    value->owner = v;
    value->id = id;
    value->size = size;
    value->data = data;
    value->block_count = blocks;
    value->whole = blocks == 0;
    value->progress_ns = v->env->now_ns(v->env);
    pthread_mutex_lock(&v->lock);
    value->next = v->first;
    v->first = value;
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
    struct track t = {.id = id};
    if (!value->whole) send_track(value, &t);
    return 0;
}

/* Takes what is packed. */
static void block_arrived(struct value *value, uint32_t block, struct buffer *packed)
{
    struct values *v = value->owner;
    assert(value->blocks[block].packed.data == NULL);
    value->blocks[block].packed = *packed;
    value->blocks[block].state = BLOCK_HERE;
    pthread_mutex_lock(&v->lock);
    value->here++;
    assert(value->here <= value->block_count);
    value->progress_ns = v->env->now_ns(v->env);
    value->whole = value->here == value->block_count && value->error.code == GLINT_OK;
    if (value->whole) pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
    struct track t = {.have_count = 1, .have = {block}};
    send_track(value, &t);
}

static void block_failed(struct value *value, uint32_t block, struct buffer *packed,
                         const struct glint_error *why)
{
    struct block *b = &value->blocks[block];
    buffer_fini(packed);
    b->state = BLOCK_MISSING;
    if (++b->failures >= BLOCK_TRIES_MAX) value_fail(value, why);
    struct track t = {.failed_count = 1, .failed = {block}};
    send_track(value, &t);
}

static void on_done(struct fetch_request *fetch)
{
    struct request *r = fetch->arg;
    struct value *value = r->value;
    uint32_t block = fetch->get.block;
    assert(value != NULL && value->requests_out > 0);
    assert(value->blocks[block].state == BLOCK_ASKED);
    struct buffer packed = fetch->answer;
    struct glint_error why = fetch->error;
    uint64_t sum = r->sum;
    value->requests_out--;
    memset(r, 0, sizeof *r);
    const struct glint_slice bytes = {packed.data, packed.size};
    int code = why.code;
    if (code == GLINT_OK)
        code = value_take(value->id, block, sum, bytes, value->data, value->size, &why);
    if (code == GLINT_OK)
        block_arrived(value, block, &packed);
    else
        block_failed(value, block, &packed, &why);
}

/* Nothing has changed on PROTOCOL: all of it is looked at first. */
static int check_tracked(const struct value *value, const struct tracked *t,
                         struct glint_error *error)
{
    if (value == NULL)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "no broadcast %llu was announced",
                         (unsigned long long)t->id);
    if (t->count > TRACK_BLOCKS_MAX - value->requests_out)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "%u blocks to fetch at once", t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t block = t->blocks[i].block;
        bool again = false;
        for (uint32_t k = 0; k < i; k++) again = again || t->blocks[k].block == block;
        if (!again && block < value->block_count && value->blocks[block].state == BLOCK_MISSING)
            continue;
        return error_set(error, GLINT_E_PROTOCOL, NULL, "block %u of broadcast %llu is not missing",
                         block, (unsigned long long)t->id);
    }
    return 0;
}

static struct request *free_request(struct value *value)
{
    uint32_t i = 0;
    while (value->requests[i].value != NULL) i++;
    assert(i < TRACK_BLOCKS_MAX);
    return &value->requests[i];
}

int values_on_tracked(struct values *v, const struct tracked *t, struct glint_error *error)
{
    struct value *value = find(v, t->id);
    int r = check_tracked(value, t, error);
    if (r != 0 || t->count == 0) return r;
    struct fetch_request *first = NULL, **last = &first;
    for (uint32_t i = 0; i < t->count; i++) {
        struct request *request = free_request(value);
        uint32_t block = t->blocks[i].block;
        uint64_t size = value_block_size(value->size, block);
        *request = (struct request){
            .value = value,
            .sum = t->blocks[i].sum,
            .fetch = {.executor = t->blocks[i].from,
                      .get = {.kind = GET_VALUE, .id = value->id, .block = block, .size = size},
                      .into = value->data + block * value_block_bytes(value->size),
                      .done = on_done,
                      .arg = request}};
        value->blocks[block].state = BLOCK_ASKED;
        value->requests_out++;
        *last = &request->fetch;
        last = &request->fetch.next;
    }
    v->fetcher->submit(v->fetcher->arg, first);
    return 0;
}

/* ---- Serving: the loop's thread */

bool values_block(struct values *v, uint64_t id, uint32_t block, struct glint_slice *out)
{
    struct value *value = find(v, id);
    if (value == NULL || block >= value->block_count) return false;
    const struct block *b = &value->blocks[block];
    if (b->state != BLOCK_HERE) return false;
    *out = (struct glint_slice){b->packed.data, b->packed.size};
    if (b->packed.size == 0)
        *out = value_block((struct glint_slice){value->data, value->size}, block);
    return true;
}

/* ---- Waiting: slots' threads */

void values_wake(struct values *v)
{
    pthread_mutex_lock(&v->lock);
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
}

/* Until something changed, or the clock has reached the deadline. */
static void wait_changed(struct values *v, uint64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                             .tv_nsec = (long)(deadline_ns % 1000000000u)};
    pthread_cond_timedwait(&v->changed, &v->lock, &until);
}

/* With the lock. 0: whole; a code: it will not be; 1: wait until *out_deadline_ns. */
static int look(const struct values *v, const struct value *value, const atomic_bool *cancel_flag,
                uint64_t begun_ns, uint64_t *out_deadline_ns, struct glint_error *error)
{
    if (value->whole) return 0;
    if (value->error.code != GLINT_OK) {
        *error = value->error;
        return error->code;
    }
    if (cancel_flag != NULL && atomic_load(cancel_flag))
        return error_set(error, GLINT_E_INTERRUPTED, NULL, "the job was cancelled");
    uint64_t since = value->progress_ns > begun_ns ? value->progress_ns : begun_ns;
    uint64_t patience_ms = PATIENCE_REQUESTS * v->fetch_ms;
    *out_deadline_ns = since + patience_ms * 1000000u;
    if (v->env->now_ns(v->env) < *out_deadline_ns) return 1;
    return error_set(error, GLINT_E_CONNECTION, NULL,
                     "broadcast %llu: %u of %u blocks are here, and none came for %llu ms",
                     (unsigned long long)value->id, value->here, value->block_count,
                     (unsigned long long)patience_ms);
}

int values_get(struct values *v, uint64_t id, const atomic_bool *cancel_flag,
               struct glint_slice *out, struct glint_error *error)
{
    uint64_t begun_ns = v->env->now_ns(v->env), deadline_ns = 0;
    pthread_mutex_lock(&v->lock);
    const struct value *value = find(v, id);
    int r = value != NULL ? 1
                          : error_set(error, GLINT_E_PROTOCOL, NULL,
                                      "broadcast %llu was not announced", (unsigned long long)id);
    while (r == 1) {
        r = look(v, value, cancel_flag, begun_ns, &deadline_ns, error);
        if (r == 1) wait_changed(v, deadline_ns);
    }
    if (r == 0) *out = (struct glint_slice){value->data, value->size};
    pthread_mutex_unlock(&v->lock);
    return r;
}
