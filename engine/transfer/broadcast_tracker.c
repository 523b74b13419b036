/* Assigns the rarest block first, counting those in flight, from the source that sends the least.
 *
 * All transfers of a sender share its network link, so few concurrent transfers spread a broadcast
 * faster than many: while one block is sent to eight executors at once, none of them can pass it
 * on. Hence the small limits below. An executor for which there is no block right now waits in a
 * queue.
 *
 * A waiting executor lacks blocks that are in flight to others or whose sources are busy, so an
 * event will follow: each transfer ends, with the block, a failure or a loss. An executor that
 * failed to get a block gets it from the driver, and excludes that source for a while: two
 * executors that cannot reach each other cost the driver a block or two, not the whole broadcast.
 *
 *   state of a block, per executor:  MISSING   -> REQUESTED  [begin_broadcast_block_transfer]
 *                                    REQUESTED -> RECEIVED   [on_broadcast_block_transfer_done]
 *                                    REQUESTED -> MISSING    [on_broadcast_block_transfer_failed]
 */
#include "engine/base/mem.h"
#include "engine/transfer/broadcast.h"

#include <assert.h>
#include <string.h>
#include <sys/queue.h>

/* Concurrent transfers: */
#define TRANSFERS_MAX   2u /* to one executor */
#define UPLOADS_MAX     2u /* from one executor: one is sent while the next is requested */
#define DRIVER_SENDS    2u /* from the driver */
#define DRIVER_SENDS_TO 2u /* from the driver to one executor */
/* The driver sends a broadcast of at most SMALL_BLOCKS blocks SMALL_SENDS times by itself: waiting
 * for other executors and connecting to them would take longer. */
#define SMALL_BLOCKS 4u
#define SMALL_SENDS  4u
#define EXCLUDED_MAX 8u /* sources that an executor excludes after failures: the last ones */
static_assert(TRANSFERS_MAX <= BLOCK_REQUEST_MAX, "a BLOCK_ASSIGN has room for all transfers");

/* An executor that has sent a BLOCK_REQUEST. */
struct broadcast_peer {
    uint32_t number, received_count;
    uint32_t transfer_count;
    struct assigned_block transfers[TRANSFERS_MAX]; /* to it, in flight */
    uint32_t from_driver;                           /* of those, how many come from the driver */
    uint32_t uploads;                               /* transfers of others that come from it */
    uint32_t blocks_max;                            /* > 0: in the queue; how many it wants */
    uint32_t excluded[EXCLUDED_MAX], excluded_next; /* ring of sources; EXECUTOR_ID_DRIVER: free */
    TAILQ_ENTRY(broadcast_peer) waiting;            /* in the queue */
    uint64_t *received, *requested, *failed_before; /* bitmaps of blocks */
};

/* The executors that have a block. */
struct block_sources {
    uint32_t *numbers;
    uint64_t capacity;
    uint32_t count;
    uint32_t free;      /* how many of them may start one more upload */
    uint32_t cursor;    /* where the next search begins: round robin among equals */
    uint32_t in_flight; /* transfers of this block, also from the driver */
};

struct tracker {
    uint32_t blocks, words;        /* words: 64-bit words of a bitmap */
    struct broadcast_peer **peers; /* [capacity] by number; NULL: unknown; &lost_peer: lost */
    uint64_t capacity;
    struct block_sources *sources;      /* [blocks] */
    uint32_t driver_sends;              /* transfers from the driver in flight */
    uint64_t driver_blocks;             /* transfers from the driver so far */
    TAILQ_HEAD(, broadcast_peer) queue; /* of waiting executors */
};

/* Marks lost executors in `peers`, so that a late request does not add them again. Its fields are
 * never used. */
static struct broadcast_peer lost_peer;

static bool block_set_has(const uint64_t *set, uint32_t i)
{
    return (set[i / 64] >> (i % 64) & 1) != 0;
}

static void block_set_add(uint64_t *set, uint32_t i)
{
    set[i / 64] |= (uint64_t)1 << (i % 64);
}

static void block_set_remove(uint64_t *set, uint32_t i)
{
    set[i / 64] &= ~((uint64_t)1 << (i % 64));
}

struct tracker *broadcast_tracker_create(uint32_t blocks)
{
    struct tracker *t = mem_zalloc(sizeof *t);
    if (t == NULL) return NULL;
    t->blocks = blocks;
    t->words = (blocks + 63) / 64;
    TAILQ_INIT(&t->queue);
    t->sources = mem_zalloc(sizeof *t->sources * ((uint64_t)blocks + 1));
    if (t->sources != NULL) return t;
    mem_free(t);
    return NULL;
}

