/* saveAsTextFile: one line per record, the value or key TAB value. */
#include "engine/base/text.h"
#include "engine/batch.h"
#include "engine/input/csv.h"
#include "engine/input/json_line.h"
#include "engine/records/codec.h"
#include "ops/ops.h"

#include <assert.h>
#include <string.h>

static int save_text_open(void *state, const struct op_open *o)
{
    return save_open(state, o, 0, COMPRESSION_NONE);
}

static int save_gzip_open(void *state, const struct op_open *o)
{
    return save_open(state, o, 0, COMPRESSION_GZIP);
}

static int save_zstd_open(void *state, const struct op_open *o)
{
    return save_open(state, o, 0, COMPRESSION_ZSTD);
}

static bool is_text(enum glint_type t)
{
    return t == GLINT_TEXT || t == GLINT_BYTES;
}

/* Copies lines unchanged. Short ones are copied as 32 bytes, since both source and target have
 * slack. */
static bool write_lines(struct save *s, const struct glint_batch *batch)
{
    const struct glint_column *c = &batch->value;
    uint64_t size = batch->rows;
    for (uint32_t row = 0; row < batch->rows; row++) size += c->end[row] - c->start[row];
    if (!save_reserve(s, size + READ_SLACK)) return false;
    assert(s->buffer.capacity - s->buffer.size >= size + READ_SLACK);
    uint8_t *out = s->buffer.data + s->buffer.size;
    for (uint32_t row = 0; row < batch->rows; row++) {
        const uint8_t *line = c->base + c->start[row];
        uint32_t n = c->end[row] - c->start[row];
        if (n <= 32)
            memcpy(out, line, 32);
        else
            memcpy(out, line, n);
        out[n] = '\n';
        out += n + 1;
    }
    assert((uint64_t)(out - s->buffer.data) <= s->buffer.capacity);
    s->buffer.size = (uint64_t)(out - s->buffer.data);
    return true;
}

/* Whether the column's cells are text, or numbers of a known maximum size, and not one large
 * value. */
static bool is_text_or_number_column(const struct glint_column *c)
{
    return c->type == GLINT_I64 || (is_text(c->type) && c->start != NULL);
}

static uint64_t column_text_bytes_max(const struct glint_column *c, uint32_t rows)
{
    uint64_t size = 0;
    if (c->type == GLINT_I64) return (uint64_t)rows * TEXT_NUMBER_MAX;
    for (uint32_t row = 0; row < rows; row++) size += c->end[row] - c->start[row];
    return size;
}

/* Writes a cell, for which there is slack as in write_lines. Returns where it ends. */
static inline uint8_t *write_cell_text(uint8_t *out, const struct glint_column *c, uint32_t row)
{
    if (c->type == GLINT_I64) return out + text_format_i64((char *)out, c->i64[row]);
    const uint8_t *cell = c->base + c->start[row];
    const uint32_t n = c->end[row] - c->start[row];
    if (n <= 32)
        memcpy(out, cell, 32);
    else
        memcpy(out, cell, n);
    return out + n;
}

static bool write_pairs_text(struct save *s, const struct glint_batch *batch)
{
    const uint64_t size = column_text_bytes_max(&batch->key, batch->rows) +
                          column_text_bytes_max(&batch->value, batch->rows) +
                          2 * (uint64_t)batch->rows;
    if (!save_reserve(s, size + READ_SLACK)) return false;
    assert(s->buffer.capacity - s->buffer.size >= size + READ_SLACK);
    uint8_t *out = s->buffer.data + s->buffer.size;
    for (uint32_t row = 0; row < batch->rows; row++) {
        out = write_cell_text(out, &batch->key, row);
        *out++ = '\t';
        out = write_cell_text(out, &batch->value, row);
        *out++ = '\n';
    }
    s->buffer.size = (uint64_t)(out - s->buffer.data);
    assert(s->buffer.size <= s->buffer.capacity);
    return true;
}

/* Without a key, a row of CSV, or the line of a row of JSON lines. A key and a value are texts
 * that stay apart by a tab, so cells that contain one are quoted. Bytes are what a job has
 * formatted itself. */
static bool write_csv(struct save *s, struct glint_slice text)
{
    const bool row = s->schema.key == GLINT_NONE, json = s->csv == JSON_ROW;
    if (s->objects != NULL) return save_objects_append(s, text) == 0 && save_reserve(s, 1);
    if (row && json && text.size > 0 && text.data[0] == JSON_ROW)
        return save_write_bytes(s, json_row_line(text));
    if (row ? csv_append_row(&s->buffer, text, json ? ',' : s->csv, s->nulls)
            : csv_append_text(&s->buffer, text, '\t', s->nulls))
        return save_reserve(s, 1);
    error_no_memory(&s->task->error);
    return false;
}

