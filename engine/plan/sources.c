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

void source_set_unref(struct source_set *set)
{
    if (set == NULL) return;
    assert(set->refs > 0);
    if (--set->refs == 0) mem_free(set);
}

static struct source_set *set_ref(struct source_set *set)
{
    if (set != NULL) set->refs++;
    return set;
}

static struct source_set *set_create(struct glint *g, uint32_t capacity)
{
    struct source_set *set = mem_zalloc(sizeof *set + capacity * sizeof set->items[0]);
    if (set == NULL)
        error_no_memory(&g->error);
    else
        set->refs = 1;
    return set;
}

static void source_set_add(struct source_set *set, struct source_size source)
{
    assert(set->count == 0 || set->items[set->count - 1].id < source.id);
    set->items[set->count++] = source;
    set->bytes = add_saturated(set->bytes, source.input_bytes);
}

/* The sources of a parent; a source is its own set. By the time it has children, its bytes are
 * known. */
static struct source_set *sources_of(struct glint_rdd *rdd)
{
    if (rdd->op->kind != OP_SOURCE || rdd->input_bytes == 0 || rdd->sources != NULL)
        return rdd->sources;
    struct source_set *own = set_create(rdd->g, 1);
    if (own == NULL) return NULL;
    source_set_add(own, (struct source_size){rdd->id, rdd->input_bytes});
    return rdd->sources = own;
}

/* True if `all` contains every item of `some`. Both are sorted by id. */
static bool set_contains(const struct source_set *all, const struct source_set *some)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < all->count && found < some->count; i++)
        found += all->items[i].id == some->items[found].id;
    return found == some->count;
}

/* Returns a new reference, or NULL: no sources, or out of memory. */
static struct source_set *merge_sets(struct glint *g, struct source_set *a, struct source_set *b)
{
    if (b == NULL || a == b) return set_ref(a);
    if (a == NULL || set_contains(b, a)) return set_ref(b);
    if (set_contains(a, b)) return set_ref(a);
    struct source_set *both = set_create(g, a->count + b->count);
    if (both == NULL) return NULL;
    for (uint32_t i = 0, j = 0; i < a->count || j < b->count;) {
        bool from_a = j == b->count || (i < a->count && a->items[i].id <= b->items[j].id);
        const struct source_size next = from_a ? a->items[i] : b->items[j];
        i += i < a->count && a->items[i].id == next.id;
        j += j < b->count && b->items[j].id == next.id;
        source_set_add(both, next);
    }
    return both;
}

void rdd_inherit_sources(struct glint_rdd *rdd)
{
    for (uint32_t i = 0; i < rdd->parent_count; i++) {
        struct source_set *before = rdd->sources;
        rdd->sources = merge_sets(rdd->g, before, sources_of(rdd->parents[i]));
        source_set_unref(before);
    }
    if (rdd->sources != NULL) rdd->input_bytes = rdd->sources->bytes;
}
