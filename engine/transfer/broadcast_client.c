/* The loop thread fetches, verifies and serves blocks; slots only wait. State that both use
 * (complete, error, progress) changes under one lock. Block states belong to the loop thread. Slots
 * read the bytes only once the broadcast is complete.
 *
 * At most REQUESTS_TARGET blocks of a broadcast are in flight: each BLOCK_REQUEST asks for as many
 * blocks as are missing to that number and reports blocks that arrived or failed, so each completed
 * request triggers the next.
 *
 *    MISSING   -> REQUESTED [broadcast_client_on_assign]
 *    REQUESTED -> PRESENT   [on_broadcast_block_received]
 *    REQUESTED -> MISSING   [on_broadcast_block_failed; after BLOCK_TRIES_MAX failures the
 * broadcast fails] */
#include "engine/base/endian.h"
#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/transfer/broadcast.h"

#include <assert.h>
#include <lz4.h>
#include <pthread.h>
#include <time.h>

/* Blocks of a broadcast: compression, decompression and checksums. */

static_assert(BROADCAST_BLOCK_BYTES_MAX <= LZ4_MAX_INPUT_SIZE,
              "a block can be compressed in one call");
static_assert(BROADCAST_BLOCK_BYTES_MAX <= DATA_FRAME_BYTES_MAX, "a block fits one DATA frame");

/* Identifies a block by value id and block number. */
static uint64_t block_checksum_seed(uint64_t id, uint32_t block)
{
    uint8_t place[12];
    put_le64(place, id);
    put_le32(place + 8, block);
    return hash_checksum(place, sizeof place);
}

uint64_t broadcast_block_checksum(uint64_t id, uint32_t block, struct glint_slice value)
{
    assert(block < broadcast_block_count(value.size));
    struct glint_slice bytes = broadcast_block_slice(value, block);
    return XXH3_64bits_withSeed(bytes.data, bytes.size, block_checksum_seed(id, block));
}

int broadcast_block_compress(uint32_t block, struct glint_slice value, struct buffer *out,
                             struct glint_error *error)
{
    assert(block < broadcast_block_count(value.size) && out->data == NULL);
    struct glint_slice bytes = broadcast_block_slice(value, block);
    /* Require a saving of at least an eighth: for less, decompression costs the receiver more than
     * the network saves. */
    uint64_t room = bytes.size - bytes.size / 8;
    if (!buffer_reserve(out, room)) return error_no_memory(error);
    int n = LZ4_compress_default((const char *)bytes.data, (char *)out->data, (int)bytes.size,
                                 (int)room);
    if (n > 0 && (uint64_t)n < bytes.size)
        out->size = (uint64_t)n;
    else
        buffer_fini(out);
    return 0;
}

int broadcast_block_decode(uint64_t id, uint32_t block, uint64_t checksum,
                           struct glint_slice packed, uint8_t *value, uint64_t size,
                           struct glint_error *error)
{
    assert(block < broadcast_block_count(size));
    uint32_t raw = broadcast_block_bytes_at(size, block);
    uint8_t *place = value + block * broadcast_block_bytes(size);
    const char *what = "it cannot be decompressed";
    /* A compressed block is always shorter than the block, so another size is corrupt. */
    if (packed.size > 0 &&
        (packed.size >= raw || LZ4_decompress_safe((const char *)packed.data, (char *)place,
                                                   (int)packed.size, (int)raw) != (int)raw))
        goto corrupt;
    what = "it does not match its checksum";
    if (broadcast_block_checksum(id, block, (struct glint_slice){value, size}) == checksum)
        return 0;
corrupt:
    return error_set(
        error, GLINT_E_SHUFFLE_CORRUPT, "the network or a machine's memory may be faulty",
        "block %u of broadcast %llu is damaged: %s", block, (unsigned long long)id, what);
}

#define REQUESTS_TARGET 4u
#define BLOCK_TRIES_MAX 8u
/* Times fetch_ms without a new block. More than 2: a block may take a request that hangs for
 * fetch_ms and then one from the driver. */
