/* When executor processes become executors of the job: none before executors_min are there, then
 * each at once. Whoever joins is told who else is there, and the others of it; and if none is there
 * for start_ms, or none can come any more, the driver is told why. */
#include "engine/driver/remote_internal.h"

#include "engine/base/text.h"
#include "engine/plan/context.h"

#include <assert.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

struct link *join_find(const struct remote *r, uint32_t number)
{
    return number < r->number_count ? r->numbered[number] : NULL;
}

static bool grow(struct remote *r)
{
    if (r->number_count < r->number_capacity) return true;
    uint32_t capacity = r->number_capacity > 0 ? 2 * r->number_capacity : 16;
    struct link **grown = mem_grow(r->numbered, r->number_capacity * sizeof(struct link *),
                                   capacity * sizeof(struct link *));
    if (grown == NULL) return false;
    r->numbered = grown;
    r->number_capacity = capacity;
    return true;
}

/* The job's options and its number, always the first that an executor hears. */
static bool send_job(struct link *l, struct glint_error *error)
{
    const struct glint_config *c = &l->r->g->config;
    struct task_options options = {.line_bytes_max = c->line_bytes_max,
                                   .result_bytes_max = c->result_bytes_max,
                                   .skip_bad_rows = c->skip_bad_rows,
                                   .bad_rows_max = c->bad_rows_max,
                                   .no_sync = c->no_sync};
    struct message m = {.type = MSG_JOB, .id = l->number};
    struct buffer payload = {NULL, 0, 0};
    if (getcwd(options.folder, sizeof options.folder) == NULL) options.folder[0] = '\0';
    int r = job_encode(&options, &m.body, error);
    if (r == 0) r = message_encode(&m, &payload, error);
    if (r == 0) link_send(l->control, FRAME_MESSAGE, 0, &payload);
    buffer_fini(&m.body);
    buffer_fini(&payload);
    return r == 0;
}

static bool send_peer(const struct link *to, const struct link *about, struct glint_error *error)
{
    struct peer peer = {.executor = about->number, .port = about->port};
    struct buffer payload = {NULL, 0, 0};
    memcpy(peer.incarnation, about->incarnation, sizeof peer.incarnation);
    text_format(peer.node, sizeof peer.node, "%s", about->name);
    text_format(peer.host, sizeof peer.host, "%s", about->host);
    bool ok = peer_encode(&peer, &payload, error) == 0;
    if (ok) link_send(to->control, FRAME_PEER, 0, &payload);
    buffer_fini(&payload);
    return ok;
}

static bool introduce(struct link *l, struct glint_error *error)
{
    for (struct link *other = l->r->links; other != NULL; other = other->next) {
        if (other == l || other->state != LINK_JOINED) continue;
        if (!send_peer(l, other, error) || !send_peer(other, l, error)) return false;
    }
    return true;
}

/* From here on the driver knows it, so whatever fails later is a loss. */
static bool join(struct link *l)
{
    struct remote *r = l->r;
    struct event *joined = event_create(EVENT_JOINED, r->number_count);
    l->lost = event_create(EVENT_LOST, r->number_count);
    if (joined == NULL || l->lost == NULL || !grow(r) || r->number_count == EXECUTORS_MAX) {
        event_destroy(joined);
        return false;
    }
    l->number = r->number_count++;
    r->numbered[l->number] = l;
    r->joined_count++;
    l->joined = true;
    l->state = LINK_JOINED;
    joined->slots = l->slots;
    text_format(joined->name, sizeof joined->name, "%s", l->name);
    text_format(joined->host, sizeof joined->host, "%s", l->host);
    inbox_push(r, joined);
    return true;
}

static void join_and_tell(struct link *l)
{
    struct glint_error error = {.code = GLINT_OK};
    bool ok = join(l) && send_job(l, &error) && introduce(l, &error);
    struct event *draining = ok && l->draining ? event_create(EVENT_DRAINING, l->number) : NULL;
    if (draining != NULL) inbox_push(l->r, draining);
    if (ok && (draining != NULL || !l->draining)) return;
    error_no_memory(&error);
    link_fail(l, &error);
}

