/* A fake executor process: responds to messages as configured, runs no tasks, and checks what
 * it receives. */
#include "tests/support/fake_nodes.h"

#include "engine/base/endian.h"
#include "engine/net/wire.h"
#include "engine/transfer/broadcast.h"
#include "engine/transfer/message.h"
#include "engine/transfer/wire_fetch.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define RESULT_ID 77u

static void send_message(struct process *p, struct message *m)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    check_or_exit(message_encode(m, &payload, &error) == 0, "cannot encode a message");
    if (p->control != NULL) send_or_exit(p->control, FRAME_MESSAGE, 0, &payload);
    buffer_fini(&payload);
}

/* ---- Tasks and broadcasts of a process */

static void on_task(struct process *p, const struct message *task)
{
    const struct fake_node *spec = p->node->spec;
    uint8_t small[8] = {(uint8_t)task->task}, checksum[RESULT_CHECKSUM_BYTES];
    struct message done = {
        .type = MSG_DONE, .stage = task->stage, .task = task->task, .attempt = task->attempt};
    atomic_fetch_add(&p->node->spec->tasks, 1);
    if (spec->result == FAKE_NONSENSE) {
        struct buffer payload = {NULL, 0, 0};
        check_or_exit(buffer_append(&payload, "nonsense", 8), "no memory");
        send_or_exit(p->control, FRAME_MESSAGE, 0, &payload);
        return;
    }
    if (spec->result == FAKE_SMALL) {
        done.body = (struct buffer){small, sizeof small, sizeof small};
    } else {
        done.id = RESULT_ID;
        done.size = spec->result == FAKE_HUGE ? UINT64_MAX / 2 : spec->result_bytes;
        uint64_t wrong = spec->result == FAKE_DAMAGED;
        put_le64(checksum, wrong ^ XXH3_64bits(p->node->cluster->result, spec->result_bytes));
        done.body = (struct buffer){checksum, sizeof checksum, sizeof checksum};
    }
    send_message(p, &done);
}

static void get_block(struct process *p, uint32_t block)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    struct get_request get = {.kind = GET_BROADCAST_BLOCK, .id = p->value_id, .block = block};
    check_or_exit(get_request_encode(&get, &payload, &error) == 0, "cannot encode GET");
    send_or_exit(p->data, FRAME_GET, block + 1, &payload);
}

static void track(struct process *p, const struct block_request *t)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    check_or_exit(block_request_encode(t, &payload, &error) == 0, "cannot encode BLOCK_REQUEST");
    if (p->data != NULL) send_or_exit(p->data, FRAME_BLOCK_REQUEST, 0, &payload);
}

static void value_whole(struct process *p, uint64_t id, struct glint_slice value)
{
    for (uint64_t i = 0; i < value.size; i++)
        check_or_exit(value.data[i] == (uint8_t)(i * 31 + id), "a broadcast has wrong bytes");
    atomic_fetch_add(&p->node->spec->values, 1);
}

static void on_broadcast(struct process *p, const struct message *m)
{
    if (m->body.size > 0) {
        check_or_exit(m->body.size <= BROADCAST_INLINE_BYTES_MAX, "a large broadcast has a body");
        value_whole(p, m->id, (struct glint_slice){m->body.data, m->body.size});
        return;
    }
    check_or_exit(m->size > BROADCAST_INLINE_BYTES_MAX, "a small broadcast has no body");
    free(p->value);
    p->value_id = m->id;
    p->value_size = m->size;
    p->value = calloc(1, m->size);
    p->blocks_left = broadcast_block_count(m->size);
    check_or_exit(p->value != NULL && p->blocks_left <= BLOCKS_MAX, "no memory");
    track(p, &(struct block_request){.id = m->id, .blocks_max = 2});
}

static void on_tracked(struct process *p, struct glint_slice payload)
{
    struct block_assignment t;
    struct glint_error error = {.code = GLINT_OK};
    check_or_exit(block_assignment_decode(payload, &t, &error) == 0, "cannot decode BLOCK_ASSIGN");
    struct block_request failed = {.id = t.id, .blocks_max = 2};
    for (uint32_t i = 0; i < t.count; i++) {
        check_or_exit(t.blocks[i].block < BLOCKS_MAX, "unknown block");
        p->checksums[t.blocks[i].block] = t.blocks[i].checksum;
        if (t.blocks[i].from == EXECUTOR_ID_DRIVER)
            get_block(p, t.blocks[i].block);
        else /* fake executors do not connect to each other */
            failed.failed[failed.failed_count++] = t.blocks[i].block;
    }
    if (failed.failed_count > 0) track(p, &failed);
}

static void on_block(struct process *p, uint32_t block, uint32_t size)
{
    struct glint_error error = {.code = GLINT_OK};
    struct glint_slice packed = {p->arriving, size};
    if (size == broadcast_block_bytes_at(p->value_size, block)) {
        memcpy(p->value + block * broadcast_block_bytes(p->value_size), p->arriving, size);
        packed.size = 0;
    }
    int r = broadcast_block_decode(p->value_id, block, p->checksums[block], packed, p->value,
                                   p->value_size, &error);
    check_or_exit(r == 0, "a block is corrupt");
    free(p->arriving);
    p->arriving = NULL;
    struct block_request have = {
        .id = p->value_id, .blocks_max = 2, .received_count = 1, .received = {block}};
    if (--p->blocks_left > 0) {
        track(p, &have);
        return;
    }
    have.blocks_max = 0;
    track(p, &have);
    value_whole(p, p->value_id, (struct glint_slice){p->value, p->value_size});
}

