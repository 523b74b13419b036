/* All levels are in one array, level 0 first; the last level is a single word. */
#include "engine/sched/hbitmap.h"

#include "engine/base/mem.h"

#include <assert.h>

static_assert(64ull * 64 * 64 * 64 * 64 * 64 > UINT32_MAX, "the levels cover every uint32_t");

static uint64_t bit_mask(uint32_t number)
{
    return UINT64_C(1) << (number & 63);
}

bool hbitmap_reserve(struct hbitmap *b, uint32_t capacity)
{
    if (capacity <= b->capacity) return true;
    struct hbitmap grown = {.capacity = capacity};
    for (uint32_t words = capacity; words > 1 || grown.levels == 0;) {
        words = (uint32_t)(((uint64_t)words + 63) / 64);
        assert(grown.levels < HBITMAP_LEVELS_MAX);
        grown.offsets[grown.levels++] = grown.word_count;
        grown.word_count += words;
    }
    grown.words = mem_zalloc(sizeof *grown.words * grown.word_count);
    if (grown.words == NULL) return false;
    /* Level boundaries move with the capacity, so the words cannot be copied as they are. */
    for (uint32_t i = hbitmap_next(b, 0); i != HBITMAP_NONE; i = hbitmap_next(b, i + 1))
        hbitmap_set(&grown, i);
    mem_free(b->words);
    *b = grown;
    return true;
}

void hbitmap_fini(struct hbitmap *b)
{
    mem_free(b->words);
    *b = (struct hbitmap){0};
}

void hbitmap_set(struct hbitmap *b, uint32_t number)
{
    assert(number < b->capacity);
    for (uint32_t level = 0; level < b->levels; level++, number >>= 6) {
        uint64_t *word = &b->words[b->offsets[level] + (number >> 6)], before = *word;
        *word = before | bit_mask(number);
        if (before != 0) return; /* the levels above have this word's bit */
    }
}

void hbitmap_clear(struct hbitmap *b, uint32_t number)
{
    assert(number < b->capacity);
    for (uint32_t level = 0; level < b->levels; level++, number >>= 6) {
        uint64_t *word = &b->words[b->offsets[level] + (number >> 6)];
        *word &= ~bit_mask(number);
        if (*word != 0) return; /* the levels above keep this word's bit */
    }
}

void hbitmap_assign(struct hbitmap *b, uint32_t number, bool member)
{
    if (member)
        hbitmap_set(b, number);
    else
        hbitmap_clear(b, number);
}

/* Climbs until a word has a set bit at or after `from`, then descends along the first set bits. */
uint32_t hbitmap_next(const struct hbitmap *b, uint32_t from)
{
    if (from >= b->capacity) return HBITMAP_NONE;
    for (uint32_t level = 0; level < b->levels; level++) {
        uint32_t end = level + 1 < b->levels ? b->offsets[level + 1] : b->word_count;
        if (b->offsets[level] + (from >> 6) >= end) return HBITMAP_NONE;
        uint64_t word = b->words[b->offsets[level] + (from >> 6)] & (UINT64_MAX << (from & 63));
        if (word == 0) {
            from = (from >> 6) + 1;
            continue;
        }
        uint32_t found = (from & ~63u) | (uint32_t)__builtin_ctzll(word);
        while (level-- > 0) {
            assert(b->words[b->offsets[level] + found] != 0);
            found = found << 6 | (uint32_t)__builtin_ctzll(b->words[b->offsets[level] + found]);
        }
        return found;
    }
    return HBITMAP_NONE;
}

bool hbitmap_is_empty(const struct hbitmap *b)
{
    return b->levels == 0 || b->words[b->offsets[b->levels - 1]] == 0;
}

uint64_t hbitmap_memory_bytes(const struct hbitmap *b)
{
    return sizeof *b->words * b->word_count;
}
