/* Reads a file's first line before tasks read its lines. */
#include "engine/input/format.h"
#include "engine/input/line_reader.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define FIRST_READ_BYTES (4 * KIB)

/* Returns the LF at the end of the line, or NULL; *scanned and *quotes: how far it was searched. */
static const uint8_t *find_line_end(const struct buffer *line, uint64_t *scanned,
                                    struct csv_scan *quotes)
{
    const uint8_t *at = line->data + *scanned, *end = line->data + line->size;
    *scanned = line->size;
    if (at == end) return NULL;
    return quotes->delimiter != 0 ? csv_find_row_end(at, end, quotes)
                                  : memchr(at, '\n', (size_t)(end - at));
}

static void cut_byte_order_mark(struct buffer *line)
{
    const uint64_t mark = byte_order_mark_size(line->data, line->size);
    line->size -= mark;
    if (mark > 0) memmove(line->data, line->data + mark, line->size);
}

static int too_long(struct input_stream *s, uint64_t size_max)
{
    return error_set(s->error, GLINT_E_LINE_TOO_LONG, "raise --max-line",
                     "%s: the first line has more than %" PRIu64 " bytes", s->piece->path,
                     size_max);
}

/* Returns how many bytes of empty lines were at the start. */
static uint64_t cut_empty_lines(struct buffer *line)
{
    uint64_t cut = 0;
    for (;;) {
        const uint64_t lf = cut + (cut < line->size && line->data[cut] == '\r');
        if (lf >= line->size || line->data[lf] != '\n') break;
        cut = lf + 1;
    }
    line->size -= cut;
    if (cut > 0) memmove(line->data, line->data + cut, line->size);
    return cut;
}

/* Reads until the line ends, each time as much as there already is. Returns 0 or a code. */
static int read_line(struct input_stream *s, uint8_t csv, uint64_t size_max, struct buffer *out,
                     bool *out_found)
{
    const uint8_t *lf = NULL;
    uint64_t scanned = 0;
    struct csv_scan quotes = csv_scan_begin(csv);
    while (lf == NULL && !s->ended) {
        const uint64_t want = out->size > 0 ? out->size : FIRST_READ_BYTES;
        if (!buffer_reserve(out, want)) return error_no_memory(s->error);
        const int64_t n = input_stream_read(s, out->data + out->size, want);
        if (n < 0) return (int)n;
        *out_found |= n > 0;
        out->size += (uint64_t)n;
        if (scanned == 0) cut_byte_order_mark(out);
        if (cut_empty_lines(out) > 0) {
            scanned = 0;
            quotes = csv_scan_begin(csv);
        }
        lf = find_line_end(out, &scanned, &quotes);
        if (lf == NULL && out->size > size_max + 1) return too_long(s, size_max); /* + 1: a CR */
    }
    if (lf != NULL) out->size = (uint64_t)(lf - out->data);
    if (lf != NULL && out->size > 0 && out->data[out->size - 1] == '\r') out->size--;
    return out->size > size_max ? too_long(s, size_max) : 0;
}

/* Reads the line of a stream that was opened with result `r`, and closes it. */
static int read_and_close(struct input_stream *s, int r, uint8_t csv, uint64_t size_max,
                          struct buffer *out, bool *out_found)
{
    out->size = 0;
    *out_found = false;
    if (r == 0) r = read_line(s, csv, size_max, out, out_found);
    input_stream_close(s);
    if (r != 0 || csv == 0 || csv == CSV_RECORDS) return r;
    const char *problem = csv_to_plain(out->data, out->size, csv, out->data, &out->size);
    if (problem == NULL) return 0;
    return error_set(s->error, GLINT_E_BAD_ROW, "check the first line, and --delimiter",
                     "%s:1: the header: %s", s->piece->path, problem);
}

int read_first_line(struct env *env, const struct input_file *file, uint8_t csv, uint64_t size_max,
                    struct buffer *out, bool *out_found, struct glint_error *error)
{
    const struct split_piece whole = split_whole_file(file);
    struct input_stream s;
    const int r = input_stream_open(&s, env, &whole, 0, error);
    return read_and_close(&s, r, csv, size_max, out, out_found);
}

int read_first_line_ahead(struct env *env, struct input_ahead *ahead, uint32_t index, uint8_t csv,
                          uint64_t size_max, struct buffer *out, bool *out_found,
                          struct glint_error *error)
{
    struct input_stream s;
    const int r = input_stream_open_ahead(&s, env, ahead, index, error);
    return read_and_close(&s, r, csv, size_max, out, out_found);
}
