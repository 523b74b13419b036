/* An executor process as a driver sees it: it answers messages as it was told to, runs nothing, and
 * checks what it is sent. */
#include "tests/support/fake_nodes.h"

#include "engine/base/little.h"
#include "engine/net/message.h"
#include "engine/net/value.h"
#include "engine/net/wire.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define RESULT_ID 77u

static void send_message(struct process *p, struct message *m)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    must(message_encode(m, &payload, &error) == 0, "a message does not encode");
    if (p->control != NULL) say(p->control, FRAME_MESSAGE, 0, &payload);
    buffer_fini(&payload);
}

/* ---- Tasks and broadcasts of a process */

static void on_task(struct process *p, const struct message *task)
{
    const struct fake_node *told = p->node->told;
    uint8_t small[8] = {(uint8_t)task->task}, sum[RESULT_SUM_BYTES];
    struct message done = {
        .type = MSG_DONE, .stage = task->stage, .task = task->task, .attempt = task->attempt};
    atomic_fetch_add(&p->node->told->tasks, 1);
    if (told->result == FAKE_NONSENSE) {
        struct buffer payload = {NULL, 0, 0};
        must(buffer_append(&payload, "nonsense", 8), "no memory");
        say(p->control, FRAME_MESSAGE, 0, &payload);
        return;
    }
    if (told->result == FAKE_SMALL) {
        done.body = (struct buffer){small, sizeof small, sizeof small};
    } else {
        done.id = RESULT_ID;
        done.size = told->result == FAKE_HUGE ? UINT64_MAX / 2 : told->result_bytes;
        uint64_t wrong = told->result == FAKE_DAMAGED;
        little_put64(sum, wrong ^ XXH3_64bits(p->node->cluster->result, told->result_bytes));
        done.body = (struct buffer){sum, sizeof sum, sizeof sum};
    }
    send_message(p, &done);
}

static void get_block(struct process *p, uint32_t block)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    struct get get = {.kind = GET_VALUE, .id = p->value_id, .block = block};
    must(get_encode(&get, &payload, &error) == 0, "a GET does not encode");
    say(p->data, FRAME_GET, block + 1, &payload);
}

static void track(struct process *p, const struct track *t)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    must(track_encode(t, &payload, &error) == 0, "a TRACK does not encode");
    if (p->data != NULL) say(p->data, FRAME_TRACK, 0, &payload);
}

static void value_whole(struct process *p, uint64_t id, struct glint_slice value)
{
    for (uint64_t i = 0; i < value.size; i++)
        must(value.data[i] == (uint8_t)(i * 31 + id), "a broadcast has other bytes");
    atomic_fetch_add(&p->node->told->values, 1);
}

static void on_broadcast(struct process *p, const struct message *m)
{
    if (m->body.size > 0) {
        must(m->body.size <= VALUE_INLINE_BYTES_MAX, "a large broadcast brought its body");
        value_whole(p, m->id, (struct glint_slice){m->body.data, m->body.size});
        return;
    }
    must(m->size > VALUE_INLINE_BYTES_MAX, "a small broadcast did not bring its body");
    free(p->value);
    p->value_id = m->id;
    p->value_size = m->size;
    p->value = calloc(1, m->size);
    p->blocks_left = value_blocks(m->size);
    must(p->value != NULL && p->blocks_left <= BLOCKS_MAX, "no memory");
    track(p, &(struct track){.id = m->id, .want = 2});
}

static void on_tracked(struct process *p, struct glint_slice payload)
{
    struct tracked t;
    struct glint_error error = {.code = GLINT_OK};
    must(tracked_decode(payload, &t, &error) == 0, "a TRACKED does not parse");
    struct track failed = {.id = t.id, .want = 2};
    for (uint32_t i = 0; i < t.count; i++) {
        must(t.blocks[i].block < BLOCKS_MAX, "no such block");
        p->sums[t.blocks[i].block] = t.blocks[i].sum;
        if (t.blocks[i].from == TRACK_DRIVER)
            get_block(p, t.blocks[i].block);
        else /* executors here do not know one another */
            failed.failed[failed.failed_count++] = t.blocks[i].block;
    }
    if (failed.failed_count > 0) track(p, &failed);
}

