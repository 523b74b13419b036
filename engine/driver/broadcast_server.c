/* Serves broadcasts that are too large for their BROADCAST message (BROADCAST_INLINE_BYTES_MAX).
 * An executor knows the id and size, asks which blocks to fetch from where (BLOCK_REQUEST), and
 * gets from the driver those that the tracker assigned to the driver; the rest come from other
 * executors. The bytes are not copied: sockets send from the context's memory. A block is
 * compressed when it is first sent and cached until the job ends, so that this is done once. */
#include "engine/driver/cluster_transport_internal.h"

#include "engine/base/text.h"
#include "engine/transfer/broadcast_block.h"
#include "engine/transfer/broadcast_tracker.h"

#include <assert.h>
#include <limits.h>

/* ---- Sends the driver's own program to daemons of another build: its size and SHA-256, then its
 * bytes. It is hashed when the first daemon asks, on libuv's thread pool. /proc/self/exe is the
 * file that runs, also if its path has been replaced. */

#define OWN_PROGRAM "/proc/self/exe"

struct program_server {
    struct cluster_transport *r;
    struct run file;
    struct program_info info;
    bool hashing, hashed;
    uv_work_t work;
    struct glint_error why;
    char path[PATH_MAX];
};

static void send_program_info(struct daemon_conn *p)
{
    struct program_server *s = p->r->program;
    if (p->conn == NULL || p->state != DAEMON_CONN_REQUESTED) return;
    if (s->why.code != GLINT_OK)
        daemon_conn_fail(p, &s->why);
    else
        conn_send_payload(p->conn, FRAME_PROGRAM, 0, &program_info_format, &s->info);
}

static void hash_program_on_pool(uv_work_t *work)
{
    struct program_server *s = work->data;
    struct env *env = s->r->env;
    struct env_stat stat;
    const int file = env->open(env, ENV_CWD, s->path, ENV_READ);
    int r = file < 0 ? file : env->stat_open(env, file, &stat);
    if (r >= 0) r = sha256_of_file(env, file, s->info.sha256);
    if (r < 0) error_set_system(&s->why, GLINT_E_SYSTEM, r, "read", s->path);
    if (r >= 0) s->info.size = stat.size;
    if (file >= 0) env->close(env, file);
    s->file = (struct run){.source = {.bytes = s->info.size}, .path = s->path, .env = env};
}

static void on_program_hashed(uv_work_t *work, int status)
{
    struct program_server *s = work->data;
    struct cluster_transport *r = s->r;
    (void)status;
    s->hashing = false;
    s->hashed = true;
    if (r->stopping) return;
    for (uint32_t i = 0; i < r->cluster->executor_count; i++)
        if (r->daemon_conns[i].fetches_program) send_program_info(&r->daemon_conns[i]);
}

int program_server_on_request(struct daemon_conn *p, struct glint_error *error)
{
    struct cluster_transport *r = p->r;
    if (p->state != DAEMON_CONN_REQUESTED)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected PROGRAM_REQUEST");
    if (r->program == NULL) r->program = mem_zalloc(sizeof *r->program);
    struct program_server *s = r->program;
    if (s == NULL) return error_no_memory(error);
    p->fetches_program = true;
    /* The acquisition order no longer waits for this daemon. */
    registration_join_if_enough_executors(r);
    if (s->hashed) send_program_info(p);
    if (s->hashed || s->hashing) return 0;
    s->r = r;
    text_format(s->path, sizeof s->path, "%s",
                r->cluster->program != NULL ? r->cluster->program : OWN_PROGRAM);
    s->work.data = s;
    s->hashing = true;
    int failed = uv_queue_work(&r->loop, &s->work, hash_program_on_pool, on_program_hashed);
    assert(failed == 0); /* fails only without a work function */
    return 0;
}

void program_server_find(void *arg, const struct get_request *g, struct fetch_found *out,
                         struct glint_error *why)
{
    const struct cluster_transport *r = arg;
    (void)g;
    if (r->program != NULL && r->program->hashed)
        out->file = &r->program->file;
    else
        error_set(why, GLINT_E_FETCH_FAILED, NULL, "the driver's program was not requested");
}

/* ---- broadcast server */

