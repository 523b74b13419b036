/* Edit distance with three rows of the table, because a swap looks back two rows. A prefix of a
 * longer name counts as distance 1: abbreviations are rejected, but get a suggestion. */
#include "engine/cli/suggest.h"

#include <assert.h>
#include <string.h>

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t suggest_distance(const char *a, const char *b)
{
    size_t rows = strnlen(a, SUGGEST_BYTES_MAX + 1), columns = strnlen(b, SUGGEST_BYTES_MAX + 1);
    if (rows > SUGGEST_BYTES_MAX || columns > SUGGEST_BYTES_MAX) return UINT32_MAX;
    uint32_t table[3][SUGGEST_BYTES_MAX + 1];
    for (size_t j = 0; j <= columns; j++) table[0][j] = (uint32_t)j;
    for (size_t i = 1; i <= rows; i++) {
        uint32_t *row = table[i % 3], *above = table[(i - 1) % 3], *two_above = table[(i + 1) % 3];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= columns; j++) {
            uint32_t changed = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = min_u32(changed, min_u32(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min_u32(row[j], two_above[j - 2] + 1);
        }
    }
    uint32_t distance = table[rows % 3][columns];
    assert(distance <= (rows > columns ? rows : columns));
    return distance;
}

void suggest_init(struct suggest *n, const char *wanted)
{
    assert(wanted != NULL);
    /* Accept about one error per three characters; beyond that it is another name. */
    uint32_t worst = (uint32_t)(strnlen(wanted, SUGGEST_BYTES_MAX) / 3) + 1;
    *n = (struct suggest){.wanted = wanted, .name = NULL, .distance = worst + 1};
}

void suggest_offer(struct suggest *n, const char *candidate)
{
    assert(candidate != NULL);
    uint32_t distance = suggest_distance(n->wanted, candidate);
    size_t size = strlen(n->wanted);
    if (size >= 2 && distance > 1 && strncmp(n->wanted, candidate, size) == 0) distance = 1;
    if (distance >= n->distance) return;
    n->name = candidate;
    n->distance = distance;
}
