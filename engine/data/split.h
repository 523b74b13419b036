/* Splits: the input of one task each, as ranges of files. They follow from the list of files and
 * the options alone, so the answer does not depend on who runs them. */
#ifndef GLINT_DATA_SPLIT_H
#define GLINT_DATA_SPLIT_H

#include "engine/data/input.h"
#include "engine/glint.h"

#define SPLIT_TO_END UINT64_MAX

/* A range of one file. A line belongs to the piece in which its first byte stands. For gzip files
 * offset and length count decompressed bytes; one that is read whole has (0, SPLIT_TO_END). */
struct split_piece {
    const char *path;
    const char *stored;      /* where the file is opened; NULL: at `path`, which names it */
    uint64_t offset, length; /* length > 0 */
    uint64_t file_size;      /* on disk, when the splits were made; > 0 */
    int64_t mtime_ns;
    bool gzip;
    bool header; /* the first line is no row; with offset 0 only */
};

struct split {
    const struct split_piece *pieces; /* in the order in which they are read */
    uint32_t count;                   /* 1 .. SPLIT_FILES_MAX */
};

struct splits {
    struct split *items;
    uint32_t count; /* 0: the input is empty */
    struct arena arena;
};

/* Ranges of about `split_bytes` (0: a SPLIT_TARGET_COUNTth of the input, within SPLIT_BYTES_MIN and
 * _MAX; at most a tenth larger), all of one file alike; gzip files whole; small files together;
 * empty files nowhere. Paths stay borrowed from `list`. `out` is zeros before, splits_fini after in
 * any case. 0, or PLAN_LIMIT, NO_MEMORY. */
int splits_make_by_bytes(const struct input_list *list, uint64_t split_bytes, struct splits *out,
                         struct glint_error *error);
/* As splits_make_by_bytes, but no file is cut: for formats that can only be read from their
 * beginning. */
int splits_make_by_files(const struct input_list *list, uint64_t split_bytes, struct splits *out,
                         struct glint_error *error);
/* `lines` lines in each split, counted from 0 in each file, a header not among them; reads all
 * input once. In a gzip file each piece has to decompress what comes before it. Also INPUT_* and
 * GZIP_*. */
int splits_make_by_lines(struct env *env, const struct input_list *list, uint64_t lines,
                         struct splits *out, struct glint_error *error);
void splits_fini(struct splits *splits);

/* As msgpack: [[path, stored or nil, offset, length, file_size, mtime_ns, flags], ...]; flags: 1
 * gzip, 2 header. False without memory. */
bool split_encode(const struct split *split, struct buffer *out);
/* Checks everything; `out` lives in `arena`, nothing in it points into `bytes`. 0, or PROTOCOL,
 * NO_MEMORY. */
int split_decode(struct glint_slice bytes, struct arena *arena, struct split *out,
                 struct glint_error *error);

#endif
