/* Divides the input into splits: by bytes, which opens only compressed files, or by lines. */
#include "engine/input/split.h"

#include "engine/input/column_file.h"
#include "engine/input/column_map.h"
#include "engine/input/csv.h"
#include "engine/input/format.h"
#include "engine/input/input_stream.h"
#include "engine/input/json_line.h"
#include "engine/input/newlines.h"
#include "engine/input/remote_reader.h"
#include "engine/limits.h"
#include "engine/records/pack.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

/* ---- Encoding of splits for the message that sends a task to an executor. */

#define PIECE_FIELDS 20

enum remote_number {
    REMOTE_FILE,
    REMOTE_IN_RANGES,
    REMOTE_AS_WHOLE,
    REMOTE_TO_DETECT,
    REMOTE_NUMBERS
};

static enum remote_number remote_kind_of_piece(const struct split_piece *piece)
{
    if (piece->remote == NULL) return REMOTE_FILE;
    if (piece->detect) return REMOTE_TO_DETECT;
    return piece->remote->ranges ? REMOTE_IN_RANGES : REMOTE_AS_WHOLE;
}

/* Pieces share maps and layouts: those after the first one refer to it. Returns false if there is
 * one, of so many elements, to be packed. */
static bool pack_reference_if_shared(struct packer *p, const void *item, const void *before,
                                     uint64_t elements)
{
    const bool shared = item == NULL || item == before;
    pack_array(p, !shared ? elements : item != NULL);
    if (shared && item != NULL) pack_u64(p, 1);
    return shared;
}

static void pack_column_map(struct packer *p, const struct column_map *map,
                            const struct column_map *before)
{
    if (pack_reference_if_shared(p, map, before, map != NULL ? 2 + 2 * (uint64_t)map->count : 0))
        return;
    pack_u64(p, map->separator);
    pack_u64(p, map->fields);
    for (uint32_t i = 0; i < map->count; i++) {
        pack_u64(p, map->runs[i].from);
        pack_u64(p, map->runs[i].count);
    }
}

static void pack_row_layout(struct packer *p, const struct row_layout *layout,
                            const struct row_layout *before)
{
    const bool typed = layout != NULL && layout->types.size > 0;
    const uint64_t elements = layout != NULL ? 2 + 2 * (uint64_t)layout->count + typed : 0;
    if (pack_reference_if_shared(p, layout, before, elements)) return;
    pack_u64(p, 2);
    pack_u64(p, layout->fields);
    if (typed) pack_bytes(p, layout->types);
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct row_column *c = &layout->columns[i];
        pack_u64(p, (uint64_t)c->common << 32 | (uint64_t)c->field << 1 | c->key);
        pack_text(p, c->name);
    }
}

bool split_encode(const struct split *split, struct buffer *out)
{
    assert(split->count > 0 && split->count <= SPLIT_FILES_MAX);
    struct packer p = {.failed = false};
    pack_array(&p, split->count);
    for (uint32_t i = 0; i < split->count; i++) {
        const struct split_piece *piece = &split->pieces[i];
        pack_array(&p, PIECE_FIELDS);
        pack_text(&p, piece->path);
        pack_text(&p, piece->stored);
        pack_u64(&p, piece->offset);
        pack_u64(&p, piece->length);
        pack_u64(&p, piece->file_size);
        pack_i64(&p, piece->mtime_ns);
        pack_u64(&p, piece->compression);
        pack_u64(&p,
                 piece->header | (uint64_t)piece->nul_is_text << 1 | (uint64_t)piece->records << 2);
        pack_u64(&p, piece->csv);
        pack_u64(&p, piece->json.data != NULL);
        pack_bytes(&p, piece->json);
        pack_u64(&p, piece->frames_start);
        pack_u64(&p, piece->frames_end);
        pack_u64(&p, remote_kind_of_piece(piece));
        pack_text(&p, piece->remote != NULL ? piece->remote->version : NULL);
        pack_column_map(&p, piece->columns, i > 0 ? piece[-1].columns : NULL);
        pack_bytes(&p, piece->nulls);
        pack_u64(&p, piece->format);
        pack_row_layout(&p, piece->layout, i > 0 ? piece[-1].layout : NULL);
        pack_u64(&p, piece->rows_before);
    }
    const bool ok = !p.failed && buffer_append(out, p.out.data, p.out.size);
    packer_fini(&p);
    return ok;
}

