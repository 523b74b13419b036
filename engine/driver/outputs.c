/* Plain arrays: a job has few shuffles, and an output is met once per event. */
#include "engine/driver/outputs.h"

#include <assert.h>
#include <string.h>

#define SIZES_BYTES_MAX (64 * MIB) /* of one shuffle: 100,000 maps of 200 partitions are 20 MB */

struct outputs *outputs_of(struct outputs **list, uint32_t shuffle, uint32_t maps,
                           uint32_t partitions)
{
    for (struct outputs *o = *list; o != NULL; o = o->next) {
        if (o->shuffle != shuffle) continue;
        assert(o->maps == maps && o->partitions == partitions);
        return o;
    }
    uint64_t size_bytes = (uint64_t)maps * partitions;
    struct outputs *o = mem_zalloc(sizeof *o);
    if (o == NULL) return NULL;
    o->shuffle = shuffle;
    o->maps = maps;
    o->partitions = partitions;
    o->places = mem_zalloc(sizeof *o->places * ((uint64_t)maps + 1));
    o->there = mem_zalloc((uint64_t)maps + 1);
    o->counted = mem_zalloc((uint64_t)maps + 1);
    o->lost = mem_zalloc((uint64_t)maps + 1);
    if (partitions > 1 && size_bytes <= SIZES_BYTES_MAX) o->sizes = mem_zalloc(size_bytes + 1);
    if (o->places == NULL || o->there == NULL || o->counted == NULL || o->lost == NULL) {
        outputs_destroy(o);
        return NULL;
    }
    o->next = *list;
    *list = o;
    return o;
}

void outputs_destroy(struct outputs *list)
{
    while (list != NULL) {
        struct outputs *o = list;
        list = o->next;
        mem_free(o->places);
        mem_free(o->there);
        mem_free(o->counted);
        mem_free(o->lost);
        mem_free(o->sizes);
        mem_free(o);
    }
}

void outputs_set(struct outputs *o, uint32_t map, struct output_place place,
                 struct glint_slice sizes)
{
    assert(map < o->maps);
    outputs_found(o, map);
    o->places[map] = place;
    o->there[map] = true;
    if (o->sizes == NULL) return;
    uint8_t *row = o->sizes + (uint64_t)map * o->partitions;
    if (sizes.size == o->partitions)
        memcpy(row, sizes.data, sizes.size);
    else
        memset(row, 0, o->partitions);
}

static bool same_place(struct output_place a, struct output_place b)
{
    return a.executor == b.executor && a.attempt == b.attempt;
}

static void lose(struct outputs *o, uint32_t map)
{
    assert(o->there[map] && !o->lost[map]);
    o->there[map] = false;
    o->lost[map] = true;
    o->lost_count++;
}

void outputs_lost(struct outputs *o, uint32_t map, struct output_place place)
{
    assert(map < o->maps);
    if (o->there[map] && same_place(o->places[map], place)) lose(o, map);
}

void outputs_found(struct outputs *o, uint32_t map)
{
    assert(map < o->maps && o->lost_count >= o->lost[map]);
    o->lost_count -= o->lost[map];
    o->lost[map] = false;
}

void outputs_lost_executor(struct outputs *list, uint32_t executor)
{
    for (struct outputs *o = list; o != NULL; o = o->next)
        for (uint32_t m = 0; m < o->maps; m++)
            if (o->there[m] && o->places[m].executor == executor) lose(o, m);
}

bool outputs_complete(const struct outputs *o)
{
    assert(o->there != NULL);
    return memchr(o->there, false, o->maps) == NULL;
}

uint32_t outputs_preferred(const struct outputs *o, uint32_t partition, uint32_t executors,
                           uint64_t *scratch)
{
    assert(partition < o->partitions);
    if (o->sizes == NULL || executors < 2) return UINT32_MAX;
    uint64_t sum = 0;
    uint32_t best = 0, holders = 0;
    for (uint32_t m = 0; m < o->maps; m++) {
        uint64_t bytes = size_of_code(o->sizes[(uint64_t)m * o->partitions + partition]);
        uint32_t e = o->places[m].executor;
        assert(e < executors);
        sum += bytes;
        holders += scratch[e] == 0 && bytes > 0;
        scratch[e] += bytes;
        if (scratch[e] > scratch[best]) best = e;
    }
    /* A quarter more than an even share, since a size may be an eighth off; what is spread evenly
     * may be read from anywhere. */
    bool clear = holders > 0 && scratch[best] * holders * 4 > sum * 5;
    if (holders == 1) clear = true;
    for (uint32_t m = 0; m < o->maps; m++) scratch[o->places[m].executor] = 0;
    return clear ? best : UINT32_MAX;
}
