/* Lines of a command, in batches that point into the read buffer, as those of an input file
 * (input/line_reader.h). The part of a line that is not complete moves to the front of the buffer
 * before the next read. Bytes are passed unchanged: CR and NUL are ordinary ones. */
#include "ops/pipe.h"

#define ALIGN       64u
#define INDEX_WORDS (BATCH_ROWS_MAX + NEWLINES_SLACK)

int pipe_output_init(struct pipe_output *o, struct glint_task *task, const char *name,
                     const struct pipe_command *command)
{
    *o = (struct pipe_output){.records = command->record_output,
                              .key = command->key,
                              .value = command->value,
                              .task = task,
                              .command = name,
                              .capacity = 2 * READ_BLOCK_BYTES,
                              .index = newlines_index_for_cpu()};
    o->buffer = mem_alloc(o->capacity);
    o->start = mem_alloc(INDEX_WORDS * sizeof *o->start);
    o->end = mem_alloc(INDEX_WORDS * sizeof *o->end);
    bool ok = o->buffer != NULL && o->start != NULL && o->end != NULL;
    return ok ? 0 : error_no_memory(&task->error);
}

void pipe_output_fini(struct pipe_output *o)
{
    mem_free(o->buffer);
    mem_free(o->start);
    mem_free(o->end);
    *o = (struct pipe_output){.buffer = NULL};
}

static int set_output_line_too_long_error(const struct pipe_output *o)
{
    uint64_t max = o->task->options->line_bytes_max;
    return error_set(
        &o->task->error, GLINT_E_LINE_TOO_LONG, "check the command, or raise --max-line",
        "%s printed a line of more than %llu bytes", o->command, (unsigned long long)max);
}

int64_t pipe_output_reserve(struct pipe_output *o)
{
    const uint64_t partial = o->fill - o->line;
    assert(o->line <= o->scanned && o->scanned <= o->fill && o->fill <= o->capacity);
    const uint64_t max = o->records ? 2 * VALUE_BYTES_MAX : o->task->options->line_bytes_max;
    if (partial > max) return set_output_line_too_long_error(o);
    if (o->line > 0 && partial > 0) memmove(o->buffer, o->buffer + o->line, partial);
    o->scanned -= o->line;
    o->line = 0;
    o->fill = partial;
    if (o->capacity - partial < READ_BLOCK_BYTES) {
        uint8_t *larger = mem_grow(o->buffer, o->capacity, 2 * o->capacity);
        if (larger == NULL) return error_no_memory(&o->task->error);
        o->buffer = larger;
        o->capacity *= 2;
    }
    return (int64_t)(o->capacity - partial);
}

/* Emits one line, buffer[line, line_end), by reference. */
static enum flow emit_output_line(struct pipe_output *o, uint64_t line_end,
                                  struct glint_emitter *out)
{
    const uint64_t size = line_end - o->line;
    if (size > o->task->options->line_bytes_max) {
        set_output_line_too_long_error(o);
        return FLOW_FAIL;
    }
    struct glint_batch batch = {
        .rows = 1,
        .key = {.type = GLINT_NONE},
        .value = {.type = GLINT_TEXT, .base = o->buffer + o->line, .size = size}};
    if (size <= BATCH_BYTES_MAX) {
        o->start[0] = 0;
        o->end[0] = (uint32_t)size;
        batch.value.start = o->start;
        batch.value.end = o->end;
    }
    glint_emit_batch(out, &batch);
    return out->flow;
}

/* A line that does not fit into a batch. */
static enum flow emit_long_line(struct pipe_output *o, struct glint_emitter *out)
{
    const uint8_t *lf = memchr(o->buffer + o->scanned, '\n', o->fill - o->scanned);
    o->scanned = o->fill;
    if (lf == NULL) return FLOW_MORE;
    uint64_t at = (uint64_t)(lf - o->buffer);
    enum flow flow = emit_output_line(o, at, out);
    o->line = o->scanned = at + 1;
    return flow;
}

/* Needed only for limits below a batch's size. */
static bool are_line_lengths_allowed(const struct pipe_output *o, uint32_t rows)
{
    const uint64_t max = o->task->options->line_bytes_max;
    for (uint32_t i = 0; max < BATCH_BYTES_MAX && i < rows; i++)
        if (o->end[i] - o->start[i] > max) return false;
    return true;
}

static enum flow emit_output_lines(struct pipe_output *o, struct glint_emitter *out)
{
    const uint64_t base_at = o->line & ~(uint64_t)(ALIGN - 1);
    const uint8_t *base = o->buffer + base_at;
    const uint64_t room = base_at + BATCH_BYTES_MAX;
    if (o->scanned - base_at >= BATCH_BYTES_MAX - ALIGN) return emit_long_line(o, out);
    const struct newlines found =
        o->index(base, (uint32_t)(o->scanned - base_at),
                 (uint32_t)((o->fill < room ? o->fill : room) - base_at), o->start, o->end);
    o->scanned = base_at + found.scanned;
    if (found.count == 0) return FLOW_MORE;
    const uint64_t next = base_at + o->start[found.count];
    o->start[0] = (uint32_t)(o->line - base_at);
    if (!are_line_lengths_allowed(o, found.count)) {
        set_output_line_too_long_error(o);
        return FLOW_FAIL;
    }
    const struct glint_batch batch = {.rows = found.count,
                                      .key = {.type = GLINT_NONE},
                                      .value = {.type = GLINT_TEXT,
                                                .base = base,
                                                .start = o->start,
                                                .end = o->end,
                                                .lines = o->start,
                                                .size = o->end[found.count - 1]}};
    glint_emit_batch(out, &batch);
    o->line = next;
    return out->flow;
}

enum flow pipe_output_emit(struct pipe_output *o, bool last, struct glint_emitter *out)
{
    /* The lines are not in the input file: an error about one must not name it. */
    const struct glint_origin *origin = o->task->origin;
    enum flow flow = FLOW_MORE;
    o->task->origin = NULL;
    if (o->records) flow = pipe_output_emit_records(o, out);
    while (flow == FLOW_MORE && o->scanned < o->fill) flow = emit_output_lines(o, out);
    if (flow == FLOW_MORE && last && !o->records && o->line < o->fill) {
        flow = emit_output_line(o, o->fill, out);
        o->line = o->scanned = o->fill;
    }
    o->task->origin = origin;
    return flow;
}