static bool frames_of_piece_are_valid(const struct split_piece *piece)
{
    if (piece->frames_end == 0) return piece->frames_start == 0;
    return piece->compression != COMPRESSION_NONE && piece->frames_start < piece->frames_end &&
           piece->frames_end <= piece->file_size && piece->length == SPLIT_TO_END &&
           piece->offset == (piece->frames_start > 0);
}

/* The copy's data is not NULL. */
static bool arena_copy_slice(struct arena *arena, struct glint_slice bytes, struct glint_slice *out)
{
    *out = (struct glint_slice){arena_copy(arena, bytes.data, bytes.size), bytes.size};
    return out->data != NULL;
}

/* Returns 1, 0 if the map is malformed, -1 when out of memory. */
static int decode_column_map_runs(struct unpacker *u, struct arena *arena,
                                  const struct column_map **out)
{
    if (u->count < 4 || u->count % 2 != 0 || u->count / 2 - 1 > UINT32_MAX) return 0;
    struct column_map *map = arena_alloc(arena, sizeof *map);
    struct column_run *runs = arena_alloc(arena, (u->count / 2 - 1) * sizeof *runs);
    if (map == NULL || runs == NULL) return -1;
    *map = (struct column_map){.runs = runs, .count = (uint32_t)(u->count / 2 - 1)};
    map->separator = (uint8_t)unpack_u64(u, UINT8_MAX);
    map->fields = (uint32_t)unpack_u64(u, UINT32_MAX);
    for (uint32_t i = 0; i < map->count; i++) {
        runs[i].from = (uint32_t)unpack_u64(u, COLUMN_EMPTY);
        runs[i].count = (uint32_t)unpack_u64(u, UINT32_MAX);
    }
    *out = map;
    return unpack_is_complete(u) && column_map_is_valid(map) ? 1 : 0;
}

/* `before`: of the piece before, or NULL. */
static int decode_column_map_or_reference(struct unpacker *fields, struct arena *arena,
                                          const struct column_map *before, struct split_piece *out)
{
    struct unpacker u = unpack_array(fields);
    if (u.count == 0) return unpack_is_complete(&u) ? 1 : 0;
    if (u.count > 1) return decode_column_map_runs(&u, arena, &out->columns);
    out->columns = before;
    return unpack_u64(&u, 1) == 1 && unpack_is_complete(&u) && before != NULL ? 1 : 0;
}

/* `count`: of the array's elements, but the first two; if it is odd, types are the next one. */
static int decode_row_layout_columns(struct unpacker *u, uint64_t count, struct arena *arena,
                                     const struct row_layout **out)
{
    char name[PATH_MAX];
    struct row_layout *layout = arena_alloc(arena, sizeof *layout);
    struct row_column *columns = arena_alloc(arena, (count / 2 + 1) * sizeof *columns);
    if (layout == NULL || columns == NULL) return -1;
    *layout = (struct row_layout){.fields = (uint32_t)unpack_u64(u, HEADER_COLUMNS_MAX),
                                  .count = (uint32_t)(count / 2),
                                  .columns = columns};
    if (count % 2 == 1) {
        const struct glint_slice types = unpack_bytes(u);
        if (types.size == 0) return 0;
        if (!arena_copy_slice(arena, types, &layout->types)) return -1;
    }
    for (uint32_t i = 0; i < layout->count; i++) {
        const uint64_t field = unpack_u64(u, (uint64_t)ARROW_COMMON_MAX << 32 | UINT32_MAX);
        columns[i].common = (uint8_t)(field >> 32);
        columns[i].field = (uint32_t)field >> 1;
        columns[i].key = (field & 1) != 0;
        unpack_text(u, name, sizeof name);
        columns[i].name = arena_strdup(arena, name);
        if (columns[i].name == NULL) return -1;
        if (columns[i].field >= layout->fields ||
            (i > 0 && columns[i].field <= columns[i - 1].field))
            return 0;
    }
    *out = layout;
    return unpack_is_complete(u) ? 1 : 0;
}

