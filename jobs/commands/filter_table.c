/* The table of filters, and their look-ups; see filter_table.h. */
#include "jobs/commands/filter_table.h"

#include "engine/base/hash.h"
#include "engine/cli/signals.h"
#include "jobs/bloom/id_type.h"
#include "jobs/rows/id_values.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    KERNEL_IDS_MIN = 4,    /* fewer are looked up one by one in less time */
    VALUE_BYTES_FEW = 256, /* of a value without an allocation */
};

struct loader {
    struct filter_table *table;
    struct env *env;
    bool batches;
    struct glint_error *error;
};

static int add_filter(struct loader *l, const struct table_filter *filter)
{
    struct filter_table *t = l->table;
    if (!array_reserve(&t->filters, &t->capacity, t->count + 1, sizeof *t->filters))
        return error_no_memory(l->error);
    t->filters[t->count++] = *filter;
    return 0;
}

static int add_record(void *arg, struct filter_record *record)
{
    struct loader *l = arg;
    if (signals_pending() != GLINT_OK)
        return error_set(l->error, signals_pending(), NULL, "interrupted by a signal");
    if (filter_record_is_segment(record))
        return filter_parts_add(&l->table->parts, record, l->error);
    struct table_filter f = {.filter = record->filter};
    f.bits_set = bloom_bits_set(&f.filter);
    if (!filter_key_copy(&l->table->arena, &record->key, &f.key)) return error_no_memory(l->error);
    const enum bloom_result result =
        l->batches ? bloom_set_borrow(&f.set, &f.filter.params, 1, f.filter.bits) : BLOOM_OK;
    if (result != BLOOM_OK)
        return error_set(l->error, GLINT_E_NO_MEMORY, NULL, "%s", bloom_strerror(result));
    f.set.read_only = true;
    const int added = add_filter(l, &f);
    if (added != 0) bloom_set_fini(&f.set);
    return added;
}

/* Filters in segments: where the bits of each part are. */
static int add_segmented_filters(struct loader *l)
{
    struct filter_table *t = l->table;
    struct table_filter f = {.filter = {.bits = NULL}};
    if (filter_parts_check(&t->parts, l->error) != 0) return l->error->code;
    if (t->parts.count == 0) return 0;
    for (uint64_t at = 0; filter_parts_next(&t->parts, &at, &f.whole);) {
        f.key = f.whole.first->key;
        f.filter.params = f.whole.first->segment.params;
        f.bits_set = 0;
        for (uint64_t i = 0; i < f.whole.count; i++) f.bits_set += f.whole.first[i].bits_set;
        const int r = add_filter(l, &f);
        if (r != 0) return r;
    }
    return 0;
}

static uint64_t *find_table_slot(const struct filter_table *t, const void *key, uint64_t size)
{
    uint64_t at = hash_seeded(key, size, t->seed) & (t->slot_count - 1);
    for (;; at = (at + 1) & (t->slot_count - 1)) {
        if (t->slots[at] == 0) return &t->slots[at];
        const struct filter_key *k = &t->filters[t->slots[at] - 1].key;
        if (k->size == size && memcmp(k->text, key, size) == 0) return &t->slots[at];
    }
}

static int compare_filters(const void *a, const void *b)
{
    return filter_key_compare(&((const struct table_filter *)a)->key,
                              &((const struct table_filter *)b)->key);
}

