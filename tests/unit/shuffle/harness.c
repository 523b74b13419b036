/* See harness.h. */
#include "tests/unit/shuffle/harness.h"

#include "engine/base/text.h"
#include "engine/batch.h"

#include <criterion/criterion.h>
#include <math.h>

#define CHUNK_BYTES ((uint64_t)1 << 20)

static const uint8_t *copy_cell(struct records *r, struct glint_slice cell)
{
    struct buffer *b = r->chunks > 0 ? &r->bytes[r->chunks - 1] : NULL;
    if (b == NULL || b->capacity - b->size < cell.size) {
        cr_assert_lt(r->chunks, 64);
        b = &r->bytes[r->chunks++];
        cr_assert(buffer_reserve(b, cell.size > CHUNK_BYTES ? cell.size : CHUNK_BYTES));
    }
    const uint8_t *at = b->data + b->size;
    cr_assert(buffer_append(b, cell.data, cell.size));
    return at;
}

void records_add(struct records *r, struct glint_slice key, struct glint_slice value, uint32_t map)
{
    if (r->count == r->capacity) {
        uint64_t capacity = r->capacity == 0 ? 1024 : 2 * r->capacity;
        r->items = mem_grow(r->items, r->count * sizeof *r->items, capacity * sizeof *r->items);
        r->capacity = capacity;
        cr_assert_not_null(r->items);
    }
    const uint8_t *k = copy_cell(r, key), *v = copy_cell(r, value);
    r->items[r->count++] = (struct cell_pair){{k, key.size}, {v, value.size}, map, 0, 0};
}

void records_fini(struct records *r)
{
    for (uint32_t i = 0; i < r->chunks; i++) buffer_fini(&r->bytes[i]);
    mem_free(r->items);
    *r = (struct records){.items = NULL};
}

static union glint_value make_value(enum glint_type type, uint64_t x, uint64_t size, uint8_t *bytes)
{
    static const double odd[] = {NAN, -0.0, 0.0, -INFINITY};
    if (type == GLINT_I64) return (union glint_value){.i64 = (int64_t)x - 5};
    if (type == GLINT_F64) return (union glint_value){.f64 = x < 4 ? odd[x] : (double)x * 0.1 - 1};
    for (uint64_t i = 0; i < size; i++) bytes[i] = (uint8_t)('a' + (x >> i % 7 * 4) % 16);
    return (union glint_value){.bytes = {bytes, size}};
}

void make_records(struct records *out, const struct workload *workload, uint32_t maps,
                  uint64_t count)
{
    static uint8_t key_bytes[64 + READ_SLACK], value_bytes[(3 << 20) + READ_SLACK];
    uint64_t seed = 7 + count + maps;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t key_number[8], value_number[8];
        uint64_t x = test_random(&seed), y = test_random(&seed);
        const bool frequent = x / 7 % 100 < workload->frequent_percent;
        x = workload->keys > 0 ? x % workload->keys : i / 3;
        if (frequent) x = workload->keys / 2;
        uint64_t size = workload->value_bytes > 0 ? y % (workload->value_bytes + 1) : 0;
        if (workload->large_each > 0 && y % workload->large_each == 0)
            size = workload->large_bytes / 2 + y % (workload->large_bytes / 2);
        union glint_value key = make_value(workload->key, x, x * 7 % 20, key_bytes);
        union glint_value value = make_value(workload->value, y % 1000003 + 4, size, value_bytes);
        records_add(out, codec_encode(workload->key, &key, key_number),
                    codec_encode(workload->value, &value, value_number),
                    (uint32_t)(i * maps / count));
    }
}

static struct glint_column make_column(enum glint_type type, const struct cell_pair *rows,
                                       uint32_t count, bool values, struct buffer *bytes,
                                       int64_t *numbers, uint32_t *start, uint32_t *end)
{
    struct glint_column c = {.type = type};
    bytes->size = 0;
    if (type == GLINT_NONE) return c;
    for (uint32_t i = 0; i < count; i++) {
        struct glint_slice cell = values ? rows[i].value : rows[i].key;
        union glint_value v = {.bytes = cell};
        cr_assert(codec_decode(type, cell, &v));
        if (type == GLINT_I64 || type == GLINT_F64) numbers[i] = v.i64;
        start[i] = (uint32_t)bytes->size;
        cr_assert(buffer_append(bytes, cell.data, cell.size));
        end[i] = (uint32_t)bytes->size;
    }
    c.i64 = type == GLINT_I64 ? numbers : NULL;
    c.f64 = type == GLINT_F64 ? (const double *)numbers : NULL;
    c.base = bytes->data;
    c.size = bytes->size;
    c.start = bytes->size > BATCH_BYTES_MAX ? NULL : start;
    c.end = end;
    return c;
}

