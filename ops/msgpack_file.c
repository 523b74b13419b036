/* msgpackFile: reads the records of files that saveAsMsgpackFile wrote, and checks each against the
 * schema.
 *
 * A window slides over the file. Records are decoded in place and emitted in batches by reference.
 * If a record does not fit into the rest of the window, its headers tell its minimum size; the
 * window grows to that size, and at least to twice the part that it already has. Doubling keeps
 * the cost of decoding a large value again each time linear in its size.
 *
 *     window   [ emitted | rows of current batch | partial record | ...free... ]
 *                         first                   at          fill    capacity */
#include "engine/base/text.h"
#include "engine/batch.h"
#include "engine/input/input_stream.h"
#include "engine/input/split.h"
#include "engine/records/codec.h"
#include "ops/msgpack_cell.h"
#include "ops/ops.h"
#include "ops/selection.h"

#define RECORD_BYTES_MAX (VALUE_BYTES_MAX + KEY_BYTES_MAX + 64)
#define VALUE_HEAD_BYTES (4 * KIB) /* at least so many of a value that is cut */
#define HEADS_READ_BYTES (16 * KIB)

/* The operator's parameter. */
enum msgpack_file_form {
    FORM_RECORDS,
    FORM_BY_NAME, /* a value alone has the name of its file as its key */
    FORM_HEADS,   /* the same, and large values are cut */
};

struct msgpack_state {
    struct glint_task *task;
    struct glint_schema schema;
    enum msgpack_file_form form;
    struct input_stream source;
    uint8_t *window;
    uint64_t first, at, fill, capacity;
    uint32_t rows; /* of the current batch */
    struct selection_column key, value;
};

static const char *const kind_names[] = {
    [MSGPACK_KIND_NIL] = "nil",         [MSGPACK_KIND_BOOL] = "a boolean",
    [MSGPACK_KIND_UINT] = "an integer", [MSGPACK_KIND_INT] = "an integer",
    [MSGPACK_KIND_FLOAT] = "a float",   [MSGPACK_KIND_STR] = "a str",
    [MSGPACK_KIND_BIN] = "a bin",       [MSGPACK_KIND_EXT] = "an ext",
    [MSGPACK_KIND_ARRAY] = "an array",  [MSGPACK_KIND_MAP] = "a map",
};

static const char *const wanted_names[] = {
    [GLINT_NONE] = "nil",    [GLINT_BYTES] = "a bin",
    [GLINT_TEXT] = "a str",  [GLINT_I64] = "a signed integer",
    [GLINT_F64] = "a float", [GLINT_MSGPACK] = "any value",
};

/* Sets an error about the byte at `p`, which is in the window. */
static enum msgpack_validity set_msgpack_error(struct msgpack_state *s, const uint8_t *p,
                                               const char *wanted, const char *found,
                                               const char *hint)
{
    const uint64_t behind = s->fill - (uint64_t)(p - s->window);
    assert(p >= s->window && behind <= s->fill && behind <= s->source.at);
    error_set(&s->task->error, GLINT_E_MSGPACK_CORRUPT, hint, "%s, byte %llu: %s%s%s%s",
              s->source.piece->path, (unsigned long long)(s->source.at - behind),
              found != NULL ? "expected " : "", wanted, found != NULL ? ", found " : "",
              found != NULL ? found : "");
    return MSGPACK_INVALID;
}

static enum msgpack_validity set_msgpack_corrupt_error(struct msgpack_state *s, const uint8_t *p,
                                                       const char *wanted, const char *found)
{
    return set_msgpack_error(
        s, p, wanted, found,
        "the file must be written by saveAsMsgpackFile, with the types that the job names");
}

/* Whether a key is text or a number is often an option of the job: a file of filters with the other
 * type is not damaged. */
static enum msgpack_validity set_key_type_error(struct msgpack_state *s, const uint8_t *p,
                                                enum glint_type type, enum msgpack_kind found)
{
    const bool integer = found == MSGPACK_KIND_UINT || found == MSGPACK_KIND_INT;
    if (type == GLINT_I64 && found == MSGPACK_KIND_STR)
        return set_msgpack_error(
            s, p, wanted_names[type], kind_names[found],
            "the keys of the file are text: use --key text, or --key-type text if the job has it");
    if (type == GLINT_TEXT && integer)
        return set_msgpack_error(s, p, wanted_names[type], kind_names[found],
                                 "the keys of the file are numbers: use --key int or rating, or "
                                 "--key-type int if the job has it");
    return set_msgpack_corrupt_error(s, p, wanted_names[type], kind_names[found]);
}