uint32_t join_wanted(const struct remote *r)
{
    return r->cluster->executors_min > 0 ? r->cluster->executors_min : 1;
}

static uint32_t ready_count(const struct remote *r)
{
    uint32_t ready = 0;
    for (const struct link *l = r->links; l != NULL; l = l->next) ready += l->state == LINK_READY;
    return ready;
}

void join_look(struct remote *r)
{
    if (r->stopping || r->deserted) return;
    if (!r->begun && ready_count(r) < join_wanted(r)) {
        order_review(r);
        remote_due(r, remote_now(r)); /* perhaps nobody can come any more */
        return;
    }
    r->begun = true;
    for (struct link *l = r->links; l != NULL; l = l->next)
        if (l->state == LINK_READY) join_and_tell(l);
    remote_due(r, remote_now(r));
}

void join_on_gone(struct link *l)
{
    struct remote *r = l->r;
    if (!l->joined) return;
    assert(r->numbered[l->number] == l && r->joined_count > 0);
    r->numbered[l->number] = NULL;
    if (--r->joined_count == 0) r->alone_since_ns = remote_now(r);
    broadcasts_on_lost(r, l->number);
    remote_due(r, remote_now(r));
}

/* ---- Nobody is there */

/* Executors that are there, or may still come. */
static uint32_t possible_count(const struct remote *r)
{
    uint32_t possible = 0;
    if (r->gate != NULL) return UINT32_MAX;
    for (uint32_t i = 0; i < r->cluster->executor_count; i++) {
        const struct post *p = &r->posts[i];
        bool never = p->state == POST_REFUSED || (p->hopeless && p->state == POST_RESTING);
        possible += p->link != NULL || !never;
    }
    return possible;
}

static bool any_queued(const struct remote *r)
{
    bool queued = false;
    for (uint32_t i = 0; i < r->cluster->executor_count && r->posts != NULL; i++)
        queued = queued || r->posts[i].place > 0;
    return queued;
}

static void describe_post(const struct post *p, char *out, size_t capacity)
{
    char address[HOST_BYTES_MAX + 16]; /* is named once */
    const char *what = p->why.code != GLINT_OK ? p->why.cause : "no answer";
    bool ready = p->link != NULL && p->link->state == LINK_READY;
    text_format(address, sizeof address, "%s:%u: ", p->at->host, p->at->port);
    if (strncmp(what, address, strlen(address)) == 0) what += strlen(address);
    if (p->state == POST_ADMITTED) what = ready ? "connected" : "its process does not answer";
    if (p->state == POST_ASKED) what = "its process does not start";
    if (p->state == POST_RESTING && p->reached && !order_allows(p))
        what = "not asked, since another one is waited for";
    if (p->place > 0)
        text_format(out, capacity, "queued at place %llu", (unsigned long long)p->place);
    else
        text_format(out, capacity, "%s", what);
}

/* Each executor of the file; those that do not fit are counted. */
static void describe_posts(const struct remote *r, char *out, size_t capacity)
{
    size_t used = 0;
    uint32_t count = r->posts != NULL ? r->cluster->executor_count : 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        const struct post *p = &r->posts[i];
        char what[sizeof p->why.cause];
        describe_post(p, what, sizeof what);
        if (text_format(out + used, capacity - used, "%s%s (%s:%u): %s", i > 0 ? "; " : "",
                        p->at->id, p->at->host, p->at->port, what)) {
            used += strlen(out + used);
            continue;
        }
        text_format(out + used, capacity - used, "; and %u more", count - i);
        return;
    }
}

