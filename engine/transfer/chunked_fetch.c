/* See chunked_fetch.h. A request that has ended is used again for the next chunk. */
#include "engine/transfer/chunked_fetch.h"

#include <assert.h>

static void on_chunk_done(struct fetch_request *r);

static void request_next_chunk(struct chunked_fetch *f, struct fetch_request *r)
{
    uint64_t left = f->get.size - f->requested;
    *r = (struct fetch_request){.executor = f->executor,
                                .get = f->get,
                                .into = f->into + f->requested,
                                .done = on_chunk_done,
                                .arg = f};
    r->get.offset = f->requested;
    r->get.size = left < FETCH_CHUNK_BYTES_MAX ? left : FETCH_CHUNK_BYTES_MAX;
    f->requested += r->get.size;
    f->in_flight++;
    f->fetcher.submit(f->fetcher.arg, r);
}

static bool has_next_chunk(const struct chunked_fetch *f)
{
    return f->error.code == GLINT_OK && f->requested < f->get.size;
}

static void on_chunk_done(struct fetch_request *r)
{
    struct chunked_fetch *f = r->arg;
    assert(f->in_flight > 0);
    if (f->error.code == GLINT_OK) f->error = r->error;
    if (has_next_chunk(f)) request_next_chunk(f, r);
    if (--f->in_flight == 0) f->done(f);
}

void chunked_fetch_start(struct chunked_fetch *f)
{
    assert(f->get.size > 0 && f->in_flight == 0 && f->requested == 0);
    f->in_flight = 1; /* this function: `done` is called after the last submit */
    for (uint32_t i = 0; i < CHUNKED_FETCH_REQUESTS && has_next_chunk(f); i++)
        request_next_chunk(f, &f->requests[i]);
    if (--f->in_flight == 0) f->done(f);
}
