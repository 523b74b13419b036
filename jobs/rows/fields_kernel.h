/* What a scan does byte by byte and bit by bit, in a form per processor; and short numbers. */
#ifndef GLINT_JOBS_ROWS_FIELDS_KERNEL_H
#define GLINT_JOBS_ROWS_FIELDS_KERNEL_H

#include "jobs/rows/fields_scan.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

enum {
    FIELDS_CHUNK = 64,  /* bytes, one bit each in a word */
    FIELDS_CHUNKS = 64, /* of a block: its bytes and bits stay in the nearest cache */
    FIELDS_NEAR = 8,    /* words that may be read behind a block's, zeros */
    FIELDS_TABLE = 32,  /* entries of a table that fits a vector */
    FIELDS_OVERLAP = 4, /* bytes of text behind a block that belong to its last rating */
};

/* A stretch of text and what is known about its bytes, a bit for each. */
struct fields_block {
    const uint8_t *text;
    uint32_t at; /* offset of `text` in the batch's memory */
    uint32_t chunks;
    uint64_t delimiters[FIELDS_CHUNKS + FIELDS_NEAR], newlines[FIELDS_CHUNKS + FIELDS_NEAR];
    uint64_t
        gaps[FIELDS_CHUNKS]; /* neither; later also the delimiters of columns that were found */
    /* [0]: where lines start; [c + 1]: where column c of a line ends */
    uint64_t marks[FIELDS_SCAN_COLUMNS_MAX + 1][FIELDS_CHUNKS];
};

/* Outputs with an entry per bit have FIELDS_SLACK entries more. */
struct fields_kernel {
    /* Rows longer than this on average are better searched one by one, up to the columns wanted. */
    uint32_t row_bytes_max;
    /* Delimiters, newlines, gaps, and the starts of lines behind newlines. `line_start`: the
     * block's first byte starts one. Answers how many newlines there are. */
    uint32_t (*find)(struct fields_block *b, uint8_t delimiter, bool line_start);
    /* Rows [0, rows), which should end in this block, each have an LF behind them, then the next
     * row, which is there. */
    bool (*follow)(const struct fields_block *b, const struct glint_column *lines, uint32_t first,
                   uint32_t rows);
    /* The ends of column c, and its delimiters into the gaps. *carry: a line goes on from block to
     * block and its column c has not ended. Answers not 0 if a line has no such column, or no more.
     */
    uint64_t (*ends)(struct fields_block *b, uint32_t c, bool *carry);
    /* at + (the place of each bit), in order. Answers how many. */
    uint32_t (*places)(const uint64_t *bits, uint32_t chunks, uint32_t at, uint32_t *out);
    /* The ratings that start `lead` bytes behind the bits into out[first] and so on. Those that are
     * not of the form "d.d" are marked in `odd`, and others may be. Answers how many. */
    uint32_t (*ratings)(const struct fields_block *b, const uint64_t *bits, uint32_t lead,
                        uint8_t delimiter, int64_t *out, uint32_t first, uint64_t *odd);
    /* The integers at base[start[i]..end[i]) for i < rows; longer and odd ones are marked in `odd`.
     * The arrays have FIELDS_SLACK entries more. */
    void (*ints)(const uint8_t *base, const uint32_t *start, const uint32_t *end, uint32_t rows,
                 int64_t *out, uint64_t *odd);
    /* out[i] = table[number[i]]. False: a number is not below FIELDS_TABLE, or its entry is
     * UINT16_MAX; `out` is then rubbish. NULL: no better than a loop. */
    bool (*look_up)(const int64_t *number, uint32_t rows, const uint16_t *table, uint16_t *out);
    /* How often each of 0 .. values - 1 stands in number[0, rows). NULL: no better than a loop. */
    void (*count)(const uint16_t *number, uint32_t rows, uint32_t values, uint32_t *out_count);
};

/* NULL where the processor cannot run them, or is of another kind. */
const struct fields_kernel *fields_kernel_avx2(void);
const struct fields_kernel *fields_kernel_avx512(void);

/* For kernels that have no better form. */
bool fields_follow(const struct fields_block *b, const struct glint_column *lines, uint32_t first,
                   uint32_t rows);
uint64_t fields_ends(struct fields_block *b, uint32_t c, bool *carry);
void fields_ints(const uint8_t *base, const uint32_t *start, const uint32_t *end, uint32_t rows,
                 int64_t *out, uint64_t *odd);
void fields_ratings_at(const uint8_t *text, const uint32_t *place, uint32_t count,
                       uint8_t delimiter, int64_t *out, uint32_t first, uint64_t *odd);

static inline uint32_t fields_bit_count(uint64_t bits)
{
    return (uint32_t)__builtin_popcountll(bits);
}

/* Marks the rows of the bits in `some`; the bits of `all` are rows from `first` on. */
static inline void fields_mark(uint64_t *odd, uint64_t some, uint64_t all, uint32_t first)
{
    for (; some != 0; some &= some - 1) {
        const uint32_t row = first + fields_bit_count(all & ((some & -some) - 1));
        assert(row / 64 < FIELDS_ODD_WORDS);
        odd[row / 64] |= UINT64_C(1) << row % 64;
    }
}

/* A chunk's part of `find`; answers whether the next chunk starts a line. */
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

/* Most ratings are one digit, a point, one digit: three bytes, checked and rounded together. They
 * are the lowest of `bytes`. */
static inline bool fields_rating(uint64_t bytes, int64_t *out)
{
    const uint32_t word = ((uint32_t)bytes ^ 0x302e30u) & 0xffffffu; /* digit, 0, digit */
    *out = (word & 0xf) + (word >= 0x50000);
    return (((word + 0x760076u) | word) & 0x80ff80u) == 0;
}

/* Integers of one to eight digits, with a minus or not. Reads 9 bytes. */
static inline bool fields_int(const uint8_t *text, uint32_t size, int64_t *out)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    const uint32_t minus = (text[0] == '-') & (size > 0);
    const uint32_t digits = size - minus;
    /* The last digit goes to the top; zeros come in below. */
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
