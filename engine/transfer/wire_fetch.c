/* Payloads of data transfer: encoding and decoding of GET, BLOCK_REQUEST, BLOCK_ASSIGN and the
 * response to an INDEX request. A GET contains only the fields of its kind. */
#include "engine/transfer/wire_fetch.h"

#include "engine/base/endian.h"
#include "engine/limits.h"
#include "engine/records/pack.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

static_assert(EXECUTORS_MAX < EXECUTOR_ID_DRIVER, "no executor has the driver's id");

void get_request_fini(struct get_request *g)
{
    mem_free(g->maps);
    g->maps = NULL;
    g->map_count = 0;
}

/* Whether bytes [offset, offset + size) fit one DATA frame and the offset cannot overflow. */
static bool is_valid_byte_range(uint64_t offset, uint64_t size)
{
    return size > 0 && size <= DATA_FRAME_BYTES_MAX && offset <= INT64_MAX - size;
}

static bool get_range_is_valid(const void *v)
{
    const struct get_request *g = v;
    return is_valid_byte_range(g->offset, g->size);
}

/* The fields of every GET; after them come those of its kind, and in an INDEX its list of maps. */
static const struct payload_format get_fields = {
    .fields = {FIELD_NUMBER(struct get_request, kind, 1, GET_KINDS_END - 1),
               FIELD_NUMBER(struct get_request, id, 0, UINT64_MAX)},
};

static const struct payload_format index_fields = {
    .fields = {FIELD_NUMBER(struct get_request, partition, 0, PARTITIONS_MAX - 1),
               FIELD_NUMBER(struct get_request, size, 0, FETCH_CHUNK_BYTES_MAX)},
};

static const struct payload_format map_output_fields = {
    .is_valid = get_range_is_valid,
    .fields = {FIELD_NUMBER(struct get_request, map, 0, PARTITIONS_MAX - 1),
               FIELD_NUMBER(struct get_request, attempt, 0, UINT32_MAX),
               FIELD_NUMBER(struct get_request, offset, 0, INT64_MAX),
               FIELD_NUMBER(struct get_request, size, 0, DATA_FRAME_BYTES_MAX)},
};

static const struct payload_format broadcast_block_fields = {
    .fields = {FIELD_NUMBER(struct get_request, block, 0, UINT32_MAX)},
};

static const struct payload_format range_fields = {
    .is_valid = get_range_is_valid,
    .fields = {FIELD_NUMBER(struct get_request, offset, 0, INT64_MAX),
               FIELD_NUMBER(struct get_request, size, 0, DATA_FRAME_BYTES_MAX)},
};

static const struct payload_format cached_block_fields = {
    .is_valid = get_range_is_valid,
    .fields = {FIELD_NUMBER(struct get_request, partition, 0, PARTITIONS_MAX - 1),
               FIELD_NUMBER(struct get_request, offset, 0, INT64_MAX),
               FIELD_NUMBER(struct get_request, size, 0, FETCH_CHUNK_BYTES_MAX)},
};

static const struct payload_format *const fields_of_kind[GET_KINDS_END] = {
    [GET_INDEX] = &index_fields,
    [GET_MAP_OUTPUT] = &map_output_fields,
    [GET_BROADCAST_BLOCK] = &broadcast_block_fields,
    [GET_RESULT] = &range_fields,
    [GET_PROGRAM] = &range_fields,
    [GET_CACHED_BLOCK] = &cached_block_fields,
};

/* A map and its attempt. */
static const struct payload_format map_format = {
    .size = 2 * sizeof(uint32_t),
    .fields = {{.kind = PAYLOAD_NUMBER, .size = sizeof(uint32_t), .max = PARTITIONS_MAX - 1},
               {.kind = PAYLOAD_NUMBER,
                .offset = sizeof(uint32_t),
                .size = sizeof(uint32_t),
                .max = UINT32_MAX}},
};

int get_request_encode(const struct get_request *v, struct buffer *out, struct glint_error *error)
{
    assert(v->kind > 0 && v->kind < GET_KINDS_END);
    const struct payload_format *of_kind = fields_of_kind[v->kind];
    const bool has_maps = v->kind == GET_INDEX;
    struct packer p;
    uint64_t before = out->size;
    payload_pack_begin_array(
        &p, out, payload_field_count(&get_fields) + payload_field_count(of_kind) + has_maps);
    payload_pack_fields(&p, &get_fields, v);
    payload_pack_fields(&p, of_kind, v);
    assert(!has_maps || (v->map_count > 0 && v->map_count <= PARTITIONS_MAX));
    if (has_maps) payload_pack_list(&p, &map_format, v->maps, v->map_count);
    return payload_pack_end(&p, out, before, error);
}

