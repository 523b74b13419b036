/* The scan processes the text a block at a time, in steps that each are a short loop over the
 * chunks of the block. The kernel's results have one bit per byte, and columns are found by
 * arithmetic on these bits.
 *
 * T marks delimiters and newlines, S the starts of lines. Adding S to ~T carries from each start
 * through the bytes of the line's first column and stops at the first T: (~T + S) & T marks the
 * ends of first columns. Those that are delimiters are removed from T, and the same sum marks the
 * ends of second columns, and so on; a line without such a column is marked at its newline. A block
 * is one long number: the carry propagates from word to word, and into the next block. */
#include "jobs/rows/fields_kernel.h"

struct block_scan {
    struct fields *f;
    const struct glint_column *lines;
    uint32_t rows;
    uint64_t *odd;
    uint32_t last;  /* the later one of both columns: a row without it is invalid */
    uint32_t ended; /* number of columns whose ends are needed */
    /* State between blocks. */
    uint32_t lines_found, key_starts, key_ends, id_starts, id_ends;
    bool known;      /* the rows are known to be lines: no comparison is needed */
    bool line_start; /* the block's first byte starts a line */
    bool carry[FIELDS_SCAN_COLUMNS_MAX];
    struct fields_block block;
};

static void mark_rows_without_columns(struct block_scan *s)
{
    const struct fields_block *b = &s->block;
    uint32_t line = s->lines_found;
    for (uint32_t i = 0; i < b->chunks; i++) {
        fields_mark(s->odd, b->marks[s->last][i] & b->newlines[i], b->newlines[i], line);
        line += fields_bit_count(b->newlines[i]);
    }
}

/* Stores the spans of a column: it starts after the end of the previous one, the first one at the
 * start of the row. */
static void store_column_spans(const struct block_scan *s, uint32_t column, uint32_t *start,
                               uint32_t *start_count, uint32_t *end, uint32_t *end_count)
{
    const struct fields_block *b = &s->block;
    const struct fields_kernel *k = s->f->kernel;
    if (column > 0)
        *start_count += k->places(b->marks[column], b->chunks, b->at + 1, start + *start_count);
    *end_count += k->places(b->marks[column + 1], b->chunks, b->at, end + *end_count);
}

/* The batch starts within the first chunk: clears the bits of the bytes before it. Returns the
 * number of newlines cleared. */
static uint32_t clear_bits_before_first(struct fields_block *b, uint32_t first)
{
    const uint64_t start = UINT64_C(1) << (first - b->at), before = start - 1;
    const uint64_t newlines = b->newlines[0] & before;
    fields_put_chunk(b, 0, b->delimiters[0] & ~before, b->newlines[0] & ~before, false);
    b->marks[0][0] |= start;
    return fields_bit_count(newlines);
}

/* Scans the block at `text` and continues after it. Returns false if its lines are not the rows. */
static bool scan_fields_block(struct block_scan *s, const uint8_t *text, uint32_t chunks)
{
    struct fields *f = s->f;
    struct fields_block *b = &s->block;
    const struct fields_kernel *k = f->kernel;
    const uint32_t left = s->rows - s->lines_found;
    assert(chunks > 0 && chunks <= FIELDS_CHUNKS);
    b->text = text;
    b->chunks = chunks;
    memset(b->delimiters + chunks, 0, FIELDS_NEAR * sizeof *b->delimiters);
    memset(b->newlines + chunks, 0, FIELDS_NEAR * sizeof *b->newlines);
    uint32_t found = k->find(b, f->delimiter, s->line_start);
    if (b->at <= s->lines->start[0]) found -= clear_bits_before_first(b, s->lines->start[0]);
    /* There may be any bytes after the last row: its LF is in `text` only. */
    if (found > left) return false;
    if (!s->known && !k->follow(b, s->lines, s->lines_found, found == left ? found - 1 : found))
        return false;
    for (uint32_t c = 0; c < s->ended; c++)
        if (k->ends(b, c, &s->carry[c]) != 0 && c + 1 == s->last) mark_rows_without_columns(s);
    if (f->key == FIELDS_RATING)
        s->key_starts += k->ratings(b, b->marks[f->key_column], f->key_column > 0, f->number,
                                    s->key_starts, s->odd);
    else if (f->key != FIELDS_NONE)
        store_column_spans(s, f->key_column, f->text_start, &s->key_starts, f->text_end,
                           &s->key_ends);
    if (f->ids)
        store_column_spans(s, f->id_column, f->id_start, &s->id_starts, f->id_end, &s->id_ends);
    s->lines_found += found;
    /* The field of a line that continues in the next block is counted at its start, not at its end.
     */
    assert(s->key_ends <= s->key_starts || f->key_column == 0);
    assert(s->key_starts <= s->lines_found + 1 && s->id_starts <= s->lines_found + 1);
    s->line_start = b->newlines[chunks - 1] >> 63;
    b->at += chunks * FIELDS_CHUNK;
    return true;
}

