/* Reads blocks and returns batches. A piece has three parts, which are read in different ways:
 *
 *     offset - 1         first line               end - 1       line end
 *         |   skipped        |          body          |    tail    |
 *
 * The body ends before the piece's last byte, so every LF in it is followed by a line of this
 * piece. Therefore the body is indexed without checking where lines start, and the tail is exactly
 * one line. A line that crosses the end of a block is moved to the front of the buffer before the
 * next read: at most one line per block is copied. */
#include "engine/input/line_reader.h"

#include "engine/base/text.h"
#include "engine/input/format.h"
#include "engine/input/json_line.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* ---- Line numbers are not counted while lines are read, since a task does not know how many lines
 * precede its split. For an error the file is read again. */

#define BLOCK_BYTES (64 * KIB)

/* Counts up to `offset` after the frames before the piece, if the piece is a range of frames. */
static int64_t count_lines_before(struct input_stream *s, uint64_t offset)
{
    const bool frames = s->piece->frames_end > 0;
    int64_t number = 1;
    uint8_t *block = mem_alloc(BLOCK_BYTES);
    if (block == NULL) return -1;
    while (number > 0) {
        uint64_t left = BLOCK_BYTES;
        const bool known = !frames || s->past_frames;
        if (known) left = s->frames_bytes + offset - s->at;
        if (left == 0) break;
        const int64_t n = input_stream_read(s, block, left < BLOCK_BYTES ? left : BLOCK_BYTES);
        for (int64_t i = 0; i < n; i++) number += block[i] == '\n';
        if (n < 0 || s->ended) number = known && n == (int64_t)left ? number : -1;
        if (s->ended) break;
    }
    mem_free(block);
    return number;
}

int64_t line_number_at(struct env *env, const struct glint_origin *o, uint64_t offset)
{
    struct env_stat now;
    const char *stored = o->piece != NULL ? o->piece->stored : NULL;
    if (o->piece != NULL && o->piece->remote != NULL) return -1; /* not sent a second time */
    if (env->stat(env, stored != NULL ? stored : o->path, &now) < 0) return -1;
    const struct split_piece whole = {.path = o->path,
                                      .stored = stored,
                                      .length = SPLIT_TO_END,
                                      .file_size = now.size,
                                      .mtime_ns = now.mtime_ns,
                                      .frames_end = o->frames_start,
                                      .compression = (enum compression)o->compression};
    struct glint_error ignored = {.code = GLINT_OK};
    struct input_stream s;
    int64_t number = input_stream_open(&s, env, &whole, 0, &ignored);
    if (number == 0) number = count_lines_before(&s, o->offset + offset);
    input_stream_close(&s);
    return number > 0 ? number : -1;
}

/* ---- line reader */

#define FRONT_BYTES (64 * KIB)
#define ALIGN       64u
#define LINE_COPIES 4
#define INDEX_WORDS (BATCH_ROWS_MAX + NEWLINES_SLACK)

