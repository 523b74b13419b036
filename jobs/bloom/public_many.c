/* The functions of <glint/bloom.h> on columns of ids. A column is cut into pieces for the batch
 * kernels, which take 32-bit offsets and may read past the end of an id; ids that do not permit
 * this, such as the last ones of a column, are processed one by one. */
#include "jobs/bloom/public.h"

#include <string.h>

enum { PIECE_ROWS = 1024, VIEW_BYTES = 16, VIEW_INLINE_MAX = 12 };

struct piece {
    const uint8_t *base;
    uint32_t start[PIECE_ROWS], end[PIECE_ROWS]; /* of the first `batch` ids, from base */
    uint32_t count, batch;                       /* ids of the piece; of these for the kernel */
    uint64_t next;                               /* SEPARATED: where the next piece begins */
};

/* One id; data is NULL if it is not inside the column's data. */
struct id {
    const uint8_t *data;
    uint64_t size;
};

static bool is_id_valid(const struct glint_bloom_column *ids, uint64_t i)
{
    return ids->valid == NULL || (ids->valid[i / 8] >> i % 8 & 1) != 0;
}

static uint64_t id_offset_of_row(const struct glint_bloom_column *ids, uint64_t i)
{
    if (ids->kind == GLINT_BLOOM_OFFSETS_32) return (uint64_t)((const int32_t *)ids->offsets)[i];
    return (uint64_t)((const int64_t *)ids->offsets)[i];
}

/* The size of an id without the zeros at its end. */
static uint64_t unpadded_size(const uint8_t *id, uint64_t width)
{
    while (width > 0 && id[width - 1] == 0) width--;
    return width;
}

/* A view is the size, 4 bytes, and either the id or its first 4 bytes, buffer and offset. */
static struct id id_of_string_view(const struct glint_bloom_column *ids, uint64_t i)
{
    const uint8_t *view = (const uint8_t *)ids->offsets + i * VIEW_BYTES;
    int32_t at[4]; /* size, prefix, buffer, offset */
    static_assert(sizeof at == VIEW_BYTES, "a view has four numbers");
    memcpy(at, view, sizeof at);
    if (at[0] >= 0 && at[0] <= VIEW_INLINE_MAX) return (struct id){view + 4, (uint64_t)at[0]};
    const uint8_t *const *buffers = ids->data;
    if (at[0] < 0 || at[3] < 0 || at[2] < 0 || (uint64_t)at[2] >= ids->width ||
        (int64_t)at[3] + at[0] > ids->buffers[at[2]])
        return (struct id){NULL, 0};
    return (struct id){buffers[at[2]] + at[3], (uint64_t)at[0]};
}

static struct id id_of_row(const struct glint_bloom_column *ids, uint64_t i)
{
    static const uint8_t empty[1];
    const uint8_t *data = ids->data;
    uint64_t start, end;
    switch (ids->kind) {
    case GLINT_BLOOM_VIEWS: return id_of_string_view(ids, i);
    case GLINT_BLOOM_FIXED:
    case GLINT_BLOOM_PADDED: start = i * ids->width, end = start + ids->width; break;
    default: start = id_offset_of_row(ids, i), end = id_offset_of_row(ids, i + 1);
    }
    if (start > end || end > ids->data_size) return (struct id){NULL, 0};
    if (start == end) return (struct id){empty, 0};
    uint64_t size = end - start;
    if (ids->kind == GLINT_BLOOM_PADDED) size = unpadded_size(data + start, size);
    return (struct id){data + start, size};
}

/* Converts offsets; returns false if one is larger than the next one. */
static bool piece_convert_offsets(struct piece *piece, const struct glint_bloom_column *ids,
                                  uint64_t first, uint64_t begin)
{
    uint32_t descending = 0;
    if (ids->kind == GLINT_BLOOM_OFFSETS_32) {
        const int32_t *offset = (const int32_t *)ids->offsets + first;
        for (uint32_t i = 0; i < piece->count; i++) {
            piece->start[i] = (uint32_t)offset[i] - (uint32_t)begin;
            piece->end[i] = (uint32_t)offset[i + 1] - (uint32_t)begin;
            descending |= offset[i] > offset[i + 1];
        }
    } else {
        const int64_t *offset = (const int64_t *)ids->offsets + first;
        for (uint32_t i = 0; i < piece->count; i++) {
            piece->start[i] = (uint32_t)((uint64_t)offset[i] - begin);
            piece->end[i] = (uint32_t)((uint64_t)offset[i + 1] - begin);
            descending |= offset[i] > offset[i + 1];
        }
    }
    return descending == 0;
}

