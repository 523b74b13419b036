/* The bits stay in the tasks, which verify them; the driver collects the headers and checks that
 * the segments are complete. */
#include "jobs/filters/segments_heads.h"

#include "jobs/filters/bloom_functions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- bloom.segment_head */

struct head_state {
    int64_t text; /* keys are texts */
};

static int segment_head_init(struct glint_task *task, void *state)
{
    return glint_arg_i64(task, "text", &((struct head_state *)state)->text);
}

static int emit_segment_head(struct glint_task *task, void *state, const struct glint_record *in,
                             struct glint_emitter *out)
{
    const struct head_state *s = state;
    struct bloom_segment segment;
    struct glint_record record = *in;
    struct glint_slice *value = &record.value.bytes;
    if (bloom_is_segment(value->data, value->size)) {
        enum bloom_result result = bloom_segment_decode(value->data, value->size, &segment);
        char key[256];
        bloom_format_key(s->text, &in->key, key, sizeof key);
        if (result != BLOOM_OK)
            return glint_fail(task, GLINT_E_FILTER_INVALID, NULL, "a segment of key %s: %s", key,
                              bloom_strerror(result));
        value->size = (uint64_t)(segment.bits - value->data);
        assert(value->size <= BLOOM_SEGMENT_HEADER_MAX);
    }
    glint_emit(out, &record);
    return 0;
}

const struct glint_function segments_head_of = {.name = "bloom.segment_head",
                                                .kind = GLINT_KIND_MAP,
                                                .in = {GLINT_ANY, GLINT_MSGPACK},
                                                .out = {GLINT_SAME, GLINT_BYTES},
                                                .state_size = sizeof(struct head_state),
                                                .open = segment_head_init,
                                                .each = emit_segment_head};

struct glint_rdd *segments_heads_of(struct glint_rdd *filters, bool text)
{
    if (filters == NULL) return NULL;
    struct glint_args *args = glint_args(glint_context(filters));
    glint_args_i64(args, "text", text);
    return glint_map(filters, &segments_head_of, args);
}

/* ---- The list on the driver */

int segments_heads_add(struct glint *g, struct segments_heads *h, uint32_t number,
                       const struct bloom_segment *segment)
{
    if (h->count == h->capacity) {
        const uint64_t capacity = h->capacity > 0 ? 2 * h->capacity : 64;
        struct segments_head *items = glint_alloc(g, capacity * sizeof *items);
        if (items == NULL) return glint_error(g)->code;
        if (h->count > 0) memcpy(items, h->items, h->count * sizeof *items);
        glint_free(h->items);
        h->items = items;
        h->capacity = capacity;
    }
    assert(segment->bits == NULL && h->count < h->capacity);
    h->items[h->count++] = (struct segments_head){number, *segment};
    return 0;
}

static int compare_heads(const void *a, const void *b)
{
    const struct segments_head *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return (x->segment.index > y->segment.index) - (x->segment.index < y->segment.index);
}

/* Checks each header with the previous one, and finally the last. Returns OK, or an error with the
 * position in *out_at. */
static enum bloom_result check_all_heads(const struct segments_heads *h, uint64_t *out_at)
{
    enum bloom_result result = BLOOM_OK;
    for (uint64_t i = 0; result == BLOOM_OK && i < h->count; i++) {
        const struct segments_head *head = &h->items[i], *before = i > 0 ? head - 1 : NULL;
        const bool first = before == NULL || before->number != head->number;
        *out_at = i;
        if (before != NULL && before->segment.build != head->segment.build) return BLOOM_ERR_MIXED;
        if (before != NULL && first) result = bloom_segment_follows(&before->segment, NULL);
        if (result != BLOOM_OK) {
            *out_at = i - 1;
            return result;
        }
        result = bloom_segment_follows(first ? NULL : &before->segment, &head->segment);
    }
    return result == BLOOM_OK ? bloom_segment_follows(&h->items[h->count - 1].segment, NULL)
                              : result;
}

int segments_heads_check(struct glint *g, struct segments_heads *h, const struct sizes *sizes,
                         const char *path)
{
    uint64_t at = 0;
    char key[256];
    assert(h->count > 0);
    qsort(h->items, h->count, sizeof *h->items, compare_heads);
    enum bloom_result result = check_all_heads(h, &at);
    if (result == BLOOM_OK) return 0;
    sizes_key_text(sizes, h->items[at].number, key, sizeof key);
    return glint_abort(g,
                       result == BLOOM_ERR_MIXED ? GLINT_E_FILTER_MISMATCH : GLINT_E_FILTER_INVALID,
                       "name all files of one build, and no others",
                       "%s: the filter of key %s, at segment %llu: %s", path, key,
                       (unsigned long long)h->items[at].segment.index, bloom_strerror(result));
}

void segments_heads_fini(struct segments_heads *h)
{
    glint_free(h->items);
    *h = (struct segments_heads){.items = NULL};
}
