/* See block_plane.h. */
#include "tests/support/block_plane.h"

#include "engine/net/conn_internal.h"

#include <assert.h>
#include <signal.h>

#define RECORDS_MAX 30u

/* ---- Serving */

/* Sends the header and the first byte of a DATA frame, then closes. Only without TLS. */
static void send_half(struct conn *c, const struct frame *f, struct glint_slice payload)
{
    struct glint_error error = {.code = GLINT_OK};
    struct get_request get;
    uint8_t bytes[FRAME_HEADER_BYTES + 1] = {0};
    uv_buf_t buf = uv_buf_init((char *)bytes, sizeof bytes);
    if (get_request_decode(payload, &get, &error) != 0) abort();
    uint32_t size = get.kind == GET_MAP_OUTPUT ? (uint32_t)get.size : 1000;
    get_request_fini(&get);
    frame_encode(&(struct frame){FRAME_DATA, size, 0, f->request}, NULL, bytes);
    if (uv_try_write((uv_stream_t *)&c->tcp, &buf, 1) != sizeof bytes) abort();
    conn_close(c, false);
}

/* A complete DATA frame of eight bytes that was not requested. Without TLS. */
static void answer_stray(struct conn *c, const struct frame *f)
{
    uint8_t bytes[FRAME_HEADER_BYTES + 8] = {0};
    uv_buf_t buf = uv_buf_init((char *)bytes, sizeof bytes);
    frame_encode(&(struct frame){FRAME_DATA, 8, 0, f->request + 1000}, NULL, bytes);
    if (uv_try_write((uv_stream_t *)&c->tcp, &buf, 1) != sizeof bytes) abort();
}

static int server_frame(void *arg, struct conn *c, const struct frame *f,
                        struct glint_slice payload, struct glint_error *error)
{
    struct plane_server *s = arg;
    uint64_t number = s->gets++;
    assert(f->type == FRAME_GET);
    if (s->fault == PLANE_CLOSES_ONCE && number == s->fault_at)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "cut");
    if (s->fault == PLANE_CLOSES && number >= s->fault_at)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "cut");
    if (s->fault == PLANE_TRUNCATES && number >= s->fault_at) {
        send_half(c, f, payload);
        return 0;
    }
    if (s->fault == PLANE_STRAY && number == s->fault_at) answer_stray(c, f);
    if (s->fault == PLANE_SILENT && number >= s->fault_at) return 0;
    return fetch_server_on_get(s->serve, c, f, payload, error);
}

static void server_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct plane_server *s = arg;
    (void)why;
    fetch_server_on_closed(s->serve, c);
    s->conns--;
}

static const struct conn_events server_events = {.frame = server_frame, .closed = server_closed};

static bool server_accepted(void *arg, struct conn *c, struct glint_error *error)
{
    struct plane_server *s = arg;
    (void)error;
    s->conns++;
    conn_set_events(c, &server_events, s);
    return true;
}

static void net_init(struct net *net, struct plane *p, uint32_t number)
{
    *net = (struct net){.loop = &p->loop, .env = env_real(), .tls = p->tls, .connect_ms = 20000};
    struct hello *h = &net->self;
    h->protocol_min = PROTOCOL_MIN;
    h->protocol_max = PROTOCOL_MAX;
    h->role = ROLE_EXECUTOR;
    snprintf(h->cluster, sizeof h->cluster, "blocks");
    snprintf(h->node, sizeof h->node, "e%u", number);
    snprintf(h->build, sizeof h->build, "%s", build_id());
    memset(h->incarnation, (int)number + 1, sizeof h->incarnation);
}