/* `before`: of the piece before, or NULL. */
static int decode_row_layout_or_reference(struct unpacker *fields, struct arena *arena,
                                          const struct row_layout *before, struct split_piece *out)
{
    struct unpacker u = unpack_array(fields);
    const uint64_t count = u.count;
    if (count == 0) return unpack_is_complete(&u) ? 1 : 0;
    const uint64_t form = unpack_u64(&u, 2);
    if (form == 2 && count >= 2 && count / 2 <= HEADER_COLUMNS_MAX)
        return decode_row_layout_columns(&u, count - 2, arena, &out->layout);
    out->layout = before;
    return form == 1 && unpack_is_complete(&u) && before != NULL ? 1 : 0;
}

/* Returns 1, 0 if the piece is malformed, -1 when out of memory. Offsets are limited so that sums
 * of them cannot overflow in the readers. */
static int decode_split_piece(struct unpacker *u, struct arena *arena,
                              const struct split_piece *before, struct split_piece *out)
{
    char path[PATH_MAX], stored[PATH_MAX];
    struct remote_identity remote;
    struct unpacker fields = unpack_array(u);
    unpack_text(&fields, path, sizeof path);
    unpack_text(&fields, stored, sizeof stored);
    *out = (struct split_piece){.offset = unpack_u64(&fields, INT64_MAX)};
    out->length = unpack_u64(&fields, UINT64_MAX);
    out->file_size = unpack_u64(&fields, INT64_MAX);
    out->mtime_ns = unpack_i64(&fields);
    out->compression = (enum compression)unpack_u64(&fields, COMPRESSION_COUNT - 1);
    const uint64_t header = unpack_u64(&fields, 7);
    out->header = (header & 1) != 0;
    out->nul_is_text = (header & 2) != 0;
    out->records = (header & 4) != 0;
    out->csv = (uint8_t)unpack_u64(&fields, UINT8_MAX);
    const bool json = unpack_u64(&fields, 1) != 0;
    const struct glint_slice pointers = unpack_bytes(&fields);
    out->frames_start = unpack_u64(&fields, INT64_MAX);
    out->frames_end = unpack_u64(&fields, INT64_MAX);
    const uint64_t number = unpack_u64(&fields, REMOTE_NUMBERS - 1);
    unpack_text(&fields, remote.version, sizeof remote.version);
    const int columns = decode_column_map_or_reference(
        &fields, arena, before != NULL ? before->columns : NULL, out);
    if (columns <= 0) return columns;
    const struct glint_slice nulls = unpack_bytes(&fields);
    out->format = (uint8_t)unpack_u64(&fields, FORMAT_ORC);
    const int layout =
        decode_row_layout_or_reference(&fields, arena, before != NULL ? before->layout : NULL, out);
    if (layout <= 0) return layout;
    out->rows_before = unpack_u64(&fields, INT64_MAX);
    if (out->rows_before > 0 && out->layout == NULL) return 0;
    if ((out->format != 0) != (out->layout != NULL)) return 0;
    if (!unpack_is_complete(&fields) || path[0] == '\0' || out->length == 0) return 0;
    const bool compressed = out->compression != COMPRESSION_NONE;
    /* The decompressed size is not known here. */
    const uint64_t most = out->format != 0 ? UINT32_MAX : compressed ? INT64_MAX : out->file_size;
    if (out->format != 0 && (compressed || out->csv != 0 || out->header || json)) return 0;
    if (out->offset > most || (out->header && out->offset > 0)) return 0;
    const bool whole = out->length == SPLIT_TO_END && (compressed || out->offset == 0);
    if (out->length > most - out->offset && !whole) return 0;
    if (!frames_of_piece_are_valid(out)) return 0;
    if (out->csv == CSV_ANY ? !out->records : out->records && out->csv == 0) return 0;
    if (json && (out->csv != 0 || out->header || out->columns != NULL)) return 0;
    if (!json && pointers.size > 0) return 0;
    if (!json_pointers_are_valid(pointers)) return 0;
    if (number != REMOTE_FILE && remote_url_kind(stored[0] != '\0' ? stored : path) == REMOTE_NONE)
        return 0;
    if (nulls.size > 0 && !nulls_are_valid(nulls)) return 0;
    if (out->csv != 0 && nulls.size == 1) return 0;
    out->detect = number == REMOTE_TO_DETECT;
    if (out->detect && (compressed || out->length != SPLIT_TO_END)) return 0;
    if (json && !arena_copy_slice(arena, pointers, &out->json)) return -1;
    if (nulls.size > 0 && !arena_copy_slice(arena, nulls, &out->nulls)) return -1;
    out->path = arena_strdup(arena, path);
    if (stored[0] != '\0') out->stored = arena_strdup(arena, stored);
    if (out->path == NULL || (stored[0] != '\0' && out->stored == NULL)) return -1;
    remote.ranges = number != REMOTE_AS_WHOLE;
    remote.size = out->file_size;
    if (number != REMOTE_FILE) out->remote = arena_copy(arena, &remote, sizeof remote);
    return number == REMOTE_FILE || out->remote != NULL ? 1 : -1;
}