/* What is cached of one block of a broadcast, so that it is compressed and hashed once. */
struct sent_block {
    struct buffer packed; /* compressed; empty: not compressed yet, or incompressible */
    uint64_t checksum;    /* of the uncompressed block */
    bool has_checksum, incompressible;
};

/* A broadcast above BROADCAST_INLINE_BYTES_MAX. The driver's thread adds it; `tracker` and `blocks`
 * are used by the loop's thread only. */
struct served_broadcast {
    struct served_broadcast *next;
    uint64_t id, size;
    const uint8_t *data; /* borrowed from the context until it is removed */
    void *owned_data;    /* under lock; not NULL: it is removed, and freed with this */
    uint32_t sending;    /* blocks that are being sent; loop's thread */
    struct tracker *tracker;
    struct sent_block *blocks;
};

/* Both threads. The loop's thread may use the result without the lock, as only that removes. */
static struct served_broadcast *find_served_broadcast(struct cluster_transport *r, uint64_t id)
{
    pthread_mutex_lock(&r->lock);
    struct served_broadcast *v = r->broadcasts;
    while (v != NULL && v->id != id) v = v->next;
    pthread_mutex_unlock(&r->lock);
    return v;
}

int broadcast_server_add(struct cluster_transport *r, uint64_t id, const void *data, uint64_t size,
                         struct glint_error *error)
{
    if (find_served_broadcast(r, id) != NULL) return 0; /* sent to another executor before */
    uint32_t blocks = broadcast_block_count(size);
    struct served_broadcast *v = mem_zalloc(sizeof *v);
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
    v->next = r->broadcasts;
    r->broadcasts = v;
    if (id > r->last_served_broadcast) r->last_served_broadcast = id;
    pthread_mutex_unlock(&r->lock);
    return 0;
}

void broadcast_server_remove(struct cluster_transport *r, uint64_t id, void *data)
{
    struct served_broadcast *v = find_served_broadcast(r, id);
    if (v == NULL) { /* it was small, or never sent */
        mem_free(data);
        return;
    }
    assert(v->data == data && v->owned_data == NULL);
    pthread_mutex_lock(&r->lock);
    v->owned_data = data;
    pthread_mutex_unlock(&r->lock);
    uv_async_send(&r->wakeup);
}

static void free_served_broadcast(struct served_broadcast *v)
{
    for (uint32_t i = 0; i < broadcast_block_count(v->size); i++) buffer_fini(&v->blocks[i].packed);
    tracker_destroy(v->tracker);
    mem_free(v->blocks);
    mem_free(v->owned_data);
    mem_free(v);
}

/* Loop's thread: frees the removed ones of which no block is being sent. */
void broadcast_server_free_removed(struct cluster_transport *r)
{
    struct served_broadcast *freed = NULL;
    pthread_mutex_lock(&r->lock);
    for (struct served_broadcast **link = &r->broadcasts; *link != NULL;) {
        struct served_broadcast *v = *link;
        if (v->owned_data == NULL || v->sending > 0) {
            link = &v->next;
            continue;
        }
        *link = v->next;
        v->next = freed;
        freed = v;
    }
    pthread_mutex_unlock(&r->lock);
    for (struct served_broadcast *next; freed != NULL; freed = next) {
        next = freed->next;
        free_served_broadcast(freed);
    }
}

/* ---- Blocks */

static struct glint_slice served_broadcast_bytes(const struct served_broadcast *v)
{
    return (struct glint_slice){v->data, v->size};
}

static uint64_t block_checksum(struct served_broadcast *v, uint32_t block)
{
    struct sent_block *b = &v->blocks[block];
    if (!b->has_checksum)
        b->checksum = broadcast_block_checksum(v->id, block, served_broadcast_bytes(v));
    b->has_checksum = true;
    return b->checksum;
}

/* The block as it is sent: compressed, or uncompressed if that is not smaller or there is no
 * memory. The result is borrowed until broadcast_server_fini. */
static struct glint_slice get_encoded_block(struct served_broadcast *v, uint32_t block)
{
    struct sent_block *b = &v->blocks[block];
    struct glint_error ignored = {.code = GLINT_OK};
    if (b->packed.size == 0 && !b->incompressible)
        b->incompressible =
            broadcast_block_compress(block, served_broadcast_bytes(v), &b->packed, &ignored) == 0 &&
            b->packed.size == 0;
    if (b->packed.size == 0) return broadcast_block_slice(served_broadcast_bytes(v), block);
    return (struct glint_slice){b->packed.data, b->packed.size};
}