/* Returns how many of the records fit into one batch. */
static uint32_t batch_size(const struct cell_pair *rows, uint64_t left, uint32_t most)
{
    uint64_t bytes = 0;
    uint32_t n = 0;
    while (n < most && n < left) {
        bytes += rows[n].key.size + rows[n].value.size;
        if (bytes > BATCH_BYTES_MAX) break;
        n++;
    }
    return n == 0 ? 1 : n;
}

/* Passes the records to `writer`, or else to `reader`. */
static int push_records(const struct plan *plan, const struct cell_pair *rows, uint64_t count,
                        struct shuffle_writer *writer, struct shuffle_reader *reader)
{
    static int64_t numbers[2][BATCH_ROWS_MAX];
    static uint32_t start[2][BATCH_ROWS_MAX], end[2][BATCH_ROWS_MAX];
    static struct buffer bytes[2]; /* from malloc: not counted and never failing */
    const struct shuffle_spec *spec = plan->spec;
    int r = 0;
    for (int k = 0; k < 2 && bytes[k].data == NULL; k++)
        bytes[k] = (struct buffer){malloc(5 << 20), 0, 4 << 20};
    for (uint64_t i = 0; i < count && r == 0;) {
        uint32_t n = batch_size(rows + i, count - i, plan->batch_rows);
        struct glint_batch batch = {.rows = n,
                                    .key = make_column(spec->key, rows + i, n, false, &bytes[0],
                                                       numbers[0], start[0], end[0]),
                                    .value = make_column(spec->value, rows + i, n, true, &bytes[1],
                                                         numbers[1], start[1], end[1])};
        r = writer != NULL ? shuffle_writer_push(writer, &batch)
                           : shuffle_reader_push(reader, &batch);
        i += n;
    }
    return r;
}

static int run_map(struct test_task *t, const struct plan *plan, const struct cell_pair *rows,
                   uint64_t count, uint32_t map, struct run *out)
{
    t->task.partition = map;
    struct shuffle_writer *w = shuffle_writer_open(&t->task, plan->spec, NULL);
    int r = w != NULL ? push_records(plan, rows, count, w, NULL) : t->task.error.code;
    if (r == 0) r = shuffle_writer_finish(w, out);
    shuffle_writer_close(w);
    return r;
}

/* A source as that of a fetch. Each record is read once: a second pass over its bytes fails. */
struct remote {
    struct run_source source; /* first: cast back */
    const struct run_source *origin;
    uint64_t read_to;
};

static int read_remote(const struct run_source *source, struct glint_task *task, uint64_t offset,
                       uint64_t size, uint8_t *out)
{
    struct remote *remote = (struct remote *)(uintptr_t)source;
    cr_assert_geq(offset, remote->read_to, "a fetched input was read twice");
    remote->read_to = offset + size;
    if (remote->origin->memory == NULL)
        return remote->origin->read(remote->origin, task, offset, size, out);
    memcpy(out, remote->origin->memory + offset, size);
    return 0;
}

static void reread_remote(const struct run_source *source)
{
    (void)source;
    cr_assert_fail("no block is damaged");
}

static struct run_slice remote_slice(struct run_slice slice, struct remote *out)
{
    *out = (struct remote){.source = {.bytes = slice.source->bytes,
                                      .read = read_remote,
                                      .reread = reread_remote,
                                      .name = "a remote input"},
                           .origin = slice.source};
    slice.source = &out->source;
    return slice;
}

static int read_records(struct shuffle_reader *reader, const struct shuffle_spec *spec,
                        uint32_t partition, struct records *out)
{
    struct glint_batch b;
    int r;
    while ((r = shuffle_reader_next(reader, &b)) > 0) {
        cr_assert(b.rows > 0 && b.rows <= BATCH_ROWS_MAX);
        cr_assert(b.key.type == spec->key && b.value.type == spec->acc);
        for (uint32_t i = 0; i < b.rows; i++) {
            uint8_t number[2][8];
            struct glint_record record = glint_batch_record(&b, i);
            records_add(out, codec_encode(spec->key, &record.key, number[0]),
                        codec_encode(spec->acc, &record.value, number[1]), 0);
            out->items[out->count - 1].partition = partition;
        }
    }
    return r;
}