static void on_sent(void *arg, bool ok)
{
    (void)arg;
    (void)ok;
}

static void on_get(struct process *p, const struct frame *f, struct glint_slice payload)
{
    const struct fake_node *spec = p->node->spec;
    struct get_request get;
    struct glint_error error = {.code = GLINT_OK}, why = {.code = GLINT_OK};
    struct buffer response = {NULL, 0, 0};
    check_or_exit(get_request_decode(payload, &get, &error) == 0 && get.kind == GET_RESULT &&
                      get.id == RESULT_ID && get.offset + get.size <= spec->result_bytes,
                  "invalid GET");
    struct glint_slice bytes = {p->node->cluster->result + get.offset, get.size};
    get_request_fini(&get);
    if (spec->result == FAKE_SILENT) return;
    if (spec->result == FAKE_LOST) {
        error_set(&why, GLINT_E_SHUFFLE_CORRUPT, NULL, "the disk failed");
        check_or_exit(fetch_error_encode(&why, &response, &error) == 0,
                      "cannot encode FETCH_ERROR");
        send_or_exit(p->data, FRAME_FETCH_ERROR, f->request, &response);
        return;
    }
    if (spec->result == FAKE_SHORT) bytes.size--;
    conn_send_data(p->data, f->request, bytes, on_sent, NULL);
}

/* ---- Frames of a process */

static int process_frame(void *arg, struct conn *c, const struct frame *f,
                         struct glint_slice payload, struct glint_error *error)
{
    struct process *p = arg;
    struct fake_node *spec = p->node->spec;
    if (p->ignores_messages) return 0;
    if (f->type == FRAME_PING) atomic_fetch_add(&spec->pings, 1);
    if (f->type == FRAME_EXECUTOR_ADDED) atomic_fetch_add(&spec->peers, 1);
    if (f->type == FRAME_GET) on_get(p, f, payload);
    if (f->type == FRAME_BLOCK_ASSIGN) on_tracked(p, payload);
    if (f->type == FRAME_FETCH_ERROR) /* the driver was out of memory: ask again */
        track(p, &(struct block_request){.id = p->value_id,
                                         .blocks_max = 2,
                                         .failed_count = 1,
                                         .failed = {(uint32_t)f->request - 1}});
    if (f->type != FRAME_MESSAGE) return 0;
    check_or_exit(c == p->control, "a message on the data connection");
    struct message *m = message_decode(payload, error);
    check_or_exit(m != NULL, "cannot decode a message");
    check_or_exit((m->type == MSG_JOB) == !p->received_job, "JOB comes first, once");
    p->received_job = true;
    switch (m->type) {
    case MSG_JOB:
        atomic_store(&spec->number, m->id);
        atomic_fetch_add(&spec->jobs, 1);
        break;
    case MSG_TASK: on_task(p, m); break;
    case MSG_BROADCAST: on_broadcast(p, m); break;
    case MSG_RELEASE: atomic_fetch_add(&spec->releases, m->id == RESULT_ID); break;
    default: break;
    }
    message_destroy(m);
    return 0;
}

static uint8_t *process_into(void *arg, struct conn *c, const struct frame *f)
{
    struct process *p = arg;
    (void)c;
    if (p->ignores_messages) return NULL;
    check_or_exit(p->arriving == NULL, "two blocks at once on one connection");
    p->arriving = malloc(f->length);
    return p->arriving;
}

static void process_data(void *arg, struct conn *c, const struct frame *f)
{
    (void)c;
    on_block(arg, (uint32_t)f->request - 1, f->length);
}

static void process_closed(void *arg, struct conn *c, const struct glint_error *why)
{
    struct process *p = arg;
    if (p->control == c) p->control = NULL;
    if (p->data == c) p->data = NULL;
    free(p->arriving);
    p->arriving = NULL;
    if (p->opened < 2 && p->control != NULL) conn_close(p->control, false);
    if (p->opened < 2 && p->data != NULL) conn_close(p->data, false);
    if (p->control != NULL || p->data != NULL) return;
    atomic_fetch_add(&p->node->spec->ends, 1);
    process_exited(p);
    /* The driver may be out of memory for a moment. */
    if (p->opened < 2 && why->code != GLINT_E_PEER_MISMATCH) process_dial_again(p);
}

static void send_register(struct process *p)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    struct executor_registration ready = {
        .port = 1, .slots = p->node->spec->slots, .memory_bytes = MIB};
    if (p->node->spec->never_ready) return;
    p->ignores_messages = p->node->spec->no_heartbeat;
    atomic_fetch_add(&p->node->spec->joined, 1);
    check_or_exit(executor_registration_encode(&ready, &payload, &error) == 0,
                  "cannot encode REGISTER");
    send_or_exit(p->control, FRAME_REGISTER, 0, &payload);
}

static void process_opened(void *arg, struct conn *c)
{
    struct process *p = arg;
    p->opened++;
    if (c == p->control) send_register(p);
}

const struct conn_events process_events = {.opened = process_opened,
                                           .frame = process_frame,
                                           .buffer_for = process_into,
                                           .data = process_data,
                                           .closed = process_closed};
