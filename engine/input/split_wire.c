/* Encoding of splits for the message that sends a task to an executor. */
#include "engine/input/column_map.h"
#include "engine/input/csv.h"
#include "engine/input/json_path.h"
#include "engine/input/remote_reader.h"
#include "engine/input/remote_url.h"
#include "engine/input/split.h"
#include "engine/limits.h"
#include "engine/records/pack.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#define PIECE_FIELDS 17

enum remote_number {
    REMOTE_FILE,
    REMOTE_IN_RANGES,
    REMOTE_AS_WHOLE,
    REMOTE_TO_DETECT,
    REMOTE_NUMBERS
};

static enum remote_number number_of_remote(const struct split_piece *piece)
{
    if (piece->remote == NULL) return REMOTE_FILE;
    if (piece->detect) return REMOTE_TO_DETECT;
    return piece->remote->ranges ? REMOTE_IN_RANGES : REMOTE_AS_WHOLE;
}

/* Files with equal headers share a map: pieces after the first one refer to it. */
static void pack_columns(struct packer *p, const struct column_map *map,
                         const struct column_map *before)
{
    if (map == NULL) {
        pack_array(p, 0);
        return;
    }
    if (map == before) {
        pack_array(p, 1);
        pack_u64(p, 1);
        return;
    }
    pack_array(p, 2 + 2 * (uint64_t)map->count);
    pack_u64(p, map->separator);
    pack_u64(p, map->fields);
    for (uint32_t i = 0; i < map->count; i++) {
        pack_u64(p, map->runs[i].from);
        pack_u64(p, map->runs[i].count);
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
        pack_u64(&p, piece->header | (uint64_t)piece->nul_is_text << 1);
        pack_u64(&p, piece->csv);
        pack_u64(&p, piece->json.data != NULL);
        pack_bytes(&p, piece->json);
        pack_u64(&p, piece->frames_start);
        pack_u64(&p, piece->frames_end);
        pack_u64(&p, number_of_remote(piece));
        pack_text(&p, piece->remote != NULL ? piece->remote->version : NULL);
        pack_columns(&p, piece->columns, i > 0 ? piece[-1].columns : NULL);
        pack_bytes(&p, piece->nulls);
    }
    const bool ok = !p.failed && buffer_append(out, p.out.data, p.out.size);
    packer_fini(&p);
    return ok;
}

static bool frames_are_valid(const struct split_piece *piece)
{
    if (piece->frames_end == 0) return piece->frames_start == 0;
    return piece->compression != COMPRESSION_NONE && piece->frames_start < piece->frames_end &&
           piece->frames_end <= piece->file_size && piece->length == SPLIT_TO_END &&
           piece->offset == (piece->frames_start > 0);
}

static bool copy_remote(struct arena *arena, const struct remote_identity *remote,
                        struct split_piece *out)
{
    struct remote_identity *copy = arena_alloc(arena, sizeof *copy);
    if (copy != NULL) *copy = *remote;
    out->remote = copy;
    return copy != NULL;
}

/* The copy's data is not NULL. */
static bool copy_slice(struct arena *arena, struct glint_slice bytes, struct glint_slice *out)
{
    uint8_t *copy = arena_alloc(arena, bytes.size + 1);
    if (copy != NULL && bytes.size > 0) memcpy(copy, bytes.data, bytes.size);
    *out = (struct glint_slice){copy, bytes.size};
    return copy != NULL;
}

/* Returns 1, 0 if the map is malformed, -1 when out of memory. */
static int decode_map(struct unpacker *u, struct arena *arena, const struct column_map **out)
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
static int decode_columns(struct unpacker *fields, struct arena *arena,
                          const struct column_map *before, struct split_piece *out)
{
    struct unpacker u = unpack_array(fields);
    if (u.count == 0) return unpack_is_complete(&u) ? 1 : 0;
    if (u.count > 1) return decode_map(&u, arena, &out->columns);
    out->columns = before;
    return unpack_u64(&u, 1) == 1 && unpack_is_complete(&u) && before != NULL ? 1 : 0;
}

