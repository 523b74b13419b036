/* See emitter.h. The common cases, numbers and borrowed slices, cost one or two stores per row. */
#include "engine/records/emitter.h"

#include "engine/records/bytes.h"
#include "engine/records/codec.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void emitter_init(struct glint_emitter *e, struct glint_task *task, struct glint_schema schema,
                  flow_push push, void *push_state, struct glint_emitter *push_out)
{
    assert(schema.key >= GLINT_NONE && schema.value >= GLINT_NONE);
    *e = (struct glint_emitter){.task = task,
                                .flow = FLOW_MORE,
                                .push = push,
                                .push_state = push_state,
                                .push_out = push_out,
                                .push_partition = task->partition};
    e->key.column.type = schema.key;
    e->value.column.type = schema.value;
}

/* If all cells are empty the column may have no memory, but readers rely on READ_SLACK readable
 * bytes after every cell. */
static void ensure_readable_column(struct glint_column *c)
{
    static const uint8_t slack[READ_SLACK];
    if (c->base == NULL && codec_type_is_bytes(c->type)) c->base = slack;
}

/* Runs the next operator, with the task's partition and function set to its own meanwhile. */
static enum flow emitter_push_batch(struct glint_emitter *e, struct glint_batch *batch)
{
    assert(batch->rows > 0 && batch->rows <= BATCH_ROWS_MAX);
    if (e->flow != FLOW_MORE) return e->flow;
    ensure_readable_column(&batch->key);
    ensure_readable_column(&batch->value);
    if (batch->origin != NULL) e->task->origin = batch->origin;
    const uint32_t partition = e->task->partition;
    const struct glint_function *function = task_set_function(e->task, e->push_function);
    e->task->partition = e->push_partition;
    e->flow = e->push(e->push_state, batch, e->push_out);
    e->numbers = e->numbers && e->flow == FLOW_MORE;
    e->task->partition = partition;
    task_set_function(e->task, function);
    return e->flow;
}

enum flow emitter_flush(struct glint_emitter *e)
{
    if (e->rows > 0) {
        struct glint_batch batch = {.rows = e->rows,
                                    .key = e->key.column,
                                    .value = e->value.column,
                                    .origin = e->in != NULL ? e->in->origin : NULL};
        e->rows = 0;
        e->borrows = false;
        emitter_push_batch(e, &batch);
    }
    e->key.used = e->value.used = 0;
    return e->flow;
}

static bool emit_column_init(struct glint_emitter *e, struct emit_column *c)
{
    if (c->column.type == GLINT_I64 || c->column.type == GLINT_F64) {
        c->i64 = task_alloc(e->task, sizeof *c->i64 * BATCH_ROWS_MAX);
        if (c->i64 == NULL) return false;
        if (c->column.type == GLINT_I64)
            c->column.i64 = c->i64;
        else
            c->column.f64 = (const double *)c->i64;
        return true;
    }
    c->start = task_alloc(e->task, 2 * sizeof *c->start * BATCH_ROWS_MAX);
    if (c->start == NULL) return false;
    c->end = c->start + BATCH_ROWS_MAX;
    c->column.start = c->start;
    c->column.end = c->end;
    return true;
}

/* Returns the column of the input batch that contains the slice, or NULL: only bytes of the input
 * batch are valid until the next push. */
static const struct glint_column *find_owning_column(const struct glint_batch *in,
                                                     struct glint_slice s)
{
    if (in == NULL) return NULL;
    const struct glint_column *columns[] = {&in->value, &in->key};
    for (int i = 0; i < 2; i++) {
        const struct glint_column *c = columns[i];
        if (c->base == NULL || s.data < c->base) continue;
        uint64_t at = (uint64_t)(s.data - c->base);
        if (at <= c->size && s.size <= c->size - at && c->size <= UINT32_MAX) return c;
    }
    return NULL;
}

/* Adds the cell by reference if all rows so far refer to the same memory. */
static bool emit_column_borrow(struct glint_emitter *e, struct emit_column *c, struct glint_slice s)
{
    const struct glint_column *owner = find_owning_column(e->in, s);
    if (owner == NULL || (e->rows > 0 && c->column.base != owner->base)) return false;
    c->column.base = owner->base;
    c->column.size = owner->size;
    c->start[e->rows] = (uint32_t)(s.data - owner->base);
    c->end[e->rows] = c->start[e->rows] + (uint32_t)s.size;
    return true;
}

