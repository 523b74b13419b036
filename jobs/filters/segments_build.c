/* bloom-build --strategy segments:
 *
 *     rows -> (segment, its bit indexes) -> reduceByKey(join the lists) -> (segment, bits)
 *          -> (key, segment as msgpack)
 *
 * A segment without any index has no list; so each map task that saw rows of a key sends an empty
 * list to those of its segments that got none, and the output is complete. */
#include "engine/batch.h"
#include "jobs/filters/segments.h"

#include <assert.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- bloom.segment_lists */

struct lists_state {
    struct bloom_input input;
    struct segments_lists lists;
    bool *used; /* per key: it has rows */
};

static int segment_lists_init(struct glint_task *task, void *state)
{
    struct lists_state *s = state;
    int r = bloom_input_open(task, &s->input);
    if (r == 0) r = segments_lists_open(task, &s->input.sizes, &s->lists);
    if (r != 0) return r;
    s->used = glint_scratch(task, s->input.sizes.count);
    if (s->used == NULL) return GLINT_E_NO_MEMORY;
    memset(s->used, 0, s->input.sizes.count);
    return 0;
}

static int segment_lists_add_rows(struct glint_task *task, void *state,
                                  const struct glint_batch *in, struct glint_emitter *out)
{
    struct lists_state *s = state;
    struct bloom_rows rows;
    int r = bloom_input_parse_rows(&s->input, task, in, &rows);
    if (r != 0) return r;
    segments_lists_make(&s->lists, &rows, (struct glint_slice){NULL, 0}, false);
    for (uint32_t row = 0; row < rows.rows; row++) s->used[rows.filter[row]] = true;
    segments_lists_emit(task, &s->lists, in->origin, out);
    return 0;
}

static int segment_lists_emit(struct glint_task *task, void *state, struct glint_emitter *out)
{
    (void)task;
    struct lists_state *s = state;
    const struct segments *all = &s->lists.segments;
    for (uint32_t key = 0; key < s->input.sizes.count; key++) {
        assert(all->first[key] < all->first[key + 1]);
        for (uint32_t i = all->first[key]; s->used[key] && i < all->first[key + 1]; i++) {
            if (s->lists.seen[i]) continue;
            struct glint_record record = {.key.i64 = i, .value.bytes = {s->lists.bytes, 0}};
            glint_emit(out, &record);
        }
    }
    return 0;
}

static void segment_lists_fini(struct glint_task *task, void *state)
{
    (void)task;
    segments_lists_close(&((struct lists_state *)state)->lists);
}

const struct glint_function segments_lists_of_rows = {.name = "bloom.segment_lists",
                                                      .kind = GLINT_KIND_FLAT_MAP,
                                                      .in = {GLINT_ANY, GLINT_TEXT},
                                                      .out = {GLINT_I64, GLINT_BYTES},
                                                      .state_size = sizeof(struct lists_state),
                                                      .open = segment_lists_init,
                                                      .batch = segment_lists_add_rows,
                                                      .end = segment_lists_emit,
                                                      .close = segment_lists_fini};

/* ---- bloom.fill_segment: streams the chunks of a segment's list into its bits */

struct segment_fill_state {
    struct sizes sizes;
    struct segments segments;
    int64_t build;
    uint8_t *memory; /* BLOOM_SEGMENT_HEADER_MAX bytes, then the bits */
    struct bloom_segment segment;
};

static int segment_fill_init(struct glint_task *task, void *state)
{
    struct segment_fill_state *s = state;
    int r = sizes_open(task, &s->sizes);
    if (r == 0) r = segments_open(task, &s->sizes, &s->segments);
    if (r == 0) r = glint_arg_i64(task, "build", &s->build);
    return r;
}

