/* The pairs are the edges of a graph, and the executors at fault are a vertex cover of it, found
 * greedily: repeatedly the executor in most unexplained pairs, then the holders of the pairs that
 * remain. A job has few such pairs, so everything is recomputed after each change. */
#include "engine/driver/reachability.h"

#include "engine/base/mem.h"

#include <assert.h>
#include <string.h>

void reachability_fini(struct reachability *r)
{
    mem_free(r->executors);
    memset(r, 0, sizeof *r);
}

static bool pair_connects(const struct unreachable_pair *p, uint32_t a, uint32_t b)
{
    return (p->one == a && p->other == b) || (p->one == b && p->other == a);
}

static void mark_explained(struct reachability *r, struct unreachable_pair *p)
{
    p->explained = true;
    r->executors[p->one].unexplained--;
    r->executors[p->other].unexplained--;
}

static void mark_at_fault(struct reachability *r, uint32_t executor)
{
    r->executors[executor].at_fault = true;
    for (uint32_t i = 0; i < r->count; i++) {
        struct unreachable_pair *p = &r->pairs[i];
        if (!p->explained && (p->one == executor || p->other == executor)) mark_explained(r, p);
    }
    assert(r->executors[executor].unexplained == 0);
}

/* Returns the executor in most unexplained pairs; of several, the one with the lowest number. */
static uint32_t most_unexplained(const struct reachability *r)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const uint32_t both[] = {r->pairs[i].one, r->pairs[i].other};
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t count = r->executors[both[k]].unexplained,
                     best = r->executors[most].unexplained;
            if (count > best || (count == best && both[k] < most)) most = both[k];
        }
    }
    return most;
}

static void update_faults(struct reachability *r)
{
    if (r->executor_capacity == 0) return;
    memset(r->executors, 0, sizeof *r->executors * r->executor_capacity);
    for (uint32_t i = 0; i < r->count; i++) {
        r->pairs[i].explained = false;
        r->executors[r->pairs[i].one].unexplained++;
        r->executors[r->pairs[i].other].unexplained++;
    }
    for (;;) {
        uint32_t executor = most_unexplained(r);
        if (r->executors[executor].unexplained < 2) break; /* a single pair may be either side */
        mark_at_fault(r, executor);
    }
    for (uint32_t i = 0; i < r->count; i++)
        if (!r->pairs[i].explained && r->pairs[i].again) mark_at_fault(r, r->pairs[i].holder);
}

static struct unreachable_pair *find_or_add_pair(struct reachability *r, uint32_t reader,
                                                 uint32_t holder, uint64_t now_ns)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (pair_connects(&r->pairs[i], reader, holder)) return &r->pairs[i];
    if (r->count == UNREACHABLE_PAIRS_MAX) return NULL;
    r->pairs[r->count] =
        (struct unreachable_pair){.one = reader, .other = holder, .first_ns = now_ns};
    return &r->pairs[r->count++];
}

enum reachability_update reachability_record_failure(struct reachability *r, uint32_t executors,
                                                     uint32_t reader, uint32_t holder,
                                                     uint64_t start_ns, uint64_t now_ns)
{
    assert(reader < executors && holder < executors && reader != holder);
    if (!array_reserve(&r->executors, &r->executor_capacity, executors, sizeof *r->executors))
        return REACHABILITY_FULL;
    struct unreachable_pair *p = find_or_add_pair(r, reader, holder, now_ns);
    if (p == NULL) return REACHABILITY_FULL;
    /* Attempts that already ran at the first failure fail from the same outage. Only an attempt
     * that started later shows that the problem persists. */
    if (!p->again && start_ns > p->first_ns) {
        p->again = true;
        p->holder = holder; /* fixed now: a later failure in the other direction cannot change it */
    }
    update_faults(r);
    return p->again ? REACHABILITY_REPEATED_FAILURE : REACHABILITY_FIRST_FAILURE;
}

void reachability_remove_executor(struct reachability *r, uint32_t executor)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->pairs[i].one != executor && r->pairs[i].other != executor)
            r->pairs[kept++] = r->pairs[i];
    r->count = kept;
    update_faults(r);
}

void reachability_expire_before(struct reachability *r, uint64_t ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->pairs[i].first_ns >= ns) r->pairs[kept++] = r->pairs[i];
    r->count = kept;
    update_faults(r);
}

bool reachability_is_at_fault(const struct reachability *r, uint32_t executor)
{
    return executor < r->executor_capacity && r->executors[executor].at_fault;
}
