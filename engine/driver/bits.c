/* Levels lie behind each other in one block; a level ends where one word says it all. */
#include "engine/driver/bits.h"

#include "engine/base/mem.h"

#include <assert.h>

static_assert(64ull * 64 * 64 * 64 * 64 * 64 > UINT32_MAX, "the levels hold any number");

static uint64_t bit_of(uint32_t number)
{
    return UINT64_C(1) << (number & 63);
}

bool bits_reserve(struct bits *b, uint32_t capacity)
{
    if (capacity <= b->capacity) return true;
    struct bits grown = {.capacity = capacity};
    for (uint32_t words = capacity; words > 1 || grown.levels == 0;) {
        words = (uint32_t)(((uint64_t)words + 63) / 64);
        assert(grown.levels < BITS_LEVELS_MAX);
        grown.at[grown.levels++] = grown.word_count;
        grown.word_count += words;
    }
    grown.words = mem_zalloc(sizeof *grown.words * grown.word_count);
    if (grown.words == NULL) return false;
    for (uint32_t i = bits_next(b, 0); i != BITS_NONE; i = bits_next(b, i + 1)) bits_add(&grown, i);
    mem_free(b->words);
    *b = grown;
    return true;
}

void bits_fini(struct bits *b)
{
    mem_free(b->words);
    *b = (struct bits){0};
}

void bits_add(struct bits *b, uint32_t number)
{
    assert(number < b->capacity);
    for (uint32_t level = 0; level < b->levels; level++, number >>= 6) {
        uint64_t *word = &b->words[b->at[level] + (number >> 6)], before = *word;
        *word = before | bit_of(number);
        if (before != 0) return;
    }
}

void bits_remove(struct bits *b, uint32_t number)
{
    assert(number < b->capacity);
    for (uint32_t level = 0; level < b->levels; level++, number >>= 6) {
        uint64_t *word = &b->words[b->at[level] + (number >> 6)];
        *word &= ~bit_of(number);
        if (*word != 0) return;
    }
}

void bits_put(struct bits *b, uint32_t number, bool member)
{
    if (member)
        bits_add(b, number);
    else
        bits_remove(b, number);
}

/* Up, until a word has a member at or behind `from`; then down along the first ones. */
uint32_t bits_next(const struct bits *b, uint32_t from)
{
    if (from >= b->capacity) return BITS_NONE;
    for (uint32_t level = 0; level < b->levels; level++) {
        uint32_t end = level + 1 < b->levels ? b->at[level + 1] : b->word_count;
        if (b->at[level] + (from >> 6) >= end) return BITS_NONE;
        uint64_t word = b->words[b->at[level] + (from >> 6)] & (UINT64_MAX << (from & 63));
        if (word == 0) {
            from = (from >> 6) + 1;
            continue;
        }
        uint32_t found = (from & ~63u) | (uint32_t)__builtin_ctzll(word);
        while (level-- > 0) {
            assert(b->words[b->at[level] + found] != 0);
            found = found << 6 | (uint32_t)__builtin_ctzll(b->words[b->at[level] + found]);
        }
        return found;
    }
    return BITS_NONE;
}

bool bits_empty(const struct bits *b)
{
    return b->levels == 0 || b->words[b->at[b->levels - 1]] == 0;
}

uint64_t bits_memory_bytes(const struct bits *b)
{
    return sizeof *b->words * b->word_count;
}
