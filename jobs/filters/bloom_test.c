/* bloom-test: the false positives of each key's filter over rows that were not put in.
 *
 *     row -> (key, (hit in the filter of its own key, 1)) -> reduceByKey(+) -> (key, (hits, rows,
 * rate))
 *
 * Hits and rows are summed per partition before the shuffle. A row whose key has no filter is
 * counted as "no filter", never as a false positive. */
#include "engine/batch.h"
#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/filter_report.h"
#include "jobs/filters/ids.h"
#include "jobs/filters/segments.h"
#include "jobs/filters/sizes.h"
#include "jobs/rows/fields_kernel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- The last steps in segments: from the numbers of missed rows to hits per key, and the whole
 * chain. */

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

/* (key, bloom_tally) of the rows in `lines`, looked up in the segments of `filters`, which are
 * complete; `sizes` are theirs. */
static struct glint_rdd *segments_test_filters(struct glint_rdd *lines, struct glint_rdd *filters,
                                               const struct sizes *sizes,
                                               const struct fields *fields, uint32_t log2)
{
    assert(log2 >= BLOOM_SEGMENT_LOG2_MIN && log2 <= BLOOM_SEGMENT_LOG2_MAX);
    if (lines == NULL || filters == NULL) return NULL;
    struct glint_args *args = glint_args(glint_context(lines));
    fields_args(args, fields);
    glint_args_add_i64(args, "segment", log2);
    glint_args_add_broadcast(args, "sizes", sizes_broadcast(glint_context(lines), sizes));
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

/* ---- Which segments exist. The bits stay in the tasks, which verify them; the driver collects the
 * headers and checks that the segments are complete. */

struct segments_heads {
    struct segments_head {
        uint32_t number;              /* number of the key */
        struct bloom_segment segment; /* without bits */
    } * items;
    uint64_t count, capacity;
};

/* log2 of a segment's bits, after the check. */
static inline uint32_t segments_heads_log2(const struct segments_heads *heads)
{
    return (uint32_t)__builtin_ctzll(heads->items[0].segment.size);
}

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

static const struct glint_function segments_head_of = {.name = "bloom.segment_head",
                                                       .kind = GLINT_KIND_MAP,
                                                       .in = {GLINT_ANY, GLINT_MSGPACK},
                                                       .out = {GLINT_SAME, GLINT_BYTES},
                                                       .state_size = sizeof(struct head_state),
                                                       .open = segment_head_init,
                                                       .each = emit_segment_head};

/* Filters as in the file; of segments, only the header, after verification. Takes a msgpack file of
 * filters, gives (key, bytes). */
static struct glint_rdd *segments_heads_rdd(struct glint_rdd *filters, bool text)
{
    if (filters == NULL) return NULL;
    struct glint_args *args = glint_args(glint_context(filters));
    glint_args_add_i64(args, "text", text);
    return glint_map(filters, &segments_head_of, args);
}

/* ---- The list on the driver */

static int segments_heads_add(struct glint *g, struct segments_heads *h, uint32_t number,
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

/* Call after the last add: checks that each filter is complete and that all are from one build.
 * Returns 0, or FILTER_MISMATCH or FILTER_INVALID naming `path` and the key. */
static int segments_heads_check(struct glint *g, struct segments_heads *h,
                                const struct sizes *sizes, const char *path)
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

/* accepts zeros */
static void segments_heads_fini(struct segments_heads *h)
{
    glint_free(h->items);
    *h = (struct segments_heads){.items = NULL};
}

/* ---- bloom.test_rating, bloom.test_text */

struct test_state {
    struct bloom_input input;
    struct bloom_set set;
    struct bloom_tally *tallies;
    int no_filter;
    uint8_t hit[FIELDS_ROWS_MAX];
};

static int bloom_test_init(struct glint_task *task, void *state)
{
    struct test_state *s = state;
    int r = bloom_input_open(task, &s->input);
    if (r == 0) r = bloom_open_filters(task, &s->set);
    if (r != 0) return r;
    assert(s->set.count == s->input.sizes.count);
    s->no_filter = glint_counter(task, BLOOM_NO_FILTER);
    s->tallies = glint_scratch(task, sizeof *s->tallies * s->set.count);
    if (s->no_filter < 0 || s->tallies == NULL) return GLINT_E_NO_MEMORY;
    memset(s->tallies, 0, sizeof *s->tallies * s->set.count);
    return 0;
}

/* With few filters, a kernel counts one filter after the other. */
static void tally_rows_per_filter(struct test_state *s, const uint16_t *filter, uint32_t rows)
{
    const struct fields_kernel *kernel = s->input.fields.kernel;
    uint32_t counts[FIELDS_TABLE];
    if (kernel != NULL && kernel->count != NULL && s->set.count <= FIELDS_TABLE) {
        kernel->count(filter, rows, s->set.count, counts);
        for (uint32_t f = 0; f < s->set.count; f++) s->tallies[f].rows += counts[f];
        return;
    }
    for (uint32_t row = 0; row < rows; row++) s->tallies[filter[row]].rows++;
}

/* Eight at once: few unseen ids are hits. */
static void tally_hits_per_filter(struct test_state *s, const uint16_t *filter, uint32_t rows)
{
    static_assert(FIELDS_ROWS_MAX % 8 == 0, "the last eight are in the array");
    for (uint32_t row = 0; row < rows; row += 8) {
        uint64_t eight;
        memcpy(&eight, s->hit + row, sizeof eight);
        for (uint32_t i = row; eight != 0 && i < row + 8 && i < rows; i++)
            s->tallies[filter[i]].hits += s->hit[i];
    }
}

static int bloom_test_rows(struct glint_task *task, void *state, const struct glint_batch *in,
                           struct glint_emitter *out)
{
    (void)out;
    struct test_state *s = state;
    struct bloom_rows rows;
    int r = bloom_input_parse_known_rows(&s->input, task, in, s->no_filter, &rows);
    if (r != 0) return r;
    bloom_set_contains_rows(&s->set, &rows, s->hit);
    assert(rows.rows <= in->rows);
    tally_rows_per_filter(s, rows.filter, rows.rows);
    tally_hits_per_filter(s, rows.filter, rows.rows);
    return 0;
}

static int bloom_test_emit_tallies(struct glint_task *task, void *state, struct glint_emitter *out)
{
    (void)task;
    struct test_state *s = state;
    for (uint32_t i = 0; i < s->set.count; i++) {
        if (s->tallies[i].rows == 0) continue;
        struct glint_record record = {
            .key = s->input.sizes.keys[i],
            .value.bytes = {(const uint8_t *)&s->tallies[i], sizeof s->tallies[i]}};
        glint_emit(out, &record);
    }
    return 0;
}

static void bloom_test_fini(struct glint_task *task, void *state)
{
    (void)task;
    bloom_set_fini(&((struct test_state *)state)->set);
}

#define TEST_FUNCTION(name_, key_)                                                                 \
    {                                                                                              \
        .name = name_, .kind = GLINT_KIND_FLAT_MAP, .in = {GLINT_ANY, GLINT_TEXT},                 \
        .out = {key_, GLINT_BYTES}, .state_size = sizeof(struct test_state),                       \
        .open = bloom_test_init, .batch = bloom_test_rows, .end = bloom_test_emit_tallies,         \
        .close = bloom_test_fini                                                                   \
    }

const struct glint_function bloom_test_rating = TEST_FUNCTION("bloom.test_rating", GLINT_I64);
const struct glint_function bloom_test_text = TEST_FUNCTION("bloom.test_text", GLINT_TEXT);

/* ---- bloom.add_tallies */

static int add_tallies(struct glint_task *task, void *state, struct glint_acc *acc,
                       const union glint_value *value)
{
    (void)state;
    struct bloom_tally a, b;
    int r = bloom_tally_decode(task, acc->value.bytes, &a);
    if (r == 0) r = bloom_tally_decode(task, value->bytes, &b);
    if (r != 0) return r;
    a.hits += b.hits;
    a.rows += b.rows;
    memcpy(glint_acc_bytes(acc), &a, sizeof a);
    return 0;
}

const struct glint_function bloom_add_tallies = {.name = "bloom.add_tallies",
                                                 .kind = GLINT_KIND_REDUCE,
                                                 .in = {GLINT_ANY, GLINT_BYTES},
                                                 .out = {GLINT_SAME, GLINT_SAME},
                                                 .merge = add_tallies};

/* ---- The filters: collects them one by one into the blob that is broadcast; of filters in
 * segments only which segments exist */

struct filter_loader {
    struct glint *g;
    const char *path;
    const struct glint_job_args *args;
    const struct sizes_source *source;
    struct sizes *sizes;
    struct fields *fields; /* which get the filters' type of ids */
    bool started;
    uint8_t *
        *kept;     /* [count] of a static layout: copies of the bits, until their sizes are known */
    uint8_t *blob; /* NULL: in segments */
    uint64_t blob_size;
    struct segments_heads heads;
};

static int set_filter_loader_error(const struct filter_loader *c, enum glint_code code,
                                   const char *key, const char *what)
{
    return glint_abort(c->g, code, bloom_mismatch_hint(c->source->params),
                       "%s: the filter of key %s: %s", c->path, key, what);
}

/* The sizing that filters of this scheme, layout and seeds were built with. */
static int find_sizing_of_built_filter(const struct filter_loader *c,
                                       const struct bloom_params *kind, struct bloom_sizing *out)
{
    uint8_t seeds[BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES] = {0};
    enum bloom_result result = BLOOM_OK;
    *out = (struct bloom_sizing){.scheme = kind->scheme, .layout = kind->layout};
    if (!c->source->params)
        result = bloom_sizing_for_rate(kind->scheme, kind->layout, c->source->p, out);
    memcpy(out->hash_seed, kind->hash_seed, sizeof out->hash_seed);
    out->id_type = kind->id_type;
    if (sizes_use_id_type(c->g, c->args, c->path, kind, c->fields) != 0)
        return glint_error(c->g)->code;
    if (kind->seeds != NULL) memcpy(seeds, kind->seeds, kind->k * BLOOM_SEED_BYTES);
    if (result == BLOOM_OK && kind->seeds != NULL) result = bloom_sizing_seed(out, seeds);
    return result == BLOOM_OK ? 0 : sizes_set_error(c->g, result, c->path);
}

static int size_filters_of_keys(struct filter_loader *c, const struct bloom_params *kind)
{
    struct sizes *s = c->sizes;
    struct bloom_sizing sizing;
    assert(!c->started && s->count > 0);
    if (find_sizing_of_built_filter(c, kind, &sizing) != 0 ||
        sizes_compute_params(c->g, s, &sizing) != 0)
        return glint_error(c->g)->code;
    memset(s->present, 0, s->count);
    c->started = true;
    return 0;
}

static int allocate_filter_blob(struct filter_loader *c)
{
    struct sizes *s = c->sizes;
    c->blob_size = bloom_blob_size(s->params, s->count);
    c->blob = glint_alloc(c->g, c->blob_size);
    if (c->blob == NULL) return glint_error(c->g)->code;
    enum bloom_result result = bloom_blob_begin(c->blob, s->params, s->count);
    return result == BLOOM_OK ? 0 : sizes_set_error(c->g, result, c->path);
}

/* Prepares for the filters, when the first one has said what they are. */
static int allocate_filters_memory(struct filter_loader *c)
{
    const uint64_t size = sizeof *c->kept * c->sizes->count;
    if (!bloom_is_static(c->sizes->params[0].layout)) return allocate_filter_blob(c);
    c->kept = glint_alloc(c->g, size);
    if (c->kept == NULL) return glint_error(c->g)->code;
    memset(c->kept, 0, size);
    return 0;
}

/* P and COUNTS give the scheme and layout of a static filter; m follows from its ids. */
static bool has_wanted_size(const struct bloom_params *have, struct bloom_params want)
{
    if (bloom_is_static(have->layout)) want.m = have->m;
    return bloom_params_equal(have, &want);
}

/* Keeps the bits of a filter of a static layout. Returns 0 or the context's code. */
static int keep_static_bits(struct filter_loader *c, uint32_t number,
                            const struct bloom_filter *filter)
{
    const uint64_t bytes = bloom_bytes(filter->params.m);
    c->kept[number] = glint_alloc(c->g, bytes);
    if (c->kept[number] == NULL) return glint_error(c->g)->code;
    memcpy(c->kept[number], filter->bits, bytes);
    c->sizes->params[number].m = filter->params.m;
    c->sizes->params[number].n = filter->params.n;
    return 0;
}

/* Makes the blob of the filters of a static layout. A key without one has a byte, which is not
 * read.
 */
static int copy_kept_bits_to_blob(struct filter_loader *c)
{
    struct sizes *s = c->sizes;
    for (uint32_t i = 0; i < s->count; i++)
        if (c->kept[i] == NULL) s->params[i].m = 8;
    int r = allocate_filter_blob(c);
    for (uint32_t i = 0; i < s->count; i++) {
        if (r == 0 && c->kept[i] != NULL)
            memcpy(bloom_blob_bits(c->blob, i), c->kept[i], bloom_bytes(s->params[i].m));
        glint_free(c->kept[i]);
        c->kept[i] = NULL;
    }
    return r;
}

/* Finds the number of a filter's key and checks that its size is the one from P and COUNTS, or from
 * PARAMS. */
static int find_and_check_filter(struct filter_loader *c, const struct glint_record *record,
                                 const char *key, const struct bloom_params *have,
                                 uint32_t *out_number)
{
    struct sizes *s = c->sizes;
    char what[256];
    *out_number = sizes_find_key(s, &record->key);
    if (*out_number == SIZES_NONE)
        return set_filter_loader_error(c, GLINT_E_FILTER_MISMATCH, key,
                                       bloom_no_such_key_text(c->source->params));
    const struct bloom_params *want = &s->params[*out_number];
    if (has_wanted_size(have, *want)) return 0;
    bloom_mismatch_text(have, want, c->source->params, what, sizeof what);
    return set_filter_loader_error(c, GLINT_E_FILTER_MISMATCH, key, what);
}

static int collect_filter(struct filter_loader *c, const struct glint_record *record,
                          const char *key)
{
    struct sizes *s = c->sizes;
    struct bloom_filter filter;
    uint32_t number;
    enum bloom_result result =
        bloom_decode(record->value.bytes.data, record->value.bytes.size, &filter);
    if (result != BLOOM_OK)
        return set_filter_loader_error(c, GLINT_E_FILTER_INVALID, key, bloom_strerror(result));
    if (c->heads.count > 0)
        return set_filter_loader_error(c, GLINT_E_FILTER_MISMATCH, key,
                                       "it is whole, but other filters are in segments");
    if (!c->started &&
        (size_filters_of_keys(c, &filter.params) != 0 || allocate_filters_memory(c) != 0))
        return glint_error(c->g)->code;
    int r = find_and_check_filter(c, record, key, &filter.params, &number);
    if (r != 0) return r;
    if (s->present[number])
        return set_filter_loader_error(c, GLINT_E_FILTER_MISMATCH, key, "duplicate key");
    s->present[number] = true;
    if (c->kept != NULL && keep_static_bits(c, number, &filter) != 0)
        return glint_error(c->g)->code;
    if (c->kept == NULL)
        memcpy(bloom_blob_bits(c->blob, number), filter.bits, bloom_bytes(filter.params.m));
    report_filter_fill(c->g, key, &filter);
    return 0;
}

static int collect_segment_head(struct filter_loader *c, const struct glint_record *record,
                                const char *key)
{
    struct bloom_segment segment;
    uint32_t number;
    enum bloom_result result =
        bloom_segment_decode_header(record->value.bytes.data, record->value.bytes.size, &segment);
    if (result != BLOOM_OK)
        return set_filter_loader_error(c, GLINT_E_FILTER_INVALID, key, bloom_strerror(result));
    if (c->blob != NULL || c->kept != NULL)
        return set_filter_loader_error(c, GLINT_E_FILTER_MISMATCH, key,
                                       "it is in segments, but other filters are whole");
    if (!c->started && size_filters_of_keys(c, &segment.params) != 0)
        return glint_error(c->g)->code;
    int r = find_and_check_filter(c, record, key, &segment.params, &number);
    if (r != 0) return r;
    c->sizes->present[number] = true;
    return segments_heads_add(c->g, &c->heads, number, &segment);
}

static int collect_filter_record(void *arg, const struct glint_record *record)
{
    struct filter_loader *c = arg;
    const struct glint_slice *value = &record->value.bytes;
    char key[256];
    bloom_format_key(c->sizes->text, &record->key, key, sizeof key);
    return bloom_is_segment(value->data, value->size) ? collect_segment_head(c, record, key)
                                                      : collect_filter(c, record, key);
}

/* Reads FILTERS, and marks in the sizes which keys have a filter. Returns 0 or the context's code.
 */
static int collect_filters_and_heads(struct filter_loader *c, struct glint_rdd *filters)
{
    struct bloom_params widest = {.scheme = BLOOM_WIDE};
    struct glint_rdd *heads = segments_heads_rdd(filters, c->sizes->text);
    int r = glint_collect_each(heads, collect_filter_record, c);
    if (r == 0 && !c->started &&
        size_filters_of_keys(c, &widest) == 0) /* no filters: no row has one */
        r = allocate_filter_blob(c);
    if (r == 0 && c->kept != NULL) r = copy_kept_bits_to_blob(c);
    if (r == 0 && c->heads.count > 0) r = segments_heads_check(c->g, &c->heads, c->sizes, c->path);
    if (r == 0 && c->heads.count > 0)
        r = segments_check_memory(c->g, c->sizes, segments_heads_log2(&c->heads));
    return glint_error(c->g)->code != GLINT_OK ? glint_error(c->g)->code : r;
}

/* Broadcasts all filters together. */
static struct glint_rdd *test_by_broadcast(struct filter_loader *c, struct glint_rdd *lines,
                                           const struct fields *fields)
{
    struct glint *g = c->g;
    struct glint_args *function = glint_args(g);
    fields_args(function, fields);
    glint_args_add_broadcast(function, "sizes", sizes_broadcast(g, c->sizes));
    glint_args_add_broadcast(function, "filters", glint_broadcast(g, c->blob, c->blob_size));
    c->blob = NULL;
    const struct glint_function *test = c->sizes->text ? &bloom_test_text : &bloom_test_rating;
    struct glint_rdd *hits = glint_map_partitions(lines, test, function);
    return glint_reduce_by_key(hits, &bloom_add_tallies, NULL);
}

/* ---- Strategies */

enum test_strategy { TEST_AUTO, TEST_BROADCAST, TEST_IDS, TEST_STRATEGIES };
static const char *const strategy_names[TEST_STRATEGIES] = {"auto", "broadcast", "ids"};

static enum test_strategy read_test_strategy(const struct glint_job_args *args)
{
    const char *name = glint_job_option(args, "strategy");
    enum test_strategy strategy = TEST_AUTO;
    while (strcmp(name, strategy_names[strategy]) != 0) {
        strategy++;
        assert(strategy < TEST_STRATEGIES);
    }
    return strategy;
}

/* The sizing of the first filter, which must be that of all; if there is no filter, any sizing is
 * correct. */
static int first_filter_sizing(const struct filter_loader *c, struct glint_rdd *heads,
                               struct bloom_sizing *out_sizing)
{
    struct glint_rows rows = {.count = 0};
    struct bloom_filter filter = {.params = {.scheme = BLOOM_WIDE}};
    enum bloom_result result = BLOOM_OK;
    int r = glint_take(heads, 1, &rows);
    if (r == 0 && rows.count > 0) {
        const struct glint_slice bytes = glint_rows_at(&rows, 0).value.bytes;
        result = bloom_decode(bytes.data, bytes.size, &filter);
    }
    if (result == BLOOM_ERR_SEGMENT)
        r = glint_abort(
            c->g, GLINT_E_FILTER_INVALID, "use --strategy broadcast, for up to 4096 keys",
            "%s: the filters are in segments, but --strategy ids needs whole ones", c->path);
    else if (result != BLOOM_OK)
        r = glint_abort(c->g, GLINT_E_FILTER_INVALID, "use the output of bloom-build", "%s: %s",
                        c->path, bloom_strerror(result));
    if (r == 0) r = find_sizing_of_built_filter(c, &filter.params, out_sizing);
    glint_rows_free(&rows);
    return r;
}

/* Tallies by strategy ids. *out_java: the report is in the Hadoop program's format. Returns NULL
 * with the context's error set. */
static struct glint_rdd *test_by_ids(const struct filter_loader *c, struct glint_rdd *lines,
                                     struct glint_rdd *filters, const struct fields *fields,
                                     bool *out_java)
{
    struct bloom_sizing sizing;
    struct glint_rdd *heads = segments_heads_rdd(filters, fields_key_type(fields) == GLINT_TEXT);
    if (glint_explaining(c->g)) glint_note(c->g, "strategy: ids");
    if (first_filter_sizing(c, heads, &sizing) != 0) return NULL;
    *out_java = sizing.scheme == BLOOM_HADOOP;
    return ids_test_filters(lines, heads, c->path, c->source, fields, &sizing);
}

static struct glint_rdd *test_by_sizes(struct filter_loader *c, struct glint_rdd *lines,
                                       struct glint_rdd *filters, const struct fields *fields,
                                       bool *out_java)
{
    if (collect_filters_and_heads(c, filters) != 0) return NULL;
    *out_java = c->sizes->params[0].scheme == BLOOM_HADOOP;
    return c->blob != NULL ? test_by_broadcast(c, lines, fields)
                           : segments_test_filters(lines, filters, c->sizes, fields,
                                                   segments_heads_log2(&c->heads));
}

/* Runs the strategy and writes the report. Returns 0 or the context's code. */
static int test_rows_and_report(struct filter_loader *c, enum test_strategy strategy,
                                const struct fields *fields, const char *input, const char *output)
{
    const bool text = fields_key_type(fields) == GLINT_TEXT;
    const struct glint_schema schema = {text ? GLINT_TEXT : GLINT_I64, GLINT_MSGPACK};
    /* Only the keys and their counts are used: the filters contain their sizing. */
    const struct bloom_sizing sizing = {.scheme = BLOOM_WIDE, .k = 1, .bits = 1};
    struct glint_rdd *lines = fields_text_file(c->g, input, fields);
    bool java = false;
    int r = SIZES_TOO_MANY;
    if (strategy != TEST_IDS)
        r = sizes_read_from_source(c->g, c->source, fields, &sizing, c->sizes);
    if (r == SIZES_TOO_MANY && strategy == TEST_BROADCAST)
        r = sizes_set_too_many_error(c->g, c->source, strategy_names[strategy]);
    if (r < 0) return r;
    struct glint_rdd *filters = glint_msgpack_file_by_name(c->g, c->path, schema);
    struct glint_rdd *sums = r == SIZES_TOO_MANY ? test_by_ids(c, lines, filters, fields, &java)
                                                 : test_by_sizes(c, lines, filters, fields, &java);
    if (sums == NULL) return glint_error(c->g)->code;
    struct glint_rdd *report = glint_map(sums, &bloom_report_functions[text][java], NULL);
    return glint_save_as_text_file(report, output);
}

static int bloom_test_run(struct glint *g, const struct glint_job_args *args)
{
    const char *paths[3]; /* INPUT FILTERS OUTPUT */
    struct fields fields;
    struct sizes_source source;
    const enum test_strategy strategy = read_test_strategy(args);
    struct sizes sizes = {.count = 0};
    if (sizes_read_arguments(
            g, args, 5,
            "bloom-test P INPUT FILTERS COUNTS OUTPUT, or bloom-test --params PARAMS "
            "INPUT FILTERS OUTPUT",
            &source, paths) != 0 ||
        fields_read_options(g, args, paths[0], &fields) != 0)
        return glint_error(g)->code;
    struct filter_loader c = {.g = g,
                              .path = paths[1],
                              .args = args,
                              .source = &source,
                              .sizes = &sizes,
                              .fields = &fields};
    if (test_rows_and_report(&c, strategy, &fields, paths[0], paths[2]) == 0)
        sizes_warn_of_text_ids(g, args, paths[0], &fields);
    for (uint32_t i = 0; c.kept != NULL && i < sizes.count; i++) glint_free(c.kept[i]);
    glint_free(c.kept);
    glint_free(c.blob);
    segments_heads_fini(&c.heads);
    sizes_fini(&sizes);
    return glint_error(g)->code;
}

static const struct glint_job_option options[] = {
    FIELDS_OPTIONS,
    SIZES_FILTERS_ID_TYPE_OPTION,
    SIZES_PARAMS_OPTION,
    {"strategy", "auto|broadcast|ids", "auto",
     "broadcast: every process gets all filters; ids: rows and filters are shuffled by key; auto: "
     "ids if there are too many keys to broadcast"},
    {NULL, NULL, NULL, NULL}};

const struct glint_job bloom_test_job = {
    .name = "bloom-test",
    .summary = "measure the false positive rate of each key's filter",
    .help = "INPUT has rows that are not in the filters; FILTERS is the output of bloom-build for "
            "P and COUNTS, whole or in segments. Each row is looked up in the filter of its key. "
            "Saves one line per key: (KEY, (FALSE POSITIVES, ROWS, RATE)). With --params PARAMS, "
            "the only arguments are INPUT FILTERS OUTPUT.",
    .positional = {"P", "INPUT", "FILTERS", "COUNTS", "OUTPUT"},
    .positional_min = 3,
    .optional_with = "params",
    .outputs = {"OUTPUT"},
    .options = options,
    .functions = {&bloom_test_rating, &bloom_test_text, &bloom_add_tallies,
                  &bloom_report_functions[0][0], &bloom_report_functions[0][1],
                  &bloom_report_functions[1][0], &bloom_report_functions[1][1], &segments_head_of,
                  &segments_probes, &segments_bits, &segments_probe, &segments_rows,
                  &segments_missed_rating, &segments_missed_text, &segments_hits, &ids_test},
    .run = bloom_test_run};
