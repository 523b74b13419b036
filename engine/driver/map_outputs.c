/* Plain arrays and a list of tables: a job has few shuffles, and an event concerns one output. */
#include "engine/driver/map_outputs.h"

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

static bool same_location(struct map_output_location a, struct map_output_location b)
{
    return a.executor == b.executor && a.attempt == b.attempt;
}

/* The location is kept: it names the executor and attempt in the retry that follows. */
static void mark_lost(struct map_outputs *o, uint32_t map)
{
    assert(o->available[map] && !o->lost[map]);
    o->available[map] = false;
    o->lost[map] = true;
    o->lost_count++;
}

void map_outputs_remove(struct map_outputs *o, uint32_t map, struct map_output_location location)
{
    assert(map < o->maps);
    if (o->available[map] && same_location(o->locations[map], location)) mark_lost(o, map);
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
            if (o->available[m] && o->locations[m].executor == executor) mark_lost(o, m);
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