/* Returns 0 or NO_MEMORY; invalid input fails `u`. */
static int unpack_map_numbers(struct unpacker *u, struct get_request *v, struct glint_error *error)
{
    struct unpacker list = unpack_array(u);
    void *maps;
    int r = payload_unpack_list(&list, &map_format, PARTITIONS_MAX, &maps, &v->map_count, error);
    v->maps = maps;
    if (!unpack_is_complete(&list) || v->map_count == 0) u->failed = true;
    return r;
}

int get_request_decode(struct glint_slice bytes, struct get_request *v, struct glint_error *error)
{
    int r = 0;
    memset(v, 0, sizeof *v);
    struct unpacker u = unpack_begin(bytes);
    payload_unpack_fields(&u, &get_fields, v);
    if (!u.failed) payload_unpack_fields(&u, fields_of_kind[v->kind], v);
    if (v->kind == GET_INDEX) r = unpack_map_numbers(&u, v, error);
    if (r == 0) r = payload_unpack_end(&u, "a GET request", error);
    if (r != 0) get_request_fini(v);
    return r;
}

/* ---- Requesting and assigning broadcast blocks */

static const struct payload_format block_format = {
    .size = sizeof(uint32_t),
    .fields = {{.kind = PAYLOAD_NUMBER, .size = sizeof(uint32_t), .max = UINT32_MAX}},
};

const struct payload_format block_request_format = {
    .what = "a block request",
    .size = sizeof(struct block_request),
    .fields = {FIELD_NUMBER(struct block_request, id, 0, UINT64_MAX),
               FIELD_NUMBER(struct block_request, blocks_max, 0, BLOCK_REQUEST_MAX),
               FIELD_LIST(PAYLOAD_FLAT_LIST, struct block_request, received_count, received,
                          &block_format),
               FIELD_LIST(PAYLOAD_FLAT_LIST, struct block_request, failed_count, failed,
                          &block_format)},
};

static bool assigned_block_is_valid(const void *v)
{
    const struct assigned_block *b = v;
    return b->from < EXECUTORS_MAX || b->from == EXECUTOR_ID_DRIVER;
}

static const struct payload_format assigned_block_format = {
    .size = sizeof(struct assigned_block),
    .is_valid = assigned_block_is_valid,
    .fields = {FIELD_NUMBER(struct assigned_block, block, 0, UINT32_MAX),
               FIELD_NUMBER(struct assigned_block, from, 0, EXECUTOR_ID_DRIVER),
               FIELD_NUMBER(struct assigned_block, checksum, 0, UINT64_MAX)},
};

const struct payload_format block_assignment_format = {
    .what = "a block assignment",
    .size = sizeof(struct block_assignment),
    .fields = {FIELD_NUMBER(struct block_assignment, id, 0, UINT64_MAX),
               FIELD_LIST(PAYLOAD_FLAT_LIST, struct block_assignment, count, blocks,
                          &assigned_block_format)},
};

/* ---- Segments of map outputs. Decoded without an unpacker, for speed: there are many, and their
 * number is known. */

/* The last number of an entry. */
#define ENTRY_INLINED 1u
#define ENTRY_LOST    2u /* alone */
#define ENTRY_SORTED  4u

struct index_entry index_entry_create(const struct run *run, uint32_t partition, uint64_t *room)
{
    if (run == NULL || partition >= run->partitions) return (struct index_entry){.lost = true};
    struct index_entry a = {.part = run_find_part(run, partition), .sorted = run->sorted};
    if (run->source.memory == NULL || a.part.bytes > *room) return a;
    a.bytes = (struct glint_slice){run->source.memory + a.part.offset, a.part.bytes};
    *room -= a.part.bytes;
    return a;
}

int map_output_index_encode(const struct index_entry *entries, uint32_t count, struct buffer *out,
                            struct glint_error *error)
{
    assert(count <= PARTITIONS_MAX);
    static const uint8_t none[INDEX_CHECKSUM_BYTES];
    struct packer p;
    uint64_t start = out->size, most = INDEX_HEAD_BYTES_MAX + count * INDEX_ENTRY_BYTES_MAX;
    for (uint32_t i = 0; i < count; i++) most += entries[i].bytes.size;
    /* Reserves space for the checksum, which is computed when the list is complete. */
    if (!buffer_reserve(out, most) || !buffer_append(out, none, sizeof none))
        return error_no_memory(error);
    uint64_t before = out->size;
    payload_pack_begin_array(&p, out, 5 * (uint64_t)count);
    for (uint32_t i = 0; i < count; i++) {
        pack_u64(&p, entries[i].part.offset);
        pack_u64(&p, entries[i].part.bytes);
        pack_u64(&p, entries[i].part.raw);
        pack_u64(&p, entries[i].part.records);
        pack_u64(&p, entries[i].lost ? ENTRY_LOST
                                     : (entries[i].bytes.size > 0 ? ENTRY_INLINED : 0) |
                                           (entries[i].sorted ? ENTRY_SORTED : 0));
    }
    int r = payload_pack_end(&p, out, before, error);
    if (r == 0) put_le64(out->data + start, XXH3_64bits(out->data + before, out->size - before));
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        struct glint_slice bytes = entries[i].bytes;
        assert(bytes.size == 0 || bytes.size == entries[i].part.bytes);
        if (bytes.size > 0 && !buffer_append(out, bytes.data, bytes.size))
            r = error_no_memory(error);
    }
    if (r != 0) out->size = start;
    return r;
}

