/* The filters of all keys have their shards numbered consecutively, in the order of the keys; each
 * is solved alone, and joined with the others of its key in the order of the numbers. */
#include "jobs/filters/shards.h"

#include "engine/base/text.h"
#include "jobs/bloom/exact.h"
#include "jobs/bloom/fuse.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The shards of a filter of a static layout. */
static uint32_t shards_of_filter(const struct bloom_params *params)
{
    assert(bloom_is_static(params->layout));
    return params->layout == BLOOM_EXACT ? exact_shards(params->n) : fuse_shards(params->n);
}

int shard_numbers_open(struct glint_task *task, struct shard_numbers *out)
{
    int r = sizes_open(task, &out->sizes);
    if (r != 0) return r;
    out->first = glint_scratch(task, sizeof *out->first * (out->sizes.count + 1));
    if (out->first == NULL) return GLINT_E_NO_MEMORY;
    out->first[0] = 0;
    const bool valid = bloom_is_static(out->sizes.params[0].layout);
    for (uint32_t i = 0; valid && i < out->sizes.count; i++)
        out->first[i + 1] = out->first[i] + shards_of_filter(&out->sizes.params[i]);
    if (valid && out->first[out->sizes.count] <= SHARDS_TOTAL_MAX) return 0;
    return glint_fail(task, GLINT_E_PLAN_ARGUMENT, NULL, "invalid broadcast sizes");
}

int shard_numbers_find_key(struct glint_task *task, const struct shard_numbers *s, int64_t shard,
                           uint32_t *out_key)
{
    uint32_t low = 0, high = s->sizes.count; /* first[low] <= shard < first[high] */
    if (shard < 0 || shard >= s->first[high])
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid shard");
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        *(s->first[middle] <= shard ? &low : &high) = middle;
    }
    *out_key = low;
    return 0;
}

/* ---- bloom.rating_of_shard, bloom.text_of_shard: replaces a shard's number by its key */

static int shard_key_init(struct glint_task *task, void *state)
{
    return shard_numbers_open(task, state);
}

static int shard_key_emit(struct glint_task *task, void *state, const struct glint_record *in,
                          struct glint_emitter *out)
{
    const struct shard_numbers *s = state;
    uint32_t key = 0;
    int r = shard_numbers_find_key(task, s, in->key.i64, &key);
    if (r != 0) return r;
    struct glint_record record = {.key = s->sizes.keys[key], .value = in->value};
    glint_emit(out, &record);
    return 0;
}

#define KEY_FUNCTION(name_, key_)                                                                  \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_MAP, .in = {GLINT_I64, GLINT_BYTES},                     \
        .out = {key_, GLINT_SAME}, .state_size = sizeof(struct shard_numbers),                     \
        .open = shard_key_init, .each = shard_key_emit                                             \
    }

const struct glint_function shard_key_number = KEY_FUNCTION("bloom.rating_of_shard", GLINT_I64);
const struct glint_function shard_key_text = KEY_FUNCTION("bloom.text_of_shard", GLINT_TEXT);

/* ---- bloom.join_shards: the shards of a key, in any order, become its filter */

struct join_state {
    struct sizes sizes;
    struct bloom_params params; /* of the current key */
    uint32_t shards, entry;     /* bytes of the directory for each shard */
    uint64_t stride, room;      /* bytes for a shard in `memory`; bytes of `memory` */
    uint64_t taken;             /* bytes of this and of smaller ones before it */
    int64_t taken_max;
    uint8_t *memory; /* BLOOM_HEADER_MAX bytes, the directory, the shards */
    /* of each shard; size 0: not there yet */
    uint64_t size[FUSE_SHARDS_MAX], ids[FUSE_SHARDS_MAX], universe[FUSE_SHARDS_MAX];
};

static int shards_join_init(struct glint_task *task, void *state)
{
    static_assert((int)FUSE_FIRST == (int)EXACT_FIRST, "both begin with the number of shards");
    struct join_state *s = state;
    int r = sizes_open(task, &s->sizes);
    return r == 0 ? glint_arg_i64(task, "memory", &s->taken_max) : r;
}