/* Scans blocks up to the last few bytes, then a copy of these, followed by an LF and zeros. */
static bool scan_fields_blocks(struct block_scan *s)
{
    uint8_t rest[4 * FIELDS_CHUNK];
    struct fields_block *b = &s->block;
    const uint8_t *base = s->lines->base;
    const uint32_t end = s->lines->end[s->rows - 1];
    assert(s->lines->start[0] <= end && end <= s->lines->size);
    b->at = s->lines->start[0] & ~(uint32_t)(FIELDS_CHUNK - 1);
    while (end - b->at >= FIELDS_CHUNK + FIELDS_OVERLAP) {
        const uint32_t chunks = (end - b->at - FIELDS_OVERLAP) / FIELDS_CHUNK;
        if (!scan_fields_block(s, base + b->at, chunks < FIELDS_CHUNKS ? chunks : FIELDS_CHUNKS))
            return false;
    }
    /* The slack after any text allows copies of a fixed size, which are only a few instructions. */
    const uint32_t left = end - b->at;
    memcpy(rest, base + b->at, FIELDS_CHUNK);
    if (left > FIELDS_CHUNK)
        memcpy(rest + FIELDS_CHUNK, base + b->at + FIELDS_CHUNK, FIELDS_OVERLAP);
    memset(rest + left, 0, FIELDS_CHUNK + FIELDS_OVERLAP);
    rest[left] = '\n';
    return scan_fields_block(s, rest, left / FIELDS_CHUNK + 1) && s->lines_found == s->rows;
}

bool fields_scan(struct fields *f, const struct glint_column *lines, uint32_t rows, uint64_t *odd)
{
    struct block_scan s; /* large: only the parts that are read are initialized */
    assert(rows > 0 && rows <= FIELDS_ROWS_MAX && lines->start != NULL && f->kernel != NULL);
    const bool key_spans = f->key == FIELDS_INT || f->key == FIELDS_TEXT;
    s.f = f;
    s.lines = lines;
    s.rows = rows;
    s.odd = odd;
    s.known = lines->lines == lines->start;
    s.last = f->key_column > f->id_column ? f->key_column : f->id_column;
    s.ended =
        s.last + ((key_spans && s.last == f->key_column) || (f->ids && s.last == f->id_column));
    assert(s.ended <= FIELDS_SCAN_COLUMNS_MAX);
    s.lines_found = s.key_starts = s.key_ends = s.id_starts = s.id_ends = 0;
    s.line_start = false;
    memset(s.carry, 0, sizeof s.carry);
    if (!scan_fields_blocks(&s)) return false;
    const uint64_t bytes = rows * sizeof *lines->start;
    if (key_spans && f->key_column == 0) memcpy(f->text_start, lines->start, bytes);
    if (f->ids && f->id_column == 0) memcpy(f->id_start, lines->start, bytes);
    if (f->key == FIELDS_INT)
        f->kernel->ints(lines->base, f->text_start, f->text_end, rows, f->number, odd);
    return true;
}