/* Finds the ends of separated ids. Returns false if there are not as many. */
static bool piece_find_separated_ids(struct piece *piece, const struct glint_bloom_column *ids)
{
    const uint8_t *data = ids->data;
    if (ids->data_size > UINT32_MAX) return false;
    piece->base = data;
    for (uint32_t i = 0; i < piece->count; i++) {
        if (piece->next > ids->data_size) return false;
        const uint64_t left = ids->data_size - piece->next;
        const uint8_t *start = data + piece->next;
        const uint8_t *end = left > 0 ? memchr(start, (int)ids->width, left) : NULL;
        piece->start[i] = (uint32_t)piece->next;
        piece->end[i] = end != NULL ? (uint32_t)(end - data) : (uint32_t)ids->data_size;
        piece->next = (uint64_t)piece->end[i] + 1;
    }
    return true;
}

/* Lets the kernels have the ids after which they may read BLOOM_ID_SLACK bytes. */
static void piece_limit_batch(struct piece *piece, uint64_t readable)
{
    piece->batch = piece->count;
    while (piece->batch > 0 && piece->end[piece->batch - 1] + (uint64_t)BLOOM_ID_SLACK > readable)
        piece->batch--;
}

/* Fills `piece` with the next ids, from `first` on. Returns false if one is outside the data. */
static bool piece_load_ids(struct piece *piece, const struct glint_bloom_column *ids,
                           uint64_t first)
{
    const uint64_t left = ids->first + ids->count - first;
    piece->count = left < PIECE_ROWS ? (uint32_t)left : PIECE_ROWS;
    piece->batch = 0;
    if (ids->kind == GLINT_BLOOM_VIEWS) return true;
    if (ids->kind == GLINT_BLOOM_SEPARATED) {
        if (!piece_find_separated_ids(piece, ids)) return false;
        piece_limit_batch(piece, ids->data_size);
        return true;
    }
    const bool fixed = ids->kind == GLINT_BLOOM_FIXED || ids->kind == GLINT_BLOOM_PADDED;
    const uint64_t last = first + piece->count;
    const uint64_t begin = fixed ? first * ids->width : id_offset_of_row(ids, first);
    const uint64_t end = fixed ? last * ids->width : id_offset_of_row(ids, last);
    if (begin > end || end > ids->data_size) return false;
    if (end - begin > UINT32_MAX) return true;
    piece->base = (const uint8_t *)ids->data + begin;
    if (!fixed && !piece_convert_offsets(piece, ids, first, begin)) return false;
    for (uint32_t i = 0; fixed && i < piece->count; i++) {
        const uint32_t start = i * (uint32_t)ids->width;
        uint64_t size = ids->width;
        if (ids->kind == GLINT_BLOOM_PADDED) size = unpadded_size(piece->base + start, size);
        piece->start[i] = start;
        piece->end[i] = start + (uint32_t)size;
    }
    piece_limit_batch(piece, ids->data_size - begin);
    return true;
}

/* Id i of the piece, one of those that are not in the batch. */
static struct id piece_id_outside_batch(const struct piece *piece,
                                        const struct glint_bloom_column *ids, uint64_t first,
                                        uint32_t i)
{
    if (ids->kind != GLINT_BLOOM_SEPARATED) return id_of_row(ids, first + i);
    return (struct id){piece->base + piece->start[i], piece->end[i] - piece->start[i]};
}

static struct bloom_rows bloom_rows_of_piece(const struct piece *piece)
{
    static const uint16_t first_filter[PIECE_ROWS];
    return (struct bloom_rows){.base = piece->base,
                               .start = piece->start,
                               .end = piece->end,
                               .filter = first_filter,
                               .rows = piece->batch};
}

