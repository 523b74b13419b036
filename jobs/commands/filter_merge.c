/* glint filter merge: unites the filters of each key by OR. Files are mapped, and the filters that
 * follow are added to the first one of a key in its private pages, so a filter that is alone is
 * never copied but into the output, and the memory is that of the others' results. OR does not
 * depend on the order, and the result is sorted by key: so it is the same bytes for any order of
 * the paths. */
#include "engine/base/env.h"
#include "engine/cli/options.h"
#include "engine/cli/signals.h"
#include "engine/records/pack.h"
#include "jobs/commands/atomic_output.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/filter_file.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merge {
    struct env *env;
    struct filter_maps maps;
    struct filter_record *records; /* owned; one for each key */
    uint64_t count, capacity;
    uint64_t
        *slots; /* hash table of indexes + 1 of records, `slot_count` of them, a power of two */
    uint64_t slot_count;
    bool strict;
    struct atomic_output dir;
    struct glint_error error;
};

enum { SLOTS_FIRST = 1024 };

/* FNV-1a of the key's text. */
static uint64_t hash_filter_key(const struct filter_key *key)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint64_t i = 0; i < key->size; i++) hash = (hash ^ (uint8_t)key->text[i]) * 0x100000001b3u;
    return hash;
}

/* The slot of the key, or the free one where it belongs. */
static uint64_t *find_merge_slot(const struct merge *m, const struct filter_key *key)
{
    uint64_t at = hash_filter_key(key) & (m->slot_count - 1);
    assert(m->count < m->slot_count);
    while (m->slots[at] != 0 && filter_key_compare(&m->records[m->slots[at] - 1].key, key) != 0)
        at = (at + 1) & (m->slot_count - 1);
    return &m->slots[at];
}

/* Keeps at least half of the slots free. Returns false when out of memory. */
static bool grow_merge_slots(struct merge *m)
{
    if (m->slot_count > 2 * m->count) return true;
    const uint64_t more = m->slot_count == 0 ? SLOTS_FIRST : 2 * m->slot_count;
    uint64_t *slots = mem_alloc(more * sizeof *slots);
    if (slots == NULL) return false;
    memset(slots, 0, more * sizeof *slots);
    mem_free(m->slots);
    m->slots = slots;
    m->slot_count = more;
    for (uint64_t i = 0; i < m->count; i++) *find_merge_slot(m, &m->records[i].key) = i + 1;
    return true;
}

static int set_mismatch_error(struct merge *m, const struct filter_record *record, const char *why,
                              const char *hint)
{
    return error_set(&m->error, GLINT_E_FILTER_MISMATCH, hint,
                     "%s, byte %llu: the filter of key %s: %s", record->path,
                     (unsigned long long)record->offset, record->key.text, why);
}

/* Adds the filter to that of the same key. The n of both may differ, where m does not. */
static int unite_records(struct merge *m, struct filter_record *into, struct filter_record *from)
{
    struct bloom_params *params = &into->filter.params;
    const enum bloom_result result = bloom_union(&into->filter, &from->filter);
    if (bloom_is_static(params->layout) || result == BLOOM_ERR_STATIC)
        return error_set(&m->error, GLINT_E_FILTER_MISMATCH,
                         "build it again, from the rows of both", "%s, byte %llu: key %s: %s",
                         from->path, (unsigned long long)from->offset, from->key.text,
                         bloom_strerror(BLOOM_ERR_STATIC));
    if (result != BLOOM_OK)
        return set_mismatch_error(m, from,
                                  "its scheme, layout, seeds, type of ids, m or k are others",
                                  "build both with the same --params, or for the same n and P");
    if (from->filter.params.n > params->n) params->n = from->filter.params.n;
    return GLINT_OK;
}

static int merge_record(void *arg, struct filter_record *record)
{
    struct merge *m = arg;
    if (signals_pending() != GLINT_OK)
        return error_set(&m->error, signals_pending(), NULL, "interrupted by a signal");
    if (filter_record_is_segment(record))
        return error_set(&m->error, GLINT_E_FILTER_INVALID,
                         "build it with --strategy indexes or partials",
                         "%s, byte %llu: the filter of key %s is in segments, which merge does not "
                         "read",
                         record->path, (unsigned long long)record->offset, record->key.text);
    if (m->count > 0 && m->records[0].key.number != record->key.number)
        return set_mismatch_error(m, record, "some keys are numbers, and others text",
                                  "build both with the same --key, or import both with the same "
                                  "--key-type");
    if (!grow_merge_slots(m) ||
        !array_reserve(&m->records, &m->capacity, m->count + 1, sizeof *m->records))
        return error_no_memory(&m->error);
    uint64_t *slot = find_merge_slot(m, &record->key);
    if (*slot != 0) return unite_records(m, &m->records[*slot - 1], record);
    m->records[m->count++] = filter_record_take(record);
    *slot = m->count;
    return GLINT_OK;
}

static int compare_merged_records(const void *a, const void *b)
{
    return filter_key_compare(&((const struct filter_record *)a)->key,
                              &((const struct filter_record *)b)->key);
}

/* More ids than it is sized for, by its bits, and by more than chance. */
static bool is_overfull(const struct bloom_filter *filter)
{
    const double n = (double)filter->params.n;
    return bloom_ids_estimate(&filter->params, bloom_bits_set(filter)) > 1.05 * n + 4 * sqrt(n) + 2;
}

