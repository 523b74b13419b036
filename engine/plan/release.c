/* Lifetimes in a plan. An RDD lives as long as the job may use it, and as long as another RDD needs
 * it: it is freed with its last reference, with its slices, its map outputs and cached blocks on
 * the executors, and then the RDDs that only it needed. Broadcasts are freed in the same way: RDDs
 * whose arguments name one hold a reference.
 *
 * The job's reference ends with glint_release or with its scope. The memory of the last
 * FREED_KEPT freed RDDs is kept, so that a call that gets one of them reports it. */
#include "engine/plan/context.h"

#include <assert.h>
#include <string.h>

#define FREED_KEPT 1024u

struct rdd_memory {
    struct rdd_memory *next;
    _Alignas(16) uint8_t bytes[];
};

/* Zeroed; NULL with the error set. */
static void *alloc_plan_item(struct glint *g, uint64_t size)
{
    void *item = mem_zalloc(size);
    if (item == NULL) error_no_memory(&g->error);
    return item;
}

void *rdd_alloc(struct glint_rdd *rdd, uint64_t size)
{
    struct rdd_memory *block = alloc_plan_item(rdd->g, sizeof *block + size);
    if (block == NULL) return NULL;
    block->next = rdd->memory;
    rdd->memory = block;
    return block->bytes;
}

struct glint_slice rdd_copy_slice(struct glint_rdd *rdd, struct glint_slice s)
{
    uint8_t *copy = rdd_alloc(rdd, s.size + 1);
    if (copy == NULL) return (struct glint_slice){NULL, 0};
    if (s.size > 0) memcpy(copy, s.data, s.size);
    return (struct glint_slice){copy, s.size};
}

int rdd_check_usable(const struct glint_rdd *rdd, const char *call)
{
    struct glint *g = rdd->g;
    if (context_failed(g)) return g->error.code;
    if (!rdd->released) return 0;
    return error_set(&g->error, GLINT_E_PLAN_RDD, "error in the job's plan, not in its input",
                     "%s: the RDD (%s, RDD %u) was released", call, rdd->op->name, rdd->id);
}

/* ---- RDDs */

static struct glint_rdd *take_oldest_freed(struct glint *g)
{
    struct glint_rdd *rdd = g->freed;
    assert(rdd != NULL && g->freed_count > 0);
    g->freed = rdd->next;
    g->freed_count--;
    memset(rdd, 0, sizeof *rdd);
    return rdd;
}

struct glint_rdd *rdd_add(struct glint *g)
{
    struct glint_rdd *rdd =
        g->freed_count > FREED_KEPT ? take_oldest_freed(g) : alloc_plan_item(g, sizeof *rdd);
    if (rdd == NULL) return NULL;
    rdd->g = g;
    rdd->id = g->next_rdd++;
    rdd->refs = 1;
    rdd->scope = g->scope != NULL ? g->scope->depth : 0;
    rdd->next = g->rdds;
    if (g->rdds != NULL) g->rdds->prev = rdd;
    g->rdds = rdd;
    g->rdd_count++;
    return rdd;
}

static void fini_rdd(struct glint_rdd *rdd)
{
    for (struct rdd_memory *block = rdd->memory, *next; block != NULL; block = next) {
        next = block->next;
        mem_free(block);
    }
    if (rdd->source_free != NULL) rdd->source_free(rdd->source);
    mem_free(rdd->splits);
    source_set_unref(rdd->sources);
}

static void broadcast_unref(struct glint *g, struct glint_broadcast *b);

/* Drops a reference; RDDs without references go to *dead. */
static void unref_rdd_into_dead(struct glint_rdd *rdd, struct glint_rdd **dead)
{
    assert(rdd->refs > 0);
    if (--rdd->refs > 0) return;
    struct glint *g = rdd->g;
    *(rdd->prev != NULL ? &rdd->prev->next : &g->rdds) = rdd->next;
    if (rdd->next != NULL) rdd->next->prev = rdd->prev;
    g->rdd_count--;
    rdd->prev = NULL;
    rdd->next = *dead;
    *dead = rdd;
}

static void free_rdd(struct glint_rdd *rdd, struct glint_rdd **dead)
{
    struct glint *g = rdd->g;
    if (g->runner != NULL) g->runner->free_rdd(g->driver, rdd);
    for (uint32_t i = 0; i < rdd->parent_count && !rdd->weak_parent; i++)
        unref_rdd_into_dead(rdd->parents[i], dead);
    if (rdd->partitioner_of != NULL) unref_rdd_into_dead(rdd->partitioner_of, dead);
    if (rdd->exchange != NULL) unref_rdd_into_dead(rdd->exchange, dead);
    for (uint32_t i = 0; i < rdd->broadcast_count; i++) broadcast_unref(g, rdd->broadcasts[i]);
    fini_rdd(rdd);
    const struct glint_rdd before = *rdd;
    memset(rdd, 0, sizeof *rdd);
    rdd->g = g;
    rdd->id = before.id;
    rdd->op = before.op;
    rdd->schema = before.schema;
    rdd->released = true;
    if (g->freed == NULL)
        g->freed = rdd;
    else
        g->freed_last->next = rdd;
    g->freed_last = rdd;
    g->freed_count++;
}

