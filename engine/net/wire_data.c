/* Payloads that ask for bytes and say where they are: GET, TRACK, TRACKED, and the parts that
 * answer a GET. A GET has just the fields of its kind. */
#include "engine/net/wire.h"

#include "engine/base/little.h"
#include "engine/data/scan.h"
#include "engine/limits.h"
#include "engine/net/pack_net.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

static_assert(EXECUTORS_MAX < TRACK_DRIVER, "the driver is not an executor's number");

void get_fini(struct get *g)
{
    mem_free(g->maps);
    g->maps = NULL;
    g->map_count = 0;
}

/* Bytes [offset, offset + size) that one DATA frame answers. */
static bool range_fits(uint64_t offset, uint64_t size)
{
    return size > 0 && size <= DATA_FRAME_BYTES_MAX && offset <= INT64_MAX - size;
}

static void maps_pack(struct packer *p, const struct get *v)
{
    pack_array(p, 2 * (uint64_t)v->map_count);
    for (uint32_t i = 0; i < v->map_count; i++) {
        pack_u64(p, v->maps[i][0]);
        pack_u64(p, v->maps[i][1]);
    }
}

int get_encode(const struct get *v, struct buffer *out, struct glint_error *error)
{
    static const uint64_t fields[GET_KINDS_END] = {
        [GET_PARTS] = 5, [GET_OUTPUT] = 6, [GET_VALUE] = 3, [GET_RESULT] = 4};
    assert(v->kind > 0 && v->kind < GET_KINDS_END);
    struct packer p;
    uint64_t before = out->size;
    packing_begin(&p, out, fields[v->kind]);
    pack_u64(&p, v->kind);
    pack_u64(&p, v->id);
    if (v->kind == GET_PARTS) {
        assert(v->map_count > 0 && v->map_count <= PARTITIONS_MAX);
        assert(v->size <= FETCH_CHUNK_BYTES_MAX);
        pack_u64(&p, v->partition);
        pack_u64(&p, v->size);
        maps_pack(&p, v);
    } else if (v->kind == GET_VALUE) {
        pack_u64(&p, v->block);
    } else {
        assert(range_fits(v->offset, v->size));
        if (v->kind == GET_OUTPUT) {
            pack_u64(&p, v->map);
            pack_u64(&p, v->attempt);
        }
        pack_u64(&p, v->offset);
        pack_u64(&p, v->size);
    }
    return packing_end(&p, out, before, error);
}

/* Pairs of map and attempt. 0 or NO_MEMORY; what is wrong with them is in `u`. */
static int maps_unpack(struct unpacker *u, struct get *v, struct glint_error *error)
{
    struct unpacker a = unpack_array(u);
    if (a.failed || a.count == 0 || a.count % 2 != 0 || a.count > 2 * (uint64_t)PARTITIONS_MAX) {
        u->failed = true;
        return 0;
    }
    v->map_count = (uint32_t)(a.count / 2);
    v->maps = mem_alloc(v->map_count * sizeof *v->maps);
    if (v->maps == NULL) return error_no_memory(error);
    for (uint32_t i = 0; i < v->map_count; i++) {
        v->maps[i][0] = (uint32_t)unpack_u64(&a, PARTITIONS_MAX - 1);
        v->maps[i][1] = (uint32_t)unpack_u64(&a, UINT32_MAX);
    }
    if (!unpack_done(&a)) u->failed = true;
    return 0;
}

int get_decode(struct glint_slice bytes, struct get *v, struct glint_error *error)
{
    struct unpacker u;
    int r = 0;
    memset(v, 0, sizeof *v);
    unpacker_init(&u, bytes);
    v->kind = (enum get_kind)unpack_u64(&u, GET_KINDS_END - 1);
    v->id = unpack_u64(&u, UINT64_MAX);
    if (v->kind == GET_PARTS) {
        v->partition = (uint32_t)unpack_u64(&u, PARTITIONS_MAX - 1);
        v->size = unpack_u64(&u, FETCH_CHUNK_BYTES_MAX);
        r = maps_unpack(&u, v, error);
    } else if (v->kind == GET_VALUE) {
        v->block = (uint32_t)unpack_u64(&u, UINT32_MAX);
    } else {
        if (v->kind == GET_OUTPUT) {
            v->map = (uint32_t)unpack_u64(&u, PARTITIONS_MAX - 1);
            v->attempt = (uint32_t)unpack_u64(&u, UINT32_MAX);
        }
        v->offset = unpack_u64(&u, INT64_MAX);
        v->size = unpack_u64(&u, DATA_FRAME_BYTES_MAX);
        if (!range_fits(v->offset, v->size)) u.failed = true;
    }
    if (v->kind == 0) u.failed = true;
    if (r == 0)
        r = unpacking_end(&u, "a request for bytes", error);
    else
        unpacker_fini(&u);
    if (r != 0) get_fini(v);
    return r;
}