static struct glint_slice consume_bytes(struct glint_slice *bytes, uint64_t size)
{
    struct glint_slice taken = {bytes->data, size};
    assert(size <= bytes->size);
    bytes->data += size;
    bytes->size -= size;
    return taken;
}

static bool consume_msgpack_u64(struct glint_slice *bytes, uint64_t *out)
{
    struct msgpack_head head;
    if (!msgpack_read_head(bytes->data, bytes->size, &head) || head.kind != MSGPACK_KIND_UINT)
        return false;
    *out = head.u64;
    consume_bytes(bytes, head.head_size);
    return true;
}

/* Whether the sizes of a segment are plausible: lz4 expands a byte to at most 255, and a
 * record takes at least two bytes for its lengths. Protects the reader from allocating for
 * impossible sizes. */
static bool is_plausible_run_part(const struct run_part *p)
{
    if (p->records == 0) return p->bytes == 0 && p->raw == 0;
    return p->bytes > RUN_BLOCK_HEADER_BYTES && p->bytes <= INT64_MAX &&
           p->offset <= INT64_MAX - p->bytes && p->raw / 2 >= p->records &&
           p->raw / 255 <= p->bytes;
}

/* An empty segment has no bytes to inline, and only an empty one is lost. */
static bool are_valid_run_part_flags(uint64_t flags, const struct run_part *p)
{
    if (p->records > 0) return (flags & ~(uint64_t)(ENTRY_INLINED | ENTRY_SORTED)) == 0;
    return flags == 0 || flags == ENTRY_LOST || flags == ENTRY_SORTED;
}

/* Reads the list of segments, without the inlined bytes. */
static bool consume_run_parts(struct glint_slice *bytes, struct index_entry *out, uint32_t count)
{
    struct msgpack_head head;
    if (!msgpack_read_head(bytes->data, bytes->size, &head) || head.kind != MSGPACK_KIND_ARRAY ||
        head.count != 5 * (uint64_t)count)
        return false;
    consume_bytes(bytes, head.head_size);
    for (uint32_t i = 0; i < count; i++) {
        struct run_part *p = &out[i].part;
        uint64_t flags;
        if (!consume_msgpack_u64(bytes, &p->offset) || !consume_msgpack_u64(bytes, &p->bytes) ||
            !consume_msgpack_u64(bytes, &p->raw) || !consume_msgpack_u64(bytes, &p->records) ||
            !consume_msgpack_u64(bytes, &flags) || !is_plausible_run_part(p) ||
            !are_valid_run_part_flags(flags, p))
            return false;
        out[i].lost = flags == ENTRY_LOST;
        out[i].sorted = (flags & ENTRY_SORTED) != 0;
        /* Only the size: the bytes follow the list. */
        out[i].bytes = (struct glint_slice){NULL, flags & ENTRY_INLINED ? p->bytes : 0};
    }
    return true;
}

int map_output_index_decode(struct glint_slice bytes, struct index_entry *out, uint32_t count,
                            struct glint_error *error)
{
    bool ok = bytes.size > INDEX_CHECKSUM_BYTES;
    uint64_t checksum = ok ? get_le64(consume_bytes(&bytes, INDEX_CHECKSUM_BYTES).data) : 0;
    const uint8_t *list = bytes.data;
    ok = ok && consume_run_parts(&bytes, out, count) &&
         checksum == XXH3_64bits(list, (uint64_t)(bytes.data - list));
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = out[i].bytes.size <= bytes.size;
        if (ok && out[i].bytes.size > 0) out[i].bytes = consume_bytes(&bytes, out[i].bytes.size);
    }
    if (ok && bytes.size == 0) return 0;
    memset(out, 0, count * sizeof *out);
    return error_set(error, GLINT_E_PROTOCOL, NULL, "the index of %u map outputs does not parse",
                     count);
}