static uint64_t join_head_bytes(const struct join_state *s)
{
    return BLOOM_HEADER_MAX + FUSE_FIRST + (uint64_t)s->entry * s->shards;
}

/* Takes memory for a filter of `need` bytes; twice the last one, if there is as much. */
static int take_filter_memory(struct glint_task *task, struct join_state *s, uint64_t need,
                              uint8_t **out)
{
    const uint64_t left = (uint64_t)s->taken_max - s->taken;
    const uint64_t twice = need > 2 * s->room ? need : 2 * s->room;
    const uint64_t room = twice <= left ? twice : need;
    char hint[128];
    assert(need > s->room && s->taken <= (uint64_t)s->taken_max);
    if (room > left) {
        text_format(hint, sizeof hint, "raise --memory, so that each slot has %llu bytes",
                    (unsigned long long)(s->taken + need));
        return glint_fail(task, GLINT_E_MEMORY_LIMIT, hint,
                          "a filter of %llu bytes, of the %lld of a slot %llu are left",
                          (unsigned long long)need, (long long)s->taken_max,
                          (unsigned long long)left);
    }
    *out = glint_scratch(task, room);
    if (*out == NULL) return GLINT_E_NO_MEMORY;
    s->taken += room;
    s->room = room;
    return 0;
}

/* Sets the bytes for each shard; those that are there move. */
static int set_bytes_per_shard(struct glint_task *task, struct join_state *s, uint64_t stride)
{
    const uint64_t head = join_head_bytes(s), need = head + stride * s->shards;
    uint8_t *memory = s->memory;
    if (need > s->room) {
        int r = take_filter_memory(task, s, need, &memory);
        if (r != 0) return r;
    }
    for (uint32_t i = s->shards; i-- > 0;)
        if (s->size[i] > 0)
            memmove(memory + head + i * stride, s->memory + head + i * s->stride, s->size[i]);
    s->memory = memory;
    s->stride = stride;
    return 0;
}

/* Exact filters have as many bytes as their members need: the first shard says about how many. */
static int shards_join_begin(struct glint_task *task, void *state, const union glint_value *key)
{
    struct join_state *s = state;
    uint32_t number;
    int r = bloom_input_key_number(&s->sizes, task, key, &number);
    if (r != 0) return r;
    s->params = s->sizes.params[number];
    s->shards = shards_of_filter(&s->params);
    s->entry = s->params.layout == BLOOM_EXACT ? EXACT_ENTRY : FUSE_ENTRY;
    memset(s->size, 0, sizeof s->size);
    if (s->params.layout == BLOOM_EXACT) return set_bytes_per_shard(task, s, EXACT_HEAD);
    const uint64_t each = s->params.n / s->shards + 1;
    const uint64_t most = s->shards == 1 ? each : each + 4 * (uint64_t)sqrt((double)each);
    return set_bytes_per_shard(task, s, fuse_shard_bytes(s->params.layout, most));
}

static bool is_shard_record_valid(const struct join_state *s, const uint64_t head[4],
                                  struct glint_slice left)
{
    if (left.size < SHARD_RECORD_HEAD || head[0] >= s->shards || s->size[head[0]] > 0 ||
        head[3] > left.size - SHARD_RECORD_HEAD)
        return false;
    const uint8_t *shard = left.data + SHARD_RECORD_HEAD;
    return s->params.layout == BLOOM_EXACT ? exact_is_shard_valid(shard, head[3])
                                           : fuse_is_shard_valid(s->params.layout, shard, head[3]);
}

