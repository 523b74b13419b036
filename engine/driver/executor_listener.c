/* Where executors connect to the driver. It listens on the address by which it reaches a daemon,
 * since the daemon's processes then reach it there too: one listener per such address, opened when
 * the first daemon is connected. cluster->driver_host names another address, for example the one
 * outside of a container. With submit --listen there are no daemons: it listens from the start.
 *
 * Each executor opens a control and a data connection, in any order; both have its incarnation. A
 * process that a daemon started has the incarnation that the driver requested, and the job's key.
 */
#include "engine/base/text.h"
#include "engine/driver/cluster_transport_internal.h"

#include <assert.h>
#include <string.h>

struct driver_listener {
    struct driver_listener *next;
    struct listener *listener;
    char host[HOST_BYTES_MAX]; /* that executors connect to */
};

/* ---- When registered executors join the job: none before executors_min have registered, then each
 * at once. A new executor gets the addresses of all others, and they get its address, since they
 * fetch shuffle data from each other. If no executor has joined for start_ms, or none can come any
 * more, the job ends with INBOX_NO_EXECUTORS. */

struct executor_conn *registration_find_executor(const struct cluster_transport *r, uint32_t number)
{
    return number < r->number_count ? r->executors_by_id[number] : NULL;
}

/* JOB: the job's options and the executor's number, always the first message to an executor. */
static bool send_job_options(struct executor_conn *l, struct glint_error *error)
{
    const struct task_options options = transport_task_options(&l->r->g->config);
    struct message m = {.type = MSG_JOB, .id = l->number};
    int r = job_options_encode(&options, &m.body, error);
    if (r == 0) message_send(l->control, &m);
    buffer_fini(&m.body);
    return r == 0;
}

static void send_peer_address(const struct executor_conn *to, const struct executor_conn *about)
{
    struct executor_address peer = {.executor = about->number, .port = about->port};
    memcpy(peer.incarnation, about->incarnation, sizeof peer.incarnation);
    text_format(peer.node, sizeof peer.node, "%s", about->name);
    text_format(peer.host, sizeof peer.host, "%s", about->host);
    conn_send_payload(to->control, FRAME_EXECUTOR_ADDED, 0, &executor_address_format, &peer);
}

static void send_peer_addresses(struct executor_conn *l)
{
    for (struct executor_conn *other = l->r->executor_conns; other != NULL; other = other->next) {
        /* One that registers later gets the addresses of both when it joins. */
        if (other == l || other->state != EXECUTOR_CONN_JOINED) continue;
        send_peer_address(l, other);
        send_peer_address(other, l);
    }
}

/* Its registration counts as its first heartbeat. False: out of memory. */
static bool add_executor_health(struct executor_conn *l, uint32_t number)
{
    struct cluster_transport *r = l->r;
    pthread_mutex_lock(&r->lock);
    const bool kept =
        array_reserve(&r->health, &r->health_capacity, (uint64_t)number + 1, sizeof *r->health);
    if (kept) {
        r->health[number] = (struct executor_health){.received_ns = cluster_transport_now(r),
                                                     .memory_max = l->memory_bytes};
        r->health_count = number + 1;
    }
    pthread_mutex_unlock(&r->lock);
    return kept;
}

/* Gives it a number and reports it to the driver. Any later failure is reported as a loss, whose
 * event is allocated here so that this needs no memory. False: out of memory. */