static bool emit_column_copy(struct glint_emitter *e, struct emit_column *c, struct glint_slice s)
{
    assert(s.size <= EMIT_BUFFER_BYTES);
    if (c->buffer == NULL) {
        c->buffer = task_alloc(e->task, EMIT_BUFFER_BYTES + READ_SLACK);
        if (c->buffer == NULL) return false;
    }
    if (c->column.base != c->buffer) c->used = 0;
    c->column.base = c->buffer;
    c->column.size = EMIT_BUFFER_BYTES;
    c->start[e->rows] = c->used;
    if (s.size > 0) memcpy(c->buffer + c->used, s.data, s.size);
    c->used += (uint32_t)s.size;
    c->end[e->rows] = c->used;
    return true;
}

/* Whether the collected rows must be pushed before this cell is added: they refer to other memory,
 * or the buffer is full. */
static bool emit_column_needs_flush(const struct glint_emitter *e, struct emit_column *c,
                                    struct glint_slice s)
{
    if (e->rows == 0 || c->column.type == GLINT_I64 || c->column.type == GLINT_F64 ||
        c->column.type == GLINT_NONE)
        return false;
    if (c->copies) return c->used + s.size > EMIT_BUFFER_BYTES;
    const struct glint_column *owner = find_owning_column(e->in, s);
    if (owner != NULL && owner->base == c->column.base) return false;
    c->copies = true; /* cells from different memory: copy all cells from now on */
    return true;
}

static bool emit_column_append(struct glint_emitter *e, struct emit_column *c,
                               const union glint_value *v)
{
    switch (c->column.type) {
    case GLINT_NONE: return true;
    case GLINT_I64:
        if (c->i64 == NULL && !emit_column_init(e, c)) return false;
        c->i64[e->rows] = v->i64;
        return true;
    case GLINT_F64:
        if (c->i64 == NULL && !emit_column_init(e, c)) return false;
        memcpy(&c->i64[e->rows], &v->f64, sizeof v->f64);
        return true;
    default: break;
    }
    if (c->start == NULL && !emit_column_init(e, c)) return false;
    if (!c->copies && emit_column_borrow(e, c, v->bytes)) return true;
    c->copies = true;
    return emit_column_copy(e, c, v->bytes);
}

static struct glint_column one_row_column(enum glint_type type, const union glint_value *v)
{
    struct glint_column c = {.type = type};
    if (type == GLINT_I64) {
        c.i64 = &v->i64;
    } else if (type == GLINT_F64) {
        c.f64 = &v->f64;
    } else if (type != GLINT_NONE) {
        c.base = v->bytes.data;
        c.size = v->bytes.size;
    }
    return c;
}

/* Pushes a record as a batch of one row, by reference. */
static void push_large_record(struct glint_emitter *e, const struct glint_record *r)
{
    if (emitter_flush(e) != FLOW_MORE) return;
    struct glint_batch batch = {.rows = 1,
                                .key = one_row_column(e->key.column.type, &r->key),
                                .value = one_row_column(e->value.column.type, &r->value)};
    emitter_push_batch(e, &batch);
}