static bool write_text_cell(struct save *s, enum glint_type type, const union glint_value *v)
{
    if (type == GLINT_TEXT && s->csv != 0) return write_csv(s, v->bytes);
    if (is_text(type)) return save_write_bytes(s, v->bytes);
    if (type == GLINT_I64 || type == GLINT_F64) {
        return save_reserve(s, 64) && codec_print(type, v, &s->buffer);
    }
    /* msgpack printed as JSON has no known size: codec_print grows the buffer, which is then
     * flushed. */
    if (codec_print(type, v, &s->buffer)) return save_reserve(s, 1);
    error_no_memory(&s->task->error);
    return false;
}

static bool save_write_byte(struct save *s, char byte)
{
    if (!save_reserve(s, 1)) return false;
    s->buffer.data[s->buffer.size++] = (uint8_t)byte;
    return true;
}

static bool write_text_record(struct save *s, const struct glint_record *r)
{
    if (s->schema.key != GLINT_NONE &&
        (!write_text_cell(s, s->schema.key, &r->key) || !save_write_byte(s, '\t')))
        return false;
    return write_text_cell(s, s->schema.value, &r->value) && save_write_byte(s, '\n');
}

bool save_write_lines(struct save *s, const struct glint_batch *batch)
{
    s->task->counters.values[COUNT_ROWS_WRITTEN] += batch->rows;
    const enum glint_type type = s->schema.value;
    if (s->schema.key == GLINT_NONE && batch->value.start != NULL &&
        (type == GLINT_BYTES || (type == GLINT_TEXT && s->csv == 0)))
        return write_lines(s, batch);
    if (s->csv == 0 && is_text_or_number_column(&batch->key) &&
        is_text_or_number_column(&batch->value))
        return write_pairs_text(s, batch);
    for (uint32_t row = 0; row < batch->rows; row++) {
        struct glint_record r = glint_batch_record(batch, row);
        if (!write_text_record(s, &r)) return false;
    }
    return true;
}

static enum flow save_text_push(void *state, const struct glint_batch *batch,
                                struct glint_emitter *out)
{
    (void)out;
    return save_write_lines(state, batch) ? FLOW_MORE : FLOW_FAIL;
}

static enum flow save_text_finish(void *state, struct glint_emitter *out)
{
    (void)out;
    return save_finish(state);
}

#define TEXT_OP(op_name, open_)                                                                    \
    {                                                                                              \
        .name = op_name, .kind = OP_ACTION, .state_size = sizeof(struct save), .open = open_,      \
        .push = save_text_push, .finish = save_text_finish, .close = save_close,                   \
        .result = save_result                                                                      \
    }

const struct op op_save_as_text_file = TEXT_OP("saveAsTextFile", save_text_open);
const struct op op_save_as_gzip_text_file = TEXT_OP("saveAsTextFile(gzip)", save_gzip_open);
const struct op op_save_as_zstd_text_file = TEXT_OP("saveAsTextFile(zstd)", save_zstd_open);

static int run_save_as_text(struct glint_rdd *rdd, const struct op *op, const char *path,
                            const struct glint_column_form *form)
{
    if (rdd == NULL) return rdd_null_error(op->name);
    if (save_check_paths(rdd, op->name, &path, 1) != 0) return rdd->g->error.code;
    struct action a = {.op = op, .rdd = rdd, .outputs = &path, .output_count = 1};
    return save_text_run(&a, form);
}

int save_as_text_file(struct glint_rdd *rdd, const char *path, const struct glint_column_form *form)
{
    static const struct op *const by_compression[OUTPUT_COMPRESSIONS] = {
        [OUTPUT_AUTO] = &op_save_as_text_file,
        [OUTPUT_UNCOMPRESSED] = &op_save_as_text_file,
        [OUTPUT_GZIP] = &op_save_as_gzip_text_file,
        [OUTPUT_ZSTD] = &op_save_as_zstd_text_file};
    return run_save_as_text(rdd, by_compression[rdd != NULL ? rdd->g->config.compress : 0], path,
                            form);
}

int glint_save_as_text_file(struct glint_rdd *rdd, const char *path)
{
    return save_as_text_file(rdd, path, NULL);
}

int glint_save_as_gzip_text_file(struct glint_rdd *rdd, const char *path)
{
    return run_save_as_text(rdd, &op_save_as_gzip_text_file, path, NULL);
}
