/* The inner operations of a scan, on bytes and bits, with one implementation per processor type;
 * and parsing of short numbers. */
#ifndef GLINT_JOBS_ROWS_FIELDS_KERNEL_H
#define GLINT_JOBS_ROWS_FIELDS_KERNEL_H

#include "engine/batch.h"
#include "jobs/rows/fields_scan.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

enum {
    FIELDS_CHUNK = 64,  /* bytes; a word has one bit for each */
    FIELDS_CHUNKS = 64, /* of a block, so that its bytes and bits stay in the L1 cache */
    FIELDS_NEAR = 8,    /* zero words after a block's, which may be read */
    FIELDS_TABLE = 32,  /* entries of a table that fits in a vector register */
    FIELDS_OVERLAP = 4, /* bytes of text after a block that may belong to its last rating */
};

/* A block of text and what is known about its bytes, one bit per byte. */
struct fields_block {
    const uint8_t *text;
    uint32_t at; /* offset of `text` in the batch's memory */
    uint32_t chunks;
    uint64_t delimiters[FIELDS_CHUNKS + FIELDS_NEAR], newlines[FIELDS_CHUNKS + FIELDS_NEAR];
    uint64_t
        gaps[FIELDS_CHUNKS]; /* neither; later also the delimiters of columns that were found */
    /* [0]: starts of lines; [c + 1]: ends of column c */
    uint64_t marks[FIELDS_SCAN_COLUMNS_MAX + 1][FIELDS_CHUNKS];
};

/* The operations. Output arrays with an entry per bit have FIELDS_SLACK more entries. */
struct fields_kernel {
    /* If rows are longer than this on average, it is faster to search them one by one, up to the
     * last needed column. */
    uint32_t row_bytes_max;
    /* Sets delimiters, newlines, gaps, and the starts of lines after newlines. `line_start`: the
     * block's first byte starts a line. Returns the number of newlines. */
    uint32_t (*find)(struct fields_block *b, uint8_t delimiter, bool line_start);
    /* Returns true if each of the rows [0, rows), which should end in this block, is followed by an
     * LF and then by the next row. */
    bool (*follow)(const struct fields_block *b, const struct glint_column *lines, uint32_t first,
                   uint32_t rows);
    /* Marks the ends of column c, and adds its delimiters to the gaps. *carry: a line continues in
     * the next block and its column c has not ended. Returns nonzero if a line does not have this
     * column, or any later one. */
    uint64_t (*ends)(struct fields_block *b, uint32_t c, bool *carry);
    /* Stores at + (index of each set bit), in order. Returns the number stored. */
    uint32_t (*places)(const uint64_t *bits, uint32_t chunks, uint32_t at, uint32_t *out);
    /* Parses the ratings that start `lead` bytes after the bits into out[first] and on. Marks in
     * `odd` all that are not of the form "d.d", and possibly others. Returns the number of ratings.
     */
    uint32_t (*ratings)(const struct fields_block *b, const uint64_t *bits, uint32_t lead,
                        int64_t *out, uint32_t first, uint64_t *odd);
    /* Parses the integers at base[start[i]..end[i]) for i < rows; marks long and unusual ones in
     * `odd`. The arrays have FIELDS_SLACK more entries. */
    void (*ints)(const uint8_t *base, const uint32_t *start, const uint32_t *end, uint32_t rows,
                 int64_t *out, uint64_t *odd);
    /* out[i] = table[number[i]]. Returns false, with undefined `out`, if a number is FIELDS_TABLE
     * or more, or its entry is UINT16_MAX. NULL: a loop is as fast. */
    bool (*look_up)(const int64_t *number, uint32_t rows, const uint16_t *table, uint16_t *out);
    /* Counts how often each of 0 .. values - 1 occurs in number[0, rows). NULL: a loop is as fast.
     */
    void (*count)(const uint16_t *number, uint32_t rows, uint32_t values, uint32_t *out_count);
};

