/* The scan works on 64 bytes at a time and has no branch per row. In a chunk, T marks the tabs and
 * S the line starts. Adding S to ~T carries from each line start through the bytes of the id and
 * stops in the first tab, so (~T + S) & T marks exactly the tabs that end an id; the carry runs on
 * into the next chunk. The usual rating, "d.d" and a tab, is then read in byte lanes from the same
 * chunk, shifted; all others ("10.0", "7", "6.25") take the slow path one by one. */
#include "rows.h"
#include "die.h"

#include <assert.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__AVX512VBMI2__) && defined(__AVX512BW__)
#include <immintrin.h>
#define SCAN_AVX512 1
#elif defined(__AVX2__)
#include <immintrin.h>
#endif

/* The key of a rating field that ends at a tab or newline, or -1 if it is not a number. */
static int key_slowly(const uint8_t *field)
{
    char text[64];
    size_t length = 0;
    while (field[length] != '\t' && field[length] != '\n' && field[length] != '\r') {
        if (length + 1 >= sizeof text) return -1;
        text[length] = (char)field[length];
        length++;
    }
    text[length] = '\0';
    if (length == 0 || strspn(text, "+-.0123456789eE") != length) return -1;
    char *end;
    double key = floor(strtod(text, &end) + 0.5);
    return end == text + length && key >= 0 && key < KEYS_MAX ? (int)key : -1;
}

static uint8_t key_or_die(const uint8_t *field)
{
    int key = key_slowly(field);
    if (key < 0) die("bad rating: %.*s", (int)strcspn((const char *)field, "\t\n"), field);
    return (uint8_t)key;
}

/* The state of the scan, carried from chunk to chunk. */
struct scan {
    const uint8_t *bytes;
    unsigned long long carry; /* 1 while an id continues in this chunk */
    uint64_t line_starts;     /* 1 if this chunk begins a line */
    uint32_t tabs, newlines;  /* found so far */
    struct rows *rows;
};

/* The tabs of the chunk that end an id, from its tabs and newlines. */
static inline uint64_t id_ends(struct scan *scan, uint64_t tabs, uint64_t newlines)
{
    uint64_t starts = newlines << 1 | scan->line_starts;
    uint64_t sum;
    bool carry = __builtin_add_overflow(~tabs, starts, &sum);
    carry |= __builtin_add_overflow(sum, (uint64_t)scan->carry, &sum);
    scan->carry = carry;
    scan->line_starts = newlines >> 63;
    return sum & tabs;
}

#if defined(SCAN_AVX512)

/* Writes at + (position of each set bit), 16 at a time: a chunk of usual rows takes one store. */
static inline void put_positions(uint32_t *out, uint64_t bits, uint32_t at)
{
    const __m512i iota = _mm512_set_epi64(
        0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928, 0x2726252423222120,
        0x1f1e1d1c1b1a1918, 0x1716151413121110, 0x0f0e0d0c0b0a0908, 0x0706050403020100);
    __m512i bytes = _mm512_maskz_compress_epi8(bits, iota);
    __m512i base = _mm512_set1_epi32((int)at);
    _mm512_storeu_si512(
        out, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(bytes))));
    for (int left = __builtin_popcountll(bits) - 16; left > 0; left -= 16) {
        out += 16;
        bytes = _mm512_alignr_epi64(bytes, bytes, 2);
        _mm512_storeu_si512(
            out, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(bytes))));
    }
}

