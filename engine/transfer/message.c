/* Messages and their bodies: encoding and decoding. */
#include "engine/transfer/message.h"

#include "engine/limits.h"
#include "engine/net/conn.h"

#include <assert.h>
#include <string.h>

struct message *message_create(enum message_type type)
{
    assert(type > 0 && type < MSG_TYPES_END);
    struct message *m = mem_zalloc(sizeof *m);
    if (m != NULL) m->type = type;
    return m;
}

void message_destroy(struct message *m)
{
    if (m == NULL) return;
    if (!m->body_borrowed) buffer_fini(&m->body);
    buffer_fini(&m->counters);
    buffer_fini(&m->blocks);
    mem_free(m->error);
    message_destroy(m->outcome);
    mem_free(m);
}

bool message_create_outcome(struct message *task)
{
    assert(task->outcome == NULL);
    struct message *m = task->outcome = message_create(MSG_FAILED);
    if (m == NULL) return false;
    m->error = mem_zalloc(sizeof *m->error);
    m->stage = task->stage;
    m->task = task->task;
    m->attempt = task->attempt;
    m->partition = task->partition;
    return m->error != NULL;
}

/* ---- Queues */

void message_queue_append(struct message_queue *q, struct message *m)
{
    assert(m->next == NULL);
    if (q->last != NULL)
        q->last->next = m;
    else
        q->first = m;
    q->last = m;
}

struct message *message_queue_pop(struct message_queue *q)
{
    struct message *m = q->first;
    if (m == NULL) return NULL;
    q->first = m->next;
    if (q->first == NULL) q->last = NULL;
    m->next = NULL;
    return m;
}

void message_queue_fini(struct message_queue *q)
{
    for (struct message *m; (m = message_queue_pop(q)) != NULL;) message_destroy(m);
}

/* ---- Encoding */

/* Followed by the body, the counters, the cached blocks and the error. */
static const struct payload_format message_format = {
    .fields = {FIELD_NUMBER(struct message, type, 1, MSG_TYPES_END - 1),
               FIELD_NUMBER(struct message, stage, 0, UINT32_MAX),
               FIELD_NUMBER(struct message, task, 0, UINT32_MAX),
               FIELD_NUMBER(struct message, attempt, 0, UINT32_MAX),
               FIELD_NUMBER(struct message, partition, 0, UINT32_MAX),
               FIELD_NUMBER(struct message, slot, 0, SLOTS_MAX - 1),
               FIELD_NUMBER(struct message, id, 0, UINT64_MAX),
               FIELD_NUMBER(struct message, size, 0, UINT64_MAX),
               FIELD_NUMBER(struct message, start_ns, 0, UINT64_MAX),
               FIELD_NUMBER(struct message, run_ns, 0, UINT64_MAX)},
};

int message_encode(const struct message *m, struct buffer *out, struct glint_error *error)
{
    struct packer p = {.failed = false};
    pack_array(&p, 14);
    payload_pack_fields(&p, &message_format, m);
    pack_bytes(&p, buffer_slice(&m->body));
    pack_bytes(&p, buffer_slice(&m->counters));
    pack_bytes(&p, buffer_slice(&m->blocks));
    pack_error(&p, m->type == MSG_FAILED ? m->error : NULL);
    return packer_finish(&p, out, error);
}

bool message_send(struct conn *c, const struct message *m)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error why = {.code = GLINT_OK};
    message_encode(m, &payload, &why);
    return conn_send_encoded(c, FRAME_MESSAGE, 0, &payload, &why);
}

/* Copies a byte string; *out_memory as in unpack_message_error. */
static bool unpack_message_bytes(struct unpacker *u, struct buffer *out, bool *out_memory)
{
    struct glint_slice s = unpack_bytes(u);
    *out_memory = u->failed || s.size == 0 || buffer_append(out, s.data, s.size);
    return !u->failed && *out_memory;
}

/* FAILED has an error; all other types have an empty array in its place. *out_memory is false if
 * there was no memory, so that the caller does not report PROTOCOL. */