static bool assign_executor_number(struct executor_conn *l)
{
    struct cluster_transport *r = l->r;
    struct inbox_event *joined = inbox_event_create(INBOX_EXECUTOR_ADDED, r->number_count);
    l->lost_event = inbox_event_create(INBOX_EXECUTOR_LOST, r->number_count);
    if (joined == NULL || l->lost_event == NULL || r->number_count == EXECUTORS_MAX ||
        !array_reserve(&r->executors_by_id, &r->number_capacity, r->number_count + UINT64_C(1),
                       sizeof *r->executors_by_id) ||
        !add_executor_health(l, r->number_count)) {
        inbox_event_destroy(joined);
        return false;
    }
    l->number = r->number_count++;
    r->executors_by_id[l->number] = l;
    r->joined_count++;
    l->joined = true;
    l->state = EXECUTOR_CONN_JOINED;
    joined->slots = l->slots;
    text_format(joined->name, sizeof joined->name, "%s", l->name);
    text_format(joined->host, sizeof joined->host, "%s", l->host);
    inbox_push(r, joined);
    return true;
}

static void join_executor_to_job(struct executor_conn *l)
{
    struct glint_error error = {.code = GLINT_OK};
    bool ok = assign_executor_number(l) && send_job_options(l, &error);
    if (ok) send_peer_addresses(l);
    /* A drain request that arrived before it joined; pushed after EXECUTOR_ADDED. */
    struct inbox_event *draining =
        ok && l->draining ? inbox_event_create(INBOX_EXECUTOR_DRAINING, l->number) : NULL;
    if (draining != NULL) inbox_push(l->r, draining);
    if (ok && (draining != NULL || !l->draining)) return;
    error_no_memory(&error);
    executor_conn_fail(l, &error);
}

uint32_t registration_executors_min(const struct cluster_transport *r)
{
    return r->cluster->executors_min > 0 ? r->cluster->executors_min : 1;
}

static uint32_t registered_executor_count(const struct cluster_transport *r)
{
    uint32_t ready = 0;
    for (const struct executor_conn *l = r->executor_conns; l != NULL; l = l->next)
        ready += l->state == EXECUTOR_CONN_REGISTERED;
    return ready;
}

void registration_join_if_enough_executors(struct cluster_transport *r)
{
    if (r->stopping || r->no_executors_reported) return;
    if (!r->started && registered_executor_count(r) < registration_executors_min(r)) {
        acquisition_order_release_above_limit(r);
        cluster_transport_arm_timer(
            r, cluster_transport_now(r)); /* to check whether enough can still come */
        return;
    }
    r->started = true;
    /* A failed join only marks the executor as CLOSING, so the list does not change here. */
    for (struct executor_conn *l = r->executor_conns; l != NULL; l = l->next)
        if (l->state == EXECUTOR_CONN_REGISTERED) join_executor_to_job(l);
    cluster_transport_arm_timer(r, cluster_transport_now(r));
}

void registration_on_executor_gone(struct executor_conn *l)
{
    struct cluster_transport *r = l->r;
    if (!l->joined) return;
    assert(r->executors_by_id[l->number] == l && r->joined_count > 0);
    r->executors_by_id[l->number] = NULL; /* numbers are never reused */
    if (--r->joined_count == 0) r->no_executor_since_ns = cluster_transport_now(r);
    broadcast_server_on_executor_lost(r, l->number);
    cluster_transport_arm_timer(r, cluster_transport_now(r));
}

/* ---- Too few executors */

/* How many executors are connected or may still come. */
static uint32_t possible_executor_count(const struct cluster_transport *r)
{
    uint32_t possible = 0;
    if (r->daemon_conns == NULL) return UINT32_MAX; /* any number may connect */
    for (uint32_t i = 0; i < r->cluster->executor_count; i++) {
        const struct daemon_conn *p = &r->daemon_conns[i];
        /* One that is merely unreachable may be started by the user until start_ms has passed. */
        bool never = p->state == DAEMON_CONN_REJECTED ||
                     (p->permanently_unreachable && p->state == DAEMON_CONN_BACKOFF);
        possible += p->executor_conn != NULL || !never;
    }
    return possible;
}

static bool is_any_request_queued(const struct cluster_transport *r)
{
    bool queued = false;
    for (uint32_t i = 0; i < r->daemon_conn_count; i++)
        queued = queued || r->daemon_conns[i].queue_position > 0;
    return queued;
}