static int decode_split_pieces(struct unpacker *u, struct arena *arena, struct split *out)
{
    if (u->count == 0 || u->count > SPLIT_FILES_MAX) return 0;
    struct split_piece *pieces = arena_alloc(arena, u->count * sizeof *pieces);
    if (pieces == NULL) return -1;
    *out = (struct split){.pieces = pieces, .count = (uint32_t)u->count};
    int r = 1;
    for (uint32_t i = 0; r > 0 && i < out->count; i++)
        r = decode_split_piece(u, arena, i > 0 ? &pieces[i - 1] : NULL, &pieces[i]);
    return r;
}

int split_decode(struct glint_slice bytes, struct arena *arena, struct split *out,
                 struct glint_error *error)
{
    struct unpacker u = unpack_begin(bytes);
    int r = decode_split_pieces(&u, arena, out);
    if (r > 0) return 0;
    *out = (struct split){.pieces = NULL};
    if (r < 0) return error_no_memory(error);
    return error_set(error, GLINT_E_PROTOCOL, NULL, "cannot decode a split");
}

/* ---- Walks from header to header. Nothing here decides whether the file is right: every byte is
 * also decompressed by the task of some split, which checks that frames end where the scan found
 * their ends. */

#define HEADER_BYTES_MAX 64u /* read at once: a header, or the header of a block */
#define ZSTD_MAGIC       0xfd2fb528u
#define SKIPPABLE_MAGIC  0x184d2a50u /* the low four bits are free */
#define SKIPPABLE_MASK   0xfffffff0u

struct frame_scan {
    const struct input_file *input;
    struct glint_error *error;
    struct input_source source;
    uint64_t at; /* the end of the last frame */
};

/* Opens the file; close its source in any case. Returns 0 or a code with *error set: INPUT_*,
 * SYSTEM. */
static int frame_scan_open(struct frame_scan *s, struct env *env, const struct input_file *file,
                           struct glint_error *error)
{
    *s = (struct frame_scan){.input = file, .error = error};
    return input_source_open(&s->source, env, file->path, file->stored, file->remote, file->size,
                             file->cancelled, error);
}

/* Returns the number of bytes read, which is less than `size` at the end of the file, or a code. */
static int64_t read_frame_bytes_at(struct frame_scan *s, uint64_t at, uint8_t *out, uint64_t size)
{
    return input_source_read(&s->source, out, size, at, s->error);
}

static uint32_t load_frame_number(const uint8_t *p, unsigned bytes)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= (uint32_t)p[i] << (8 * i);
    return value;
}

/* All of these set *out to the end of the frame at s->at, and return as frame_scan_next. */
static int find_bgzf_end(struct frame_scan *s, uint64_t *out)
{
    uint8_t bytes[HEADER_BYTES_MAX];
    struct gzip_header header = {.phase = HEADER_FIXED};
    const int64_t n = read_frame_bytes_at(s, s->at, bytes, sizeof bytes);
    if (n < 0) return (int)n;
    for (int64_t i = 0; i < n && header.phase != HEADER_DONE; i++)
        if (gzip_header_parse_byte(&header, bytes[i]) != NULL) return 0;
    *out = s->at + header.block_bytes;
    return header.phase == HEADER_DONE && header.block_bytes > 0;
}

/* Returns the size of the header of a zstd frame (RFC 8878, 3.1.1.1) from its descriptor. */
static unsigned zstd_header_bytes(uint8_t descriptor)
{
    static const uint8_t dictionary[] = {0, 1, 2, 4}, content[] = {0, 2, 4, 8};
    const bool single = (descriptor & 0x20) != 0; /* no window; the content size always follows */
    const unsigned content_bytes = content[descriptor >> 6];
    return 4u + 1 + (single ? 0u : 1) + dictionary[descriptor & 3] +
           (single && content_bytes == 0 ? 1 : content_bytes);
}

