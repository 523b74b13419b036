/* Divides the input into splits: by bytes, which opens only compressed files, or by lines. */
#include "engine/input/split.h"

#include "engine/input/column_map.h"
#include "engine/input/csv.h"
#include "engine/input/format.h"
#include "engine/input/frames.h"
#include "engine/input/input_stream.h"
#include "engine/input/newlines.h"
#include "engine/input/remote_reader.h"
#include "engine/limits.h"

#include <assert.h>
#include <string.h>

/* Collects all pieces in one array; starts[i] is the index of the first piece of split i. */
struct split_builder {
    struct env *env;
    struct glint_error *error;
    struct split_piece *pieces;
    uint64_t count, capacity;
    uint32_t *starts;
    uint64_t split_count, split_capacity;
    uint64_t split_bytes, used_bytes, used_pieces; /* the target; used_*: of the current split */
    uint64_t used_runs;                            /* of column maps */
    bool header, apart;
    uint8_t csv;
    struct glint_slice json, nulls;
};

static int begin_split(struct split_builder *p)
{
    if (p->split_count == PARTITIONS_MAX)
        return error_set(p->error, GLINT_E_PLAN_LIMIT,
                         p->apart ? "each file has a split of its own: join small ones with cat"
                                  : "use larger splits: --split-size",
                         "the input has more than %u splits", PARTITIONS_MAX);
    if (!array_reserve(&p->starts, &p->split_capacity, p->split_count + 1, sizeof *p->starts))
        return error_no_memory(p->error);
    p->starts[p->split_count++] = (uint32_t)p->count;
    p->used_bytes = p->used_pieces = p->used_runs = 0;
    return 0;
}

static int add_split_piece(struct split_builder *p, const struct input_file *file, uint64_t offset,
                           uint64_t length)
{
    assert(length > 0);
    if (p->count == UINT32_MAX)
        return error_set(p->error, GLINT_E_PLAN_LIMIT, NULL, "the input has too many files");
    if (!array_reserve(&p->pieces, &p->capacity, p->count + 1, sizeof *p->pieces))
        return error_no_memory(p->error);
    struct split_piece *piece = &p->pieces[p->count++];
    *piece = split_whole_file(file);
    piece->offset = offset;
    piece->length = length;
    piece->header = p->header && offset == 0;
    piece->csv = p->csv;
    piece->json = p->json;
    piece->nulls = p->nulls;
    return 0;
}

/* Adds a piece of `bytes` on disk to the current split, or to a new one if it does not fit. */
static int add_piece_to_split(struct split_builder *p, const struct input_file *file,
                              uint64_t offset, uint64_t length, uint64_t bytes)
{
    const uint64_t most = file->remote != NULL ? SPLIT_OBJECTS_MAX : SPLIT_FILES_MAX;
    const uint64_t runs = file->columns != NULL ? file->columns->count : 0;
    const bool fits = !p->apart && p->split_count > 0 && p->used_pieces < most &&
                      p->used_runs + runs <= COLUMN_RUNS_MAX && p->used_bytes <= p->split_bytes &&
                      bytes <= p->split_bytes - p->used_bytes;
    int r = fits ? 0 : begin_split(p);
    if (r == 0) r = add_split_piece(p, file, offset, length);
    p->used_bytes += bytes;
    p->used_pieces++;
    p->used_runs += runs;
    return r;
}

static uint64_t whole_length(const struct input_file *file)
{
    const bool to_end = file->compression != COMPRESSION_NONE || file->size == 0 || file->detect;
    return to_end ? SPLIT_TO_END : file->size;
}

static int add_uncut_file(struct split_builder *p, const struct input_file *file)
{
    return add_piece_to_split(p, file, 0, whole_length(file), file->size);
}

/* A split for each file, also an empty one. */
static int add_file_as_split(struct split_builder *p, const struct input_file *file)
{
    const int r = begin_split(p);
    return r == 0 ? add_split_piece(p, file, 0, whole_length(file)) : r;
}

/* A compressed file of 0 bytes has lost its content: its task reports that. */
static bool is_empty(const struct input_file *file)
{
    return file->size == 0 && file->compression == COMPRESSION_NONE;
}

/* Adds a whole file; an empty one is left out. */
static int add_whole_file(struct split_builder *p, const struct input_file *file)
{
    return is_empty(file) && !p->apart ? 0 : add_uncut_file(p, file);
}

