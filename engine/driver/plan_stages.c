/* Plans the stages of an action: which shuffles it needs and in which order they can run, and the
 * numbers and names of stages that users see. */
#include "engine/base/text.h"
#include "engine/driver/driver_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Collects each shuffle once; `all`: see plan_needed_shuffles. */
struct shuffle_list {
    struct glint_rdd **items;
    uint32_t count;
    uint64_t capacity;
    bool all;
};

static int add_shuffle(void *arg, struct glint_rdd *shuffle)
{
    struct shuffle_list *list = arg;
    /* Not its parents either: they are visited from the list. */
    if ((shuffle->shuffled || shuffle->explained) && !list->all) return 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i] == shuffle) return 0;
    if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return error_no_memory(&shuffle->g->error);
    list->items[list->count++] = shuffle;
    return 0;
}

static int compare_rdd_ids(const void *a, const void *b)
{
    const struct glint_rdd *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

int plan_needed_shuffles(struct glint_rdd *rdd, bool all, struct glint_rdd ***out,
                         uint32_t *out_count)
{
    struct shuffle_list list = {NULL, 0, 0, all};
    /* Breadth first: the list grows while its elements are visited. */
    int r = rdd_visit_shuffle_inputs(rdd, add_shuffle, &list);
    for (uint32_t i = 0; i < list.count && r == 0; i++)
        if (list.items[i]->parent_count > 0)
            r = rdd_visit_shuffle_inputs(list.items[i]->parents[0], add_shuffle, &list);
    /* An RDD is created after its parents, so in order of ids parents are first. */
    if (list.count > 0) qsort(list.items, list.count, sizeof *list.items, compare_rdd_ids);
    for (uint32_t i = 0; i < list.count; i++) assert(rdd_is_shuffle(list.items[i]));
    *out = list.items;
    *out_count = list.count;
    return r;
}

uint32_t plan_assign_stage_number(struct driver *d, struct glint_rdd *shuffle)
{
    if (shuffle == NULL) return d->stage_numbers_used++;
    /* 0 means not assigned, so the field is the number + 1. */
    if (shuffle->stage == 0) shuffle->stage = ++d->stage_numbers_used;
    return shuffle->stage - 1;
}

static bool same_name(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

void plan_format_stage_name(const struct stage_plan *s, char *out, size_t capacity)
{
    size_t used = 0;
    const char *before = NULL; /* the two RDDs of one transformation have one name */
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct stage_node *n = &s->nodes[i];
        const bool end = i == 0 || i + 1 == s->node_count, repeated = same_name(n->name, before);
        const char *name = n->name != NULL ? n->name : n->op->name;
        before = n->name;
        if (!end && (n->name == NULL || repeated)) continue;
        if (!text_format(out + used, capacity - used, "%s%s", i > 0 ? ".." : "", name)) break;
        used += strlen(out + used);
    }
}

void plan_format_stage_functions(const struct stage_plan *s, char *out, size_t capacity)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < s->node_count; i++) {
        if (s->nodes[i].fn == NULL) continue;
        if (!text_format(out + used, capacity - used, "%s%s", used > 0 ? ", " : "",
                         s->nodes[i].fn->name))
            break;
        used += strlen(out + used);
    }
    out[used] = '\0';
}
