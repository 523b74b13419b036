/* Data in chunks: all bytes in any order of the responses, few requests at a time, and one end. */
#include "engine/transfer/fetch_client.h"

#include <criterion/criterion.h>
#include <string.h>

#define ID 77u

static struct fetch_request *queue[2 * CHUNKED_FETCH_REQUESTS];
static uint32_t queued, submitted, most, ended;
static bool fails_at_once;

static void fail(struct fetch_request *r, const char *cause)
{
    error_set(&r->error, GLINT_E_FETCH_FAILED, NULL, "%s", cause);
    r->done(r);
}

static void submit(void *arg, struct fetch_request *first)
{
    cr_assert_eq(arg, queue);
    cr_assert_null(first->next);
    submitted++;
    if (fails_at_once) {
        fail(first, "at once");
        return;
    }
    queue[queued++] = first;
    if (queued > most) most = queued;
    cr_assert_leq(most, CHUNKED_FETCH_REQUESTS);
}

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 7 + offset / 251);
}

static struct fetch_request *take(uint32_t i)
{
    struct fetch_request *r = queue[i];
    queue[i] = queue[--queued];
    return r;
}

static void respond(struct fetch_request *r)
{
    cr_assert_eq(r->get.kind, GET_RESULT);
    cr_assert_eq(r->get.id, ID);
    cr_assert(r->get.size > 0 && r->get.size <= FETCH_CHUNK_BYTES_MAX);
    for (uint64_t i = 0; i < r->get.size; i++) r->into[i] = byte_at(r->get.offset + i);
    r->done(r);
}

static void on_end(struct chunked_fetch *f)
{
    cr_assert_eq(queued, 0);
    cr_assert_eq(f->arg, &ended);
    ended++;
}

static struct chunked_fetch *start(uint64_t size)
{
    static struct chunked_fetch f;
    mem_free(f.into);
    queued = submitted = most = ended = 0;
    f = (struct chunked_fetch){.fetcher = {.submit = submit, .arg = queue},
                               .get = {.kind = GET_RESULT, .id = ID, .size = size},
                               .into = mem_zalloc(size),
                               .done = on_end,
                               .arg = &ended};
    cr_assert_not_null(f.into);
    chunked_fetch_start(&f);
    return &f;
}

static void expect_fetched(uint64_t size, uint32_t chunks)
{
    struct chunked_fetch *f = start(size);
    for (uint32_t step = 0; queued > 0; step++) respond(take(step * 5 % queued));
    cr_expect_eq(ended, 1);
    cr_expect_eq(f->error.code, GLINT_OK);
    cr_expect_eq(submitted, chunks);
    for (uint64_t i = 0; i < size; i++) cr_assert_eq(f->into[i], byte_at(i));
}

Test(chunked_fetch, all_bytes_arrive)
{
    expect_fetched(1, 1);
    expect_fetched(FETCH_CHUNK_BYTES_MAX, 1);
    expect_fetched(FETCH_CHUNK_BYTES_MAX + 1, 2);
    expect_fetched(21 * FETCH_CHUNK_BYTES_MAX - 1, 21);
    cr_expect_eq(most, CHUNKED_FETCH_REQUESTS);
}

Test(chunked_fetch, first_error_ends_it_after_the_last_response)
{
    struct chunked_fetch *f = start(21 * FETCH_CHUNK_BYTES_MAX);
    respond(take(0));
    fail(take(3), "first");
    fail(take(2), "second");
    uint32_t before = submitted;
    while (queued > 0) {
        cr_expect_eq(ended, 0);
        respond(take(0));
    }
    cr_expect_eq(submitted, before);
    cr_expect_eq(ended, 1);
    cr_expect_eq(f->error.code, GLINT_E_FETCH_FAILED);
    cr_expect_str_eq(f->error.cause, "first");
}

Test(chunked_fetch, requests_that_fail_at_once_end_it_once)
{
    fails_at_once = true;
    struct chunked_fetch *f = start(21 * FETCH_CHUNK_BYTES_MAX);
    cr_expect_eq(submitted, 1);
    cr_expect_eq(ended, 1);
    cr_expect_str_eq(f->error.cause, "at once");
}
