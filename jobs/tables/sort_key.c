/* Sort keys: see sort_key.h. */
#include "jobs/tables/sort_key.h"

#include "jobs/rows/numbers.h"

#include <assert.h>
#include <string.h>

static_assert(SORT_NUMERIC == 1 && SORT_REVERSE == 2, "bits follow SORT_LETTERS");

int sort_keys_open(struct glint_task *task, struct sort_keys *k)
{
    int e = columns_open(task, &k->reader);
    const struct columns *c = &k->reader.columns;
    k->plain = c->count == 1 && c->letters[0] == 0;
    return e;
}

/* The size of a key is known only at its end: this is the largest possible one. */
static int reserve_key(struct sort_keys *k, struct glint_task *task,
                       const struct glint_slice *fields)
{
    uint64_t need = 0;
    for (uint32_t i = 0; i < k->reader.columns.count; i++)
        need += 2 * fields[i].size + 2 + 1 + NUMBER_KEY_MAX;
    if (need <= k->capacity) return 0;
    k->bytes = glint_scratch(task, 2 * need);
    k->capacity = k->bytes != NULL ? 2 * need : 0;
    return k->bytes != NULL ? 0 : GLINT_E_NO_MEMORY;
}

static uint8_t *put_text_key(uint8_t *at, struct glint_slice text)
{
    while (text.size > 0) {
        const uint8_t *zero = memchr(text.data, 0, text.size);
        const uint64_t size = zero != NULL ? (uint64_t)(zero - text.data) : text.size;
        memcpy(at, text.data, size);
        at += size;
        text.data += size;
        text.size -= size;
        if (zero == NULL) break;
        *at++ = 0;
        *at++ = 0xff;
        text.data++;
        text.size--;
    }
    *at++ = 0;
    *at++ = 1;
    return at;
}

static uint8_t *put_null(uint8_t *at)
{
    *at++ = 0;
    *at++ = 0;
    return at;
}

/* Returns NULL if the field is not a number. */
static uint8_t *put_number_key(uint8_t *at, struct glint_slice text)
{
    if (text.size > 0) {
        const uint32_t size = number_key(text, at);
        return size > 0 ? at + size : NULL;
    }
    *at++ = 0;
    *at++ = 1;
    return at;
}

/* The plain key of a field that would equal null's, or precede it. Returns 1 or a code. */
static int put_zero_before(struct sort_keys *k, struct glint_task *task,
                           const struct glint_slice *fields, struct glint_slice *out)
{
    int e = reserve_key(k, task, fields);
    if (e != 0) return e;
    k->bytes[0] = 0;
    if (fields[0].size > 0) memcpy(k->bytes + 1, fields[0].data, fields[0].size);
    *out = (struct glint_slice){k->bytes, fields[0].size + 1};
    return 1;
}

int sort_keys_make(struct sort_keys *k, struct glint_task *task, struct glint_slice row,
                   struct glint_slice *out, bool *out_empty)
{
    struct glint_slice fields[COLUMNS_MAX];
    const struct columns *c = &k->reader.columns;
    int e = columns_find(&k->reader, task, row, fields);
    if (e <= 0) return e;
    if (out_empty != NULL) *out_empty = false;
    if (k->plain) {
        *out = fields[0];
        if (nulls_is(k->reader.null, fields[0])) {
            if (out_empty != NULL) *out_empty = true;
            out->size = 0;
            return 1;
        }
        if (fields[0].size > 0 && fields[0].data[0] != 0) return 1;
        return put_zero_before(k, task, fields, out);
    }
    e = reserve_key(k, task, fields);
    if (e != 0) return e;
    uint8_t *at = k->bytes;
    for (uint32_t i = 0; i < c->count; i++) {
        uint8_t *const start = at;
        const bool numeric = (c->letters[i] & SORT_NUMERIC) != 0;
        const bool null = nulls_is(k->reader.null, fields[i]);
        at = null                               ? put_null(at)
             : numeric                          ? put_number_key(at, fields[i])
             : (c->letters[i] & SORT_TIME) != 0 ? put_text_key(at, columns_time_text(fields[i]))
                                                : put_text_key(at, fields[i]);
        if (at == NULL)
            return columns_bad_value(&k->reader, task, row, i, fields[i],
                                     number_problem(fields[i]));
        if (out_empty != NULL && i >= k->groups && (null || (numeric && fields[i].size == 0)))
            *out_empty = true;
        if ((c->letters[i] & SORT_REVERSE) == 0) continue;
        for (uint8_t *byte = start; byte < at; byte++) *byte = (uint8_t) ~*byte;
    }
    assert(at <= k->bytes + k->capacity);
    *out = (struct glint_slice){k->bytes, (uint64_t)(at - k->bytes)};
    return 1;
}

struct glint_slice sort_key_head(struct glint_slice key, uint32_t columns)
{
    uint64_t at = 0;
    for (; columns > 0; columns--, at += 2)
        while (at + 2 < key.size && (key.data[at] != 0 || key.data[at + 1] == 0xff))
            at += key.data[at] == 0 ? 2 : 1;
    return (struct glint_slice){key.data, at < key.size ? at : key.size};
}
