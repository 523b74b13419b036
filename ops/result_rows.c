/* Result rows: encoded by tasks, collected by the driver, read by jobs. */
#include "engine/records/codec.h"
#include "engine/records/sort.h"
#include "ops/ops.h"

#include <assert.h>
#include <string.h>

static bool append_result_cell(struct buffer *out, enum glint_type type, struct glint_slice s)
{
    if (type == GLINT_NONE) return true;
    if (!buffer_reserve(out, s.size + 10)) return false;
    out->size += codec_put_varint(out->data + out->size, s.size);
    return buffer_append(out, s.data, s.size);
}

bool result_rows_append_bytes(struct buffer *out, struct glint_schema schema,
                              struct glint_slice key, struct glint_slice value)
{
    return append_result_cell(out, schema.key, key) && append_result_cell(out, schema.value, value);
}

bool result_rows_append(struct buffer *out, struct glint_schema schema,
                        const struct glint_record *record)
{
    uint8_t key[CODEC_NUMBER_BYTES], value[CODEC_NUMBER_BYTES];
    return result_rows_append_bytes(out, schema, codec_encode(schema.key, &record->key, key),
                                    codec_encode(schema.value, &record->value, value));
}

bool result_rows_set_task_limit(struct glint_task *task)
{
    error_set(&task->error, GLINT_E_RESULT_LIMIT,
              "save the result as files instead of collecting it",
              "the rows of one partition exceed %llu bytes",
              (unsigned long long)task->options->result_bytes_max);
    return false;
}

bool result_rows_append_limited(struct glint_task *task, struct buffer *out,
                                struct glint_schema schema, const struct glint_record *record)
{
    if (!result_rows_append(out, schema, record)) {
        error_no_memory(&task->error);
        return false;
    }
    return out->size <= task->options->result_bytes_max || result_rows_set_task_limit(task);
}

int result_rows_state_result(void *state, struct buffer *out)
{
    struct result_rows_state *s = state;
    assert(out->data == NULL);
    *out = s->bytes;
    s->bytes = (struct buffer){NULL, 0, 0};
    return 0;
}

void result_rows_state_close(void *state)
{
    buffer_fini(&((struct result_rows_state *)state)->bytes);
}

static bool next_result_cell(struct glint_slice result, uint64_t *at, enum glint_type type,
                             union glint_value *out)
{
    if (type == GLINT_NONE) return true;
    uint64_t size;
    unsigned n = codec_get_varint(result.data + *at, result.data + result.size, &size);
    if (n == 0 || size > result.size - *at - n) return false;
    bool fits = codec_decode(type, (struct glint_slice){result.data + *at + n, size}, out);
    if (fits) *at += n + size;
    return fits;
}

bool result_rows_next(struct glint_slice result, uint64_t *at, struct glint_schema schema,
                      struct glint_record *out)
{
    if (*at >= result.size) return false;
    return next_result_cell(result, at, schema.key, &out->key) &&
           next_result_cell(result, at, schema.value, &out->value);
}

int record_compare(struct glint_schema schema, const struct glint_record *a,
                   const struct glint_record *b)
{
    uint8_t x[CODEC_NUMBER_BYTES], y[CODEC_NUMBER_BYTES];
    int c =
        codec_compare(codec_encode(schema.key, &a->key, x), codec_encode(schema.key, &b->key, y));
    if (c != 0) return c;
    return codec_compare(codec_encode(schema.value, &a->value, x),
                         codec_encode(schema.value, &b->value, y));
}

int result_rows_set_action_limit(struct glint *g)
{
    return error_set(
        &g->error, GLINT_E_RESULT_LIMIT, "save the result as files instead of collecting it",
        "the rows of one action exceed %llu bytes", (unsigned long long)g->config.result_bytes_max);
}

