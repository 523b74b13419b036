/* filter_each reads and checks a record; the mapped bytes are then compared with those that were
 * checked, so that a file that was replaced in between is noticed. */
#include "jobs/commands/filter_table.h"

#include "engine/base/hash.h"
#include "engine/cli/signals.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KERNEL_IDS_MIN = 4 }; /* fewer are looked up one by one in less time */

struct loader {
    struct filter_table *table;
    struct env *env;
    struct glint_error *error;
};

/* Maps the file and a page behind it, because the kernels read words that may end after the bits.
 * Returns 0 or a negative errno. */
static int map_bytes(struct table_file *f, int file, uint64_t size)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint8_t *data =
        mmap(NULL, size + page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) return -errno;
    if (mmap(data, size, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
        const int r = -errno;
        munmap(data, size + page);
        return r;
    }
    madvise(data, size, MADV_RANDOM);
    f->data = data;
    f->size = size;
    return 0;
}

static void unmap_file(struct table_file *f)
{
    if (f->data != NULL) munmap(f->data, f->size + (uint64_t)sysconf(_SC_PAGESIZE));
    mem_free(f->path);
}

static int map_file(struct loader *l, struct table_file *f)
{
    struct env_stat stat;
    const int file = l->env->open(l->env, ENV_CWD, f->path, ENV_READ);
    if (file < 0)
        return error_set_system(l->error, GLINT_E_INPUT_PERMISSION, file, "open", f->path);
    int r = l->env->stat_open(l->env, file, &stat);
    if (r == 0 && stat.size > 0) r = map_bytes(f, file, stat.size);
    l->env->close(l->env, file);
    return r == 0 ? 0 : error_set_system(l->error, GLINT_E_INPUT_IO, r, "map", f->path);
}

/* The mapped file of a record, nearly always that of the previous one. */
static int find_file(struct loader *l, const char *path, const struct table_file **out)
{
    struct filter_table *t = l->table;
    for (uint64_t i = t->file_count; i > 0; i--) {
        *out = &t->files[i - 1];
        if (strcmp((*out)->path, path) == 0) return 0;
    }
    if (!array_reserve(&t->files, &t->file_capacity, t->file_count + 1, sizeof *t->files))
        return error_no_memory(l->error);
    struct table_file *f = &t->files[t->file_count];
    *f = (struct table_file){.path = mem_strdup(path)};
    if (f->path == NULL) return error_no_memory(l->error);
    t->file_count++;
    *out = f;
    const int r = map_file(l, f);
    t->bytes += f->size;
    return r;
}

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
    const struct table_file *file = NULL;
    if (signals_pending() != GLINT_OK)
        return error_set(l->error, signals_pending(), NULL, "interrupted by a signal");
    const int r = find_file(l, record->path, &file);
    if (r != 0) return r;
    const uint64_t size = record->bytes.size;
    if (record->offset > file->size || size > file->size - record->offset ||
        memcmp(file->data + record->offset, record->bytes.data, size) != 0)
        return error_set(l->error, GLINT_E_INPUT_CHANGED, NULL, "%s changed while it was read",
                         record->path);
    if (filter_record_is_segment(record))
        return filter_parts_add(&l->table->parts, record, l->error);
    struct table_filter f = {.filter = record->filter};
    const uint8_t *mapped = file->data + record->offset, *bytes = record->bytes.data;
    f.filter.bits = (uint8_t *)(uintptr_t)(mapped + (record->filter.bits - bytes));
    if (f.filter.params.seeds != NULL)
        f.filter.params.seeds = mapped + (record->filter.params.seeds - bytes);
    f.bits_set = bloom_bits_set(&f.filter);
    if (!filter_key_copy(&l->table->arena, &record->key, &f.key)) return error_no_memory(l->error);
    const enum bloom_result result = bloom_set_over(&f.set, &f.filter.params, 1, f.filter.bits);
    if (result != BLOOM_OK)
        return error_set(l->error, GLINT_E_NO_MEMORY, NULL, "%s", bloom_strerror(result));
    f.set.read_only = true;
    const int added = add_filter(l, &f);
    if (added == 0)
        filter_record_fini(record);
    else
        bloom_set_fini(&f.set);
    return added;
}