static void describe_daemon_conn(const struct daemon_conn *p, char *out, size_t capacity)
{
    char address[HOST_BYTES_MAX + 16]; /* stripped from `what`: the caller prints it already */
    char waiting[HOST_BYTES_MAX + 80];
    const char *what = p->why.code != GLINT_OK ? p->why.cause : "no response";
    bool ready = p->executor_conn != NULL && p->executor_conn->state == EXECUTOR_CONN_REGISTERED;
    text_format(address, sizeof address, "%s:%u: ", p->at->host, p->at->port);
    if (strncmp(what, address, strlen(address)) == 0) what += strlen(address);
    text_format(waiting, sizeof waiting, "its process has not connected to the driver at %s",
                p->driver_address);
    if (ready)
        what = "connected";
    else if (p->state == DAEMON_CONN_EXECUTOR_STARTED && p->why.code != GLINT_E_EXECUTOR_LOST)
        what = waiting;
    /* A daemon that rejected an earlier request said why. */
    bool unexplained =
        p->why.code == GLINT_OK || p->why.code == GLINT_E_CONNECTION || p->why.code == GLINT_E_AUTH;
    if (p->state == DAEMON_CONN_REQUESTED && unexplained)
        what = p->fetches_program ? "it fetches the driver's program"
                                  : "its executor process does not start";
    if (p->state == DAEMON_CONN_BACKOFF && p->reached && !acquisition_order_allows(p))
        what = "not requested while another executor is awaited";
    if (p->queue_position > 0)
        text_format(out, capacity, "queued at position %llu",
                    (unsigned long long)p->queue_position);
    else
        text_format(out, capacity, "%s", what);
}

/* The state of each executor of cluster.toml; those that do not fit into `out` are counted. */
static void describe_daemon_conns(const struct cluster_transport *r, char *out, size_t capacity)
{
    size_t used = 0;
    const uint32_t count = r->daemon_conn_count;
    out[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        const struct daemon_conn *p = &r->daemon_conns[i];
        char what[sizeof p->why.cause];
        describe_daemon_conn(p, what, sizeof what);
        if (text_format(out + used, capacity - used, "%s%s (%s:%u): %s", i > 0 ? "; " : "",
                        p->at->id, p->at->host, p->at->port, what)) {
            used += strlen(out + used);
            continue;
        }
        text_format(out + used, capacity - used, "; and %u more", count - i);
        return;
    }
}

/* The hint of a daemon's own error comes first: if a daemon was reached but rejected the driver or
 * did not respond, "start them" would be wrong advice. */
static const char *hint_for_no_executors(const struct cluster_transport *r)
{
    if (r->cluster->listen_host != NULL)
        return "start executors: glint executor --join HOST:PORT; or raise --start";
    for (uint32_t i = 0; i < r->daemon_conn_count; i++)
        if (r->daemon_conns[i].why.hint[0] != '\0') return r->daemon_conns[i].why.hint;
    for (uint32_t i = 0; i < r->daemon_conn_count; i++)
        if (r->daemon_conns[i].state == DAEMON_CONN_EXECUTOR_STARTED &&
            r->daemon_conns[i].executor_conn->state == EXECUTOR_CONN_OPENING)
            return DRIVER_HOST_HINT;
    if (is_any_request_queued(r))
        return "wait for the other jobs: raise --start, or lower --executors";
    if (r->cluster->launch == LAUNCH_NONE)
        return "start them: glint executor --cluster FILE --id ID; or set launch in cluster.toml";
    return "see their logs";
}

/* The error of a daemon that rejected the driver. It becomes the job's error, since it is
 * permanent, while an unreachable daemon may only be late. */
static const struct glint_error *find_daemon_rejection(const struct cluster_transport *r)
{
    for (uint32_t i = 0; i < r->daemon_conn_count; i++)
        if (r->daemon_conns[i].state == DAEMON_CONN_REJECTED ||
            r->daemon_conns[i].backoff.auth_failures >
                0) /* not permanent yet, but the likely cause */
            return &r->daemon_conns[i].why;
    return NULL;
}