#define WAIT_REQUESTS 3u
static_assert(REQUESTS_TARGET <= BLOCK_REQUEST_MAX, "a BLOCK_REQUEST can request them");

enum block_state { BLOCK_MISSING, BLOCK_REQUESTED, BLOCK_PRESENT };

struct broadcast_block {
    uint8_t state, failures;
    struct buffer packed; /* compressed, if it arrived so: to serve */
    uint64_t checksum;    /* of the last BLOCK_ASSIGN, as is `fetch` */
    struct fetch_request fetch;
};

struct broadcast {
    struct broadcast *next; /* written under the lock */
    struct broadcast_client *owner;
    uint64_t id, size;
    uint8_t *data;
    uint32_t block_count, requests_in_flight;
    /* These are written under the lock. */
    uint32_t refs; /* slots that use or wait for it, blocks being sent, requests in flight */
    bool removed;  /* not in the list: freed with the last ref */
    bool complete;
    uint32_t present_count;
    uint64_t progress_ns;
    struct glint_error error; /* why the broadcast failed */
    struct broadcast_block blocks[];
};

struct broadcast_client {
    struct env *env;
    const struct fetcher *fetcher;
    uint64_t fetch_ms;
    bool (*request_blocks)(void *arg, const struct block_request *t);
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* complete, error or a cancel flag */
    struct broadcast *first;
    uint64_t last_announced; /* ids ascend */
};

struct broadcast_client *
broadcast_client_create(struct env *env, const struct fetcher *fetcher, uint64_t fetch_ms,
                        bool (*request_blocks)(void *arg, const struct block_request *t), void *arg)
{
    struct broadcast_client *v = mem_zalloc(sizeof *v);
    if (v == NULL) return NULL;
    v->env = env;
    v->fetcher = fetcher;
    v->fetch_ms = fetch_ms;
    v->request_blocks = request_blocks;
    v->arg = arg;
    pthread_mutex_init(&v->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&v->changed, &clock);
    pthread_condattr_destroy(&clock);
    return v;
}

static void free_fetched_broadcast(struct broadcast *broadcast)
{
    assert(broadcast->requests_in_flight == 0);
    for (uint32_t b = 0; b < broadcast->block_count; b++) buffer_fini(&broadcast->blocks[b].packed);
    mem_free(broadcast->data);
    mem_free(broadcast);
}

void broadcast_client_destroy(struct broadcast_client *v)
{
    if (v == NULL) return;
    for (struct broadcast *broadcast = v->first, *next; broadcast != NULL; broadcast = next) {
        next = broadcast->next;
        free_fetched_broadcast(broadcast);
    }
    pthread_cond_destroy(&v->changed);
    pthread_mutex_destroy(&v->lock);
    mem_free(v);
}

void broadcast_client_release(void *client, void *ref)
{
    struct broadcast_client *v = client;
    struct broadcast *broadcast = ref;
    pthread_mutex_lock(&v->lock);
    assert(broadcast->owner == v && broadcast->refs > 0);
    const bool last = --broadcast->refs == 0 && broadcast->removed;
    pthread_mutex_unlock(&v->lock);
    if (last) free_fetched_broadcast(broadcast);
}

/* Loop thread: needs no lock, because only it changes the list. Others hold the lock. */
static struct broadcast *find_announced_broadcast(const struct broadcast_client *v, uint64_t id)
{
    struct broadcast *broadcast = v->first;
    while (broadcast != NULL && broadcast->id != id) broadcast = broadcast->next;
    return broadcast;
}

/* ---- Fetching: loop thread */

/* Fails the broadcast and wakes all waiters; only the first error is kept. */
static void fail_broadcast_and_waiters(struct broadcast *broadcast, const struct glint_error *why)
{
    struct broadcast_client *v = broadcast->owner;
    assert(why->code != GLINT_OK);
    pthread_mutex_lock(&v->lock);
    if (broadcast->error.code == GLINT_OK) broadcast->error = *why;
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
}

