/* wholeTextFiles and binaryFiles: one record per file, (path, content). The content of a file is in
 * memory as a whole, as in Spark, within the slot's share of --memory, and passed on by reference;
 * the next file reuses the memory.
 * Small files share a partition; empty ones are records, too. wholeTextFiles decompresses. */
#include "engine/base/text.h"
#include "engine/input/input_stream.h"
#include "engine/input/split.h"
#include "ops/ops.h"

#include <string.h>

struct whole_files_state {
    struct glint_task *task;
    bool raw; /* binaryFiles: compressed files are not decompressed */
    struct buffer content;
};

static int whole_files_open(void *state, const struct op_open *o)
{
    struct whole_files_state *s = state;
    s->task = o->task;
    s->raw = o->out.value == GLINT_BYTES;
    return 0;
}

/* The content is the task's memory, as what it collects for a shuffle is. `size`: as far as it is
 * known. */
static int check_content_memory(struct whole_files_state *s, const char *path, uint64_t size)
{
    const uint64_t share = s->task->options->memory_bytes;
    char hint[sizeof s->task->error.hint];
    if (size <= share) return 0;
    text_format(hint, sizeof hint,
                "read it as lines (textFile), or raise --memory, of which each slot has its share, "
                "so that a slot has %llu MiB or more",
                (unsigned long long)((size + MIB - 1) / MIB));
    return error_set(&s->task->error, GLINT_E_MEMORY_LIMIT, hint,
                     "%s: its content does not fit into the %llu MiB of a slot", path,
                     (unsigned long long)(share / MIB));
}

/* Ensures room for more of the content, of which `left` bytes are known to follow. */
static int content_reserve(struct whole_files_state *s, const char *path, uint64_t left)
{
    if (check_content_memory(s, path, s->content.size + left) != 0) return s->task->error.code;
    if (s->content.size + left > VALUE_BYTES_MAX)
        return error_set(&s->task->error, GLINT_E_VALUE_LIMIT, "read it as lines: textFile",
                         "%s: a file that is read as one value has at most %llu bytes", path,
                         (unsigned long long)VALUE_BYTES_MAX);
    return buffer_reserve(&s->content, left) ? 0 : error_no_memory(&s->task->error);
}

static int read_file_content(struct whole_files_state *s, struct input_stream *in)
{
    while (!in->ended) {
        const bool known = in->decompressor == NULL;
        const uint64_t left = known ? in->piece->file_size - in->at : READ_BLOCK_BYTES;
        if (task_check_cancelled(s->task) != 0) return GLINT_E_INTERRUPTED;
        int r = content_reserve(s, in->piece->path, left);
        if (r < 0) return r;
        const uint64_t size = left < BATCH_BYTES_MAX ? left : BATCH_BYTES_MAX;
        const int64_t n = input_stream_read(in, s->content.data + s->content.size, size);
        if (n < 0) return (int)n;
        s->content.size += (uint64_t)n;
    }
    return input_stream_check_unchanged(in);
}

static enum flow read_whole_file(struct whole_files_state *s, struct input_ahead *ahead,
                                 uint32_t index, struct glint_emitter *out)
{
    const struct split_piece *piece = &ahead->split->pieces[index];
    struct input_stream in;
    s->content.size = 0;
    int r = input_stream_open_ahead(&in, s->task->env, s->task, ahead, index, &s->task->error);
    if (r == 0) r = read_file_content(s, &in);
    if (r == 0) {
        const struct glint_record file = {
            .key.bytes = {(const uint8_t *)piece->path, strlen(piece->path)},
            .value.bytes = {s->content.data, s->content.size}};
        s->task->counters.values[COUNT_ROWS_READ]++;
        s->task->counters.values[COUNT_BYTES_READ] += (int64_t)input_stream_disk_offset(&in);
        glint_emit(out, &file);
    }
    input_stream_close(&in);
    return r < 0 ? FLOW_FAIL : out->flow;
}

/* Files as they are on disk. */
static int clear_split_compression(struct glint_task *task, struct split *split)
{
    struct split_piece *pieces = task_alloc(task, split->count * sizeof *pieces);
    if (pieces == NULL) return GLINT_E_NO_MEMORY;
    for (uint32_t i = 0; i < split->count; i++) {
        pieces[i] = split->pieces[i];
        pieces[i].compression = COMPRESSION_NONE;
        pieces[i].detect = false;
    }
    split->pieces = pieces;
    return 0;
}

static enum flow whole_files_run(void *state, struct glint_slice bytes, struct glint_emitter *out)
{
    struct whole_files_state *s = state;
    struct split split;
    if (split_decode(bytes, &s->task->arena, &split, &s->task->error) != 0) return FLOW_FAIL;
    if (s->raw && clear_split_compression(s->task, &split) != 0) return FLOW_FAIL;
    enum flow flow = FLOW_MORE;
    struct input_ahead ahead = {.split = &split};
    for (uint32_t i = 0; i < split.count && flow == FLOW_MORE; i++)
        flow = read_whole_file(s, &ahead, i, out);
    input_ahead_close(&ahead);
    return flow;
}

static void whole_files_close(void *state)
{
    buffer_fini(&((struct whole_files_state *)state)->content);
}

/* ---- Driver side */

static int whole_files_make_splits(struct glint_rdd *rdd, uint64_t split_bytes)
{
    const struct input_list *list = rdd->source;
    struct splits splits = {NULL, 0, {NULL, NULL, 0}};
    if (list->header) {
        rdd_fail(rdd, GLINT_E_PLAN_ARGUMENT, "withHeader is for sources of lines");
        return rdd->g->error.code;
    }
    int r = text_source_match_columns(rdd);
    if (r == 0) r = splits_make_by_files(list, split_bytes, &splits, true, &rdd->g->error);
    if (r == 0) r = text_source_add_splits(rdd, &splits);
    splits_fini(&splits);
    return r;
}

struct glint_rdd *glint_whole_text_files(struct glint *g, const char *paths)
{
    const struct file_source source = {.op = &op_whole_text_files,
                                       .schema = {GLINT_TEXT, GLINT_TEXT},
                                       .skips_nested = true,
                                       .make_splits = whole_files_make_splits};
    return file_source_create(g, paths, &source);
}

struct glint_rdd *glint_binary_files(struct glint *g, const char *paths)
{
    const struct file_source source = {.op = &op_binary_files,
                                       .schema = {GLINT_TEXT, GLINT_BYTES},
                                       .binary = true,
                                       .skips_nested = true,
                                       .make_splits = whole_files_make_splits};
    return file_source_create(g, paths, &source);
}

#define WHOLE_FILES_OP(op_name)                                                                    \
    {                                                                                              \
        .name = op_name, .kind = OP_SOURCE, .state_size = sizeof(struct whole_files_state),        \
        .open = whole_files_open, .run = whole_files_run, .close = whole_files_close               \
    }

const struct op op_whole_text_files = WHOLE_FILES_OP("wholeTextFiles");
const struct op op_binary_files = WHOLE_FILES_OP("binaryFiles");
