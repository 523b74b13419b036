/* Computes the set of inputs that an RDD descends from. Each is counted once even if several paths
 * lead to it, as in a loop that uses its previous result twice. Most RDDs share the set of a
 * parent; a new set is made only if two parents have different ones. */
#include "engine/plan/context.h"

#include <assert.h>
#include <string.h>

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a <= UINT64_MAX - b ? a + b : UINT64_MAX;
}

static struct source_set *set_alloc(struct glint *g, uint32_t capacity)
{
    struct source_set *set = NULL;
    return context_alloc(g, sizeof *set + capacity * sizeof set->items[0]);
}

static void set_add(struct source_set *set, struct glint_rdd *source)
{
    assert(set->count == 0 || set->items[set->count - 1]->id < source->id);
    set->items[set->count++] = source;
    set->bytes = add_saturated(set->bytes, source->input_bytes);
}

/* The sources of a parent; a source is its own set. By the time it has children, its bytes are
 * known. */
static const struct source_set *sources_of(struct glint_rdd *rdd)
{
    if (rdd->op->kind != OP_SOURCE || rdd->input_bytes == 0 || rdd->sources != NULL)
        return rdd->sources;
    struct source_set *own = set_alloc(rdd->g, 1);
    if (own == NULL) return NULL;
    set_add(own, rdd);
    return rdd->sources = own;
}

/* True if `all` contains every item of `some`. Both are sorted by id. */
static bool set_contains(const struct source_set *all, const struct source_set *some)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < all->count && found < some->count; i++)
        found += all->items[i] == some->items[found];
    return found == some->count;
}

static const struct source_set *merge_sets(struct glint *g, const struct source_set *a,
                                           const struct source_set *b)
{
    if (b == NULL || a == b) return a;
    if (a == NULL || set_contains(b, a)) return b;
    if (set_contains(a, b)) return a;
    struct source_set *both = set_alloc(g, a->count + b->count);
    if (both == NULL) return NULL;
    for (uint32_t i = 0, j = 0; i < a->count || j < b->count;) {
        bool from_a = j == b->count || (i < a->count && a->items[i]->id <= b->items[j]->id);
        struct glint_rdd *next = from_a ? a->items[i] : b->items[j];
        i += i < a->count && a->items[i] == next;
        j += j < b->count && b->items[j] == next;
        set_add(both, next);
    }
    return both;
}

void rdd_inherit_sources(struct glint_rdd *rdd)
{
    for (uint32_t i = 0; i < rdd->parent_count; i++)
        rdd->sources = merge_sets(rdd->g, rdd->sources, sources_of(rdd->parents[i]));
    if (rdd->sources != NULL) rdd->input_bytes = rdd->sources->bytes;
}
