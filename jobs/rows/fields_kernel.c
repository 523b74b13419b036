/* The portable kernel, eight bytes at a time, and the choice between it and the SIMD kernels. */
#include "jobs/rows/fields_kernel.h"

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (uint64_t)(b))

/* One bit per byte of `word` that equals `byte`. */
static inline uint64_t equal_bits(uint64_t word, uint8_t byte)
{
    const uint64_t low = EACH_BYTE(0x7f), x = word ^ EACH_BYTE(byte);
    const uint64_t equal = ~(((x & low) + low) | x | low); /* 0x80 in each such byte */
    return (equal >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

static uint32_t find_delimiters_scalar(struct fields_block *b, uint8_t delimiter, bool line_start)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < b->chunks; i++) {
        uint64_t delimiters = 0, newlines = 0;
        for (uint32_t at = 0; at < FIELDS_CHUNK; at += 8) {
            const uint64_t word = fields_load(b->text + i * FIELDS_CHUNK + at);
            delimiters |= equal_bits(word, delimiter) << at;
            newlines |= equal_bits(word, '\n') << at;
        }
        line_start = fields_put_chunk(b, i, delimiters, newlines, line_start);
        lines += fields_bit_count(newlines);
    }
    return lines;
}

bool fields_rows_adjacent(const struct fields_block *b, const struct glint_column *lines,
                          uint32_t first, uint32_t rows)
{
    (void)b;
    const uint32_t *start = lines->start + first + 1, *end = lines->end + first;
    uint32_t other = 0;
    for (uint32_t i = 0; i < rows; i++) {
        if (start[i] != end[i] + 1) return false;
        other |= lines->base[end[i]] ^ '\n';
    }
    return other == 0;
}

uint64_t fields_row_ends(struct fields_block *b, uint32_t c, bool *carry)
{
    uint64_t *ends = b->marks[c + 1], last = 0, up = *carry;
    for (uint32_t i = 0; i < b->chunks; i++) {
        const uint64_t gaps = b->gaps[i];
        uint64_t sum;
        const bool over = __builtin_add_overflow(gaps, b->marks[0][i], &sum);
        const bool full = sum == UINT64_MAX;
        sum += up;
        up = over | (full & up);
        ends[i] = sum & ~gaps;
        last |= ends[i] & b->newlines[i];
        b->gaps[i] = gaps | (sum & b->delimiters[i]);
    }
    *carry = up;
    return last;
}

static uint32_t bit_positions_scalar(const uint64_t *bits, uint32_t chunks, uint32_t at,
                                     uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < chunks; i++)
        for (uint64_t rest = bits[i]; rest != 0; rest &= rest - 1)
            out[n++] = at + i * FIELDS_CHUNK + (uint32_t)__builtin_ctzll(rest);
    return n;
}

static uint32_t parse_ratings_scalar(const struct fields_block *b, const uint64_t *bits,
                                     uint32_t lead, int64_t *out, uint32_t first, uint64_t *odd)
{
    uint32_t n = first;
    for (uint32_t i = 0; i < b->chunks; i++) {
        const uint8_t *p = b->text + lead + i * FIELDS_CHUNK;
        const uint64_t ended = fields_ended(b, i, lead + 3);
        for (uint64_t rest = bits[i]; rest != 0; rest &= rest - 1, n++) {
            const uint32_t at = (uint32_t)__builtin_ctzll(rest);
            if (!(fields_rating(fields_load(p + at), &out[n]) & (ended >> at & 1)))
                fields_mark(odd, 1, 1, n);
        }
    }
    return n - first;
}

void fields_parse_ints(const uint8_t *base, const uint32_t *start, const uint32_t *end,
                       uint32_t rows, int64_t *out, uint64_t *odd)
{
    for (uint32_t i = 0; i < rows; i++)
        if (!fields_int(base + start[i], end[i] - start[i], &out[i])) fields_mark(odd, 1, 1, i);
}

static const struct fields_kernel kernel_scalar = {.row_bytes_max = 16,
                                                   .find = find_delimiters_scalar,
                                                   .follow = fields_rows_adjacent,
                                                   .ends = fields_row_ends,
                                                   .places = bit_positions_scalar,
                                                   .ratings = parse_ratings_scalar,
                                                   .ints = fields_parse_ints};

static bool is_kernel_usable(const struct fields *f)
{
    const uint8_t d = f->delimiter;
    /* A digit or a dot as delimiter would look like a part of a rating. */
    if (f->key == FIELDS_RATING && (d == '.' || (d >= '0' && d <= '9'))) return false;
    return f->key_column < FIELDS_SCAN_COLUMNS_MAX && f->id_column < FIELDS_SCAN_COLUMNS_MAX &&
           d != '\n';
}

const struct fields_kernel *fields_kernel_at(const struct fields *f, enum fields_level level)
{
    if (!is_kernel_usable(f)) return NULL;
    switch (level) {
    case FIELDS_SCALAR: return &kernel_scalar;
    case FIELDS_AVX2: return fields_kernel_avx2();
    case FIELDS_AVX512: return fields_kernel_avx512();
    case FIELDS_VBMI2: return fields_kernel_vbmi2();
    default: assert(level == FIELDS_LEVELS); return NULL;
    }
}

const struct fields_kernel *fields_kernel_best(const struct fields *f)
{
    for (int level = FIELDS_LEVELS - 1; level > FIELDS_SCALAR; level--) {
        const struct fields_kernel *kernel = fields_kernel_at(f, (enum fields_level)level);
        if (kernel != NULL) return kernel;
    }
    return fields_kernel_at(f, FIELDS_SCALAR);
}
