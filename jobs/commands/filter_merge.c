/* glint filter merge: unites the filters of each key by OR. Files are mapped and sorted by key, and
 * the filters of one key are united in memory that the next key uses again: a filter that is alone
 * is never copied but into the output. OR does not depend on the order, so the result has the same
 * bytes for any order of the paths. */
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

/* Filters of one key: the first one has its record. */
struct merged_filter {
    struct filter_record first;
    uint64_t others; /* index + 1 of the list of others; 0: none */
};

struct other_bits {
    const uint8_t *bits; /* mapped */
    uint64_t next;       /* as `others` */
};

struct merge {
    struct env *env;
    struct filter_maps maps;
    struct merged_filter *keys; /* owned */
    uint64_t count, capacity;
    struct other_bits *others;
    uint64_t other_count, other_capacity;
    uint64_t *slots; /* hash table of indexes + 1 of keys, `slot_count` of them, a power of two */
    uint64_t slot_count;
    struct buffer united; /* the bits of several filters */
    uint64_t full;        /* filters of more ids than they are sized for */
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
    while (m->slots[at] != 0 && filter_key_compare(&m->keys[m->slots[at] - 1].first.key, key) != 0)
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
    for (uint64_t i = 0; i < m->count; i++) *find_merge_slot(m, &m->keys[i].first.key) = i + 1;
    return true;
}

static int set_mismatch_error(struct merge *m, const struct filter_record *record, const char *why,
                              const char *hint)
{
    return error_set(&m->error, GLINT_E_FILTER_MISMATCH, hint,
                     "%s, byte %llu: the filter of key %s: %s", record->path,
                     (unsigned long long)record->offset, record->key.text, why);
}

/* Lists the filter with that of the same key. The n of both may differ, where m does not. */
static int add_other_filter(struct merge *m, struct merged_filter *to,
                            const struct filter_record *record)
{
    struct bloom_params *params = &to->first.filter.params;
    if (bloom_is_static(params->layout) || bloom_is_static(record->filter.params.layout))
        return error_set(&m->error, GLINT_E_FILTER_MISMATCH,
                         "build it again, from the rows of both", "%s, byte %llu: key %s: %s",
                         record->path, (unsigned long long)record->offset, record->key.text,
                         bloom_strerror(BLOOM_ERR_STATIC));
    if (!bloom_params_equal(params, &record->filter.params))
        return set_mismatch_error(m, record,
                                  "its scheme, layout, seeds, type of ids, m or k are others",
                                  "build both with the same --params, or for the same n and P");
    if (!array_reserve(&m->others, &m->other_capacity, m->other_count + 1, sizeof *m->others))
        return error_no_memory(&m->error);
    if (record->filter.params.n > params->n) params->n = record->filter.params.n;
    m->others[m->other_count++] = (struct other_bits){record->filter.bits, to->others};
    to->others = m->other_count;
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
    if (m->count > 0 && m->keys[0].first.key.number != record->key.number)
        return set_mismatch_error(m, record, "some keys are numbers, and others text",
                                  "build both with the same --key, or import both with the same "
                                  "--key-type");
    if (!grow_merge_slots(m) ||
        !array_reserve(&m->keys, &m->capacity, m->count + 1, sizeof *m->keys))
        return error_no_memory(&m->error);
    uint64_t *slot = find_merge_slot(m, &record->key);
    assert(record->mapped);
    if (*slot != 0) return add_other_filter(m, &m->keys[*slot - 1], record);
    m->keys[m->count++] = (struct merged_filter){.first = filter_record_take(record)};
    *slot = m->count;
    return GLINT_OK;
}

static int compare_merged_keys(const void *a, const void *b)
{
    return filter_key_compare(&((const struct merged_filter *)a)->first.key,
                              &((const struct merged_filter *)b)->first.key);
}

/* The filter of a key: the first one, or all of them in m->united. */
static int unite_filters(struct merge *m, const struct merged_filter *key, struct bloom_filter *out)
{
    *out = key->first.filter;
    if (key->others == 0) return GLINT_OK;
    const uint64_t bytes = bloom_bytes(out->params.m);
    m->united.size = 0;
    if (!buffer_append(&m->united, out->bits, bytes)) return error_no_memory(&m->error);
    out->bits = m->united.data;
    for (uint64_t at = key->others; at != 0; at = m->others[at - 1].next) {
        const struct bloom_filter other = {.params = out->params,
                                           .bits = (uint8_t *)m->others[at - 1].bits};
        const enum bloom_result result = bloom_union(out, &other);
        assert(result == BLOOM_OK); /* their params are equal */
    }
    return GLINT_OK;
}

/* More ids than it is sized for, by its bits, and by more than chance. */
static bool is_overfull(const struct bloom_filter *filter)
{
    const double n = (double)filter->params.n;
    return bloom_ids_estimate(&filter->params, bloom_bits_set(filter)) > 1.05 * n + 4 * sqrt(n) + 2;
}

/* Counts filters whose rate is higher than planned; with --strict the first one is an error. */
static int check_rate(struct merge *m, const struct filter_key *key,
                      const struct bloom_filter *filter)
{
    if (!is_overfull(filter)) return GLINT_OK;
    m->full++;
    if (!m->strict) return GLINT_OK;
    return error_set(&m->error, GLINT_E_FILTER_LIMIT,
                     "build it for more ids, or merge without --strict",
                     "the filter of key %s is sized for %llu ids, and its rate is %.3g instead of "
                     "%.3g",
                     key->text, (unsigned long long)filter->params.n, bloom_rate_from_bits(filter),
                     bloom_expected_rate(&filter->params));
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

/* The pair of key and filter: what precedes the filter in the first record is kept as it was. */
static int write_record(struct merge *m, int file, const struct filter_record *record,
                        const struct bloom_filter *filter)
{
    uint8_t header[BLOOM_HEADER_MAX];
    const uint64_t before = (uint64_t)(record->filter.bits - record->bytes.data) -
                            bloom_header_size(&record->filter.params);
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
    for (uint64_t i = 0; code == 0 && i < count; i++) {
        struct bloom_filter filter;
        code = unite_filters(m, &m->keys[i], &filter);
        if (code == 0) code = check_rate(m, &m->keys[i].first.key, &filter);
        if (code == 0) code = write_record(m, file, &m->keys[i].first, &filter);
    }
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
    code = filter_each_mapped(m->env, line->arguments, line->argument_count, &m->maps, merge_record,
                              m, &m->error);
    if (code == 0 && m->count > 0) qsort(m->keys, m->count, sizeof *m->keys, compare_merged_keys);
    if (code == 0) code = write_merged_file(m, "part-00000", m->count);
    if (code == 0) code = write_merged_file(m, "_SUCCESS", 0);
    if (code == 0 && m->full > 0)
        fprintf(stderr,
                "note: %llu of the filters have more ids than they are sized for: expect a higher "
                "rate than planned, see glint filter info\n",
                (unsigned long long)m->full);
    return atomic_output_commit_or_remove_dir(&m->dir, m->env, code, &m->error);
}

static void merge_filters(const struct cli_line *line, struct glint_error *error)
{
    struct merge m = {.env = env_real()};
    signals_start("a hidden directory next to the output remains");
    read_and_merge_filters(&m, line);
    *error = m.error;
    for (uint64_t i = 0; i < m.count; i++) filter_record_fini(&m.keys[i].first);
    filter_maps_close(&m.maps);
    buffer_fini(&m.united);
    mem_free(m.keys);
    mem_free(m.others);
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
