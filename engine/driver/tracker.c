/* Rarest block first, counting those on their way, from whoever has the least to send.
 *
 * A sender's link is shared by all it sends to, so few blocks on their way at a time spread faster
 * than many: while one block goes to eight executors at once, none of them can pass it on. Hence
 * the small numbers below; an executor for which there is nothing right now waits in a queue.
 *
 * Someone who waits lacks blocks that are on their way to others or whose senders are busy, so an
 * event will come; each request for a block ends, with the block, a failure or a loss. Whoever
 * failed to get a block gets that one from the driver, and is not sent to the same source again
 * soon: pairs that cannot reach each other cost the driver a block or two, not all of them.
 *
 *   block, of one executor:  MISSING -> ASKED    [offer]
 *                            ASKED   -> HERE     [on_have]
 *                            ASKED   -> MISSING  [on_failed] */
#include "engine/driver/tracker.h"

#include "engine/base/mem.h"

#include <assert.h>
#include <string.h>

#define FLIGHTS_MAX     2u /* blocks on their way to one executor */
#define UPLOADS_MAX     2u /* from one executor: one is sent while the next is asked for */
#define DRIVER_SENDS    2u /* from the driver */
#define DRIVER_SENDS_TO 2u /* from the driver to one executor */
#define SMALL_BLOCKS    4u /* a value of so few is sent to four by the driver itself: */
#define SMALL_SENDS     4u /* to connect to each other would take them longer, and to wait, too */
#define AVOID_MAX       8u /* sources that failed an executor, as many as it remembers */
static_assert(FLIGHTS_MAX <= TRACK_BLOCKS_MAX, "an answer has room for all flights");

struct receiver {
    uint32_t number, here_count;
    uint32_t flight_count;
    struct tracked_block flights[FLIGHTS_MAX];
    uint32_t from_driver; /* of its flights */
    uint32_t uploads;     /* flights of others that come from here */
    uint32_t want;        /* > 0: in the queue */
    uint32_t avoid[AVOID_MAX], avoid_next;
    struct receiver *before, *after;   /* in the queue */
    uint64_t *here, *asked, *distrust; /* sets of blocks; distrust: failed before */
};

/* Who has a block. */
struct holders {
    uint32_t *numbers;
    uint32_t count, capacity;
    uint32_t free;   /* of them may send one more */
    uint32_t cursor; /* where the next look begins, so that all get their turn */
    uint32_t coming; /* flights of it */
};

struct tracker {
    uint32_t blocks, words;
    struct receiver **receivers; /* [capacity] by number; NULL: never heard of; &lost: gone */
    uint32_t capacity;
    struct holders *holders; /* [blocks] */
    uint32_t driver_sends;
    uint64_t driver_blocks;
    struct receiver *first, *last; /* the queue of those who wait */
};

static struct receiver lost; /* stands for all of them; never looked into */

static bool has(const uint64_t *set, uint32_t i)
{
    return (set[i / 64] >> (i % 64) & 1) != 0;
}

static void add(uint64_t *set, uint32_t i)
{
    set[i / 64] |= (uint64_t)1 << (i % 64);
}

static void take(uint64_t *set, uint32_t i)
{
    set[i / 64] &= ~((uint64_t)1 << (i % 64));
}

struct tracker *tracker_create(uint32_t blocks)
{
    struct tracker *t = mem_zalloc(sizeof *t);
    if (t == NULL) return NULL;
    t->blocks = blocks;
    t->words = (blocks + 63) / 64;
    t->holders = mem_zalloc(sizeof *t->holders * ((uint64_t)blocks + 1));
    if (t->holders != NULL) return t;
    mem_free(t);
    return NULL;
}

void tracker_destroy(struct tracker *t)
{
    if (t == NULL) return;
    for (uint32_t i = 0; i < t->capacity; i++)
        if (t->receivers[i] != &lost) mem_free(t->receivers[i]);
    for (uint32_t b = 0; b < t->blocks; b++) mem_free(t->holders[b].numbers);
    mem_free(t->receivers);
    mem_free(t->holders);
    mem_free(t);
}