static void on_block(struct process *p, uint32_t block, uint32_t size)
{
    struct glint_error error = {.code = GLINT_OK};
    struct glint_slice packed = {p->arriving, size};
    if (size == value_block_size(p->value_size, block)) {
        memcpy(p->value + block * value_block_bytes(p->value_size), p->arriving, size);
        packed.size = 0;
    }
    int r = value_take(p->value_id, block, p->sums[block], packed, p->value, p->value_size, &error);
    must(r == 0, "a block is damaged");
    free(p->arriving);
    p->arriving = NULL;
    struct track have = {.id = p->value_id, .want = 2, .have_count = 1, .have = {block}};
    if (--p->blocks_left > 0) {
        track(p, &have);
        return;
    }
    have.want = 0;
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
    const struct fake_node *told = p->node->told;
    struct get get;
    struct glint_error error = {.code = GLINT_OK}, why = {.code = GLINT_OK};
    struct buffer gone = {NULL, 0, 0};
    must(get_decode(payload, &get, &error) == 0 && get.kind == GET_RESULT && get.id == RESULT_ID &&
             get.offset + get.size <= told->result_bytes,
         "a wrong GET");
    struct glint_slice bytes = {p->node->cluster->result + get.offset, get.size};
    get_fini(&get);
    if (told->result == FAKE_SILENT) return;
    if (told->result == FAKE_LOST) {
        error_set(&why, GLINT_E_RUN_CORRUPT, NULL, "the disk ate it");
        must(gone_encode(&why, &gone, &error) == 0, "a GONE does not encode");
        say(p->data, FRAME_GONE, f->request, &gone);
        return;
    }
    if (told->result == FAKE_SHORT) bytes.size--;
    conn_send_data(p->data, f->request, bytes, on_sent, NULL);
}

/* ---- Frames of a process */

static int process_frame(void *arg, struct conn *c, const struct frame *f,
                         struct glint_slice payload, struct glint_error *error)
{
    struct process *p = arg;
    struct fake_node *told = p->node->told;
    if (p->mute) return 0;
    if (f->type == FRAME_PING) atomic_fetch_add(&told->pings, 1);
    if (f->type == FRAME_PEER) atomic_fetch_add(&told->peers, 1);
    if (f->type == FRAME_GET) on_get(p, f, payload);
    if (f->type == FRAME_TRACKED) on_tracked(p, payload);
    if (f->type == FRAME_GONE) /* the driver had no memory for it: asked for again */
        track(p, &(struct track){.id = p->value_id,
                                 .want = 2,
                                 .failed_count = 1,
                                 .failed = {(uint32_t)f->request - 1}});
    if (f->type != FRAME_MESSAGE) return 0;
    must(c == p->control, "a message on the connection for data");
    struct message *m = message_decode(payload, error);
    must(m != NULL, "a message does not parse");
    must((m->type == MSG_JOB) == !p->heard_job, "JOB comes first, once");
    p->heard_job = true;
    switch (m->type) {
    case MSG_JOB:
        atomic_store(&told->number, m->id);
        atomic_fetch_add(&told->jobs, 1);
        break;
    case MSG_TASK: on_task(p, m); break;
    case MSG_BROADCAST: on_broadcast(p, m); break;
    case MSG_FORGET: atomic_fetch_add(&told->forgets, m->id == RESULT_ID); break;
    default: break;
    }
    message_destroy(m);
    return 0;
}

static uint8_t *process_into(void *arg, struct conn *c, const struct frame *f)
{
    struct process *p = arg;
    (void)c;
    if (p->mute) return NULL;
    must(p->arriving == NULL, "two blocks at a time on one connection");
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
    (void)why;
    if (p->control == c) p->control = NULL;
    if (p->data == c) p->data = NULL;
    free(p->arriving);
    p->arriving = NULL;
    if (p->control != NULL || p->data != NULL) return;
    atomic_fetch_add(&p->node->told->ends, 1);
    process_ended(p);
}

static void say_ready(struct process *p)
{
    struct buffer payload = {NULL, 0, 0};
    struct glint_error error = {.code = GLINT_OK};
    struct ready ready = {.port = 1, .slots = p->node->told->slots, .memory_bytes = MIB};
    if (p->node->told->never_ready) return;
    p->mute = p->node->told->silent;
    atomic_fetch_add(&p->node->told->joined, 1);
    must(ready_encode(&ready, &payload, &error) == 0, "READY does not encode");
    say(p->control, FRAME_READY, 0, &payload);
}

static void process_opened(void *arg, struct conn *c)
{
    struct process *p = arg;
    if (c == p->control) say_ready(p);
}

const struct conn_events process_events = {.opened = process_opened,
                                           .frame = process_frame,
                                           .into = process_into,
                                           .data = process_data,
                                           .closed = process_closed};

bool process_accepted(void *arg, struct conn *c, struct glint_error *error)
{
    struct process *p = arg;
    (void)error;
    conn_set(c, &process_events, p);
    if (conn_peer(c)->channel == CHANNEL_CONTROL)
        p->control = c;
    else
        p->data = c;
    process_opened(p, c);
    return true;
}