/* ---- Decoding */

/* A value that cannot be decoded: either truncated by the window, or not msgpack. */
static enum msgpack_validity check_truncated_value(struct msgpack_state *s, const uint8_t *p,
                                                   uint64_t left, uint64_t *size)
{
    enum msgpack_validity r = msgpack_validate_prefix(p, left, size);
    return r == MSGPACK_INVALID
               ? set_msgpack_corrupt_error(s, p, "invalid or too deeply nested msgpack", NULL)
               : r;
}

/* Decodes one cell from the `left` bytes at `p`. *size: its size, or a lower bound of it. */
static enum msgpack_validity decode_msgpack_cell(struct msgpack_state *s, enum glint_type type,
                                                 const uint8_t *p, uint64_t left,
                                                 union glint_value *out, uint64_t *size)
{
    struct msgpack_head h;
    if (type == GLINT_MSGPACK) {
        enum msgpack_validity r = check_truncated_value(s, p, left, size);
        out->bytes = (struct glint_slice){p, *size};
        return r;
    }
    if (!msgpack_read_head(p, left, &h)) return check_truncated_value(s, p, left, size);
    if (!msgpack_cell_decode(type, &h, p, out)) {
        const bool unsigned_only = h.kind == MSGPACK_KIND_UINT && h.u64 > INT64_MAX;
        return set_msgpack_corrupt_error(
            s, p, wanted_names[type], unsigned_only ? "an unsigned integer" : kind_names[h.kind]);
    }
    *size = h.head_size + (type == GLINT_TEXT || type == GLINT_BYTES ? h.size : 0);
    return MSGPACK_COMPLETE;
}

/* Whether the rest of the value at `p` is skipped: of a plain file, not of an object at a URL. */
static bool is_value_cut(const struct msgpack_state *s, const uint8_t *p)
{
    const uint64_t have = s->fill - (uint64_t)(p - s->window);
    assert(p >= s->window && have <= s->fill);
    return s->form == FORM_HEADS && have >= VALUE_HEAD_BYTES && s->source.decompressor == NULL &&
           s->source.piece->remote == NULL;
}

/* A value without a key: all of the file. */
static enum msgpack_validity decode_named_value(struct msgpack_state *s, struct glint_record *out,
                                                uint64_t *size)
{
    const struct split_piece *piece = s->source.piece;
    const char *path = piece->path, *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path, *dot = strrchr(name, '.');
    const uint64_t name_size = dot != NULL && dot > name ? (uint64_t)(dot - name) : strlen(name);
    const uint8_t *p = s->window + s->at;
    assert(s->schema.value == GLINT_MSGPACK);
    enum msgpack_validity r = check_truncated_value(s, p, s->fill - s->at, size);
    const bool cut = r == MSGPACK_TRUNCATED && is_value_cut(s, p);
    if (cut) r = MSGPACK_COMPLETE;
    if (r != MSGPACK_COMPLETE) return r;
    if (s->source.at != s->fill - s->at || (!cut && s->at + *size != s->fill) ||
        (piece->compression == COMPRESSION_NONE && piece->file_size != *size))
        return set_msgpack_corrupt_error(s, p, "an array of key and value",
                                         "an array of another size");
    out->value.bytes = (struct glint_slice){p, cut ? s->fill - s->at : *size};
    if (s->schema.key == GLINT_I64) {
        if (text_parse_i64((const uint8_t *)name, name_size, &out->key.i64)) return r;
        error_set(&s->task->error, GLINT_E_MSGPACK_CORRUPT,
                  "rename it, as to 5.filter; or use text keys, with the option that the job has",
                  "%s: the file has a value without a key, and its name is no integer", path);
        return MSGPACK_INVALID;
    }
    uint8_t *key = arena_alloc_aligned(&s->task->arena, name_size);
    if (key == NULL) {
        error_no_memory(&s->task->error);
        return MSGPACK_INVALID;
    }
    memcpy(key, name, name_size);
    out->key.bytes = (struct glint_slice){key, name_size};
    return r;
}