uint64_t tracker_driver_blocks(const struct tracker *t)
{
    return t->driver_blocks;
}

/* ---- Who is known */

/* NULL where it is gone or was never heard of. */
static struct receiver *find(const struct tracker *t, uint32_t number)
{
    struct receiver *r = number < t->capacity ? t->receivers[number] : NULL;
    return r != &lost ? r : NULL;
}

static bool grow(struct tracker *t, uint32_t number)
{
    if (number < t->capacity) return true;
    uint64_t capacity = (uint64_t)number + 1 + number / 2;
    struct receiver **grown = mem_grow(t->receivers, t->capacity * sizeof(struct receiver *),
                                       capacity * sizeof(struct receiver *));
    if (grown == NULL) return false;
    memset(grown + t->capacity, 0, (capacity - t->capacity) * sizeof(struct receiver *));
    t->receivers = grown;
    t->capacity = (uint32_t)capacity;
    return true;
}

static bool meet(struct tracker *t, uint32_t number)
{
    if (!grow(t, number)) return false;
    if (t->receivers[number] != NULL) return true;
    struct receiver *r = mem_zalloc(sizeof *r + 3 * sizeof(uint64_t) * (uint64_t)t->words);
    if (r == NULL) return false;
    r->number = number;
    r->here = (uint64_t *)(r + 1);
    r->asked = r->here + t->words;
    r->distrust = r->asked + t->words;
    for (uint32_t i = 0; i < AVOID_MAX; i++) r->avoid[i] = TRACK_DRIVER;
    t->receivers[number] = r;
    return true;
}

static bool reserve(struct tracker *t, const struct track *in)
{
    for (uint32_t i = 0; i < in->have_count; i++) {
        if (in->have[i] >= t->blocks) continue;
        struct holders *h = &t->holders[in->have[i]];
        if (h->count < h->capacity) continue;
        uint32_t capacity = h->capacity * 2 + 4;
        uint32_t *numbers = mem_grow(h->numbers, sizeof *numbers * (uint64_t)h->capacity,
                                     sizeof *numbers * (uint64_t)capacity);
        if (numbers == NULL) return false;
        h->numbers = numbers;
        h->capacity = capacity;
    }
    return true;
}

/* ---- The queue of those who wait */

static void enqueue(struct tracker *t, struct receiver *r, uint32_t want)
{
    assert(r->want == 0 && want > 0);
    r->want = want;
    r->before = t->last;
    r->after = NULL;
    *(t->last != NULL ? &t->last->after : &t->first) = r;
    t->last = r;
}

static void dequeue(struct tracker *t, struct receiver *r)
{
    if (r->want == 0) return;
    *(r->before != NULL ? &r->before->after : &t->first) = r->after;
    *(r->after != NULL ? &r->after->before : &t->last) = r->before;
    r->before = r->after = NULL;
    r->want = 0;
}

/* ---- Flights */

/* Counts `r` in or out as one who may send, for all blocks that it has. */
static void count_free(struct tracker *t, const struct receiver *r, bool in)
{
    for (uint32_t w = 0; w < t->words; w++) {
        for (uint64_t rest = r->here[w]; rest != 0; rest &= rest - 1) {
            struct holders *h = &t->holders[w * 64 + (uint32_t)__builtin_ctzll(rest)];
            assert(in ? h->free < h->count : h->free > 0);
            h->free = in ? h->free + 1 : h->free - 1;
        }
    }
}