/* The batch functions need a set; this one has only the filter. */
static int set_of_one_filter(const glint_bloom *filter, const struct glint_bloom_column *ids,
                             struct bloom_set *set)
{
    const struct bloom_params *params = &filter->filter.params;
    const uint32_t width = bloom_public_id_bytes(filter);
    *set = (struct bloom_set){.table = NULL};
    if (width > 0 && (ids->kind != GLINT_BLOOM_FIXED || ids->width != width))
        return GLINT_BLOOM_ERR_ID_SIZE;
    int result = bloom_set_borrow(set, params, 1, filter->filter.bits);
    if (result != 0) return result;
    set->read_only = bloom_public_read_only(filter);
    /* Vector kernels of the classic layout read words of 4 bytes: in a view the last one may end
     * after the bits. */
    if (set->read_only && params->layout == BLOOM_CLASSIC && bloom_bytes(params->m) % 4 != 0)
        bloom_force_level(set, BLOOM_SCALAR);
    return GLINT_BLOOM_OK;
}

/* ---- add ---- */

/* Removes the ids of the batch that are not there. */
static void piece_drop_null_ids(struct piece *piece, const struct glint_bloom_column *ids,
                                uint64_t first)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < piece->batch; i++) {
        piece->start[kept] = piece->start[i];
        piece->end[kept] = piece->end[i];
        kept += is_id_valid(ids, first + i);
    }
    piece->batch = kept;
}

static int add_ids_piece(glint_bloom *filter, struct bloom_adder *adder, struct piece *piece,
                         const struct glint_bloom_column *ids, uint64_t first)
{
    if (!piece_load_ids(piece, ids, first)) return GLINT_BLOOM_ERR_COLUMN;
    const uint32_t singly = piece->batch;
    if (ids->valid != NULL) piece_drop_null_ids(piece, ids, first);
    const struct bloom_rows rows = bloom_rows_of_piece(piece);
    bloom_adder_add_rows(adder, &rows);
    for (uint32_t i = singly; i < piece->count; i++) {
        if (!is_id_valid(ids, first + i)) continue;
        const struct id id = piece_id_outside_batch(piece, ids, first, i);
        if (id.data == NULL) return GLINT_BLOOM_ERR_COLUMN;
        bloom_add(&filter->filter, id.data, id.size);
    }
    return GLINT_BLOOM_OK;
}

int glint_bloom_add_many(glint_bloom *filter, const struct glint_bloom_column *ids)
{
    struct bloom_set set;
    struct piece piece = {.next = 0};
    struct bloom_adder adder;
    int result = bloom_public_check_writable(filter);
    if (result == 0) result = set_of_one_filter(filter, ids, &set);
    if (result != 0) return result;
    bloom_adder_init(&adder, &set);
    for (uint64_t done = 0; result == 0 && done < ids->count; done += PIECE_ROWS)
        result = add_ids_piece(filter, &adder, &piece, ids, ids->first + done);
    bloom_adder_flush(&adder);
    bloom_set_fini(&set);
    return result;
}

/* ---- contains ---- */

static int contains_ids_of_piece(const glint_bloom *filter, const struct bloom_set *set,
                                 struct piece *piece, const struct glint_bloom_column *ids,
                                 uint64_t first, uint8_t *out_hit)
{
    if (!piece_load_ids(piece, ids, first)) return GLINT_BLOOM_ERR_COLUMN;
    const struct bloom_rows rows = bloom_rows_of_piece(piece);
    bloom_set_contains_rows(set, &rows, out_hit);
    for (uint32_t i = piece->batch; i < piece->count; i++) {
        out_hit[i] = 0;
        if (!is_id_valid(ids, first + i)) continue;
        const struct id id = piece_id_outside_batch(piece, ids, first, i);
        if (id.data == NULL) return GLINT_BLOOM_ERR_COLUMN;
        out_hit[i] = bloom_contains(&filter->filter, id.data, id.size);
    }
    for (uint32_t i = 0; ids->valid != NULL && i < piece->batch; i++)
        out_hit[i] &= is_id_valid(ids, first + i);
    return GLINT_BLOOM_OK;
}

int glint_bloom_contains_many(const glint_bloom *filter, const struct glint_bloom_column *ids,
                              uint8_t *out_hit)
{
    struct bloom_set set;
    struct piece piece = {.next = 0};
    if (filter == NULL) {
        memset(out_hit, 0, ids->count);
        return GLINT_BLOOM_OK;
    }
    int result = set_of_one_filter(filter, ids, &set);
    for (uint64_t done = 0; result == 0 && done < ids->count; done += PIECE_ROWS)
        result =
            contains_ids_of_piece(filter, &set, &piece, ids, ids->first + done, out_hit + done);
    bloom_set_fini(&set);
    return result;
}
