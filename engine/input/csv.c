/* Where records end follows from quotes alone: one that is closed by another is the first byte of a
 * field, or follows a closing quote, as the second one of a doubled quote. */
#include "engine/input/csv.h"

#include <assert.h>
#include <stddef.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define QUOTE '"'

const char csv_needs_escape[] = "a field contains one of the bytes 0x1d, 0x1e and 0x1f";

static bool quote_begins_field(const struct csv_scan *s, uint8_t before)
{
    if (before == '\n') return true;
    if (s->delimiter != CSV_ANY) return before == s->delimiter;
    return before == ',' || before == ';' || before == '\t' || before == '|';
}

/* A quote; `closed`: after the last closing quote, or NULL; updated. */
static inline void update_scan_at_quote(struct csv_scan *s, const uint8_t *start,
                                        const uint8_t *quote, const uint8_t **closed)
{
    if (s->open) {
        s->open = false;
        *closed = quote + 1;
    } else {
        s->open = quote == *closed || quote_begins_field(s, quote > start ? quote[-1] : s->before);
    }
}

static void update_scan_at_end(struct csv_scan *s, const uint8_t *start, const uint8_t *end,
                               const uint8_t *closed)
{
    if (end > start) s->before = end == closed ? QUOTE : end[-1] == QUOTE ? 0 : end[-1];
}

/* The first LF or quote, or NULL. Records are short: two calls of memchr take longer. */
static inline const uint8_t *find_lf_or_quote(const uint8_t *at, const uint8_t *end)
{
#if defined(__x86_64__)
    const __m128i lf = _mm_set1_epi8('\n'), quote = _mm_set1_epi8(QUOTE);
    for (; end - at >= (ptrdiff_t)sizeof lf; at += sizeof lf) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        const int found = _mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, lf), _mm_cmpeq_epi8(bytes, quote)));
        if (found != 0) return at + __builtin_ctz((unsigned)found);
    }
#endif
    while (at < end && *at != '\n' && *at != QUOTE) at++;
    return at < end ? at : NULL;
}

const uint8_t *csv_find_row_end(const uint8_t *at, const uint8_t *end, struct csv_scan *s)
{
    const uint8_t *const start = at, *closed = s->before == QUOTE ? at : NULL;
    while (at < end) {
        const uint8_t *found =
            s->open ? memchr(at, QUOTE, (size_t)(end - at)) : find_lf_or_quote(at, end);
        if (found == NULL) break;
        if (*found == '\n') {
            s->before = '\n';
            return found;
        }
        update_scan_at_quote(s, start, found, &closed);
        at = found + 1;
    }
    update_scan_at_end(s, start, end, closed);
    return NULL;
}

void csv_scan_bytes(const uint8_t *at, const uint8_t *end, struct csv_scan *s)
{
    const uint8_t *const start = at, *closed = s->before == QUOTE ? at : NULL;
    const uint8_t *quote;
    while (at < end && (quote = memchr(at, QUOTE, (size_t)(end - at))) != NULL) {
        update_scan_at_quote(s, start, quote, &closed);
        at = quote + 1;
    }
    update_scan_at_end(s, start, end, closed);
}

bool csv_has_cr(const uint8_t *row, uint64_t size, uint8_t delimiter)
{
    struct csv_scan s = csv_scan_begin(delimiter);
    const uint8_t *const end = row + size, *at = row, *cr;
    for (const uint8_t *from = row; end - from > 1; from = cr + 1) {
        if ((cr = memchr(from, '\r', (size_t)(end - from - 1))) == NULL) return false;
        csv_scan_bytes(at, cr, &s);
        if (!s.open) return true;
        at = cr;
    }
    return false;
}

#define UNCLOSED  "a quoted field has no closing quote"
#define CONTINUES "a quoted field continues after its quote"

const char *csv_record_problem(const uint8_t *row, uint64_t size)
{
    struct csv_scan s = csv_scan_begin(CSV_ANY);
    const uint8_t *const end = row + size, *closed = NULL, *quote;
    for (const uint8_t *at = row; at < end; at = quote + 1) {
        if ((quote = memchr(at, QUOTE, (size_t)(end - at))) == NULL) break;
        update_scan_at_quote(&s, row, quote, &closed);
        const bool closes = closed == quote + 1;
        if (closes && closed < end && *closed != QUOTE && !quote_begins_field(&s, *closed))
            return CONTINUES;
    }
    return s.open ? UNCLOSED : NULL;
}

/* Copies bytes of a field. Returns NULL, or that they need an escape, unless they may have one. */
static const char *copy_field_bytes(const uint8_t *from, size_t size, bool escape, uint8_t **out)
{
    const bool plain = row_text_is_plain((struct glint_slice){from, size});
    if (!plain && !escape) return csv_needs_escape;
    memmove(*out, from, size);
    *out += plain ? size : row_text_escape(*out, size);
    return NULL;
}

