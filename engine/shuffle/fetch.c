/* Chunks of map outputs, asked for ahead, in a bounded number of buffers that are used again.
 *
 * All buffers have one size and belong to the task. An input that is open and not at its end always
 * has at least one, asked for or arrived, so whichever input the merge wants next comes without
 * waiting for another one to be read: no order of arrival can lock it. Inputs open in the order of
 * the merge, MERGE_FAN_IN_MAX at a time, which is what it reads at once; those of the next round
 * open as these end.
 *
 *     an input:   |--- taken ---|--- arrived ---|--- asked for ---|--- not yet ---|
 *                               at              .                asked           bytes
 *
 * Buffers that are over go first to what the merge has just taken from, up to its share, then to
 * inputs that are not open yet, then to read further ahead. */
#include "engine/shuffle/fetch_wait.h"

#include "engine/base/log.h"
#include "engine/base/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES_MIN (4 * KIB)
#define NAME_BYTES      40u
#define PART_BYTES_MAX  ((uint64_t)1 << 48)

/* One request, and its bytes. */
struct chunk {
    struct pending_fetch pending; /* first */
    struct chunk *next;           /* of its input, or free */
    uint8_t *bytes;               /* f->chunk_bytes; made when first needed */
    uint32_t size, consumed;
};

enum remote_input_state { REMOTE_INPUT_WAITING, REMOTE_INPUT_OPEN, REMOTE_INPUT_ENDED };

/* An input from elsewhere. Of one that came along with its place the source is memory, and it
 * begins as REMOTE_INPUT_ENDED. The source comes first: readers know it by that. Its offsets are
 * those in the part. */
struct remote_input {
    struct run_source source;
    struct fetch *fetch;
    uint32_t input;
    enum remote_input_state state;
    uint64_t offset;        /* of the part in its run */
    uint64_t requested, at; /* bytes asked for; taken */
    struct chunk *first, *last;
    uint32_t chunks;
};

struct fetch {
    struct fetch_wait wait;
    struct glint_task *task;
    uint64_t shuffle;
    const struct fetch_input *inputs;
    struct remote_input *remotes; /* those with records, in map order */
    uint32_t remote_count;
    uint32_t next_open, open; /* remotes before next_open were opened; `open` of them still are */
    uint64_t window;          /* bytes, for chunks */
    uint64_t chunk_bytes;
    uint32_t share; /* chunks of an input, before others want none */
    struct chunk *free;
    struct chunk *all; /* [count] */
    uint32_t count;
    struct fetch_request *to_submit; /* to be submitted */
    struct fetch_index index;
    uint32_t lost;
};

/* ---- Chunks */

/* Asks for the next bytes of an input. False: no buffer is free. */
static bool request_next_chunk(struct fetch *f, struct remote_input *r)
{
    struct chunk *c = f->free;
    uint64_t left = r->source.bytes - r->requested;
    assert(left > 0 && r->state == REMOTE_INPUT_OPEN);
    if (c == NULL) return false;
    if (c->bytes == NULL && (c->bytes = mem_alloc(f->chunk_bytes)) == NULL) return false;
    const struct fetch_input *in = &f->inputs[r->input];
    struct fetch_request *q = &c->pending.request;
    f->free = c->next;
    c->size = (uint32_t)(left < f->chunk_bytes ? left : f->chunk_bytes);
    c->consumed = 0;
    c->next = NULL;
    q->executor = in->executor;
    q->into = c->bytes;
    q->get = (struct get_request){.kind = GET_MAP_OUTPUT,
                                  .id = f->shuffle,
                                  .map = in->map,
                                  .attempt = in->attempt,
                                  .offset = r->offset + r->requested,
                                  .size = c->size};
    if (r->last != NULL)
        r->last->next = c;
    else
        r->first = c;
    r->last = c;
    r->chunks++;
    r->requested += c->size;
    q->next = f->to_submit;
    f->to_submit = q;
    return true;
}

/* In the order in which they were asked for. */
static void submit_requests(struct fetch *f)
{
    struct fetch_request *first = NULL;
    for (struct fetch_request *q = f->to_submit, *next; q != NULL; q = next) {
        next = q->next;
        q->next = first;
        first = q;
    }
    f->to_submit = NULL;
    fetch_wait_submit(&f->wait, first);
}