static int segment_fill_begin_key(struct glint_task *task, void *state,
                                  const union glint_value *key)
{
    struct segment_fill_state *s = state;
    uint32_t number;
    uint64_t index;
    if (!segments_find(&s->segments, &s->sizes, key->i64, &number, &index))
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid segment %lld",
                          (long long)key->i64);
    if (s->memory == NULL)
        s->memory = glint_scratch(task, BLOOM_SEGMENT_HEADER_MAX +
                                            segments_bytes(&s->sizes, s->segments.log2));
    if (s->memory == NULL) return GLINT_E_NO_MEMORY;
    s->segment = (struct bloom_segment){.params = s->sizes.params[number],
                                        .build = (uint64_t)s->build,
                                        .size = segments_bits_each(&s->segments),
                                        .index = index,
                                        .bits = s->memory + BLOOM_SEGMENT_HEADER_MAX};
    memset(s->memory + BLOOM_SEGMENT_HEADER_MAX, 0, bloom_bytes(bloom_segment_bits(&s->segment)));
    return 0;
}

static int segment_fill_add_list(struct glint_task *task, void *state,
                                 const struct glint_record *in, struct glint_emitter *out)
{
    (void)out;
    struct segment_fill_state *s = state;
    const uint32_t width = segments_index_bytes(&s->segments),
                   mask = segments_index_mask(&s->segments);
    const uint64_t bits = bloom_segment_bits(&s->segment);
    const struct glint_slice list = in->value.bytes;
    uint8_t *target = s->memory + BLOOM_SEGMENT_HEADER_MAX;
    bool sound = list.size % width == 0;
    for (uint64_t at = 0; sound && at < list.size; at += width) {
        const uint32_t index = segments_read_index(list.data + at, mask);
        sound = index < bits;
        if (sound) target[index / 8] |= (uint8_t)(1u << index % 8);
    }
    if (sound) return 0;
    return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid list of indexes");
}