/* Inlined, it would cost each call of glint_emit the stack protector. */
__attribute__((noinline)) static void emit_record(struct glint_emitter *e,
                                                  const struct glint_record *record)
{
    e->borrows = false;
    if (e->flow != FLOW_MORE) return;
    e->emitted++;
    /* mapValues and the like: the function cannot change a key that the partitioning relies on. */
    struct glint_record r = *record;
    if (e->keep_key) r.key = glint_column_value(&e->in->key, e->kept_row);
    if (e->struct_size != 0 && r.value.bytes.size != e->struct_size) {
        const struct glint_function *fn = atomic_load(&e->task->function);
        error_set(&e->task->error, GLINT_E_FUNCTION_FAILED, "see the function's GLINT_STRUCT",
                  "%s emitted a value of %llu bytes, and its structs have %u",
                  fn != NULL ? fn->name : "a function", (unsigned long long)r.value.bytes.size,
                  e->struct_size);
        e->flow = FLOW_FAIL;
        return;
    }
    if (e->keep_value) r.value = glint_column_value(&e->in->value, e->kept_row);
    if ((codec_type_is_bytes(e->key.column.type) && r.key.bytes.size > EMIT_COPY_BYTES_MAX) ||
        (codec_type_is_bytes(e->value.column.type) && r.value.bytes.size > EMIT_COPY_BYTES_MAX)) {
        push_large_record(e, &r);
        return;
    }
    if (e->rows > 0) {
        bool key_needs_flush = emit_column_needs_flush(e, &e->key, r.key.bytes);
        bool value_needs_flush = emit_column_needs_flush(e, &e->value, r.value.bytes);
        if ((key_needs_flush || value_needs_flush) && emitter_flush(e) != FLOW_MORE) return;
    }
    if (!emit_column_append(e, &e->key, &r.key) || !emit_column_append(e, &e->value, &r.value)) {
        e->flow = FLOW_FAIL;
        return;
    }
    /* From here on glint_emit may use a fast path: both arrays are allocated. */
    const bool number =
        !codec_type_is_bytes(e->value.column.type) && !e->keep_key && !e->keep_value;
    e->numbers = number && !codec_type_is_bytes(e->key.column.type);
    e->borrows = number && e->value.i64 != NULL && e->key.start != NULL && !e->key.copies;
    if (++e->rows == BATCH_ROWS_MAX) emitter_flush(e);
}

/* Adds the cell to a column that has rows already: a number, bytes of the memory that they refer
 * to, or bytes that fit into the buffer. Returns false if emit_record must. */
static inline bool emitter_column_add(const struct glint_emitter *e, struct emit_column *c,
                                      union glint_value v)
{
    if (c->start == NULL) { /* no bytes */
        if (c->i64 != NULL) c->i64[e->rows] = v.i64;
        return true;
    }
    uint64_t at = (uint64_t)((uintptr_t)v.bytes.data - (uintptr_t)c->column.base);
    const uint64_t size = v.bytes.size;
    if (size > EMIT_COPY_BYTES_MAX) return false;
    if (c->copies) {
        at = c->used;
        assert(c->column.base == c->buffer && at <= EMIT_BUFFER_BYTES);
        if (size > EMIT_BUFFER_BYTES - at) return false;
        bytes_copy(c->buffer + at, v.bytes.data, size);
        c->used += (uint32_t)size;
    } else if (at > c->column.size || size > c->column.size - at) {
        return false;
    }
    c->start[e->rows] = (uint32_t)at;
    c->end[e->rows] = (uint32_t)(at + size);
    return true;
}

/* Adds a record whose key is in the memory that the rows so far refer to, and whose value is a
 * number: words with counts, shares of ranks. Returns false if it is another one. */
static inline bool emit_borrowed_key(struct glint_emitter *e, const struct glint_record *record)
{
    const struct glint_slice key = record->key.bytes;
    const uint64_t at = (uint64_t)((uintptr_t)key.data - (uintptr_t)e->key.column.base);
    if (key.size > EMIT_COPY_BYTES_MAX || at > e->key.column.size ||
        key.size > e->key.column.size - at)
        return false;
    const uint32_t row = e->rows;
    assert(row > 0 && row < BATCH_ROWS_MAX);
    e->key.start[row] = (uint32_t)at;
    e->key.end[row] = (uint32_t)(at + key.size);
    e->value.i64[row] = record->value.i64;
    e->emitted++;
    e->rows = row + 1;
    if (row + 1 == BATCH_ROWS_MAX) emitter_flush(e);
    return true;
}

/* The cells of one of the columns are bytes. Not inlined, as emit_record. */
__attribute__((noinline)) static void emit_bytes(struct glint_emitter *e,
                                                 const struct glint_record *record)
{
    const bool first = e->rows == 0 || e->flow != FLOW_MORE;
    if (first || e->struct_size != 0 ||
        !emitter_column_add(e, &e->value,
                            e->keep_value ? glint_column_value(&e->in->value, e->kept_row)
                                          : record->value) ||
        !emitter_column_add(e, &e->key,
                            e->keep_key ? glint_column_value(&e->in->key, e->kept_row)
                                        : record->key)) {
        emit_record(e, record);
        return;
    }
    e->emitted++;
    if (++e->rows == BATCH_ROWS_MAX) emitter_flush(e);
}

