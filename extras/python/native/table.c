/* The hash table: open addressing with linear probing, at most half full. A slot has half of the
 * hash, so that few probes read an entry. */
#include "table.h"

#include <assert.h>
#include <string.h>

enum { SLOTS_MIN = 256 };
static const uint64_t K1 = 0x9E3779B97F4A7C15, K2 = 0xD6E8FEB86659FD93;

static uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Of the order of bytes of the machine: it does not leave the process. */
static uint64_t hash_bytes(const uint8_t *data, size_t size)
{
    uint64_t hash = K2 ^ size, word;
    for (; size >= sizeof(word); data += sizeof(word), size -= sizeof(word)) {
        memcpy(&word, data, sizeof(word));
        hash = mix(hash ^ word, K1);
    }
    word = 0;
    if (size > 0) memcpy(&word, data, size);
    return mix(hash ^ word, K2);
}

static bool keys_grow_slots(struct keys *keys)
{
    uint32_t count = keys->slots_count == 0 ? SLOTS_MIN : keys->slots_count * 2;
    uint64_t *slots = count <= UINT32_MAX / 2 ? PyMem_Calloc(count, sizeof(*slots)) : NULL;
    if (slots == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (uint32_t i = 0; i < keys->slots_count; i++) {
        uint64_t slot = keys->slots[i];
        if (slot == 0) continue;
        uint32_t at = (uint32_t)(slot >> 32) & (count - 1);
        while (slots[at] != 0) at = (at + 1) & (count - 1);
        slots[at] = slot;
    }
    PyMem_Free(keys->slots);
    keys->slots = slots;
    keys->slots_count = count;
    assert(keys->count * 2 <= count);
    return true;
}

static struct entry *keys_append(struct keys *keys)
{
    assert(keys->count <= keys->capacity);
    if (keys->count == keys->capacity) {
        uint32_t capacity = keys->capacity == 0 ? 64 : keys->capacity * 2;
        struct entry *entries = PyMem_Realloc(keys->entries, capacity * sizeof(*entries));
        if (entries == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        keys->entries = entries;
        keys->capacity = capacity;
    }
    return &keys->entries[keys->count++];
}

static const uint8_t *compared(const struct keys *keys, const struct entry *entry, size_t *size)
{
    const uint8_t *plain = keys->bytes.data + entry->key_at;
    *size = entry->canonical != 0 ? entry->canonical : entry->plain;
    return entry->canonical != 0 ? plain + entry->plain : plain;
}

struct entry *keys_find(struct keys *keys, size_t at, size_t plain, size_t canonical, bool *out_new)
{
    assert(at + plain + canonical == keys->bytes.size && plain > 0);
    assert(plain <= UINT32_MAX && canonical <= UINT32_MAX);
    if (keys->count * 2 >= keys->slots_count && !keys_grow_slots(keys)) return NULL;
    const uint8_t *mine = keys->bytes.data + at + (canonical != 0 ? plain : 0);
    size_t mine_size = canonical != 0 ? canonical : plain;
    uint64_t half = hash_bytes(mine, mine_size) >> 32;
    uint32_t mask = keys->slots_count - 1, slot = (uint32_t)half & mask;
    for (; keys->slots[slot] != 0; slot = (slot + 1) & mask) {
        if (keys->slots[slot] >> 32 != half) continue;
        struct entry *entry = &keys->entries[(uint32_t)keys->slots[slot] - 1];
        size_t size;
        const uint8_t *other = compared(keys, entry, &size);
        if (size != mine_size || memcmp(other, mine, size) != 0) continue;
        keys->bytes.size = at;
        *out_new = false;
        return entry;
    }
    struct entry *entry = keys_append(keys);
    if (entry == NULL) return NULL;
    *entry =
        (struct entry){.key_at = at, .plain = (uint32_t)plain, .canonical = (uint32_t)canonical};
    keys->slots[slot] = half << 32 | keys->count;
    *out_new = true;
    return entry;
}

void keys_clear(struct keys *keys)
{
    struct keys old = *keys;
    *keys = (struct keys){0}; /* first: an object's end may run Python */
    for (uint32_t i = 0; i < old.count; i++) value_clear(&old.entries[i].value);
    PyMem_Free(old.bytes.data);
    PyMem_Free(old.entries);
    PyMem_Free(old.slots);
}

PyObject *key_object(const struct keys *keys, const struct entry *entry)
{
    assert(entry >= keys->entries && entry < keys->entries + keys->count);
    const uint8_t *at = keys->bytes.data + entry->key_at;
    return decode_plain(&at, at + entry->plain);
}

PyObject *value_object(const struct value *value)
{
    switch (value->kind) {
    case VALUE_INT: return PyLong_FromLongLong(value->number);
    case VALUE_REAL: return PyFloat_FromDouble(value->real);
    case VALUE_OBJECT: break;
    }
    Py_XINCREF(value->object);
    return value->object;
}

void value_clear(struct value *value)
{
    if (value->kind == VALUE_OBJECT) Py_CLEAR(value->object);
}