void broadcast_tracker_destroy(struct tracker *t)
{
    if (t == NULL) return;
    for (uint64_t i = 0; i < t->capacity; i++)
        if (t->peers[i] != &lost_peer) mem_free(t->peers[i]);
    for (uint32_t b = 0; b < t->blocks; b++) mem_free(t->sources[b].numbers);
    mem_free(t->peers);
    mem_free(t->sources);
    mem_free(t);
}

uint64_t broadcast_tracker_blocks_sent_by_driver(const struct tracker *t)
{
    return t->driver_blocks;
}

/* ---- Executors */

/* NULL: lost or unknown. */
static struct broadcast_peer *find_tracked_peer(const struct tracker *t, uint32_t number)
{
    struct broadcast_peer *r = number < t->capacity ? t->peers[number] : NULL;
    return r != &lost_peer ? r : NULL;
}

/* Also true for one that is known or lost. False: out of memory. */
static bool add_tracked_peer(struct tracker *t, uint32_t number)
{
    const uint64_t old = t->capacity;
    if (!array_reserve(&t->peers, &t->capacity, number + UINT64_C(1), sizeof t->peers[0]))
        return false;
    for (uint64_t i = old; i < t->capacity; i++) t->peers[i] = NULL;
    if (t->peers[number] != NULL) return true;
    struct broadcast_peer *r = mem_zalloc(sizeof *r + 3 * sizeof(uint64_t) * (uint64_t)t->words);
    if (r == NULL) return false;
    r->number = number;
    r->received = (uint64_t *)(r + 1);
    r->requested = r->received + t->words;
    r->failed_before = r->requested + t->words;
    for (uint32_t i = 0; i < EXCLUDED_MAX; i++) r->excluded[i] = EXECUTOR_ID_DRIVER;
    t->peers[number] = r;
    return true;
}

/* Makes room for the executor as a source of each block in in->received, so that nothing can fail
 * once the state changes. */
static bool reserve_sources(struct tracker *t, const struct block_request *in)
{
    for (uint32_t i = 0; i < in->received_count; i++) {
        if (in->received[i] >= t->blocks) continue; /* ignored later, too: was never assigned */
        struct block_sources *h = &t->sources[in->received[i]];
        if (!array_reserve(&h->numbers, &h->capacity, h->count + UINT64_C(1), sizeof *h->numbers))
            return false;
    }
    return true;
}

/* ---- The queue of waiting executors */

static void wait_queue_add(struct tracker *t, struct broadcast_peer *r, uint32_t blocks_max)
{
    assert(r->blocks_max == 0 && blocks_max > 0);
    r->blocks_max = blocks_max;
    TAILQ_INSERT_TAIL(&t->queue, r, waiting);
}

static void wait_queue_remove(struct tracker *t, struct broadcast_peer *r)
{
    if (r->blocks_max == 0) return;
    TAILQ_REMOVE(&t->queue, r, waiting);
    r->blocks_max = 0;
}

/* ---- Transfers */

/* `r` may start uploads again (`in`), or not any more: updates `free` of all blocks that it has. */
static void update_free_sources(struct tracker *t, const struct broadcast_peer *r, bool in)
{
    for (uint32_t w = 0; w < t->words; w++) {
        for (uint64_t rest = r->received[w]; rest != 0; rest &= rest - 1) {
            struct block_sources *h = &t->sources[w * 64 + (uint32_t)__builtin_ctzll(rest)];
            assert(in ? h->free < h->count : h->free > 0);
            h->free = in ? h->free + 1 : h->free - 1;
        }
    }
}

static void begin_broadcast_block_transfer(struct tracker *t, struct broadcast_peer *r,
                                           struct assigned_block transfer)
{
    assert(r->transfer_count < TRANSFERS_MAX && !block_set_has(r->received, transfer.block));
    assert(!block_set_has(r->requested, transfer.block));
    r->transfers[r->transfer_count++] = transfer;
    block_set_add(r->requested, transfer.block);
    t->sources[transfer.block].in_flight++;
    if (transfer.from == EXECUTOR_ID_DRIVER) {
        r->from_driver++;
        t->driver_sends++;
        t->driver_blocks++;
        return;
    }
    struct broadcast_peer *source = find_tracked_peer(t, transfer.from);
    assert(source != NULL && source->uploads < UPLOADS_MAX);
    if (++source->uploads == UPLOADS_MAX) update_free_sources(t, source, false);
}