static void request_broadcast_blocks_from_driver(struct broadcast *broadcast,
                                                 struct block_request *t)
{
    t->id = broadcast->id;
    bool ended = broadcast->complete || broadcast->error.code != GLINT_OK;
    if (broadcast->removed) return;
    if (!ended && broadcast->requests_in_flight < REQUESTS_TARGET)
        t->blocks_max = REQUESTS_TARGET - broadcast->requests_in_flight;
    /* A complete broadcast reports its last block too, so that others can fetch it from here. */
    if (broadcast->owner->request_blocks(broadcast->owner->arg, t) || ended) return;
    struct glint_error driver_gone = {.code = GLINT_OK};
    error_set(&driver_gone, GLINT_E_CONNECTION, NULL,
              "the driver disconnected before broadcast %llu was complete",
              (unsigned long long)broadcast->id);
    fail_broadcast_and_waiters(broadcast, &driver_gone);
}

int broadcast_client_add(struct broadcast_client *v, uint64_t id, uint64_t size,
                         struct glint_error *error)
{
    if (find_announced_broadcast(v, id) != NULL) return 0;
    /* The block count must fit into 32 bits. */
    if (size > UINT32_MAX * (BROADCAST_BLOCK_BYTES_MAX / 2))
        return error_set(error, GLINT_E_VALUE_LIMIT, NULL,
                         "broadcast %llu of %llu bytes is too large", (unsigned long long)id,
                         (unsigned long long)size);
    uint32_t blocks = broadcast_block_count(size);
    struct broadcast *broadcast =
        mem_zalloc(sizeof *broadcast + sizeof broadcast->blocks[0] * blocks);
    uint8_t *data = mem_alloc(size > 0 ? size : 1);
    if (broadcast == NULL || data == NULL) {
        mem_free(broadcast);
        mem_free(data);
        return error_no_memory(error);
    }
    broadcast->owner = v;
    broadcast->id = id;
    broadcast->size = size;
    broadcast->data = data;
    broadcast->block_count = blocks;
    broadcast->complete = blocks == 0;
    broadcast->progress_ns = v->env->now_ns(v->env);
    pthread_mutex_lock(&v->lock);
    broadcast->next = v->first;
    v->first = broadcast;
    if (id > v->last_announced) v->last_announced = id;
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
    struct block_request t = {.id = id};
    if (!broadcast->complete) request_broadcast_blocks_from_driver(broadcast, &t);
    return 0;
}

void broadcast_client_request_missing_blocks(struct broadcast_client *v)
{
    for (struct broadcast *b = v->first; b != NULL; b = b->next) {
        struct block_request t = {.id = b->id};
        if (!b->complete) request_broadcast_blocks_from_driver(b, &t);
    }
}

void broadcast_client_remove(struct broadcast_client *v, uint64_t id)
{
    struct broadcast **link = &v->first;
    while (*link != NULL && (*link)->id != id) link = &(*link)->next;
    struct broadcast *broadcast = *link;
    if (broadcast == NULL) return;
    struct glint_error freed = {.code = GLINT_OK};
    error_set(&freed, GLINT_E_INTERRUPTED, NULL, "broadcast %llu was freed",
              (unsigned long long)id);
    if (!broadcast->complete) fail_broadcast_and_waiters(broadcast, &freed);
    pthread_mutex_lock(&v->lock);
    *link = broadcast->next;
    broadcast->removed = true;
    const bool last = broadcast->refs == 0;
    pthread_mutex_unlock(&v->lock);
    if (last) free_fetched_broadcast(broadcast);
}

/* A block is verified and in place. Takes ownership of `packed`. */
static void on_broadcast_block_received(struct broadcast *broadcast, uint32_t block,
                                        struct buffer *packed)
{
    struct broadcast_client *v = broadcast->owner;
    assert(broadcast->blocks[block].packed.data == NULL);
    broadcast->blocks[block].packed = *packed;
    broadcast->blocks[block].state = BLOCK_PRESENT;
    pthread_mutex_lock(&v->lock);
    broadcast->present_count++;
    /* A broadcast that failed stays failed even if all blocks arrive: a waiter may have seen the
     * error. */
    assert(broadcast->present_count <= broadcast->block_count);
    broadcast->progress_ns = v->env->now_ns(v->env);
    broadcast->complete =
        broadcast->present_count == broadcast->block_count && broadcast->error.code == GLINT_OK;
    if (broadcast->complete) pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
    struct block_request t = {.received_count = 1, .received = {block}};
    request_broadcast_blocks_from_driver(broadcast, &t);
}