/* Filters in segments: where the bits of each part are. */
static int add_wholes(struct loader *l)
{
    struct filter_table *t = l->table;
    struct table_filter f = {.filter = {.bits = NULL}};
    if (filter_parts_check(&t->parts, l->error) != 0) return l->error->code;
    if (t->parts.count == 0) return 0;
    t->part_bits = mem_alloc(t->parts.count * sizeof *t->part_bits);
    if (t->part_bits == NULL) return error_no_memory(l->error);
    for (uint64_t i = 0; i < t->parts.count; i++) {
        const struct filter_part *part = &t->parts.items[i];
        const struct table_file *file = NULL;
        const int r = find_file(l, t->parts.files[part->file].path, &file);
        if (r != 0) return r;
        assert(part->at < file->size);
        t->part_bits[i] = file->data + part->at;
    }
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

static uint64_t *find_slot(const struct filter_table *t, const void *key, uint64_t size)
{
    uint64_t at = hash_seeded(key, size, t->seed) & (t->slot_count - 1);
    for (;; at = (at + 1) & (t->slot_count - 1)) {
        if (t->slots[at] == 0) return &t->slots[at];
        const struct filter_key *k = &t->filters[t->slots[at] - 1].key;
        if (k->size == size && memcmp(k->text, key, size) == 0) return &t->slots[at];
    }
}

static int index_keys(struct loader *l)
{
    struct filter_table *t = l->table;
    if (l->env->random(l->env, &t->seed, sizeof t->seed) != 0)
        return error_set(l->error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    t->slot_count = 16;
    while (t->slot_count < 2 * t->count) t->slot_count *= 2;
    t->slots = mem_zalloc(t->slot_count * sizeof *t->slots);
    if (t->slots == NULL) return error_no_memory(l->error);
    for (uint64_t i = 0; i < t->count; i++) {
        const struct filter_key *key = &t->filters[i].key;
        uint64_t *slot = find_slot(t, key->text, key->size);
        if (*slot != 0)
            return error_set(l->error, GLINT_E_FILTER_MISMATCH,
                             "name the files of one build, or unite builds: glint filter merge",
                             "two filters have the key %.200s", key->text);
        *slot = i + 1;
    }
    return 0;
}

int filter_table_open(struct filter_table *t, struct env *env, const char *path,
                      struct glint_error *error)
{
    *t = (struct filter_table){.parts.env = env};
    struct loader l = {t, env, error};
    int r = filter_each(env, &path, 1, add_record, &l, error);
    if (r == 0) r = add_wholes(&l);
    if (r == 0 && t->count == 0)
        r = error_set(error, GLINT_E_FILTER_INVALID, "name the output of bloom-build",
                      "there is no filter in %s", path);
    if (r == 0) r = index_keys(&l);
    if (r != 0) filter_table_close(t);
    assert((r == 0) == (error->code == GLINT_OK));
    return r;
}

void filter_table_close(struct filter_table *t)
{
    for (uint64_t i = 0; i < t->count; i++) bloom_set_fini(&t->filters[i].set);
    for (uint64_t i = 0; i < t->file_count; i++) unmap_file(&t->files[i]);
    mem_free(t->files);
    mem_free(t->filters);
    mem_free(t->slots);
    mem_free(t->part_bits);
    filter_parts_fini(&t->parts);
    arena_fini(&t->arena);
    *t = (struct filter_table){.filters = NULL};
}

const struct table_filter *filter_table_find(const struct filter_table *t, const void *key,
                                             uint64_t size)
{
    assert(t->slot_count == 0 || t->slot_count >= 2 * t->count);
    if (t->slot_count == 0) return NULL;
    const uint64_t *slot = find_slot(t, key, size);
    return *slot == 0 ? NULL : &t->filters[*slot - 1];
}

static const uint8_t *bits_of_segment(const struct filter_table *t, const struct table_filter *f,
                                      uint64_t i)
{
    assert(i < f->whole.count);
    return t->part_bits[f->whole.first - t->parts.items + (ptrdiff_t)i];
}

bool filter_table_contains(const struct filter_table *t, const struct table_filter *f,
                           const void *id, uint64_t size)
{
    if (f->whole.count == 0) return bloom_contains(&f->filter, id, size);
    const uint64_t bits = f->whole.first->segment.size;
    uint64_t indexes[BLOOM_K_MAX];
    bloom_indexes(&f->filter.params, id, size, indexes);
    for (uint32_t i = 0; i < f->filter.params.k; i++) {
        assert(indexes[i] < f->filter.params.m);
        const uint64_t at = indexes[i] % bits;
        const uint8_t byte = bits_of_segment(t, f, indexes[i] / bits)[at / 8];
        if ((byte >> at % 8 & 1) == 0) return false;
    }
    return true;
}

void filter_table_contains_many(const struct filter_table *t, const struct table_filter *f,
                                const uint8_t *data, const uint32_t *start, const uint32_t *end,
                                uint32_t count, uint8_t *out_hit)
{
    static const uint16_t first_filter[TABLE_IDS_MAX];
    assert(count <= TABLE_IDS_MAX);
    if (f->whole.count == 0 && count >= KERNEL_IDS_MIN) {
        const struct bloom_rows rows = {data, start, end, first_filter, count};
        bloom_set_contains_rows(&f->set, &rows, out_hit);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        out_hit[i] = filter_table_contains(t, f, data + start[i], end[i] - start[i]);
}
