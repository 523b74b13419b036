/* See cached_blocks.h. A job has few persisted RDDs, so their tables are a list. */
#include "engine/driver/cached_blocks.h"

#include <assert.h>

static struct cached_rdd *find_rdd(const struct cached_rdd *list, uint32_t rdd)
{
    const struct cached_rdd *c = list;
    while (c != NULL && c->rdd != rdd) c = c->next;
    return (struct cached_rdd *)(uintptr_t)c;
}

bool cached_rdds_add(struct cached_rdd **list, uint32_t rdd, uint32_t partitions)
{
    struct cached_rdd **end = list;
    while (*end != NULL && (*end)->rdd != rdd) end = &(*end)->next;
    if (*end != NULL) return true;
    struct cached_rdd *c = mem_zalloc(sizeof *c + sizeof c->blocks[0] * partitions);
    if (c == NULL) return false;
    c->rdd = rdd;
    c->partitions = partitions;
    for (uint32_t p = 0; p < partitions; p++) c->blocks[p].executor = UINT32_MAX;
    *end = c;
    return true;
}

bool cached_rdds_remove(struct cached_rdd **list, uint32_t rdd)
{
    struct cached_rdd **link = list;
    while (*link != NULL && (*link)->rdd != rdd) link = &(*link)->next;
    struct cached_rdd *c = *link;
    if (c == NULL) return false;
    *link = c->next;
    mem_free(c);
    return true;
}

void cached_rdds_destroy(struct cached_rdd *list)
{
    for (struct cached_rdd *next; list != NULL; list = next) {
        next = list->next;
        mem_free(list);
    }
}

static void set_location(struct cached_rdd *c, uint32_t partition,
                         struct cached_block_location to)
{
    struct cached_block_location *at = &c->blocks[partition];
    assert(partition < c->partitions && c->sums.memory_bytes >= at->memory_bytes &&
           c->sums.disk_bytes >= at->disk_bytes);
    c->sums.blocks += to.executor != UINT32_MAX;
    c->sums.blocks -= at->executor != UINT32_MAX;
    c->sums.memory_bytes += to.memory_bytes - at->memory_bytes;
    c->sums.disk_bytes += to.disk_bytes - at->disk_bytes;
    *at = to;
}

void cached_rdds_update(struct cached_rdd *list, uint32_t executor,
                        const struct cached_block_state *block)
{
    struct cached_rdd *c = find_rdd(list, block->rdd);
    if (c == NULL || block->partition >= c->partitions) return;
    const bool gone = block->memory_bytes == 0 && block->disk_bytes == 0;
    if (gone && c->blocks[block->partition].executor != executor)
        return; /* another executor has it, too */
    set_location(c, block->partition,
                 (struct cached_block_location){gone ? UINT32_MAX : executor, block->memory_bytes,
                                                block->disk_bytes});
}

void cached_rdds_remove_executor(struct cached_rdd *list, uint32_t executor)
{
    for (struct cached_rdd *c = list; c != NULL; c = c->next)
        for (uint32_t p = 0; p < c->partitions; p++)
            if (c->blocks[p].executor == executor)
                set_location(c, p, (struct cached_block_location){.executor = UINT32_MAX});
}

uint32_t cached_rdds_preferred_executor(const struct cached_rdd *list, const struct glint_rdd *rdd,
                                        uint32_t partition)
{
    if (list == NULL) return UINT32_MAX;
    /* Of two parents that are both read, the left one counts. */
    const struct glint_rdd *r = rdd;
    for (;;) {
        const struct glint_rdd *parent = r->parents[0];
        const struct cached_rdd *c = r->persist != 0 ? find_rdd(list, r->id) : NULL;
        assert(partition < r->partitions);
        if (c != NULL && c->blocks[partition].executor != UINT32_MAX)
            return c->blocks[partition].executor;
        uint32_t end, left = r->parent_count > 0 ? r->parents[0]->partitions : 0;
        switch (r->op->kind) {
        case OP_SOURCE: return UINT32_MAX;
        case OP_WIDE:
            if (!r->narrow) return UINT32_MAX;
            break;
        case OP_COALESCE:
            rdd_coalesce_range(left, r->partitions, partition, &partition, &end);
            if (partition == end) return UINT32_MAX;
            break;
        case OP_CARTESIAN: partition /= r->parents[1]->partitions; break;
        case OP_UNION:
            if (r->narrow || partition < left) break;
            partition -= left;
            parent = r->parents[1];
            break;
        default: break;
        }
        r = parent;
    }
}

struct cached_sums cached_rdds_sum(const struct cached_rdd *list, uint32_t *out_rdds)
{
    struct cached_sums sums = {.blocks = 0};
    *out_rdds = 0;
    for (const struct cached_rdd *c = list; c != NULL; c = c->next) {
        ++*out_rdds;
        sums.blocks += c->sums.blocks;
        sums.memory_bytes += c->sums.memory_bytes;
        sums.disk_bytes += c->sums.disk_bytes;
    }
    return sums;
}