static void on_broadcast_block_failed(struct broadcast *broadcast, uint32_t block,
                                      struct buffer *packed, const struct glint_error *why)
{
    struct broadcast_block *b = &broadcast->blocks[block];
    buffer_fini(packed);
    b->state = BLOCK_MISSING;
    if (++b->failures >= BLOCK_TRIES_MAX) fail_broadcast_and_waiters(broadcast, why);
    struct block_request t = {.failed_count = 1, .failed = {block}};
    request_broadcast_blocks_from_driver(broadcast, &t);
}

static void on_broadcast_block(struct fetch_request *fetch)
{
    struct broadcast *broadcast = fetch->arg;
    uint32_t block = fetch->get.block;
    assert(broadcast->requests_in_flight > 0);
    assert(broadcast->blocks[block].state == BLOCK_REQUESTED);
    struct buffer packed = fetch->response;
    struct glint_error why = fetch->error;
    /* First: on_broadcast_block_received and on_broadcast_block_failed ask for as many blocks as
     * may be in flight. */
    broadcast->requests_in_flight--;
    const struct glint_slice bytes = buffer_slice(&packed);
    int code = why.code;
    if (code == GLINT_OK)
        code = broadcast_block_decode(broadcast->id, block, broadcast->blocks[block].checksum,
                                      bytes, broadcast->data, broadcast->size, &why);
    if (code == GLINT_OK)
        on_broadcast_block_received(broadcast, block, &packed);
    else
        on_broadcast_block_failed(broadcast, block, &packed, &why);
    broadcast_client_release(broadcast->owner, broadcast);
}

static void ref_broadcast_for_request(struct broadcast *broadcast)
{
    pthread_mutex_lock(&broadcast->owner->lock);
    broadcast->refs++;
    pthread_mutex_unlock(&broadcast->owner->lock);
}

/* Checks the whole assignment first, so that PROTOCOL leaves nothing changed. Each block must be
 * MISSING: two requests must never write to the same memory. */
static int check_broadcast_block_assignment(const struct broadcast *broadcast,
                                            const struct block_assignment *t,
                                            struct glint_error *error)
{
    if (broadcast == NULL)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "broadcast %llu was not announced",
                         (unsigned long long)t->id);
    if (t->count > BLOCK_REQUEST_MAX - broadcast->requests_in_flight)
        return error_set(error, GLINT_E_PROTOCOL, NULL,
                         "%u blocks assigned at once, more than allowed", t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t block = t->blocks[i].block;
        bool again = false;
        for (uint32_t k = 0; k < i; k++) again = again || t->blocks[k].block == block;
        if (!again && block < broadcast->block_count &&
            broadcast->blocks[block].state == BLOCK_MISSING)
            continue;
        return error_set(error, GLINT_E_PROTOCOL, NULL,
                         "block %u of broadcast %llu does not exist, or is assigned twice", block,
                         (unsigned long long)t->id);
    }
    return 0;
}

int broadcast_client_on_assign(struct broadcast_client *v, const struct block_assignment *t,
                               struct glint_error *error)
{
    struct broadcast *broadcast = find_announced_broadcast(v, t->id);
    /* It was removed while the assignment was on its way. */
    if (broadcast == NULL && t->id <= v->last_announced) return 0;
    int r = check_broadcast_block_assignment(broadcast, t, error);
    if (r != 0 || t->count == 0) return r;
    struct fetch_request *first = NULL, **last = &first;
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t block = t->blocks[i].block;
        struct broadcast_block *b = &broadcast->blocks[block];
        b->state = BLOCK_REQUESTED;
        b->checksum = t->blocks[i].checksum;
        b->fetch = (struct fetch_request){
            .executor = t->blocks[i].from,
            .get = {.kind = GET_BROADCAST_BLOCK,
                    .id = broadcast->id,
                    .block = block,
                    .size = broadcast_block_bytes_at(broadcast->size, block)},
            .into = broadcast->data + block * broadcast_block_bytes(broadcast->size),
            .done = on_broadcast_block,
            .arg = broadcast};
        broadcast->requests_in_flight++;
        ref_broadcast_for_request(broadcast);
        *last = &b->fetch;
        last = &b->fetch.next;
    }
    v->fetcher->submit(v->fetcher->arg, first);
    return 0;
}

