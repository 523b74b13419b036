/* One queue holds all that is on its way; the seed says which of it arrives next. */
#include "tests/support/values_net.h"

#include "engine/base/env.h"
#include "engine/net/value.h"

#include <assert.h>
#include <string.h>

struct net_letter {
    struct net_letter *next;
    uint32_t node; /* who sent it, or is to get it */
    enum { LETTER_TRACK, LETTER_TRACKED, LETTER_REQUEST } kind;
    struct track track;
    struct tracked tracked;
    struct fetch_request *request;
};

static uint64_t draw(struct values_net *net)
{
    net->random ^= net->random << 13;
    net->random ^= net->random >> 7;
    net->random ^= net->random << 17;
    return net->random;
}

static struct net_letter *post(struct values_net *net, uint32_t node, int kind)
{
    struct net_letter *l = mem_zalloc(sizeof *l);
    assert(l != NULL);
    l->node = node;
    l->kind = kind;
    *(net->last != NULL ? &net->last->next : &net->first) = l;
    net->last = l;
    return l;
}

static bool on_track(void *arg, const struct track *t)
{
    struct net_node *n = arg;
    if (n->mute) return false;
    assert(t->id == n->net->id && t->have_count <= TRACK_BLOCKS_MAX);
    post(n->net, n->number, LETTER_TRACK)->track = *t;
    return true;
}

static void on_submit(void *arg, struct fetch_request *first)
{
    struct net_node *n = arg;
    for (struct fetch_request *r = first, *next; r != NULL; r = next) {
        next = r->next;
        assert(r->get.kind == GET_VALUE && r->get.id == n->net->id && r->into != NULL);
        post(n->net, n->number, LETTER_REQUEST)->request = r;
        if (++n->net->requests_out > n->net->requests_most)
            n->net->requests_most = n->net->requests_out;
    }
}

void net_open(struct values_net *net, uint32_t nodes, uint64_t id, struct glint_slice value,
              uint64_t fetch_ms, uint64_t seed)
{
    *net = (struct values_net){.value = value, .id = id, .random = seed * 2 + 1};
    assert(nodes <= NET_NODES_MAX);
    net->tracker = tracker_create(value_blocks(value.size));
    assert(net->tracker != NULL);
    net->node_count = nodes;
    for (uint32_t i = 0; i < nodes; i++) {
        struct net_node *n = &net->nodes[i];
        n->net = net;
        n->number = i;
        n->fetcher = (struct fetcher){.submit = on_submit, .arg = n};
        n->values = values_create(env_real(), &n->fetcher, fetch_ms, on_track, n);
        assert(n->values != NULL);
    }
}

static void reply(struct values_net *net, uint32_t node, struct tracked *t)
{
    t->id = net->id;
    for (uint32_t i = 0; i < t->count; i++)
        t->blocks[i].sum = value_sum(net->id, t->blocks[i].block, net->value);
    post(net, node, LETTER_TRACKED)->tracked = *t;
}

static void deliver_track(struct values_net *net, const struct net_letter *l)
{
    struct tracked t = {.count = 0};
    bool kept = tracker_on_track(net->tracker, l->node, &l->track, &t);
    assert(kept);
    reply(net, l->node, &t);
    for (uint32_t node; tracker_next(net->tracker, &node, &t);) reply(net, node, &t);
}

static void end(struct values_net *net, struct fetch_request *r)
{
    net->requests_out--;
    r->done(r);
}

/* As a connection does it: what is shorter than the block is packed. */
static bool arrive(struct fetch_request *r, struct glint_slice bytes)
{
    assert(bytes.size > 0 && bytes.size <= r->get.size);
    if (bytes.size < r->get.size) return buffer_append(&r->answer, bytes.data, bytes.size);
    memcpy(r->into, bytes.data, bytes.size);
    return true;
}

/* The block from the driver or from another node. */
static bool answer(struct values_net *net, struct fetch_request *r)
{
    struct glint_slice bytes;
    if (r->executor != TRACK_DRIVER) {
        assert(r->executor < net->node_count);
        struct values *from = net->nodes[r->executor].values;
        if (!values_block(from, net->id, r->get.block, &bytes)) return false;
        net->peer_blocks++;
        return arrive(r, bytes);
    }
    struct buffer packed = {NULL, 0, 0};
    net->driver_blocks++;
    if (value_pack(r->get.block, net->value, &packed, &r->error) != 0) return false;
    bytes = (struct glint_slice){packed.data, packed.size};
    if (packed.size == 0) bytes = value_block(net->value, r->get.block);
    bool arrived = arrive(r, bytes);
    buffer_fini(&packed);
    return arrived;
}

static void corrupt(struct values_net *net, struct fetch_request *r, unsigned luck)
{
    uint8_t *bytes = r->answer.size > 0 ? r->answer.data : r->into;
    uint64_t size = r->answer.size > 0 ? r->answer.size : r->get.size;
    bytes[draw(net) % size] ^= (uint8_t)(1u << (luck % 8));
}

static void deliver_request(struct values_net *net, struct fetch_request *r)
{
    unsigned luck = (unsigned)(draw(net) & 255);
    bool spared = r->executor == TRACK_DRIVER && !net->corrupt_always;
    if (!spared && luck < net->fail_share) {
        net->failures++;
        error_set(&r->error, GLINT_E_CONNECTION, NULL, "a cable was cut");
    } else if (!answer(net, r)) {
        error_set(&r->error, GLINT_E_CONNECTION, NULL, "the block is not there");
    } else if (!spared && luck < net->fail_share + net->corrupt_share) {
        net->failures++;
        corrupt(net, r, luck);
    }
    end(net, r);
}

static struct net_letter *unlink_nth(struct values_net *net, uint64_t n)
{
    struct net_letter **link = &net->first, *before = NULL;
    for (; n > 0 && (*link)->next != NULL; n--) {
        before = *link;
        link = &before->next;
    }
    struct net_letter *l = *link;
    *link = l->next;
    if (l == net->last) net->last = before;
    return l;
}

bool net_step(struct values_net *net)
{
    if (net->first == NULL) return false;
    /* Requests overtake one another, what goes over one connection in order does not. */
    uint64_t n = net->first->kind == LETTER_REQUEST ? draw(net) % 4 : 0;
    struct net_letter *l = net->first;
    for (uint64_t i = 0; i < n && l->next != NULL; i++)
        if ((l = l->next)->kind != LETTER_REQUEST) n = i;
    l = unlink_nth(net, n);
    struct glint_error error = {.code = GLINT_OK};
    if (l->kind == LETTER_TRACK) deliver_track(net, l);
    if (l->kind == LETTER_REQUEST) deliver_request(net, l->request);
    if (l->kind == LETTER_TRACKED) {
        int r = values_on_tracked(net->nodes[l->node].values, &l->tracked, &error);
        assert(r == 0);
    }
    mem_free(l);
    return true;
}

void net_close(struct values_net *net)
{
    while (net->first != NULL) {
        struct net_letter *l = unlink_nth(net, 0);
        net->nodes[l->node].mute = true;
        if (l->kind == LETTER_REQUEST) {
            error_set(&l->request->error, GLINT_E_CONNECTION, NULL, "the network is gone");
            end(net, l->request);
        }
        mem_free(l);
    }
    for (uint32_t i = 0; i < net->node_count; i++) values_destroy(net->nodes[i].values);
    tracker_destroy(net->tracker);
}
