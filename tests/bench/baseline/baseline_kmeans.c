/* baseline_kmeans INPUT OUT: Lloyd's algorithm as examples/programs/kmeans.c, for 20 centers and 8
 * numbers per line, ten iterations. The points stay in memory; distances are computed to all
 * centers at once, in the lanes of a vector. One thread. */
#include "die.h"
#include "files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CENTERS = 20, DIMENSIONS = 8, ITERATIONS = 10 };

static double centers[CENTERS][DIMENSIONS];

/* A decimal of up to 18 digits without an exponent; the text ends with a zero byte. */
static double read_number(const uint8_t **at)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    const uint8_t *p = *at, *point = NULL;
    const int negative = *p == '-';
    int64_t number = 0;
    for (p += negative; (*p >= '0' && *p <= '9') || *p == '.'; p++) {
        if (*p == '.')
            point = p;
        else
            number = number * 10 + (*p - '0');
    }
    const long decimals = point != NULL ? p - point - 1 : 0;
    if (decimals > 9 || p - *at > 18 || (*p != ' ' && *p != '\n')) die("not a point: %.20s", *at);
    *at = p + 1;
    return (negative ? -(double)number : (double)number) / powers[decimals];
}

static double (*read_points(const char *path, size_t *count))[DIMENSIONS]
{
    size_t size, capacity = 1 << 16;
    uint8_t *const text = input_read(path, &size);
    double(*points)[DIMENSIONS] = malloc(capacity * sizeof *points);
    *count = 0;
    for (const uint8_t *at = text; at < text + size && points != NULL; ++*count) {
        if (*count == capacity) points = realloc(points, (capacity *= 2) * sizeof *points);
        for (int i = 0; points != NULL && i < DIMENSIONS; i++)
            points[*count][i] = read_number(&at);
    }
    if (points == NULL) die("out of memory");
    free(text);
    return points;
}

static void iterate(const double (*points)[DIMENSIONS], size_t count)
{
    double turned[DIMENSIONS][CENTERS], sums[CENTERS][DIMENSIONS] = {{0}}, own[CENTERS] = {0};
    for (int c = 0; c < CENTERS; c++)
        for (int i = 0; i < DIMENSIONS; i++) turned[i][c] = centers[c][i];
    for (size_t p = 0; p < count; p++) {
        double distance[CENTERS] = {0};
        for (int i = 0; i < DIMENSIONS; i++)
            for (int c = 0; c < CENTERS; c++) {
                const double d = points[p][i] - turned[i][c];
                distance[c] += d * d;
            }
        int nearest = 0;
        for (int c = 1; c < CENTERS; c++)
            if (distance[c] < distance[nearest]) nearest = c;
        own[nearest]++;
        for (int i = 0; i < DIMENSIONS; i++) sums[nearest][i] += points[p][i];
    }
    for (int c = 0; c < CENTERS; c++)
        for (int i = 0; own[c] > 0 && i < DIMENSIONS; i++) centers[c][i] = sums[c][i] / own[c];
}

int main(int argc, char **argv)
{
    size_t count;
    if (argc != 3) die("usage: baseline_kmeans INPUT OUT");
    double(*points)[DIMENSIONS] = read_points(argv[1], &count);
    if (count < CENTERS) die("fewer than %d points", CENTERS);
    memcpy(centers, points, sizeof centers);
    for (int i = 0; i < ITERATIONS; i++)
        iterate((const double(*)[DIMENSIONS])points, count);
    FILE *part = output_create(argv[2]);
    for (int c = 0; c < CENTERS; c++)
        for (int i = 0; i < DIMENSIONS; i++)
            fprintf(part, "%.17g%c", centers[c][i], i + 1 < DIMENSIONS ? ' ' : '\n');
    output_finish(part, argv[2]);
    return 0;
}