int result_rows_add_partition(struct glint *g, struct glint_rows *rows, struct glint_slice result)
{
    struct buffer data = {rows->data, rows->size, rows->size_capacity};
    uint64_t at = 0, base = rows->size;
    struct glint_record r;
    if (base + result.size > g->config.result_bytes_max) return result_rows_set_action_limit(g);
    bool ok = buffer_append(&data, result.data, result.size);
    /* Also after a failure: glint_rows_free must free what was allocated. */
    rows->data = data.data;
    rows->size = data.size;
    rows->size_capacity = data.capacity;
    while (ok && at < result.size) {
        ok = array_reserve(&rows->offsets, &rows->capacity, rows->count + 1, sizeof *rows->offsets);
        if (!ok) break;
        rows->offsets[rows->count] = base + at;
        if (!result_rows_next(result, &at, rows->schema, &r))
            return error_set(&g->error, GLINT_E_PROTOCOL, NULL, "cannot decode a task's rows");
        rows->count++;
    }
    return ok ? 0 : error_no_memory(&g->error);
}

/* Reads the encoded key of the row at `offset`; the rows were validated when added. */
static struct glint_slice result_row_key(const void *arg, uint64_t offset)
{
    const struct glint_rows *rows = arg;
    const uint8_t *at = rows->data + offset;
    struct glint_slice key = {at, 0};
    unsigned n = codec_get_varint(at, rows->data + rows->size, &key.size);
    assert(n > 0);
    key.data = at + n;
    return key;
}

int result_rows_sort(struct glint *g, struct glint_rows *rows)
{
    uint64_t count = rows->count;
    static_assert(RESULT_BYTES_MAX < (uint64_t)1 << SORT_REFERENCE_BITS,
                  "an offset fits a sort reference");
    if (count < 2 || rows->schema.key == GLINT_NONE) return 0;
    struct sort_entry *entries = mem_alloc(2 * count * sizeof *entries);
    if (entries == NULL) return error_no_memory(&g->error);
    for (uint64_t i = 0; i < count; i++)
        entries[i] =
            (struct sort_entry){sort_key_prefix(result_row_key(rows, rows->offsets[i]), 0, false),
                                sort_pack_reference(0, rows->offsets[i])};
    bool number = rows->schema.key == GLINT_I64 || rows->schema.key == GLINT_F64;
    const struct sort_keys keys = {.get = result_row_key, .arg = rows};
    sort_entries(entries, entries + count, count, false, number ? NULL : &keys);
    for (uint64_t i = 0; i < count; i++) rows->offsets[i] = sort_entry_reference(&entries[i]);
    mem_free(entries);
    return 0;
}

int result_rows_fail_empty(struct glint *g, struct glint_rows *rows, const char *action)
{
    glint_rows_free(rows);
    return glint_abort(g, GLINT_E_EMPTY_COLLECTION, "check isEmpty first", "%s of an empty RDD",
                       action);
}

int set_malformed_result_error(struct glint *g, const struct op *op)
{
    return error_set(&g->error, GLINT_E_PROTOCOL, NULL, "cannot decode a task's result of %s",
                     op->name);
}

struct glint_record glint_rows_at(const struct glint_rows *rows, uint64_t i)
{
    struct glint_record r = {.key = {.i64 = 0}};
    /* Under explain, results are empty, and a job may access rows that it expects. */
    if (i >= rows->count && context_is_explaining()) return r;
    assert(i < rows->count);
    uint64_t at = rows->offsets[i];
    result_rows_next((struct glint_slice){rows->data, rows->size}, &at, rows->schema, &r);
    return r;
}

void glint_rows_records(const struct glint_rows *rows, uint64_t first, uint64_t count,
                        struct glint_record *out)
{
    assert(first <= rows->count && count <= rows->count - first);
    for (uint64_t i = 0; i < count; i++) out[i] = glint_rows_at(rows, first + i);
}

void glint_rows_free(struct glint_rows *rows)
{
    mem_free(rows->data);
    mem_free(rows->offsets);
    memset(rows, 0, sizeof *rows);
}
