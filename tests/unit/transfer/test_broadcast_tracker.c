/* A simulation of broadcasts: executors with links of limited speed request blocks from the tracker
 * and fetch them from the assigned sources, while some join late, die, or fail to fetch.
 * Event-driven: a link's bandwidth is shared evenly by its active transfers, one at a time per pair
 * of nodes, and messages have a latency. The same seed gives the same run. In the end each live
 * executor must have all blocks. Without faults the two guarantees are checked: sending to eight
 * executors takes little longer than to one, and the driver sends each block about once. */
#include "engine/transfer/broadcast.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum {
    NODES_MAX = 64,
    BLOCKS_MAX = 256,
    TRANSFERS_WANTED = 4,
    TRANSFERS_MAX = NODES_MAX * TRANSFERS_WANTED
};
enum { MESSAGES_MAX = 4096 };
#define FOREVER 1e9

struct scenario {
    unsigned executors, blocks;
    double link;        /* bytes per second, each way, of an executor */
    double driver;      /* the same, of the driver */
    double latency;     /* of a message, seconds */
    double join_spread; /* executors start within this many seconds */
    double fail_share;  /* of the fetches from executors fail */
    unsigned deaths;    /* executors that die in the middle */
    unsigned cut_pairs; /* pairs of executors that never reach each other */
    unsigned late;      /* the last ones join at late_at */
    double late_at;
    uint64_t seed;
};

/* A block in flight, or queued after another one on the same connection. */
struct transfer {
    bool used, will_fail;
    unsigned from, to, block; /* node numbers; the driver is the last one */
    double left;              /* bytes */
    uint64_t order;
};

/* A message: BLOCK_REQUEST to the driver, or BLOCK_ASSIGN to an executor. */
struct sim_message {
    double at;
    uint64_t order;
    unsigned executor;
    bool to_driver, death, join;
    struct block_request request;
    struct block_assignment assignment;
};

struct node {
    bool alive, cut[NODES_MAX + 1];
    bool received[BLOCKS_MAX], requested[BLOCKS_MAX];
    unsigned count, transfer_count;
    double done;
};

struct tracker_sim {
    struct scenario s;
    struct tracker *tracker;
    struct node nodes[NODES_MAX + 1];
    struct transfer transfers[TRANSFERS_MAX + NODES_MAX];
    struct sim_message messages[MESSAGES_MAX];
    unsigned message_count, most_transfers;
    uint64_t order, random;
    double now, driver_bytes;
};

static struct tracker_sim w;

static uint64_t draw_u64(void)
{
    w.random ^= w.random << 13;
    w.random ^= w.random >> 7;
    w.random ^= w.random << 17;
    return w.random;
}

static double draw_unit(void)
{
    return (double)(draw_u64() >> 11) / 9007199254740992.0;
}

static struct sim_message *send_message(double delay, unsigned executor)
{
    cr_assert_lt(w.message_count, MESSAGES_MAX);
    struct sim_message *l = &w.messages[w.message_count++];
    *l = (struct sim_message){.at = w.now + delay, .order = w.order++, .executor = executor};
    return l;
}

/* As broadcast_client.c does: reports received and failed blocks, and requests more. */
static void send_block_request(unsigned e, int have, int failed)
{
    struct sim_message *l = send_message(w.s.latency, e);
    l->to_driver = true;
    struct node *n = &w.nodes[e];
    l->request.blocks_max = n->count < w.s.blocks && n->transfer_count < TRANSFERS_WANTED
                                ? TRANSFERS_WANTED - n->transfer_count
                                : 0;
    if (have >= 0) l->request.received[l->request.received_count++] = (uint32_t)have;
    if (failed >= 0) l->request.failed[l->request.failed_count++] = (uint32_t)failed;
}

static void send_assignment(unsigned e, const struct block_assignment *t)
{
    struct sim_message *l = send_message(w.s.latency, e);
    l->assignment = *t;
}

static void drain_tracker(void)
{
    struct block_assignment t;
    uint32_t executor;
    while (broadcast_tracker_next_assignment(w.tracker, &executor, &t)) {
        cr_assert_gt(t.count, 0);
        send_assignment(executor, &t);
    }
}