static int shards_join_add_shards(struct glint_task *task, void *state,
                                  const struct glint_record *in, struct glint_emitter *out)
{
    (void)out;
    struct join_state *s = state;
    struct glint_slice left = in->value.bytes;
    while (left.size > 0) {
        uint64_t head[4] = {0}; /* number, ids, universe, size */
        if (left.size >= SHARD_RECORD_HEAD) memcpy(head, left.data, sizeof head);
        if (!is_shard_record_valid(s, head, left))
            return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid shard");
        int r = head[3] <= s->stride ? 0 : set_bytes_per_shard(task, s, head[3] + head[3] / 16);
        if (r != 0) return r;
        memcpy(s->memory + join_head_bytes(s) + head[0] * s->stride, left.data + SHARD_RECORD_HEAD,
               head[3]);
        s->ids[head[0]] = head[1];
        s->universe[head[0]] = head[2];
        s->size[head[0]] = head[3];
        left.data += SHARD_RECORD_HEAD + head[3];
        left.size -= SHARD_RECORD_HEAD + head[3];
    }
    return 0;
}

/* A shard that no id belongs to. */
static void add_empty_shard(struct join_state *s, uint32_t i)
{
    _Alignas(16) uint64_t memory[64];
    uint8_t *shard = s->memory + join_head_bytes(s) + i * s->stride;
    const struct exact_plan none = exact_plan_shard(0, 0);
    s->ids[i] = s->universe[i] = 0;
    if (s->params.layout == BLOOM_EXACT) {
        s->size[i] = exact_solve(&none, NULL, NULL, 0, (uint8_t *)memory, shard);
    } else {
        assert(fuse_solve_memory(0) <= sizeof memory);
        s->size[i] = fuse_shard_bytes(s->params.layout, 0);
        fuse_solve(s->params.layout, NULL, &s->ids[i], (uint8_t *)memory, shard);
    }
    assert(s->size[i] > 0 && s->size[i] <= s->stride);
}

/* Writes the directory entry of a shard. */
static void put_shard_entry(const struct join_state *s, uint32_t i, uint64_t end, uint8_t *bits)
{
    const uint64_t entry[] = {end, s->ids[i], s->universe[i]};
    assert(s->entry <= sizeof entry && s->ids[i] <= s->universe[i]);
    memcpy(bits + FUSE_FIRST + (uint64_t)s->entry * i, entry, s->entry);
}

/* A key without members has no exact filter, as one without rows has none of another layout. */
static int shards_join_emit(struct glint_task *task, void *state, const union glint_value *key,
                            struct glint_emitter *out)
{
    struct join_state *s = state;
    uint8_t *bits = s->memory + BLOOM_HEADER_MAX;
    const uint64_t shards = s->shards, first = FUSE_FIRST + s->entry * shards;
    uint64_t end = first;
    s->params.n = 0;
    memcpy(bits, &shards, sizeof shards);
    for (uint32_t i = 0; i < s->shards; i++) {
        if (s->size[i] == 0) add_empty_shard(s, i);
        memmove(bits + end, bits + first + i * s->stride, s->size[i]);
        end += s->size[i];
        put_shard_entry(s, i, end, bits);
        s->params.n += s->ids[i];
    }
    if (s->params.n == 0) return 0;
    s->params.m = 8 * end;
    const enum bloom_result result = bloom_params_check(&s->params);
    if (result != BLOOM_OK)
        return glint_fail(task, GLINT_E_FILTER_LIMIT, NULL, "%s", bloom_strerror(result));
    assert(bloom_bits_are_valid(&s->params, bits));
    bloom_emit_filter(&s->params, key, s->memory, out);
    return 0;
}

const struct glint_function shards_join = {.name = "bloom.join_shards",
                                           .kind = GLINT_KIND_GROUP,
                                           .in = {GLINT_ANY, GLINT_BYTES},
                                           .out = {GLINT_SAME, GLINT_MSGPACK},
                                           .state_size = sizeof(struct join_state),
                                           .open = shards_join_init,
                                           .begin_group = shards_join_begin,
                                           .each = shards_join_add_shards,
                                           .end_group = shards_join_emit};

struct glint_rdd *shards_joined_rdd(struct glint_rdd *solved, bool text, struct glint_args *args)
{
    if (solved == NULL) return NULL;
    struct glint_rdd *keyed = glint_map(solved, text ? &shard_key_text : &shard_key_number, args);
    return glint_map_values(glint_reduce_by_key(keyed, &bloom_extend, NULL), &shards_join, args);
}
