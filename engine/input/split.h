/* Splits: the input of one task each, as ranges of files. They depend only on the list of files and
 * the options, so the result of a job does not depend on the cluster. */
#ifndef GLINT_INPUT_SPLIT_H
#define GLINT_INPUT_SPLIT_H

#include "engine/glint.h"
#include "engine/input/input.h"

/* Zeros are empty. */
struct splits {
    struct split *items;
    uint32_t count; /* 0: the input is empty */
    struct arena arena;
};

/* Makes splits of about `split_bytes` (at most a tenth larger; 0: the input divided by
 * SPLIT_TARGET_COUNT, within SPLIT_BYTES_MIN and _MAX). A file is cut into ranges of equal size; a
 * compressed file only between its frames, if they can be found (struct split_piece); small files
 * share a split, at most SPLIT_OBJECTS_MAX objects at URLs, and empty files are left out, unless
 * the list keeps files apart. CSV is cut between records, which the driver finds by reading the
 * file; compressed CSV is not cut, nor what a server sends only as a whole. Paths are borrowed from
 * `list`. `out` is zeros before; call splits_fini in any case. Returns 0, PLAN_LIMIT,
 * NO_MEMORY, or INPUT_* of a compressed file. */
int splits_make_by_bytes(struct env *env, const struct input_list *list, uint64_t split_bytes,
                         struct splits *out, struct glint_error *error);
/* What tasks read of the files: their bytes, or, of files of columns whose schema was read, about
 * the bytes of the needed columns, decoded. */
uint64_t splits_decoded_bytes(const struct input_list *list);
/* The size of a split that 0 means there. */
uint64_t split_bytes_default(uint64_t input_bytes);
/* As splits_make_by_bytes, but no file is cut: for formats that must be read from the start.
 * `with_empty`: empty files are not left out. */
int splits_make_by_files(const struct input_list *list, uint64_t split_bytes, struct splits *out,
                         bool with_empty, struct glint_error *error);
/* One split for each file, also an empty one. Returns 0 or a code. */
int splits_make_of_each_file(const struct input_list *list, struct splits *out,
                             struct glint_error *error);
/* Makes splits of `lines` lines each, or records of CSV, without the header; each file starts a new
 * split. Reads all input once. A task that reads a piece of a compressed file must decompress
 * everything before it. Returns as splits_make_by_bytes, also INPUT_* and COMPRESSED_*. */
int splits_make_by_lines(struct env *env, const struct input_list *list, uint64_t lines,
                         struct splits *out, struct glint_error *error);
void splits_fini(struct splits *splits);

/* Appends the split as msgpack: [[path, stored or nil, offset, length, file_size, mtime_ns,
 * compression, header, csv, json, pointers, frames_start, frames_end, remote, version, columns,
 * nulls, format, layout], ...]; header: 1, and 2 if NUL bytes are text, 4 if records of CSV stay as
 * they are; json: 0 or 1; remote: 0 a file, 1 an object that is sent in ranges, 2 as a whole, 3 one
 * whose compression its reader detects; columns: [], [1] those of the piece before, or [separator,
 * fields, from, count, from, count, ...]; nulls: empty if nothing is null; layout: [], [1]
 * that of the piece before, or [2, fields, field, name, ...]. Returns false when out of memory. */
bool split_encode(const struct split *split, struct buffer *out);
/* Decodes and checks a split. `out` is allocated in `arena` and does not point into `bytes`.
 * Returns 0, PROTOCOL or NO_MEMORY. */
int split_decode(struct glint_slice bytes, struct arena *arena, struct split *out,
                 struct glint_error *error);

#endif
