/* Times of attempts: see the header. A message that waited, in the network or for the driver, says
 * less than one that did not: of all offsets that messages allow, the smallest counts. */
#include "engine/driver/executor_clock.h"

#include <assert.h>

bool executor_clock_init(struct executor_clock *c, uint32_t slots)
{
    assert(slots > 0);
    *c = (struct executor_clock){.slots = slots};
    c->ends_ns = mem_zalloc(sizeof *c->ends_ns * slots);
    return c->ends_ns != NULL;
}

void executor_clock_fini(struct executor_clock *c)
{
    mem_free(c->ends_ns);
    *c = (struct executor_clock){.slots = 0};
}

/* Modulo 2^64: less than 2^63 after it. */
static bool is_later(uint64_t a, uint64_t b)
{
    return a != b && a - b < UINT64_MAX / 2;
}

static uint64_t clamp(uint64_t ns, uint64_t min, uint64_t max)
{
    assert(min <= max);
    return ns < min ? min : ns > max ? max : ns;
}

struct attempt_times executor_clock_convert(struct executor_clock *c, const struct message *m,
                                            uint64_t sent_ns, uint64_t now_ns)
{
    const uint64_t ended_ns = m->start_ns + m->run_ns;
    uint64_t earliest_ns = sent_ns, *last_end_ns = NULL;
    struct attempt_times t;
    assert(sent_ns <= now_ns);
    if (!c->known || is_later(ended_ns + c->offset_ns, now_ns)) c->offset_ns = now_ns - ended_ns;
    if (is_later(sent_ns, m->start_ns + c->offset_ns)) c->offset_ns = sent_ns - m->start_ns;
    c->known = true;
    if (m->slot < c->slots) last_end_ns = &c->ends_ns[m->slot];
    if (last_end_ns != NULL && *last_end_ns > earliest_ns) earliest_ns = *last_end_ns;
    t.start_ns = clamp(m->start_ns + c->offset_ns, earliest_ns, now_ns);
    t.end_ns = clamp(ended_ns + c->offset_ns, t.start_ns, now_ns);
    if (last_end_ns != NULL) *last_end_ns = t.end_ns;
    return t;
}