/* ---- Serving: loop thread */

void *broadcast_client_find_block(struct broadcast_client *v, uint64_t id, uint32_t block,
                                  struct glint_slice *out)
{
    struct broadcast *broadcast = find_announced_broadcast(v, id);
    if (broadcast == NULL || block >= broadcast->block_count) return NULL;
    const struct broadcast_block *b = &broadcast->blocks[block];
    if (b->state != BLOCK_PRESENT) return NULL;
    *out = buffer_slice(&b->packed);
    /* Arrived uncompressed: serve it from the broadcast's memory. */
    if (b->packed.size == 0)
        *out = broadcast_block_slice((struct glint_slice){broadcast->data, broadcast->size}, block);
    ref_broadcast_for_request(broadcast);
    return broadcast;
}

/* ---- Waiting: slot threads */

void broadcast_client_wake_waiters(struct broadcast_client *v)
{
    pthread_mutex_lock(&v->lock);
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
}

/* Waits, with the lock, for a change or until `deadline_ns` (CLOCK_MONOTONIC). */
static void wait_for_broadcast_change(struct broadcast_client *v, uint64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                             .tv_nsec = (long)(deadline_ns % 1000000000u)};
    pthread_cond_timedwait(&v->changed, &v->lock, &until);
}

/* Called with the lock. Returns 0: complete; a code with *error set: failed; 1: wait until
 * *out_deadline_ns. */
static int check_broadcast_progress(const struct broadcast_client *v,
                                    const struct broadcast *broadcast,
                                    const atomic_bool *cancel_flag, uint64_t start_ns,
                                    uint64_t *out_deadline_ns, struct glint_error *error)
{
    if (broadcast->complete) return 0;
    if (broadcast->error.code != GLINT_OK) {
        *error = broadcast->error;
        return error->code;
    }
    if (cancel_flag != NULL && atomic_load(cancel_flag))
        return error_set(error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    /* The deadline restarts with each block that arrives: a slow broadcast that makes progress is
     * fine. */
    uint64_t since = broadcast->progress_ns > start_ns ? broadcast->progress_ns : start_ns;
    uint64_t limit_ms = WAIT_REQUESTS * v->fetch_ms;
    *out_deadline_ns = since + limit_ms * 1000000u;
    if (v->env->now_ns(v->env) < *out_deadline_ns) return 1;
    return error_set(error, GLINT_E_CONNECTION, NULL,
                     "broadcast %llu: received %u of %u blocks, no progress for %llu ms",
                     (unsigned long long)broadcast->id, broadcast->present_count,
                     broadcast->block_count, (unsigned long long)limit_ms);
}

void *broadcast_client_wait(struct broadcast_client *v, uint64_t id, const atomic_bool *cancel_flag,
                            struct glint_slice *out, struct glint_error *error)
{
    uint64_t start_ns = v->env->now_ns(v->env), deadline_ns = 0;
    pthread_mutex_lock(&v->lock);
    struct broadcast *broadcast = find_announced_broadcast(v, id);
    if (broadcast != NULL) broadcast->refs++;
    int r = broadcast != NULL
                ? 1
                : error_set(error, GLINT_E_PROTOCOL, NULL, "broadcast %llu was not announced",
                            (unsigned long long)id);
    while (r == 1) {
        r = check_broadcast_progress(v, broadcast, cancel_flag, start_ns, &deadline_ns, error);
        if (r == 1) wait_for_broadcast_change(v, deadline_ns);
    }
    if (r == 0) *out = (struct glint_slice){broadcast->data, broadcast->size};
    pthread_mutex_unlock(&v->lock);
    if (r == 0) return broadcast;
    if (broadcast != NULL) broadcast_client_release(v, broadcast);
    return NULL;
}
