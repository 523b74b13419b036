/* Entries are in one array, and uthash links them: uthash allocates only when its table of buckets
 * grows, and that is counted. */
#include "jobs/papers/exact_set.h"

#include <assert.h>
#include <xxhash.h>

/* uthash has no arguments for these: its macros use the `set` that is in scope. */
#define HASH_NONFATAL_OOM                1
#define HASH_FUNCTION(data, size, value) ((value) = (unsigned)XXH3_64bits(data, size))
#define uthash_malloc(size)              table_alloc(set, size)
#define uthash_free(data, size)          table_free(set, data, size)
#include <uthash.h>

struct set_entry {
    UT_hash_handle hh;
};

struct exact_set {
    struct glint *g;
    struct set_entry *first; /* the head, as uthash needs it: NULL while empty */
    struct set_entry *entries;
    uint64_t count, capacity;
    uint64_t table_bytes, string_bytes;
};

static void *table_alloc(struct exact_set *set, uint64_t size)
{
    void *data = glint_alloc(set->g, size);
    if (data != NULL) set->table_bytes += size;
    return data;
}

static void table_free(struct exact_set *set, void *data, uint64_t size)
{
    assert(data != NULL && set->table_bytes >= size);
    set->table_bytes -= size;
    glint_free(data);
}

struct exact_set *exact_set_new(struct glint *g, uint64_t capacity)
{
    assert(capacity > 0);
    struct exact_set *set = glint_alloc(g, sizeof *set);
    if (set == NULL) return NULL;
    *set = (struct exact_set){.g = g, .capacity = capacity};
    set->entries = glint_alloc(g, capacity * sizeof *set->entries);
    if (set->entries != NULL) return set;
    glint_free(set);
    return NULL;
}

void exact_set_free(struct exact_set *set)
{
    if (set == NULL) return;
    HASH_CLEAR(hh, set->first);
    assert(set->table_bytes == 0);
    glint_free(set->entries);
    glint_free(set);
}

static const struct set_entry *find_entry(const struct exact_set *set, const uint8_t *data,
                                          uint32_t size, unsigned hash)
{
    const struct set_entry *found;
    HASH_FIND_BYHASHVALUE(hh, set->first, data, size, hash, found);
    return found;
}

bool exact_set_add(struct exact_set *set, const uint8_t *data, uint32_t size)
{
    unsigned hash;
    HASH_VALUE(data, size, hash);
    if (find_entry(set, data, size, hash) != NULL) return true;
    assert(set->count < set->capacity);
    struct set_entry *entry = &set->entries[set->count];
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, set->first, data, size, hash, entry);
    if (entry->hh.tbl == NULL) return false;
    set->count++;
    set->string_bytes += size;
    return true;
}

bool exact_set_contains(const struct exact_set *set, const uint8_t *data, uint32_t size)
{
    unsigned hash;
    HASH_VALUE(data, size, hash);
    return find_entry(set, data, size, hash) != NULL;
}

uint64_t exact_set_count(const struct exact_set *set)
{
    assert(set->count <= set->capacity);
    return set->count;
}

uint64_t exact_set_bytes(const struct exact_set *set)
{
    return sizeof *set + set->count * sizeof *set->entries + set->table_bytes + set->string_bytes;
}

uint64_t exact_set_bytes_max(uint64_t count)
{
    /* There are at most two buckets per entry, beyond the first 32; while a table doubles, its old
     * buckets are half as many more. */
    return sizeof(struct exact_set) + count * sizeof(struct set_entry) + sizeof(UT_hash_table) +
           (3 * count + 64) * sizeof(UT_hash_bucket);
}
