/* Sizes from records that tasks return: parsed lines, counts, or filters. */
#include "jobs/filters/sizes_from.h"

#include "jobs/filters/bloom_functions.h"
#include "jobs/filters/filter_report.h"
#include "jobs/filters/size_lines.h"
#include "jobs/rows/task_results.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows of (key, parameters), sorted, into sizes */

struct size_entry {
    union glint_value key; /* text: an offset into `data` until all is read */
    struct bloom_params params;
};

enum { MEMORY_SHARE = 8 }; /* sizes of a file may use 1/MEMORY_SHARE of a slot's memory */

/* The source of the records, with its error texts for no records and for duplicate keys. */
enum sizes_origin { COUNTED, COUNTS_FILE, PARAMS_FILE, FILTERS };

static const struct {
    enum glint_code none, twice;
    const char *what, *none_hint, *twice_hint;
} origins[] = {
    [COUNTED] = {GLINT_E_COUNTS_INVALID, GLINT_E_COUNTS_INVALID, "keys",
                 "the input, or the sample of it, is empty, or no row is valid", NULL},
    [COUNTS_FILE] = {GLINT_E_COUNTS_INVALID, GLINT_E_COUNTS_INVALID, "counts",
                     "run count-keys on the same input first; it must have rows",
                     "count each key once"},
    [PARAMS_FILE] = {GLINT_E_PARAMS_INVALID, GLINT_E_PARAMS_INVALID, "sizes",
                     "run params on the same input first; it must have rows",
                     "write one line for each key"},
    [FILTERS] = {GLINT_E_FILTER_INVALID, GLINT_E_FILTER_MISMATCH, "filters",
                 "use the output of bloom-build", NULL},
};

struct entries {
    struct glint *g;
    bool text;
    enum sizes_origin origin;
    const char *about;
    struct size_entry *items;
    uint32_t count, capacity;
    uint8_t *memory;
    uint64_t used, memory_size;
    struct sizes *out; /* receives the seeds of the filters */
};

static bool is_from_file(const struct entries *e)
{
    return e->origin == COUNTS_FILE || e->origin == PARAMS_FILE;
}

static void *grow_entries_array(struct glint *g, void *old, uint64_t used, uint64_t size)
{
    void *memory = glint_alloc(g, size);
    if (memory == NULL) return NULL;
    if (used > 0) memcpy(memory, old, used);
    glint_free(old);
    return memory;
}

static int reserve_entry(struct entries *e, uint64_t text)
{
    if (e->count == e->capacity) {
        uint32_t capacity = e->capacity > 0 ? 2 * e->capacity : 64;
        struct size_entry *items =
            grow_entries_array(e->g, e->items, sizeof *items * e->count, sizeof *items * capacity);
        if (items == NULL) return glint_error(e->g)->code;
        e->items = items;
        e->capacity = capacity;
    }
    if (e->memory == NULL || e->used + text > e->memory_size) { /* also for an empty key */
        uint64_t size = 2 * (e->used + text) + 4096;
        uint8_t *memory = grow_entries_array(e->g, e->memory, e->used, size);
        if (memory == NULL) return glint_error(e->g)->code;
        e->memory = memory;
        e->memory_size = size;
    }
    return 0;
}

/* Returns true if one more would be too many to broadcast: they may use as much of a slot's memory
 * as the build side of a join. */
static bool are_size_entries_too_large(const struct entries *e, uint64_t text)
{
    const uint64_t bytes =
        (e->count + 1) * (sizeof *e->items + sizeof(union glint_value)) + e->used;
    return e->count == BLOOM_SET_MAX ||
           (is_from_file(e) && bytes + text > glint_slot_memory(e->g) / MEMORY_SHARE);
}