/* ---- Which blocks next */

static void blocks_pack(struct packer *p, const uint32_t *blocks, uint32_t count)
{
    assert(count <= TRACK_BLOCKS_MAX);
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++) pack_u64(p, blocks[i]);
}

static uint32_t blocks_unpack(struct unpacker *u, uint32_t out[TRACK_BLOCKS_MAX])
{
    struct unpacker a = unpack_array(u);
    if (a.count > TRACK_BLOCKS_MAX) a.failed = true;
    uint32_t count = a.failed ? 0 : (uint32_t)a.count;
    for (uint32_t i = 0; i < count; i++) out[i] = (uint32_t)unpack_u64(&a, UINT32_MAX);
    if (!unpack_done(&a)) u->failed = true;
    return count;
}

int track_encode(const struct track *v, struct buffer *out, struct glint_error *error)
{
    assert(v->want <= TRACK_BLOCKS_MAX);
    struct packer p;
    uint64_t before = out->size;
    packing_begin(&p, out, 4);
    pack_u64(&p, v->id);
    pack_u64(&p, v->want);
    blocks_pack(&p, v->have, v->have_count);
    blocks_pack(&p, v->failed, v->failed_count);
    return packing_end(&p, out, before, error);
}

int track_decode(struct glint_slice bytes, struct track *v, struct glint_error *error)
{
    struct unpacker u;
    memset(v, 0, sizeof *v);
    unpacker_init(&u, bytes);
    v->id = unpack_u64(&u, UINT64_MAX);
    v->want = (uint32_t)unpack_u64(&u, TRACK_BLOCKS_MAX);
    v->have_count = blocks_unpack(&u, v->have);
    v->failed_count = blocks_unpack(&u, v->failed);
    return unpacking_end(&u, "a request for blocks", error);
}

int tracked_encode(const struct tracked *v, struct buffer *out, struct glint_error *error)
{
    assert(v->count <= TRACK_BLOCKS_MAX);
    struct packer p;
    uint64_t before = out->size;
    packing_begin(&p, out, 2);
    pack_u64(&p, v->id);
    pack_array(&p, 3 * (uint64_t)v->count);
    for (uint32_t i = 0; i < v->count; i++) {
        pack_u64(&p, v->blocks[i].block);
        pack_u64(&p, v->blocks[i].from);
        pack_u64(&p, v->blocks[i].sum);
    }
    return packing_end(&p, out, before, error);
}

int tracked_decode(struct glint_slice bytes, struct tracked *v, struct glint_error *error)
{
    struct unpacker u;
    memset(v, 0, sizeof *v);
    unpacker_init(&u, bytes);
    v->id = unpack_u64(&u, UINT64_MAX);
    struct unpacker a = unpack_array(&u);
    if (a.count > 3 * (uint64_t)TRACK_BLOCKS_MAX || a.count % 3 != 0) a.failed = true;
    v->count = a.failed ? 0 : (uint32_t)(a.count / 3);
    for (uint32_t i = 0; i < v->count; i++) {
        v->blocks[i].block = (uint32_t)unpack_u64(&a, UINT32_MAX);
        v->blocks[i].from = (uint32_t)unpack_u64(&a, TRACK_DRIVER);
        v->blocks[i].sum = unpack_u64(&a, UINT64_MAX);
        if (v->blocks[i].from >= EXECUTORS_MAX && v->blocks[i].from != TRACK_DRIVER)
            u.failed = true;
    }
    if (!unpack_done(&a)) u.failed = true;
    return unpacking_end(&u, "a list of blocks", error);
}

/* ---- Parts: read head by head, for there are many, and their number is known */

struct part_answer part_answer_of(const struct run *run, uint32_t partition, uint64_t *room)
{
    struct part_answer a = {.part = run->parts[partition]};
    if (run->source.memory == NULL || a.part.bytes > *room) return a;
    a.bytes = (struct glint_slice){run->source.memory + a.part.offset, a.part.bytes};
    *room -= a.part.bytes;
    return a;
}