/* Decodes the record at s->at. *size: its size, or a lower bound of it if it is incomplete. */
static enum msgpack_validity decode_msgpack_record(struct msgpack_state *s,
                                                   struct glint_record *out, uint64_t *size)
{
    const uint8_t *p = s->window + s->at, *end = s->window + s->fill;
    uint64_t key_size = 0, value_size = 0;
    if (s->schema.key == GLINT_NONE)
        return decode_msgpack_cell(s, s->schema.value, p, s->fill - s->at, &out->value, size);
    struct msgpack_head pair;
    if (!msgpack_read_head(p, s->fill - s->at, &pair))
        return check_truncated_value(s, p, s->fill - s->at, size);
    if (s->form != FORM_RECORDS && pair.kind == MSGPACK_KIND_ARRAY && pair.count != 2)
        return decode_named_value(s, out, size);
    if (pair.kind != MSGPACK_KIND_ARRAY || pair.count != 2)
        return set_msgpack_corrupt_error(
            s, p, "an array of key and value",
            pair.kind == MSGPACK_KIND_ARRAY ? "an array of another size" : kind_names[pair.kind]);
    p += pair.head_size;
    struct msgpack_head key;
    const enum glint_type type = s->schema.key;
    if (type != GLINT_MSGPACK && msgpack_read_head(p, (uint64_t)(end - p), &key) &&
        !msgpack_cell_decode(type, &key, p, &out->key) &&
        !(key.kind == MSGPACK_KIND_UINT && key.u64 > INT64_MAX))
        return set_key_type_error(s, p, type, key.kind);
    enum msgpack_validity r =
        decode_msgpack_cell(s, type, p, (uint64_t)(end - p), &out->key, &key_size);
    if (r == MSGPACK_COMPLETE) {
        p += key_size;
        r = decode_msgpack_cell(s, s->schema.value, p, (uint64_t)(end - p), &out->value,
                                &value_size);
        if (r == MSGPACK_TRUNCATED && is_value_cut(s, p)) {
            out->value.bytes = (struct glint_slice){p, (uint64_t)(end - p)};
            r = MSGPACK_COMPLETE;
        }
    }
    *size = pair.head_size + key_size + value_size;
    return r;
}

/* ---- The window */

/* Makes room for `wanted` bytes from the partial record on, and moves it to the start of the
 * window. */
static int reserve_window(struct msgpack_state *s, uint64_t wanted)
{
    const uint64_t rest = s->fill - s->at;
    assert(s->rows == 0 && wanted > rest);
    if (rest > 0) memmove(s->window, s->window + s->at, rest);
    if (wanted > s->capacity) {
        const uint64_t capacity = mem_round_up_to_huge_pages(wanted);
        uint8_t *grown = mem_grow(s->window, rest, capacity);
        if (grown == NULL) return error_no_memory(&s->task->error);
        s->window = grown;
        s->capacity = capacity;
    }
    s->first = s->at = 0;
    s->fill = rest;
    assert(s->fill < s->capacity);
    return 0;
}

/* The file ends inside the current record. If the file has changed, report that instead. */
static int set_file_truncated_error(struct msgpack_state *s)
{
    if (input_stream_check_unchanged(&s->source) == 0)
        set_msgpack_corrupt_error(s, s->window + s->at, "the file ends inside a record", NULL);
    return s->task->error.code;
}

/* Reads more of the file, because the current record has at least `needed` bytes. */
static int read_into_window(struct msgpack_state *s, uint64_t needed)
{
    const struct split_piece *piece = s->source.piece;
    const uint64_t have = s->fill - s->at;
    assert(needed > have);
    if (task_check_cancelled(s->task) != 0) return GLINT_E_INTERRUPTED;
    if (s->source.ended) return set_file_truncated_error(s);
    const uint64_t block = s->form == FORM_HEADS ? HEADS_READ_BYTES : READ_BLOCK_BYTES;
    uint64_t wanted = have < block / 2 ? block : 2 * have;
    /* The size of decompressed data is unknown, so only plain files can be checked in advance. */
    if (piece->compression == COMPRESSION_NONE) {
        const uint64_t most = have + (piece->file_size - s->source.at);
        /* Checked before allocating: a corrupt header may claim any size. */
        if (needed > most) return set_file_truncated_error(s);
        if (wanted < needed) wanted = needed;
        if (wanted > most) wanted = most;
    }
    if (needed > RECORD_BYTES_MAX)
        return error_set(&s->task->error, GLINT_E_VALUE_LIMIT, NULL,
                         "%s: a record of at least %llu bytes; the limit is %llu", piece->path,
                         (unsigned long long)needed, (unsigned long long)RECORD_BYTES_MAX);
    int r = reserve_window(s, wanted);
    if (r < 0) return r;
    const int64_t n = input_stream_read(&s->source, s->window + s->fill, wanted - s->fill);
    if (n < 0) return (int)n;
    s->fill += (uint64_t)n;
    return 0;
}

