/* baseline_pagerank INPUT OUT: ten iterations over lines `FROM TO`, with the semantics of
 * examples/programs/pagerank.c: an edge counts once; a page that no link leads to has no rank after
 * the first iteration. Pages are numbers. One thread; edges are sorted by page, as in a matrix in
 * compressed rows. */
#include "die.h"
#include "files.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 10, PAGES_MAX = 1 << 30 };

struct graph {
    uint32_t pages;  /* the largest number and 1 */
    uint64_t *begin; /* of the links of page p: to[begin[p]] to to[begin[p + 1]] */
    uint32_t *to;
};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL) die("out of memory");
    return memory;
}

static uint32_t read_page(const uint8_t **at)
{
    const uint8_t *const begin = *at;
    uint32_t page = 0;
    while (**at >= '0' && **at <= '9' && page < PAGES_MAX / 10) page = page * 10 + (*(*at)++ - '0');
    if (*at == begin || (**at != ' ' && **at != '\n')) die("not FROM TO: %.20s", begin);
    (*at)++;
    return page;
}

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts the links of each page and drops repeated ones. */
static void drop_repeated(struct graph *g)
{
    uint64_t kept = 0, begin = 0;
    for (uint32_t page = 0; page < g->pages; page++) {
        const uint64_t end = g->begin[page + 1];
        qsort(g->to + begin, end - begin, sizeof *g->to, compare);
        g->begin[page] = kept;
        for (uint64_t i = begin; i < end; i++)
            if (i == begin || g->to[i] != g->to[i - 1]) g->to[kept++] = g->to[i];
        begin = end;
    }
    g->begin[g->pages] = kept;
}

static void read_graph(const char *path, struct graph *g)
{
    size_t size, edges = 0;
    uint8_t *text = input_read(path, &size);
    uint32_t *pairs = allocate(size / 2, sizeof *pairs); /* a line has at least 4 bytes */
    for (const uint8_t *at = text; at < text + size; edges++) {
        for (int side = 0; side < 2; side++) {
            const uint32_t page = read_page(&at);
            pairs[2 * edges + side] = page;
            if (page >= g->pages) g->pages = page + 1;
        }
    }
    free(text);
    uint64_t *next = allocate(g->pages + 2, sizeof *next);
    g->begin = next; /* shifted by the scatter below */
    for (size_t i = 0; i < edges; i++) next[pairs[2 * i] + 2]++;
    for (uint32_t page = 2; page <= g->pages; page++) next[page] += next[page - 1];
    g->to = allocate(edges, sizeof *g->to);
    for (size_t i = 0; i < edges; i++) g->to[next[pairs[2 * i] + 1]++] = pairs[2 * i + 1];
    free(pairs);
    drop_repeated(g);
}

/* Ranks of pages without one are NAN. */
static void iterate(const struct graph *g, double *ranks, double *shares)
{
    for (uint32_t page = 0; page < g->pages; page++) shares[page] = NAN;
    for (uint32_t page = 0; page < g->pages; page++) {
        const uint64_t begin = g->begin[page], end = g->begin[page + 1];
        if (isnan(ranks[page])) continue;
        const double share = ranks[page] / (double)(end - begin);
        for (uint64_t i = begin; i < end; i++) {
            double *to = &shares[g->to[i]];
            *to = isnan(*to) ? share : *to + share;
        }
    }
    for (uint32_t page = 0; page < g->pages; page++) ranks[page] = 0.15 + 0.85 * shares[page];
}

int main(int argc, char **argv)
{
    struct graph g = {.pages = 0};
    if (argc != 3) die("usage: baseline_pagerank INPUT OUT");
    read_graph(argv[1], &g);
    double *ranks = allocate(g.pages, sizeof *ranks), *shares = allocate(g.pages, sizeof *shares);
    for (uint32_t page = 0; page < g.pages; page++)
        ranks[page] = g.begin[page] < g.begin[page + 1] ? 1 : NAN;
    for (int i = 0; i < ITERATIONS; i++) iterate(&g, ranks, shares);
    FILE *part = output_create(argv[2]);
    for (uint32_t page = 0; page < g.pages; page++)
        if (!isnan(ranks[page])) fprintf(part, "%" PRIu32 "\t%.17g\n", page, ranks[page]);
    output_finish(part, argv[2]);
    return 0;
}