/* of one listener */
static uint16_t executor_listener_port(const struct cluster_transport *r)
{
    return r->listeners != NULL ? listener_port(r->listeners->listener) : 0;
}

static void report_no_executors_error(struct cluster_transport *r, uint64_t waited_ms)
{
    struct inbox_event *e = r->no_executors_event;
    char tried[700];
    assert(!r->no_executors_reported && e != NULL && r->joined_count == 0);
    r->no_executors_reported = true;
    r->no_executors_event = NULL;
    describe_daemon_conns(r, tried, sizeof tried);
    uint32_t wanted = registration_executors_min(r), possible = possible_executor_count(r);
    const struct glint_error *rejection = find_daemon_rejection(r);
    enum glint_code code = rejection != NULL ? rejection->code : GLINT_E_NO_EXECUTORS;
    const char *hint = rejection != NULL && rejection->hint[0] != '\0' ? rejection->hint
                                                                       : hint_for_no_executors(r);
    /* --listen; too few can come; some came, but not enough in time; none came. */
    if (r->cluster->listen_host != NULL)
        error_set(&e->why, code, hint, "%u of %u executors registered at %s:%u within %llu ms",
                  registered_executor_count(r), wanted, r->cluster->listen_host,
                  executor_listener_port(r), (unsigned long long)waited_ms);
    else if (!r->started && possible > 0 && possible < wanted)
        error_set(&e->why, code, hint, "only %u of %u executors are available: %s", possible,
                  wanted, tried);
    else if (registered_executor_count(r) > 0)
        error_set(&e->why, code, hint, "%u of %u executors registered within %llu ms: %s",
                  registered_executor_count(r), wanted, (unsigned long long)waited_ms, tried);
    else
        error_set(&e->why, code, hint, "%s", tried);
    inbox_push(r, e);
}

/* Other executors have joined: notes once for each that is still missing after start_ms. */
static void report_missing_executors(struct cluster_transport *r, uint64_t now)
{
    if (r->daemon_conns == NULL || now < r->no_executor_since_ns + r->cluster->start_ms * MS_NS)
        return;
    for (uint32_t i = 0; i < r->cluster->executor_count; i++) {
        struct daemon_conn *p = &r->daemon_conns[i];
        if (p->missing_reported || p->executor_conn != NULL || p->queue_position > 0 ||
            p->why.code == GLINT_OK)
            continue;
        p->missing_reported = true;
        inbox_push_note(r, "executor %s (%s:%u) is unreachable: %s", p->at->id, p->at->host,
                        p->at->port, p->why.cause);
    }
}

uint64_t registration_on_timer(struct cluster_transport *r, uint64_t now)
{
    if (r->no_executors_reported) return UINT64_MAX;
    uint64_t wait_ns = r->cluster->start_ms * MS_NS;
    if (r->joined_count > 0) {
        report_missing_executors(r, now);
        return UINT64_MAX;
    }
    /* Queued behind other jobs: that is no failure, wait without a limit. But if this job keeps an
     * executor while it waits, start_ms limits how long others are blocked by it. */
    if (is_any_request_queued(r) && !acquisition_order_keeps_any(r)) r->no_executor_since_ns = now;
    /* executors_min is a condition of the start only: afterwards the job runs on any executor. */
    uint32_t wanted = r->started ? 1 : registration_executors_min(r);
    if (now - r->no_executor_since_ns < wait_ns && possible_executor_count(r) >= wanted) {
        /* Wake up every heartbeat interval, not just at the end: a process pause is detected by a
         * timer that runs too late (on_timer in cluster_transport.c). */
        uint64_t end = r->no_executor_since_ns + wait_ns,
                 next_check = now + r->cluster->heartbeat.heartbeat_ns;
        return next_check < end ? next_check : end;
    }
    report_no_executors_error(r, (now - r->no_executor_since_ns) / MS_NS);
    return UINT64_MAX;
}

