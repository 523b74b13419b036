/* Arbitrary bytes as the records that a command writes, in reads of any size: the batches are what
 * a naive parser finds, and so are the notes, the end and the errors. */
#include "engine/base/endian.h"
#include "engine/records/emitter.h"
#include "engine/shuffle/task_accumulators.h"
#include "ops/pipe.h"

#include <stdlib.h>
#include <string.h>

#define NOTES (UINT32_MAX - 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum end { END_MARK, END_PARTIAL, END_NONE, END_ERROR };

/* What the bytes are: records in the form that they have, one after the other, without notes. */
struct naive {
    struct buffer records, notes;
    enum end end;
};

static void parse(struct naive *n, const uint8_t *at, uint64_t left, bool keys)
{
    while (left >= PIPE_RECORD_HEAD) {
        const uint32_t key = get_le32(at), value = get_le32(at + sizeof(uint32_t));
        const bool notes = key == NOTES;
        const uint64_t size = PIPE_RECORD_HEAD + (notes ? 0 : (uint64_t)key) + value;
        if (key == UINT32_MAX && value == UINT32_MAX) {
            n->end = left == PIPE_RECORD_HEAD ? END_MARK : END_ERROR;
            return;
        }
        if (size > left) break;
        if (!notes && key > 0 && !keys) {
            n->end = END_ERROR;
            return;
        }
        if (notes && !buffer_append(&n->notes, at + PIPE_RECORD_HEAD, value)) abort();
        if (!notes && !buffer_append(&n->records, at, size)) abort();
        at += size;
        left -= size;
    }
    n->end = left > 0 ? END_PARTIAL : END_NONE;
}

static enum flow keep_records(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    (void)out;
    if (batch->rows == 0 || batch->rows > BATCH_ROWS_MAX) abort();
    for (uint32_t row = 0; row < batch->rows; row++) {
        const struct glint_record r = glint_batch_record(batch, row);
        const struct glint_slice none = {NULL, 0};
        const struct glint_slice key = batch->key.type == GLINT_NONE ? none : r.key.bytes;
        if (!pipe_record_append(state, key, r.value.bytes)) abort();
    }
    return FLOW_MORE;
}

/* In reads of at most `step` bytes. */
static enum flow read_all(struct pipe_output *o, const uint8_t *data, uint64_t size, uint64_t step,
                          struct glint_emitter *out)
{
    enum flow flow = FLOW_MORE;
    bool last = false;
    while (flow == FLOW_MORE && !last) {
        const int64_t room = pipe_output_reserve(o);
        if (room <= 0) abort();
        uint64_t n = step < size ? step : size;
        if (n > (uint64_t)room) n = (uint64_t)room;
        if (n > 0) memcpy(o->buffer + o->fill, data, n);
        o->fill += n;
        data += n;
        size -= n;
        last = n == 0;
        flow = pipe_output_emit(o, last, out);
    }
    return flow;
}

static void check(const struct naive *n, const struct pipe_output *o, enum flow flow,
                  const struct buffer *got)
{
    const char *problem = pipe_output_end_problem(o);
    if (got->size > n->records.size) abort();
    if (got->size > 0 && memcmp(got->data, n->records.data, got->size) != 0) abort();
    if ((flow == FLOW_FAIL) != (n->end == END_ERROR)) abort();
    if (flow == FLOW_FAIL) {
        if (o->task->error.code != GLINT_E_COMMAND_FAILED) abort();
        return;
    }
    if (got->size != n->records.size) abort();
    if ((problem == NULL) != (n->end == END_MARK)) abort();
    if (problem != NULL && (strcmp(problem, "ends in a record") == 0) != (n->end == END_PARTIAL))
        abort();
}

static void check_notes(struct glint_task *task, const struct naive *n)
{
    if (n->end == END_ERROR || n->notes.size == 0) return;
    const int number = glint_accumulator(task, GLINT_COMMAND_NOTES, &GLINT_CONCAT_TEXT);
    if (number < 0 || task->error.code != GLINT_OK) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    const bool keys = (data[0] & 1) != 0;
    const uint64_t step = 1 + (uint64_t)data[1] * data[1];
    const struct pipe_command command = {
        .record_output = true, .key = keys ? GLINT_BYTES : GLINT_NONE, .value = GLINT_BYTES};
    const struct task_options options = {.line_bytes_max = LINE_BYTES_MAX_DEFAULT,
                                         .memory_bytes = MEMORY_BYTES_DEFAULT};
    struct glint_task task = {.options = &options};
    struct glint_emitter out;
    struct pipe_output o;
    struct naive n = {.end = END_NONE};
    struct buffer got = {NULL, 0, 0};
    parse(&n, data + 2, size - 2, keys);
    if (pipe_output_init(&o, &task, "fuzz", &command) != 0) abort();
    emitter_init(&out, &task, (struct glint_schema){command.key, command.value}, keep_records, &got,
                 NULL);
    check(&n, &o, read_all(&o, data + 2, size - 2, step, &out), &got);
    check_notes(&task, &n);
    pipe_output_fini(&o);
    if (task.free_accumulators != NULL) task.free_accumulators(&task);
    arena_fini(&task.arena);
    buffer_fini(&n.records);
    buffer_fini(&n.notes);
    buffer_fini(&got);
    if (mem_live_blocks() != 0) abort();
    return 0;
}
