/* Reads a cached block of another executor: a stream of its bytes, with a few requests in flight,
 * and from it one chunk after the other. */
#include "engine/executor/store.h"
#include "engine/records/batch_codec.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#define STREAM_REQUESTS 4u /* in flight at a time */

/* ---- Chunks */

/* In the byte order of this machine, as the batch that follows it. */
struct chunk_header {
    uint64_t checksum; /* XXH3-64 of what follows, seeded with the chunk's offset in the block */
    uint64_t size;     /* of the chunk */
};
static_assert(sizeof(struct chunk_header) % 8 == 0, "the batch behind it is aligned");

static uint64_t chunk_checksum(const uint8_t *chunk, uint64_t size, uint64_t offset)
{
    const uint64_t skipped = offsetof(struct chunk_header, size);
    return XXH3_64bits_withSeed(chunk + skipped, size - skipped, offset);
}

uint64_t block_chunk_size(const struct glint_batch *batch)
{
    return sizeof(struct chunk_header) + batch_encoded_size(batch);
}

void block_chunk_encode(const struct glint_batch *batch, uint64_t offset, uint8_t *out)
{
    struct chunk_header h = {.size = block_chunk_size(batch)};
    batch_encode(batch, out + sizeof h);
    memcpy(out, &h, sizeof h);
    h.checksum = chunk_checksum(out, h.size, offset);
    memcpy(out, &h, sizeof h);
}

bool block_chunk_is_intact(const uint8_t *chunk, uint64_t size, uint64_t offset)
{
    struct chunk_header h;
    assert(size >= sizeof h);
    memcpy(&h, chunk, sizeof h);
    return h.size == size && h.checksum == chunk_checksum(chunk, size, offset);
}

bool block_chunk_decode(struct glint_slice chunk, struct glint_schema schema,
                        struct glint_batch *out)
{
    const uint64_t header = sizeof(struct chunk_header);
    assert(chunk.size >= header);
    return batch_decode((struct glint_slice){chunk.data + header, chunk.size - header}, schema,
                        out);
}

/* ---- The stream */

struct block_stream {
    struct glint_task *task;
    const struct remote_block *block;
    struct fetch_wait wait;
    uint64_t requested, read; /* bytes of the block */
    /* Range number i of FETCH_CHUNK_BYTES_MAX is in place i modulo their number. */
    struct stream_range {
        struct pending_fetch pending;
        uint8_t *bytes;
    } ranges[STREAM_REQUESTS];
};

static struct stream_range *find_stream_range(struct block_stream *s, uint64_t offset)
{
    return &s->ranges[offset / FETCH_CHUNK_BYTES_MAX % STREAM_REQUESTS];
}

/* Requests what follows the last request, if anything does; its place is free. */
static void request_next_range(struct block_stream *s)
{
    const struct remote_block *b = s->block;
    const uint64_t left = b->bytes - s->requested;
    struct stream_range *r = find_stream_range(s, s->requested);
    if (left == 0) return;
    r->pending.request = (struct fetch_request){
        .executor = b->executor,
        .get = {.kind = GET_CACHED_BLOCK,
                .id = b->rdd,
                .partition = b->partition,
                .offset = s->requested,
                .size = left < FETCH_CHUNK_BYTES_MAX ? left : FETCH_CHUNK_BYTES_MAX},
        .into = r->bytes};
    s->requested += r->pending.request.get.size;
    fetch_wait_submit(&s->wait, &r->pending.request);
}

/* Returns the task's error code. */
static int set_remote_block_error(struct block_stream *s, const char *cause)
{
    const struct remote_block *b = s->block;
    if (task_check_cancelled(s->task) != 0) return s->task->error.code;
    return error_set(&s->task->error, GLINT_E_SPILL_IO, NULL,
                     "the cached block of partition %u of RDD %u at executor %u is lost: %s",
                     b->partition, b->rdd, b->executor, cause);
}

/* Reads the next `size` bytes; there are as many. Returns 0 or the task's error code. */
static int read_block_stream(struct block_stream *s, uint64_t size, uint8_t *out)
{
    assert(size <= s->block->bytes - s->read);
    while (size > 0) {
        struct stream_range *r = find_stream_range(s, s->read);
        const struct fetch_request *request = &r->pending.request;
        fetch_wait_until_done(&s->wait, &r->pending);
        if (request->error.code == GLINT_E_NO_MEMORY) return error_no_memory(&s->task->error);
        if (request->error.code != GLINT_OK) return set_remote_block_error(s, request->error.cause);
        const uint64_t at = s->read - request->get.offset, left = request->get.size - at;
        const uint64_t n = left < size ? left : size;
        memcpy(out, r->bytes + at, n);
        out += n;
        size -= n;
        s->read += n;
        if (n == left) request_next_range(s);
    }
    return 0;
}

static int open_block_stream(struct block_stream *s)
{
    fetch_wait_init(&s->wait, s->task, s->block->fetcher);
    for (uint32_t i = 0; i < STREAM_REQUESTS; i++) {
        s->ranges[i].bytes = mem_alloc(FETCH_CHUNK_BYTES_MAX);
        if (s->ranges[i].bytes == NULL) return error_no_memory(&s->task->error);
    }
    for (uint32_t i = 0; i < STREAM_REQUESTS; i++) request_next_range(s);
    return 0;
}

static void close_block_stream(struct block_stream *s)
{
    fetch_wait_cancel_all(&s->wait);
    for (uint32_t i = 0; i < STREAM_REQUESTS; i++) mem_free(s->ranges[i].bytes);
    fetch_wait_fini(&s->wait);
}

/* Reads the next chunk into *chunk, which it replaces if it is too small. */
static int read_next_chunk(struct block_stream *s, struct buffer *chunk)
{
    struct chunk_header h;
    const uint64_t offset = s->read, left = s->block->bytes - offset;
    if (left < sizeof h) return set_remote_block_error(s, "its last chunk is cut");
    int r = read_block_stream(s, sizeof h, (uint8_t *)&h);
    if (r != 0) return r;
    if (h.size < sizeof h || h.size > left)
        return set_remote_block_error(s, "a chunk is larger than the block");
    chunk->size = 0;
    if (!buffer_reserve(chunk, h.size)) return error_no_memory(&s->task->error);
    memcpy(chunk->data, &h, sizeof h);
    r = read_block_stream(s, h.size - sizeof h, chunk->data + sizeof h);
    if (r != 0) return r;
    chunk->size = h.size;
    return block_chunk_is_intact(chunk->data, h.size, offset)
               ? 0
               : set_remote_block_error(s, "a chunk was damaged on the way");
}

static enum flow push_next_chunk(struct block_stream *s, struct buffer *chunk,
                                 const struct block_reader *to)
{
    struct glint_batch batch;
    if (read_next_chunk(s, chunk) != 0) return FLOW_FAIL;
    if (block_chunk_decode(buffer_slice(chunk), to->schema, &batch))
        return to->push(to->arg, &batch);
    set_remote_block_error(s, "a chunk does not parse");
    return FLOW_FAIL;
}

enum flow remote_block_read(const struct remote_block *b, struct glint_task *task,
                            const struct block_reader *to)
{
    struct block_stream s = {.task = task, .block = b};
    struct buffer chunk = {NULL, 0, 0};
    enum flow flow = open_block_stream(&s) == 0 ? FLOW_MORE : FLOW_FAIL;
    while (flow == FLOW_MORE && s.read < b->bytes) flow = push_next_chunk(&s, &chunk, to);
    close_block_stream(&s);
    buffer_fini(&chunk);
    return flow;
}
