/* See partition_blocks.h. */
#include "engine/shuffle/partition_blocks.h"

#include <assert.h>

#define BLOCK_BYTES_FIRST KIB
#define SLAB_BYTES_FIRST  (256 * KIB)
#define SLAB_BYTES_MAX    (16 * MIB)

/* A block, its records behind it. */
struct partition_block {
    struct partition_block *next;
    uint64_t size, capacity; /* of the records; size: set when the next block is opened */
};

static uint8_t *block_data(struct partition_block *block)
{
    return (uint8_t *)(block + 1);
}

bool partition_blocks_init(struct partition_blocks *b, uint32_t partitions)
{
    assert(partitions > 0 && partitions <= PARTITIONS_MAX);
    *b = (struct partition_blocks){.partitions = partitions};
    b->tails = mem_zalloc(partitions * sizeof *b->tails);
    return b->tails != NULL;
}

/* Slabs double, so that a small task takes little memory, and a large one few blocks of it. */
static bool add_slab(struct partition_blocks *b, uint64_t bytes)
{
    uint64_t size = b->slab_count > 0 ? SLAB_BYTES_MAX : SLAB_BYTES_FIRST;
    if (b->slab_count < 6) size = SLAB_BYTES_FIRST << b->slab_count;
    if (size < bytes) size = bytes;
    if (!array_reserve(&b->slabs, &b->slab_capacity, b->slab_count + 1, sizeof *b->slabs))
        return false;
    uint8_t *slab = mem_grow(NULL, 0, size);
    if (slab == NULL) return false;
    b->slabs[b->slab_count++] = slab;
    b->slab_bytes += size;
    b->free_at = slab;
    b->free_end = slab + size;
    return true;
}

static uint64_t open_size(const struct partition_tail *t)
{
    return t->last != NULL ? (uint64_t)(t->at - block_data(t->last)) : 0;
}

bool partition_blocks_extend(struct partition_blocks *b, uint32_t partition, uint64_t bytes)
{
    struct partition_tail *t = &b->tails[partition];
    uint64_t capacity = t->last != NULL ? 2 * t->last->capacity : BLOCK_BYTES_FIRST;
    if (capacity > RUN_BLOCK_BYTES) capacity = RUN_BLOCK_BYTES;
    if (capacity < bytes) capacity = bytes;
    const uint64_t whole = (sizeof(struct partition_block) + capacity + 7) & ~(uint64_t)7;
    if ((uint64_t)(b->free_end - b->free_at) < whole && !add_slab(b, whole)) return false;
    struct partition_block *block = (struct partition_block *)(void *)b->free_at;
    *block = (struct partition_block){.capacity = capacity};
    b->free_at += whole;
    if (t->last != NULL) {
        t->last->size = open_size(t);
        t->last->next = block;
        b->raw += t->last->size;
    } else {
        t->first = block;
    }
    t->last = block;
    t->at = block_data(block);
    t->end = t->at + capacity;
    return true;
}

uint64_t partition_blocks_raw(const struct partition_blocks *b)
{
    uint64_t raw = b->raw;
    for (uint32_t p = 0; p < b->partitions; p++) raw += open_size(&b->tails[p]);
    return raw;
}

int partition_blocks_write(const struct partition_blocks *b, struct run_writer *out)
{
    int r = 0;
    for (uint32_t p = 0; p < b->partitions && r == 0; p++) {
        const struct partition_tail *t = &b->tails[p];
        if (t->records > 0) r = run_writer_begin_records(out, p, t->records);
        for (struct partition_block *block = t->first; block != NULL && r == 0; block = block->next)
            r = run_writer_append_records(out, block_data(block),
                                          block == t->last ? open_size(t) : block->size);
    }
    return r;
}

int partition_blocks_each(const struct partition_blocks *b,
                          int (*add)(void *arg, uint32_t partition, struct glint_slice key,
                                     struct glint_slice value),
                          void *arg)
{
    for (uint32_t p = 0; p < b->partitions; p++) {
        const struct partition_tail *t = &b->tails[p];
        for (struct partition_block *block = t->first; block != NULL; block = block->next) {
            const uint8_t *at = block_data(block);
            const uint8_t *end = at + (block == t->last ? open_size(t) : block->size);
            while (at < end) {
                uint64_t key_size = 0, value_size = 0;
                at += codec_get_varint(at, end, &key_size);
                at += codec_get_varint(at, end, &value_size);
                assert(key_size + value_size <= (uint64_t)(end - at));
                const int r = add(arg, p, (struct glint_slice){at, key_size},
                                  (struct glint_slice){at + key_size, value_size});
                if (r < 0) return r;
                at += key_size + value_size;
            }
        }
    }
    return 0;
}

void partition_blocks_fini(struct partition_blocks *b)
{
    for (uint64_t i = 0; i < b->slab_count; i++) mem_free(b->slabs[i]);
    mem_free(b->slabs);
    mem_free(b->tails);
    *b = (struct partition_blocks){.tails = NULL};
}