static int add_key_size(struct entries *e, const union glint_value *key,
                        const struct bloom_params *params)
{
    uint64_t text = e->text ? key->bytes.size : 0;
    if (are_size_entries_too_large(e, text) && is_from_file(e)) return SIZES_TOO_MANY;
    if (are_size_entries_too_large(e, text))
        return glint_abort(e->g, GLINT_E_FILTER_LIMIT, NULL, "%s: more than %d keys", e->about,
                           BLOOM_SET_MAX);
    if (reserve_entry(e, text) != 0) return glint_error(e->g)->code;
    struct size_entry *entry = &e->items[e->count++];
    *entry = (struct size_entry){*key, *params};
    if (!e->text) return 0;
    if (text > 0) memcpy(e->memory + e->used, key->bytes.data, text);
    entry->key.bytes.data = (const uint8_t *)(uintptr_t)e->used;
    e->used += text;
    return 0;
}

static int compare_entries_by_number(const void *a, const void *b)
{
    int64_t x = ((const struct size_entry *)a)->key.i64,
            y = ((const struct size_entry *)b)->key.i64;
    return (x > y) - (x < y);
}

static int compare_entries_by_text(const void *a, const void *b)
{
    const struct glint_slice *x = &((const struct size_entry *)a)->key.bytes;
    const struct glint_slice *y = &((const struct size_entry *)b)->key.bytes;
    uint64_t size = x->size < y->size ? x->size : y->size;
    int c = size > 0 ? memcmp(x->data, y->data, size) : 0;
    return c != 0 ? c : (x->size > y->size) - (x->size < y->size);
}

static int make_sizes_of_entries(struct entries *e, struct sizes *out)
{
    int (*compare)(const void *, const void *) =
        e->text ? compare_entries_by_text : compare_entries_by_number;
    for (uint32_t i = 0; e->text && i < e->count; i++)
        e->items[i].key.bytes.data = e->memory + (uintptr_t)e->items[i].key.bytes.data;
    qsort(e->items, e->count, sizeof *e->items, compare);
    out->text = e->text;
    out->count = e->count;
    out->keys = glint_alloc(e->g, sizeof *out->keys * e->count);
    out->params = glint_alloc(e->g, sizeof *out->params * e->count);
    out->present = glint_alloc(e->g, e->count);
    if (out->keys == NULL || out->params == NULL || out->present == NULL)
        return glint_error(e->g)->code;
    for (uint32_t i = 0; i < e->count; i++) {
        assert(i == 0 || compare(&e->items[i - 1], &e->items[i]) <= 0);
        if (i > 0 && compare(&e->items[i - 1], &e->items[i]) == 0) {
            char key[256];
            sizes_key_text(out, i - 1, key, sizeof key);
            return glint_abort(e->g, origins[e->origin].twice, origins[e->origin].twice_hint,
                               "%s: duplicate key (%s)", e->about, key);
        }
        out->keys[i] = e->items[i].key;
        out->params[i] = e->items[i].params;
        out->present[i] = true;
        out->rows += out->params[i].n;
        out->bits_bytes += bloom_bytes(out->params[i].m);
    }
    return 0;
}

/* Explain has no records: one filter of the whole input represents them. */
static int add_explain_entry(struct entries *e, const struct glint_rdd *rdd)
{
    struct bloom_params params;
    union glint_value key = {.i64 = 0};
    if (e->text) key.bytes = (struct glint_slice){(const uint8_t *)"key", 3};
    enum bloom_result result =
        bloom_params_for(BLOOM_SPARK, sizes_estimate_rows(rdd), 0.01, &params);
    return result == BLOOM_OK ? add_key_size(e, &key, &params)
                              : sizes_set_error(e->g, result, e->about);
}

/* Collects records with `row`, sorts them, and frees the collected entries. */
static int collect_and_sort_entries(struct entries *e, struct glint_rdd *rdd,
                                    int (*row)(void *arg, const struct glint_record *record),
                                    struct sizes *out)
{
    *out = (struct sizes){.own = e->origin == PARAMS_FILE};
    e->out = out;
    int r = glint_collect_each(rdd, row, e);
    if (r == 0 && e->count == 0 && !is_from_file(e) && glint_explaining(e->g))
        r = add_explain_entry(e, rdd);
    if (r == 0 && e->count == 0)
        r = glint_abort(e->g, origins[e->origin].none, origins[e->origin].none_hint, "%s: no %s",
                        e->about, origins[e->origin].what);
    if (r == 0) r = make_sizes_of_entries(e, out);
    glint_free(e->items);
    if (out->keys != NULL)
        out->memory = e->memory;
    else
        glint_free(e->memory);
    return r;
}

