/* Records of a command, in batches that point into the read buffer, as its lines (pipe_output.c).
 * Input and output have one form: the size of the key (0 without one), that of the value, as 32 bit
 * little-endian numbers, and the bytes of both, of a number eight, little-endian; after the last
 * one a mark, the sizes 2^32 - 1. An output without it is of a command that ended too early,
 * whatever its exit status. Before the mark a command may write notes: the size 2^32 - 2, that of
 * the notes, and their bytes. */
#include "engine/base/endian.h"
#include "ops/pipe.h"

#include <string.h>

static_assert(PIPE_RECORD_HEAD == 2 * sizeof(uint32_t), "the sizes of key and value");
static_assert(VALUE_BYTES_MAX <= UINT32_MAX, "the size of a value has 32 bits");
#define NOTES_KEY (UINT32_MAX - 1)
static_assert(KEY_BYTES_MAX < NOTES_KEY, "no key has a size that is a mark");

/* Keys of a batch; its values are in the arrays of the output. */
struct record_keys {
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
};

bool pipe_record_append(struct buffer *b, struct glint_slice key, struct glint_slice value)
{
    uint8_t head[PIPE_RECORD_HEAD];
    assert(key.size <= VALUE_BYTES_MAX && value.size <= VALUE_BYTES_MAX);
    put_le32(head, (uint32_t)key.size);
    put_le32(head + sizeof(uint32_t), (uint32_t)value.size);
    return buffer_append(b, head, sizeof head) && buffer_append(b, key.data, key.size) &&
           buffer_append(b, value.data, value.size);
}

bool pipe_records_append_end(struct buffer *b)
{
    uint8_t mark[PIPE_RECORD_HEAD];
    memset(mark, 0xff, sizeof mark);
    return buffer_append(b, mark, sizeof mark);
}

static bool is_end_mark(const struct pipe_output *o, uint64_t at)
{
    const uint8_t *head = o->buffer + o->line + at;
    return o->fill - o->line - at >= PIPE_RECORD_HEAD && get_le32(head) == UINT32_MAX &&
           get_le32(head + sizeof(uint32_t)) == UINT32_MAX;
}

/* Whether notes begin there; all of their head was read. */
static bool is_notes_head(const struct pipe_output *o, uint64_t at)
{
    return o->fill - o->line - at >= PIPE_RECORD_HEAD &&
           get_le32(o->buffer + o->line + at) == NOTES_KEY;
}

/* Returns the size of the record at o->line + at, with its head; 0 if not all of it was read. */
static uint64_t find_record(const struct pipe_output *o, uint64_t at, uint64_t *out_key)
{
    const uint64_t left = o->fill - o->line - at;
    if (left < PIPE_RECORD_HEAD || is_end_mark(o, at) || is_notes_head(o, at)) return 0;
    const uint8_t *head = o->buffer + o->line + at;
    *out_key = get_le32(head);
    const uint64_t size = PIPE_RECORD_HEAD + *out_key + get_le32(head + sizeof(uint32_t));
    return size <= left ? size : 0;
}

enum flow pipe_records_fail(struct glint_task *task, const char *command, const char *problem,
                            const char *hint)
{
    const char *rule = "the command must write nothing but records to its standard output";
    error_set(&task->error, GLINT_E_COMMAND_FAILED, hint != NULL ? hint : rule, "%s: its output %s",
              command, problem);
    return FLOW_FAIL;
}

static enum flow fail_record(const struct pipe_output *o, const char *problem)
{
    return pipe_records_fail(o->task, o->command, problem, NULL);
}

