/* baseline_stations INPUT OUT: the least, mean and greatest temperature of each station, from lines
 * STATION;TEMPERATURE with one decimal. Two threads, which take chunks of the file in turn.
 *
 * 64 bytes give a word of newline bits. A temperature is read backwards from its newline, in one
 * word of eight bytes without a branch, which also finds where the name ends. A name of up to 32
 * bytes is loaded and compared as one vector; longer ones take a slow path. */
#include "die.h"
#include "files.h"
#include "measurements.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    THREADS = 2,
    CHUNK_BYTES = 256 * 1024, /* one pread: it stays in the second-level cache */
    LINE_BYTES_MAX = 128,
    PAD_BYTES = 64,
    SLOTS = 4096, /* few: each is a cache line */
    STATIONS_MAX = SLOTS / 2
};

struct worker {
    pthread_t thread;
    const char *path;
    _Atomic int64_t *next; /* chunk */
    int64_t size;
    struct station *slots;
    uint8_t *buffer; /* PAD_BYTES, LINE_BYTES_MAX + CHUNK_BYTES + LINE_BYTES_MAX, PAD_BYTES */
    uint32_t used;
};

static struct station *find(struct worker *w, const struct name *name, const uint8_t *text)
{
    for (uint32_t slot = name_hash(name);; slot++) {
        struct station *s = &w->slots[slot & (SLOTS - 1)];
        if (name_equal(&s->name, name) &&
            (name->size <= NAME_BYTES_FAST || memcmp(s->text, text, name->size) == 0))
            return s;
        if (s->count != 0) continue;
        if (++w->used > STATIONS_MAX) die("more than %d stations", STATIONS_MAX);
        *s = (struct station){.name = *name, .min = INT32_MAX, .max = INT32_MIN};
        s->text = (uint8_t *)strndup((const char *)text, name->size);
        if (s->text == NULL) die("out of memory");
        return s;
    }
}

static inline void add_line(struct worker *w, const uint8_t *line, const uint8_t *newline)
{
    const struct temperature t = temperature_before(newline);
    const uint8_t *const name_end = newline - t.size - 1;
    if (name_end < line || *name_end != ';') die("not STATION;TEMPERATURE");
    const struct name name = name_load(line, (uint32_t)(name_end - line));
    struct station *s = find(w, &name, line);
    s->min = t.tenths < s->min ? t.tenths : s->min;
    s->max = t.tenths > s->max ? t.tenths : s->max;
    s->sum += t.tenths;
    s->count++;
}

/* The lines that begin in [line, end). */
static void add_lines(struct worker *w, const uint8_t *line, const uint8_t *end)
{
    for (const uint8_t *at = line; line < end; at += 64) {
        for (uint64_t bits = newline_bits(at); bits != 0 && line < end; bits &= bits - 1) {
            const uint8_t *const newline = at + __builtin_ctzll(bits);
            add_line(w, line, newline);
            line = newline + 1;
        }
    }
}

/* Reads the chunk, the byte before it and a line after it: its lines are those that begin in it. */
static void add_chunk(struct worker *w, int fd, int64_t chunk)
{
    uint8_t *const bytes = w->buffer + PAD_BYTES;
    const int64_t begin = chunk * CHUNK_BYTES, from = begin > 0 ? begin - 1 : 0;
    const size_t before = (size_t)(begin - from);
    const ssize_t got = pread(fd, bytes, before + CHUNK_BYTES + LINE_BYTES_MAX, from);
    if (got < 0) die_errno("read");
    if ((size_t)got < before + CHUNK_BYTES + LINE_BYTES_MAX && bytes[got - 1] != '\n')
        die("the last line has no newline");
    memset(bytes + got, '\n', PAD_BYTES);
    const uint8_t *line = bytes;
    if (before > 0) line = (const uint8_t *)memchr(bytes, '\n', (size_t)got) + 1;
    const uint8_t *end = bytes + before + CHUNK_BYTES;
    if (end > bytes + got) end = bytes + got;
    add_lines(w, line, end);
}

static void *run(void *argument)
{
    struct worker *w = argument;
    const int fd = open(w->path, O_RDONLY);
    if (fd < 0) die_errno(w->path);
    for (int64_t chunk; (chunk = atomic_fetch_add(w->next, 1)) * CHUNK_BYTES < w->size;)
        add_chunk(w, fd, chunk);
    close(fd);
    return NULL;
}

static void unite(struct worker *into, const struct worker *from)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const struct station *f = &from->slots[slot];
        if (f->count == 0) continue;
        struct station *s = find(into, &f->name, f->text);
        s->min = f->min < s->min ? f->min : s->min;
        s->max = f->max > s->max ? f->max : s->max;
        s->sum += f->sum;
        s->count += f->count;
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp((const char *)((const struct station *)a)->text,
                  (const char *)((const struct station *)b)->text);
}

static void write_tenths(FILE *part, int64_t tenths)
{
    const int64_t size = tenths < 0 ? -tenths : tenths;
    fprintf(part, "\t%s%" PRId64 ".%" PRId64, tenths < 0 ? "-" : "", size / 10, size % 10);
}

/* Moves the stations to the front, sorts and writes them. */
static void write_stations(struct worker *w, const char *out)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (w->slots[slot].count != 0) w->slots[count++] = w->slots[slot];
    qsort(w->slots, count, sizeof *w->slots, compare);
    FILE *part = output_create(out);
    for (uint32_t i = 0; i < count; i++) {
        const struct station *s = &w->slots[i];
        fputs((const char *)s->text, part);
        write_tenths(part, s->min);
        write_tenths(part, mean_tenths(s->sum, s->count));
        write_tenths(part, s->max);
        fputc('\n', part);
    }
    output_finish(part, out);
}

int main(int argc, char **argv)
{
    static _Atomic int64_t next;
    static struct worker workers[THREADS];
    struct stat status;
    if (argc != 3) die("usage: baseline_stations INPUT OUT");
    if (stat(argv[1], &status) != 0) die_errno(argv[1]);
    for (int i = 0; i < THREADS; i++) {
        struct worker *w = &workers[i];
        *w = (struct worker){.path = argv[1], .next = &next, .size = status.st_size};
        w->slots = aligned_alloc(64, SLOTS * sizeof *w->slots);
        w->buffer = calloc(1, CHUNK_BYTES + 2 * LINE_BYTES_MAX + 2 * PAD_BYTES);
        if (w->slots == NULL || w->buffer == NULL) die("out of memory");
        memset(w->slots, 0, SLOTS * sizeof *w->slots);
        if (pthread_create(&w->thread, NULL, run, w) != 0) die("no thread");
    }
    for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
    unite(&workers[0], &workers[1]);
    write_stations(&workers[0], argv[2]);
    return 0;
}
