/* A job fills several blocks where several wait: to wake a thread for each took a tenth of the
 * throughput. At most JOBS_MAX run, and as many file descriptors are all it ever takes; files are
 * opened for each read, as a reader's are (data/run.c). Mapping them instead, so that the kernel
 * takes their pages to the socket, was slower by a third and more: page tables cost more than the
 * copy.
 */
#include "engine/executor/blocks.h"

#include "engine/base/env.h"
#include "engine/limits.h"

#include <assert.h>

#define JOB_BLOCKS 4u
#define JOBS_MAX   (BLOCKS_MAX / JOB_BLOCKS)

/* What a block is while nobody has it. */
struct free_block {
    struct free_block *next;
};

void blocks_init(struct blocks *b, uv_loop_t *loop)
{
    *b = (struct blocks){.loop = loop};
}

void blocks_trim(struct blocks *b)
{
    for (struct free_block *f = b->free, *next; f != NULL; f = next) {
        next = f->next;
        mem_free(f);
        assert(b->count > 0);
        b->count--;
    }
    b->free = NULL;
}

void blocks_fini(struct blocks *b)
{
    blocks_trim(b);
    assert(b->count == 0 && b->waiting == 0 && b->jobs == 0);
}

static uint8_t *take(struct blocks *b)
{
    struct free_block *f = b->free;
    if (f != NULL) {
        b->free = f->next;
        return (uint8_t *)f;
    }
    uint8_t *made = mem_alloc(FETCH_CHUNK_BYTES_MAX);
    if (made != NULL) b->count++;
    return made;
}

void blocks_release(struct blocks *b, struct block_read *r)
{
    struct free_block *f = (struct free_block *)(void *)r->bytes;
    if (f == NULL) return;
    f->next = b->free;
    b->free = f;
    r->bytes = NULL;
}

/* ---- The pool */

static void fill(struct block_read *r)
{
    struct env *env = r->run->env;
    int file = env->open(env, ENV_CWD, r->run->path, ENV_READ);
    r->read = file;
    if (file < 0) return;
    r->read = env_read_full(env, file, r->bytes, r->size, r->offset);
    env->close(env, file);
}

static void on_pool(uv_work_t *work)
{
    for (struct block_read *r = work->data; r != NULL; r = r->next) fill(r);
}

/* ---- The loop */

static void start_job(struct blocks *b);

static int code_of(const struct block_read *r, int status)
{
    if (status != 0) return status;
    if (r->read < 0) return (int)r->read;
    return (uint64_t)r->read == r->size ? 0 : UV_EOF;
}

static void on_filled(uv_work_t *work, int status)
{
    struct block_read *r = work->data;
    struct blocks *b = r->blocks;
    assert(b->jobs > 0);
    b->jobs--;
    start_job(b); /* the pool reads on while these are sent */
    for (struct block_read *next; r != NULL; r = next) {
        next = r->next;
        r->done(r, code_of(r, status));
    }
}

/* One job begins with what there is, another only where it has enough to do. So at most one of
 * those that run has less than JOB_BLOCKS. */
static void start_job(struct blocks *b)
{
    struct block_read *first = b->first;
    if (first == NULL || (b->jobs > 0 && b->waiting < JOB_BLOCKS)) return;
    b->first = b->last = NULL;
    b->waiting = 0;
    b->jobs++;
    assert(b->jobs <= JOBS_MAX);
    first->work.data = first;
    int r = uv_queue_work(b->loop, &first->work, on_pool, on_filled);
    assert(r == 0); /* it fails without a work function only */
    (void)r;
}

int blocks_read(struct blocks *b, struct block_read *r)
{
    assert(r->bytes == NULL && r->size <= FETCH_CHUNK_BYTES_MAX);
    if (b->free == NULL && b->count == BLOCKS_MAX) return BLOCKS_BUSY;
    r->bytes = take(b);
    if (r->bytes == NULL) return b->count > 0 ? BLOCKS_BUSY : GLINT_E_NO_MEMORY;
    r->blocks = b;
    r->next = NULL;
    if (b->last != NULL)
        b->last->next = r;
    else
        b->first = r;
    b->last = r;
    b->waiting++;
    start_job(b);
    return 0;
}