static int run_reduce(struct test_task *t, const struct plan *plan, const struct run *runs,
                      uint32_t partition, struct records *out)
{
    struct run_slice *inputs = calloc(plan->maps, sizeof *inputs);
    struct remote *remotes = calloc(plan->maps, sizeof *remotes);
    for (uint32_t m = 0; m < plan->maps; m++) {
        inputs[m] = run_slice(&runs[m], partition);
        if (plan->remote) inputs[m] = remote_slice(inputs[m], &remotes[m]);
    }
    struct shuffle_reader *reader =
        shuffle_reader_open(&t->task, plan->spec, NULL, inputs, plan->maps);
    free(inputs);
    const int r =
        reader != NULL ? read_records(reader, plan->spec, partition, out) : t->task.error.code;
    shuffle_reader_close(reader);
    free(remotes);
    return r;
}

static int run_local(struct test_task *t, const struct plan *plan, const struct records *in,
                     struct records *out)
{
    cr_assert(plan->maps == 1 && plan->spec->partitions == 1);
    struct shuffle_reader *reader = shuffle_reader_open_local(&t->task, plan->spec);
    int r = reader != NULL ? push_records(plan, in->items, in->count, NULL, reader)
                           : t->task.error.code;
    if (r == 0) r = shuffle_reader_end_input(reader);
    if (r == 0) r = read_records(reader, plan->spec, 0, out);
    shuffle_reader_close(reader);
    return r;
}

int run_shuffle(struct test_task *t, const struct plan *plan, const struct records *in,
                struct records *out)
{
    if (plan->local) return run_local(t, plan, in, out);
    struct run *runs = calloc(plan->maps, sizeof *runs);
    uint64_t from = 0;
    int r = 0;
    for (uint32_t m = 0; m < plan->maps && r == 0; m++) {
        uint64_t to = from;
        while (to < in->count && in->items[to].map == m) to++;
        r = run_map(t, plan, in->items + from, to - from, m, &runs[m]);
        from = to;
    }
    for (uint32_t p = 0; p < plan->spec->partitions && r == 0; p++)
        r = run_reduce(t, plan, runs, p, out);
    for (uint32_t m = 0; m < plan->maps; m++) run_destroy(&runs[m]);
    free(runs);
    return r;
}

static bool sort_descending;