static bool server_open(struct plane_server *s, struct plane *p, uint32_t number)
{
    struct glint_error error = {.code = GLINT_OK};
    struct executor_address where = {.executor = number, .host = "127.0.0.1"};
    s->plane = p;
    s->number = number;
    net_init(&s->net, p, number);
    s->store = store_create();
    s->serve = store_create_fetch_server(&p->loop, s->store, NULL, NULL);
    if (s->store == NULL || s->serve == NULL) return false;
    s->listener = listener_open(&s->net, "127.0.0.1", 0, server_accepted, s, &error);
    if (s->listener == NULL) {
        fprintf(stderr, "%s\n", error.cause);
        return false;
    }
    where.port = listener_port(s->listener);
    memcpy(where.node, s->net.self.node, sizeof where.node);
    memcpy(where.incarnation, s->net.self.incarnation, sizeof where.incarnation);
    return peers_add_executor(p->peers, &where, number % 2 == 0) == 0;
}

/* ---- Opening */

/* A partition of long values is a little longer than a chunk; there are 96 of them. */
static uint32_t record_count(uint32_t value_bytes)
{
    uint64_t count = 5 * MIB / 4 / value_bytes + 1;
    return count < RECORDS_MAX ? (uint32_t)count : RECORDS_MAX;
}

static bool make_runs(struct plane *p, uint32_t value_bytes)
{
    struct run_slice slices[PLANE_MAPS];
    for (uint32_t m = 0; m < PLANE_MAPS; m++) {
        struct run run = {.partitions = 0};
        struct store *store = p->servers[m % PLANE_SERVERS].store;
        uint64_t memory_max = m % 2 == 0 ? GIB : 0;
        if (fake_run(&p->t.task, m, PLANE_PARTITIONS, record_count(value_bytes), value_bytes,
                     memory_max, &run) != 0 ||
            store_add_map_output(store, PLANE_SHUFFLE, m, m % 3, &run) != 0)
            return false;
        p->runs[m] = store_acquire_map_output(store, PLANE_SHUFFLE, m, m % 3);
    }
    for (uint32_t k = 0; k < PLANE_PARTITIONS; k++) {
        for (uint32_t m = 0; m < PLANE_MAPS; m++) slices[m] = run_slice(p->runs[m], k);
        if (fake_read(&p->t.task, slices, PLANE_MAPS, &p->expected[k]) != 0) return false;
    }
    return true;
}

static void on_woken(uv_async_t *handle)
{
    uv_stop(handle->loop);
}

bool plane_open(struct plane *p, bool tls, uint64_t fetch_ms, uint32_t value_bytes)
{
    struct glint_error error = {.code = GLINT_OK};
    struct secrets secrets = {.count = 1, .list = {{{1, 2, 3, 4}}}};
    memset(p, 0, sizeof *p);
    p->wrong_map = UINT32_MAX;
    signal(SIGPIPE, SIG_IGN); /* as in every process of a cluster */
    test_task_init(&p->t, 64 * MIB);
    if (uv_loop_init(&p->loop) != 0) return false;
    uv_async_init(&p->loop, &p->woken, on_woken);
    if (tls && (p->tls = tls_context_create(&secrets, false, &error)) == NULL) return false;
    net_init(&p->net, p, 0);
    p->peers = peers_create(&p->net, fetch_ms, &error);
    if (p->peers == NULL) return false;
    p->fetcher = peers_as_fetcher(p->peers);
    for (uint32_t i = 0; i < PLANE_SERVERS; i++)
        if (!server_open(&p->servers[i], p, i + 1)) return false;
    return make_runs(p, value_bytes);
}

/* ---- Fetching */

static void *slot_main(void *arg)
{
    struct plane_slot *s = arg;
    struct run_slice *slices;
    uint32_t count;
    struct glint_task *task = &s->t.task;
    struct fetch *f = fetch_open(task, &s->plane->fetcher, PLANE_SHUFFLE, s->partition, s->inputs,
                                 PLANE_MAPS, &slices, &count, &s->lost);
    s->result = f != NULL ? fake_read(task, slices, count, &s->seen) : task->error.code;
    if (f != NULL && s->result != 0) s->lost = fetch_find_lost_input(f);
    fetch_close(f);
    if (atomic_fetch_sub(&s->plane->running, 1) == 1) uv_async_send(&s->plane->woken);
    return NULL;
}