static int find_zstd_end(struct frame_scan *s, uint64_t *out)
{
    uint8_t bytes[8];
    int64_t n = read_frame_bytes_at(s, s->at, bytes, sizeof bytes);
    if (n < (int64_t)sizeof bytes) return n < 0 ? (int)n : 0;
    if ((load_frame_number(bytes, 4) & SKIPPABLE_MASK) == SKIPPABLE_MAGIC) {
        *out = s->at + 8 + load_frame_number(bytes + 4, 4);
        return 1;
    }
    if (load_frame_number(bytes, 4) != ZSTD_MAGIC) return 0;
    const uint8_t descriptor = bytes[4];
    uint64_t at = s->at + zstd_header_bytes(descriptor);
    bool last = false;
    while (!last) {
        if ((n = read_frame_bytes_at(s, at, bytes, 3)) < 3) return n < 0 ? (int)n : 0;
        const uint32_t block = load_frame_number(bytes, 3), type = block >> 1 & 3;
        if (type == 3) return 0; /* reserved */
        last = (block & 1) != 0;
        at += 3 + (type == 1 ? 1 : block >> 3); /* 1: one byte, to be repeated */
    }
    *out = at + ((descriptor & 4) != 0 ? 4 : 0); /* the checksum */
    return 1;
}

/* Returns 1 and advances s->at to the end of the next frame; 0 if none is found: at the end of the
 * file, in a format whose frames cannot be found, or where the bytes are wrong, which the task that
 * decompresses them reports; or a code. */
static int frame_scan_next(struct frame_scan *s)
{
    uint64_t end = s->at;
    int r = 0;
    if (s->input->compression == COMPRESSION_GZIP) r = find_bgzf_end(s, &end);
    if (s->input->compression == COMPRESSION_ZSTD) r = find_zstd_end(s, &end);
    if (r <= 0) return r;
    assert(end > s->at);
    if (end > s->input->size) return 0;
    s->at = end;
    return 1;
}

/* ---- split */

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
    uint64_t done_bytes, column_split; /* of files of columns: before the next row group; number */
    const struct input_list *list;
};

static int begin_next_split(struct split_builder *p)
{
    if (p->split_count == PARTITIONS_MAX)
        return error_set(p->error, GLINT_E_PLAN_LIMIT,
                         p->list->apart
                             ? "each file has a split of its own: join small ones with cat"
                             : "use larger splits: --split-size",
                         "the input has more than %u splits", PARTITIONS_MAX);
    if (!array_reserve(&p->starts, &p->split_capacity, p->split_count + 1, sizeof *p->starts))
        return error_no_memory(p->error);
    p->starts[p->split_count++] = (uint32_t)p->count;
    p->used_bytes = p->used_pieces = p->used_runs = 0;
    return 0;
}

static int append_piece_to_split(struct split_builder *p, const struct input_file *file,
                                 uint64_t offset, uint64_t length)
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
    piece->header = p->list->header && offset == 0 && file->format == 0;
    piece->csv = p->list->csv;
    piece->records = p->list->records;
    piece->json = input_list_json(p->list);
    piece->nulls = p->list->nulls;
    return 0;
}