/* Removes transfer `i` of `r`, which succeeded, failed, or was lost with an executor. */
static void end_broadcast_block_transfer(struct tracker *t, struct broadcast_peer *r, uint32_t i)
{
    struct assigned_block transfer = r->transfers[i];
    assert(block_set_has(r->requested, transfer.block));
    assert(t->sources[transfer.block].in_flight > 0);
    t->sources[transfer.block].in_flight--;
    block_set_remove(r->requested, transfer.block);
    r->transfers[i] = r->transfers[--r->transfer_count];
    if (transfer.from == EXECUTOR_ID_DRIVER) {
        assert(t->driver_sends > 0 && r->from_driver > 0);
        t->driver_sends--;
        r->from_driver--;
        return;
    }
    struct broadcast_peer *source = find_tracked_peer(t, transfer.from); /* NULL: lost meanwhile */
    if (source != NULL && source->uploads-- == UPLOADS_MAX) update_free_sources(t, source, true);
}

/* Returns the index of the transfer of `block` to `r`, or TRANSFERS_MAX if there is none: callers
 * then ignore the message, since an executor may claim anything. */
static uint32_t find_broadcast_block_transfer(const struct broadcast_peer *r, uint32_t block)
{
    for (uint32_t i = 0; i < r->transfer_count; i++)
        if (r->transfers[i].block == block) return i;
    return TRANSFERS_MAX;
}

static void on_broadcast_block_transfer_done(struct tracker *t, struct broadcast_peer *r,
                                             uint32_t block)
{
    uint32_t i = find_broadcast_block_transfer(r, block);
    if (i == TRANSFERS_MAX) return;
    end_broadcast_block_transfer(t, r, i);
    struct block_sources *h = &t->sources[block];
    assert(h->count < h->capacity && !block_set_has(r->received, block));
    h->numbers[h->count++] = r->number;
    h->free += r->uploads < UPLOADS_MAX;
    block_set_add(r->received, block);
    r->received_count++;
}

static void on_broadcast_block_transfer_failed(struct tracker *t, struct broadcast_peer *r,
                                               uint32_t block)
{
    uint32_t i = find_broadcast_block_transfer(r, block);
    if (i == TRANSFERS_MAX) return;
    uint32_t from = r->transfers[i].from;
    end_broadcast_block_transfer(t, r, i);
    /* The driver cannot be excluded; a lost source will not be picked again anyway. */
    if (from == EXECUTOR_ID_DRIVER || find_tracked_peer(t, from) == NULL) return;
    block_set_add(r->failed_before, block);
    r->excluded[r->excluded_next++ % EXCLUDED_MAX] = from;
}

/* ---- Choosing blocks and sources */

static bool is_excluded_source(const struct broadcast_peer *r, uint32_t source)
{
    for (uint32_t i = 0; i < EXCLUDED_MAX; i++)
        if (r->excluded[i] == source) return true;
    return false;
}

/* Whether `r` can get the block from the driver only: no source, free or busy, that it does not
 * exclude. Checks at most EXCLUDED_MAX + 1 sources. */
static bool is_broadcast_block_only_at_driver(const struct tracker *t,
                                              const struct broadcast_peer *r, uint32_t block)
{
    const struct block_sources *h = &t->sources[block];
    if (block_set_has(r->failed_before, block)) return true;
    if (h->count == 0) return h->in_flight == 0; /* in flight: wait for the first source */
    for (uint32_t i = 0; i < h->count; i++)
        if (!is_excluded_source(r, h->numbers[i])) return false;
    return true;
}

/* A small broadcast, and the driver has not sent it SMALL_SENDS times yet. */
static bool driver_may_resend(const struct tracker *t)
{
    return t->blocks <= SMALL_BLOCKS && t->driver_blocks < SMALL_SENDS * t->blocks;
}

/* Returns the source with the fewest uploads, or EXECUTOR_ID_DRIVER if none is free. */
static uint32_t pick_broadcast_block_source(struct tracker *t, const struct broadcast_peer *r,
                                            uint32_t block)
{
    struct block_sources *h = &t->sources[block];
    uint32_t best = EXECUTOR_ID_DRIVER, least = UPLOADS_MAX;
    for (uint32_t i = 0; i < h->count && least > 0; i++) {
        const struct broadcast_peer *source =
            find_tracked_peer(t, h->numbers[(h->cursor + i) % h->count]);
        assert(source != NULL && block_set_has(source->received, block));
        if (source->uploads >= least || is_excluded_source(r, source->number)) continue;
        best = source->number;
        least = source->uploads;
    }
    h->cursor++;
    return best;
}

/* Picks the next block for `r` and its source. Blocks that only the driver has come first, since
 * no executor can pass them on yet; then the rarest. Executors start the search at different
 * blocks, so that the driver sends each of them another one. Returns false if there is none. */