/* ---- Accepting */

static struct executor_conn *find_by_incarnation(const struct cluster_transport *r,
                                                 const uint8_t *incarnation)
{
    for (struct executor_conn *l = r->executor_conns; l != NULL; l = l->next)
        if (l->state < EXECUTOR_CONN_CLOSING &&
            memcmp(l->incarnation, incarnation, sizeof l->incarnation) == 0)
            return l;
    return NULL;
}

/* Names must be unique: name and host identify a node in the scheduler, and the user knows an
 * executor by its name. */
static bool is_executor_name_free(const struct cluster_transport *r, const char *name,
                                  struct glint_error *error)
{
    for (const struct executor_conn *l = r->executor_conns; l != NULL; l = l->next) {
        if (l->state >= EXECUTOR_CONN_CLOSING || strcmp(l->name, name) != 0) continue;
        error_set(error, GLINT_E_PEER_MISMATCH, "give each executor a unique --id",
                  "executor %s is already connected from %s", name, l->host);
        return false;
    }
    return true;
}

/* --listen: the executor has the cluster's secret, and gets the job's key. */
static struct executor_conn *add_joining_executor(struct cluster_transport *r, struct conn *c,
                                                  struct glint_error *error)
{
    const struct hello *peer = conn_peer_hello(c);
    if (!is_executor_name_free(r, peer->node, error)) return NULL;
    struct executor_conn *l = executor_conn_create(r, peer->incarnation, error);
    if (l != NULL) text_format(l->name, sizeof l->name, "%s", peer->node);
    return l;
}

/* The daemon that was requested to start a process with this incarnation; NULL: none. */
static struct daemon_conn *daemon_conn_find_requested(struct cluster_transport *r,
                                                      const uint8_t *incarnation)
{
    for (uint32_t i = 0; i < r->cluster->executor_count; i++) {
        struct daemon_conn *p = &r->daemon_conns[i];
        if (p->state == DAEMON_CONN_REQUESTED &&
            memcmp(p->incarnation, incarnation, sizeof p->incarnation) == 0)
            return p;
    }
    return NULL;
}

/* A process that a daemon started. EXECUTOR_STARTED may arrive after it. */
static struct executor_conn *add_requested_executor(struct cluster_transport *r, struct conn *c,
                                                    struct glint_error *error)
{
    const struct hello *peer = conn_peer_hello(c);
    struct daemon_conn *p = daemon_conn_find_requested(r, peer->incarnation);
    if (p != NULL) return daemon_conn_add_executor(p, error);
    error_set(error, GLINT_E_PEER_MISMATCH,
              "it came too late, or --join is used without submit --listen",
              "the driver has not requested executor %s", peer->node);
    return NULL;
}

/* Returns false with *error set to reject the connection. */
static bool on_executor_accepted(void *arg, struct conn *c, struct glint_error *error)
{
    struct cluster_transport *r = arg;
    const struct hello *peer = conn_peer_hello(c);
    bool control = peer->channel == CHANNEL_CONTROL;
    if (peer->role != ROLE_EXECUTOR || r->stopping || r->no_executors_reported) {
        error_set(error, GLINT_E_PEER_MISMATCH, NULL,
                  peer->role != ROLE_EXECUTOR ? "only executors are accepted here"
                                              : "the job has ended");
        return false;
    }
    /* Whether EXECUTOR_STARTED came first or not. */
    if (r->daemon_conns != NULL && r->net.tls != NULL && conn_secret_kind(c) != SECRET_JOB) {
        error_set(error, GLINT_E_PEER_MISMATCH, "--join needs submit --listen",
                  "executor %s does not have the key of the job", peer->node);
        return false;
    }
    struct executor_conn *l = find_by_incarnation(r, peer->incarnation);
    if (l != NULL && (control ? l->control : l->data) != NULL) {
        error_set(error, GLINT_E_PROTOCOL, NULL, "duplicate connection");
        return false;
    }
    if (l == NULL)
        l = r->daemon_conns != NULL ? add_requested_executor(r, c, error)
                                    : add_joining_executor(r, c, error);
    if (l == NULL) return false;
    if (l->state >= EXECUTOR_CONN_CLOSING) { /* released by the order of acquisition */
        error_set(error, GLINT_E_INTERRUPTED, NULL, "the driver released it");
        return false;
    }
    if (l->host[0] == '\0') conn_peer_host(c, l->host, sizeof l->host);
    executor_conn_attach(l, c);
    return true;
}

