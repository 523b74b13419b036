/* Arbitrary bytes as the body of a request over HTTP. The first byte says the form: of lines the
 * ids are the body without its line ends; an array that is read is what jansson reads, which
 * also reads nothing else, but for single bytes as escapes. */
#include "engine/base/mem.h"
#include "jobs/commands/filter_batch.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lines(const struct filter_batch *b, const uint8_t *body, uint64_t size)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->start[i] != at || b->end[i] < at || b->end[i] > size) abort();
        if (memchr(body + at, '\n', b->end[i] - at) != NULL) abort();
        at = b->end[i];
        if (at < size && body[at] == '\r') at++;
        if (at < size && body[at++] != '\n') abort();
    }
    if (at != size) abort();
}

static bool has_half_pair(const uint8_t *body, uint64_t size)
{
    for (uint64_t i = 0; i + 3 < size; i++)
        if (body[i] == '\\' && body[i + 1] == 'u' && (body[i + 2] | 32) == 'd') return true;
    return false;
}

static void check_json(const struct filter_batch *b, const char *wrong, const uint8_t *body,
                       uint64_t size)
{
    json_t *array = json_loadb((const char *)body, size, JSON_ALLOW_NUL, NULL);
    bool strings = json_is_array(array);
    json_t *item;
    size_t i;
    json_array_foreach(array, i, item) strings = strings && json_is_string(item);
    if (!has_half_pair(body, size) && strings != (wrong == NULL)) abort();
    if (wrong == NULL && strings) {
        if (json_array_size(array) != b->count) abort();
        json_array_foreach(array, i, item)
        {
            const size_t bytes = json_string_length(item);
            if (bytes != b->end[i] - b->start[i]) abort();
            if (bytes > 0 && memcmp(json_string_value(item), b->data + b->start[i], bytes) != 0)
                abort();
        }
    }
    json_decref(array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct filter_batch batch = {.data = NULL};
    struct buffer body = {NULL, 0, 0};
    uint64_t at;
    if (size < 1 || !buffer_append(&body, data + 1, size - 1)) return 0;
    if (body.data == NULL) return 0;
    if (data[0] % 2 == 0) {
        if (filter_batch_read_lines(&batch, body.data, body.size, &at) != NULL) abort();
        check_lines(&batch, body.data, body.size);
    } else {
        const char *wrong = filter_batch_read_json(&batch, body.data, body.size, &at);
        if (at > body.size) abort();
        check_json(&batch, wrong, body.data, body.size);
    }
    filter_batch_fini(&batch);
    buffer_fini(&body);
    if (mem_live_blocks() != 0) abort();
    return 0;
}