static int collect_count(void *arg, const struct glint_record *record)
{
    struct entries *e = arg;
    if (record->value.i64 <= 0) return task_result_fail(e->g, "a count that is not positive");
    struct bloom_params params = {.n = (uint64_t)record->value.i64};
    return add_key_size(e, &record->key, &params);
}

int sizes_from_counts(struct glint_rdd *counts, bool text, struct sizes *out)
{
    *out = (struct sizes){.count = 0};
    if (counts == NULL) return GLINT_E_PLAN_FUNCTION;
    struct entries e = {
        .g = glint_context(counts), .text = text, .origin = COUNTED, .about = "the input"};
    return collect_and_sort_entries(&e, counts, collect_count, out);
}

/* ---- COUNTS, PARAMS */

static int collect_size_line(void *arg, const struct glint_record *record)
{
    struct entries *e = arg;
    struct size_line line;
    if (!size_line_read(record->value.bytes, &line))
        return task_result_fail(e->g, "an invalid line of sizes");
    struct bloom_params params = {.n = line.n, .m = line.m, .k = line.k};
    return add_key_size(e, &record->key, &params);
}

int sizes_read_from_source(struct glint *g, const struct sizes_source *source,
                           const struct fields *fields, const struct bloom_sizing *sizing,
                           struct sizes *out)
{
    *out = (struct sizes){.count = 0};
    struct entries e = {.g = g,
                        .text = fields_key_type(fields) == GLINT_TEXT,
                        .origin = source->params ? PARAMS_FILE : COUNTS_FILE,
                        .about = source->path};
    struct glint_rdd *lines = size_lines_rdd(g, source, fields);
    const int r = lines != NULL ? collect_and_sort_entries(&e, lines, collect_size_line, out)
                                : glint_error(g)->code;
    return r == 0 ? sizes_compute_params(g, out, sizing) : r;
}

/* ---- Filters */

static int set_filter_size_error(struct glint *g, enum glint_code code, const char *about,
                                 bool text, const union glint_value *key, const char *what)
{
    char shown[256];
    bloom_format_key(text, key, shown, sizeof shown);
    return glint_abort(g, code, NULL, "%s: the filter of key %s: %s", about, shown, what);
}

/* What a task sends of a filter, whose bits stay where they are; then the seeds. The driver is of
 * the same build. */
struct filter_head {
    int32_t result; /* of decoding it */
    uint32_t scheme, layout, k, id_type, seeds;
    uint64_t n, m, hash_seed[2];
};
static_assert(sizeof(struct filter_head) == 56, "no padding");

static void emit_filter_params(const struct glint_record *in, enum bloom_result result,
                               const struct bloom_params *p, struct glint_emitter *out)
{
    uint8_t bytes[sizeof(struct filter_head) + BLOOM_SEEDS_MAX * BLOOM_SEED_BYTES];
    const uint32_t seeds = p->seeds != NULL ? p->k * BLOOM_SEED_BYTES : 0;
    const struct filter_head head = {.result = result,
                                     .scheme = p->scheme,
                                     .layout = p->layout,
                                     .k = p->k,
                                     .id_type = p->id_type,
                                     .seeds = seeds,
                                     .n = p->n,
                                     .m = p->m,
                                     .hash_seed = {p->hash_seed[0], p->hash_seed[1]}};
    memcpy(bytes, &head, sizeof head);
    assert(sizeof head + seeds <= sizeof bytes);
    if (seeds > 0) memcpy(bytes + sizeof head, p->seeds, seeds);
    const struct glint_record record = {.key = in->key,
                                        .value.bytes = {bytes, sizeof head + seeds}};
    glint_emit(out, &record);
}