/* Somebody who was reached and did not answer is there: then to start it is no advice. */
static const char *desert_hint(const struct remote *r)
{
    if (r->cluster->listen_host != NULL)
        return "start executors: glint executor --join HOST:PORT; or raise --start";
    for (uint32_t i = 0; r->posts != NULL && i < r->cluster->executor_count; i++)
        if (r->posts[i].why.hint[0] != '\0') return r->posts[i].why.hint;
    if (any_queued(r)) return "wait for the other jobs: raise --start, or lower --executors";
    if (r->cluster->launch == LAUNCH_NONE)
        return "start them: glint executor --cluster FILE --id ID; or set launch in the file";
    return "look at their logs";
}

/* Who refuses us will go on to, while who is not there may have been late. */
static const struct glint_error *refusal(const struct remote *r)
{
    for (uint32_t i = 0; r->posts != NULL && i < r->cluster->executor_count; i++)
        if (r->posts[i].state == POST_REFUSED || r->posts[i].auth_failures > 0)
            return &r->posts[i].why;
    return NULL;
}

static void desert(struct remote *r, uint64_t waited_ms)
{
    struct event *e = r->desertion;
    char tried[700];
    assert(!r->deserted && e != NULL && r->joined_count == 0);
    r->deserted = true;
    r->desertion = NULL;
    describe_posts(r, tried, sizeof tried);
    uint32_t wanted = join_wanted(r), possible = possible_count(r);
    const struct glint_error *refused = refusal(r);
    enum glint_code code = refused != NULL ? refused->code : GLINT_E_NO_EXECUTORS;
    const char *hint = refused != NULL && refused->hint[0] != '\0' ? refused->hint : desert_hint(r);
    if (r->cluster->listen_host != NULL)
        error_set(&e->why, code, hint, "%u of %u executors came to %s:%u within %llu ms",
                  ready_count(r), wanted, r->cluster->listen_host, gate_port(r->gate),
                  (unsigned long long)waited_ms);
    else if (!r->begun && possible > 0 && possible < wanted)
        error_set(&e->why, code, hint, "no more than %u of %u executors can be had: %s", possible,
                  wanted, tried);
    else if (ready_count(r) > 0)
        error_set(&e->why, code, hint, "%u of %u executors were there within %llu ms: %s",
                  ready_count(r), wanted, (unsigned long long)waited_ms, tried);
    else
        error_set(&e->why, code, hint, "%s", tried);
    inbox_push(r, e);
}

/* Who is not there when the others have begun. */
static void note_missing(struct remote *r, uint64_t now)
{
    if (r->posts == NULL || now < r->alone_since_ns + r->cluster->start_ms * MS_NS) return;
    for (uint32_t i = 0; i < r->cluster->executor_count; i++) {
        struct post *p = &r->posts[i];
        if (p->noted || p->link != NULL || p->place > 0 || p->why.code == GLINT_OK) continue;
        p->noted = true;
        inbox_note(r, "executor %s (%s:%u) is not there: %s", p->at->id, p->at->host, p->at->port,
                   p->why.cause);
    }
}

uint64_t join_deadline(struct remote *r, uint64_t now)
{
    if (r->deserted) return UINT64_MAX;
    uint64_t wait_ns = r->cluster->start_ms * MS_NS;
    if (r->joined_count > 0) {
        note_missing(r, now);
        return UINT64_MAX;
    }
    /* It is another job's turn, not a failure, as long as nobody has to wait for this one. */
    if (any_queued(r) && !order_keeps_any(r)) r->alone_since_ns = now;
    uint32_t wanted = r->begun ? 1 : join_wanted(r);
    if (now - r->alone_since_ns < wait_ns && possible_count(r) >= wanted) {
        /* Not just at the end: our own sleep shows as a look that comes late. */
        uint64_t end = r->alone_since_ns + wait_ns, look = now + r->cluster->heartbeat.beat_ns;
        return look < end ? look : end;
    }
    desert(r, (now - r->alone_since_ns) / MS_NS);
    return UINT64_MAX;
}