/* With a list: recursion would be as deep as the lineage. */
static void free_dead_rdds(struct glint_rdd *dead)
{
    while (dead != NULL) {
        struct glint_rdd *rdd = dead;
        dead = rdd->next;
        free_rdd(rdd, &dead);
    }
}

/* Frees the RDD with its last reference, then those that only it needed. */
static void rdd_unref(struct glint_rdd *rdd)
{
    struct glint_rdd *dead = NULL;
    unref_rdd_into_dead(rdd, &dead);
    free_dead_rdds(dead);
}

void rdd_cut_lineage(struct glint_rdd *shuffle)
{
    struct glint_rdd *dead = NULL;
    assert(rdd_is_shuffle(shuffle) && shuffle->shuffled && shuffle->counted);
    shuffle->maps = rdd_map_count(shuffle);
    for (uint32_t i = 0; i < shuffle->parent_count && !shuffle->weak_parent; i++)
        unref_rdd_into_dead(shuffle->parents[i], &dead);
    shuffle->parent_count = 0;
    free_dead_rdds(dead);
}

/* The executors may be using what an action needs, and its plan points to RDDs. */
static bool check_release_allowed(struct glint *g, const char *call)
{
    if (!context_failed(g) && g->running > 0)
        error_set(&g->error, GLINT_E_PLAN_LIMIT, "release after the action",
                  "%s is called inside an action's callback", call);
    return !context_failed(g);
}

void glint_release(struct glint_rdd *rdd)
{
    if (rdd == NULL || !check_release_allowed(rdd->g, "glint_release")) return;
    if (rdd_check_usable(rdd, "release") != 0) return;
    rdd->released = true;
    rdd_unref(rdd);
}

/* ---- Broadcasts */

struct glint_broadcast *broadcast_add(struct glint *g)
{
    struct glint_broadcast *b = g->destroyed;
    if (g->destroyed_count > FREED_KEPT) {
        g->destroyed = b->next;
        g->destroyed_count--;
        memset(b, 0, sizeof *b);
    } else {
        b = alloc_plan_item(g, sizeof *b);
    }
    if (b == NULL) return NULL;
    b->id = g->next_broadcast++;
    b->refs = 1;
    b->next = g->broadcasts;
    g->broadcasts = b;
    return b;
}

static void broadcast_unref(struct glint *g, struct glint_broadcast *b)
{
    assert(b->refs > 0);
    if (--b->refs > 0) return;
    struct glint_broadcast **link = &g->broadcasts;
    while (*link != b) link = &(*link)->next;
    *link = b->next;
    if (g->runner != NULL)
        g->runner->free_broadcast(g->driver, b->id, b->data);
    else
        mem_free(b->data);
    *b = (struct glint_broadcast){.released = true};
    if (g->destroyed == NULL)
        g->destroyed = b;
    else
        g->destroyed_last->next = b;
    g->destroyed_last = b;
    g->destroyed_count++;
}

bool rdd_ref_broadcasts(struct glint_rdd *rdd, const struct glint_args *args)
{
    const uint32_t more = args != NULL ? args->broadcast_count : 0;
    if (more == 0) return true;
    struct glint_broadcast **all =
        rdd_alloc(rdd, sizeof(struct glint_broadcast *) * (rdd->broadcast_count + (uint64_t)more));
    if (all == NULL) return false;
    for (uint32_t i = 0; i < rdd->broadcast_count; i++) all[i] = rdd->broadcasts[i];
    rdd->broadcasts = all;
    for (uint32_t i = 0; i < more; i++) {
        args->broadcasts[i].broadcast->refs++;
        all[rdd->broadcast_count++] = args->broadcasts[i].broadcast;
    }
    return true;
}

void glint_broadcast_destroy(struct glint *g, struct glint_broadcast *b)
{
    if (b == NULL || !check_release_allowed(g, "glint_broadcast_destroy")) return;
    if (b->released) {
        error_set(&g->error, GLINT_E_PLAN_ARGUMENT, "error in the job's plan, not in its input",
                  "a broadcast is destroyed twice");
        return;
    }
    b->released = true;
    broadcast_unref(g, b);
}

/* ---- Scopes */