/* The number of pieces of a file, none over 1.1 times the target: the tenth avoids a tiny last
 * split. */
static uint64_t count_pieces(const struct split_builder *p, const struct input_file *file)
{
    const uint64_t spare = p->split_bytes / 10;
    const uint64_t rest = file->size > spare ? file->size - spare : 1;
    return rest / p->split_bytes + (rest % p->split_bytes != 0);
}

static int add_frames(struct split_builder *p, const struct input_file *file, uint64_t start,
                      uint64_t end)
{
    assert(start < end && end <= file->size);
    if (start == 0 && end == file->size) return add_whole_file(p, file);
    int r = add_piece_to_split(p, file, start > 0, SPLIT_TO_END, end - start);
    if (r < 0) return r;
    p->pieces[p->count - 1].frames_start = start;
    p->pieces[p->count - 1].frames_end = end;
    return 0;
}

/* Cuts a compressed file after the first frame that ends at or after each multiple of the size of a
 * piece. Bytes in which no frame can be found belong to the last piece. */
static int split_frames(struct split_builder *p, const struct input_file *file)
{
    const uint64_t pieces = count_pieces(p, file), length = file->size / pieces;
    if (pieces == 1) return add_whole_file(p, file);
    struct frame_scan scan;
    uint64_t start = 0, next = length;
    int r = frame_scan_open(&scan, p->env, file, p->error);
    while (r == 0 && (r = frame_scan_next(&scan)) > 0) {
        r = 0;
        if (scan.at < next || scan.at == file->size) continue;
        r = add_frames(p, file, start, scan.at);
        start = scan.at;
        next = start - start % length + length;
    }
    frame_scan_close(&scan);
    return r == 0 ? add_frames(p, file, start, file->size) : r;
}

/* The state while the records of one file are searched for cuts. */
struct csv_splitter {
    struct split_builder *builder;
    const struct input_file *file;
    uint64_t start, next, length; /* of the current piece; where it may end; of a piece */
    struct csv_scan quotes;       /* after the bytes that were read */
};

/* Ends pieces after the first record that ends at or after each multiple of the size of a piece. */
static int split_csv_block(struct csv_splitter *c, const uint8_t *block, uint64_t size,
                           uint64_t offset)
{
    uint64_t at = offset == 0 ? byte_order_mark_size(block, size) : 0;
    int r = 0;
    while (r == 0 && at < size) {
        const uint64_t skip = c->next > offset + at ? c->next - (offset + at) : 0;
        const uint64_t n = skip < size - at ? skip : size - at;
        csv_skip(block + at, block + at + n, &c->quotes);
        at += n;
        const uint8_t *lf = csv_find_row_end(block + at, block + size, &c->quotes);
        if (lf == NULL) break;
        at = (uint64_t)(lf - block) + 1;
        const uint64_t cut = offset + at;
        if (cut == c->file->size) break;
        r = add_piece_to_split(c->builder, c->file, c->start, cut - c->start, cut - c->start);
        c->start = cut;
        c->next = cut - cut % c->length + c->length;
    }
    return r;
}

static int split_csv(struct split_builder *p, const struct input_file *file)
{
    const uint64_t pieces = count_pieces(p, file);
    if (file->compression != COMPRESSION_NONE || pieces == 1) return add_whole_file(p, file);
    struct csv_splitter c = {.builder = p, .file = file, .length = file->size / pieces};
    c.quotes = csv_scan_begin(p->csv);
    const struct split_piece whole = split_whole_file(file);
    struct input_stream s = {.open = false};
    uint8_t *block = mem_alloc(READ_BLOCK_BYTES);
    c.next = c.length;
    int r = block != NULL ? input_stream_open(&s, p->env, &whole, 0, p->error)
                          : error_no_memory(p->error);
    while (r == 0 && !s.ended) {
        const uint64_t offset = s.at;
        const int64_t n = input_stream_read(&s, block, READ_BLOCK_BYTES);
        r = n < 0 ? (int)n : split_csv_block(&c, block, (uint64_t)n, offset);
    }
    if (r == 0) r = input_stream_check_unchanged(&s);
    const uint64_t rest = file->size - c.start;
    if (r == 0) r = add_piece_to_split(p, file, c.start, rest, rest);
    input_stream_close(&s);
    mem_free(block);
    return r;
}

