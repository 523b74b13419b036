/* Pools, and on top of them the accumulators of reduceByKey and similar operators. */
#include "engine/records/hash_table.h"
#include "engine/records/task.h"

#include <assert.h>
#include <string.h>

#define CHUNK_BYTES     (64 * KIB)
#define CHUNK_SHARE_MAX (CHUNK_BYTES / 4) /* larger allocations bypass the chunk */

uint8_t *acc_pool_alloc(struct acc_pool *p, uint64_t size)
{
    if (p->aligned) size = (size + 7) & ~UINT64_C(7); /* chunks are aligned, so all of it is */
    if (p->at == NULL || size > (uint64_t)(p->limit - p->at)) {
        bool alone = size > CHUNK_SHARE_MAX;
        uint64_t bytes = alone ? size : CHUNK_BYTES;
        uint8_t *chunk = arena_alloc_aligned(&p->arena, bytes);
        if (chunk == NULL) return NULL;
        p->chunk_bytes += bytes;
        if (alone) return chunk;
        p->at = chunk;
        p->limit = chunk + bytes;
    }
    uint8_t *taken = p->at;
    p->at += size;
    return taken;
}

void acc_pool_reset(struct acc_pool *p, uint64_t keep)
{
    assert(p->large_bytes == 0);
    arena_reset(&p->arena, keep);
    p->at = p->limit = NULL;
    p->chunk_bytes = 0;
}

void acc_pool_fini(struct acc_pool *p)
{
    acc_pool_reset(p, 0);
    arena_fini(&p->arena);
}

static bool is_large_value(const struct glint_acc *acc)
{
    return acc->capacity > ACC_LARGE_BYTES;
}

void acc_free_large(struct glint_acc *acc)
{
    struct acc_pool *pool = acc->memory;
    if (is_large_value(acc)) {
        assert(pool->large_bytes >= acc->capacity);
        pool->large_bytes -= acc->capacity;
        mem_free(glint_acc_bytes(acc));
    }
    *acc = acc_init(pool);
}

void acc_swap_buffer(struct glint_acc *acc, struct buffer *bytes)
{
    struct acc_pool *pool = acc->memory;
    struct buffer old = {NULL, 0, 0};
    assert(bytes->capacity > ACC_LARGE_BYTES);
    if (is_large_value(acc)) old = (struct buffer){glint_acc_bytes(acc), 0, acc->capacity};
    pool->large_bytes += bytes->capacity - old.capacity;
    acc->value.bytes = buffer_slice(bytes);
    acc->capacity = bytes->capacity;
    *bytes = old;
}

/* Extends the accumulator without copying, if it is the latest allocation from the pool's chunk and
 * `need` fits; returns false otherwise. */
static bool acc_extend_in_place(struct acc_pool *pool, struct glint_acc *acc, uint64_t need,
                                uint64_t want)
{
    if (acc->capacity == 0) return false;
    const uint8_t *end = acc->value.bytes.data + acc->capacity;
    uint64_t room = (uint64_t)(pool->limit - pool->at);
    if (end != pool->at || need - acc->capacity > room) return false;
    uint64_t capacity = want - acc->capacity <= room ? want : acc->capacity + room;
    pool->at += capacity - acc->capacity;
    acc->capacity = capacity;
    return true;
}

/* What a function of a user's program may do. */
static int set_number_acc_error(struct glint_task *task)
{
    const struct glint_function *fn = atomic_load(&task->function);
    return error_set(
        &task->error, GLINT_E_PLAN_TYPE, "the accumulator has the type of the function's `out`",
        "%s stores bytes in an accumulator that is a number", fn != NULL ? fn->name : "a function");
}

/* Makes the capacity at least `need`; keeps the first `keep` bytes of the value. Capacities double,
 * so that appending is linear. Old bytes in the pool are not reused before the next spill,
 * therefore values over ACC_LARGE_BYTES are on the heap. */
static int acc_reserve(struct glint_task *task, struct glint_acc *acc, uint64_t need, uint64_t keep)
{
    struct acc_pool *pool = acc->memory;
    if (need <= acc->capacity) return 0;
    if (pool == NULL || pool->numbers) return set_number_acc_error(task);
    assert(keep <= acc->capacity);
    if (need > VALUE_BYTES_MAX)
        return error_set(&task->error, GLINT_E_VALUE_LIMIT, "make the function store less per key",
                         "a value grew to %llu bytes", (unsigned long long)need);
    uint64_t want = acc->capacity * 2 > need ? acc->capacity * 2 : need;
    if (need <= ACC_LARGE_BYTES && want > ACC_LARGE_BYTES) want = ACC_LARGE_BYTES;
    bool large = want > ACC_LARGE_BYTES;
    if (!large && acc_extend_in_place(pool, acc, need, want)) return 0;
    uint8_t *bytes = large ? mem_grow(NULL, 0, want) : acc_pool_alloc(pool, want);
    if (bytes == NULL) return error_no_memory(&task->error);
    if (keep > 0) memcpy(bytes, acc->value.bytes.data, keep);
    if (large) pool->large_bytes += want;
    acc_free_large(acc);
    acc->value.bytes = (struct glint_slice){bytes, keep};
    acc->capacity = want;
    return 0;
}

int glint_acc_set(struct glint_task *task, struct glint_acc *acc, const void *data, uint64_t size)
{
    int r = acc_reserve(task, acc, size, 0);
    if (r < 0) return r;
    if (size > 0) memcpy(glint_acc_bytes(acc), data, size);
    acc->value.bytes.size = size;
    return 0;
}

void *glint_acc_zero(struct glint_task *task, struct glint_acc *acc, uint64_t size)
{
    if (acc_reserve(task, acc, size, 0) < 0) return NULL;
    memset(glint_acc_bytes(acc), 0, size);
    acc->value.bytes.size = size;
    return glint_acc_bytes(acc);
}

int glint_acc_append(struct glint_task *task, struct glint_acc *acc, const void *data,
                     uint64_t size)
{
    uint64_t old = acc->value.bytes.size;
    if (size > UINT64_MAX - old) return error_no_memory(&task->error);
    int r = acc_reserve(task, acc, old + size, old);
    if (r < 0) return r;
    if (size > 0) memcpy(glint_acc_bytes(acc) + old, data, size);
    acc->value.bytes.size = old + size;
    return 0;
}