static uint64_t align_up(uint64_t n)
{
    return (n + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

static const struct split_piece *current_piece(const struct line_reader *l)
{
    return &l->split->pieces[l->piece];
}

/* Returns the offset in the file of buffer[at]. */
static uint64_t file_offset(const struct line_reader *l, uint64_t at)
{
    assert(at <= l->fill && l->source.at >= l->fill - at);
    return l->source.at - (l->fill - at);
}

/* Where buffer[at] is in the input. */
static struct glint_origin origin_of_buffer(const struct line_reader *l, uint64_t at)
{
    const struct split_piece *piece = current_piece(l);
    return (struct glint_origin){.path = piece->path,
                                 .offset = file_offset(l, at),
                                 .compression = (uint8_t)l->source.compression,
                                 .frames_start = piece->frames_start,
                                 .piece = piece};
}

/* Returns the end of the body in the buffer: the piece's last byte, or the end of the buffer. */
static uint64_t end_of_piece_in_buffer(const struct line_reader *l)
{
    const uint64_t last = l->end - 1;
    if (l->source.at <= last) return l->fill;
    const uint64_t past = l->source.at - last;
    return past < l->fill ? l->fill - past : 0;
}

int line_reader_open(struct line_reader *l, struct glint_task *task, const struct split *split)
{
    *l = (struct line_reader){
        .task = task, .split = split, .ahead = {.split = split}, .index = newlines_index_for_cpu()};
    l->capacity = FRONT_BYTES + READ_BLOCK_BYTES;
    l->buffer = mem_alloc(l->capacity);
    l->row_start = mem_alloc(INDEX_WORDS * sizeof *l->row_start);
    l->row_end = mem_alloc(INDEX_WORDS * sizeof *l->row_end);
    if (l->buffer != NULL && l->row_start != NULL && l->row_end != NULL) return 0;
    line_reader_close(l);
    return error_no_memory(&task->error);
}

#define UNCLOSED_QUOTE_HINT "close it, or double it if it is data; or raise --max-line"

/* The record that begins at buffer[at] has no end: most probably because of a quote. */
static int set_unclosed_quote_error(struct line_reader *l, uint64_t at)
{
    const struct glint_origin o = origin_of_buffer(l, at);
    const int64_t line = line_number_at(l->task->env, &o, 0);
    char where[64];
    text_format(where, sizeof where, line > 0 ? ":%" PRId64 : ", byte %" PRId64,
                line > 0 ? line : (int64_t)o.offset);
    return error_set(&l->task->error, GLINT_E_LINE_TOO_LONG,
                     UNCLOSED_QUOTE_HINT,
                     "%s%s: a quote in the row that begins here is not closed within %" PRIu64
                     " bytes",
                     o.path, where, l->task->options->line_bytes_max);
}

/* Files of old Macs: all of a file is one row, outside of quotes when it ends. */
static int reject_cr_line_ends(const char *path, uint8_t csv, const uint8_t *row, uint64_t size,
                               struct glint_error *error)
{
    if (!csv_has_cr(row, size, csv)) return 0;
    return error_set(error, GLINT_E_INPUT_FORMAT,
                     "end them in LF first: tr '\\r' '\\n' <FILE; a CR inside a field needs quotes",
                     "%s: its lines end in CR alone", path);
}

/* The same of buffer[at, fill), without a line end, if that is where the file's rows begin. */
static int reject_cr_line_ends_in_buffer(struct line_reader *l, uint64_t at)
{
    if (l->csv == 0 || l->quotes.open || file_offset(l, at) != l->first_line) return 0;
    return reject_cr_line_ends(current_piece(l)->path, l->csv, l->buffer + at, l->fill - at,
                               &l->task->error);
}

static int set_line_too_long_error(struct line_reader *l, uint64_t at)
{
    if (l->csv != 0 && l->quotes.open) return set_unclosed_quote_error(l, at);
    if (reject_cr_line_ends_in_buffer(l, at) != 0) return l->task->error.code;
    char after[64] = "";
    if (current_piece(l)->frames_start > 0)
        text_format(after, sizeof after, " after the frame at byte %" PRIu64,
                    current_piece(l)->frames_start);
    return error_set(
        &l->task->error, GLINT_E_LINE_TOO_LONG,
        current_piece(l)->json.data != NULL ? JSON_ARRAY_HINT "; or raise --max-line"
                                            : "check that the input is text, or raise --max-line",
        "%s, byte %" PRIu64 "%s: a line of more than %" PRIu64 " bytes begins here",
        current_piece(l)->path, file_offset(l, at), after, l->task->options->line_bytes_max);
}

/* Finds the end of the row in buffer[l->scanned, end): the LF, or NULL. */
static const uint8_t *find_row_end(struct line_reader *l, uint64_t end)
{
    const uint8_t *from = l->buffer + l->scanned;
    if (end <= l->scanned) return NULL;
    if (l->csv != 0) return csv_find_row_end(from, l->buffer + end, &l->quotes);
    return memchr(from, '\n', end - l->scanned);
}

/* Reads on to the end of the incomplete line, and returns its size; -1 if that fails. */
static int64_t measure_line(struct line_reader *l)
{
    uint64_t size = l->fill - l->line;
    while (!l->source.ended && !task_is_cancelled(l->task) &&
           size <= l->task->options->line_bytes_max) {
        const int64_t n = input_stream_read(&l->source, l->buffer, l->capacity);
        if (n < 0) return -1;
        l->scanned = 0;
        const uint8_t *end = find_row_end(l, (uint64_t)n);
        if (end != NULL) return (int64_t)(size + (uint64_t)(end - l->buffer));
        size += (uint64_t)n;
    }
    return (int64_t)size;
}

static int set_line_memory_error(struct line_reader *l)
{
    const uint64_t memory = l->task->options->memory_bytes;
    const struct split_piece *piece = current_piece(l);
    const uint64_t offset = file_offset(l, l->line);
    const int64_t whole = measure_line(l);
    if (whole < 0) return l->task->error.code;
    char hint[sizeof l->task->error.hint];
    text_format(hint, sizeof hint,
                "raise --memory, or use fewer slots, so that each has %" PRId64 " MiB or more",
                (whole * LINE_COPIES + (int64_t)MIB - 1) / (int64_t)MIB);
    return error_set(&l->task->error, GLINT_E_MEMORY_LIMIT, hint,
                     "%s, byte %" PRIu64 ": a line of %" PRId64
                     " bytes begins here, too many for the %" PRIu64 " MiB of a slot",
                     piece->path, offset, whole, memory / MIB);
}

/* A line is in the buffer, which grows, and copied by what the task does with it: lines longer than
 * those of the default limit must fit into the slot's memory LINE_COPIES times. */
static int check_line_memory(struct line_reader *l)
{
    const uint64_t size = l->fill - l->line, memory = l->task->options->memory_bytes;
    if (size <= LINE_BYTES_MAX_DEFAULT || size <= memory / LINE_COPIES) return 0;
    return set_line_memory_error(l);
}

/* Moves the incomplete line so that the next block is read to buffer[to], which is aligned; grows
 * the buffer if needed. */
static int make_buffer_room(struct line_reader *l, uint64_t to, uint64_t want)
{
    const uint64_t partial_line_bytes = l->fill - l->line;
    assert(to >= partial_line_bytes && to % ALIGN == 0);
    uint8_t *target = l->buffer;
    if (to + want > l->capacity) {
        uint64_t capacity = 2 * l->capacity;
        if (capacity < to + want) capacity = to + want;
        target = mem_alloc(capacity);
        if (target == NULL && partial_line_bytes > l->task->options->memory_bytes / LINE_COPIES)
            return set_line_memory_error(l);
        if (target == NULL) return error_no_memory(&l->task->error);
        l->capacity = capacity;
    }
    if (partial_line_bytes > 0)
        memmove(target + to - partial_line_bytes, l->buffer + l->line, partial_line_bytes);
    if (target != l->buffer) mem_free(l->buffer);
    l->buffer = target;
    l->line = to - partial_line_bytes;
    l->scanned = l->fill = to;
    return 0;
}

/* Reads the next block after the incomplete line, all of which has been scanned. Returns 0 or a
 * code. */
static int read_block_into_buffer(struct line_reader *l)
{
    assert(l->scanned == l->fill && !l->source.ended);
    if (task_is_cancelled(l->task))
        return error_set(&l->task->error, GLINT_E_INTERRUPTED, NULL, "the task was cancelled");
    const uint64_t partial_line_bytes = l->fill - l->line;
    if (partial_line_bytes > l->task->options->line_bytes_max + 1)
        return set_line_too_long_error(l, l->line); /* + 1: a CR */
    if (check_line_memory(l) != 0) return l->task->error.code;
    uint64_t want = READ_BLOCK_BYTES;
    const uint64_t left = l->source.at < l->end ? l->end - l->source.at : want;
    if (left < want - READ_TAIL_BYTES) want = left + READ_TAIL_BYTES;
    int r = make_buffer_room(l, align_up(partial_line_bytes), want);
    if (r < 0) return r;
    const int64_t n = input_stream_read(&l->source, l->buffer + l->fill, want);
    if (n < 0) return (int)n;
    l->fill += (uint64_t)n;
    if (l->source.past_frames) l->end = l->source.frames_bytes + 1; /* see struct split_piece */
    return 0;
}

/* Adds the bytes on disk read so far to COUNT_BYTES_READ, without those outside the piece: the
 * pieces of a file must add up to its size. */
static void count_bytes_read_of_piece(struct line_reader *l)
{
    const struct split_piece *piece = current_piece(l);
    uint64_t bytes;
    if (l->source.compression != COMPRESSION_NONE) {
        const uint64_t at = input_stream_disk_offset(&l->source);
        bytes = (l->source.past_frames ? piece->frames_end : at) - l->disk_start;
    } else {
        const uint64_t at = file_offset(l, l->line);
        bytes = at <= piece->offset ? 0 : (at < l->end ? at : l->end) - piece->offset;
    }
    l->task->counters.values[COUNT_BYTES_READ] += (int64_t)bytes;
}

static int finish_split_piece(struct line_reader *l)
{
    int r = input_stream_check_unchanged(&l->source);
    if (r < 0) return r;
    count_bytes_read_of_piece(l);
    input_stream_close(&l->source);
    l->piece++;
    return 0;
}

/* Skips to the piece's first line: to the first LF at or after the byte before the piece, or to the
 * end of a header that is no CSV. If no line starts in this piece, finishes it. */
static int skip_to_first_line(struct line_reader *l)
{
    for (;;) {
        const uint8_t *lf = find_row_end(l, end_of_piece_in_buffer(l));
        if (lf != NULL) {
            l->line = l->scanned = (uint64_t)(lf - l->buffer) + 1;
            return 0;
        }
        l->line = l->scanned = l->fill;
        if (l->source.at >= l->end || l->source.ended) return finish_split_piece(l);
        int r = read_block_into_buffer(l);
        if (r < 0) return r;
    }
}

/* The driver has checked the first bytes of all files, but of compressed files only the
 * compressed ones. */
static int check_decompressed_format(struct line_reader *l)
{
    char reason[FORMAT_REASON_BYTES];
    const uint8_t *head = l->buffer + l->line;
    const uint64_t size = l->fill - l->line;
    const char *hint = format_detect_unsupported(head, size, current_piece(l)->nul_is_text, reason);
    if (format_detect_compression(head, size) != COMPRESSION_NONE) {
        text_format(reason, sizeof reason, "it is compressed twice");
        hint = "decompress it once first";
    }
    if (hint == NULL) return 0;
    return error_set(&l->task->error, GLINT_E_INPUT_FORMAT, hint, "%s, decompressed: %s",
                     current_piece(l)->path, reason);
}

/* Reads the start of a compressed file, which may be several frames. */
static int read_head_of_compressed_file(struct line_reader *l)
{
    int r = 0;
    while (r == 0 && l->fill - l->line < FORMAT_HEAD_BYTES && !l->source.ended) {
        l->scanned = l->fill;
        r = read_block_into_buffer(l);
    }
    l->scanned = l->line;
    return r == 0 ? check_decompressed_format(l) : r;
}

static int set_bad_header_error(struct glint_error *error, const char *path, const char *problem)
{
    return error_set(error, GLINT_E_BAD_ROW, "check the first line, and --delimiter",
                     "%s:1: the header: %s", path, problem);
}

static int set_empty_header_error(struct glint_error *error, const char *path)
{
    return error_set(error, GLINT_E_INPUT_FORMAT,
                     "delete the empty lines before it: "
                     "sed '1s/^\\xef\\xbb\\xbf//; /[^\\r]/,$!d'",
                     "%s:1: the first line, which is the header, is empty", path);
}

/* Skips a header of CSV, which must be a record: after an unclosed quote it would be all rows. */
static int skip_csv_header(struct line_reader *l)
{
    const struct glint_slice no_nulls = {NULL, 0};
    const uint8_t *lf = NULL;
    while ((lf = find_row_end(l, l->fill)) == NULL && !l->source.ended) {
        l->scanned = l->fill;
        int r = read_block_into_buffer(l);
        if (r < 0) return r;
    }
    uint8_t *const row = l->buffer + l->line;
    uint64_t size = (uint64_t)((lf != NULL ? lf : l->buffer + l->fill) - row);
    if (lf == NULL && reject_cr_line_ends_in_buffer(l, l->line) != 0) return l->task->error.code;
    const char *problem = l->quotes.open ? "a quoted field has no closing quote" : NULL;
    const uint64_t end = l->line + size;
    if (size > 0 && row[size - 1] == '\r') size--;
    if (problem == NULL)
        problem = l->csv == CSV_ANY ? csv_record_problem(row, size)
                                    : csv_to_row_as_is(row, size, l->csv, no_nulls, row, &size);
    if (problem != NULL)
        return set_bad_header_error(&l->task->error, current_piece(l)->path, problem);
    const bool last = lf == NULL || end >= end_of_piece_in_buffer(l);
    l->line = l->scanned = lf != NULL ? end + 1 : end;
    return last ? finish_split_piece(l) : 0;
}

static int skip_header(struct line_reader *l)
{
    const uint8_t *at = l->buffer + l->line, *const end = l->buffer + l->fill;
    if (end - at > 1 && *at == '\r') at++;
    if (at < end && *at == '\n')
        return set_empty_header_error(&l->task->error, current_piece(l)->path);
    return l->csv != 0 ? skip_csv_header(l) : skip_to_first_line(l);
}

static int begin_split_piece(struct line_reader *l)
{
    const struct split_piece *piece = current_piece(l);
    assert(piece->length > 0);
    const bool to_end = piece->length > UINT64_MAX - piece->offset;
    const uint64_t from = piece->offset > 0 ? piece->offset - 1 : 0;
    l->end = to_end ? SPLIT_TO_END : piece->offset + piece->length;
    l->line = l->scanned = l->fill = 0;
    l->first_line = UINT64_MAX;
    l->csv = piece->csv;
    l->quotes = csv_scan_begin(l->csv);
    int r = from == 0 ? input_stream_open_ahead(&l->source, l->task->env, l->task, &l->ahead,
                                                l->piece, &l->task->error)
                      : input_stream_open_in_task(&l->source, l->task, piece, from);
    if (r < 0) return r;
    l->disk_start = input_stream_disk_offset(&l->source);
    if (piece->offset > 0) return skip_to_first_line(l);
    if (l->source.ended) return 0;
    r = l->source.compression != COMPRESSION_NONE ? read_head_of_compressed_file(l)
                                                  : read_block_into_buffer(l);
    if (r != 0) return r;
    l->line += byte_order_mark_size(l->buffer + l->line, l->fill - l->line);
    l->scanned = l->line;
    l->first_line = file_offset(l, l->line);
    return piece->header ? skip_header(l) : 0;
}

/* Sets *out to a batch whose value column is buffer[at, at + size), with rows from l->line on,
 * which are in row_start and row_end. */
static int set_batch_of_rows(struct line_reader *l, struct glint_batch *out, uint32_t rows,
                             uint64_t at, uint64_t size)
{
    assert(rows > 0 && rows <= BATCH_ROWS_MAX);
    assert(at <= l->line && l->line <= at + size && at + size <= l->fill);
    l->origin = origin_of_buffer(l, l->line);
    l->origin.base = l->buffer + l->line;
    l->origin.size = at + size - l->line;
    *out = (struct glint_batch){.rows = rows,
                                .key = {.type = GLINT_NONE},
                                .value = {.type = GLINT_TEXT,
                                          .base = l->buffer + at,
                                          .size = size,
                                          .start = l->row_start,
                                          .end = l->row_end},
                                .origin = &l->origin};
    l->task->counters.values[COUNT_ROWS_READ] += rows;
    return 1;
}

/* Returns the line buffer[line, line_end) as a batch of one row. */
static int set_batch_of_one_line(struct line_reader *l, uint64_t line_end, struct glint_batch *out)
{
    const uint64_t size = line_end - l->line;
    if (size > l->task->options->line_bytes_max) return set_line_too_long_error(l, l->line);
    l->row_start[0] = 0;
    l->row_end[0] = (uint32_t)size;
    set_batch_of_rows(l, out, 1, l->line, size);
    if (size > BATCH_BYTES_MAX) out->value.start = out->value.end = NULL;
    return 1;
}

/* Returns the line that ends with the LF at `lf` as a batch of one row. */
static int set_batch_of_terminated_line(struct line_reader *l, uint64_t lf, struct glint_batch *out)
{
    const bool cr = lf > l->line && l->buffer[lf - 1] == '\r';
    int r = set_batch_of_one_line(l, cr ? lf - 1 : lf, out);
    l->line = l->scanned = lf + 1;
    return r;
}

/* Removes a CR from the end of each row. */
static void strip_cr_of_rows(const uint8_t *base, const uint32_t *start, uint32_t *end,
                             uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) end[i] -= end[i] > start[i] && base[end[i] - 1] == '\r';
}

/* Needed only for limits below a batch's size: read_block_into_buffer and set_batch_of_one_line
 * check larger lines. */
static int check_line_lengths(struct line_reader *l, uint64_t base_at, uint32_t rows)
{
    const uint64_t max = l->task->options->line_bytes_max;
    for (uint32_t i = 0; max < BATCH_BYTES_MAX && i < rows; i++)
        if (l->row_end[i] - l->row_start[i] > max)
            return set_line_too_long_error(l, base_at + l->row_start[i]);
    return 0;
}

/* As read_line_batch_of_body, for records of CSV that end before `end`. */
static int read_csv_batch_of_body(struct line_reader *l, uint64_t base_at, uint64_t end,
                                  struct glint_batch *out)
{
    const uint8_t *lf = NULL;
    uint64_t row = l->line;
    uint32_t rows = 0;
    while (rows < BATCH_ROWS_MAX && (lf = find_row_end(l, end)) != NULL) {
        l->row_start[rows] = (uint32_t)(row - base_at);
        l->row_end[rows++] = (uint32_t)((uint64_t)(lf - l->buffer) - base_at);
        row = l->scanned = (uint64_t)(lf - l->buffer) + 1;
    }
    if (lf == NULL) l->scanned = end;
    if (rows == 0) return 0;
    strip_cr_of_rows(l->buffer + base_at, l->row_start, l->row_end, rows);
    int r = check_line_lengths(l, base_at, rows);
    if (r < 0) return r;
    set_batch_of_rows(l, out, rows, base_at, l->row_end[rows - 1]);
    l->line = row;
    return 1;
}

/* Sets *out to a batch of lines that end in the body and returns 1, or 0 if none ends in the bytes
 * scanned. */
static int read_line_batch_of_body(struct line_reader *l, uint64_t body, struct glint_batch *out)
{
    const uint64_t base_at = l->line & ~(uint64_t)(ALIGN - 1);
    const uint8_t *base = l->buffer + base_at;
    if (l->scanned - base_at >= BATCH_BYTES_MAX - ALIGN) { /* larger than a batch */
        const uint8_t *lf = find_row_end(l, body);
        l->scanned = body;
        return lf != NULL ? set_batch_of_terminated_line(l, (uint64_t)(lf - l->buffer), out) : 0;
    }
    const uint64_t room = base_at + BATCH_BYTES_MAX;
    if (l->csv != 0) return read_csv_batch_of_body(l, base_at, body < room ? body : room, out);
    const struct newlines found =
        l->index(base, (uint32_t)(l->scanned - base_at),
                 (uint32_t)((body < room ? body : room) - base_at), l->row_start, l->row_end);
    l->scanned = base_at + found.scanned;
    if (found.count == 0) return 0;
    const uint64_t next = base_at + l->row_start[found.count];
    l->row_start[0] = (uint32_t)(l->line - base_at);
    /* The first row may end in a CR that an earlier scan has seen, so check it in any case. */
    strip_cr_of_rows(base, l->row_start, l->row_end, found.any_cr ? found.count : 1);
    const bool lines = !found.any_cr && base[l->row_end[0]] == '\n';
    int r = check_line_lengths(l, base_at, found.count);
    if (r < 0) return r;
    set_batch_of_rows(l, out, found.count, base_at, l->row_end[found.count - 1]);
    out->value.lines = lines ? l->row_start : NULL;
    l->line = next;
    return 1;
}

/* Sets *out to a batch of the piece's last line and finishes the piece. Returns 1, 0 if more bytes
 * are needed or no line is left, or a code. */
static int read_batch_of_last_line(struct line_reader *l, struct glint_batch *out)
{
    const uint8_t *lf = find_row_end(l, l->fill);
    if (lf == NULL && !l->source.ended) {
        l->scanned = l->fill;
        return read_block_into_buffer(l);
    }
    int rows = 0;
    if (lf == NULL) rows = reject_cr_line_ends_in_buffer(l, l->line);
    if (rows < 0) return rows;
    if (lf != NULL)
        rows = set_batch_of_terminated_line(l, (uint64_t)(lf - l->buffer), out);
    else if (l->line < l->fill)
        rows = set_batch_of_one_line(l, l->fill, out);
    if (rows < 0) return rows;
    if (lf == NULL) l->line = l->fill;
    int r = finish_split_piece(l);
    return r < 0 ? r : rows;
}

int line_reader_next(struct line_reader *l, struct glint_batch *out)
{
    int r = 0;
    while (r == 0) {
        if (!l->source.open) {
            if (l->piece == l->split->count) return 0;
            r = begin_split_piece(l);
            continue;
        }
        const uint64_t body = end_of_piece_in_buffer(l);
        if (l->scanned < body)
            r = read_line_batch_of_body(l, body, out);
        else if (l->source.at >= l->end || l->source.ended)
            r = read_batch_of_last_line(l, out);
        else
            r = read_block_into_buffer(l);
    }
    return r;
}

void line_reader_close(struct line_reader *l)
{
    if (l->source.open) {
        if (l->task->error.code == GLINT_OK)
            count_bytes_read_of_piece(l); /* the caller stopped early */
        input_stream_close(&l->source);
    }
    input_ahead_close(&l->ahead);
    /* The emitter has set it; an error after the last line has no location in a file. */
    if (l->task != NULL && l->task->origin == &l->origin) l->task->origin = NULL;
    mem_free(l->buffer);
    mem_free(l->row_start);
    mem_free(l->row_end);
    *l = (struct line_reader){.buffer = NULL};
}

/* ---- Reads a file's first line before tasks read its lines. */

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

static int set_first_line_too_long_error(struct input_stream *s, uint64_t size_max, bool open_quote)
{
    if (open_quote)
        return error_set(s->error, GLINT_E_LINE_TOO_LONG, UNCLOSED_QUOTE_HINT,
                         "%s:1: a quote in the row that begins here is not closed within %" PRIu64
                         " bytes",
                         s->piece->path, size_max);
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
static int read_first_line_of_stream(struct input_stream *s, uint64_t size_max, struct buffer *out,
                                     bool *out_found)
{
    const uint8_t csv = s->piece->csv;
    const uint8_t *lf = NULL;
    uint64_t scanned = 0;
    struct csv_scan quotes = csv_scan_begin(csv);
    while (lf == NULL && !s->ended) {
        const uint64_t want = out->size > 0 ? out->size : FIRST_READ_BYTES;
        if (!buffer_reserve(out, want)) return error_no_memory(s->error);
        const int64_t n = input_stream_read(s, out->data + out->size, want);
        if (n < 0) return (int)n;
        out->size += (uint64_t)n;
        if (out->size < BYTE_ORDER_MARK_BYTES && !s->ended) continue;
        if (scanned == 0) cut_byte_order_mark(out);
        *out_found |= out->size > 0;
        if (cut_empty_lines(out) > 0) {
            if (s->piece->header) return set_empty_header_error(s->error, s->piece->path);
            scanned = 0;
            quotes = csv_scan_begin(csv);
        }
        lf = find_line_end(out, &scanned, &quotes);
        const bool too_long = lf == NULL && out->size > size_max + 1; /* 1: a CR */
        if (csv != 0 && lf == NULL && (s->ended || too_long) && !quotes.open &&
            reject_cr_line_ends(s->piece->path, csv, out->data, out->size, s->error) != 0)
            return s->error->code;
        if (too_long) return set_first_line_too_long_error(s, size_max, csv != 0 && quotes.open);
    }
    if (lf != NULL) out->size = (uint64_t)(lf - out->data);
    if (lf != NULL && out->size > 0 && out->data[out->size - 1] == '\r') out->size--;
    return out->size > size_max ? set_first_line_too_long_error(s, size_max, false) : 0;
}

int read_first_line(struct env *env, const struct split_piece *piece, uint64_t size_max,
                    struct buffer *out, bool *out_found, struct glint_error *error)
{
    const struct split split = {piece, 1};
    struct input_ahead ahead = {.split = &split};
    return read_first_line_ahead(env, &ahead, 0, size_max, out, out_found, error);
}

/* Converts a record to a plain row. Names of a header have no escapes. Returns 0 or a code. */
static int convert_first_record(const struct split_piece *piece, struct buffer *line,
                                struct glint_error *error)
{
    const uint64_t size = line->size;
    if (!buffer_reserve(line, 2 * size)) return error_no_memory(error);
    uint8_t *const row = line->data + size;
    const char *problem =
        (piece->header ? csv_to_row_as_is : csv_to_row)(line->data, size, piece->csv, piece->nulls,
                                                        row, &line->size);
    if (problem != NULL) return set_bad_header_error(error, piece->path, problem);
    if (line->size > 0) memmove(line->data, row, line->size);
    return 0;
}

int read_first_line_ahead(struct env *env, struct input_ahead *ahead, uint32_t index,
                          uint64_t size_max, struct buffer *out, bool *out_found,
                          struct glint_error *error)
{
    const struct split_piece *piece = &ahead->split->pieces[index];
    struct input_stream s;
    int r = input_stream_open_ahead(&s, env, NULL, ahead, index, error);
    out->size = 0;
    *out_found = false;
    if (r == 0) r = read_first_line_of_stream(&s, size_max, out, out_found);
    input_stream_close(&s);
    return r != 0 || piece->csv == 0 || piece->records ? r
                                                       : convert_first_record(piece, out, error);
}