/* Cuts a file into ranges whose sizes differ by at most one byte. */
static int split_file(struct split_builder *p, const struct input_file *file)
{
    const bool whole = file->detect || (file->remote != NULL && !file->remote->ranges);
    if (file->size == 0 || whole) return add_whole_file(p, file);
    if (p->csv != 0) return split_csv(p, file);
    if (file->compression != COMPRESSION_NONE) return split_frames(p, file);
    const uint64_t pieces = count_pieces(p, file);
    const uint64_t length = file->size / pieces, longer = file->size % pieces;
    uint64_t offset = 0;
    for (uint64_t i = 0; i < pieces; i++) {
        const uint64_t bytes = length + (i < longer);
        int r = add_piece_to_split(p, file, offset, bytes, bytes);
        if (r < 0) return r;
        offset += bytes;
    }
    assert(offset == file->size);
    return 0;
}

/* Copies the arrays to the arena of `out`. */
static int finish_splits(struct split_builder *p, struct splits *out)
{
    assert(out->items == NULL && p->split_count <= PARTITIONS_MAX);
    if (p->split_count == 0) return 0;
    struct split *items = arena_alloc(&out->arena, p->split_count * sizeof *items);
    struct split_piece *pieces = arena_alloc(&out->arena, p->count * sizeof *pieces);
    if (items == NULL || pieces == NULL) return error_no_memory(p->error);
    memcpy(pieces, p->pieces, p->count * sizeof *pieces);
    for (uint64_t i = 0; i < p->split_count; i++) {
        const uint64_t next = i + 1 < p->split_count ? p->starts[i + 1] : p->count;
        items[i] = (struct split){.pieces = pieces + p->starts[i],
                                  .count = (uint32_t)(next - p->starts[i])};
        assert(items[i].count > 0 && items[i].count <= SPLIT_FILES_MAX);
    }
    out->items = items;
    out->count = (uint32_t)p->split_count;
    return 0;
}

static void split_builder_fini(struct split_builder *p)
{
    mem_free(p->pieces);
    mem_free(p->starts);
}

uint64_t split_bytes_default(uint64_t input_bytes)
{
    const uint64_t share = input_bytes / SPLIT_TARGET_COUNT;
    return share < SPLIT_BYTES_MIN   ? SPLIT_BYTES_MIN
           : share > SPLIT_BYTES_MAX ? SPLIT_BYTES_MAX
                                     : share;
}

static int add_files(struct env *env, const struct input_list *list, uint64_t split_bytes,
                     struct splits *out, struct glint_error *error,
                     int (*add)(struct split_builder *p, const struct input_file *file))
{
    struct split_builder p = {.env = env,
                              .error = error,
                              .split_bytes = split_bytes,
                              .header = list->header,
                              .apart = list->apart,
                              .csv = list->csv,
                              .json = input_list_json(list),
                              .nulls = list->nulls};
    if (split_bytes == 0) p.split_bytes = split_bytes_default(list->bytes);
    int r = 0;
    for (uint64_t i = 0; r == 0 && i < list->count; i++) r = add(&p, &list->files[i]);
    if (r == 0) r = finish_splits(&p, out);
    split_builder_fini(&p);
    return r;
}

int splits_make_by_bytes(struct env *env, const struct input_list *list, uint64_t split_bytes,
                         struct splits *out, struct glint_error *error)
{
    return add_files(env, list, split_bytes, out, error, split_file);
}

int splits_make_by_files(const struct input_list *list, uint64_t split_bytes, struct splits *out,
                         bool with_empty, struct glint_error *error)
{
    return add_files(NULL, list, split_bytes, out, error,
                     with_empty ? add_uncut_file : add_whole_file);
}

int splits_make_of_each_file(const struct input_list *list, struct splits *out,
                             struct glint_error *error)
{
    return add_files(NULL, list, 1, out, error, add_file_as_split);
}

/* The state while the lines of one file are counted. */
struct line_splitter {
    struct split_builder *builder;
    struct input_file file; /* with what was detected */
    uint64_t lines, left;   /* lines per split; lines until the next cut */
    uint64_t start;         /* offset of the current piece */
    struct csv_scan quotes; /* CSV: after the bytes that were read */
};

/* Adds the current piece, up to `end`, as a split; the next one starts at `offset`. */
static int end_piece_at(struct line_splitter *c, uint64_t offset, uint64_t end)
{
    assert(end > c->start && (end == SPLIT_TO_END || end == offset));
    const uint64_t length = end == SPLIT_TO_END ? SPLIT_TO_END : end - c->start;
    int r = begin_split(c->builder);
    if (r == 0) r = add_split_piece(c->builder, &c->file, c->start, length);
    c->start = offset;
    c->left = c->lines;
    return r;
}

