/* A queue of packets in transit; the seed decides which is delivered next. */
#include "tests/support/broadcast_net.h"

#include "engine/base/env.h"
#include "engine/transfer/broadcast.h"

#include <assert.h>
#include <string.h>

struct net_packet {
    struct net_packet *next;
    uint32_t node; /* sender, or receiver */
    enum { PACKET_BLOCK_REQUEST, PACKET_BLOCK_ASSIGN, PACKET_GET } kind;
    struct block_request track;
    struct block_assignment tracked;
    struct fetch_request *request;
};

static uint64_t draw_u64(struct broadcast_net *net)
{
    net->random ^= net->random << 13;
    net->random ^= net->random >> 7;
    net->random ^= net->random << 17;
    return net->random;
}

static struct net_packet *add_packet(struct broadcast_net *net, uint32_t node, int kind)
{
    struct net_packet *l = mem_zalloc(sizeof *l);
    assert(l != NULL);
    l->node = node;
    l->kind = kind;
    *(net->last != NULL ? &net->last->next : &net->first) = l;
    net->last = l;
    return l;
}

static bool on_track(void *arg, const struct block_request *t)
{
    struct net_node *n = arg;
    if (n->disconnected) return false;
    if (n->dialling) return true;
    assert(t->id == n->net->id && t->received_count <= BLOCK_REQUEST_MAX);
    add_packet(n->net, n->number, PACKET_BLOCK_REQUEST)->track = *t;
    return true;
}

static void on_submit(void *arg, struct fetch_request *first)
{
    struct net_node *n = arg;
    for (struct fetch_request *r = first, *next; r != NULL; r = next) {
        next = r->next;
        assert(r->get.kind == GET_BROADCAST_BLOCK && r->get.id == n->net->id && r->into != NULL);
        add_packet(n->net, n->number, PACKET_GET)->request = r;
        if (++n->net->requests_out > n->net->requests_most)
            n->net->requests_most = n->net->requests_out;
    }
}

void net_open(struct broadcast_net *net, uint32_t nodes, uint64_t id, struct glint_slice value,
              uint64_t fetch_ms, uint64_t seed)
{
    *net = (struct broadcast_net){.value = value, .id = id, .random = seed * 2 + 1};
    assert(nodes <= NET_NODES_MAX);
    net->tracker = broadcast_tracker_create(broadcast_block_count(value.size));
    assert(net->tracker != NULL);
    net->node_count = nodes;
    for (uint32_t i = 0; i < nodes; i++) {
        struct net_node *n = &net->nodes[i];
        n->net = net;
        n->number = i;
        n->fetcher = (struct fetcher){.submit = on_submit, .arg = n};
        n->broadcasts = broadcast_client_create(env_real(), &n->fetcher, fetch_ms, on_track, n);
        assert(n->broadcasts != NULL);
    }
}

static void send_assign(struct broadcast_net *net, uint32_t node, struct block_assignment *t)
{
    t->id = net->id;
    for (uint32_t i = 0; i < t->count; i++)
        t->blocks[i].checksum = broadcast_block_checksum(net->id, t->blocks[i].block, net->value);
    add_packet(net, node, PACKET_BLOCK_ASSIGN)->tracked = *t;
}

static void deliver_block_request(struct broadcast_net *net, const struct net_packet *l)
{
    struct block_assignment t = {.count = 0};
    bool kept = broadcast_tracker_on_block_request(net->tracker, l->node, &l->track, &t);
    assert(kept);
    send_assign(net, l->node, &t);
    for (uint32_t node; broadcast_tracker_next_assignment(net->tracker, &node, &t);)
        send_assign(net, node, &t);
}

static void end(struct broadcast_net *net, struct fetch_request *r)
{
    net->requests_out--;
    r->done(r);
}

/* As a connection delivers it: fewer bytes than the block has are compressed. */
static bool arrive(struct fetch_request *r, struct glint_slice bytes)
{
    assert(bytes.size > 0 && bytes.size <= r->get.size);
    if (bytes.size < r->get.size) return buffer_append(&r->response, bytes.data, bytes.size);
    memcpy(r->into, bytes.data, bytes.size);
    return true;
}