/* Adds a piece of `bytes` on disk to the current split, or to a new one if it does not fit. */
static int add_piece_to_current_split(struct split_builder *p, const struct input_file *file,
                                      uint64_t offset, uint64_t length, uint64_t bytes)
{
    const uint64_t most = file->remote != NULL ? SPLIT_OBJECTS_MAX : SPLIT_FILES_MAX;
    const uint64_t runs = file->columns != NULL ? file->columns->count : 0;
    const bool fits = !p->list->apart && p->split_count > 0 && p->used_pieces < most &&
                      p->used_runs + runs <= COLUMN_RUNS_MAX && p->used_bytes <= p->split_bytes &&
                      bytes <= p->split_bytes - p->used_bytes;
    int r = fits ? 0 : begin_next_split(p);
    if (r == 0) r = append_piece_to_split(p, file, offset, length);
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

static int add_file_as_one_piece(struct split_builder *p, const struct input_file *file)
{
    return add_piece_to_current_split(p, file, 0, whole_length(file), file->size);
}

/* A split for each file, also an empty one. */
static int add_file_as_split(struct split_builder *p, const struct input_file *file)
{
    const int r = begin_next_split(p);
    return r == 0 ? append_piece_to_split(p, file, 0, whole_length(file)) : r;
}

/* A compressed file of 0 bytes has lost its content: its task reports that. */
static bool is_file_without_content(const struct input_file *file)
{
    return file->size == 0 && file->compression == COMPRESSION_NONE;
}

/* Adds a whole file; an empty one is left out. */
static int add_file_unless_empty(struct split_builder *p, const struct input_file *file)
{
    return is_file_without_content(file) && !p->list->apart ? 0 : add_file_as_one_piece(p, file);
}

/* The number of pieces of a file, none over 1.1 times the target: the tenth avoids a tiny last
 * split. */
static uint64_t count_pieces(const struct split_builder *p, const struct input_file *file)
{
    const uint64_t spare = p->split_bytes / 10;
    const uint64_t rest = file->size > spare ? file->size - spare : 1;
    return rest / p->split_bytes + (rest % p->split_bytes != 0);
}

static int add_frame_range(struct split_builder *p, const struct input_file *file, uint64_t start,
                           uint64_t end)
{
    assert(start < end && end <= file->size);
    if (start == 0 && end == file->size) return add_file_unless_empty(p, file);
    int r = add_piece_to_current_split(p, file, start > 0, SPLIT_TO_END, end - start);
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
    if (pieces == 1) return add_file_unless_empty(p, file);
    struct frame_scan scan;
    uint64_t start = 0, next = length;
    int r = frame_scan_open(&scan, p->env, file, p->error);
    while (r == 0 && (r = frame_scan_next(&scan)) > 0) {
        r = 0;
        if (scan.at < next || scan.at == file->size) continue;
        r = add_frame_range(p, file, start, scan.at);
        start = scan.at;
        next = start - start % length + length;
    }
    input_source_close(&scan.source);
    return r == 0 ? add_frame_range(p, file, start, file->size) : r;
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
        csv_scan_bytes(block + at, block + at + n, &c->quotes);
        at += n;
        const uint8_t *lf = csv_find_row_end(block + at, block + size, &c->quotes);
        if (lf == NULL) break;
        at = (uint64_t)(lf - block) + 1;
        const uint64_t cut = offset + at;
        if (cut == c->file->size) break;
        r = add_piece_to_current_split(c->builder, c->file, c->start, cut - c->start,
                                       cut - c->start);
        c->start = cut;
        c->next = cut - cut % c->length + c->length;
    }
    return r;
}

static int split_csv(struct split_builder *p, const struct input_file *file)
{
    const uint64_t pieces = count_pieces(p, file);
    if (file->compression != COMPRESSION_NONE || pieces == 1) return add_file_unless_empty(p, file);
    struct csv_splitter c = {.builder = p, .file = file, .length = file->size / pieces};
    c.quotes = csv_scan_begin(p->list->csv);
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
    if (r == 0) r = add_piece_to_current_split(p, file, c.start, rest, rest);
    input_stream_close(&s);
    mem_free(block);
    return r;
}

/* What a task reads of a row group: about the bytes of the needed columns, decoded, as text files
 * have them. What they are compressed to says little about the work. */
static uint64_t needed_bytes_of_row_group(const struct input_list *list, uint32_t group)
{
    const struct format_piece *piece = &list->schema->pieces[group];
    const uint64_t columns = list->schema->count, needed = list->layout->count;
    assert(needed <= columns);
    const uint64_t bytes = piece->memory > piece->bytes ? piece->memory : piece->bytes;
    const uint64_t part = columns > 0 ? bytes / columns * needed : 0;
    return part < 1 ? 1 : part > INT64_MAX ? INT64_MAX : part;
}

uint64_t splits_decoded_bytes(const struct input_list *list)
{
    uint64_t bytes = 0;
    if (list->schema == NULL) return list->bytes;
    for (uint32_t i = 0; i < list->schema->starts[list->count] && bytes < INT64_MAX; i++)
        bytes += needed_bytes_of_row_group(list, i);
    return bytes;
}

/* Checks that the columns can be read, and chooses the size of splits of their files so that all
 * have about the same. */