static void end_transfer(struct transfer *t, bool good)
{
    struct node *to = &w.nodes[t->to];
    t->used = false;
    to->requested[t->block] = false;
    to->transfer_count--;
    if (good) {
        cr_assert_not(to->received[t->block]);
        to->received[t->block] = true;
        if (++to->count == w.s.blocks) to->done = w.now;
    }
    send_block_request(t->to, good ? (int)t->block : -1, good ? -1 : (int)t->block);
}

static void start_transfer(unsigned e, struct assigned_block b)
{
    unsigned from = b.from == EXECUTOR_ID_DRIVER ? w.s.executors : b.from;
    struct node *to = &w.nodes[e];
    cr_assert_lt(b.block, w.s.blocks);
    cr_assert_leq(from, w.s.executors);
    cr_assert(from == w.s.executors || !w.nodes[from].alive || w.nodes[from].received[b.block],
              "executor %u was sent to %u for block %u, which it does not have", e, from, b.block);
    cr_assert(!to->received[b.block] && !to->requested[b.block] && from != e);
    to->requested[b.block] = true;
    if (++to->transfer_count > w.most_transfers) w.most_transfers = to->transfer_count;
    struct transfer *t = w.transfers;
    while (t->used) t++;
    cr_assert_lt(t - w.transfers, TRANSFERS_MAX + NODES_MAX);
    bool executor = from != w.s.executors;
    *t = (struct transfer){.used = true,
                           .from = from,
                           .to = e,
                           .block = b.block,
                           .left = (double)BROADCAST_BLOCK_BYTES_MIN,
                           .order = w.order++};
    t->will_fail =
        executor && (!w.nodes[from].alive || w.nodes[e].cut[from] || draw_unit() < w.s.fail_share);
    if (t->will_fail) t->left *= w.nodes[e].cut[from] ? 0 : draw_unit();
}

static void die(unsigned e)
{
    if (!w.nodes[e].alive) return;
    w.nodes[e].alive = false;
    for (unsigned i = 0; i < TRANSFERS_MAX + NODES_MAX; i++) {
        struct transfer *t = &w.transfers[i];
        if (t->used && t->to == e) t->used = false;
        if (t->used && t->from == e) end_transfer(t, false);
    }
    struct sim_message *l = send_message(w.s.latency * 3, e); /* the driver notices later */
    l->to_driver = l->death = true;
}

static void deliver(const struct sim_message *l)
{
    if (!l->to_driver && l->join) {
        w.nodes[l->executor].alive = true;
        send_block_request(l->executor, -1, -1);
    } else if (!l->to_driver && l->death) {
        die(l->executor);
    } else if (!l->to_driver) {
        cr_assert_leq(l->assignment.count, BLOCK_REQUEST_MAX);
        for (uint32_t i = 0; w.nodes[l->executor].alive && i < l->assignment.count; i++)
            start_transfer(l->executor, l->assignment.blocks[i]);
    } else if (l->death) {
        broadcast_tracker_on_executor_lost(w.tracker, l->executor);
        drain_tracker();
    } else {
        struct block_assignment t = {.id = 0};
        cr_assert(broadcast_tracker_on_block_request(w.tracker, l->executor, &l->request, &t));
        cr_assert_leq(t.count, l->request.blocks_max);
        send_assignment(l->executor, &t);
        drain_tracker();
    }
}

/* Only the oldest transfer of a connection makes progress. */
static bool transfer_is_active(const struct transfer *t)
{
    for (unsigned i = 0; i < TRANSFERS_MAX + NODES_MAX; i++) {
        const struct transfer *o = &w.transfers[i];
        if (o->used && o->from == t->from && o->to == t->to && o->order < t->order) return false;
    }
    return true;
}

