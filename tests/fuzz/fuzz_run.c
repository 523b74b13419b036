/* Arbitrary bytes as a run with any index: records are read within their bounds, or the error is
 * SHUFFLE_CORRUPT; a value has the announced size. If the input says so, the checksums of the
 * blocks are corrected first, so that the code after the check is reached. */
#include "engine/records/run.h"

#include <stddef.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INDEX_BYTES 4 /* raw bytes, records, and flags */

/* A source that is read through a callback; the other kind is memory. */
struct asked {
    struct run_source source; /* must be first: read_bytes casts it back */
    const uint8_t *bytes;
};

static int read_bytes(const struct run_source *source, struct glint_task *task, uint64_t offset,
                      uint64_t size, uint8_t *out)
{
    const uint8_t *bytes = ((const struct asked *)source)->bytes;
    (void)task;
    if (offset > source->bytes || size > source->bytes - offset) abort();
    memcpy(out, bytes + offset, size);
    return 0;
}

/* Corrects the checksums of all complete blocks. */
static void seal(uint8_t *bytes, uint64_t size)
{
    uint64_t at = 0;
    while (size - at > RUN_BLOCK_HEADER_BYTES) {
        struct run_block b = run_block_decode_sizes(bytes + at);
        if (b.stored > size - at - RUN_BLOCK_HEADER_BYTES) break;
        run_block_write_header(bytes + at, b, at);
        at += RUN_BLOCK_HEADER_BYTES + (uint64_t)b.stored;
    }
}

/* Reads every byte of the slice, so that sanitizers detect invalid memory. */
static uint64_t touch(struct glint_slice s)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < s.size; i++) sum += s.data[i];
    return sum;
}

static void read_all(struct glint_task *task, struct run_slice slice, unsigned each)
{
    struct run_reader r = {.source = NULL};
    struct buffer scratch = {NULL, 0, 0};
    uint64_t records = 0, sum = 0;
    int e = run_reader_open(&r, task, slice);
    while (e == 0 && (e = run_reader_next(&r)) > 0) {
        e = 0;
        sum += touch(r.key);
        struct glint_slice value;
        if (++records % each == 0 && (e = run_reader_value(&r, &scratch, &value)) == 0) {
            if (value.size != r.value_size) abort();
            sum += touch(value);
        }
    }
    if (e == 0 && records != slice.part.records) abort();
    if (e != 0 && (e != GLINT_E_SHUFFLE_CORRUPT || task->error.code != e)) abort();
    if (sum == UINT64_MAX) abort(); /* keeps the compiler from removing `sum` */
    run_reader_close(&r);
    buffer_fini(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < INDEX_BYTES) return 0;
    unsigned flags = data[3];
    uint64_t bytes = size - INDEX_BYTES;
    uint8_t *copy = mem_alloc(bytes);
    if (copy == NULL) return 0;
    memcpy(copy, data + INDEX_BYTES, bytes);
    if (flags & 1) seal(copy, bytes);
    struct asked asked = {{.bytes = bytes, .read = read_bytes, .name = "a fuzzed run"}, copy};
    struct run_part part = {
        .bytes = bytes, .raw = (uint64_t)data[0] | (uint64_t)data[1] << 8, .records = data[2]};
    struct glint_task task = {.env = env_real()};
    if (flags & 2) asked.source.memory = copy;
    read_all(&task, (struct run_slice){&asked.source, part, false}, 1 + (flags >> 2) % 3);
    mem_free(copy);
    return 0;
}
