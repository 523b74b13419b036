/* Plain arrays and lists of tables: a job has few shuffles, and an event concerns one output. */
#include "engine/driver/driver_internal.h"

#include <assert.h>
#include <string.h>

/* Of one shuffle; 100,000 map tasks with 200 partitions need 20 MB. Beyond it the driver knows no
 * sizes, and reduce tasks have no preferred executor. */
#define SIZES_BYTES_MAX (64 * MIB)

struct map_outputs *map_outputs_get_or_create(struct map_outputs **list, uint32_t shuffle,
                                              uint32_t maps, uint32_t partitions)
{
    for (struct map_outputs *o = *list; o != NULL; o = o->next) {
        if (o->shuffle != shuffle) continue;
        assert(o->maps == maps && o->partitions == partitions);
        return o;
    }
    uint64_t size_bytes = (uint64_t)maps * partitions;
    struct map_outputs *o = mem_zalloc(sizeof *o);
    if (o == NULL) return NULL;
    o->shuffle = shuffle;
    o->maps = maps;
    o->partitions = partitions;
    /* + 1: no allocation of 0 bytes for a shuffle without map tasks. */
    o->locations = mem_zalloc(sizeof *o->locations * ((uint64_t)maps + 1));
    o->available = mem_zalloc((uint64_t)maps + 1);
    o->counted = mem_zalloc((uint64_t)maps + 1);
    o->lost = mem_zalloc((uint64_t)maps + 1);
    /* A single reduce task gets no preference either. Sizes are optional: NULL is no error. */
    if (partitions > 1 && size_bytes <= SIZES_BYTES_MAX) o->sizes = mem_zalloc(size_bytes + 1);
    if (o->locations == NULL || o->available == NULL || o->counted == NULL || o->lost == NULL) {
        map_outputs_destroy(o);
        return NULL;
    }
    o->next = *list;
    *list = o;
    return o;
}

void map_outputs_destroy(struct map_outputs *list)
{
    while (list != NULL) {
        struct map_outputs *o = list;
        list = o->next;
        mem_free(o->locations);
        mem_free(o->available);
        mem_free(o->counted);
        mem_free(o->lost);
        mem_free(o->sizes);
        mem_free(o);
    }
}

bool map_outputs_remove_shuffle(struct map_outputs **list, uint32_t shuffle, uint32_t *out_maps)
{
    struct map_outputs **link = list;
    while (*link != NULL && (*link)->shuffle != shuffle) link = &(*link)->next;
    struct map_outputs *o = *link;
    if (o == NULL) return false;
    *out_maps = o->maps;
    *link = o->next;
    o->next = NULL;
    map_outputs_destroy(o);
    return true;
}

void map_outputs_add(struct map_outputs *o, uint32_t map, struct map_output_location location,
                     struct glint_slice sizes)
{
    assert(map < o->maps);
    map_outputs_clear_lost(o, map);
    o->locations[map] = location;
    o->available[map] = true;
    if (o->sizes == NULL) return;
    uint8_t *row = o->sizes + (uint64_t)map * o->partitions;
    if (sizes.size == o->partitions)
        memcpy(row, sizes.data, sizes.size);
    else
        memset(row, 0, o->partitions);
}

static bool is_same_location(struct map_output_location a, struct map_output_location b)
{
    return a.executor == b.executor && a.attempt == b.attempt;
}

/* The location is kept: it names the executor and attempt in the retry that follows. */
static void mark_map_output_lost(struct map_outputs *o, uint32_t map)
{
    assert(o->available[map] && !o->lost[map]);
    o->available[map] = false;
    o->lost[map] = true;
    o->lost_count++;
}

void map_outputs_remove(struct map_outputs *o, uint32_t map, struct map_output_location location)
{
    assert(map < o->maps);
    if (o->available[map] && is_same_location(o->locations[map], location))
        mark_map_output_lost(o, map);
}

void map_outputs_clear_lost(struct map_outputs *o, uint32_t map)
{
    assert(map < o->maps && o->lost_count >= o->lost[map]);
    o->lost_count -= o->lost[map];
    o->lost[map] = false;
}

void map_outputs_remove_executor(struct map_outputs *list, uint32_t executor)
{
    for (struct map_outputs *o = list; o != NULL; o = o->next)
        for (uint32_t m = 0; m < o->maps; m++)
            if (o->available[m] && o->locations[m].executor == executor) mark_map_output_lost(o, m);
}

bool map_outputs_is_complete(const struct map_outputs *o)
{
    assert(o->available != NULL);
    return memchr(o->available, false, o->maps) == NULL;
}

uint32_t map_outputs_preferred_executor(const struct map_outputs *o, uint32_t partition,
                                        uint32_t executors, uint64_t *scratch)
{
    assert(partition < o->partitions);
    if (o->sizes == NULL || executors < 2) return UINT32_MAX;
    uint64_t sum = 0;
    uint32_t best = 0, holders = 0;
    for (uint32_t m = 0; m < o->maps; m++) {
        uint64_t bytes = size_code_decode(o->sizes[(uint64_t)m * o->partitions + partition]);
        uint32_t e = o->locations[m].executor;
        assert(e < executors);
        sum += bytes;
        holders += scratch[e] == 0 && bytes > 0;
        scratch[e] += bytes;
        if (scratch[e] > scratch[best]) best = e;
    }
    /* It needs a quarter more than an even share, because a coded size may be an eighth too low.
     * A partition that is spread evenly has no preference: most of it is remote anyway. */
    bool clear = holders > 0 && scratch[best] * holders * 4 > sum * 5;
    if (holders == 1) clear = true;
    /* Clears only what was used, so that a call costs nothing per executor. */
    for (uint32_t m = 0; m < o->maps; m++) scratch[o->locations[m].executor] = 0;
    return clear ? best : UINT32_MAX;
}