/* NULL if the processor does not support them, or is of another architecture. */
const struct fields_kernel *fields_kernel_avx2(void);
const struct fields_kernel *fields_kernel_avx512(void);
const struct fields_kernel *fields_kernel_vbmi2(void); /* AVX-512 with VBMI2 */

/* For kernels without a faster version. */
bool fields_rows_adjacent(const struct fields_block *b, const struct glint_column *lines,
                          uint32_t first, uint32_t rows);
uint64_t fields_row_ends(struct fields_block *b, uint32_t c, bool *carry);
void fields_parse_ints(const uint8_t *base, const uint32_t *start, const uint32_t *end,
                       uint32_t rows, int64_t *out, uint64_t *odd);

static inline uint32_t fields_bit_count(uint64_t bits)
{
    return (uint32_t)__builtin_popcountll(bits);
}

/* Marks the rows whose bits are in `some`; the bits of `all` are rows from `first` on. */
static inline void fields_mark(uint64_t *odd, uint64_t some, uint64_t all, uint32_t first)
{
    for (; some != 0; some &= some - 1) {
        const uint32_t row = first + fields_bit_count(all & ((some & -some) - 1));
        assert(row / 64 < FIELDS_ODD_WORDS);
        odd[row / 64] |= UINT64_C(1) << row % 64;
    }
}

/* The bytes of chunk i that have a delimiter or newline `behind` bytes later, 1 to 63; of those
 * after the block none is known. */
static inline uint64_t fields_ended(const struct fields_block *b, uint32_t i, uint32_t behind)
{
    const uint64_t here = b->delimiters[i] | b->newlines[i];
    const uint64_t next = b->delimiters[i + 1] | b->newlines[i + 1];
    return here >> behind | next << (FIELDS_CHUNK - behind);
}

/* Stores a chunk's results of `find`; returns true if the next chunk starts a line. */
static inline bool fields_put_chunk(struct fields_block *b, uint32_t i, uint64_t delimiters,
                                    uint64_t newlines, bool line_start)
{
    b->delimiters[i] = delimiters;
    b->newlines[i] = newlines;
    b->gaps[i] = ~(delimiters | newlines);
    b->marks[0][i] = newlines << 1 | line_start;
    return newlines >> 63;
}

static inline uint64_t fields_load(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

/* Most ratings are a digit, a dot, and a digit: three bytes, checked and rounded together. They are
 * the lowest bytes of `bytes`. */
static inline bool fields_rating(uint64_t bytes, int64_t *out)
{
    const uint32_t word = ((uint32_t)bytes ^ 0x302e30u) & 0xffffffu; /* digit, 0, digit */
    *out = (word & 0xf) + (word >= 0x50000);
    return (((word + 0x760076u) | word) & 0x80ff80u) == 0;
}

/* Parses integers of one to eight digits, with or without a minus sign. Reads 9 bytes. */
static inline bool fields_int(const uint8_t *text, uint32_t size, int64_t *out)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    const uint32_t minus = (text[0] == '-') & (size > 0);
    const uint32_t digits = size - minus;
    /* Shifts the last digit to the highest byte, and zeros in below. */
    uint64_t word = (fields_load(text + minus) ^ each * '0') << (64 - 8 * digits) % 64;
    const bool fits = (digits - 1 < 8) & ((((word + each * 0x76) | word) & each * 0x80) == 0);
    word = word * 10 + (word >> 8); /* pairs, in every other byte */
    const uint64_t pairs = UINT64_C(0x000000ff000000ff);
    const uint64_t high = (word & pairs) * (100 + (UINT64_C(1000000) << 32));
    const uint64_t low = (word >> 16 & pairs) * (1 + (UINT64_C(10000) << 32));
    const int64_t value = (int64_t)((high + low) >> 32), sign = -(int64_t)minus;
    *out = (value ^ sign) - sign;
    return fits;
}

#endif