static void depart(struct tracker *t, struct receiver *r, struct tracked_block flight)
{
    assert(r->flight_count < FLIGHTS_MAX && !has(r->here, flight.block));
    assert(!has(r->asked, flight.block));
    r->flights[r->flight_count++] = flight;
    add(r->asked, flight.block);
    t->holders[flight.block].coming++;
    if (flight.from == TRACK_DRIVER) {
        r->from_driver++;
        t->driver_sends++;
        t->driver_blocks++;
        return;
    }
    struct receiver *source = find(t, flight.from);
    assert(source != NULL && source->uploads < UPLOADS_MAX);
    if (++source->uploads == UPLOADS_MAX) count_free(t, source, false);
}

/* Ends flight `i` of `r`, however it ended. */
static void land(struct tracker *t, struct receiver *r, uint32_t i)
{
    struct tracked_block flight = r->flights[i];
    assert(has(r->asked, flight.block));
    assert(t->holders[flight.block].coming > 0);
    t->holders[flight.block].coming--;
    take(r->asked, flight.block);
    r->flights[i] = r->flights[--r->flight_count];
    if (flight.from == TRACK_DRIVER) {
        assert(t->driver_sends > 0 && r->from_driver > 0);
        t->driver_sends--;
        r->from_driver--;
        return;
    }
    struct receiver *source = find(t, flight.from);
    if (source != NULL && source->uploads-- == UPLOADS_MAX) count_free(t, source, true);
}

/* The index of the flight that brings `block`, or FLIGHTS_MAX: what was not asked for is ignored.
 */
static uint32_t flight_of(const struct receiver *r, uint32_t block)
{
    for (uint32_t i = 0; i < r->flight_count; i++)
        if (r->flights[i].block == block) return i;
    return FLIGHTS_MAX;
}

static void on_have(struct tracker *t, struct receiver *r, uint32_t block)
{
    uint32_t i = flight_of(r, block);
    if (i == FLIGHTS_MAX) return;
    land(t, r, i);
    struct holders *h = &t->holders[block];
    assert(h->count < h->capacity && !has(r->here, block));
    h->numbers[h->count++] = r->number;
    h->free += r->uploads < UPLOADS_MAX;
    add(r->here, block);
    r->here_count++;
}

static void on_failed(struct tracker *t, struct receiver *r, uint32_t block)
{
    uint32_t i = flight_of(r, block);
    if (i == FLIGHTS_MAX) return;
    uint32_t from = r->flights[i].from;
    land(t, r, i);
    if (from == TRACK_DRIVER || find(t, from) == NULL) return;
    add(r->distrust, block);
    r->avoid[r->avoid_next++ % AVOID_MAX] = from;
}

/* ---- What to fetch next */

static bool avoids(const struct receiver *r, uint32_t source)
{
    for (uint32_t i = 0; i < AVOID_MAX; i++)
        if (r->avoid[i] == source) return true;
    return false;
}

/* No executor has the block for `r`, free or busy. At most AVOID_MAX + 1 holders are looked at. */
static bool only_driver_has(const struct tracker *t, const struct receiver *r, uint32_t block)
{
    const struct holders *h = &t->holders[block];
    if (has(r->distrust, block)) return true;
    if (h->count == 0) return h->coming == 0;
    for (uint32_t i = 0; i < h->count; i++)
        if (!avoids(r, h->numbers[i])) return false;
    return true;
}

static bool may_send_again(const struct tracker *t)
{
    return t->blocks <= SMALL_BLOCKS && t->driver_blocks < SMALL_SENDS * t->blocks;
}

/* The holder with the least to send; TRACK_DRIVER: none is free. */
static uint32_t pick_source(struct tracker *t, const struct receiver *r, uint32_t block)
{
    struct holders *h = &t->holders[block];
    uint32_t best = TRACK_DRIVER, least = UPLOADS_MAX;
    for (uint32_t i = 0; i < h->count && least > 0; i++) {
        const struct receiver *source = find(t, h->numbers[(h->cursor + i) % h->count]);
        assert(source != NULL && has(source->here, block));
        if (source->uploads >= least || avoids(r, source->number)) continue;
        best = source->number;
        least = source->uploads;
    }
    h->cursor++;
    return best;
}

