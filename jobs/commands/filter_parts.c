/* Segments of one filter may be anywhere in the files, so they are listed and sorted first. */
#include "jobs/commands/filter_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Finds the number of a record's file, nearly always that of the previous record. */
static bool find_part_file(struct filter_parts *p, const char *path, uint32_t *out)
{
    for (uint32_t i = p->file_count; i > 0; i--) {
        *out = i - 1;
        if (strcmp(p->files[i - 1].path, path) == 0) return true;
    }
    if (!array_reserve(&p->files, &p->file_capacity, p->file_count + 1, sizeof *p->files))
        return false;
    char *copy = mem_strdup(path);
    if (copy == NULL) return false;
    p->files[p->file_count] = (struct filter_part_file){copy, -1};
    *out = p->file_count++;
    return true;
}

int filter_parts_add(struct filter_parts *p, struct filter_record *record,
                     struct glint_error *error)
{
    assert(filter_record_is_segment(record) && record->segment.bits != NULL);
    struct filter_part part = {.segment = record->segment};
    if (!find_part_file(p, record->path, &part.file) ||
        !array_reserve(&p->items, &p->capacity, p->count + 1, sizeof *p->items))
        return error_no_memory(error);
    struct bloom_filter bits = {.params = {.m = bloom_segment_bits(&part.segment)},
                                .bits = (uint8_t *)(uintptr_t)part.segment.bits};
    part.bits_set = bloom_bits_set(&bits);
    part.at = record->offset + (uint64_t)(part.segment.bits - record->bytes.data);
    if (!record->mapped) part.segment.bits = NULL;
    part.key = record->key;
    record->key.text = NULL;
    p->items[p->count++] = part;
    return 0;
}

static int compare_parts(const void *a, const void *b)
{
    const struct filter_part *x = a, *y = b;
    int c = filter_key_compare(&x->key, &y->key);
    if (c != 0) return c;
    return (x->segment.index > y->segment.index) - (x->segment.index < y->segment.index);
}

static int set_filter_part_error(const struct filter_parts *p, const struct filter_part *part,
                                 enum bloom_result result, struct glint_error *error)
{
    const bool mixed = result == BLOOM_ERR_MIXED;
    return error_set(error, mixed ? GLINT_E_FILTER_MISMATCH : GLINT_E_FILTER_INVALID,
                     "name all files of one build, and no others",
                     "the filter of key %.200s, at segment %llu, %s: %s", part->key.text,
                     (unsigned long long)part->segment.index, p->files[part->file].path,
                     bloom_strerror(result));
}

int filter_parts_check(struct filter_parts *p, struct glint_error *error)
{
    if (p->count == 0) return 0;
    qsort(p->items, p->count, sizeof *p->items, compare_parts);
    enum bloom_result result = BLOOM_OK;
    for (uint64_t i = 0; i < p->count; i++) {
        const struct filter_part *part = &p->items[i], *before = i > 0 ? part - 1 : NULL;
        if (before != NULL && part->segment.build != before->segment.build)
            return set_filter_part_error(p, part, BLOOM_ERR_MIXED, error);
        const bool first = before == NULL || filter_key_compare(&before->key, &part->key) != 0;
        if (first && before != NULL) result = bloom_segment_follows(&before->segment, NULL);
        if (result != BLOOM_OK) return set_filter_part_error(p, before, result, error);
        result = bloom_segment_follows(first ? NULL : &before->segment, &part->segment);
        if (result != BLOOM_OK) return set_filter_part_error(p, part, result, error);
    }
    const struct filter_part *last = &p->items[p->count - 1];
    result = bloom_segment_follows(&last->segment, NULL);
    return result == BLOOM_OK ? 0 : set_filter_part_error(p, last, result, error);
}

bool filter_parts_next(const struct filter_parts *p, uint64_t *at, struct filter_whole *out)
{
    if (*at == p->count) return false;
    const struct filter_part *first = &p->items[*at];
    assert(first->segment.index == 0);
    *out =
        (struct filter_whole){first, bloom_segments(first->segment.params.m, first->segment.size)};
    *at += out->count;
    assert(*at <= p->count);
    return true;
}

int filter_parts_read(struct filter_parts *p, const struct filter_part *part, uint64_t offset,
                      uint8_t *out, uint64_t size, struct glint_error *error)
{
    struct filter_part_file *f = &p->files[part->file];
    assert(offset + size <= bloom_bytes(bloom_segment_bits(&part->segment)));
    if (f->file < 0 && strstr(f->path, "://") != NULL)
        return error_set(error, GLINT_E_INPUT_URL, "copy them to a directory",
                         "%s: filters in segments are exported from files of this machine only",
                         f->path);
    if (f->file < 0) f->file = p->env->open(p->env, ENV_CWD, f->path, ENV_READ);
    if (f->file < 0)
        return error_set_system(error, GLINT_E_INPUT_PERMISSION, f->file, "open", f->path);
    int64_t n = env_read_full(p->env, f->file, out, size, part->at + offset);
    if (n < 0) return error_set_system(error, GLINT_E_INPUT_IO, (int)n, "read", f->path);
    if ((uint64_t)n == size) return 0;
    return error_set(error, GLINT_E_INPUT_CHANGED, NULL, "%s was truncated while it was read",
                     f->path);
}

void filter_parts_fini(struct filter_parts *p)
{
    for (uint64_t i = 0; i < p->count; i++) mem_free(p->items[i].key.text);
    for (uint32_t i = 0; i < p->file_count; i++) {
        if (p->files[i].file >= 0) p->env->close(p->env, p->files[i].file);
        mem_free(p->files[i].path);
    }
    mem_free(p->items);
    mem_free(p->files);
    *p = (struct filter_parts){.items = NULL};
}