/* Bytes per second of each active transfer. */
static void share_links(double *rates)
{
    unsigned up[NODES_MAX + 1] = {0}, down[NODES_MAX + 1] = {0};
    for (unsigned i = 0; i < TRANSFERS_MAX + NODES_MAX; i++) {
        const struct transfer *t = &w.transfers[i];
        rates[i] = t->used && transfer_is_active(t) ? 1 : 0;
        if (rates[i] == 0) continue;
        up[t->from]++;
        down[t->to]++;
    }
    for (unsigned i = 0; i < TRANSFERS_MAX + NODES_MAX; i++) {
        const struct transfer *t = &w.transfers[i];
        if (rates[i] == 0) continue;
        double out = (t->from == w.s.executors ? w.s.driver : w.s.link) / up[t->from];
        rates[i] = fmin(out, w.s.link / down[t->to]);
    }
}

static void advance(double by, const double *rates)
{
    w.now += by;
    for (unsigned i = 0; i < TRANSFERS_MAX + NODES_MAX; i++) {
        struct transfer *t = &w.transfers[i];
        if (!t->used) continue;
        double bytes = fmin(rates[i] * by, t->left);
        t->left -= bytes;
        if (t->from == w.s.executors) w.driver_bytes += bytes;
    }
}

/* Runs the next event. False: no event is left. */
static bool step(void)
{
    double rates[TRANSFERS_MAX + NODES_MAX], best = FOREVER;
    int transfer = -1, message = -1;
    share_links(rates);
    for (unsigned i = 0; i < TRANSFERS_MAX + NODES_MAX; i++) {
        if (!w.transfers[i].used || rates[i] == 0) continue;
        double at = w.transfers[i].left / rates[i];
        if (at < best) best = at, transfer = (int)i;
    }
    for (unsigned i = 0; i < w.message_count; i++) {
        double at = fmax(0, w.messages[i].at - w.now);
        if (at > best ||
            (at == best && message >= 0 && w.messages[i].order > w.messages[message].order))
            continue;
        best = at, message = (int)i, transfer = -1;
    }
    if (transfer < 0 && message < 0) return false;
    advance(best, rates);
    if (transfer >= 0) {
        end_transfer(&w.transfers[transfer], !w.transfers[transfer].will_fail);
    } else {
        struct sim_message l = w.messages[message];
        w.messages[message] = w.messages[--w.message_count];
        deliver(&l);
    }
    return true;
}

/* Returns the time when the last executor was done. */
static double run(const struct scenario *s)
{
    memset(&w, 0, sizeof w);
    w.s = *s;
    w.random = s->seed * 0x9e3779b97f4a7c15u + 1;
    w.tracker = broadcast_tracker_create(s->blocks);
    cr_assert_not_null(w.tracker);
    for (unsigned e = 0; e < s->executors; e++)
        send_message(e + s->late < s->executors ? draw_unit() * s->join_spread : s->late_at, e)
            ->join = true;
    double span = s->blocks * (double)BROADCAST_BLOCK_BYTES_MIN / s->link;
    for (unsigned d = 0; d < s->deaths; d++)
        send_message(s->join_spread + draw_unit() * span * 1.2,
                     (unsigned)(draw_u64() % s->executors))
            ->death = true;
    for (unsigned c = 0; c < s->cut_pairs; c++) {
        unsigned a = (unsigned)(draw_u64() % s->executors),
                 b = (unsigned)(draw_u64() % s->executors);
        w.nodes[a].cut[b] = w.nodes[b].cut[a] = true;
    }
    for (unsigned steps = 0; step(); steps++)
        cr_assert_lt(steps, 200000u, "the broadcast does not finish");
    double last = 0;
    for (unsigned e = 0; e < s->executors; e++) {
        const struct node *n = &w.nodes[e];
        cr_assert(!n->alive || n->count == s->blocks, "seed %llu: executor %u has %u of %u blocks",
                  (unsigned long long)s->seed, e, n->count, s->blocks);
        if (n->alive) last = fmax(last, n->done);
    }
    cr_assert_leq(w.most_transfers, TRANSFERS_WANTED);
    broadcast_tracker_destroy(w.tracker);
    cr_assert_eq(mem_live_blocks(), 0);
    return last;
}

#define MB 1e6
static const struct scenario promised = {
    .blocks = 58, .link = 100 * MB, .driver = 100 * MB, .latency = 0.0005, .seed = 1};

static double ratio(struct scenario s, unsigned executors)
{
    s.executors = 1;
    double one = run(&s);
    s.executors = executors;
    return run(&s) / one;
}

