/* Reads the lines of a split, in batches that point into the read buffer.
 *
 * A line ends with LF or CR LF, or at the end of the file. A byte order mark at the start of a file
 * and a header line are skipped; all other bytes are passed unchanged. A line belongs to the piece
 * that contains its first byte. So a reader reads past the end of its piece to complete the last
 * line, and starts one byte early to see whether a line starts at the piece's first byte. Newlines
 * are found 64 bytes at a time and their offsets are stored without a branch per line. */
#ifndef GLINT_INPUT_LINE_READER_H
#define GLINT_INPUT_LINE_READER_H

#include "engine/batch.h"
#include "engine/input/csv.h"
#include "engine/input/input.h"
#include "engine/input/input_stream.h"
#include "engine/input/newlines.h"
#include "engine/records/task.h"

/* Task's thread. */
struct line_reader {
    struct glint_task *task;
    const struct split *split;
    uint32_t piece; /* index of the current piece */
    struct input_ahead ahead;
    struct input_stream source;
    /* [0, fill) is read; the next line starts at `line`, and [line, scanned) contains no LF. */
    uint8_t *buffer;
    uint64_t capacity, fill, line, scanned;
    uint8_t csv;            /* the delimiter; 0: rows are lines */
    struct csv_scan quotes; /* CSV: the state at buffer[scanned] */
    uint64_t first_line;    /* of the file, without a header: offset in it; UINT64_MAX: elsewhere */
    uint64_t end;           /* of the piece, as an offset in the decompressed file */
    uint64_t disk_start;    /* offset on disk where the piece started, for compressed files */
    struct glint_origin origin;
    newlines_index index; /* the variant for this CPU */
    uint32_t *row_start, *row_end;
};

/* `task` and `split` are borrowed until close. Returns 0 or NO_MEMORY; call line_reader_close in
 * any case. */
int line_reader_open(struct line_reader *l, struct glint_task *task, const struct split *split);
/* Returns 1 and sets *out to a batch of (none, text) with at least one row, valid until the next
 * call, its origin set; 0 at the end of the split; a negative code with the task's error set. A
 * line over BATCH_BYTES_MAX is the only row of its batch (start == NULL). Adds to COUNT_ROWS_READ
 * and COUNT_BYTES_READ. */
int line_reader_next(struct line_reader *l, struct glint_batch *out);
/* Frees everything; sets task->origin to NULL if it points into the reader. Zeros are fine. */
void line_reader_close(struct line_reader *l);

/* Returns the number, from 1, of the line that contains the byte at o->offset + `offset`, or -1 if
 * the file cannot be read. Reads the file up to there: for error messages only. */
int64_t line_number_at(struct env *env, const struct glint_origin *o, uint64_t offset);

/* Reads the first line that is not empty of a piece that is a whole file into `out`, whole,
 * decompressed, without byte order mark and line end. With `csv` it is a record, as a plain row
 * with `nulls`. With `header` an empty first line is an error, INPUT_FORMAT. *out_found: the file
 * has any byte. Returns 0 or a code: LINE_TOO_LONG for more than `size_max` bytes, BAD_ROW,
 * INPUT_*, COMPRESSED_*, NO_MEMORY. */
int read_first_line(struct env *env, const struct split_piece *piece, uint64_t size_max,
                    struct buffer *out, bool *out_found, struct glint_error *error);
/* The same, of piece `index` of `ahead`. */
int read_first_line_ahead(struct env *env, struct input_ahead *ahead, uint32_t index,
                          uint64_t size_max, struct buffer *out, bool *out_found,
                          struct glint_error *error);

#endif
