/* A driver that records what its transport reports, for tests of a transport alone.
 * Exactly one file of a program includes fake_driver_calls.h, and the program must not use
 * the real functions. */
#ifndef TESTS_SUPPORT_FAKE_DRIVER_H
#define TESTS_SUPPORT_FAKE_DRIVER_H

#include "engine/driver/transport.h"
#include "engine/plan/context_config.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_EXECUTORS_MAX 64

struct driver {
    uint32_t executors, lost, draining, suspects, messages, no_executors, cancel_requests;
    char names[FAKE_EXECUTORS_MAX][NAME_BYTES_MAX];
    uint32_t slots[FAKE_EXECUTORS_MAX];
    bool is_lost[FAKE_EXECUTORS_MAX], is_draining[FAKE_EXECUTORS_MAX];
    bool is_suspect[FAKE_EXECUTORS_MAX];
    enum executor_loss_reason loss; /* the last one */
    struct glint_error why, no_executors_error;
    int64_t broadcast_bytes;
    struct message *first, **end; /* messages in order; the test destroys them */
    char notes[16 * 1024];
};

/* The context of a fake driver; it has no runner. Its clock is the real one, and what
 * fake_context_step has added. */
struct fake_context {
    struct env env; /* first: fake_context_now finds the context by it */
    atomic_uint_fast64_t ahead_ns;
    struct glint g;
    struct driver driver;
    struct transport transport;
    uint64_t result_bytes_max; /* 0: 64 MiB */
};

static inline void fake_note(void *arg, const char *line)
{
    struct driver *d = arg;
    size_t used = strlen(d->notes);
    snprintf(d->notes + used, sizeof d->notes - used, "%s\n", line);
}

static inline uint64_t fake_context_now(struct env *env)
{
    return env_real()->now_ns(env_real()) + ((struct fake_context *)env)->ahead_ns;
}

/* Time passes at once, for the driver only. */
static inline void fake_context_step(struct fake_context *c, uint64_t ns)
{
    atomic_fetch_add(&c->ahead_ns, ns);
}

/* Returns 0, or the code of cluster_transport_create. */
static inline int fake_context_start(struct fake_context *c, const struct cluster *cluster,
                                     struct glint_error *error)
{
    uint64_t result_bytes_max = c->result_bytes_max > 0 ? c->result_bytes_max : 64 * MIB;
    memset(c, 0, sizeof *c);
    c->env = *env_real();
    c->env.now_ns = fake_context_now;
    c->g.job_id = 1;
    c->g.config = (struct context_config){.env = &c->env,
                                          .job_name = "test-job",
                                          .line_bytes_max = LINE_BYTES_MAX_DEFAULT,
                                          .result_bytes_max = result_bytes_max,
                                          .bad_rows_max = -1,
                                          .note = fake_note,
                                          .note_arg = &c->driver};
    return cluster_transport_create(&c->g, cluster, &c->transport, error);
}

static inline void fake_context_wait_ms(struct fake_context *c, uint64_t ms)
{
    c->transport.wait(c->transport.arg, &c->driver, c->env.now_ns(&c->env) + ms * 1000000);
}

static inline void fake_context_stop(struct fake_context *c)
{
    c->transport.destroy(c->transport.arg);
    for (struct message *m = c->driver.first, *next; m != NULL; m = next) {
        next = m->next;
        message_destroy(m);
    }
}

/* Waits until `condition` is true, at most 3 minutes; no test depends on the duration. */
#define FAKE_UNTIL(c, condition)                                                                   \
    do {                                                                                           \
        uint64_t end_ns = env_real()->now_ns(env_real()) + 180 * UINT64_C(1000000000);             \
        while (!(condition) && env_real()->now_ns(env_real()) < end_ns)                            \
            fake_context_wait_ms(c, 50);                                                           \
    } while (0)

#endif
