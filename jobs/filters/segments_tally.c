/* The last steps of bloom-test in segments: from the numbers of missed rows to hits per key, and
 * the whole chain. */
#include "engine/batch.h"
#include "jobs/filters/segments.h"

#include <assert.h>
#include <string.h>

/* ---- bloom.rating_missed, bloom.text_missed: (key, (missed, rows)) of a partition */

struct missed_state {
    struct sizes sizes;
    struct bloom_tally *tallies; /* `hits` counts misses until the sums are computed */
};

static int missed_rows_init(struct glint_task *task, void *state)
{
    struct missed_state *s = state;
    int r = sizes_open(task, &s->sizes);
    if (r != 0) return r;
    s->tallies = glint_scratch(task, sizeof *s->tallies * s->sizes.count);
    if (s->tallies == NULL) return GLINT_E_NO_MEMORY;
    memset(s->tallies, 0, sizeof *s->tallies * s->sizes.count);
    return 0;
}

static int count_missed_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                             struct glint_emitter *out)
{
    (void)out;
    struct missed_state *s = state;
    for (uint32_t row = 0; row < in->rows; row++) {
        const int64_t number = in->key.i64[row];
        const uint64_t key = number < 0 ? (uint64_t)(-1 - number) : segments_row_key(number);
        if (key >= s->sizes.count)
            return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "a row has an unknown key");
        if (number < 0)
            s->tallies[key].rows += (uint64_t)in->value.i64[row];
        else
            s->tallies[key].hits++;
    }
    return 0;
}

static int emit_missed_tallies(struct glint_task *task, void *state, struct glint_emitter *out)
{
    (void)task;
    struct missed_state *s = state;
    for (uint32_t i = 0; i < s->sizes.count; i++) {
        const struct bloom_tally *t = &s->tallies[i];
        if (t->rows == 0 && t->hits == 0) continue;
        struct glint_record record = {.key = s->sizes.keys[i],
                                      .value.bytes = {(const uint8_t *)t, sizeof *t}};
        glint_emit(out, &record);
    }
    return 0;
}

#define MISSED_FUNCTION(name_, key_)                                                               \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_FLAT_MAP, .in = {GLINT_I64, GLINT_I64},                  \
        .out = {key_, GLINT_BYTES}, .state_size = sizeof(struct missed_state),                     \
        .open = missed_rows_init, .batch = count_missed_rows, .end = emit_missed_tallies           \
    }

const struct glint_function segments_missed_rating =
    MISSED_FUNCTION("bloom.rating_missed", GLINT_I64);
const struct glint_function segments_missed_text = MISSED_FUNCTION("bloom.text_missed", GLINT_TEXT);

/* ---- bloom.hits: (key, (missed, rows)) -> (key, (hits, rows)) */

static int emit_segment_hits(struct glint_task *task, void *state, const struct glint_record *in,
                             struct glint_emitter *out)
{
    (void)state;
    struct bloom_tally t;
    int r = bloom_tally_decode(task, in->value.bytes, &t);
    if (r != 0) return r;
    if (t.hits > t.rows)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "more misses than rows");
    t.hits = t.rows - t.hits;
    struct glint_record record = {.key = in->key, .value.bytes = {(const uint8_t *)&t, sizeof t}};
    glint_emit(out, &record);
    return 0;
}

const struct glint_function segments_hits = {.name = "bloom.hits",
                                             .kind = GLINT_KIND_MAP,
                                             .in = {GLINT_ANY, GLINT_BYTES},
                                             .out = {GLINT_SAME, GLINT_SAME},
                                             .each = emit_segment_hits};

/* ---- The chain */

struct glint_rdd *segments_test_filters(struct glint_rdd *lines, struct glint_rdd *filters,
                                        const struct sizes *sizes, const struct fields *fields,
                                        uint32_t log2)
{
    assert(log2 >= BLOOM_SEGMENT_LOG2_MIN && log2 <= BLOOM_SEGMENT_LOG2_MAX);
    if (lines == NULL || filters == NULL) return NULL;
    struct glint_args *args = glint_args(glint_context(lines));
    fields_args(args, fields);
    glint_args_i64(args, "segment", log2);
    glint_args_broadcast(args, "sizes", sizes_broadcast(glint_context(lines), sizes));
    struct glint_rdd *probes = glint_map_partitions(lines, &segments_probes, args);
    struct glint_rdd *bits = glint_map(filters, &segments_bits, args);
    struct glint_rdd *both = glint_cogroup(bits, probes);
    struct glint_rdd *probed = glint_flat_map_values(both, &segments_probe, args);
    struct glint_rdd *rows = glint_map(probed, &segments_rows, args);
    struct glint_rdd *once = glint_reduce_by_key(rows, &GLINT_SUM_I64, NULL);
    const struct glint_function *missed =
        sizes->text ? &segments_missed_text : &segments_missed_rating;
    struct glint_rdd *tallies = glint_map_partitions(once, missed, args);
    /* As many partitions as a shuffle of only the lines: the report then equals that of unsegmented
     * filters. */
    const uint32_t parts = glint_partitions(glint_partition_by(probes, 0));
    struct glint_rdd *sums = glint_reduce_by_key(tallies, &bloom_add_tallies, NULL);
    return glint_map_values(glint_with_partitions(sums, parts), &segments_hits, NULL);
}