static int plan_column_splits(struct split_builder *p)
{
    const struct input_list *list = p->list;
    for (uint32_t i = 0; i < list->layout->count; i++) {
        const char *problem = list->schema->columns[list->layout->columns[i].field].problem;
        if (problem != NULL)
            return error_set(p->error, GLINT_E_INPUT_FORMAT,
                             "choose other columns (select --columns), or write it as another type",
                             "%s", problem);
    }
    const uint64_t bytes = splits_decoded_bytes(list);
    if (p->split_bytes == 0) p->split_bytes = split_bytes_default(bytes);
    const uint64_t splits = bytes / p->split_bytes + (bytes % p->split_bytes > 0);
    p->split_bytes = splits > 0 ? bytes / splits + 1 : p->split_bytes;
    return 0;
}

/* Whether the middle of the next row group, perhaps the first one of `file`, is beyond the current
 * split. */
static bool starts_next_split(const struct split_builder *p, const struct input_file *file,
                              uint64_t bytes)
{
    const uint64_t most = file == NULL           ? UINT64_MAX
                          : file->remote != NULL ? SPLIT_OBJECTS_MAX
                                                 : SPLIT_FILES_MAX;
    return p->split_count == 0 || (file != NULL && p->list->apart) || p->used_pieces >= most ||
           (p->done_bytes + bytes / 2) / p->split_bytes != p->column_split;
}

/* Pieces of files of columns: neighbours in the same split are one. */
static int split_file_at_row_groups(struct split_builder *p, uint64_t file)
{
    const struct input_list *list = p->list;
    const struct column_schema *schema = list->schema;
    const uint32_t start = schema->starts[file], end = schema->starts[file + 1];
    uint64_t rows = 0;
    int r = 0;
    for (uint32_t i = start; r == 0 && i < end; i++) {
        const uint64_t bytes = needed_bytes_of_row_group(list, i);
        const bool begins = starts_next_split(p, i == start ? &list->files[file] : NULL, bytes);
        p->column_split = (p->done_bytes + bytes / 2) / p->split_bytes;
        if (begins) r = begin_next_split(p);
        if (r == 0 && (begins || i == start)) {
            r = append_piece_to_split(p, &list->files[file], i - start, 1);
            p->used_pieces++;
            if (r != 0) break;
            p->pieces[p->count - 1].layout = list->layout;
            p->pieces[p->count - 1].rows_before = rows;
        } else if (r == 0) {
            p->pieces[p->count - 1].length++;
        }
        const uint64_t more = schema->pieces[i].rows;
        rows = more > (uint64_t)INT64_MAX - rows ? (uint64_t)INT64_MAX : rows + more;
        p->done_bytes += bytes < INT64_MAX - p->done_bytes ? bytes : 0;
    }
    return r;
}

