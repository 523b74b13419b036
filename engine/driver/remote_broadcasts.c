/* Broadcasts that are too large to go with their announcement. The bytes stay where the job has
 * them, and go to the sockets from there; an executor is told of a value and its size, asks which
 * blocks to fetch from whom (TRACK), and gets from here those that nobody else has. What is packed
 * is kept as long as the job lives, so that packing is paid for once. */
#include "engine/driver/remote_internal.h"

#include "engine/net/value.h"

#include <assert.h>

#define SENDING_BYTES_MAX (32 * MIB) /* to one executor: more than it may have asked for */

/* One send. */
struct sending {
    struct link *link;
    uint64_t size;
};

static struct value *broadcasts_find(struct remote *r, uint64_t id)
{
    pthread_mutex_lock(&r->lock);
    struct value *v = r->values;
    while (v != NULL && v->id != id) v = v->next;
    pthread_mutex_unlock(&r->lock);
    return v;
}

int broadcasts_add(struct remote *r, uint64_t id, const void *data, uint64_t size,
                   struct glint_error *error)
{
    if (broadcasts_find(r, id) != NULL) return 0;
    uint32_t blocks = value_blocks(size);
    struct value *v = mem_zalloc(sizeof *v);
    if (v != NULL) {
        v->id = id;
        v->size = size;
        v->data = data;
        v->tracker = tracker_create(blocks);
        v->blocks = mem_zalloc(sizeof *v->blocks * ((uint64_t)blocks + 1));
    }
    if (v == NULL || v->tracker == NULL || v->blocks == NULL) {
        if (v != NULL) {
            tracker_destroy(v->tracker);
            mem_free(v->blocks);
        }
        mem_free(v);
        return error_no_memory(error);
    }
    pthread_mutex_lock(&r->lock);
    v->next = r->values;
    r->values = v;
    pthread_mutex_unlock(&r->lock);
    return 0;
}

/* ---- Blocks */

static struct glint_slice value_bytes(const struct value *v)
{
    return (struct glint_slice){v->data, v->size};
}

static uint64_t sum_of(struct value *v, uint32_t block)
{
    struct sent_block *b = &v->blocks[block];
    if (!b->has_sum) b->sum = value_sum(v->id, block, value_bytes(v));
    b->has_sum = true;
    return b->sum;
}

/* As it travels; without memory to pack it, as it is. */
static struct glint_slice block_bytes(struct value *v, uint32_t block)
{
    struct sent_block *b = &v->blocks[block];
    struct glint_error ignored = {.code = GLINT_OK};
    if (b->packed.size == 0 && !b->pays_not)
        b->pays_not =
            value_pack(block, value_bytes(v), &b->packed, &ignored) == 0 && b->packed.size == 0;
    if (b->packed.size == 0) return value_block(value_bytes(v), block);
    return (struct glint_slice){b->packed.data, b->packed.size};
}

static void on_sent(void *arg, bool ok)
{
    struct sending *sending = arg;
    struct link *l = sending->link;
    assert(l->sending_bytes >= sending->size);
    l->sending_bytes -= sending->size;
    if (ok) atomic_fetch_add(&l->r->broadcast_bytes, sending->size);
    mem_free(sending);
}

static void answer_gone(struct link *l, uint64_t request, enum glint_code code, const char *cause)
{
    struct glint_error why = {.code = GLINT_OK}, error = {.code = GLINT_OK};
    struct buffer payload = {NULL, 0, 0};
    error_set(&why, code, NULL, "%s", cause);
    if (gone_encode(&why, &payload, &error) != 0)
        link_fail(l, &error);
    else
        link_send(l->data, FRAME_GONE, request, &payload);
    buffer_fini(&payload);
}

static void send_block(struct link *l, struct value *v, uint32_t block, uint64_t request)
{
    struct sending *sending = mem_alloc(sizeof *sending);
    if (sending == NULL) {
        answer_gone(l, request, GLINT_E_NO_MEMORY, "the driver has no memory to send a block");
        return;
    }
    struct glint_slice bytes = block_bytes(v, block);
    *sending = (struct sending){l, bytes.size};
    l->sending_bytes += bytes.size;
    if (!conn_send_data(l->data, request, bytes, on_sent, sending)) on_sent(sending, false);
}

int broadcasts_on_get(struct link *l, const struct frame *f, struct glint_slice payload,
                      struct glint_error *error)
{
    struct get get;
    int r = get_decode(payload, &get, error);
    if (r != 0) return r;
    enum get_kind kind = get.kind;
    uint32_t block = get.block;
    struct value *v = broadcasts_find(l->r, get.id);
    get_fini(&get);
    if (kind != GET_VALUE)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a driver has only broadcasts to give");
    if (v == NULL || block >= value_blocks(v->size))
        answer_gone(l, f->request, GLINT_E_PROTOCOL, "there is no such broadcast block");
    else if (l->sending_bytes > SENDING_BYTES_MAX)
        answer_gone(l, f->request, GLINT_E_CONNECTION, "asked for more than was taken");
    else
        send_block(l, v, block, f->request);
    return 0;
}

/* ---- Who fetches what from whom */

static void send_tracked(struct link *l, struct value *v, struct tracked *tracked)
{
    struct glint_error error = {.code = GLINT_OK};
    struct buffer payload = {NULL, 0, 0};
    assert(tracked->count <= TRACK_BLOCKS_MAX);
    tracked->id = v->id;
    if (l->data == NULL || l->state != LINK_JOINED) return;
    for (uint32_t i = 0; i < tracked->count; i++)
        tracked->blocks[i].sum = sum_of(v, tracked->blocks[i].block);
    if (tracked_encode(tracked, &payload, &error) != 0)
        link_fail(l, &error);
    else
        link_send(l->data, FRAME_TRACKED, 0, &payload);
    buffer_fini(&payload);
}

static void serve_waiting(struct remote *r, struct value *v)
{
    uint32_t number = 0;
    struct tracked tracked = {.id = 0};
    while (tracker_next(v->tracker, &number, &tracked)) {
        struct link *l = join_find(r, number);
        if (l != NULL) send_tracked(l, v, &tracked);
    }
}

int broadcasts_on_track(struct link *l, struct glint_slice payload, struct glint_error *error)
{
    struct track track;
    struct tracked tracked = {.id = 0};
    int r = track_decode(payload, &track, error);
    if (r != 0) return r;
    struct value *v = broadcasts_find(l->r, track.id);
    if (v == NULL || !l->joined)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "TRACK of a broadcast that is not there");
    if (!tracker_on_track(v->tracker, l->number, &track, &tracked)) return error_no_memory(error);
    send_tracked(l, v, &tracked);
    serve_waiting(l->r, v);
    return 0;
}

void broadcasts_on_lost(struct remote *r, uint32_t number)
{
    pthread_mutex_lock(&r->lock);
    struct value *first = r->values;
    pthread_mutex_unlock(&r->lock);
    for (struct value *v = first; v != NULL; v = v->next) {
        tracker_on_lost(v->tracker, number);
        serve_waiting(r, v);
    }
}

void broadcasts_fini(struct remote *r)
{
    for (struct value *v = r->values, *next; v != NULL; v = next) {
        next = v->next;
        for (uint32_t i = 0; i < value_blocks(v->size); i++) buffer_fini(&v->blocks[i].packed);
        tracker_destroy(v->tracker);
        mem_free(v->blocks);
        mem_free(v);
    }
    r->values = NULL;
}