/* ---- Batches */

static enum flow push_msgpack_rows(struct msgpack_state *s, struct glint_emitter *out)
{
    struct glint_batch batch = {
        .rows = s->rows,
        .key = selection_column_of(&s->key, s->schema.key, s->window + s->first, s->at - s->first,
                                   false),
        .value = selection_column_of(&s->value, s->schema.value, s->window + s->first,
                                     s->at - s->first, false)};
    assert(s->first <= s->at && s->at <= s->fill && s->rows <= BATCH_ROWS_MAX);
    s->task->counters.values[COUNT_ROWS_READ] += s->rows;
    glint_emit_batch(out, &batch);
    s->rows = 0;
    s->first = s->at;
    return out->flow;
}

static void msgpack_column_add(const struct msgpack_state *s, enum glint_type type,
                               struct selection_column *c, const union glint_value *v)
{
    if (type == GLINT_I64) {
        c->i64[s->rows] = v->i64;
    } else if (type == GLINT_F64) {
        c->f64[s->rows] = v->f64;
    } else if (codec_type_is_bytes(type)) {
        const uint64_t start = (uint64_t)(v->bytes.data - (s->window + s->first));
        assert(start + v->bytes.size <= BATCH_BYTES_MAX);
        c->start[s->rows] = (uint32_t)start;
        c->end[s->rows] = (uint32_t)(start + v->bytes.size);
    }
}

static bool is_large_cell(enum glint_type type, const union glint_value *v)
{
    return codec_type_is_bytes(type) && v->bytes.size > EMIT_BUFFER_BYTES;
}

/* Returns false with an error if the file does not have the rest of the record. */
static bool skip_record_rest(struct msgpack_state *s, uint64_t size)
{
    struct input_stream *source = &s->source;
    const uint64_t rest = size - (s->fill - s->at), left = source->piece->file_size - source->at;
    if (rest > left) return set_file_truncated_error(s) == 0;
    source->at += rest;
    source->ended = rest == left;
    s->first = s->at = s->fill;
    return true;
}

/* Adds the decoded record of `size` bytes at s->at to the batch; a large one is emitted alone. */
static enum flow add_msgpack_record(struct msgpack_state *s, const struct glint_record *r,
                                    uint64_t size, struct glint_emitter *out)
{
    const bool cut = size > s->fill - s->at;
    const bool outside =
        s->form != FORM_RECORDS && s->schema.key == GLINT_TEXT &&
        (r->key.bytes.data < s->window || r->key.bytes.data >= s->window + s->fill);
    const bool large = cut || outside || is_large_cell(s->schema.key, &r->key) ||
                       is_large_cell(s->schema.value, &r->value);
    if (large || s->rows == BATCH_ROWS_MAX || s->at + size - s->first > BATCH_BYTES_MAX) {
        if (push_msgpack_rows(s, out) != FLOW_MORE) return out->flow;
    }
    if (cut && !skip_record_rest(s, size)) return FLOW_FAIL;
    if (large) {
        s->task->counters.values[COUNT_ROWS_READ]++;
        glint_emit(out, r);
        if (cut) return out->flow;
        s->first = s->at + size;
    } else {
        msgpack_column_add(s, s->schema.key, &s->key, &r->key);
        msgpack_column_add(s, s->schema.value, &s->value, &r->value);
        s->rows++;
    }
    s->at += size;
    assert(s->at <= s->fill);
    return out->flow;
}

/* An incomplete record moves the window. The batch refers to it, so it is emitted before. */
static enum flow decode_window_records(struct msgpack_state *s, struct glint_emitter *out)
{
    enum flow flow = FLOW_MORE;
    while (flow == FLOW_MORE && (s->at < s->fill || !s->source.ended)) {
        struct glint_record record;
        uint64_t size = 0;
        enum msgpack_validity found = decode_msgpack_record(s, &record, &size);
        if (found == MSGPACK_COMPLETE)
            flow = add_msgpack_record(s, &record, size, out);
        else if (found == MSGPACK_INVALID)
            flow = FLOW_FAIL;
        else if ((flow = push_msgpack_rows(s, out)) == FLOW_MORE)
            flow = read_into_window(s, size) < 0 ? FLOW_FAIL : FLOW_MORE;
    }
    return flow == FLOW_MORE ? push_msgpack_rows(s, out) : flow;
}

