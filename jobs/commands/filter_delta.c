/* See filter_delta.h. */
#include "jobs/commands/filter_delta.h"

#include "engine/cli/signals.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static const char magic[8] = "glntdif1";

/* ---- Encoding */

static uint8_t *put_little_endian_bytes(uint8_t *at, uint64_t value, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) *at++ = (uint8_t)(value >> 8 * i);
    return at;
}

static uint64_t get_little_endian_bytes(const uint8_t *at, uint32_t size)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < size; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

void delta_head_encode(const struct delta_head *head, uint8_t out[DELTA_HEAD_BYTES])
{
    memcpy(out, magic, sizeof magic);
    uint8_t *at = put_little_endian_bytes(out + sizeof magic, head->old_count, 8);
    at = put_little_endian_bytes(at, head->new_count, 8);
    memcpy(at, head->old_digest, DELTA_DIGEST_BYTES);
    at += DELTA_DIGEST_BYTES;
    memcpy(at, head->new_digest, DELTA_DIGEST_BYTES);
    at += DELTA_DIGEST_BYTES;
    at = put_little_endian_bytes(at, XXH3_64bits(out, (size_t)(at - out)), 8);
    assert(at - out == DELTA_HEAD_BYTES);
}

const char *delta_head_decode(const uint8_t data[DELTA_HEAD_BYTES], struct delta_head *out)
{
    if (memcmp(data, magic, sizeof magic) != 0) return "it is no output of glint filter diff";
    if (get_little_endian_bytes(data + DELTA_HEAD_BYTES - 8, 8) !=
        XXH3_64bits(data, DELTA_HEAD_BYTES - 8))
        return "its header is damaged";
    out->old_count = get_little_endian_bytes(data + 8, 8);
    out->new_count = get_little_endian_bytes(data + 16, 8);
    memcpy(out->old_digest, data + 24, DELTA_DIGEST_BYTES);
    memcpy(out->new_digest, data + 24 + DELTA_DIGEST_BYTES, DELTA_DIGEST_BYTES);
    return NULL;
}

void delta_step_encode(const struct delta_step *step, uint8_t out[DELTA_STEP_BYTES])
{
    assert(step->size > 0 && step->part < DELTA_PARTS_MAX);
    uint8_t *at = put_little_endian_bytes(out, step->kind, 4);
    at = put_little_endian_bytes(at, step->part, 4);
    at = put_little_endian_bytes(at, step->old, 8);
    at = put_little_endian_bytes(at, step->size, 8);
    assert(at - out == DELTA_STEP_BYTES);
}

const char *delta_step_decode(const uint8_t data[DELTA_STEP_BYTES], const struct delta_head *head,
                              const struct delta_step *before, struct delta_step *out)
{
    const uint64_t kind = get_little_endian_bytes(data, 4);
    if (kind > DELTA_WHOLE) return "a step has an unknown kind";
    *out = (struct delta_step){.kind = (enum delta_kind)kind,
                               .part = (uint32_t)get_little_endian_bytes(data + 4, 4),
                               .old = get_little_endian_bytes(data + 8, 8),
                               .size = get_little_endian_bytes(data + 16, 8)};
    if (out->part >= DELTA_PARTS_MAX || (before != NULL && out->part < before->part))
        return "a step has an invalid part";
    if (out->size == 0) return "a step has no bytes";
    if (out->kind == DELTA_WHOLE) return out->old == 0 ? NULL : "a step has an invalid filter";
    return out->old < head->old_count ? NULL : "a step has an invalid filter";
}

/* ---- Digests */

struct delta_digest {
    XXH3_state_t state;
};

struct delta_digest *delta_digest_create(void)
{
    struct delta_digest *digest = aligned_alloc(64, sizeof *digest);
    if (digest != NULL) XXH3_128bits_reset(&digest->state);
    return digest;
}

void delta_digest_add(struct delta_digest *digest, uint64_t number, const uint8_t *bytes,
                      uint64_t size)
{
    uint8_t head[16];
    put_little_endian_bytes(put_little_endian_bytes(head, number, 8), size, 8);
    XXH3_128bits_update(&digest->state, head, sizeof head);
    XXH3_128bits_update(&digest->state, bytes, size);
}

void delta_digest_end(const struct delta_digest *digest, uint8_t out[DELTA_DIGEST_BYTES])
{
    const XXH128_hash_t hash = XXH3_128bits_digest(&digest->state);
    put_little_endian_bytes(put_little_endian_bytes(out, hash.low64, 8), hash.high64, 8);
}

void delta_digest_destroy(struct delta_digest *digest)
{
    free(digest);
}

/* ---- OLD */

static int compare_delta_records(const void *a, const void *b)
{
    const struct filter_record *x = a, *y = b;
    const int c = filter_key_compare(&x->key, &y->key);
    if (c != 0) return c;
    return (x->segment.index > y->segment.index) - (x->segment.index < y->segment.index);
}

int delta_check_record(const struct filter_record *record, struct glint_error *error)
{
    if (signals_pending() != GLINT_OK)
        return error_set(error, signals_pending(), NULL, "interrupted by a signal");
    if (!record->bare) return GLINT_OK;
    return error_set(error, GLINT_E_FILTER_INVALID, "give it one: glint filter merge --output DIR",
                     "%s: the filter has no key", record->path);
}

static int keep_filter_record(void *arg, struct filter_record *record)
{
    struct delta_filters *f = arg;
    if (delta_check_record(record, f->error) != 0) return f->error->code;
    if (!array_reserve(&f->records, &f->capacity, f->count + 1, sizeof *f->records))
        return error_no_memory(f->error);
    f->records[f->count++] = filter_record_take(record);
    return GLINT_OK;
}

static int compute_digest(struct delta_filters *f)
{
    struct delta_digest *digest = delta_digest_create();
    if (digest == NULL) return error_no_memory(f->error);
    for (uint64_t i = 0; i < f->count; i++)
        delta_digest_add(digest, 0, f->records[i].bytes.data, f->records[i].bytes.size);
    delta_digest_end(digest, f->digest);
    delta_digest_destroy(digest);
    return GLINT_OK;
}

int delta_filters_read(struct delta_filters *f, struct env *env, const char *path,
                       struct glint_error *error)
{
    *f = (struct delta_filters){.error = error};
    int code = filter_each(env, &path, 1, keep_filter_record, f, error);
    if (code != 0) return code;
    if (f->count > 0) qsort(f->records, f->count, sizeof *f->records, compare_delta_records);
    for (uint64_t i = 1; i < f->count; i++)
        if (compare_delta_records(&f->records[i - 1], &f->records[i]) == 0)
            return error_set(error, GLINT_E_FILTER_INVALID, "unite them with glint filter merge",
                             "%s: duplicate key (%s)", path, f->records[i].key.text);
    return compute_digest(f);
}

uint64_t delta_filters_find(const struct delta_filters *f, const struct filter_record *record)
{
    if (f->count == 0) return UINT64_MAX;
    const struct filter_record *found =
        bsearch(record, f->records, f->count, sizeof *f->records, compare_delta_records);
    assert(found == NULL || found < f->records + f->count);
    return found == NULL || found->bytes.size != record->bytes.size
               ? UINT64_MAX
               : (uint64_t)(found - f->records);
}

void delta_filters_fini(struct delta_filters *f)
{
    for (uint64_t i = 0; i < f->count; i++) filter_record_fini(&f->records[i]);
    mem_free(f->records);
    *f = (struct delta_filters){.records = NULL};
}