/* Copies a quoted field without its quotes; *at is after the first one. */
static const char *copy_quoted_field(const uint8_t **at, const uint8_t *end, uint8_t delimiter,
                                     bool escape, uint8_t **out)
{
    for (;;) {
        const uint8_t *quote = memchr(*at, QUOTE, (size_t)(end - *at));
        if (quote == NULL) return UNCLOSED;
        const bool doubled = quote + 1 < end && quote[1] == QUOTE;
        const size_t size = (size_t)(quote - *at) + doubled;
        const char *problem = copy_field_bytes(*at, size, escape, out);
        if (problem != NULL) return problem;
        *at = quote + 1 + doubled;
        if (doubled) continue;
        return *at < end && **at != delimiter ? CONTINUES : NULL;
    }
}

static const char *copy_unquoted_field(const uint8_t **at, const uint8_t *end, uint8_t delimiter,
                                       struct glint_slice nulls, bool escape, uint8_t **out)
{
    const uint8_t *stop = memchr(*at, delimiter, (size_t)(end - *at));
    const size_t size = (size_t)((stop != NULL ? stop : end) - *at);
    const uint8_t *const field = *at;
    *at += size;
    if (!nulls_equal(nulls, field, size)) return copy_field_bytes(field, size, escape, out);
    *(*out)++ = ROW_NULL;
    return NULL;
}

/* ---- Rows without quotes, a block at a time */

typedef uint8_t row_block __attribute__((vector_size(16)));

static inline row_block load_row_block(const uint8_t *at)
{
    row_block block;
    memcpy(&block, at, sizeof block);
    return block;
}

/* Whether the fields are those of the record as it is: no byte has another meaning. */
static bool is_plain_record(const uint8_t *row, uint64_t size, struct glint_slice nulls)
{
    const uint8_t null = nulls.size > 1 ? nulls.data[1] : QUOTE; /* after the flag */
    uint64_t any[2];
    row_block found = {0};
    assert(size >= sizeof found);
    for (uint64_t at = 0; at < size; at += sizeof found) {
        const uint64_t last = size - sizeof found;
        const row_block block = load_row_block(row + (at < last ? at : last));
        found |= (row_block)(block == QUOTE) | (row_block)(block == null) |
                 (row_block)((block - ROW_NULL) <= (uint8_t)(CSV_SEPARATOR - ROW_NULL));
    }
    memcpy(any, &found, sizeof any);
    return (any[0] | any[1]) == 0;
}

/* Copies at least a block with `to` in place of each `from`, and may write to where it reads: the
 * last block overlaps the one before it, in which no byte but these has changed. */
static void replace_byte(const uint8_t *row, uint64_t size, uint8_t from, uint8_t to, uint8_t *out)
{
    for (uint64_t at = 0; at < size; at += sizeof(row_block)) {
        const uint64_t last = size - sizeof(row_block), begin = at < last ? at : last;
        row_block block = load_row_block(row + begin);
        const row_block cut = (row_block)(block == from);
        block = (block & ~cut) | (cut & to);
        memcpy(out + begin, &block, sizeof block);
    }
}

static inline const char *convert_record(const uint8_t *row, uint64_t size, uint8_t delimiter,
                                         struct glint_slice nulls, bool escape, uint8_t *out,
                                         uint64_t *out_size)
{
    assert(nulls.size != 1); /* a null needs a byte in place of its text */
    *out_size = 0;
    if (size == 0) return NULL; /* `row` may be NULL */
    if (size >= sizeof(row_block) && is_plain_record(row, size, nulls)) {
        replace_byte(row, size, delimiter, CSV_SEPARATOR, out);
        *out_size = size;
        return NULL;
    }
    const uint8_t *at = row, *end = row + size;
    uint8_t *to = out;
    for (;;) {
        const bool quoted = at < end && *at == QUOTE;
        at += quoted;
        const char *problem = quoted ? copy_quoted_field(&at, end, delimiter, escape, &to)
                                     : copy_unquoted_field(&at, end, delimiter, nulls, escape, &to);
        if (problem != NULL) return problem;
        if (at == end) break;
        at++;
        *to++ = CSV_SEPARATOR;
    }
    *out_size = (uint64_t)(to - out);
    return NULL;
}

const char *csv_to_row(const uint8_t *row, uint64_t size, uint8_t delimiter,
                       struct glint_slice nulls, uint8_t *out, uint64_t *out_size)
{
    return convert_record(row, size, delimiter, nulls, true, out, out_size);
}

