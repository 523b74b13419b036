/* In the buffer each event is a header, then its bytes: a line, or the error and the counters of an
 * attempt. */
#include "engine/web/web_feed.h"

#include "engine/base/json.h"
#include "engine/records/task.h"

#include <assert.h>
#include <string.h>

struct feed_header {
    struct job_attempt attempt; /* unused for a line */
    uint64_t size;              /* of the bytes that follow */
    uint32_t error_size;        /* the first of them: the attempt's error, as JSON */
    bool is_line;
};

void web_feed_init(struct web_feed *f)
{
    *f = (struct web_feed){.dropped = 0};
    pthread_mutex_init(&f->lock, NULL);
}

void web_feed_fini(struct web_feed *f)
{
    pthread_mutex_destroy(&f->lock);
    buffer_fini(&f->pending);
    buffer_fini(&f->taken);
}

static void append_event(struct web_feed *f, struct feed_header *h, const void *first,
                         const void *second, uint64_t second_size)
{
    h->size = h->error_size + second_size;
    pthread_mutex_lock(&f->lock);
    struct buffer *b = &f->pending;
    /* Lines are few, and the model needs all of them. */
    const bool full = b->size > WEB_FEED_BYTES_MAX && !h->is_line;
    if (!full && buffer_reserve(b, sizeof *h + h->size)) {
        uint8_t *at = b->data + b->size;
        memcpy(at, h, sizeof *h);
        if (first != NULL) memcpy(at + sizeof *h, first, h->error_size);
        if (second_size > 0) memcpy(at + sizeof *h + h->error_size, second, second_size);
        b->size += sizeof *h + h->size;
    } else {
        f->dropped++;
    }
    pthread_mutex_unlock(&f->lock);
}

static void on_line(void *arg, const void *data, uint64_t size)
{
    struct feed_header h = {.is_line = true};
    append_event(arg, &h, NULL, data, size);
}

static void on_task(void *arg, const struct event_task *e, double start_ms, double end_ms)
{
    const bool known = e->outcome != OUTCOME_EXECUTOR_LOST;
    struct json why = {.failed = false};
    struct feed_header h = {.attempt = {.start_ms = start_ms,
                                        .end_ms = end_ms,
                                        .run_ms = known ? (double)(e->run_ns / 1000) / 1000.0 : -1,
                                        .stage = e->stage,
                                        .task = e->task,
                                        .partition = e->partition,
                                        .attempt = e->attempt,
                                        .executor = e->executor,
                                        .outcome = (uint8_t)e->outcome,
                                        .speculative = e->speculative}};
    if (e->outcome != OUTCOME_DONE && e->why != NULL) json_error(&why, NULL, e->why);
    if (!why.failed) h.error_size = (uint32_t)why.out.size;
    append_event(arg, &h, why.out.data, e->counters.data, e->counters.size);
    json_fini(&why);
}

struct event_sink web_feed_sink(struct web_feed *f)
{
    return (struct event_sink){.arg = f, .line = on_line, .task = on_task};
}

static int add_attempt(struct web_feed *f, struct job_model *m, const struct feed_header *h,
                       const uint8_t *data, struct glint_error *error)
{
    uint32_t count = 0;
    json_t *why = h->error_size > 0 ? json_loadb((const char *)data, h->error_size, 0, NULL) : NULL;
    struct unpacker u =
        unpack_begin((struct glint_slice){data + h->error_size, h->size - h->error_size});
    while (u.next < u.count && count < COUNTERS_MAX) {
        struct counter_entry e;
        if (!counter_entry_unpack(&u, &e)) break;
        if (e.is_accumulator) continue;
        memcpy(f->names[count], e.name, sizeof e.name);
        f->counters[count] = (struct job_counter){f->names[count], e.value};
        count++;
    }
    const int r = job_model_add_attempt(m, &h->attempt, why, f->counters, count, error);
    json_decref(why);
    return r;
}

int web_feed_take(struct web_feed *f, struct job_model *m, struct glint_error *error)
{
    int r = 0;
    pthread_mutex_lock(&f->lock);
    struct buffer taken = f->pending;
    f->pending = f->taken; /* empty; its memory is used again */
    m->attempts_dropped += f->dropped;
    f->dropped = 0;
    pthread_mutex_unlock(&f->lock);
    f->taken = taken;
    for (uint64_t at = 0; at < taken.size && r == 0;) {
        struct feed_header h;
        memcpy(&h, taken.data + at, sizeof h);
        at += sizeof h;
        assert(h.size <= taken.size - at);
        json_t *o = h.is_line ? json_loadb((const char *)taken.data + at, h.size, 0, NULL) : NULL;
        if (h.is_line)
            r = o != NULL ? job_model_add_event(m, o, error) : error_no_memory(error);
        else
            r = add_attempt(f, m, &h, taken.data + at, error);
        json_decref(o);
        at += h.size;
    }
    f->taken.size = 0;
    return r;
}
