/* The lines of a split, in batches that point into the block that was read.
 *
 * A line ends with LF or CR LF, or at the end of the file; a byte order mark at a file's start is
 * dropped, and so is a header; all other bytes are kept as they are. A line belongs to the piece in
 * which its first byte stands, so a reader goes on behind its piece to end its last line, and
 * begins one byte early to see whether a line starts there. Newlines are found 64 bytes at a time
 * and their offsets are stored without a branch per line. */
#ifndef GLINT_DATA_LINE_READER_H
#define GLINT_DATA_LINE_READER_H

#include "engine/data/input_stream.h"
#include "engine/data/newlines.h"
#include "engine/data/split.h"
#include "engine/data/task.h"

#define BYTE_ORDER_MARK      "\xef\xbb\xbf"
#define BYTE_ORDER_MARK_SIZE 3u

struct line_reader {
    struct glint_task *task;
    const struct split *split;
    uint32_t piece; /* number of the piece at hand */
    struct input_stream source;
    /* The buffer. [0, fill) is read; a line begins at `line`, and no LF stands in [line, scanned).
     */
    uint8_t *buffer;
    uint64_t capacity, fill, line, scanned;
    uint64_t end;        /* of the piece, as an offset in the file */
    uint64_t disk_start; /* compressed offset where a gzip piece began */
    struct glint_origin origin;
    newlines_index index;
    uint32_t *row_start, *row_end;
};

/* `task` and `split` stay borrowed. 0, or NO_MEMORY. line_reader_close in any case. */
int line_reader_open(struct line_reader *l, struct glint_task *task, const struct split *split);
/* 1: a batch of (none, text), at least one row, valid until the next call, its origin set;
 * 0: the split is read; below 0: a code, the task's error is set.
 * A line over BATCH_BYTES_MAX comes alone (start == NULL). Counts rows and bytes. */
int line_reader_next(struct line_reader *l, struct glint_batch *out);
/* Also takes back the task's origin if it is this reader's. */
void line_reader_close(struct line_reader *l);

/* The number, from 1, of the line that holds the byte at `offset` (decompressed). Reads the file up
 * to there: for error messages. -1 where it cannot be read any more. */
int64_t line_number_at(struct env *env, const char *path, bool compressed, uint64_t offset);

/* The file's first line, decompressed and without its end, in out[0, capacity): its beginning where
 * it is longer. How many bytes; 0 also where the file cannot be read. */
uint64_t read_first_line(struct env *env, const struct input_file *file, uint8_t *out,
                         uint64_t capacity);

#endif
