/* baseline_join LEFT RIGHT OUT: a radix join. Each pair of rows with equal keys gives the line
 * `left TAB right`; the hash table of a partition contains its right rows. */
#include "die.h"
#include "files.h"
#include "keyed_rows.h"

#include <stdlib.h>

struct table {
    uint32_t *heads, *next; /* row + 1; 0: none */
    uint32_t mask;
};

static void build(struct table *t, const struct keyed_row *right, size_t count)
{
    memset(t->heads, 0, (t->mask + 1) * sizeof *t->heads);
    for (size_t i = count; i-- > 0;) { /* backwards: a chain begins with its first row */
        uint32_t *head = &t->heads[right[i].hash & t->mask];
        t->next[i] = *head;
        *head = (uint32_t)i + 1;
    }
}

static void probe(const struct table *t, const struct keyed_row *left, size_t count,
                  const struct keyed_row *right, FILE *part)
{
    for (size_t i = 0; i < count; i++) {
        for (uint32_t r = t->heads[left[i].hash & t->mask]; r != 0; r = t->next[r - 1]) {
            if (!keyed_rows_equal(&left[i], &right[r - 1])) continue;
            fwrite_unlocked(left[i].line, 1, left[i].line_size, part);
            putc_unlocked('\t', part);
            fwrite_unlocked(right[r - 1].line, 1, right[r - 1].line_size, part);
            putc_unlocked('\n', part);
        }
    }
}

int main(int argc, char **argv)
{
    struct keyed_rows left, right;
    struct table t = {.mask = 1023};
    size_t most = 0;
    if (argc != 4) die("usage: baseline_join LEFT RIGHT OUT");
    keyed_rows_read(argv[1], false, &left);
    keyed_rows_read(argv[2], false, &right);
    for (unsigned p = 0; p < KEYED_PARTITIONS; p++)
        if (right.start[p + 1] - right.start[p] > most) most = right.start[p + 1] - right.start[p];
    while (t.mask < 2 * most) t.mask = 2 * t.mask + 1;
    t.heads = malloc((t.mask + 1) * sizeof *t.heads);
    t.next = malloc((most + 1) * sizeof *t.next);
    if (t.heads == NULL || t.next == NULL) die("out of memory");
    FILE *part = output_create(argv[3]);
    setvbuf(part, NULL, _IOFBF, 1 << 20);
    for (unsigned p = 0; p < KEYED_PARTITIONS; p++) {
        const struct keyed_row *first = right.rows + right.start[p];
        build(&t, first, right.start[p + 1] - right.start[p]);
        probe(&t, left.rows + left.start[p], left.start[p + 1] - left.start[p], first, part);
    }
    output_finish(part, argv[3]);
    return 0;
}