/* The next block for `r`, and from where: what only the driver has comes first, for nobody can pass
 * it on before; then the rarest. Executors begin to look at different blocks. */
static bool pick(struct tracker *t, const struct receiver *r, struct tracked_block *out)
{
    const bool again = may_send_again(t);
    const uint32_t sends = again ? SMALL_SENDS * DRIVER_SENDS_TO : DRIVER_SENDS;
    bool driver = t->driver_sends < sends && r->from_driver < DRIVER_SENDS_TO;
    uint32_t rarest = UINT32_MAX, start = (uint32_t)((uint64_t)r->number * 7 % t->blocks);
    for (uint32_t i = 0; i < t->blocks; i++) {
        uint32_t b = (start + i) % t->blocks;
        if (has(r->here, b) || has(r->asked, b)) continue;
        if (again || only_driver_has(t, r, b)) {
            if (!driver) continue;
            *out = (struct tracked_block){.block = b, .from = TRACK_DRIVER};
            return true;
        }
        const struct holders *h = &t->holders[b];
        if (h->free == 0 || h->count + h->coming >= rarest) continue;
        uint32_t source = pick_source(t, r, b);
        if (source == TRACK_DRIVER) continue;
        *out = (struct tracked_block){.block = b, .from = source};
        rarest = h->count + h->coming;
    }
    return rarest != UINT32_MAX;
}

static void offer(struct tracker *t, struct receiver *r, uint32_t want, struct tracked *out)
{
    out->count = 0;
    while (out->count < want && r->flight_count < FLIGHTS_MAX) {
        struct tracked_block next;
        if (!pick(t, r, &next)) break;
        depart(t, r, next);
        out->blocks[out->count++] = next;
    }
}

bool tracker_on_track(struct tracker *t, uint32_t executor, const struct track *in,
                      struct tracked *out)
{
    assert(in->have_count <= TRACK_BLOCKS_MAX && in->failed_count <= TRACK_BLOCKS_MAX);
    assert(executor < EXECUTORS_MAX);
    out->count = 0;
    if (!meet(t, executor) || !reserve(t, in)) return false;
    struct receiver *r = find(t, executor);
    if (r == NULL) return true;
    dequeue(t, r);
    for (uint32_t i = 0; i < in->have_count; i++) on_have(t, r, in->have[i]);
    for (uint32_t i = 0; i < in->failed_count; i++) on_failed(t, r, in->failed[i]);
    if (in->want == 0 || r->here_count == t->blocks) return true;
    uint32_t want = in->want < FLIGHTS_MAX ? in->want : FLIGHTS_MAX;
    offer(t, r, want, out);
    if (out->count == 0) enqueue(t, r, want);
    return true;
}

static void forget_holder(struct holders *h, uint32_t number, bool was_free)
{
    uint32_t i = 0;
    while (i < h->count && h->numbers[i] != number) i++;
    assert(i < h->count && h->free >= was_free);
    h->numbers[i] = h->numbers[--h->count];
    h->free -= was_free;
}

void tracker_on_lost(struct tracker *t, uint32_t executor)
{
    struct receiver *r = find(t, executor);
    if (r == NULL) return;
    dequeue(t, r);
    while (r->flight_count > 0) land(t, r, r->flight_count - 1);
    for (uint32_t b = 0; b < t->blocks; b++)
        if (has(r->here, b)) forget_holder(&t->holders[b], executor, r->uploads < UPLOADS_MAX);
    t->receivers[executor] = &lost;
    mem_free(r);
}

bool tracker_next(struct tracker *t, uint32_t *out_executor, struct tracked *out)
{
    for (struct receiver *r = t->first; r != NULL; r = r->after) {
        offer(t, r, r->want, out);
        if (out->count == 0) continue;
        *out_executor = r->number;
        dequeue(t, r);
        return true;
    }
    return false;
}