/* ---- Cached RDDs */

/* Where the table of the RDD is in the list, or would be. */
static uint32_t find_place_of_cached_rdd(const struct cached_rdds *c, uint32_t rdd)
{
    uint32_t from = 0, to = c->count;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (c->list[middle]->rdd < rdd)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct cached_rdd *find_cached_rdd(const struct cached_rdds *c, uint32_t rdd)
{
    const uint32_t at = find_place_of_cached_rdd(c, rdd);
    return at < c->count && c->list[at]->rdd == rdd ? c->list[at] : NULL;
}

static const struct cached_block_location NO_BLOCK = {.executor = UINT32_MAX};

static void cached_sums_replace_block(struct cached_sums *s,
                                      const struct cached_block_location *from,
                                      const struct cached_block_location *to)
{
    assert(s->memory_bytes >= from->memory_bytes && s->disk_bytes >= from->disk_bytes);
    s->blocks += to->executor != UINT32_MAX;
    s->blocks -= from->executor != UINT32_MAX;
    s->memory_bytes += to->memory_bytes - from->memory_bytes;
    s->disk_bytes += to->disk_bytes - from->disk_bytes;
}

static void set_cached_block_location(struct cached_rdds *all, struct cached_rdd *c,
                                      uint32_t partition, struct cached_block_location to)
{
    struct cached_block_location *at = &c->blocks[partition];
    assert(partition < c->partitions);
    cached_sums_replace_block(&c->sums, at, &to);
    cached_sums_replace_block(&all->sums, at, &to);
    *at = to;
}

bool cached_rdds_add(struct cached_rdds *c, uint32_t rdd, uint32_t partitions)
{
    const uint32_t at = find_place_of_cached_rdd(c, rdd);
    if (at < c->count && c->list[at]->rdd == rdd) return true;
    if (!array_reserve(&c->list, &c->capacity, c->count + UINT64_C(1), sizeof *c->list))
        return false;
    struct cached_rdd *added = mem_zalloc(sizeof *added + sizeof added->blocks[0] * partitions);
    if (added == NULL) return false;
    added->rdd = rdd;
    added->partitions = partitions;
    for (uint32_t p = 0; p < partitions; p++) added->blocks[p] = NO_BLOCK;
    memmove(c->list + at + 1, c->list + at, (c->count - at) * sizeof *c->list);
    c->list[at] = added;
    c->count++;
    return true;
}

bool cached_rdds_remove(struct cached_rdds *c, uint32_t rdd)
{
    const uint32_t at = find_place_of_cached_rdd(c, rdd);
    if (at == c->count || c->list[at]->rdd != rdd) return false;
    for (uint32_t p = 0; p < c->list[at]->partitions; p++)
        set_cached_block_location(c, c->list[at], p, NO_BLOCK);
    mem_free(c->list[at]);
    c->count--;
    memmove(c->list + at, c->list + at + 1, (c->count - at) * sizeof *c->list);
    return true;
}

void cached_rdds_fini(struct cached_rdds *c)
{
    for (uint32_t i = 0; i < c->count; i++) mem_free(c->list[i]);
    mem_free(c->list);
    *c = (struct cached_rdds){.list = NULL};
}

void cached_rdds_update(struct cached_rdds *all, uint32_t executor,
                        const struct cached_block_state *block)
{
    struct cached_rdd *c = find_cached_rdd(all, block->rdd);
    if (c == NULL || block->partition >= c->partitions) return;
    const bool gone = block->memory_bytes == 0 && block->disk_bytes == 0;
    if (gone && c->blocks[block->partition].executor != executor)
        return; /* another executor has it, too */
    set_cached_block_location(all, c, block->partition,
                              (struct cached_block_location){gone ? UINT32_MAX : executor,
                                                             block->memory_bytes,
                                                             block->disk_bytes});
}

void cached_rdds_remove_executor(struct cached_rdds *c, uint32_t executor)
{
    for (uint32_t i = 0; i < c->count; i++)
        for (uint32_t p = 0; p < c->list[i]->partitions; p++)
            if (c->list[i]->blocks[p].executor == executor)
                set_cached_block_location(c, c->list[i], p, NO_BLOCK);
}

bool cached_rdds_is_complete(const struct cached_rdds *all, uint32_t rdd)
{
    const struct cached_rdd *c = find_cached_rdd(all, rdd);
    return c != NULL && c->sums.blocks == c->partitions;
}

struct block_location cached_rdds_find_block(const struct cached_rdds *all, uint32_t rdd,
                                             uint32_t partition)
{
    const struct cached_rdd *c = find_cached_rdd(all, rdd);
    const struct cached_block_location *b =
        c != NULL && partition < c->partitions ? &c->blocks[partition] : &NO_BLOCK;
    /* On the way from memory to a file it has both. */
    const uint64_t bytes = b->memory_bytes > 0 ? b->memory_bytes : b->disk_bytes;
    return (struct block_location){b->executor, bytes};
}

uint32_t cached_rdds_preferred_executor(const struct cached_rdds *all, const struct glint_rdd *rdd,
                                        uint32_t partition)
{
    if (all->count == 0) return UINT32_MAX;
    /* Of two parents that are both read, the left one counts. */
    const struct glint_rdd *r = rdd;
    for (;;) {
        const struct glint_rdd *parent = r->parents[0];
        const struct cached_rdd *c = r->persist != 0 ? find_cached_rdd(all, r->id) : NULL;
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