/* The first chunk of an input was taken, or is thrown away. */
static void release_first_chunk(struct fetch *f, struct remote_input *r)
{
    struct chunk *c = r->first;
    assert(c != NULL && r->chunks > 0);
    r->first = c->next;
    if (r->first == NULL) r->last = NULL;
    r->chunks--;
    c->next = f->free;
    f->free = c;
}

static bool has_bytes_to_request(const struct remote_input *r)
{
    return r->state == REMOTE_INPUT_OPEN && r->requested < r->source.bytes;
}

static void open_next_inputs(struct fetch *f)
{
    while (f->free != NULL && f->next_open < f->remote_count && f->open < MERGE_FAN_IN_MAX) {
        struct remote_input *r = &f->remotes[f->next_open];
        if (r->state == REMOTE_INPUT_WAITING) {
            r->state = REMOTE_INPUT_OPEN;
            if (!request_next_chunk(f, r)) {
                r->state = REMOTE_INPUT_WAITING;
                return;
            }
            f->open++;
        }
        f->next_open++;
    }
}

/* At the beginning: every open input gets one more, until there are no more of one or the other. */
static void request_initial_chunks(struct fetch *f)
{
    bool more = true;
    open_next_inputs(f);
    while (more) {
        more = false;
        for (uint32_t i = 0; i < f->next_open && f->free != NULL; i++)
            if (has_bytes_to_request(&f->remotes[i])) more |= request_next_chunk(f, &f->remotes[i]);
    }
}

static void request_more_chunks(struct fetch *f, struct remote_input *r)
{
    while (has_bytes_to_request(r) && r->chunks < f->share && request_next_chunk(f, r)) {
    }
    open_next_inputs(f);
    if (f->next_open == f->remote_count || f->open == MERGE_FAN_IN_MAX)
        while (has_bytes_to_request(r) && request_next_chunk(f, r)) {
        }
}

/* ---- Reading */

/* A buffer for an input that must have one now, beyond all bounds: the merge wants an input that
 * was not its turn. */
static int add_chunk(struct fetch *f)
{
    struct chunk *c = task_alloc(f->task, sizeof *c);
    if (c == NULL) return f->task->error.code;
    c->pending.request.response = (struct buffer){NULL, 0, 0};
    c->bytes = task_alloc(f->task, f->chunk_bytes);
    c->next = f->free;
    f->free = c;
    return c->bytes != NULL ? 0 : f->task->error.code;
}

static int ensure_requested(struct fetch *f, struct remote_input *r)
{
    if (r->state == REMOTE_INPUT_WAITING) {
        r->state = REMOTE_INPUT_OPEN;
        f->open++;
    }
    if (r->first != NULL) return 0;
    assert(has_bytes_to_request(r));
    int e = f->free == NULL ? add_chunk(f) : 0;
    if (e == 0 && !request_next_chunk(f, r)) e = error_no_memory(&f->task->error);
    if (e == 0) submit_requests(f);
    return e;
}

static int wait_for_chunk(struct fetch *f, struct remote_input *r)
{
    struct pending_fetch *a = &r->first->pending;
    if (a->ready) return 0;
    fetch_wait_until_done(&f->wait, a);
    if (a->request.error.code == GLINT_OK) {
        a->ready = true;
        return 0;
    }
    int e = fetch_set_error(f->task, &a->request.error);
    if (e == GLINT_E_FETCH_FAILED) f->lost = r->input;
    return e;
}

static void end_remote_input(struct fetch *f, struct remote_input *r)
{
    assert(r->first == NULL && r->at == r->source.bytes);
    if (r->state == REMOTE_INPUT_OPEN) f->open--;
    r->state = REMOTE_INPUT_ENDED;
}

/* A reader that begins again: what is on its way is waited for, and asked for again. */
static void rewind_to(struct fetch *f, struct remote_input *r, uint64_t offset)
{
    while (r->first != NULL) {
        fetch_wait_until_done(&f->wait, &r->first->pending);
        release_first_chunk(f, r);
    }
    if (r->state != REMOTE_INPUT_OPEN) f->open++;
    r->state = REMOTE_INPUT_OPEN;
    r->at = r->requested = offset;
}