static double driver_share(void)
{
    return w.driver_bytes / (w.s.blocks * (double)BROADCAST_BLOCK_BYTES_MIN);
}

Test(broadcast_tracker, eight_executors_are_nearly_as_fast_as_one)
{
    static const double drivers[] = {100 * MB, 200 * MB, 1000 * MB, 10000 * MB};
    static const double latencies[] = {0.00005, 0.0005, 0.002};
    for (unsigned i = 0; i < 12; i++) {
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct scenario s = promised;
            s.driver = drivers[i / 3];
            s.latency = latencies[i % 3];
            s.seed = seed;
            s.join_spread = 0.002 * (double)(seed - 1);
            double r = ratio(s, 8);
            cr_expect_leq(r, 1.5, "%.3f times as long", r);
            cr_expect_leq(driver_share(), 1.2, "%.3f times the size", driver_share());
        }
    }
}

Test(broadcast_tracker, scales_with_executors_and_blocks)
{
    static const unsigned executors[] = {2, 3, 5, 16, 33, 64}, blocks[] = {1, 2, 7, 64, 65, 200};
    for (unsigned e = 0; e < 6; e++) {
        for (unsigned b = 0; b < 6; b++) {
            struct scenario s = promised;
            s.blocks = blocks[b];
            double r = ratio(s, executors[e]);
            if (blocks[b] > 4)
                cr_expect_float_eq(driver_share(), 1, 1e-9);
            else
                cr_expect_leq(driver_share(), 4);
            /* Each round doubles the holders of a block; two uploads at a time double that time. */
            double rounds = ceil(log2(executors[e])) * 2 + 4;
            cr_expect_leq(r, 1.5 + rounds / blocks[b], "%u blocks to %u: %.3f times as long",
                          blocks[b], executors[e], r);
        }
    }
}

/* An executor that joins when all others are done gets nothing from the driver. */
Test(broadcast_tracker, late_executor_is_served_by_others)
{
    struct scenario s = promised;
    s.executors = 8;
    double all = run(&s);
    s.late = 1;
    s.late_at = all + 1;
    double last = run(&s);
    cr_expect_float_eq(driver_share(), 1, 1e-9);
    cr_expect_leq(last - s.late_at, 1.2 * all);
}

Test(broadcast_tracker, survivors_get_every_block_despite_failures)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct scenario s = promised;
        s.seed = seed;
        s.executors = 2 + (unsigned)(seed % 11);
        s.blocks = seed % 6 == 0 ? 64 : 1 + (unsigned)(seed * 7 % 40); /* 64: a whole word */
        s.join_spread = seed % 3 == 0 ? 1.5 : 0.01;
        s.fail_share = seed % 4 == 0 ? 0.2 : 0;
        s.deaths = seed % 5 == 0 ? s.executors : (unsigned)(seed % 3);
        s.cut_pairs = seed % 7 == 0 ? s.executors * s.executors : (unsigned)(seed % 4);
        s.latency = seed % 2 == 0 ? 0.05 : 0.0002;
        run(&s);
    }
}

/* One executor dies halfway: only the blocks that no other has are sent again. */
Test(broadcast_tracker, executor_loss_resends_little)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct scenario s = promised;
        s.seed = seed;
        s.executors = 8;
        s.deaths = 1;
        run(&s);
        cr_expect_leq(driver_share(), 1.5, "seed %llu: %.2f times the size",
                      (unsigned long long)seed, driver_share());
    }
}

static void expect_track(struct tracker *t, uint32_t executor, struct block_request in,
                         const struct block_assignment *wanted)
{
    struct block_assignment out = {.count = 77};
    cr_assert(broadcast_tracker_on_block_request(t, executor, &in, &out));
    cr_assert_eq(out.count, wanted->count, "%u blocks instead of %u", out.count, wanted->count);
    for (uint32_t i = 0; i < out.count; i++) {
        cr_expect_eq(out.blocks[i].block, wanted->blocks[i].block);
        cr_expect_eq(out.blocks[i].from, wanted->blocks[i].from);
    }
}