static bool unpack_message_error(struct unpacker *u, struct message *m, bool *out_memory)
{
    if (m->type != MSG_FAILED) {
        struct unpacker e = unpack_array(u);
        return !e.failed && e.count == 0;
    }
    m->error = mem_alloc(sizeof *m->error);
    *out_memory = m->error != NULL;
    if (m->error != NULL) unpack_error(u, m->error);
    return *out_memory && !u->failed;
}

struct message *message_decode(struct glint_slice bytes, struct glint_error *error)
{
    struct message *m = message_create(MSG_CANCEL);
    if (m == NULL) {
        error_no_memory(error);
        return NULL;
    }
    struct unpacker u = unpack_begin(bytes);
    bool memory = true;
    payload_unpack_fields(&u, &message_format, m);
    bool ok = unpack_message_bytes(&u, &m->body, &memory) &&
              unpack_message_bytes(&u, &m->counters, &memory) &&
              unpack_message_bytes(&u, &m->blocks, &memory) &&
              unpack_message_error(&u, m, &memory) && unpack_is_complete(&u);
    if (ok) return m;
    message_destroy(m);
    if (memory)
        error_set(error, GLINT_E_PROTOCOL, NULL, "a message of %llu bytes does not parse",
                  (unsigned long long)bytes.size);
    else
        error_no_memory(error);
    return NULL;
}

/* ---- Bodies */

const struct payload_format map_outputs_format = {
    .what = "a list of map outputs",
    .size = sizeof(struct map_output_location),
    .fields = {FIELD_NUMBER(struct map_output_location, executor, 0, EXECUTORS_MAX - 1),
               FIELD_NUMBER(struct map_output_location, attempt, 0, UINT32_MAX)},
};

const struct payload_format cached_blocks_format = {
    .what = "a list of cached blocks",
    .size = sizeof(struct cached_block_state),
    .fields = {FIELD_NUMBER(struct cached_block_state, rdd, 0, UINT32_MAX),
               FIELD_NUMBER(struct cached_block_state, partition, 0, PARTITIONS_MAX - 1),
               FIELD_NUMBER(struct cached_block_state, memory_bytes, 0, UINT64_MAX),
               FIELD_NUMBER(struct cached_block_state, disk_bytes, 0, UINT64_MAX)},
};

/* No size: the executor's own options are kept. */
const struct payload_format job_options_format = {
    .what = "the options of a job",
    .fields = {FIELD_NUMBER(struct task_options, line_bytes_max, 0, VALUE_BYTES_MAX),
               FIELD_NUMBER(struct task_options, result_bytes_max, 0, RESULT_BYTES_MAX),
               FIELD_BOOL(struct task_options, skip_bad_rows),
               FIELD_INTEGER(struct task_options, bad_rows_max),
               FIELD_BOOL(struct task_options, no_sync), FIELD_TEXT(struct task_options, dir)},
};

const struct payload_format fetch_failure_format = {
    .what = "a fetch failure",
    .size = sizeof(struct fetch_failure),
    .fields = {FIELD_NUMBER(struct fetch_failure, shuffle, 0, UINT64_MAX),
               FIELD_NUMBER(struct fetch_failure, map, 0, PARTITIONS_MAX - 1),
               FIELD_NUMBER(struct fetch_failure, executor, 0, EXECUTORS_MAX - 1),
               FIELD_NUMBER(struct fetch_failure, attempt, 0, UINT32_MAX),
               FIELD_BOOL(struct fetch_failure, unreachable)},
};

/* A small floating-point format: three bits after the leading one, so that a step is an eighth.
 * Codes below 16 are the sizes themselves. */
uint8_t size_code_encode(uint64_t bytes)
{
    if (bytes < 8) return (uint8_t)bytes;
    unsigned shift = 60 - (unsigned)__builtin_clzll(bytes);
    assert(bytes >> shift >= 8 && bytes >> shift < 16);
    unsigned code = 8 * shift + (unsigned)(bytes >> shift);
    return code < UINT8_MAX ? (uint8_t)code : UINT8_MAX;
}

uint64_t size_code_decode(uint8_t code)
{
    if (code < 16) return code;
    unsigned shift = code / 8u - 1;
    return (uint64_t)(8 + code % 8) << shift;
}
