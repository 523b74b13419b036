/* One pool job serves several queued reads: waking a thread for each read cost a tenth of the
 * throughput. At most JOBS_MAX jobs run, each with at most one open file; files are opened for each
 * read, as by readers of runs (records/run.c). Mapping the files instead, so that the kernel sends
 * their pages, was slower by a third and more: page tables cost more than the copy. */
#include "engine/transfer/file_reader.h"

#include "engine/base/env.h"
#include "engine/limits.h"

#include <assert.h>

#define READS_PER_JOB 4u
#define JOBS_MAX      (FILE_READER_BUFFERS_MAX / READS_PER_JOB)

/* An unused buffer: its first bytes link the free list. */
struct free_buffer {
    SLIST_ENTRY(free_buffer) next;
};

void file_reader_init(struct file_reader *b, uv_loop_t *loop)
{
    *b = (struct file_reader){.loop = loop};
    STAILQ_INIT(&b->queued);
}

void file_reader_free_buffers(struct file_reader *b)
{
    for (struct free_buffer *f; (f = SLIST_FIRST(&b->free)) != NULL;) {
        SLIST_REMOVE_HEAD(&b->free, next);
        mem_free(f);
        assert(b->count > 0);
        b->count--;
    }
}

void file_reader_fini(struct file_reader *b)
{
    file_reader_free_buffers(b);
    assert(b->count == 0 && b->waiting == 0 && b->jobs == 0);
}

static uint8_t *take_buffer(struct file_reader *b)
{
    struct free_buffer *f = SLIST_FIRST(&b->free);
    if (f != NULL) {
        SLIST_REMOVE_HEAD(&b->free, next);
        return (uint8_t *)f;
    }
    uint8_t *made = mem_alloc(FETCH_CHUNK_BYTES_MAX);
    if (made != NULL) b->count++;
    return made;
}

void file_reader_release_buffer(struct file_reader *b, struct file_read *r)
{
    struct free_buffer *f = (struct free_buffer *)(void *)r->bytes;
    if (f == NULL) return;
    SLIST_INSERT_HEAD(&b->free, f, next);
    r->bytes = NULL;
}

/* ---- Pool threads */

static void read_file_range(struct file_read *r)
{
    struct env *env = r->run->env;
    int file = env->open(env, ENV_CWD, r->run->path, ENV_READ);
    r->read = file;
    if (file < 0) return;
    r->read = env_read_full(env, file, r->bytes, r->size, r->offset);
    env->close(env, file);
}

static void read_on_pool(uv_work_t *work)
{
    for (struct file_read *r = work->data; r != NULL; r = STAILQ_NEXT(r, next)) read_file_range(r);
}

/* ---- Loop thread */

static void start_read_job(struct file_reader *b);

static int read_code(const struct file_read *r, int status)
{
    if (status != 0) return status;
    if (r->read < 0) return (int)r->read;
    return (uint64_t)r->read == r->size ? 0 : UV_EOF;
}

static void on_job_done(uv_work_t *work, int status)
{
    struct file_read *r = work->data;
    struct file_reader *b = r->file_reader;
    assert(b->jobs > 0);
    b->jobs--;
    start_read_job(b); /* the pool reads the next while these are sent */
    for (struct file_read *next; r != NULL; r = next) {
        next = STAILQ_NEXT(r, next);
        r->done(r, read_code(r, status));
    }
}

/* Starts a job with all queued reads. Another job starts only for READS_PER_JOB or more, so at most
 * one running job has fewer and JOBS_MAX is never exceeded. */
static void start_read_job(struct file_reader *b)
{
    struct file_read *first = STAILQ_FIRST(&b->queued);
    if (first == NULL || (b->jobs > 0 && b->waiting < READS_PER_JOB)) return;
    STAILQ_INIT(&b->queued);
    b->waiting = 0;
    b->jobs++;
    assert(b->jobs <= JOBS_MAX);
    first->work.data = first;
    int r = uv_queue_work(b->loop, &first->work, read_on_pool, on_job_done);
    assert(r == 0); /* fails only without a work function */
    (void)r;
}

int file_reader_start(struct file_reader *b, struct file_read *r)
{
    assert(r->bytes == NULL && r->size <= FETCH_CHUNK_BYTES_MAX);
    if (SLIST_EMPTY(&b->free) && b->count == FILE_READER_BUFFERS_MAX) return FILE_READER_BUSY;
    r->bytes = take_buffer(b);
    /* Out of memory, but buffers are in use: one will be released. */
    if (r->bytes == NULL) return b->count > 0 ? FILE_READER_BUSY : GLINT_E_NO_MEMORY;
    r->file_reader = b;
    STAILQ_INSERT_TAIL(&b->queued, r, next);
    b->waiting++;
    start_read_job(b);
    return 0;
}