/* Notes filters whose rate is higher than planned; with --strict the first one is an error. */
static int check_rates(struct merge *m)
{
    uint64_t full = 0;
    for (uint64_t i = 0; i < m->count; i++) {
        const struct bloom_filter *filter = &m->records[i].filter;
        if (!is_overfull(filter)) continue;
        full++;
        if (m->strict)
            return error_set(&m->error, GLINT_E_FILTER_LIMIT,
                             "build it for more ids, or merge without --strict",
                             "the filter of key %s is sized for %llu ids, and its rate is %.3g "
                             "instead of %.3g",
                             m->records[i].key.text, (unsigned long long)filter->params.n,
                             bloom_rate_from_bits(filter), bloom_expected_rate(&filter->params));
    }
    if (full > 0)
        fprintf(stderr,
                "note: %llu of the filters have more ids than they are sized for: expect a higher "
                "rate than planned, see glint filter info\n",
                (unsigned long long)full);
    return GLINT_OK;
}

/* Before a filter that had no key in its file. Returns 0 or a negative errno. */
static int write_pair_head(struct merge *m, int file, const struct filter_key *key)
{
    struct packer pair = {.failed = false};
    pack_array(&pair, 2);
    pack_str(&pair, (struct glint_slice){(const uint8_t *)key->text, key->size});
    const int failed =
        pair.failed ? -ENOMEM : env_write_all(m->env, file, pair.out.data, pair.out.size);
    packer_fini(&pair);
    return failed;
}

/* The pair of key and filter: what precedes the filter is kept as it was. */
static int write_record(struct merge *m, int file, const struct filter_record *record)
{
    const struct bloom_filter *filter = &record->filter;
    uint8_t header[BLOOM_HEADER_MAX];
    const uint64_t before =
        (uint64_t)(filter->bits - record->bytes.data) - bloom_header_size(&filter->params);
    assert(before < record->bytes.size && record->bare == (before == 0));
    int failed = record->bare ? write_pair_head(m, file, &record->key)
                              : env_write_all(m->env, file, record->bytes.data, before);
    const uint32_t size = bloom_encode_header(filter, header);
    if (failed == 0) failed = env_write_all(m->env, file, header, size);
    if (failed == 0)
        failed = env_write_all(m->env, file, filter->bits, bloom_bytes(filter->params.m));
    if (failed != 0)
        return error_set_system(&m->error, GLINT_E_OUTPUT_IO, failed, "write", m->dir.path);
    return signals_pending() == GLINT_OK
               ? GLINT_OK
               : error_set(&m->error, signals_pending(), NULL, "interrupted by a signal");
}

static int write_merged_file(struct merge *m, const char *name, uint64_t count)
{
    char path[PATH_MAX];
    const int file = atomic_output_open_file(&m->dir, m->env, name, path, &m->error);
    int code = m->error.code;
    if (file < 0) return code;
    for (uint64_t i = 0; code == 0 && i < count; i++) code = write_record(m, file, &m->records[i]);
    return atomic_output_sync_and_close_file(m->env, file, code, path, &m->error);
}

static int read_and_merge_filters(struct merge *m, const struct cli_line *line)
{
    const char *output = cli_line_option(line, "output");
    if (output == NULL)
        return error_set(&m->error, GLINT_E_USAGE, NULL, "glint filter merge needs --output DIR");
    m->strict = cli_line_has(line, "strict");
    int code = atomic_output_open_dir(&m->dir, m->env, output, &m->error);
    if (code != 0) return code;
    m->maps.writable = true;
    code = filter_each_mapped(m->env, line->arguments, line->argument_count, &m->maps, merge_record,
                              m, &m->error);
    if (code == 0 && m->count > 0)
        qsort(m->records, m->count, sizeof *m->records, compare_merged_records);
    if (code == 0) code = check_rates(m);
    if (code == 0) code = write_merged_file(m, "part-00000", m->count);
    if (code == 0) code = write_merged_file(m, "_SUCCESS", 0);
    return atomic_output_commit_or_remove_dir(&m->dir, m->env, code, &m->error);
}

static void merge_filters(const struct cli_line *line, struct glint_error *error)
{
    struct merge m = {.env = env_real()};
    signals_start("a hidden directory next to the output remains");
    read_and_merge_filters(&m, line);
    *error = m.error;
    for (uint64_t i = 0; i < m.count; i++) filter_record_fini(&m.records[i]);
    filter_maps_close(&m.maps);
    mem_free(m.records);
    mem_free(m.slots);
}

static const struct glint_job_option merge_options[] = {
    {"output", "DIR", NULL, "directory to create; it must not exist"},
    {"strict", NULL, NULL, "a filter with more ids than it is sized for is an error, not a note"},
    {NULL, NULL, NULL, NULL}};

const struct cli_command filter_merge = {
    .name = "merge",
    .summary = "unite the filters of each key",
    .syntax = {.command = "glint filter merge",
               .summary = "Unites the filters of each key of all paths.",
               .help = "Filters of one key must have the same scheme, layout, m, k and seeds; the "
                       "result has the largest n. A key of one path only is kept. DIR is created "
                       "atomically, at the end.",
               .arguments = "PATH...",
               .arguments_min = 1,
               .arguments_max = CLI_ARGUMENTS_ANY,
               .own = merge_options},
    .execute = merge_filters};