static int emit_filter_head(struct glint_task *task, void *state, const struct glint_record *in,
                            struct glint_emitter *out)
{
    (void)task, (void)state;
    struct bloom_filter filter;
    const struct glint_slice value = in->value.bytes;
    emit_filter_params(in, bloom_decode(value.data, value.size, &filter), &filter.params, out);
    return 0;
}

static int emit_params_of_first_bytes(struct glint_task *task, void *state,
                                      const struct glint_record *in, struct glint_emitter *out)
{
    (void)task, (void)state;
    struct bloom_params params = {.n = 0};
    const struct glint_slice value = in->value.bytes;
    emit_filter_params(in, bloom_decode_header(value.data, value.size, &params), &params, out);
    return 0;
}

const struct glint_function sizes_filter_head = {.name = "bloom.head",
                                                 .kind = GLINT_KIND_MAP,
                                                 .in = {GLINT_ANY, GLINT_MSGPACK},
                                                 .out = {GLINT_SAME, GLINT_BYTES},
                                                 .each = emit_filter_head};

const struct glint_function sizes_filter_begin = {.name = "bloom.begin",
                                                  .kind = GLINT_KIND_MAP,
                                                  .in = {GLINT_ANY, GLINT_MSGPACK},
                                                  .out = {GLINT_SAME, GLINT_BYTES},
                                                  .each = emit_params_of_first_bytes};

/* Seeds are borrowed from the bytes. Returns false if they are none that a task sends. */
static bool decode_filter_head(struct glint_slice bytes, enum bloom_result *out_result,
                               struct bloom_params *out)
{
    struct filter_head head;
    if (bytes.size < sizeof head) return false;
    memcpy(&head, bytes.data, sizeof head);
    *out_result = (enum bloom_result)head.result;
    if (head.seeds != bytes.size - sizeof head) return false;
    *out = (struct bloom_params){.scheme = (enum bloom_scheme)head.scheme,
                                 .layout = (enum bloom_layout)head.layout,
                                 .n = head.n,
                                 .m = head.m,
                                 .k = head.k,
                                 .id_type = head.id_type,
                                 .seeds = head.seeds > 0 ? bytes.data + sizeof head : NULL,
                                 .hash_seed = {head.hash_seed[0], head.hash_seed[1]}};
    return head.result != BLOOM_OK ||
           (bloom_params_check(out) == BLOOM_OK &&
            head.seeds == (out->seeds != NULL ? head.k * BLOOM_SEED_BYTES : 0));
}

static int collect_filter_params(void *arg, const struct glint_record *record)
{
    struct entries *e = arg;
    struct bloom_params found, *params = &found;
    enum bloom_result result = BLOOM_OK;
    if (!decode_filter_head(record->value.bytes, &result, &found))
        return task_result_fail(e->g, "invalid parameters of a filter");
    if (result != BLOOM_OK)
        return set_filter_size_error(e->g, GLINT_E_FILTER_INVALID, e->about, e->text, &record->key,
                                     bloom_strerror(result));
    if (e->count == 0 && sizes_set_seeds(e->g, e->out, params->seeds, params->k) != 0)
        return glint_error(e->g)->code;
    const struct bloom_params pair[2] = {e->count > 0 ? e->items[0].params : *params, *params};
    if (bloom_set_check(pair, 2) != BLOOM_OK)
        return set_filter_size_error(
            e->g, GLINT_E_FILTER_MISMATCH, e->about, e->text, &record->key,
            "its scheme, layout, seeds, type of ids or k do not match those of the other filters");
    params->seeds = e->out->seeds; /* the record is freed */
    return add_key_size(e, &record->key, params);
}