/* Responds with a block of the driver or of another node. Returns false on failure. */
static bool answer(struct broadcast_net *net, struct fetch_request *r)
{
    struct glint_slice bytes;
    if (r->executor != EXECUTOR_ID_DRIVER) {
        assert(r->executor < net->node_count);
        struct broadcast_client *from = net->nodes[r->executor].broadcasts;
        void *ref = broadcast_client_find_block(from, net->id, r->get.block, &bytes);
        if (ref == NULL) return false;
        net->peer_blocks++;
        const bool arrived = arrive(r, bytes);
        broadcast_client_release(from, ref);
        return arrived;
    }
    struct buffer packed = {NULL, 0, 0};
    net->driver_blocks++;
    if (broadcast_block_compress(r->get.block, net->value, &packed, &r->error) != 0) return false;
    bytes = (struct glint_slice){packed.data, packed.size};
    if (packed.size == 0) bytes = broadcast_block_slice(net->value, r->get.block);
    bool arrived = arrive(r, bytes);
    buffer_fini(&packed);
    return arrived;
}

static void corrupt(struct broadcast_net *net, struct fetch_request *r, unsigned luck)
{
    uint8_t *bytes = r->response.size > 0 ? r->response.data : r->into;
    uint64_t size = r->response.size > 0 ? r->response.size : r->get.size;
    bytes[draw_u64(net) % size] ^= (uint8_t)(1u << (luck % 8));
}

static void deliver_request(struct broadcast_net *net, struct fetch_request *r)
{
    unsigned luck = (unsigned)(draw_u64(net) & 255);
    bool spared = r->executor == EXECUTOR_ID_DRIVER && !net->corrupt_always;
    if (!spared && luck < net->fail_share) {
        net->failures++;
        error_set(&r->error, GLINT_E_CONNECTION, NULL, "the link was cut");
    } else if (!answer(net, r)) {
        error_set(&r->error, GLINT_E_CONNECTION, NULL, "block not found");
    } else if (!spared && luck < net->fail_share + net->corrupt_share) {
        net->failures++;
        corrupt(net, r, luck);
    }
    end(net, r);
}

static struct net_packet *unlink_nth(struct broadcast_net *net, uint64_t n)
{
    struct net_packet **link = &net->first, *before = NULL;
    for (; n > 0 && (*link)->next != NULL; n--) {
        before = *link;
        link = &before->next;
    }
    struct net_packet *l = *link;
    *link = l->next;
    if (l == net->last) net->last = before;
    return l;
}

bool net_step(struct broadcast_net *net)
{
    if (net->first == NULL) return false;
    /* Requests may be reordered; messages on one connection may not. */
    uint64_t n = net->first->kind == PACKET_GET ? draw_u64(net) % 4 : 0;
    struct net_packet *l = net->first;
    for (uint64_t i = 0; i < n && l->next != NULL; i++)
        if ((l = l->next)->kind != PACKET_GET) n = i;
    l = unlink_nth(net, n);
    struct glint_error error = {.code = GLINT_OK};
    if (l->kind == PACKET_BLOCK_REQUEST) deliver_block_request(net, l);
    if (l->kind == PACKET_GET) deliver_request(net, l->request);
    if (l->kind == PACKET_BLOCK_ASSIGN) {
        int r = broadcast_client_on_assign(net->nodes[l->node].broadcasts, &l->tracked, &error);
        assert(r == 0);
    }
    mem_free(l);
    return true;
}

void net_close(struct broadcast_net *net)
{
    while (net->first != NULL) {
        struct net_packet *l = unlink_nth(net, 0);
        net->nodes[l->node].disconnected = true;
        if (l->kind == PACKET_GET) {
            error_set(&l->request->error, GLINT_E_CONNECTION, NULL, "the network was destroyed");
            end(net, l->request);
        }
        mem_free(l);
    }
    for (uint32_t i = 0; i < net->node_count; i++)
        broadcast_client_destroy(net->nodes[i].broadcasts);
    broadcast_tracker_destroy(net->tracker);
}