/* run_source.read */
static int read_remote_input(const struct run_source *source, struct glint_task *task,
                             uint64_t offset, uint64_t size, uint8_t *out)
{
    static_assert(offsetof(struct remote_input, source) == 0,
                  "a remote is found through its source");
    struct remote_input *r = (struct remote_input *)(uintptr_t)source;
    struct fetch *f = r->fetch;
    assert(offset + size <= source->bytes && task == f->task);
    if (offset != r->at) rewind_to(f, r, offset);
    while (size > 0) {
        int e = ensure_requested(f, r);
        if (e == 0) e = wait_for_chunk(f, r);
        if (e < 0) return e;
        struct chunk *c = r->first;
        uint64_t n = c->size - c->consumed;
        if (n > size) n = size;
        memcpy(out, c->bytes + c->consumed, n);
        c->consumed += (uint32_t)n;
        r->at += n;
        out += n;
        size -= n;
        if (c->consumed < c->size) continue;
        release_first_chunk(f, r);
        if (r->at == source->bytes) end_remote_input(f, r);
        request_more_chunks(f, r);
        submit_requests(f);
    }
    return 0;
}

/* run_source.again */
static void reread_remote_input(const struct run_source *source)
{
    struct remote_input *r = (struct remote_input *)(uintptr_t)source;
    log_line(LOG_WARN, NULL, "bytes from executor %u were damaged: they are fetched again",
             r->fetch->inputs[r->input].executor);
    if (r->source.memory == NULL) return; /* a reader that goes back asks again */
    r->source.memory = NULL;
    r->state = REMOTE_INPUT_WAITING;
}

/* ---- Opening */

static int name_sources(struct fetch *f)
{
    const char *name = NULL;
    uint32_t executor = 0;
    for (uint32_t i = 0; i < f->remote_count; i++) {
        uint32_t at = f->inputs[f->remotes[i].input].executor;
        if (name == NULL || at != executor) {
            char *made = task_alloc(f->task, NAME_BYTES);
            if (made == NULL) return f->task->error.code;
            text_format(made, NAME_BYTES, "as fetched from executor %u", at);
            name = made;
            executor = at;
        }
        f->remotes[i].source.name = name;
    }
    return 0;
}

/* How large buffers are, and how many. */
static int plan_chunks(struct fetch *f)
{
    uint64_t longest = 0, need = 0;
    uint32_t at_once = 0;
    for (uint32_t i = 0; i < f->remote_count; i++) {
        if (f->remotes[i].state != REMOTE_INPUT_WAITING) continue;
        if (at_once < MERGE_FAN_IN_MAX) at_once++;
        if (f->remotes[i].source.bytes > longest) longest = f->remotes[i].source.bytes;
    }
    f->chunk_bytes = CHUNK_BYTES_MIN; /* should reread_remote_input need some */
    if (at_once == 0) return 0;
    uint64_t share = f->window / at_once;
    uint64_t size = longest <= share ? longest : share / 2;
    if (size > FETCH_CHUNK_BYTES_MAX) size = FETCH_CHUNK_BYTES_MAX;
    if (size < CHUNK_BYTES_MIN) size = longest < CHUNK_BYTES_MIN ? longest : CHUNK_BYTES_MIN;
    for (uint32_t i = 0; i < f->remote_count; i++)
        if (f->remotes[i].state == REMOTE_INPUT_WAITING)
            need += (f->remotes[i].source.bytes + size - 1) / size;
    uint64_t count = f->window / size > at_once ? f->window / size : at_once;
    if (count > need) count = need;
    assert(size > 0 && count >= at_once && count <= UINT32_MAX);
    f->chunk_bytes = size;
    f->count = (uint32_t)count;
    f->share = (uint32_t)(count / at_once);
    f->all = task_alloc(f->task, count * sizeof *f->all);
    if (f->all == NULL) return f->task->error.code;
    for (uint64_t i = count; i-- > 0;) {
        f->all[i].bytes = NULL;
        f->all[i].pending.request.response = (struct buffer){NULL, 0, 0};
        f->all[i].next = f->free;
        f->free = &f->all[i];
    }
    return 0;
}

/* What adding and dividing must be able to rely on; the rest is the reader's to check. */
static bool is_valid_part(struct run_part part)
{
    return part.bytes > 0 && part.bytes <= PART_BYTES_MAX && part.offset <= PART_BYTES_MAX;
}