static inline __attribute__((always_inline)) void scan_chunk(struct scan *scan, uint32_t at,
                                                             uint64_t inside, bool with_ids)
{
    struct rows *rows = scan->rows;
    const uint8_t *p = scan->bytes + at;
    __m512i chunk = _mm512_loadu_si512(p);
    uint64_t newlines = _mm512_cmpeq_epi8_mask(chunk, _mm512_set1_epi8('\n')) & inside;
    uint64_t tabs = _mm512_cmpeq_epi8_mask(chunk, _mm512_set1_epi8('\t')) & inside;
    uint64_t ends = id_ends(scan, tabs, newlines);

    const __m512i nine = _mm512_set1_epi8(9), zero = _mm512_set1_epi8('0');
    __m512i whole = _mm512_sub_epi8(_mm512_loadu_si512(p + 1), zero);
    __m512i tenth = _mm512_sub_epi8(_mm512_loadu_si512(p + 3), zero);
    __m512i point = _mm512_xor_si512(_mm512_loadu_si512(p + 2), _mm512_set1_epi8('.'));
    __m512i after = _mm512_xor_si512(_mm512_loadu_si512(p + 4), _mm512_set1_epi8('\t'));
    uint64_t usual = _mm512_cmple_epu8_mask(_mm512_max_epu8(whole, tenth), nine) &
                     _mm512_testn_epi8_mask(_mm512_or_si512(point, after), _mm512_set1_epi8(-1));
    __m512i key = _mm512_mask_add_epi8(whole, _mm512_cmpge_epu8_mask(tenth, _mm512_set1_epi8(5)),
                                       whole, _mm512_set1_epi8(1));
    uint8_t *keys = rows->key + scan->tabs;
    _mm512_storeu_si512(keys, _mm512_maskz_compress_epi8(ends, key));
    for (uint64_t slow = ends & ~usual; slow != 0; slow &= slow - 1) {
        uint64_t before = (slow & -slow) - 1;
        keys[__builtin_popcountll(ends & before)] = key_or_die(p + __builtin_ctzll(slow) + 1);
    }
    if (with_ids) {
        put_positions(rows->tab + scan->tabs, ends, at);
        put_positions(rows->start + 1 + scan->newlines, newlines, at + 1);
    }
    scan->tabs += (uint32_t)__builtin_popcountll(ends);
    scan->newlines += (uint32_t)__builtin_popcountll(newlines);
}

void rows_count(const struct rows *rows, uint64_t *counts)
{
    for (uint32_t at = 0; at < rows->count; at += 64) {
        uint32_t left = rows->count - at;
        uint64_t inside = left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;
        __m512i keys = _mm512_loadu_si512(rows->key + at);
        for (int key = 0; key < KEYS_MAX; key++)
            counts[key] += (uint64_t)__builtin_popcountll(
                _mm512_mask_cmpeq_epi8_mask(inside, keys, _mm512_set1_epi8((char)key)));
    }
}

#else

static inline uint64_t bytes_equal(const uint8_t *p, char byte)
{
#if defined(__AVX2__)
    __m256i wanted = _mm256_set1_epi8(byte);
    __m256i low = _mm256_loadu_si256((const __m256i *)p);
    __m256i high = _mm256_loadu_si256((const __m256i *)(p + 32));
    uint64_t bits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
    return bits | (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)) << 32;
#else
    uint64_t bits = 0;
    for (int i = 0; i < 64; i++) bits |= (uint64_t)(p[i] == (uint8_t)byte) << i;
    return bits;
#endif
}

/* Four positions without a branch, the rare others in a loop. Positions without a bit are
 * arbitrary; the next chunk overwrites them. */
static inline void put_positions(uint32_t *out, uint64_t bits, uint32_t at)
{
    for (int i = 0; i < 4; i++, bits &= bits - 1)
        *out++ = at + (uint32_t)__builtin_ctzll(bits | UINT64_C(1) << 63);
    for (; bits != 0; bits &= bits - 1) *out++ = at + (uint32_t)__builtin_ctzll(bits);
}

static inline void scan_chunk(struct scan *scan, uint32_t at, uint64_t inside, bool with_ids)
{
    struct rows *rows = scan->rows;
    uint64_t newlines = bytes_equal(scan->bytes + at, '\n') & inside;
    uint64_t ends = id_ends(scan, bytes_equal(scan->bytes + at, '\t') & inside, newlines);
    uint32_t *tab = rows->tab + scan->tabs;
    uint32_t found = (uint32_t)__builtin_popcountll(ends);
    put_positions(tab, ends, at);
    if (with_ids) put_positions(rows->start + 1 + scan->newlines, newlines, at + 1);
    scan->tabs += found;
    scan->newlines += (uint32_t)__builtin_popcountll(newlines);
}

static void scan_keys(const struct rows *rows)
{
    for (uint32_t row = 0; row < rows->count; row++) {
        const uint8_t *field = rows->bytes + rows->tab[row] + 1;
        uint8_t whole = (uint8_t)(field[0] - '0'), tenth = (uint8_t)(field[2] - '0');
        bool usual = whole <= 9 && field[1] == '.' && tenth <= 9 && field[3] == '\t';
        rows->key[row] = usual ? (uint8_t)(whole + (tenth >= 5)) : key_or_die(field);
    }
}