static int compare_pairs(const void *a, const void *b)
{
    const struct cell_pair *x = a, *y = b;
    if (x->partition != y->partition) return x->partition < y->partition ? -1 : 1;
    int c = codec_compare(x->key, y->key);
    if (sort_descending) c = -c;
    if (c != 0) return c;
    if (x->map != y->map) return x->map < y->map ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Merges value into acc as the function does, which the test recognizes by its pointer. */
static void merge_one_value(const struct shuffle_spec *spec, struct buffer *acc,
                            struct glint_slice value, bool raw)
{
    union glint_value a = {.i64 = 0}, v = {.i64 = 0};
    uint8_t number[8] = {0};
    if (spec->dependency.combine == COMBINE_FIRST) return;
    if (spec->acc == GLINT_I64 || spec->acc == GLINT_F64) {
        cr_assert(codec_decode(spec->acc, (struct glint_slice){acc->data, acc->size}, &a));
        cr_assert(codec_decode(spec->acc, value, &v));
        if (spec->acc == GLINT_I64)
            a.i64 = (int64_t)((uint64_t)a.i64 + (uint64_t)v.i64);
        else
            a.f64 += v.f64;
        memcpy(acc->data, codec_encode(spec->acc, &a, number).data, 8);
        return;
    }
    if (spec->fn == &fn_list && raw) {
        char text[TEXT_NUMBER_MAX];
        cr_assert(codec_decode(GLINT_I64, value, &v));
        size_t n = text_format_i64(text, v.i64);
        text[n] = ',';
        cr_assert(buffer_append(acc, text, n + 1));
        return;
    }
    cr_assert(buffer_append(acc, value.data, value.size));
    if (spec->fn == &fn_text_list && raw) cr_assert(buffer_append(acc, ",", 1));
}

/* Combines one key's values, items[0..n), of one or more map tasks. */
static void combine_key(const struct shuffle_spec *spec, const struct cell_pair *items, uint64_t n,
                        struct buffer *whole)
{
    struct buffer acc = {NULL, 0, 0};
    whole->size = 0;
    for (uint64_t i = 0; i < n;) {
        uint64_t begin = i;
        acc.size = 0;
        bool zero = spec->dependency.combine == COMBINE_FOLD ||
                    spec->dependency.combine == COMBINE_AGGREGATE;
        if (zero)
            cr_assert(buffer_append(&acc, spec->dependency.zero.data, spec->dependency.zero.size));
        bool started = zero || spec->dependency.combine == COMBINE_CREATE;
        for (; i < n && (!spec->map_side || items[i].map == items[begin].map); i++) {
            if (started)
                merge_one_value(spec, &acc, items[i].value, true);
            else
                cr_assert(buffer_append(&acc, items[i].value.data, items[i].value.size));
            started = true;
        }
        if (begin == 0)
            cr_assert(buffer_append(whole, acc.data, acc.size));
        else
            merge_one_value(spec, whole, (struct glint_slice){acc.data, acc.size}, false);
    }
    buffer_fini(&acc);
}

void expect_shuffle(const struct plan *plan, const struct records *in, struct records *out)
{
    const struct shuffle_spec *spec = plan->spec;
    struct cell_pair *all = calloc(in->count + 1, sizeof *all);
    uint64_t index = 0;
    for (uint64_t i = 0; i < in->count; i++) {
        all[i] = in->items[i];
        index = i > 0 && all[i - 1].map == all[i].map ? index + 1 : 0;
        all[i].index = index;
        all[i].partition = shuffle_partition_of(spec, all[i].key, all[i].map, index);
    }
    sort_descending = spec->dependency.descending;
    qsort(all, in->count, sizeof *all, compare_pairs);
    struct buffer whole = {NULL, 0, 0};
    for (uint64_t i = 0; i < in->count;) {
        uint64_t n = 1;
        while (spec->dependency.combine != COMBINE_NONE && i + n < in->count &&
               all[i + n].partition == all[i].partition &&
               codec_compare(all[i + n].key, all[i].key) == 0)
            n++;
        struct glint_slice value = all[i].value;
        if (spec->dependency.combine != COMBINE_NONE) {
            combine_key(spec, all + i, n, &whole);
            value = (struct glint_slice){whole.data, whole.size};
        }
        records_add(out, all[i].key, value, 0);
        out->items[out->count - 1].partition = all[i].partition;
        i += n;
    }
    buffer_fini(&whole);
    free(all);
}

static void join_chunks(const struct records *in, struct records *out)
{
    struct buffer whole = {NULL, 0, 0};
    for (uint64_t i = 0; i < in->count;) {
        const struct cell_pair *first = &in->items[i];
        whole.size = 0;
        for (; i < in->count && codec_compare(in->items[i].key, first->key) == 0; i++)
            cr_assert(buffer_append(&whole, in->items[i].value.data, in->items[i].value.size));
        records_add(out, first->key, (struct glint_slice){whole.data, whole.size}, 0);
        out->items[out->count - 1].partition = first->partition;
    }
    buffer_fini(&whole);
}

void compare_records(const struct records *got, const struct records *expected, bool chunked,
                     const char *what)
{
    struct records joined = {.items = NULL};
    if (chunked) {
        join_chunks(got, &joined);
        got = &joined;
    }
    cr_assert_eq(got->count, expected->count, "%s: %llu records, not %llu", what,
                 (unsigned long long)got->count, (unsigned long long)expected->count);
    for (uint64_t i = 0; i < got->count; i++) {
        const struct cell_pair *g = &got->items[i], *e = &expected->items[i];
        cr_assert_eq(g->partition, e->partition, "%s: partition of %llu", what,
                     (unsigned long long)i);
        cr_assert_eq(codec_compare(g->key, e->key), 0, "%s: key of %llu", what,
                     (unsigned long long)i);
        cr_assert_eq(codec_compare(g->value, e->value), 0, "%s: value of %llu", what,
                     (unsigned long long)i);
    }
    records_fini(&joined);
}