/* A record that does not fit into a batch. */
static enum flow emit_large_command_record(struct pipe_output *o, uint64_t size, uint64_t key,
                                           struct glint_emitter *out)
{
    const uint8_t *at = o->buffer + o->line + PIPE_RECORD_HEAD;
    const uint64_t value = size - PIPE_RECORD_HEAD - key;
    const struct glint_batch batch = {.rows = 1,
                                      .key = {.type = o->key, .base = at, .size = key},
                                      .value = {.type = o->value, .base = at + key, .size = value}};
    assert(size > PIPE_RECORD_HEAD);
    glint_emit_batch(out, &batch);
    o->line += size;
    return out->flow;
}

/* Emits as many records as a batch takes. Sets *out_more if it has emitted some. */
static enum flow emit_record_batch(struct pipe_output *o, struct record_keys *keys,
                                   struct glint_emitter *out, bool *out_more)
{
    uint64_t at = 0, key = 0, size;
    uint32_t rows = 0;
    *out_more = false;
    while (rows < BATCH_ROWS_MAX && (size = find_record(o, at, &key)) > 0) {
        if (o->key == GLINT_NONE && key > 0) return fail_record(o, "has a key");
        if (at + size > BATCH_BYTES_MAX) break;
        keys->start[rows] = (uint32_t)(at + PIPE_RECORD_HEAD);
        keys->end[rows] = o->start[rows] = (uint32_t)(at + PIPE_RECORD_HEAD + key);
        at += size;
        o->end[rows++] = (uint32_t)at;
    }
    if (rows == 0 && (size = find_record(o, 0, &key)) > 0) {
        *out_more = true;
        return emit_large_command_record(o, size, key, out);
    }
    if (rows == 0) return FLOW_MORE;
    const uint8_t *base = o->buffer + o->line;
    assert(o->line + at <= o->fill);
    struct glint_batch batch = {
        .rows = rows,
        .key = {.type = o->key},
        .value = {.type = o->value, .base = base, .start = o->start, .end = o->end, .size = at}};
    if (o->key != GLINT_NONE)
        batch.key = (struct glint_column){
            .type = o->key, .base = base, .start = keys->start, .end = keys->end, .size = at};
    *out_more = true;
    glint_emit_batch(out, &batch);
    o->line += at;
    return out->flow;
}

/* Adds the notes to the accumulator, once all of them were read. */
static enum flow add_notes_to_accumulator(struct pipe_output *o)
{
    const uint8_t *at = o->buffer + o->line + PIPE_RECORD_HEAD;
    if (!is_notes_head(o, 0)) return FLOW_MORE;
    const uint64_t size = get_le32(at - sizeof(uint32_t));
    if (o->fill - o->line - PIPE_RECORD_HEAD < size) return FLOW_MORE;
    const int number = glint_accumulator(o->task, GLINT_COMMAND_NOTES, &GLINT_CONCAT_TEXT);
    const union glint_value notes = {.bytes = {at, size}};
    if (number < 0 || glint_accumulate(o->task, number, &notes) != 0) return FLOW_FAIL;
    o->line += PIPE_RECORD_HEAD + size;
    return FLOW_MORE;
}

enum flow pipe_output_emit_records(struct pipe_output *o, struct glint_emitter *out)
{
    struct record_keys keys;
    enum flow flow = FLOW_MORE;
    bool more = true;
    while (flow == FLOW_MORE && more && !o->ended) {
        const uint64_t begin = o->line;
        flow = emit_record_batch(o, &keys, out, &more);
        if (flow == FLOW_MORE && !more) flow = add_notes_to_accumulator(o);
        more = o->line > begin;
    }
    if (flow == FLOW_MORE && !o->ended && is_end_mark(o, 0)) {
        o->ended = true;
        o->line += PIPE_RECORD_HEAD;
    }
    o->scanned = o->fill;
    if (flow != FLOW_MORE) return flow;
    if (o->ended && o->line < o->fill) return fail_record(o, "goes on after the mark of its end");
    return FLOW_MORE;
}

const char *pipe_output_end_problem(const struct pipe_output *o)
{
    if (!o->records || o->ended) return NULL;
    return o->line < o->fill ? "ends in a record" : "has no mark of its end";
}
