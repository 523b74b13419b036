/* See pipe_sort.h. */
#include "ops/pipe_sort.h"

#define MEMORY_SHARE 8u

bool pipe_sort_add(struct pipe_sort *s, uint64_t key_size, uint64_t size)
{
    assert(size <= s->bytes.size && key_size < size && size <= UINT32_MAX);
    if (!array_reserve(&s->lines, &s->capacity, s->count + 1, sizeof *s->lines)) return false;
    s->lines[s->count++] = (struct pipe_sort_line){
        .at = s->bytes.size - size, .key_size = (uint32_t)key_size, .size = (uint32_t)size};
    return true;
}

bool pipe_sort_is_full(const struct pipe_sort *s, uint64_t memory_bytes)
{
    uint64_t each = sizeof *s->lines + 2 * sizeof *s->entries;
    return s->bytes.size + s->count * each >= memory_bytes / MEMORY_SHARE;
}

static struct glint_slice pipe_sort_key_of(const void *arg, uint64_t reference)
{
    const struct pipe_sort *s = arg;
    const struct pipe_sort_line *line = &s->lines[reference];
    return (struct glint_slice){s->bytes.data + line->at, line->key_size};
}

bool pipe_sort_run(struct pipe_sort *s)
{
    struct sort_entry *scratch = mem_alloc(s->count * sizeof *scratch);
    assert(s->entries == NULL && s->count > 0);
    s->entries = mem_alloc(s->count * sizeof *s->entries);
    bool ok = scratch != NULL && s->entries != NULL;
    for (uint64_t i = 0; ok && i < s->count; i++)
        s->entries[i] = (struct sort_entry){sort_key_prefix(pipe_sort_key_of(s, i), 0, false),
                                            sort_pack_reference(0, i)};
    const struct sort_keys keys = {.get = pipe_sort_key_of, .arg = s};
    if (ok) sort_entries(s->entries, scratch, s->count, false, &keys);
    mem_free(scratch);
    return ok;
}

struct glint_slice pipe_sort_at(const struct pipe_sort *s, uint64_t i)
{
    assert(s->entries != NULL && i < s->count);
    const struct pipe_sort_line *line = &s->lines[sort_entry_reference(&s->entries[i])];
    return (struct glint_slice){s->bytes.data + line->at, line->size};
}

void pipe_sort_clear(struct pipe_sort *s)
{
    mem_free(s->entries);
    s->entries = NULL;
    s->count = s->bytes.size = 0;
}

void pipe_sort_fini(struct pipe_sort *s)
{
    mem_free(s->entries);
    mem_free(s->lines);
    buffer_fini(&s->bytes);
    *s = (struct pipe_sort){.count = 0};
}