/* Returns 1, 0 if the piece is malformed, -1 when out of memory. Offsets are limited so that sums
 * of them cannot overflow in the readers. */
static int decode_piece(struct unpacker *u, struct arena *arena, const struct column_map *before,
                        struct split_piece *out)
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
    const uint64_t header = unpack_u64(&fields, 3);
    out->header = (header & 1) != 0;
    out->nul_is_text = (header & 2) != 0;
    out->csv = (uint8_t)unpack_u64(&fields, UINT8_MAX);
    const bool json = unpack_u64(&fields, 1) != 0;
    const struct glint_slice pointers = unpack_bytes(&fields);
    out->frames_start = unpack_u64(&fields, INT64_MAX);
    out->frames_end = unpack_u64(&fields, INT64_MAX);
    const uint64_t number = unpack_u64(&fields, REMOTE_NUMBERS - 1);
    unpack_text(&fields, remote.version, sizeof remote.version);
    const int columns = decode_columns(&fields, arena, before, out);
    if (columns <= 0) return columns;
    const struct glint_slice nulls = unpack_bytes(&fields);
    if (!unpack_is_complete(&fields) || path[0] == '\0' || out->length == 0) return 0;
    const bool compressed = out->compression != COMPRESSION_NONE;
    /* The decompressed size is not known here. */
    const uint64_t most = compressed ? INT64_MAX : out->file_size;
    if (out->offset > most || (out->header && out->offset > 0)) return 0;
    const bool whole = out->length == SPLIT_TO_END && (compressed || out->offset == 0);
    if (out->length > most - out->offset && !whole) return 0;
    if (!frames_are_valid(out)) return 0;
    if (json && (out->csv != 0 || out->header || out->columns != NULL)) return 0;
    if (!json && pointers.size > 0) return 0;
    if (!json_pointers_are_valid(pointers)) return 0;
    if (number != REMOTE_FILE && remote_url_kind(stored[0] != '\0' ? stored : path) == REMOTE_NONE)
        return 0;
    if (nulls.size > 0 && !nulls_are_valid(nulls)) return 0;
    if (out->csv != 0 && nulls.size == 1) return 0;
    out->detect = number == REMOTE_TO_DETECT;
    if (out->detect && (compressed || out->length != SPLIT_TO_END)) return 0;
    if (json && !copy_slice(arena, pointers, &out->json)) return -1;
    if (nulls.size > 0 && !copy_slice(arena, nulls, &out->nulls)) return -1;
    out->path = arena_strdup(arena, path);
    if (stored[0] != '\0') out->stored = arena_strdup(arena, stored);
    if (out->path == NULL || (stored[0] != '\0' && out->stored == NULL)) return -1;
    remote.ranges = number != REMOTE_AS_WHOLE;
    remote.size = out->file_size;
    return number == REMOTE_FILE || copy_remote(arena, &remote, out) ? 1 : -1;
}

static int decode_pieces(struct unpacker *u, struct arena *arena, struct split *out)
{
    if (u->count == 0 || u->count > SPLIT_FILES_MAX) return 0;
    struct split_piece *pieces = arena_alloc(arena, u->count * sizeof *pieces);
    if (pieces == NULL) return -1;
    *out = (struct split){.pieces = pieces, .count = (uint32_t)u->count};
    int r = 1;
    for (uint32_t i = 0; r > 0 && i < out->count; i++)
        r = decode_piece(u, arena, i > 0 ? pieces[i - 1].columns : NULL, &pieces[i]);
    return r;
}

int split_decode(struct glint_slice bytes, struct arena *arena, struct split *out,
                 struct glint_error *error)
{
    struct unpacker u = unpack_begin(bytes);
    int r = decode_pieces(&u, arena, out);
    if (r > 0) return 0;
    *out = (struct split){.pieces = NULL};
    if (r < 0) return error_no_memory(error);
    return error_set(error, GLINT_E_PROTOCOL, NULL, "cannot decode a split");
}