void plane_start(struct plane *p, uint32_t slots, uint64_t seed, uint32_t here)
{
    assert(slots <= PLANE_SLOTS_MAX);
    seed = seed * 2 + 1;
    p->slot_count = slots;
    atomic_store(&p->running, slots);
    for (uint32_t i = 0; i < slots; i++) {
        struct plane_slot *s = &p->slots[i];
        s->plane = p;
        s->partition = i % PLANE_PARTITIONS;
        s->lost = UINT32_MAX;
        s->seen.size = 0;
        for (uint32_t m = 0; m < PLANE_MAPS; m++) {
            bool local = test_random(&seed) % 8 < here;
            uint32_t attempt = m % 3 + (m == p->wrong_map);
            s->inputs[m] = (struct fetch_input){local ? 0 : 1 + m % PLANE_SERVERS, m, attempt,
                                                local ? p->runs[m] : NULL};
        }
        test_task_init(&s->t, MIB);
        s->t.task.attempt_id = i + 1;
        s->t.task.cancel_flag = &s->cancel;
        atomic_store(&s->cancel, false);
        if (pthread_create(&s->thread, NULL, slot_main, s) != 0) abort();
    }
}

void plane_run(struct plane *p)
{
    while (atomic_load(&p->running) > 0) uv_run(&p->loop, UV_RUN_DEFAULT);
    for (uint32_t i = 0; i < p->slot_count; i++) {
        struct plane_slot *s = &p->slots[i];
        pthread_join(s->thread, NULL);
        if (!test_task_fini(&s->t)) s->result = GLINT_E_WORK_DIR;
    }
}

uint32_t plane_right(const struct plane *p)
{
    uint32_t right = 0;
    for (uint32_t i = 0; i < p->slot_count; i++) {
        const struct plane_slot *s = &p->slots[i];
        const struct seen *e = &p->expected[s->partition];
        right += s->result == 0 && s->seen.size == e->size &&
                 memcmp(s->seen.data, e->data, e->size) == 0;
    }
    return right;
}

/* ---- Closing */

static void on_peers_closed(void *arg)
{
    ((struct plane *)arg)->peers_closed = true;
}

void plane_close_peers(struct plane *p)
{
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_CONNECTION, NULL, "the test has ended");
    if (p->peers != NULL) peers_close(p->peers, &why, on_peers_closed, p);
    p->peers = NULL;
}

/* If not `none`, prints what is left. Returns `none`. */
static bool none_left(bool none, const char *what)
{
    if (!none) fprintf(stderr, "block_plane: left: %s\n", what);
    return none;
}

bool plane_close(struct plane *p)
{
    plane_close_peers(p);
    for (uint32_t i = 0; i < PLANE_SERVERS; i++) listener_close(p->servers[i].listener);
    uv_close((uv_handle_t *)&p->woken, NULL);
    uv_run(&p->loop, UV_RUN_DEFAULT); /* until all handles are closed */
    bool good = none_left(p->peers_closed, "peers");
    good &= none_left(uv_loop_close(&p->loop) == 0, "handles");
    for (uint32_t m = 0; m < PLANE_MAPS; m++)
        store_release(p->servers[m % PLANE_SERVERS].store, p->runs[m]);
    for (uint32_t i = 0; i < PLANE_SERVERS; i++) {
        good &= none_left(p->servers[i].conns == 0, "connections");
        fetch_server_destroy(p->servers[i].serve);
        store_destroy(p->servers[i].store);
    }
    for (uint32_t k = 0; k < PLANE_PARTITIONS; k++) free(p->expected[k].data);
    for (uint32_t i = 0; i < PLANE_SLOTS_MAX; i++) free(p->slots[i].seen.data);
    tls_context_destroy(p->tls);
    good &= none_left(test_task_fini(&p->t), "data of the task that made the runs");
    return good;
}