void glint_begin_scope(struct glint *g)
{
    if (context_failed(g)) return; /* nothing is made any more */
    struct plan_scope *s = alloc_plan_item(g, sizeof *s);
    if (s == NULL) return;
    *s = (struct plan_scope){.outer = g->scope,
                             .depth = g->scope != NULL ? g->scope->depth + 1 : 1,
                             .first_rdd = g->next_rdd,
                             .first_broadcast = g->next_broadcast,
                             .args = g->args};
    g->scope = s;
}

static void args_fini(struct glint_args *a)
{
    packer_fini(&a->pairs);
    mem_free(a->broadcasts);
}

/* First all references end, then what has none is freed: freeing changes the list. */
static void release_rdds(struct glint *g, const struct plan_scope *s)
{
    struct glint_rdd *dead = NULL, *next;
    for (struct glint_rdd *rdd = g->rdds; rdd != NULL && rdd->id >= s->first_rdd; rdd = next) {
        next = rdd->next;
        if (rdd->released || rdd->scope != s->depth) continue;
        rdd->released = true;
        unref_rdd_into_dead(rdd, &dead);
    }
    free_dead_rdds(dead);
}

static void release_rdd_broadcasts(struct glint *g, const struct plan_scope *s)
{
    struct glint_broadcast *b = g->broadcasts, *next;
    for (; b != NULL && b->id >= s->first_broadcast; b = next) {
        next = b->next;
        if (b->released) continue;
        b->released = true;
        broadcast_unref(g, b);
    }
}

struct glint_rdd *glint_end_scope(struct glint *g, struct glint_rdd *keep)
{
    if (!check_release_allowed(g, "glint_end_scope")) return NULL;
    struct plan_scope *s = g->scope;
    if (s == NULL) {
        error_set(&g->error, GLINT_E_PLAN_ARGUMENT, "error in the job's plan, not in its input",
                  "glint_end_scope without glint_begin_scope");
        return NULL;
    }
    if (keep != NULL && rdd_check_usable(keep, "endScope") != 0) return NULL;
    if (keep != NULL && keep->scope == s->depth) keep->scope = s->depth - 1;
    release_rdds(g, s);
    release_rdd_broadcasts(g, s);
    for (; g->args != s->args; g->args = g->args->next) args_fini(g->args);
    g->scope = s->outer;
    arena_fini(&s->arena);
    mem_free(s);
    return keep;
}

void context_free_plan(struct glint *g)
{
    for (struct glint_rdd *rdd = g->rdds, *next; rdd != NULL; rdd = next) {
        next = rdd->next;
        fini_rdd(rdd);
        mem_free(rdd);
    }
    for (struct glint_rdd *rdd = g->freed, *next; rdd != NULL; rdd = next) {
        next = rdd->next;
        mem_free(rdd);
    }
    for (struct glint_broadcast *b = g->broadcasts, *next; b != NULL; b = next) {
        next = b->next;
        mem_free(b->data);
        mem_free(b);
    }
    for (struct glint_broadcast *b = g->destroyed, *next; b != NULL; b = next) {
        next = b->next;
        mem_free(b);
    }
    for (struct glint_args *a = g->args; a != NULL; a = a->next) args_fini(a);
    while (g->scope != NULL) {
        struct plan_scope *s = g->scope;
        g->scope = s->outer;
        arena_fini(&s->arena);
        mem_free(s);
    }
}

/* ---- Marks RDDs whose records executors keep (executor/block_store.h). */

struct glint_rdd *glint_persist(struct glint_rdd *rdd, unsigned level)
{
    if (rdd == NULL) return rdd_fail_null("persist");
    if (rdd_check_usable(rdd, "persist") != 0) return NULL;
    if (level == 0 || level > (GLINT_MEMORY | GLINT_DISK))
        return rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT,
                        "persist: the level is GLINT_MEMORY, GLINT_DISK, or both");
    if (rdd->persist != 0 && rdd->persist != level)
        return rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT,
                        "persist: it is persisted with another level: unpersist it first");
    rdd->persist = level;
    return rdd;
}

struct glint_rdd *glint_cache(struct glint_rdd *rdd)
{
    if (rdd == NULL) return rdd_fail_null("cache");
    return glint_persist(rdd, GLINT_MEMORY);
}

struct glint_rdd *glint_unpersist(struct glint_rdd *rdd)
{
    if (rdd == NULL) return rdd_fail_null("unpersist");
    if (rdd_check_usable(rdd, "unpersist") != 0) return NULL;
    if (rdd->persist != 0 && rdd->g->runner != NULL) rdd->g->runner->unpersist(rdd->g->driver, rdd);
    rdd->persist = 0;
    return rdd;
}

const char *persist_level_name(unsigned level)
{
    static const char *const names[] = {[GLINT_MEMORY] = "memory",
                                        [GLINT_DISK] = "disk",
                                        [GLINT_MEMORY | GLINT_DISK] = "memory and disk"};
    assert(level > 0 && level < sizeof names / sizeof names[0]);
    return names[level];
}