static enum flow emit_records_of_msgpack_piece(struct msgpack_state *s,
                                               const struct split_piece *piece,
                                               struct glint_emitter *out)
{
    int r = input_stream_open_in_task(&s->source, s->task, piece, 0);
    s->first = s->at = s->fill = 0;
    enum flow flow = r == 0 ? decode_window_records(s, out) : FLOW_FAIL;
    /* A file that changed while it was read may have mixed old and new records. */
    if (flow == FLOW_MORE && input_stream_check_unchanged(&s->source) < 0) flow = FLOW_FAIL;
    if (flow != FLOW_FAIL)
        s->task->counters.values[COUNT_BYTES_READ] += (int64_t)input_stream_disk_offset(&s->source);
    input_stream_close(&s->source);
    return flow;
}

static int msgpack_file_open(void *state, const struct op_open *o)
{
    struct msgpack_state *s = state;
    s->task = o->task;
    s->schema = o->out;
    struct unpacker u = unpack_begin(o->params);
    s->form =
        o->params.size > 0 ? (enum msgpack_file_form)unpack_u64(&u, FORM_HEADS) : FORM_RECORDS;
    s->capacity = READ_BLOCK_BYTES;
    s->window = mem_alloc(s->capacity);
    return s->window != NULL ? 0 : error_no_memory(&s->task->error);
}

static enum flow msgpack_file_run(void *state, struct glint_slice bytes, struct glint_emitter *out)
{
    struct msgpack_state *s = state;
    struct split split;
    if (split_decode(bytes, &s->task->arena, &split, &s->task->error) != 0) return FLOW_FAIL;
    enum flow flow = FLOW_MORE;
    for (uint32_t i = 0; i < split.count && flow == FLOW_MORE; i++)
        flow = emit_records_of_msgpack_piece(s, &split.pieces[i], out);
    return flow;
}

static void msgpack_file_close(void *state)
{
    mem_free(((struct msgpack_state *)state)->window);
}

/* ---- Driver side */

static int msgpack_make_splits(struct glint_rdd *rdd, uint64_t split_bytes)
{
    struct splits splits = {NULL, 0, {NULL, NULL, 0}};
    int r = splits_make_by_files(rdd->source, split_bytes, &splits, false, &rdd->g->error);
    if (r == 0) r = text_source_add_splits(rdd, &splits);
    splits_fini(&splits);
    return r;
}

static struct glint_rdd *create_msgpack_source(struct glint *g, const char *paths,
                                               struct glint_schema schema, const uint64_t *form)
{
    if (!schema_is_concrete(schema)) {
        error_set(&g->error, GLINT_E_PLAN_TYPE, "error in the job's plan, not in its input",
                  "msgpackFile: the schema has a type that no column can have");
        return NULL;
    }
    const struct file_source source = {.op = &op_msgpack_file,
                                       .schema = schema,
                                       .parameter = form,
                                       .binary = true,
                                       .make_splits = msgpack_make_splits};
    return file_source_create(g, paths, &source);
}

struct glint_rdd *glint_msgpack_file(struct glint *g, const char *paths, struct glint_schema schema)
{
    return create_msgpack_source(g, paths, schema, NULL);
}

static struct glint_rdd *create_named_source(struct glint *g, const char *paths,
                                             struct glint_schema schema, const uint64_t *form)
{
    if (schema.value == GLINT_MSGPACK && (schema.key == GLINT_I64 || schema.key == GLINT_TEXT))
        return create_msgpack_source(g, paths, schema, form);
    error_set(&g->error, GLINT_E_PLAN_TYPE, "error in the job's plan, not in its input",
              "msgpackFile by name: the value is msgpack, the key i64 or text");
    return NULL;
}

struct glint_rdd *glint_msgpack_file_by_name(struct glint *g, const char *paths,
                                             struct glint_schema schema)
{
    static const uint64_t form = FORM_BY_NAME;
    return create_named_source(g, paths, schema, &form);
}

struct glint_rdd *glint_msgpack_file_heads(struct glint *g, const char *paths,
                                           struct glint_schema schema)
{
    static const uint64_t form = FORM_HEADS;
    return create_named_source(g, paths, schema, &form);
}

const struct op op_msgpack_file = {.name = "msgpackFile",
                                   .kind = OP_SOURCE,
                                   .state_size = sizeof(struct msgpack_state),
                                   .open = msgpack_file_open,
                                   .run = msgpack_file_run,
                                   .close = msgpack_file_close};
