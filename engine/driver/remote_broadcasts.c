/* Broadcasts. The bytes stay where the job has them; an executor is told of a value and its size,
 * asks which blocks to fetch from whom (TRACK), and gets from here those that nobody else has.
 *
 * A block is sealed when it is asked for. Sealed it is held while it is on its way, and as long as
 * the job lives if it is smaller than the block, so that compressing is paid for once. */
#include "engine/driver/remote_internal.h"

#include "engine/net/seal.h"

#include <assert.h>

#define SENDING_BYTES_MAX (32 * MIB) /* to one executor: more than it may have asked for */

struct sealed {
    struct value *value;
    uint32_t block, holders; /* sends under way, and one for being kept */
    struct buffer bytes;
};

/* One send. */
struct sending {
    struct link *link;
    struct sealed *sealed;
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
        v->kept = mem_zalloc(sizeof(struct sealed *) * ((uint64_t)blocks + 1));
    }
    if (v == NULL || v->tracker == NULL || v->kept == NULL) {
        if (v != NULL) {
            tracker_destroy(v->tracker);
            mem_free(v->kept);
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

static void let_go(struct sealed *s)
{
    assert(s->holders > 0);
    if (--s->holders > 0) return;
    s->value->kept[s->block] = NULL;
    buffer_fini(&s->bytes);
    mem_free(s);
}

/* Held once more. NULL: *error set. */
static struct sealed *seal(struct value *v, uint32_t block, struct glint_error *error)
{
    struct sealed *s = v->kept[block];
    if (s == NULL) {
        s = mem_zalloc(sizeof *s);
        if (s == NULL || value_seal(v->id, block, (struct glint_slice){v->data, v->size}, &s->bytes,
                                    error) != 0) {
            if (s == NULL) error_no_memory(error);
            if (s != NULL) buffer_fini(&s->bytes);
            mem_free(s);
            return NULL;
        }
        s->value = v;
        s->block = block;
        s->holders = s->bytes.size < value_block_size(v->size, block);
        v->kept[block] = s;
    }
    s->holders++;
    return s;
}

static void on_sent(void *arg, bool ok)
{
    struct sending *sending = arg;
    struct link *l = sending->link;
    uint64_t size = sending->sealed->bytes.size;
    assert(l->sending_bytes >= size);
    l->sending_bytes -= size;
    if (ok) atomic_fetch_add(&l->r->broadcast_bytes, size);
    let_go(sending->sealed);
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
    struct glint_error error = {.code = GLINT_OK};
    struct sending *sending = mem_alloc(sizeof *sending);
    struct sealed *s = sending != NULL ? seal(v, block, &error) : NULL;
    if (s == NULL) {
        mem_free(sending);
        answer_gone(l, request, GLINT_E_NO_MEMORY, "the driver has no memory for a block");
        return;
    }
    *sending = (struct sending){l, s};
    l->sending_bytes += s->bytes.size;
    struct glint_slice bytes = {s->bytes.data, s->bytes.size};
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
        for (uint32_t i = 0; i < value_blocks(v->size); i++)
            if (v->kept[i] != NULL) let_go(v->kept[i]);
        tracker_destroy(v->tracker);
        mem_free(v->kept);
        mem_free(v);
    }
    r->values = NULL;
}