static int segment_fill_emit(struct glint_task *task, void *state, const union glint_value *key,
                             struct glint_emitter *out)
{
    (void)task;
    struct segment_fill_state *s = state;
    uint8_t header[BLOOM_SEGMENT_HEADER_MAX];
    const uint32_t size = bloom_segment_encode_header(&s->segment, header);
    assert(size <= BLOOM_SEGMENT_HEADER_MAX);
    uint8_t *start = s->memory + BLOOM_SEGMENT_HEADER_MAX - size;
    memcpy(start, header, size);
    struct glint_record record = {
        .key = *key, .value.bytes = {start, size + bloom_bytes(bloom_segment_bits(&s->segment))}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function segments_fill = {.name = "bloom.fill_segment",
                                             .kind = GLINT_KIND_GROUP,
                                             .in = {GLINT_I64, GLINT_BYTES},
                                             .out = {GLINT_SAME, GLINT_MSGPACK},
                                             .state_size = sizeof(struct segment_fill_state),
                                             .open = segment_fill_init,
                                             .begin_group = segment_fill_begin_key,
                                             .each = segment_fill_add_list,
                                             .end_group = segment_fill_emit};

/* ---- bloom.rating_of_segment, bloom.text_of_segment: replaces a segment's number by its key */

struct segment_key_state {
    struct sizes sizes;
    struct segments segments;
};

static int segment_key_init(struct glint_task *task, void *state)
{
    struct segment_key_state *s = state;
    int r = sizes_open(task, &s->sizes);
    return r == 0 ? segments_open(task, &s->sizes, &s->segments) : r;
}

static int segment_key_emit(struct glint_task *task, void *state, const struct glint_record *in,
                            struct glint_emitter *out)
{
    struct segment_key_state *s = state;
    uint32_t number;
    uint64_t index;
    if (!segments_find(&s->segments, &s->sizes, in->key.i64, &number, &index))
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid segment");
    struct glint_record record = {.key = s->sizes.keys[number], .value = in->value};
    glint_emit(out, &record);
    return 0;
}

#define KEY_FUNCTION(name_, key_)                                                                  \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_MAP, .in = {GLINT_I64, GLINT_MSGPACK},                   \
        .out = {key_, GLINT_SAME}, .state_size = sizeof(struct segment_key_state),                 \
        .open = segment_key_init, .each = segment_key_emit                                         \
    }

const struct glint_function segments_key_number =
    KEY_FUNCTION("bloom.rating_of_segment", GLINT_I64);
const struct glint_function segments_key_text = KEY_FUNCTION("bloom.text_of_segment", GLINT_TEXT);

/* ---- The driver */

int segments_check_memory(struct glint *g, const struct sizes *sizes, uint32_t log2)
{
    const uint64_t need = 2 * segments_bytes(sizes, log2), have = glint_slot_memory(g);
    if (need <= have) return 0;
    return glint_abort(g, GLINT_E_MEMORY_LIMIT,
                       "raise --memory, or build with a smaller --segment-size",
                       "segments of %llu bits need %llu bytes per slot, --memory gives %llu",
                       1ull << log2, (unsigned long long)need, (unsigned long long)have);
}

int segments_parse_size(struct glint *g, const struct sizes *sizes, const char *bits,
                        uint32_t *out_log2)
{
    int64_t size = 1 << SEGMENTS_LOG2_DEFAULT;
    if (bits != NULL &&
        (!glint_parse_i64((struct glint_slice){(const uint8_t *)bits, strlen(bits)}, &size) ||
         size < 1 << BLOOM_SEGMENT_LOG2_MIN || size > (int64_t)1 << BLOOM_SEGMENT_LOG2_MAX ||
         (size & (size - 1)) != 0))
        return glint_abort(g, GLINT_E_BAD_VALUE, "use for example 16777216, which is 2 MiB",
                           "--segment-size \"%s\" is not a power of two from 512 to 2147483648",
                           bits);
    *out_log2 = (uint32_t)__builtin_ctzll((uint64_t)size);
    if (segments_check_memory(g, sizes, *out_log2) != 0) return glint_error(g)->code;
    const uint64_t total = segments_total(sizes, *out_log2);
    if (glint_explaining(g))
        glint_note(g, "segments: %llu, of up to %lld bits", (unsigned long long)total,
                   (long long)size);
    if (total <= SEGMENTS_MAX) return 0;
    return glint_abort(g, GLINT_E_FILTER_LIMIT, "use a larger size",
                       "--segment-size %lld gives %llu segments, the limit is %u", (long long)size,
                       (unsigned long long)total, (unsigned)SEGMENTS_MAX);
}

uint64_t segments_add_to_build_hash(uint64_t more, const void *data, uint64_t size)
{
    return XXH3_64bits_withSeed(data, size, more);
}

uint64_t segments_build_id(const struct sizes *sizes, uint32_t log2, uint64_t more)
{
    assert(sizes->count > 0);
    for (uint32_t i = 0; i < sizes->count; i++) {
        const struct bloom_params *p = &sizes->params[i];
        const uint64_t row[] = {more, p->n, p->m, p->k, p->scheme, p->layout, log2, sizes->text};
        more = XXH3_64bits(row, sizeof row);
        if ((p->hash_seed[0] | p->hash_seed[1]) != 0)
            more = XXH3_64bits_withSeed(p->hash_seed, sizeof p->hash_seed, more);
        const union glint_value *key = &sizes->keys[i];
        more = sizes->text ? XXH3_64bits_withSeed(key->bytes.data, key->bytes.size, more)
                           : XXH3_64bits_withSeed(&key->i64, sizeof key->i64, more);
    }
    return more;
}

struct glint_rdd *segments_pipeline(struct glint_rdd *lines, const struct sizes *sizes,
                                    const struct fields *fields, uint32_t log2, uint64_t build)
{
    if (lines == NULL) return NULL;
    struct glint_args *args = glint_args(glint_context(lines));
    fields_args(args, fields);
    glint_args_add_i64(args, "segment", log2);
    glint_args_add_i64(args, "build", (int64_t)build);
    glint_args_add_broadcast(args, "sizes", sizes_broadcast(glint_context(lines), sizes));
    struct glint_rdd *lists = glint_map_partitions(lines, &segments_lists_of_rows, args);
    struct glint_rdd *joined = glint_reduce_by_key(lists, &bloom_extend, NULL);
    struct glint_rdd *filled = glint_map_values(joined, &segments_fill, args);
    return glint_map(filled, sizes->text ? &segments_key_text : &segments_key_number, args);
}