static int index_keys(struct loader *l)
{
    struct filter_table *t = l->table;
    qsort(t->filters, t->count, sizeof *t->filters, compare_filters);
    if (l->env->random(l->env, &t->seed, sizeof t->seed) != 0)
        return error_set(l->error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    t->slot_count = 16;
    while (t->slot_count < 2 * t->count) t->slot_count *= 2;
    t->slots = mem_zalloc(t->slot_count * sizeof *t->slots);
    if (t->slots == NULL) return error_no_memory(l->error);
    for (uint64_t i = 0; i < t->count; i++) {
        const struct filter_key *key = &t->filters[i].key;
        uint64_t *slot = find_table_slot(t, key->text, key->size);
        if (*slot != 0)
            return error_set(l->error, GLINT_E_FILTER_MISMATCH,
                             "name the files of one build, or unite builds: glint filter merge",
                             "two filters have the key %.200s", key->text);
        *slot = i + 1;
    }
    return 0;
}

int filter_table_open(struct filter_table *t, struct env *env, const char *path, bool batches,
                      struct glint_error *error)
{
    *t = (struct filter_table){.parts.env = env};
    struct loader l = {t, env, batches, error};
    int r = filter_each_mapped(env, &path, 1, &t->maps, add_record, &l, error);
    if (r == 0) r = add_segmented_filters(&l);
    if (r == 0 && t->count == 0)
        r = error_set(error, GLINT_E_FILTER_INVALID, "name the output of bloom-build",
                      "there is no filter in %s", path);
    if (r == 0) r = index_keys(&l);
    for (uint64_t i = 0; i < t->maps.count; i++)
        madvise(t->maps.items[i].data, t->maps.items[i].size, MADV_RANDOM);
    if (r != 0) filter_table_close(t);
    assert((r == 0) == (error->code == GLINT_OK));
    return r;
}

void filter_table_close(struct filter_table *t)
{
    for (uint64_t i = 0; i < t->count; i++) bloom_set_fini(&t->filters[i].set);
    filter_maps_close(&t->maps);
    mem_free(t->filters);
    mem_free(t->slots);
    filter_parts_fini(&t->parts);
    arena_fini(&t->arena);
    *t = (struct filter_table){.filters = NULL};
}

const struct table_filter *filter_table_find(const struct filter_table *t, const void *key,
                                             uint64_t size)
{
    assert(t->slot_count == 0 || t->slot_count >= 2 * t->count);
    if (t->slot_count == 0) return NULL;
    const uint64_t *slot = find_table_slot(t, key, size);
    return *slot == 0 ? NULL : &t->filters[*slot - 1];
}

static bool filter_table_contains(const struct table_filter *f, const void *id, uint64_t size)
{
    if (f->whole.count == 0) return bloom_contains(&f->filter, id, size);
    const uint64_t bits = f->whole.first->segment.size;
    uint64_t indexes[BLOOM_K_MAX];
    bloom_compute_indexes(&f->filter.params, id, size, indexes);
    for (uint32_t i = 0; i < f->filter.params.k; i++) {
        assert(indexes[i] < f->filter.params.m);
        const uint64_t at = indexes[i] % bits;
        assert(indexes[i] / bits < f->whole.count);
        const uint8_t byte = f->whole.first[indexes[i] / bits].segment.bits[at / 8];
        if ((byte >> at % 8 & 1) == 0) return false;
    }
    return true;
}

int filter_table_contains_text(const struct table_filter *f, struct glint_slice text,
                               const char **out_wrong)
{
    const struct bloom_params *params = &f->filter.params;
    uint8_t few[VALUE_BYTES_FEW];
    uint64_t size = 0;
    *out_wrong = NULL;
    if (params->id_type == 0) return filter_table_contains(f, text.data, text.size);
    const bool large = text.size + ID_VALUE_MAX > sizeof few;
    uint8_t *value = large ? mem_alloc(text.size + ID_VALUE_MAX) : few;
    if (value == NULL) return -1;
    *out_wrong = id_value_parse(params->id_type, bloom_id_width(params->scheme, params->id_type),
                                text, value, &size);
    const int hit = *out_wrong == NULL ? filter_table_contains(f, value, size) : -1;
    if (large) mem_free(value);
    return hit;
}

void filter_table_contains_many(const struct table_filter *f, const uint8_t *data,
                                const uint32_t *start, const uint32_t *end, uint32_t count,
                                uint8_t *out_hit)
{
    static const uint16_t first_filter[TABLE_IDS_MAX];
    assert(count <= TABLE_IDS_MAX && (f->whole.count > 0 || f->set.count == 1));
    if (f->whole.count == 0 && count >= KERNEL_IDS_MIN) {
        const struct bloom_rows rows = {data, start, end, first_filter, count};
        bloom_set_contains_rows(&f->set, &rows, out_hit);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        out_hit[i] = filter_table_contains(f, data + start[i], end[i] - start[i]);
}