const char *csv_to_row_as_is(const uint8_t *row, uint64_t size, uint8_t delimiter,
                             struct glint_slice nulls, uint8_t *out, uint64_t *out_size)
{
    return convert_record(row, size, delimiter, nulls, false, out, out_size);
}

/* ---- Records of rows */

static bool field_needs_quotes(struct glint_slice text, uint8_t delimiter)
{
    for (uint64_t i = 0; i < text.size; i++) {
        const uint8_t byte = text.data[i];
        if (byte == delimiter || byte == QUOTE || byte == '\n' || byte == '\r') return true;
    }
    return false;
}

static uint64_t write_quoted_field(struct glint_slice text, uint8_t *out)
{
    uint8_t *to = out;
    *to++ = QUOTE;
    for (uint64_t i = 0; i < text.size; i++) {
        if (text.data[i] == QUOTE) *to++ = QUOTE;
        *to++ = text.data[i];
    }
    *to++ = QUOTE;
    return (uint64_t)(to - out);
}

uint64_t csv_write_field(struct glint_slice text, uint8_t delimiter, uint8_t *out)
{
    if (field_needs_quotes(text, delimiter)) return write_quoted_field(text, out);
    if (text.size > 0) memcpy(out, text.data, text.size);
    return text.size;
}

bool csv_append_text(struct buffer *out, struct glint_slice text, uint8_t delimiter,
                     struct glint_slice nulls)
{
    if (!nulls_equal(nulls, text.data, text.size) && !field_needs_quotes(text, delimiter))
        return buffer_append(out, text.data, text.size);
    if (!buffer_reserve(out, 2 * text.size + 2)) return false;
    out->size += write_quoted_field(text, out->data + out->size);
    return true;
}

/* The text is read behind where its field is written. */
static bool append_escaped_field(struct buffer *out, struct glint_slice field, uint8_t delimiter,
                                 struct glint_slice nulls)
{
    if (!buffer_reserve(out, 3 * field.size + 2)) return false;
    uint8_t *const text = out->data + out->size + 2 * field.size + 2;
    const struct glint_slice unescaped = {text, glint_unescape_field(field, text)};
    return csv_append_text(out, unescaped, delimiter, nulls);
}

/* `marks`: the field may be null, or have escapes. */
static bool append_csv_field(struct buffer *out, struct glint_slice field, bool marks,
                             uint8_t delimiter, struct glint_slice nulls)
{
    if (!marks) return csv_append_text(out, field, delimiter, nulls);
    if (nulls.data != NULL && field.size == 1 && *field.data == ROW_NULL)
        return buffer_append(out, nulls.data + 1, nulls.size - 1);
    return glint_field_has_escape(field) ? append_escaped_field(out, field, delimiter, nulls)
                                         : csv_append_text(out, field, delimiter, nulls);
}

/* Whether the fields of the record are those of the row as it is; it has a block at least. */
static bool is_plain_row(struct glint_slice row, uint8_t delimiter, struct glint_slice nulls)
{
    const uint8_t null = nulls.size > 1 ? nulls.data[1] : QUOTE;
    uint64_t any[2];
    row_block found = {0};
    if (nulls.size == 1) return false; /* an empty field needs quotes */
    for (uint64_t at = 0; at < row.size; at += sizeof found) {
        const uint64_t last = row.size - sizeof found;
        const row_block block = load_row_block(row.data + (at < last ? at : last));
        found |= (row_block)(block == QUOTE) | (row_block)(block == ROW_NULL) |
                 (row_block)(block == null) | (row_block)(block == delimiter) |
                 (row_block)(block == '\n') | (row_block)(block == '\r');
    }
    memcpy(any, &found, sizeof any);
    return (any[0] | any[1]) == 0;
}

bool csv_append_row(struct buffer *out, struct glint_slice row, uint8_t delimiter,
                    struct glint_slice nulls)
{
    const uint8_t *at = row.data, *end = row.data + row.size;
    if (row.size >= sizeof(row_block) && is_plain_row(row, delimiter, nulls)) {
        if (!buffer_reserve(out, row.size)) return false;
        replace_byte(row.data, row.size, CSV_SEPARATOR, delimiter, out->data + out->size);
        out->size += row.size;
        return true;
    }
    const bool marks = at < end && memchr(at, ROW_NULL, (size_t)(end - at)) != NULL;
    for (;;) {
        const uint8_t *stop = at < end ? memchr(at, CSV_SEPARATOR, (size_t)(end - at)) : NULL;
        const struct glint_slice field = {at, (uint64_t)((stop != NULL ? stop : end) - at)};
        if (!append_csv_field(out, field, marks, delimiter, nulls)) return false;
        if (stop == NULL) return true;
        if (!buffer_append(out, &delimiter, 1)) return false;
        at = stop + 1;
    }
}