/* Cuts after every c->lines-th LF of a block, which is at `offset` in the file. */
static int split_block(struct line_splitter *c, const uint8_t *block, uint32_t size,
                       uint64_t offset, uint32_t *index)
{
    const newlines_index find = newlines_index_for_cpu();
    uint32_t *next = index, *lf = index + BATCH_ROWS_MAX + NEWLINES_SLACK;
    int r = 0;
    for (uint32_t at = 0; r == 0 && at < size;) {
        const struct newlines found = find(block, at, size, next, lf);
        at = found.scanned;
        uint64_t seen = 0;
        while (r == 0 && found.count - seen >= c->left) {
            seen += c->left;
            const uint64_t cut = offset + lf[seen - 1] + 1;
            r = end_piece_at(c, cut, cut);
        }
        c->left -= found.count - seen;
    }
    return r;
}

/* The same for records of CSV. */
static int split_records_block(struct line_splitter *c, const uint8_t *block, uint32_t size,
                               uint64_t offset)
{
    const uint8_t *at = block, *end = block + size;
    int r = 0;
    if (offset == 0) at += byte_order_mark_size(block, size);
    while (r == 0 && (at = csv_find_row_end(at, end, &c->quotes)) != NULL) {
        const uint64_t cut = offset + (uint64_t)(++at - block);
        if (--c->left == 0) r = end_piece_at(c, cut, cut);
    }
    return r;
}

/* Adds the bytes after the last cut. The last piece of a compressed file has no end, so that its
 * task reads the whole stream and verifies the checksum. */
static int split_remainder(struct line_splitter *c, uint64_t size)
{
    const bool compressed = c->file.compression != COMPRESSION_NONE;
    if (c->start < size) return end_piece_at(c, size, compressed ? SPLIT_TO_END : size);
    if (compressed && size > 0) c->builder->pieces[c->builder->count - 1].length = SPLIT_TO_END;
    return 0;
}

static int split_by_lines(struct line_splitter *c, struct env *env, uint8_t *block, uint32_t *index)
{
    const struct split_piece whole = split_whole_file(&c->file);
    struct input_stream s;
    int r = input_stream_open(&s, env, &whole, 0, c->builder->error);
    c->file.compression = s.compression;
    c->file.detect = false;
    while (r == 0 && !s.ended) {
        const uint64_t offset = s.at;
        const int64_t n = input_stream_read(&s, block, READ_BLOCK_BYTES);
        r = n < 0                  ? (int)n
            : c->builder->csv != 0 ? split_records_block(c, block, (uint32_t)n, offset)
                                   : split_block(c, block, (uint32_t)n, offset, index);
    }
    if (r == 0) r = input_stream_check_unchanged(&s);
    if (r == 0) r = split_remainder(c, s.at);
    input_stream_close(&s);
    return r;
}

int splits_make_by_lines(struct env *env, const struct input_list *list, uint64_t lines,
                         struct splits *out, struct glint_error *error)
{
    assert(lines > 0);
    struct split_builder p = {.error = error,
                              .header = list->header,
                              .csv = list->csv,
                              .json = input_list_json(list),
                              .nulls = list->nulls};
    uint8_t *block = mem_alloc(READ_BLOCK_BYTES);
    uint32_t *index = mem_alloc(2 * (BATCH_ROWS_MAX + NEWLINES_SLACK) * sizeof *index);
    int r = block != NULL && index != NULL ? 0 : error_no_memory(error);
    for (uint64_t i = 0; r == 0 && i < list->count; i++) {
        struct line_splitter c = {
            .builder = &p, .file = list->files[i], .lines = lines, .left = lines};
        c.quotes = csv_scan_begin(list->csv);
        c.left += list->header && lines < UINT64_MAX; /* the header is in the first split */
        if (!is_empty(&c.file)) r = split_by_lines(&c, env, block, index);
    }
    if (r == 0) r = finish_splits(&p, out);
    mem_free(block);
    mem_free(index);
    split_builder_fini(&p);
    return r;
}

void splits_fini(struct splits *splits)
{
    arena_fini(&splits->arena);
    *splits = (struct splits){.items = NULL};
}