/* Cells like those of the rows before take a fast path of two or four stores: emit_record costs
 * several times as much. */
static inline void emit_record_fast(struct glint_emitter *e, const struct glint_record *record)
{
    if (e->borrows && emit_borrowed_key(e, record)) return;
    if (!e->numbers) {
        emit_bytes(e, record);
        return;
    }
    if (e->key.i64 != NULL) memcpy(&e->key.i64[e->rows], &record->key, sizeof(int64_t));
    if (e->value.i64 != NULL) memcpy(&e->value.i64[e->rows], &record->value, sizeof(int64_t));
    e->emitted++;
    if (++e->rows == BATCH_ROWS_MAX) emitter_flush(e);
}

void glint_emit(struct glint_emitter *e, const struct glint_record *record)
{
    emit_record_fast(e, record);
}

/* A function emitted what it did not promise. */
static void emitter_set_type_error(struct glint_emitter *e, const char *what)
{
    const struct glint_function *fn = atomic_load(&e->task->function);
    error_set(&e->task->error, GLINT_E_PLAN_TYPE, "emit the types of the function's `out`",
              "%s emitted %s", fn != NULL ? fn->name : "an operator", what);
    e->flow = FLOW_FAIL;
    e->numbers = e->borrows = false;
}

/* Inlined, its buffer would cost each call of glint_emit_typed the stack protector. */
__attribute__((noinline)) static void set_emitted_types_error(struct glint_emitter *e,
                                                              struct glint_schema types)
{
    char what[128];
    if (e->flow != FLOW_MORE) return;
    snprintf(what, sizeof what, "(%s, %s), and its output is (%s, %s)", codec_type_name(types.key),
             codec_type_name(types.value), codec_type_name(e->key.column.type),
             codec_type_name(e->value.column.type));
    emitter_set_type_error(e, what);
}

/* Of a cell and its column; a cell that an operator keeps from its input replaces any other. */
static bool emitted_type_fits(enum glint_type emitted, enum glint_type type, bool kept)
{
    emitted = codec_column_type(emitted);
    return emitted == type || (codec_type_is_bytes(type) && codec_type_is_bytes(emitted)) || kept;
}

/* Checks the types of the first row, and again when they change. */
void glint_emit_typed(struct glint_emitter *e, struct glint_schema types,
                      const struct glint_record *record)
{
    if (types.key != e->fits.key || types.value != e->fits.value) {
        const enum glint_type key = e->key.column.type, value = e->value.column.type;
        /* An element has no room for a key, but no bytes are none. */
        const bool no_key = key == GLINT_NONE && codec_type_is_bytes(types.key);
        if (!(emitted_type_fits(types.key, key, e->keep_key) ||
              (no_key && record->key.bytes.size == 0)) ||
            !emitted_type_fits(types.value, value, e->keep_value)) {
            set_emitted_types_error(e, types);
            return;
        }
        if (!no_key) e->fits = types;
    }
    emit_record_fast(e, record);
}

void glint_emit_batch(struct glint_emitter *e, const struct glint_batch *batch)
{
    /* Push the rows collected before first, to keep the order. */
    if (batch->rows == 0 || emitter_flush(e) != FLOW_MORE) return;
    e->emitted += batch->rows;
    struct glint_batch spliced = *batch;
    if (e->keep_key || e->keep_value) {
        assert(e->in != NULL);
        if (e->in->rows != batch->rows) {
            emitter_set_type_error(
                e, "a batch with another number of rows than its input, whose keys or values "
                   "are kept");
            return;
        }
        if (e->keep_key) spliced.key = e->in->key;
        if (e->keep_value) spliced.value = e->in->value;
    }
    if (spliced.key.type == e->key.column.type && spliced.value.type == e->value.column.type)
        emitter_push_batch(e, &spliced);
    else
        emitter_set_type_error(e, "a batch with other types than those of the function");
}
