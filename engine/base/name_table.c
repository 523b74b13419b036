/* See name_table.h: open addressing. */
#include "engine/base/name_table.h"

#include "engine/base/hash.h"

#include <assert.h>
#include <string.h>

#define SLOTS_MIN 16

/* The slot of the name, or the empty one where it belongs. */
static uint64_t find_name_slot(const struct name_table *t, const char *name)
{
    assert(t->slot_count > 2 * (uint64_t)t->count);
    uint64_t at = hash_seeded(name, strlen(name), (uintptr_t)t) & (t->slot_count - 1);
    while (t->slots[at] != 0 && strcmp(t->names[t->slots[at] - 1], name) != 0)
        at = (at + 1) & (t->slot_count - 1);
    return at;
}

static void fill_name_slot(struct name_table *t, uint32_t number)
{
    assert(number < t->count);
    const uint64_t at = find_name_slot(t, t->names[number]);
    if (t->slots[at] == 0) t->slots[at] = number + 1;
}

static bool grow_name_slots(struct name_table *t)
{
    const uint64_t count = t->slot_count > 0 ? 2 * t->slot_count : SLOTS_MIN;
    uint32_t *slots = mem_zalloc(count * sizeof *slots);
    if (slots == NULL) return false;
    mem_free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    for (uint32_t i = 0; i < t->count; i++) fill_name_slot(t, i);
    return true;
}

uint32_t name_table_find(const struct name_table *t, const char *name)
{
    return t->count > 0 ? t->slots[find_name_slot(t, name)] - 1 : UINT32_MAX;
}

bool name_table_add(struct name_table *t, const char *name)
{
    if (!array_reserve(&t->names, &t->capacity, (uint64_t)t->count + 1, sizeof *t->names) ||
        (2 * ((uint64_t)t->count + 1) >= t->slot_count && !grow_name_slots(t)))
        return false;
    t->names[t->count++] = name;
    fill_name_slot(t, t->count - 1);
    return true;
}

void name_table_fini(struct name_table *t)
{
    mem_free(t->names);
    mem_free(t->slots);
    *t = (struct name_table){.names = NULL};
}
