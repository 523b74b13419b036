/* Arbitrary bytes as a message, and as the body of each message type: either rejected, or valid and
 * unchanged by a round trip. */
#include "engine/limits.h"
#include "engine/transfer/message.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct glint_slice whole(const struct buffer *b)
{
    return (struct glint_slice){b->data, b->size};
}

static void check_message(struct glint_slice bytes)
{
    struct glint_error error = {.code = GLINT_OK};
    struct message *m = message_decode(bytes, &error);
    assert(error.code == (m == NULL ? GLINT_E_PROTOCOL : GLINT_OK));
    if (m == NULL) return;
    assert((m->error != NULL) == (m->type == MSG_FAILED));
    assert(m->error == NULL || error_is_known(m->error->code));
    struct buffer again = {NULL, 0, 0};
    int r = message_encode(m, &again, &error);
    assert(r == 0);
    struct message *back = message_decode(whole(&again), &error);
    assert(back != NULL && back->type == m->type && back->body.size == m->body.size);
    assert(back->id == m->id && back->size == m->size);
    message_destroy(back);
    message_destroy(m);
    buffer_fini(&again);
}

static void check_outputs(struct glint_slice bytes)
{
    struct glint_error error = {.code = GLINT_OK};
    struct map_output_location *locations;
    uint32_t count;
    int r = map_outputs_decode(bytes, &locations, &count, &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL));
    assert((r == 0) == (locations != NULL) && count <= PARTITIONS_MAX);
    for (uint32_t i = 0; i < count; i++) assert(locations[i].executor < EXECUTORS_MAX);
    mem_free(locations);
}

static void check_job(struct glint_slice bytes)
{
    struct glint_error error = {.code = GLINT_OK};
    struct task_options o = {0}, back = {0};
    struct buffer again = {NULL, 0, 0};
    int r = job_options_decode(bytes, &o, &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL));
    if (r == 0) {
        r = job_options_encode(&o, &again, &error);
        assert(r == 0);
        r = job_options_decode(whole(&again), &back, &error);
        assert(r == 0 && back.line_bytes_max == o.line_bytes_max && strcmp(back.dir, o.dir) == 0);
    }
    buffer_fini(&again);
}

static void check_fault(struct glint_slice bytes)
{
    struct glint_error error = {.code = GLINT_OK};
    struct fetch_failure f, back;
    struct buffer again = {NULL, 0, 0};
    int r = fetch_failure_decode(bytes, &f, &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL));
    if (r == 0) {
        r = fetch_failure_encode(&f, &again, &error);
        assert(r == 0);
        r = fetch_failure_decode(whole(&again), &back, &error);
        assert(r == 0 && back.shuffle == f.shuffle && back.map == f.map &&
               back.executor == f.executor);
    }
    buffer_fini(&again);
}

static void check_cached_blocks(struct glint_slice bytes)
{
    struct glint_error error = {.code = GLINT_OK};
    struct cached_block_state *blocks, *back;
    struct buffer again = {NULL, 0, 0};
    uint32_t count, back_count;
    int r = cached_blocks_decode(bytes, &blocks, &count, &error);
    assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL));
    if (r == 0) {
        r = cached_blocks_encode(blocks, count, &again, &error);
        assert(r == 0);
        r = cached_blocks_decode(whole(&again), &back, &back_count, &error);
        assert(r == 0 && back_count == count);
        for (uint32_t i = 0; i < count; i++)
            assert(memcmp(&blocks[i], &back[i], sizeof back[i]) == 0);
        mem_free(back);
        mem_free(blocks);
    }
    buffer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct glint_slice bytes = {data, size};
    check_message(bytes);
    check_outputs(bytes);
    check_job(bytes);
    check_fault(bytes);
    check_cached_blocks(bytes);
    assert(mem_live_blocks() == 0);
    return 0;
}