static void find_broadcast_block(void *arg, const struct get_request *g, struct fetch_found *out,
                                 struct glint_error *why)
{
    struct served_broadcast *v = find_served_broadcast(arg, g->id);
    if (v != NULL && g->block < broadcast_block_count(v->size)) {
        out->bytes = get_encoded_block(v, g->block);
        out->ref = v;
        v->sending++;
    } else {
        error_set(why, GLINT_E_PROTOCOL, NULL, "block %u of broadcast %llu not found", g->block,
                  (unsigned long long)g->id);
    }
}

static void release_served_block(void *arg, void *ref)
{
    struct served_broadcast *v = ref;
    assert(v->sending > 0);
    if (--v->sending == 0) broadcast_server_free_removed(arg);
}

struct fetch_source broadcast_server_source(struct cluster_transport *r)
{
    return (struct fetch_source){.find = find_broadcast_block,
                                 .release = release_served_block,
                                 .arg = r,
                                 .bytes_sent = &r->broadcast_bytes};
}

/* ---- Block assignments */

static void send_block_assignment(struct executor_conn *l, struct served_broadcast *v,
                                  struct block_assignment *assignment)
{
    assert(assignment->count <= BLOCK_REQUEST_MAX);
    assignment->id = v->id;
    /* Being lost: broadcast_server_on_executor_lost takes the assignment back. */
    if (l->data == NULL || l->state != EXECUTOR_CONN_JOINED) return;
    for (uint32_t i = 0; i < assignment->count; i++)
        assignment->blocks[i].checksum = block_checksum(v, assignment->blocks[i].block);
    conn_send_payload(l->data, FRAME_BLOCK_ASSIGN, 0, &block_assignment_format, assignment);
}

/* After an event that may have freed blocks: sends BLOCK_ASSIGN to executors that wait. */
static void assign_blocks_to_waiting(struct cluster_transport *r, struct served_broadcast *v)
{
    uint32_t number = 0;
    struct block_assignment assignment = {.id = 0};
    while (tracker_next_assignment(v->tracker, &number, &assignment)) {
        struct executor_conn *l = registration_find_executor(r, number);
        if (l != NULL) send_block_assignment(l, v, &assignment);
    }
}

static uint64_t last_served_broadcast_id(struct cluster_transport *r)
{
    pthread_mutex_lock(&r->lock);
    const uint64_t id = r->last_served_broadcast;
    pthread_mutex_unlock(&r->lock);
    return id;
}

int broadcast_server_on_block_request(struct executor_conn *l, struct glint_slice payload,
                                      struct glint_error *error)
{
    struct block_request request;
    struct block_assignment assignment = {.id = 0};
    int r = block_request_decode(payload, &request, error);
    if (r != 0) return r;
    struct served_broadcast *v = find_served_broadcast(l->r, request.id);
    /* It was removed while the request was on its way. */
    if (v == NULL && l->joined && request.id <= last_served_broadcast_id(l->r)) return 0;
    if (v == NULL || !l->joined)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "BLOCK_REQUEST for an unknown broadcast");
    if (!tracker_on_block_request(v->tracker, l->number, &request, &assignment))
        return error_no_memory(error);
    send_block_assignment(l, v, &assignment);
    assign_blocks_to_waiting(l->r, v);
    return 0;
}

void broadcast_server_on_executor_lost(struct cluster_transport *r, uint32_t number)
{
    /* New ones are prepended, so the list behind `first` does not change. */
    pthread_mutex_lock(&r->lock);
    struct served_broadcast *first = r->broadcasts;
    pthread_mutex_unlock(&r->lock);
    for (struct served_broadcast *v = first; v != NULL; v = v->next) {
        tracker_on_executor_lost(v->tracker, number);
        assign_blocks_to_waiting(r, v);
    }
}

void broadcast_server_fini(struct cluster_transport *r)
{
    for (struct served_broadcast *v = r->broadcasts, *next; v != NULL; v = next) {
        next = v->next;
        free_served_broadcast(v);
    }
    r->broadcasts = NULL;
}