int parts_encode(const struct part_answer *parts, uint32_t count, struct buffer *out,
                 struct glint_error *error)
{
    assert(count <= PARTITIONS_MAX);
    static const uint8_t none[PARTS_SUM_BYTES];
    struct packer p;
    uint64_t start = out->size, most = PARTS_HEAD_BYTES_MAX + count * PART_ANSWER_BYTES_MAX;
    for (uint32_t i = 0; i < count; i++) most += parts[i].bytes.size;
    if (!buffer_reserve(out, most) || !buffer_append(out, none, sizeof none))
        return error_no_memory(error);
    uint64_t before = out->size;
    packing_begin(&p, out, 5 * (uint64_t)count);
    for (uint32_t i = 0; i < count; i++) {
        pack_u64(&p, parts[i].part.offset);
        pack_u64(&p, parts[i].part.bytes);
        pack_u64(&p, parts[i].part.raw);
        pack_u64(&p, parts[i].part.records);
        pack_u64(&p, parts[i].bytes.size > 0);
    }
    int r = packing_end(&p, out, before, error);
    if (r == 0)
        little_put64(out->data + start, XXH3_64bits(out->data + before, out->size - before));
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        struct glint_slice bytes = parts[i].bytes;
        assert(bytes.size == 0 || bytes.size == parts[i].part.bytes);
        if (bytes.size > 0 && !buffer_append(out, bytes.data, bytes.size))
            r = error_no_memory(error);
    }
    if (r != 0) out->size = start;
    return r;
}

static struct glint_slice take(struct glint_slice *bytes, uint64_t size)
{
    struct glint_slice taken = {bytes->data, size};
    assert(size <= bytes->size);
    bytes->data += size;
    bytes->size -= size;
    return taken;
}

static bool take_u64(struct glint_slice *bytes, uint64_t *out)
{
    struct scan_head head;
    if (!scan_head(bytes->data, bytes->size, &head) || head.kind != SCAN_UINT) return false;
    *out = head.u64;
    take(bytes, head.head_size);
    return true;
}

/* lz4 makes no more than 255 bytes of one; a record has two bytes of sizes at least. */
static bool part_can_be(const struct run_part *p)
{
    if (p->records == 0) return p->bytes == 0 && p->raw == 0;
    return p->bytes > RUN_BLOCK_HEADER_BYTES && p->bytes <= INT64_MAX &&
           p->offset <= INT64_MAX - p->bytes && p->raw / 2 >= p->records &&
           p->raw / 255 <= p->bytes;
}

/* The list, without the parts' bytes. */
static bool take_list(struct glint_slice *bytes, struct part_answer *out, uint32_t count)
{
    struct scan_head head;
    if (!scan_head(bytes->data, bytes->size, &head) || head.kind != SCAN_ARRAY ||
        head.count != 5 * (uint64_t)count)
        return false;
    take(bytes, head.head_size);
    for (uint32_t i = 0; i < count; i++) {
        struct run_part *p = &out[i].part;
        uint64_t here;
        if (!take_u64(bytes, &p->offset) || !take_u64(bytes, &p->bytes) ||
            !take_u64(bytes, &p->raw) || !take_u64(bytes, &p->records) || !take_u64(bytes, &here) ||
            !part_can_be(p) || here > (p->records > 0))
            return false;
        out[i].bytes = (struct glint_slice){NULL, here > 0 ? p->bytes : 0};
    }
    return true;
}

int parts_decode(struct glint_slice bytes, struct part_answer *out, uint32_t count,
                 struct glint_error *error)
{
    bool ok = bytes.size > PARTS_SUM_BYTES;
    uint64_t sum = ok ? little_get64(take(&bytes, PARTS_SUM_BYTES).data) : 0;
    const uint8_t *list = bytes.data;
    ok = ok && take_list(&bytes, out, count) &&
         sum == XXH3_64bits(list, (uint64_t)(bytes.data - list));
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = out[i].bytes.size <= bytes.size;
        if (ok && out[i].bytes.size > 0) out[i].bytes = take(&bytes, out[i].bytes.size);
    }
    if (ok && bytes.size == 0) return 0;
    memset(out, 0, count * sizeof *out);
    return error_set(error, GLINT_E_PROTOCOL, NULL, "the parts of %u map outputs do not parse",
                     count);
}
