/* See fake_fetcher.h. */
#include "tests/support/fake_fetcher.h"

#include "engine/batch.h"
#include "engine/shuffle/shuffle.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void fake_submit(void *arg, struct fetch_request *first)
{
    struct fake_fetcher *f = arg;
    pthread_mutex_lock(&f->lock);
    for (struct fetch_request *r = first; r != NULL; r = r->next) {
        assert(f->queued < FAKE_QUEUE_MAX && r->owner != 0);
        f->queue[f->queued++] = r;
    }
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < f->queued; i++)
        if (f->queue[i]->get.kind == GET_MAP_OUTPUT) bytes += f->queue[i]->get.size;
    if (bytes > f->largest) f->largest = bytes;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void end(struct fetch_request *r, enum glint_code code, const char *cause)
{
    if (code != GLINT_OK) error_set(&r->error, code, NULL, "%s", cause);
    r->done(r);
}

static void fake_cancel(void *arg, uint64_t owner)
{
    struct fake_fetcher *f = arg;
    struct fetch_request *taken[FAKE_QUEUE_MAX];
    uint32_t count = 0, kept = 0;
    pthread_mutex_lock(&f->lock);
    for (uint32_t i = 0; i < f->queued; i++) {
        if (f->queue[i]->owner == owner)
            taken[count++] = f->queue[i];
        else
            f->queue[kept++] = f->queue[i];
    }
    f->queued = kept;
    pthread_mutex_unlock(&f->lock);
    for (uint32_t i = 0; i < count; i++) end(taken[i], GLINT_E_INTERRUPTED, "cancelled");
}

static const struct run *find_run(const struct fake_fetcher *f, uint32_t map, uint32_t attempt)
{
    bool there = map < f->maps && attempt == map % 3 && map != f->missing_map;
    return there ? &f->runs[map] : NULL;
}

static void damage(struct fake_fetcher *f, uint32_t map, uint8_t *bytes)
{
    if (map != f->damaged_map || f->damages == 0) return;
    f->damages--;
    bytes[0] ^= 1;
}

static void answer_parts(struct fake_fetcher *f, struct fetch_request *r)
{
    const struct get_request *g = &r->get;
    struct index_entry *parts = calloc(g->map_count, sizeof *parts);
    uint64_t room = g->size;
    for (uint32_t i = 0; i < g->map_count && r->error.code == GLINT_OK; i++) {
        const struct run *run = find_run(f, g->maps[i][0], g->maps[i][1]);
        parts[i] = index_entry_create(run, g->partition, &room);
    }
    if (r->error.code == GLINT_OK)
        map_output_index_encode(parts, g->map_count, &r->response, &r->error);
    if (r->error.code == GLINT_OK && f->damaged_lists > 0) {
        f->damaged_lists--;
        r->response.data[8] ^= 1;
    }
    uint8_t *end_of_part = r->response.data + r->response.size;
    for (uint32_t i = g->map_count; i-- > 0 && r->error.code == GLINT_OK;) {
        end_of_part -= parts[i].bytes.size;
        if (parts[i].bytes.size > 0) damage(f, g->maps[i][0], end_of_part);
    }
    free(parts);
    end(r, GLINT_OK, NULL);
}

static void answer(struct fake_fetcher *f, struct fetch_request *r)
{
    const struct get_request *g = &r->get;
    if (g->kind == GET_INDEX) {
        answer_parts(f, r);
        return;
    }
    const struct run *run = find_run(f, g->map, g->attempt);
    assert(g->kind == GET_MAP_OUTPUT && run != NULL && g->size <= FETCH_CHUNK_BYTES_MAX);
    assert(g->offset + g->size <= run->source.bytes);
    memcpy(r->into, run->source.memory + g->offset, g->size);
    damage(f, g->map, r->into);
    end(r, GLINT_OK, NULL);
}