static int sizes_from_params(struct glint_rdd *filters, const struct glint_function *function,
                             bool text, const char *about, struct sizes *out)
{
    *out = (struct sizes){.count = 0};
    if (filters == NULL) return GLINT_E_PLAN_FUNCTION;
    struct entries e = {
        .g = glint_context(filters), .text = text, .origin = FILTERS, .about = about};
    struct glint_rdd *params = glint_map_values(filters, function, NULL);
    if (params == NULL) return glint_error(e.g)->code;
    return collect_and_sort_entries(&e, params, collect_filter_params, out);
}

int sizes_from_filters(struct glint_rdd *filters, bool text, const char *about, struct sizes *out)
{
    return sizes_from_params(filters, &sizes_filter_head, text, about, out);
}

int sizes_from_heads(struct glint_rdd *heads, bool text, const char *about, struct sizes *out)
{
    return sizes_from_params(heads, &sizes_filter_begin, text, about, out);
}

int sizes_check_text_ids(struct glint *g, const struct sizes *sizes, const char *about)
{
    char type[BLOOM_ID_NAME_MAX];
    assert(sizes->count > 0);
    if (sizes->params[0].id_type == 0) return 0;
    bloom_id_type_name(sizes->params[0].id_type, type);
    return glint_abort(g, GLINT_E_FILTER_MISMATCH,
                       "bloom-test, filter-rows and glint filter query read such filters",
                       "%s: the ids of its filters are %s, this job has texts", about, type);
}

struct blob_builder {
    struct glint *g;
    struct sizes *sizes;
    const char *about;
    uint8_t *blob;
    uint64_t *bits_set;
    double *rate;
};

static int collect_filter_for_broadcast(void *arg, const struct glint_record *record)
{
    struct blob_builder *c = arg;
    struct sizes *s = c->sizes;
    struct bloom_filter filter;
    const struct glint_slice *bytes = &record->value.bytes;
    enum bloom_result result = bloom_decode(bytes->data, bytes->size, &filter);
    if (result != BLOOM_OK)
        return set_filter_size_error(c->g, GLINT_E_FILTER_INVALID, c->about, s->text, &record->key,
                                     bloom_strerror(result));
    uint32_t number = sizes_find_key(s, &record->key);
    if (number == SIZES_NONE || s->present[number] || s->params[number].m != filter.params.m)
        return set_filter_size_error(c->g, GLINT_E_FILTER_MISMATCH, c->about, s->text, &record->key,
                                     "it does not match its size");
    s->present[number] = true;
    memcpy(bloom_blob_bits(c->blob, number), filter.bits, bloom_bytes(filter.params.m));
    if (glint_is_observed(c->g)) {
        char key[256];
        bloom_format_key(s->text, &record->key, key, sizeof key);
        report_filter_fill(c->g, key, &filter);
    }
    if (c->bits_set != NULL) c->bits_set[number] = bloom_bits_set(&filter);
    if (c->rate != NULL) c->rate[number] = bloom_rate_from_bits(&filter);
    return 0;
}

struct glint_broadcast *filters_broadcast(struct glint_rdd *filters, struct sizes *sizes,
                                          const char *about, uint64_t *out_bits_set,
                                          double *out_rate)
{
    if (filters == NULL) return NULL;
    assert(sizes->count > 0 && sizes->count <= BLOOM_SET_MAX);
    struct blob_builder c = {.g = glint_context(filters),
                             .sizes = sizes,
                             .about = about,
                             .bits_set = out_bits_set,
                             .rate = out_rate};
    const uint64_t size = bloom_blob_size(sizes->params, sizes->count);
    c.blob = glint_alloc(c.g, size);
    if (c.blob == NULL) return NULL;
    memset(sizes->present, 0, sizes->count);
    enum bloom_result result = bloom_blob_begin(c.blob, sizes->params, sizes->count);
    int r = result == BLOOM_OK ? 0 : sizes_set_error(c.g, result, about);
    if (r == 0) r = glint_collect_each(filters, collect_filter_for_broadcast, &c);
    if (r != 0) {
        glint_free(c.blob);
        return NULL;
    }
    return glint_broadcast(c.g, c.blob, size);
}
