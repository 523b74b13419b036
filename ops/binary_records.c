/* binaryRecords: files of records of one size, as bytes. Files are cut between records, and every
 * file must end with a complete one. */
#include "engine/input/input_stream.h"
#include "engine/input/split.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>

struct records_state {
    struct glint_task *task;
    uint64_t record_bytes;
    uint8_t *block; /* of `block_bytes`, a multiple of record_bytes */
    uint64_t block_bytes;
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
};

static int binary_records_open(void *state, const struct op_open *o)
{
    struct records_state *s = state;
    s->task = o->task;
    struct unpacker u = unpack_begin(o->params);
    s->record_bytes = unpack_u64(&u, BINARY_RECORD_BYTES_MAX);
    if (!unpack_is_complete(&u) || s->record_bytes == 0)
        return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL,
                         "cannot decode the size of binary records");
    uint64_t rows = READ_BLOCK_BYTES / s->record_bytes;
    if (rows > BATCH_ROWS_MAX) rows = BATCH_ROWS_MAX;
    s->block_bytes = s->record_bytes * (rows > 0 ? rows : 1);
    s->block = mem_alloc(s->block_bytes);
    for (uint32_t row = 0; row < rows; row++) {
        s->start[row] = (uint32_t)(row * s->record_bytes);
        s->end[row] = (uint32_t)((row + 1) * s->record_bytes);
    }
    if (rows == 0) s->end[0] = (uint32_t)s->record_bytes;
    return s->block != NULL ? 0 : error_no_memory(&s->task->error);
}

static enum flow emit_records_block(struct records_state *s, uint64_t size,
                                    struct glint_emitter *out)
{
    assert(size > 0 && size % s->record_bytes == 0);
    const struct glint_batch batch = {
        .rows = (uint32_t)(size / s->record_bytes),
        .key = {.type = GLINT_NONE},
        .value = {
            .type = GLINT_BYTES, .base = s->block, .start = s->start, .end = s->end, .size = size}};
    s->task->counters.values[COUNT_ROWS_READ] += batch.rows;
    s->task->counters.values[COUNT_BYTES_READ] += (int64_t)size;
    glint_emit_batch(out, &batch);
    return out->flow;
}

/* The records that start in the piece: as for lines, the piece before reads the one at its end. */
static enum flow emit_records_of_piece(struct records_state *s, const struct split_piece *piece,
                                       struct glint_emitter *out)
{
    struct input_stream in;
    const uint64_t size = s->record_bytes, end = piece->offset + piece->length;
    const uint64_t first = piece->offset / size + (piece->offset % size != 0);
    enum flow flow = FLOW_MORE;
    /* The driver has checked it. */
    if (piece->compression != COMPRESSION_NONE || piece->file_size % size != 0) {
        error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "%s: not of binary records",
                  piece->path);
        return FLOW_FAIL;
    }
    if (first * size >= end) return FLOW_MORE;
    int r = input_stream_open_in_task(&in, s->task, piece, first * size);
    while (r == 0 && flow == FLOW_MORE && in.at < end && !in.ended) {
        const uint64_t records = (end - in.at) / size + ((end - in.at) % size != 0);
        const uint64_t wanted = records < s->block_bytes / size ? records * size : s->block_bytes;
        const int64_t n = input_stream_read(&in, s->block, wanted);
        r = n < 0 ? (int)n : 0;
        if (r == 0) flow = emit_records_block(s, (uint64_t)n, out);
    }
    if (r == 0 && flow != FLOW_FAIL) r = input_stream_check_unchanged(&in);
    input_stream_close(&in);
    return r < 0 ? FLOW_FAIL : flow;
}

static enum flow binary_records_run(void *state, struct glint_slice bytes,
                                    struct glint_emitter *out)
{
    struct records_state *s = state;
    struct split split;
    if (split_decode(bytes, &s->task->arena, &split, &s->task->error) != 0) return FLOW_FAIL;
    enum flow flow = FLOW_MORE;
    for (uint32_t i = 0; i < split.count && flow == FLOW_MORE; i++)
        flow = emit_records_of_piece(s, &split.pieces[i], out);
    return flow;
}

static void binary_records_close(void *state)
{
    mem_free(((struct records_state *)state)->block);
}

/* ---- Driver side */

/* All files that cannot be read as records of this size are reported before any task starts. */
static int check_record_file_sizes(struct glint_rdd *rdd, uint64_t record_bytes)
{
    const struct input_list *list = rdd->source;
    struct glint_error *error = &rdd->g->error;
    for (uint64_t i = 0; i < list->count; i++) {
        const struct input_file *file = &list->files[i];
        if (file->compression != COMPRESSION_NONE)
            return error_set(error, GLINT_E_INPUT_FORMAT, "decompress it first",
                             "%s: binary records cannot be read from a compressed file",
                             file->path);
        if (file->size % record_bytes != 0)
            return error_set(error, GLINT_E_INPUT_FORMAT,
                             "check the size of the records, and that the file is complete",
                             "%s: %llu bytes are no multiple of the record's %llu", file->path,
                             (unsigned long long)file->size, (unsigned long long)record_bytes);
    }
    return 0;
}

struct glint_rdd *glint_binary_records(struct glint *g, const char *paths, uint64_t record_bytes)
{
    if (record_bytes == 0 || record_bytes > BINARY_RECORD_BYTES_MAX) {
        error_set(&g->error, GLINT_E_BAD_VALUE, NULL,
                  "binaryRecords: records of %llu bytes; they have 1 to %llu",
                  (unsigned long long)record_bytes, (unsigned long long)BINARY_RECORD_BYTES_MAX);
        return NULL;
    }
    const struct file_source source = {.op = &op_binary_records,
                                       .schema = {GLINT_NONE, GLINT_BYTES},
                                       .parameter = &record_bytes,
                                       .binary = true,
                                       .make_splits = text_source_make_splits};
    struct glint_rdd *rdd = file_source_create(g, paths, &source);
    return rdd != NULL && check_record_file_sizes(rdd, record_bytes) == 0 ? rdd : NULL;
}

const struct op op_binary_records = {.name = "binaryRecords",
                                     .kind = OP_SOURCE,
                                     .state_size = sizeof(struct records_state),
                                     .open = binary_records_open,
                                     .run = binary_records_run,
                                     .close = binary_records_close};
