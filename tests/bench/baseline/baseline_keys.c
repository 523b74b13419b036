/* baseline_keys INPUT OUT: how often each key occurs, as lines `key TAB count`, sorted by key
 * within each partition of the hash. */
#include "die.h"
#include "files.h"
#include "keyed_rows.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

struct group {
    struct keyed_row row;
    uint64_t count;
};

struct order {
    uint64_t prefix; /* the first eight bytes of the key: compares as it does */
    uint32_t group;
};

static uint64_t prefix_of(const struct keyed_row *row)
{
    uint8_t bytes[8] = {0};
    uint64_t word;
    memcpy(bytes, row->line, row->key_size < 8 ? row->key_size : 8);
    memcpy(&word, bytes, sizeof word);
    return be64toh(word);
}

/* Counts rows [0, rows) into `groups`; returns how many there are. `slots` are zeros, `mask` + 1 of
 * them. */
static uint32_t count_rows(const struct keyed_row *rows, size_t count, struct group *groups,
                           uint32_t *slots, uint32_t mask)
{
    uint32_t used = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = rows[i].hash & mask;
        while (slots[slot] != 0 && !keyed_rows_equal(&groups[slots[slot] - 1].row, &rows[i]))
            slot = (slot + 1) & mask;
        if (slots[slot] == 0) {
            groups[used] = (struct group){rows[i], 0};
            slots[slot] = ++used;
        }
        groups[slots[slot] - 1].count++;
    }
    return used;
}

static void sort_by_prefix(struct order *order, struct order *other, uint32_t count)
{
    static uint32_t next[DIGITS + 1];
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        memset(next, 0, sizeof next);
        for (uint32_t i = 0; i < count; i++) next[(order[i].prefix >> shift & (DIGITS - 1)) + 1]++;
        for (unsigned d = 0; d < DIGITS; d++) next[d + 1] += next[d];
        for (uint32_t i = 0; i < count; i++)
            other[next[order[i].prefix >> shift & (DIGITS - 1)]++] = order[i];
        struct order *swap = order;
        order = other;
        other = swap;
    } /* six passes, an even number: the result is where it was */
}

static int compare(const struct keyed_row *a, const struct keyed_row *b)
{
    const size_t size = a->key_size < b->key_size ? a->key_size : b->key_size;
    const int c = memcmp(a->line, b->line, size);
    return c != 0 ? c : (a->key_size > b->key_size) - (a->key_size < b->key_size);
}

/* Keys with equal prefixes are few: they are sorted by insertion. */
static void sort_equal_prefixes(struct order *order, uint32_t count, const struct group *groups)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct order x = order[i];
        uint32_t at = i;
        for (; at > 0 && order[at - 1].prefix == x.prefix &&
               compare(&groups[order[at - 1].group].row, &groups[x.group].row) > 0;
             at--)
            order[at] = order[at - 1];
        order[at] = x;
    }
}

static void write_group(FILE *part, const struct group *g)
{
    char number[24];
    char *at = number + sizeof number;
    uint64_t n = g->count;
    *--at = '\n';
    do *--at = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    *--at = '\t';
    fwrite_unlocked(g->row.line, 1, g->row.key_size, part);
    fwrite_unlocked(at, 1, (size_t)(number + sizeof number - at), part);
}

int main(int argc, char **argv)
{
    struct keyed_rows table;
    if (argc != 3) die("usage: baseline_keys INPUT OUT");
    keyed_rows_read(argv[1], true, &table);
    FILE *part = output_create(argv[2]);
    setvbuf(part, NULL, _IOFBF, 1 << 20);
    size_t most = 0;
    for (unsigned p = 0; p < KEYED_PARTITIONS; p++)
        if (table.start[p + 1] - table.start[p] > most) most = table.start[p + 1] - table.start[p];
    uint32_t mask = 1023;
    while (mask < 2 * most) mask = 2 * mask + 1;
    struct group *groups = malloc((most + 1) * sizeof *groups);
    struct order *order = malloc(2 * (most + 1) * sizeof *order);
    uint32_t *slots = malloc((mask + 1) * sizeof *slots);
    if (groups == NULL || order == NULL || slots == NULL) die("out of memory");
    for (unsigned p = 0; p < KEYED_PARTITIONS; p++) {
        memset(slots, 0, (mask + 1) * sizeof *slots);
        const uint32_t count = count_rows(table.rows + table.start[p],
                                          table.start[p + 1] - table.start[p], groups, slots, mask);
        for (uint32_t i = 0; i < count; i++)
            order[i] = (struct order){prefix_of(&groups[i].row), i};
        sort_by_prefix(order, order + most + 1, count);
        sort_equal_prefixes(order, count, groups);
        for (uint32_t i = 0; i < count; i++) write_group(part, &groups[order[i].group]);
    }
    output_finish(part, argv[2]);
    return 0;
}
