/* See spool.h. */
#include "ops/spool.h"

#include "engine/shuffle/merge_inputs.h"

#define VARINT_BYTES_MAX 10

static_assert(SLOT_MEMORY_BYTES_MIN / SPOOL_MEMORY_SHARE >= MIB, "spills are at least 1 MiB");

void spool_init(struct spool *h, struct glint_task *task)
{
    *h = (struct spool){.task = task, .limit = task->options->memory_bytes / SPOOL_MEMORY_SHARE};
}

static int spool_to_disk(struct spool *h, struct glint_slice value)
{
    if (h->writer.task == NULL) {
        int r = run_writer_init(&h->writer, h->task, 1, 0);
        if (r < 0) return r;
    }
    return run_writer_add(&h->writer, 0, (struct glint_slice){NULL, 0}, value);
}

int spool_add(struct spool *h, struct glint_slice value)
{
    assert(h->run.records == 0);
    h->count++;
    /* Once one value is on disk, all later ones must follow, to keep their order. */
    bool fits = value.size < h->limit && h->bytes.size + value.size <= h->limit;
    if (h->writer.task != NULL || !fits) return spool_to_disk(h, value);
    if (!buffer_reserve(&h->bytes, VARINT_BYTES_MAX + value.size))
        return error_no_memory(&h->task->error);
    h->bytes.size += codec_put_varint(h->bytes.data + h->bytes.size, value.size);
    if (value.size > 0) memcpy(h->bytes.data + h->bytes.size, value.data, value.size);
    h->bytes.size += value.size;
    return 0;
}

int spool_add_values(struct spool *h, const struct glint_batch *batch)
{
    const bool is_bytes = codec_type_is_bytes(batch->value.type);
    for (uint32_t row = 0; row < batch->rows; row++) {
        const union glint_value v = glint_column_value(&batch->value, row);
        /* Numbers as they are in memory: their byte form has no -0.0, and they are not compared. */
        int r = spool_add(
            h, is_bytes ? v.bytes : (struct glint_slice){(const uint8_t *)&v.i64, sizeof v.i64});
        if (r < 0) return r;
    }
    return 0;
}

int spool_rewind(struct spool *h)
{
    h->at = 0;
    if (h->writer.task != NULL) {
        int r = run_writer_finish(&h->writer, &h->run);
        if (r < 0) return r;
        count_spill(h->task, &h->run);
    }
    return h->run.records > 0 ? run_reader_open(&h->reader, h->task, run_slice(&h->run, 0)) : 0;
}

int spool_next(struct spool *h, struct glint_slice *out)
{
    if (h->at < h->bytes.size) {
        const uint8_t *p = h->bytes.data + h->at, *end = h->bytes.data + h->bytes.size;
        uint64_t size;
        unsigned n = codec_get_varint(p, end, &size);
        assert(n > 0 && size <= (uint64_t)(end - p) - n);
        *out = (struct glint_slice){p + n, size};
        h->at += n + size;
        return 1;
    }
    if (h->run.records == 0) return 0;
    int more = run_reader_next(&h->reader);
    if (more <= 0) return more;
    int r = run_reader_value(&h->reader, &h->scratch, out);
    return r < 0 ? r : 1;
}

int spool_next_value(struct spool *h, enum glint_type type, union glint_value *out)
{
    struct glint_slice bytes;
    int r = spool_next(h, &bytes);
    if (r <= 0) return r;
    if (codec_type_is_bytes(type)) {
        out->bytes = bytes;
    } else {
        assert(bytes.size == sizeof out->i64); /* checksums have detected any damage on disk */
        memcpy(&out->i64, bytes.data, sizeof out->i64);
    }
    return r;
}

void spool_clear(struct spool *h)
{
    if (h->writer.task != NULL) run_writer_abort(&h->writer);
    if (h->run.records > 0) run_destroy(&h->run);
    h->bytes.size = h->at = 0;
    h->count = 0;
    assert(h->run.path == NULL);
}

void spool_fini(struct spool *h)
{
    run_writer_abort(&h->writer);
    run_reader_close(&h->reader);
    run_destroy(&h->run);
    buffer_fini(&h->bytes);
    buffer_fini(&h->scratch);
}