void rows_count(const struct rows *rows, uint64_t *counts)
{
    /* Neighbouring rows with the same key must not wait for each other's increment. */
    uint32_t banks[4][KEYS_MAX] = {0};
    for (uint32_t row = 0; row < rows->count; row++) banks[row % 4][rows->key[row]]++;
    for (int key = 0; key < KEYS_MAX; key++)
        counts[key] += banks[0][key] + banks[1][key] + banks[2][key] + banks[3][key];
}

#endif

static inline __attribute__((always_inline)) void scan_lines(struct rows *rows, uint32_t length,
                                                             bool with_ids)
{
    struct scan scan = {.bytes = rows->bytes, .line_starts = 1, .rows = rows};
    rows->start[0] = 0;
    uint32_t at = 0;
    for (; at + 64 <= length; at += 64) scan_chunk(&scan, at, UINT64_MAX, with_ids);
    if (at < length) scan_chunk(&scan, at, (UINT64_C(1) << (length - at)) - 1, with_ids);
    if (scan.tabs != scan.newlines) die("a row without a second column");
    assert(scan.tabs <= BLOCK_ROWS_MAX);
    rows->count = scan.tabs;
    memset(rows->start + rows->count, 0, 16 * sizeof *rows->start);
    memset(rows->tab + rows->count, 0, 16 * sizeof *rows->tab);
    memset(rows->key + rows->count, 0, 16);
#if !defined(SCAN_AVX512)
    scan_keys(rows);
#endif
}

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) die("out of memory");
    return memory;
}

void rows_open(struct reader *reader, const char *path, bool with_ids)
{
    assert(path != NULL);
    *reader = (struct reader){.fd = open(path, O_RDONLY | O_CLOEXEC), .with_ids = with_ids};
    if (reader->fd < 0) die_errno(path);
    reader->buffer = allocate(LINE_BYTES_MAX + BLOCK_BYTES + PAD_BYTES);
    memset(reader->buffer + LINE_BYTES_MAX + BLOCK_BYTES, 0, PAD_BYTES);
    reader->rows.start = allocate((BLOCK_ROWS_MAX + ROWS_SLACK) * sizeof(uint32_t));
    reader->rows.tab = allocate((BLOCK_ROWS_MAX + ROWS_SLACK) * sizeof(uint32_t));
    reader->rows.key = allocate(BLOCK_ROWS_MAX + ROWS_SLACK);
}

void rows_close(struct reader *reader)
{
    close(reader->fd);
    free(reader->buffer);
    free(reader->rows.start);
    free(reader->rows.tab);
    free(reader->rows.key);
}

/* The size of the header line at `lines`, or 0 if the first line is a row. */
static size_t header_length(const uint8_t *lines, size_t length)
{
    const uint8_t *end = memchr(lines, '\n', length);
    const uint8_t *tab = memchr(lines, '\t', length);
    if (tab == NULL || end == NULL || tab > end || key_slowly(tab + 1) >= 0) return 0;
    return (size_t)(end + 1 - lines);
}

const struct rows *rows_next(struct reader *reader)
{
    uint8_t *block = reader->buffer + LINE_BYTES_MAX;
    bool first = reader->offset == 0;
    if (reader->rest > LINE_BYTES_MAX) die("a line is longer than %d bytes", LINE_BYTES_MAX);
    uint8_t *lines = block - reader->rest;
    if (reader->rest > 0) memcpy(lines, reader->rest_at, reader->rest);
    ssize_t got = pread(reader->fd, block, BLOCK_BYTES, reader->offset);
    if (got < 0) die_errno("read");
    if (got == 0 && reader->rest == 0) return NULL;
    assert(got <= BLOCK_BYTES);
    reader->offset += got;
    uint8_t *end = block + got;
    if (got == 0) *end++ = '\n'; /* the last line had no LF */
    uint8_t *lines_end = memrchr(lines, '\n', (size_t)(end - lines));
    lines_end = lines_end == NULL ? lines : lines_end + 1;
    reader->rest_at = lines_end;
    reader->rest = (size_t)(end - lines_end);
    if (first) lines += header_length(lines, (size_t)(lines_end - lines));
    assert(lines >= reader->buffer && lines <= lines_end && lines_end <= end);
    reader->rows.bytes = lines;
    uint32_t length = (uint32_t)(lines_end - lines);
    if (reader->with_ids)
        scan_lines(&reader->rows, length, true);
    else
        scan_lines(&reader->rows, length, false);
    return &reader->rows;
}