/* The slice of an input that is elsewhere, or has come along with its place. */
static struct run_slice add_remote_input(struct fetch *f, const struct fetch_index_entry *entry)
{
    struct run_part part = entry->response.part;
    struct remote_input *r = &f->remotes[f->remote_count++];
    *r = (struct remote_input){.fetch = f, .input = entry->input, .offset = part.offset};
    r->source = (struct run_source){
        .bytes = part.bytes, .read = read_remote_input, .reread = reread_remote_input};
    if (entry->response.bytes.size > 0) {
        r->source.memory = entry->response.bytes.data;
        r->state = REMOTE_INPUT_ENDED;
        f->window -= part.bytes < f->window ? part.bytes : f->window;
    }
    part.offset = 0;
    return (struct run_slice){&r->source, part};
}

/* The slices of all inputs, and the remote ones' state. */
static int make_slices(struct fetch *f, uint32_t partition, uint32_t count, struct run_slice *out,
                       uint32_t *out_count)
{
    const struct fetch_index_entry *entry = f->index.entries;
    f->remotes = task_alloc(f->task, (f->index.count + 1) * sizeof *f->remotes);
    if (f->remotes == NULL) return f->task->error.code;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct run *local = f->inputs[i].local;
        if (local != NULL) {
            if (local->parts[partition].records > 0) out[n++] = run_slice(local, partition);
            continue;
        }
        assert(entry < f->index.entries + f->index.count && entry->input == i);
        const struct run_part part = entry->response.part;
        if (part.records > 0 && !is_valid_part(part)) {
            f->lost = i;
            return error_set(&f->task->error, GLINT_E_FETCH_FAILED, NULL, "its index is wrong");
        }
        if (part.records > 0) out[n++] = add_remote_input(f, entry);
        entry++;
    }
    *out_count = n;
    return name_sources(f);
}

static int open_inputs(struct fetch *f, uint32_t partition, uint32_t count, struct run_slice **out,
                       uint32_t *out_count)
{
    struct run_slice *slices = task_alloc(f->task, (count + 1) * sizeof *slices);
    if (slices == NULL) return f->task->error.code;
    f->window = f->task->options->memory_bytes / 2;
    if (f->window > FETCH_WINDOW_BYTES) f->window = FETCH_WINDOW_BYTES;
    int r = fetch_index_request(&f->index, &f->wait, f->window / 2, f->shuffle, partition,
                                f->inputs, count);
    if (r != 0) f->lost = f->index.lost;
    if (r == 0) r = make_slices(f, partition, count, slices, out_count);
    if (r == 0) r = plan_chunks(f);
    if (r != 0) return r;
    request_initial_chunks(f);
    submit_requests(f);
    *out = slices;
    return 0;
}

struct fetch *fetch_open(struct glint_task *task, const struct fetcher *fetcher, uint64_t shuffle,
                         uint32_t partition, const struct fetch_input *inputs, uint32_t count,
                         struct run_slice **out, uint32_t *out_count, uint32_t *out_lost)
{
    struct fetch *f = task_alloc(task, sizeof *f);
    struct fetch_input *copy = task_alloc(task, (count + 1) * sizeof *copy);
    if (f == NULL || copy == NULL) return NULL;
    memcpy(copy, inputs, count * sizeof *copy);
    *f = (struct fetch){.task = task, .shuffle = shuffle, .inputs = copy, .lost = UINT32_MAX};
    fetch_wait_init(&f->wait, task, fetcher);
    if (open_inputs(f, partition, count, out, out_count) == 0) return f;
    *out_lost = f->lost;
    fetch_close(f);
    return NULL;
}

uint32_t fetch_lost_input(const struct fetch *f)
{
    if (f->task->error.code == GLINT_E_FETCH_FAILED) return f->lost;
    const struct run_source *source = f->task->failed_source;
    for (uint32_t i = 0; source != NULL && i < f->remote_count; i++)
        if (&f->remotes[i].source == source) return f->remotes[i].input;
    return UINT32_MAX;
}

void fetch_close(struct fetch *f)
{
    if (f == NULL) return;
    fetch_wait_cancel_all(&f->wait);
    fetch_wait_fini(&f->wait);
    for (uint32_t i = 0; i < f->count; i++) mem_free(f->all[i].bytes);
    f->count = 0;
    fetch_index_free(&f->index);
}