static bool pick_broadcast_block_to_assign(struct tracker *t, const struct broadcast_peer *r,
                                           struct assigned_block *out)
{
    const bool again = driver_may_resend(t);
    const uint32_t sends = again ? SMALL_SENDS * DRIVER_SENDS_TO : DRIVER_SENDS;
    bool driver = t->driver_sends < sends && r->from_driver < DRIVER_SENDS_TO;
    uint32_t rarest = UINT32_MAX, start = (uint32_t)((uint64_t)r->number * 7 % t->blocks);
    for (uint32_t i = 0; i < t->blocks; i++) {
        uint32_t b = (start + i) % t->blocks;
        if (block_set_has(r->received, b) || block_set_has(r->requested, b)) continue;
        if (again || is_broadcast_block_only_at_driver(t, r, b)) {
            if (!driver) continue; /* the driver is busy: another block may be available */
            *out = (struct assigned_block){.block = b, .from = EXECUTOR_ID_DRIVER};
            return true;
        }
        const struct block_sources *h = &t->sources[b];
        if (h->free == 0 || h->count + h->in_flight >= rarest) continue;
        uint32_t source = pick_broadcast_block_source(t, r, b);
        if (source == EXECUTOR_ID_DRIVER) continue;
        *out = (struct assigned_block){.block = b, .from = source};
        rarest = h->count + h->in_flight;
    }
    return rarest != UINT32_MAX;
}

static void assign_broadcast_blocks(struct tracker *t, struct broadcast_peer *r,
                                    uint32_t blocks_max, struct block_assignment *out)
{
    out->count = 0;
    while (out->count < blocks_max && r->transfer_count < TRANSFERS_MAX) {
        struct assigned_block next;
        if (!pick_broadcast_block_to_assign(t, r, &next)) break;
        begin_broadcast_block_transfer(t, r, next);
        out->blocks[out->count++] = next;
    }
}

bool broadcast_tracker_on_block_request(struct tracker *t, uint32_t executor,
                                        const struct block_request *in,
                                        struct block_assignment *out)
{
    assert(in->received_count <= BLOCK_REQUEST_MAX && in->failed_count <= BLOCK_REQUEST_MAX);
    assert(executor < EXECUTORS_MAX);
    out->count = 0;
    if (!add_tracked_peer(t, executor) || !reserve_sources(t, in)) return false;
    struct broadcast_peer *r = find_tracked_peer(t, executor);
    if (r == NULL) return true; /* lost: the request crossed with the loss */
    wait_queue_remove(t, r);
    for (uint32_t i = 0; i < in->received_count; i++)
        on_broadcast_block_transfer_done(t, r, in->received[i]);
    for (uint32_t i = 0; i < in->failed_count; i++)
        on_broadcast_block_transfer_failed(t, r, in->failed[i]);
    if (in->blocks_max == 0 || r->received_count == t->blocks) return true;
    uint32_t blocks_max = in->blocks_max < TRANSFERS_MAX ? in->blocks_max : TRANSFERS_MAX;
    assign_broadcast_blocks(t, r, blocks_max, out);
    if (out->count == 0) wait_queue_add(t, r, blocks_max);
    return true;
}

static void remove_broadcast_block_source(struct block_sources *h, uint32_t number, bool was_free)
{
    uint32_t i = 0;
    while (i < h->count && h->numbers[i] != number) i++;
    assert(i < h->count && h->free >= was_free);
    h->numbers[i] = h->numbers[--h->count];
    h->free -= was_free;
}

void broadcast_tracker_on_executor_lost(struct tracker *t, uint32_t executor)
{
    struct broadcast_peer *r = find_tracked_peer(t, executor);
    if (r == NULL) return;
    wait_queue_remove(t, r);
    while (r->transfer_count > 0) end_broadcast_block_transfer(t, r, r->transfer_count - 1);
    for (uint32_t b = 0; b < t->blocks; b++)
        if (block_set_has(r->received, b))
            remove_broadcast_block_source(&t->sources[b], executor, r->uploads < UPLOADS_MAX);
    t->peers[executor] = &lost_peer;
    mem_free(r);
}

bool broadcast_tracker_next_assignment(struct tracker *t, uint32_t *out_executor,
                                       struct block_assignment *out)
{
    struct broadcast_peer *r;
    TAILQ_FOREACH(r, &t->queue, waiting)
    {
        assign_broadcast_blocks(t, r, r->blocks_max, out);
        if (out->count == 0) continue;
        *out_executor = r->number;
        wait_queue_remove(t, r);
        return true;
    }
    return false;
}
