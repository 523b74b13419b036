/* saveAsTextFiles: several outputs in one pass over the records. A record's key is the number of
 * its output, its value is the line. The rows of a batch are grouped by output, so that each output
 * is written in batches, as in saveAsTextFile. A task writes one attempt file per output, all with
 * the same name, which is its result: the driver commits all of them or none. */
#include "engine/batch.h"
#include "ops/ops.h"
#include "ops/selection.h"

#include <assert.h>

struct text_files {
    struct glint_task *task;
    uint32_t count, opened;
    struct save *outputs;
    struct selection_column lines;
    uint32_t first[ACTION_OUTPUTS_MAX + 1]; /* index in `rows` of each output's first row */
    uint16_t rows[BATCH_ROWS_MAX];
};

static int open_text_files(void *state, const struct op_open *o, enum compression compression)
{
    struct text_files *s = state;
    int r = 0;
    s->task = o->task;
    s->count = o->output_count;
    assert(s->count <= ACTION_OUTPUTS_MAX);
    s->outputs = task_alloc(o->task, sizeof *s->outputs * (s->count + 1));
    if (s->outputs == NULL) return o->task->error.code;
    while (r == 0 && s->opened < s->count) {
        struct save *output = &s->outputs[s->opened];
        *output = (struct save){.task = o->task};
        r = save_open(output, o, s->opened++, compression);
        output->schema.key = GLINT_NONE;
    }
    return r;
}

static int save_text_files_open(void *state, const struct op_open *o)
{
    return open_text_files(state, o, COMPRESSION_NONE);
}

static int save_gzip_files_open(void *state, const struct op_open *o)
{
    return open_text_files(state, o, COMPRESSION_GZIP);
}

static int save_zstd_files_open(void *state, const struct op_open *o)
{
    return open_text_files(state, o, COMPRESSION_ZSTD);
}

static bool reject_number_key(struct text_files *s, int64_t number)
{
    error_set(&s->task->error, GLINT_E_FUNCTION_FAILED,
              "the key of a record is the number of its output, from 0",
              "saveAsTextFiles: a record for output %lld, but there are %u outputs",
              (long long)number, s->count);
    return false;
}

/* Counting sort of the row numbers by output; stable. */
static bool sort_rows_by_key(struct text_files *s, const int64_t *numbers, uint32_t rows)
{
    uint32_t next[ACTION_OUTPUTS_MAX] = {0};
    assert(rows <= BATCH_ROWS_MAX);
    for (uint32_t row = 0; row < rows; row++) {
        /* Also true for negative numbers. */
        if ((uint64_t)numbers[row] >= s->count) return reject_number_key(s, numbers[row]);
        next[numbers[row]]++;
    }
    uint32_t first = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        s->first[i] = first;
        first += next[i];
        next[i] = s->first[i];
    }
    s->first[s->count] = first;
    for (uint32_t row = 0; row < rows; row++) s->rows[next[numbers[row]]++] = (uint16_t)row;
    return true;
}

static enum flow save_text_files_push(void *state, const struct glint_batch *batch,
                                      struct glint_emitter *out)
{
    (void)out;
    struct text_files *s = state;
    assert(batch->key.type == GLINT_I64);
    if (!sort_rows_by_key(s, batch->key.i64, batch->rows)) return FLOW_FAIL;
    struct glint_batch lines = {.key = {.type = GLINT_NONE}, .origin = batch->origin};
    for (uint32_t i = 0; i < s->count; i++) {
        lines.rows = s->first[i + 1] - s->first[i];
        if (lines.rows == 0) continue;
        lines.value =
            selection_copy_column(&s->lines, &batch->value, s->rows + s->first[i], lines.rows);
        if (!save_write_lines(&s->outputs[i], &lines)) return FLOW_FAIL;
    }
    return FLOW_MORE;
}

static enum flow save_text_files_finish(void *state, struct glint_emitter *out)
{
    (void)out;
    struct text_files *s = state;
    enum flow flow = FLOW_MORE;
    for (uint32_t i = 0; i < s->count && flow == FLOW_MORE; i++) flow = save_finish(&s->outputs[i]);
    return flow;
}

static int save_text_files_result(void *state, struct buffer *out)
{
    struct text_files *s = state;
    return save_results(s->outputs, s->count, out);
}

/* If any file is not finished, removes all: a failed attempt leaves no files. */
static void save_text_files_close(void *state)
{
    struct text_files *s = state;
    bool finished = s->opened == s->count;
    for (uint32_t i = 0; i < s->opened; i++) finished = finished && s->outputs[i].finished;
    for (uint32_t i = 0; i < s->opened; i++) {
        s->outputs[i].finished = finished;
        save_close(&s->outputs[i]);
    }
}

int save_as_text_files(struct glint_rdd *rdd, const char *const *paths, uint32_t count,
                       const struct glint_column_form *form)
{
    if (rdd == NULL) return rdd_null_error("saveAsTextFiles");
    struct glint_error *error = &rdd->g->error;
    const char *hint = "error in the job's plan, not in its input";
    if (rdd->schema.key != GLINT_I64)
        return error_set(error, GLINT_E_PLAN_TYPE, hint,
                         "saveAsTextFiles: the key must be the number of the output, an i64");
    if (count == 0 || count > ACTION_OUTPUTS_MAX)
        return error_set(error, GLINT_E_PLAN_LIMIT, hint,
                         "saveAsTextFiles: %u outputs; it accepts 1 to %u", count,
                         ACTION_OUTPUTS_MAX);
    if (save_check_paths(rdd, "saveAsTextFiles", paths, count) != 0) return error->code;
    static const struct op *const by_compression[OUTPUT_COMPRESSIONS] = {
        [OUTPUT_AUTO] = &op_save_as_text_files,
        [OUTPUT_UNCOMPRESSED] = &op_save_as_text_files,
        [OUTPUT_GZIP] = &op_save_as_gzip_text_files,
        [OUTPUT_ZSTD] = &op_save_as_zstd_text_files};
    struct action a = {.op = by_compression[rdd->g->config.compress],
                       .rdd = rdd,
                       .outputs = paths,
                       .output_count = count};
    return save_text_run(&a, form);
}

int glint_save_as_text_files(struct glint_rdd *rdd, const char *const *paths, uint32_t count)
{
    return save_as_text_files(rdd, paths, count, NULL);
}

#define FILES_OP(op_name, open_)                                                                   \
    {                                                                                              \
        .name = op_name, .kind = OP_ACTION, .state_size = sizeof(struct text_files),               \
        .open = open_, .push = save_text_files_push, .finish = save_text_files_finish,             \
        .close = save_text_files_close, .result = save_text_files_result                           \
    }

const struct op op_save_as_text_files = FILES_OP("saveAsTextFiles", save_text_files_open);
const struct op op_save_as_gzip_text_files =
    FILES_OP("saveAsTextFiles(gzip)", save_gzip_files_open);
const struct op op_save_as_zstd_text_files =
    FILES_OP("saveAsTextFiles(zstd)", save_zstd_files_open);
