/* Encoding of splits for the message that sends a task to an executor. */
#include "engine/data/pack.h"
#include "engine/data/split.h"
#include "engine/limits.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#define PIECE_FIELDS 7
#define FLAG_GZIP    1u
#define FLAG_HEADER  2u

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
        pack_u64(&p, (piece->gzip ? FLAG_GZIP : 0) | (piece->header ? FLAG_HEADER : 0));
    }
    const bool ok = !p.failed && buffer_append(out, p.out.data, p.out.size);
    packer_fini(&p);
    return ok;
}

/* Returns 1, 0 if the piece is malformed, -1 when out of memory. Offsets are limited so that sums
 * of them cannot overflow in the readers. */
static int decode_piece(struct unpacker *u, struct arena *arena, struct split_piece *out)
{
    char path[PATH_MAX], stored[PATH_MAX];
    struct unpacker fields = unpack_array(u);
    unpack_text(&fields, path, sizeof path);
    unpack_text(&fields, stored, sizeof stored);
    *out = (struct split_piece){.offset = unpack_u64(&fields, INT64_MAX)};
    out->length = unpack_u64(&fields, UINT64_MAX);
    out->file_size = unpack_u64(&fields, INT64_MAX);
    out->mtime_ns = unpack_i64(&fields);
    const uint64_t flags = unpack_u64(&fields, FLAG_GZIP | FLAG_HEADER);
    out->gzip = (flags & FLAG_GZIP) != 0;
    out->header = (flags & FLAG_HEADER) != 0;
    if (!unpack_is_complete(&fields) || path[0] == '\0' || out->length == 0) return 0;
    /* The decompressed size of a gzip file is not known here. */
    const uint64_t most = out->gzip ? INT64_MAX : out->file_size;
    if (out->offset > most || (out->header && out->offset > 0)) return 0;
    const bool whole = out->length == SPLIT_TO_END && (out->gzip || out->offset == 0);
    if (out->length > most - out->offset && !whole) return 0;
    out->path = arena_strdup(arena, path);
    if (stored[0] != '\0') out->stored = arena_strdup(arena, stored);
    return out->path != NULL && (stored[0] == '\0' || out->stored != NULL) ? 1 : -1;
}

static int decode_pieces(struct unpacker *u, struct arena *arena, struct split *out)
{
    if (u->count == 0 || u->count > SPLIT_FILES_MAX) return 0;
    struct split_piece *pieces = arena_alloc(arena, u->count * sizeof *pieces);
    if (pieces == NULL) return -1;
    *out = (struct split){.pieces = pieces, .count = (uint32_t)u->count};
    int r = 1;
    for (uint32_t i = 0; r > 0 && i < out->count; i++) r = decode_piece(u, arena, &pieces[i]);
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