static void *fake_main(void *arg)
{
    struct fake_fetcher *f = arg;
    pthread_mutex_lock(&f->lock);
    for (;;) {
        while (!f->ending && (f->queued == 0 || f->held)) pthread_cond_wait(&f->changed, &f->lock);
        if (f->ending) break;
        if (f->requests == f->hold_from) {
            f->held = true;
            atomic_store(f->cancel_flag, true);
            uint64_t owner = f->queue[0]->owner;
            pthread_mutex_unlock(&f->lock);
            fake_cancel(f, owner); /* as executor.c does, after the flag */
            pthread_mutex_lock(&f->lock);
            continue;
        }
        uint32_t i = (uint32_t)(next_random(&f->seed) % f->queued);
        struct fetch_request *r = f->queue[i];
        f->queue[i] = f->queue[--f->queued];
        bool fails = f->requests++ == f->fail_at;
        if (fails) f->failed_executor = r->executor;
        pthread_mutex_unlock(&f->lock);
        if (fails)
            end(r, GLINT_E_CONNECTION, "connection lost");
        else
            answer(f, r);
        pthread_mutex_lock(&f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

void fake_fetcher_start(struct fake_fetcher *f, const struct run *runs, uint32_t maps,
                        uint64_t seed)
{
    memset(f, 0, sizeof *f);
    f->fetcher = (struct fetcher){fake_submit, f, fake_cancel};
    f->runs = runs;
    f->maps = maps;
    f->seed = seed * 2 + 1;
    f->fail_at = f->hold_from = UINT64_MAX;
    f->missing_map = f->damaged_map = UINT32_MAX;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    if (pthread_create(&f->thread, NULL, fake_main, f) != 0) abort();
}

void fake_fetcher_stop(struct fake_fetcher *f)
{
    pthread_mutex_lock(&f->lock);
    assert(f->queued == 0);
    f->ending = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
}

/* ---- Runs */

int fake_run(struct glint_task *task, uint32_t map, uint32_t partitions, uint32_t records,
             uint32_t value_bytes, uint64_t memory_max, struct run *out)
{
    static _Thread_local uint8_t value[4 * MIB];
    char key[32];
    struct run_writer w;
    uint64_t seed = 77 + map;
    assert(value_bytes < sizeof value);
    int r = run_writer_init(&w, task, partitions, memory_max);
    for (uint32_t p = 0; p < partitions && r == 0; p++) {
        for (uint32_t i = 0; i < records && r == 0; i++) {
            int n = snprintf(key, sizeof key, "%08u", i * 5 + map % 7 + p);
            uint64_t size = next_random(&seed) % (value_bytes + 1);
            for (uint64_t k = 0; k < size; k += 8) {
                uint64_t x = next_random(&seed);
                memcpy(value + k, &x, sizeof x);
            }
            r = run_writer_add(&w, p, (struct glint_slice){(const uint8_t *)key, (uint64_t)n},
                               (struct glint_slice){value, size});
        }
    }
    if (r == 0) r = run_writer_finish(&w, out);
    if (r < 0) run_writer_abort(&w);
    return r;
}

static void see(struct seen *s, struct glint_slice bytes)
{
    uint64_t size = bytes.size;
    if (s->capacity - s->size < sizeof size + size) {
        s->capacity = 2 * s->capacity + size + 4096;
        s->data = realloc(s->data, s->capacity);
        if (s->data == NULL) abort();
    }
    memcpy(s->data + s->size, &size, sizeof size);
    if (size > 0) memcpy(s->data + s->size + sizeof size, bytes.data, size);
    s->size += sizeof size + size;
}

int fake_read(struct glint_task *task, const struct run_slice *slices, uint32_t count,
              struct seen *out)
{
    static const struct shuffle_spec spec = {.partitions = 1,
                                             .dependency.combine = COMBINE_NONE,
                                             .key = GLINT_BYTES,
                                             .value = GLINT_BYTES,
                                             .acc = GLINT_BYTES};
    struct shuffle_reader *reader = shuffle_reader_open(task, &spec, NULL, slices, count);
    if (reader == NULL) return task->error.code;
    struct glint_batch batch;
    int r;
    while ((r = shuffle_reader_next(reader, &batch)) > 0) {
        for (uint32_t i = 0; i < batch.rows; i++) {
            struct glint_record record = glint_batch_record(&batch, i);
            see(out, record.key.bytes);
            see(out, record.value.bytes);
        }
    }
    shuffle_reader_close(reader);
    return r;
}
