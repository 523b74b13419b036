/* Memory is for what has arrived, and the number of ids is bounded by BATCH_IDS_MAX. */
#include "jobs/commands/filter_batch.h"

#include "engine/input/json_line.h"
#include "engine/limits.h"
#include "jobs/bloom/bloom.h"

#include <assert.h>
#include <string.h>

static_assert((unsigned)READ_SLACK >= BLOOM_ID_SLACK, "ids may be at the end of a block");

const char filter_batch_no_memory[] = "out of memory",
           filter_batch_too_many[] = "a request has at most 1048576 ids";

static const char *add_id(struct filter_batch *b, uint64_t start, uint64_t end)
{
    assert(start <= end && end <= INT32_MAX);
    if (b->count == BATCH_IDS_MAX) return filter_batch_too_many;
    if (!array_reserve(&b->start, &b->start_capacity, b->count + 1ull, sizeof *b->start) ||
        !array_reserve(&b->end, &b->end_capacity, b->count + 1ull, sizeof *b->end))
        return filter_batch_no_memory;
    b->start[b->count] = (uint32_t)start;
    b->end[b->count++] = (uint32_t)end;
    return NULL;
}

const char *filter_batch_read_lines(struct filter_batch *b, const uint8_t *body, uint64_t size,
                                    uint64_t *out_at)
{
    const char *wrong = NULL;
    assert(size <= INT32_MAX);
    b->data = body;
    b->count = 0;
    *out_at = 0;
    for (uint64_t at = 0; at < size && wrong == NULL;) {
        const uint8_t *found = memchr(body + at, '\n', size - at);
        const uint64_t stop = found == NULL ? size : (uint64_t)(found - body);
        const bool carriage = found != NULL && stop > at && body[stop - 1] == '\r';
        *out_at = at;
        wrong = add_id(b, at, stop - carriage);
        at = stop + 1;
    }
    return wrong;
}

static const uint8_t *skip_space(const uint8_t *at, const uint8_t *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

/* Reads the strings of an array, behind its bracket; *at is where it stops. */
static const char *read_strings(struct filter_batch *b, const uint8_t **at, const uint8_t *end)
{
    static const char not_array[] = "the array does not end",
                      not_string[] = "an id is a string in quotes";
    bool utf8;
    *at = skip_space(*at, end);
    if (*at < end && **at == ']') return NULL;
    for (;;) {
        if (*at == end) return not_array;
        if (**at != '"') return not_string;
        const uint64_t start = b->texts.size;
        const char *wrong = json_string_read(at, end, &b->texts, &utf8);
        if (wrong == NULL) wrong = add_id(b, start, b->texts.size);
        if (wrong != NULL) return wrong;
        *at = skip_space(*at, end);
        if (*at == end) return not_array;
        if (**at == ']') return NULL;
        if (**at != ',') return "there is no comma between two ids";
        *at = skip_space(*at + 1, end);
    }
}

const char *filter_batch_read_json(struct filter_batch *b, const uint8_t *body, uint64_t size,
                                   uint64_t *out_at)
{
    const uint8_t *end = body + size, *at = skip_space(body, end);
    const char *wrong = NULL;
    assert(size <= INT32_MAX);
    b->count = 0;
    b->texts.size = 0;
    if (at == end || *at != '[') {
        wrong = "the body is no array: [\"ID\", \"ID\"]";
    } else {
        at++;
        wrong = read_strings(b, &at, end);
    }
    if (wrong == NULL) {
        at = skip_space(at + 1, end);
        if (at != end) wrong = "something follows the array";
    }
    b->data = b->texts.data;
    *out_at = (uint64_t)(at - body);
    return wrong;
}

void filter_batch_fini(struct filter_batch *b)
{
    mem_free(b->start);
    mem_free(b->end);
    buffer_fini(&b->texts);
    *b = (struct filter_batch){.data = NULL};
}