Test(broadcast_tracker, unsolicited_reports_are_ignored)
{
    struct tracker *t = broadcast_tracker_create(2);
    struct block_assignment none = {.count = 0},
                            one = {.count = 1, .blocks = {{0, EXECUTOR_ID_DRIVER, 0}}};
    expect_track(t, 0, (struct block_request){.blocks_max = 1}, &one);
    struct block_request odd = {
        .received_count = 3, .received = {1, 2, UINT32_MAX}, .failed_count = 2, .failed = {1, 9}};
    expect_track(t, 1, odd, &none);
    struct block_request twice = {
        .received_count = 2, .received = {0, 0}, .failed_count = 1, .failed = {0}};
    expect_track(t, 0, twice, &none);
    one.blocks[0] = (struct assigned_block){1, EXECUTOR_ID_DRIVER, 0};
    expect_track(t, 0, (struct block_request){.blocks_max = 16}, &one);
    cr_expect_eq(broadcast_tracker_blocks_sent_by_driver(t), 2);
    broadcast_tracker_on_executor_lost(t, 7);
    broadcast_tracker_on_executor_lost(t, 0);
    broadcast_tracker_on_executor_lost(t, 0);
    expect_track(t, 0, (struct block_request){.blocks_max = 1}, &none);
    one.blocks[0] = (struct assigned_block){1, EXECUTOR_ID_DRIVER, 0};
    expect_track(t, 1, (struct block_request){.blocks_max = 1}, &one);
    broadcast_tracker_destroy(t);
    broadcast_tracker_destroy(NULL);
    cr_expect_eq(mem_live_blocks(), 0);
}

Test(broadcast_tracker, blocks_come_from_driver_after_peer_failure)
{
    struct tracker *t = broadcast_tracker_create(6);
    struct block_request all = {.blocks_max = 4, .received_count = 0};
    struct block_assignment out;
    for (uint32_t have = 0; have < 6;) {
        cr_assert(broadcast_tracker_on_block_request(t, 5, &all, &out));
        all.received_count = out.count;
        for (uint32_t i = 0; i < out.count; i++, have++) all.received[i] = out.blocks[i].block;
    }
    cr_assert(broadcast_tracker_on_block_request(t, 5, &all, &out));
    cr_assert_eq(out.count, 0);
    cr_assert(
        broadcast_tracker_on_block_request(t, 6, &(struct block_request){.blocks_max = 1}, &out));
    cr_assert_eq(out.blocks[0].from, 5);
    struct block_request failed = {
        .blocks_max = 4, .failed_count = 1, .failed = {out.blocks[0].block}};
    cr_assert(broadcast_tracker_on_block_request(t, 6, &failed, &out));
    cr_expect_eq(out.count, 2); /* the driver sends an executor two blocks at a time */
    for (uint32_t i = 0; i < out.count; i++) cr_expect_eq(out.blocks[i].from, EXECUTOR_ID_DRIVER);
    broadcast_tracker_destroy(t);
}

Test(broadcast_tracker, out_of_memory_changes_nothing)
{
    struct tracker *t = NULL;
    for (int64_t n = 1; t == NULL; n++) {
        mem_fail_at(n, false);
        t = broadcast_tracker_create(2);
    }
    mem_fail_at(0, false);
    struct block_assignment out = {.count = 0};
    struct block_request in = {.blocks_max = 1};
    for (int64_t n = 1, done = 0; !done; n++) {
        mem_fail_at(n, false);
        done = broadcast_tracker_on_block_request(t, 3, &in, &out);
        if (!done) cr_expect_eq(broadcast_tracker_blocks_sent_by_driver(t), 0);
    }
    in = (struct block_request){
        .blocks_max = 1, .received_count = 1, .received = {out.blocks[0].block}};
    mem_fail_at(1, false);
    cr_expect_not(broadcast_tracker_on_block_request(t, 3, &in, &out));
    mem_fail_at(0, false);
    cr_expect_eq(broadcast_tracker_blocks_sent_by_driver(t), 1);
    cr_expect(broadcast_tracker_on_block_request(t, 3, &in, &out));
    cr_expect_eq(out.count, 1);
    broadcast_tracker_destroy(t);
    cr_expect_eq(mem_live_blocks(), 0);
}