/* ---- Listening */

/* An address given by the user may belong to a router or a container's host: then the driver
 * listens on all of its addresses. */
static struct listener *listen_for_executors(struct cluster_transport *r, const char *host,
                                             struct port_range ports, struct glint_error *error)
{
    struct listener *listener =
        listener_open_in_range(&r->net, host, ports, on_executor_accepted, r, error);
    if (listener != NULL || r->cluster->driver_host == NULL || host_is_loopback(host))
        return listener;
    struct glint_error ignored = {.code = GLINT_OK};
    listener = listener_open_in_range(&r->net, "::", ports, on_executor_accepted, r, &ignored);
    if (listener == NULL) /* this host has no IPv6 */
        listener =
            listener_open_in_range(&r->net, "0.0.0.0", ports, on_executor_accepted, r, &ignored);
    if (listener != NULL) error->code = GLINT_OK;
    return listener;
}

static struct driver_listener *add_driver_listener(struct cluster_transport *r, const char *host,
                                                   struct port_range ports,
                                                   struct glint_error *error)
{
    struct driver_listener *added = mem_zalloc_or_fail(sizeof *added, error);
    if (added == NULL) return NULL;
    added->listener = listen_for_executors(r, host, ports, error);
    if (added->listener == NULL) {
        mem_free(added);
        return NULL;
    }
    text_format(added->host, sizeof added->host, "%s", host);
    added->next = r->listeners;
    r->listeners = added;
    return added;
}

int executor_listener_open(struct cluster_transport *r, struct glint_error *error)
{
    const struct cluster *c = r->cluster;
    const struct port_range port = {c->listen_port, c->listen_port};
    if (add_driver_listener(r, c->listen_host, port, error) == NULL) return error->code;
    const uint32_t wanted = registration_executors_min(r);
    inbox_push_note(r, "waiting for %u executor%s on %s:%u", wanted, wanted == 1 ? "" : "s",
                    c->listen_host, executor_listener_port(r));
    return 0;
}

int executor_listener_address(struct cluster_transport *r, const struct conn *daemon,
                              char out_host[HOST_BYTES_MAX], uint16_t *out_port,
                              struct glint_error *error)
{
    const char *configured = r->cluster->driver_host;
    if (configured != NULL)
        text_format(out_host, HOST_BYTES_MAX, "%s", configured);
    else if (!conn_local_host(daemon, out_host, HOST_BYTES_MAX))
        return error_set(error, GLINT_E_CONNECTION, NULL, "the connection was closed");
    struct driver_listener *found = r->listeners;
    while (found != NULL && strcmp(found->host, out_host) != 0) found = found->next;
    struct glint_error why = {.code = GLINT_OK};
    if (found == NULL) found = add_driver_listener(r, out_host, r->cluster->driver_ports, &why);
    if (found == NULL) return error_set(error, why.code, why.hint, "the driver: %s", why.cause);
    *out_port = listener_port(found->listener);
    return 0;
}

void executor_listener_close(struct cluster_transport *r)
{
    for (struct driver_listener *l = r->listeners, *next; l != NULL; l = next) {
        next = l->next;
        listener_close(l->listener);
        mem_free(l);
    }
    r->listeners = NULL;
}
