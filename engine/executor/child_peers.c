/* Who comes to an executor's port: the one driver that it was started for, and other executors of
 * the job, which ask for blocks and nothing else. */
#include "engine/executor/child_internal.h"

#include "engine/limits.h"

#include <assert.h>
#include <string.h>

#define GUESTS_MAX (2 * CLUSTER_EXECUTORS_MAX)

/* ---- Other executors */

static int guest_frame(void *arg, struct conn *conn, const struct frame *f,
                       struct glint_slice payload, struct glint_error *error)
{
    struct guest *g = arg;
    struct child *c = g->child;
    if (c->phase >= CHILD_ENDING) return 0;
    if (f->type == FRAME_GET && c->serve != NULL)
        return serve_on_get(c->serve, conn, f, payload, error);
    return error_set(error, GLINT_E_PROTOCOL, NULL, "an executor sent a %s frame",
                     frame_name(f->type));
}

static void guest_closed(void *arg, struct conn *conn, const struct glint_error *why)
{
    struct guest *g = arg;
    struct child *c = g->child;
    struct guest **at = &c->guests;
    (void)why; /* whether it comes again is its own affair */
    assert(g->conn == conn && c->guest_count > 0);
    while (*at != g) at = &(*at)->next;
    *at = g->next;
    c->guest_count--;
    if (c->serve != NULL) serve_on_closed(c->serve, conn);
    mem_free(g);
    if (c->phase == CHILD_ENDING) child_due(c, child_now(c));
}

static const struct conn_events guest_events = {.frame = guest_frame, .closed = guest_closed};

static bool accept_guest(struct child *c, struct conn *conn, struct glint_error *error)
{
    if (c->guest_count == GUESTS_MAX) {
        error_set(error, GLINT_E_CONNECTION, NULL, "%u connections of executors are enough",
                  GUESTS_MAX);
        return false;
    }
    struct guest *g = mem_alloc(sizeof *g);
    if (g == NULL) {
        error_no_memory(error);
        return false;
    }
    *g = (struct guest){c->guests, c, conn};
    c->guests = g;
    c->guest_count++;
    conn_set(conn, &guest_events, g);
    return true;
}

/* ---- The driver */

static bool is_zero(const uint8_t incarnation[INCARNATION_BYTES])
{
    static const uint8_t zeros[INCARNATION_BYTES];
    return memcmp(incarnation, zeros, sizeof zeros) == 0;
}

static bool accept_driver(struct child *c, struct conn *conn, struct glint_error *error)
{
    const struct hello *peer = conn_peer(conn);
    bool control = peer->channel == CHANNEL_CONTROL;
    bool first = c->control == NULL && c->data == NULL;
    bool known = first || memcmp(c->driver, peer->incarnation, sizeof c->driver) == 0;
    bool again = (control ? c->control : c->data) != NULL;
    /* Only the driver that the daemon has told of us knows whom to want. */
    if (c->config.join_host != NULL || c->phase != CHILD_WAITING || is_zero(peer->wanted) ||
        !known || again) {
        error_set(error, GLINT_E_PEER_MISMATCH, "ask its daemon for an executor of your own",
                  "%s serves another driver", c->config.node);
        return false;
    }
    memcpy(c->driver, peer->incarnation, sizeof c->driver);
    if (control)
        c->control = conn;
    else
        c->data = conn;
    conn_set(conn, &child_driver_events, c);
    child_on_driver(c, conn);
    return true;
}

bool child_on_accepted(void *arg, struct conn *conn, struct glint_error *error)
{
    struct child *c = arg;
    enum role role = conn_peer(conn)->role;
    if (c->phase >= CHILD_ENDING) {
        error_set(error, GLINT_E_CONNECTION, NULL, "%s ends", c->config.node);
        return false;
    }
    if (role == ROLE_DRIVER) return accept_driver(c, conn, error);
    if (role == ROLE_EXECUTOR) return accept_guest(c, conn, error);
    error_set(error, GLINT_E_PEER_MISMATCH, NULL, "%s is an executor, not a daemon",
              c->config.node);
    return false;
}