/* Cuts a file into ranges whose sizes differ by at most one byte. */
static int split_file(struct split_builder *p, const struct input_file *file)
{
    const bool whole = file->detect || (file->remote != NULL && !file->remote->ranges);
    if (file->size == 0 || whole) return add_file_unless_empty(p, file);
    if (p->list->csv != 0) return split_csv(p, file);
    if (file->compression != COMPRESSION_NONE) return split_frames(p, file);
    const uint64_t pieces = count_pieces(p, file);
    const uint64_t length = file->size / pieces, longer = file->size % pieces;
    uint64_t offset = 0;
    for (uint64_t i = 0; i < pieces; i++) {
        const uint64_t bytes = length + (i < longer);
        int r = add_piece_to_current_split(p, file, offset, bytes, bytes);
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
    const struct split_piece *pieces =
        arena_copy(&out->arena, p->pieces, p->count * sizeof *pieces);
    if (items == NULL || pieces == NULL) return error_no_memory(p->error);
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

static int make_splits_of_files(struct env *env, const struct input_list *list,
                                uint64_t split_bytes, struct splits *out, struct glint_error *error,
                                int (*add)(struct split_builder *p, const struct input_file *file))
{
    struct split_builder p = {.env = env, .error = error, .split_bytes = split_bytes, .list = list};
    int r = list->has_columns ? plan_column_splits(&p) : 0;
    if (p.split_bytes == 0) p.split_bytes = split_bytes_default(list->bytes);
    for (uint64_t i = 0; r == 0 && i < list->count; i++)
        r = list->has_columns ? split_file_at_row_groups(&p, i) : add(&p, &list->files[i]);
    if (r == 0) r = finish_splits(&p, out);
    split_builder_fini(&p);
    return r;
}

int splits_make_by_bytes(struct env *env, const struct input_list *list, uint64_t split_bytes,
                         struct splits *out, struct glint_error *error)
{
    return make_splits_of_files(env, list, split_bytes, out, error, split_file);
}

int splits_make_by_files(const struct input_list *list, uint64_t split_bytes, struct splits *out,
                         bool with_empty, struct glint_error *error)
{
    return make_splits_of_files(NULL, list, split_bytes, out, error,
                                with_empty ? add_file_as_one_piece : add_file_unless_empty);
}

int splits_make_of_each_file(const struct input_list *list, struct splits *out,
                             struct glint_error *error)
{
    return make_splits_of_files(NULL, list, 1, out, error, add_file_as_split);
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
static int add_split_until(struct line_splitter *c, uint64_t offset, uint64_t end)
{
    assert(end > c->start && (end == SPLIT_TO_END || end == offset));
    const uint64_t length = end == SPLIT_TO_END ? SPLIT_TO_END : end - c->start;
    int r = begin_next_split(c->builder);
    if (r == 0) r = append_piece_to_split(c->builder, &c->file, c->start, length);
    c->start = offset;
    c->left = c->lines;
    return r;
}

/* Cuts after every c->lines-th LF of a block, which is at `offset` in the file. */
static int split_block_by_lines(struct line_splitter *c, const uint8_t *block, uint32_t size,
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
            r = add_split_until(c, cut, cut);
        }
        c->left -= found.count - seen;
    }
    return r;
}

/* The same for records of CSV. */
static int split_block_by_csv_records(struct line_splitter *c, const uint8_t *block, uint32_t size,
                                      uint64_t offset)
{
    const uint8_t *at = block, *end = block + size;
    int r = 0;
    if (offset == 0) at += byte_order_mark_size(block, size);
    while (r == 0 && (at = csv_find_row_end(at, end, &c->quotes)) != NULL) {
        const uint64_t cut = offset + (uint64_t)(++at - block);
        if (--c->left == 0) r = add_split_until(c, cut, cut);
    }
    return r;
}

/* Adds the bytes after the last cut. The last piece of a compressed file has no end, so that its
 * task reads the whole stream and verifies the checksum. */
static int add_split_after_last_cut(struct line_splitter *c, uint64_t size)
{
    const bool compressed = c->file.compression != COMPRESSION_NONE;
    if (c->start < size) return add_split_until(c, size, compressed ? SPLIT_TO_END : size);
    if (compressed && size > 0) c->builder->pieces[c->builder->count - 1].length = SPLIT_TO_END;
    return 0;
}

static int split_file_by_lines(struct line_splitter *c, struct env *env, uint8_t *block,
                               uint32_t *index)
{
    const struct split_piece whole = split_whole_file(&c->file);
    struct input_stream s;
    int r = input_stream_open(&s, env, &whole, 0, c->builder->error);
    c->file.compression = s.compression;
    c->file.detect = false;
    while (r == 0 && !s.ended) {
        const uint64_t offset = s.at;
        const int64_t n = input_stream_read(&s, block, READ_BLOCK_BYTES);
        r = n < 0 ? (int)n
            : c->builder->list->csv != 0
                ? split_block_by_csv_records(c, block, (uint32_t)n, offset)
                : split_block_by_lines(c, block, (uint32_t)n, offset, index);
    }
    if (r == 0) r = input_stream_check_unchanged(&s);
    if (r == 0) r = add_split_after_last_cut(c, s.at);
    input_stream_close(&s);
    return r;
}

int splits_make_by_lines(struct env *env, const struct input_list *list, uint64_t lines,
                         struct splits *out, struct glint_error *error)
{
    assert(lines > 0);
    struct split_builder p = {.error = error, .list = list};
    uint8_t *block = mem_alloc(READ_BLOCK_BYTES);
    uint32_t *index = mem_alloc(2 * (BATCH_ROWS_MAX + NEWLINES_SLACK) * sizeof *index);
    int r = block != NULL && index != NULL ? 0 : error_no_memory(error);
    for (uint64_t i = 0; r == 0 && i < list->count; i++) {
        struct line_splitter c = {
            .builder = &p, .file = list->files[i], .lines = lines, .left = lines};
        c.quotes = csv_scan_begin(list->csv);
        c.left += list->header && lines < UINT64_MAX; /* the header is in the first split */
        if (!is_file_without_content(&c.file)) r = split_file_by_lines(&c, env, block, index);
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
