/* A library of formats for tests (engine/input/format_library.h): its files are lines of text, so
 * that tests of the core need no Rust, and can have arrays that no library gives.
 *
 *     PAR1 0x15              the first line, a Parquet file's first bytes
 *     column NAME FORMAT     u, l, g, or d: a dictionary of u; U: a union, which is not read
 *     group                  begins a row group; its rows follow, fields apart by tabs, \N is null
 *     damage KIND            the group's arrays: offsets, index, children, type, memory
 *     bounds N MIN MAX NULLS what the group says about column N, from 0, fields apart by tabs
 *     without N VALUE        a value that the group's Bloom filter of column N does not have
 *     damage statistics      in the first group: those of no file
 *     fail CALL MESSAGE      the call fails: open, piece, read, next, panic, statistics, contain
 */
#include "engine/input/format_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 16, GROUPS_MAX = 64, ROWS_MAX = 4096, SAID_MAX = 8 };

struct group {
    char *rows[ROWS_MAX];
    uint32_t count;
    const char *damage;
    char *said[SAID_MAX]; /* lines of bounds and without */
    uint32_t said_count;
};

struct format_file {
    char *text;
    const char *names[COLUMNS_MAX];
    char formats[COLUMNS_MAX];
    uint32_t columns, group_count;
    struct group *groups;
    const char *fail, *message;
    int64_t failed_piece;
    bool reads;
};

static _Thread_local int64_t claimed; /* bytes that the library says it has allocated */

static int fail(struct format_error *e, int32_t kind, int64_t piece, const char *message)
{
    e->kind = kind;
    e->piece = piece;
    snprintf(e->message, sizeof e->message, "%s", message);
    return -1;
}

static bool fails(struct format_file *f, const char *call)
{
    return f->fail != NULL && strcmp(f->fail, call) == 0;
}

static void parse_line(struct format_file *f, char *line)
{
    char *rest = strchr(line, ' ');
    struct group *g = f->group_count > 0 ? &f->groups[f->group_count - 1] : NULL;
    if (strncmp(line, "column ", 7) == 0) {
        char *format = strrchr(line, ' ');
        *format = '\0';
        f->names[f->columns] = line + 7;
        f->formats[f->columns++] = format[1];
    } else if (strcmp(line, "group") == 0) {
        f->group_count++;
    } else if (strncmp(line, "damage ", 7) == 0 && g != NULL) {
        g->damage = rest + 1;
    } else if (g != NULL &&
               (strncmp(line, "bounds ", 7) == 0 || strncmp(line, "without ", 8) == 0)) {
        if (g->said_count < SAID_MAX) g->said[g->said_count++] = line;
    } else if (strncmp(line, "fail ", 5) == 0) {
        char *message = strchr(rest + 1, ' ');
        *message = '\0';
        f->fail = rest + 1;
        f->message = message + 1;
    } else if (g != NULL && g->count < ROWS_MAX) {
        g->rows[g->count++] = line;
    }
}

static void close_file(struct format_file *f)
{
    if (f == NULL) return;
    free(f->groups);
    free(f->text);
    free(f);
}

static int open_file(const struct format_input *input, uint32_t kind, struct format_file **out,
                     struct format_error *e)
{
    struct format_file *f = calloc(1, sizeof *f);
    (void)kind;
    f->text = calloc(1, input->size + 1);
    f->groups = calloc(GROUPS_MAX, sizeof *f->groups);
    if (input->read(input->context, 0, f->text, input->size) != 0) {
        close_file(f);
        return fail(e, FORMAT_ERROR_CALLBACK, -1, "");
    }
    for (char *next, *line = f->text; line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) *next++ = '\0';
        parse_line(f, line);
    }
    if (fails(f, "open")) {
        fail(e, FORMAT_ERROR_DAMAGED, -1, f->message);
        close_file(f);
        return -1;
    }
    if (fails(f, "beyond")) {
        char byte;
        const int r = input->read(input->context, input->size, &byte, 1);
        close_file(f);
        return r != 0 ? fail(e, FORMAT_ERROR_CALLBACK, -1, "") : -1;
    }
    *out = f;
    return 0;
}

/* ---- Schemas */

static void release_schema(struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++) {
        free(s->children[i]->dictionary);
        free(s->children[i]);
    }
    free(s->children);
    s->release = NULL;
}

static const char *format_of(char letter)
{
    return letter == 'd'   ? "i"
           : letter == 'l' ? "l"
           : letter == 'L' ? "L"
           : letter == 'g' ? "g"
           : letter == 'U' ? "+us:"
                           : "u";
}

static void make_schema(const struct format_file *f, const uint32_t *columns, uint32_t count,
                        struct ArrowSchema *out)
{
    *out = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = count, .release = release_schema};
    out->children = calloc(count + 1, sizeof *out->children);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t column = columns != NULL ? columns[i] : i;
        struct ArrowSchema *child = calloc(1, sizeof *child);
        *child =
            (struct ArrowSchema){.format = format_of(f->formats[column]), .name = f->names[column]};
        if (f->formats[column] == 'd') {
            child->dictionary = calloc(1, sizeof *child->dictionary);
            child->dictionary->format = "u";
        }
        out->children[i] = child;
    }
}

static int schema(struct format_file *f, struct ArrowSchema *out, struct format_error *e)
{
    (void)e;
    make_schema(f, NULL, f->columns, out);
    return 0;
}

/* ---- Pieces */

static uint32_t piece_count(struct format_file *f)
{
    return f->group_count;
}

static int piece(struct format_file *f, uint32_t i, struct format_piece *out,
                 struct format_error *e)
{
    if (fails(f, "piece")) return fail(e, FORMAT_ERROR_UNSUPPORTED, i, f->message);
    *out = (struct format_piece){.rows = f->groups[i].count, .bytes = 1 << 20};
    return 0;
}

struct stream {
    struct format_file *file;
    uint32_t group, columns[COLUMNS_MAX], count;
    uint32_t next, batch;
};

/* One column of an array, of rows from `from` on. */
static struct ArrowArray *make_column(const struct stream *s, uint32_t column, uint32_t from,
                                      uint32_t rows)
{
    struct group *g = &s->file->groups[s->group];
    const char letter = s->file->formats[column];
    struct ArrowArray *a = calloc(1, sizeof *a);
    uint8_t *valid = calloc(1, rows / 8 + 1);
    int32_t *offsets = calloc(rows + 1, sizeof *offsets);
    int64_t *numbers = calloc(rows + 1, sizeof *numbers);
    char *bytes = calloc(1, 1 << 20);
    const void **buffers = calloc(3, sizeof *buffers);
    for (uint32_t i = 0; i < rows; i++) {
        char *field = g->rows[from + i];
        for (uint32_t c = 0; c < column && field != NULL; c++) {
            field = strchr(field, '\t');
            if (field != NULL) field++;
        }
        const size_t size = field != NULL ? strcspn(field, "\t") : 0;
        const bool null = field == NULL || (size == 2 && memcmp(field, "\\N", 2) == 0);
        offsets[i + 1] = offsets[i];
        if (null) {
            a->null_count++;
            continue;
        }
        valid[i / 8] |= (uint8_t)(1 << i % 8);
        const double number = strtod(field, NULL);
        if (letter == 'l' || letter == 'L') numbers[i] = strtoll(field, NULL, 10);
        if (letter == 'g') memcpy(&numbers[i], &number, sizeof number);
        memcpy(bytes + offsets[i], field, size);
        offsets[i + 1] += (int32_t)size;
    }
    if (g->damage != NULL && strcmp(g->damage, "offsets") == 0) offsets[rows] = -7;
    const bool text = letter == 'u' || letter == 'd';
    buffers[0] = valid;
    buffers[1] = text ? (const void *)offsets : numbers;
    buffers[2] = text ? bytes : NULL;
    a->length = rows;
    a->n_buffers = text ? 3 : 2;
    a->buffers = buffers;
    if (text) free(numbers);
    if (!text) free(offsets);
    if (!text) free(bytes);
    if (letter != 'd') return a;
    struct ArrowArray *codes = calloc(1, sizeof *codes);
    int32_t *indexes = calloc(rows + 1, sizeof *indexes);
    for (uint32_t i = 0; i < rows; i++) indexes[i] = (int32_t)i;
    if (g->damage != NULL && strcmp(g->damage, "index") == 0) indexes[0] = (int32_t)rows;
    const void **parts = calloc(3, sizeof *parts);
    parts[1] = indexes;
    *codes = (struct ArrowArray){.length = rows, .n_buffers = 2, .buffers = parts, .dictionary = a};
    return codes;
}

static void free_column(struct ArrowArray *a)
{
    if (a == NULL) return;
    free_column(a->dictionary);
    for (int i = 0; i < 3; i++) free((void *)a->buffers[i]);
    free(a->buffers);
    free(a);
}

static void release_array(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_children; i++) free_column(a->children[i]);
    free(a->children);
    free(a->buffers);
    a->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const struct stream *s = stream->private_data;
    make_schema(s->file, s->columns, s->count, out);
    const char *damage = s->file->groups[s->group].damage;
    if (damage != NULL && strcmp(damage, "type") == 0) out->format = "l";
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream *s = stream->private_data;
    struct group *g = &s->file->groups[s->group];
    *out = (struct ArrowArray){.release = NULL};
    if (fails(s->file, "next") || fails(s->file, "panic")) return 5;
    if (s->next == g->count) return 0;
    const uint32_t rows = g->count - s->next < s->batch ? g->count - s->next : s->batch;
    if (g->damage != NULL && strcmp(g->damage, "memory") == 0) claimed = INT64_MAX;
    *out = (struct ArrowArray){.length = rows, .n_children = s->count, .release = release_array};
    out->children = calloc(s->count + 1, sizeof *out->children);
    out->buffers = calloc(1, sizeof *out->buffers);
    out->n_buffers = 1;
    for (uint32_t i = 0; i < s->count; i++)
        out->children[i] = make_column(s, s->columns[i], s->next, rows);
    if (g->damage != NULL && strcmp(g->damage, "children") == 0)
        free_column(out->children[--out->n_children]);
    s->next += rows;
    return 0;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    free(stream->private_data);
    stream->release = NULL;
    claimed = 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    return ((struct stream *)stream->private_data)->file->message;
}

static int read_piece(struct format_file *f, const struct format_read *read,
                      struct ArrowArrayStream *out, struct format_error *e)
{
    if (fails(f, "read")) return fail(e, FORMAT_ERROR_DAMAGED, read->piece, f->message);
    struct stream *s = calloc(1, sizeof *s);
    *s = (struct stream){
        .file = f, .group = read->piece, .count = read->column_count, .batch = read->batch_rows};
    if (read->column_count > 0)
        memcpy(s->columns, read->columns, read->column_count * sizeof *s->columns);
    f->failed_piece = read->piece;
    *out = (struct ArrowArrayStream){.get_schema = get_schema,
                                     .get_next = get_next,
                                     .get_last_error = get_last_error,
                                     .release = release_stream,
                                     .private_data = s};
    return 0;
}

/* ---- What groups say about themselves */

/* Finds a line of the group, after its word and the column's number. */
static const char *find_said(const struct group *g, const char *word, uint32_t column,
                             uint32_t *from)
{
    const size_t size = strlen(word);
    while (*from < g->said_count) {
        const char *line = g->said[(*from)++];
        char *end;
        if (strncmp(line, word, size) != 0) continue;
        if (strtoul(line + size, &end, 10) == column && *end != '\0') return end + 1;
    }
    return NULL;
}

static void release_statistics(struct ArrowArrayStream *stream)
{
    struct stream *s = stream->private_data;
    free(s->file->groups);
    free(s->file);
    release_stream(stream);
}

/* A stream of a file of three columns, with a row for each group. */
static int statistics(struct format_file *f, uint32_t column, struct ArrowArrayStream *out,
                      struct format_error *e)
{
    if (fails(f, "statistics")) return fail(e, FORMAT_ERROR_DAMAGED, -1, f->message);
    struct format_file *said = calloc(1, sizeof *said);
    struct stream *s = calloc(1, sizeof *s);
    said->groups = calloc(1, sizeof *said->groups);
    said->columns = 3;
    for (uint32_t i = 0; i < 3; i++) said->names[i] = "x";
    said->formats[0] = said->formats[1] = f->formats[column] == 'd' ? 'u' : f->formats[column];
    said->formats[2] = 'L';
    for (uint32_t i = 0; i < f->group_count; i++) {
        uint32_t from = 0;
        const char *line = find_said(&f->groups[i], "bounds ", column, &from);
        said->groups[0].rows[said->groups[0].count++] =
            (char *)(line != NULL ? line : "\\N\t\\N\t\\N");
    }
    const char *damage = f->group_count > 0 ? f->groups[0].damage : NULL;
    if (damage != NULL && strcmp(damage, "statistics") == 0) said->groups[0].count--;
    *s = (struct stream){.file = said, .columns = {0, 1, 2}, .count = 3, .batch = ROWS_MAX};
    *out = (struct ArrowArrayStream){.get_schema = get_schema,
                                     .get_next = get_next,
                                     .get_last_error = get_last_error,
                                     .release = release_statistics,
                                     .private_data = s};
    return 0;
}

static int may_contain(struct format_file *f, uint32_t piece_number, uint32_t column,
                       const void *value, uint64_t size, bool *out, struct format_error *e)
{
    const struct group *g = &f->groups[piece_number];
    const char *line;
    uint32_t from = 0;
    if (fails(f, "contain")) return fail(e, FORMAT_ERROR_DAMAGED, piece_number, f->message);
    *out = true;
    while ((line = find_said(g, "without ", column, &from)) != NULL) {
        const int64_t number = strtoll(line, NULL, 10);
        const bool text = f->formats[column] == 'u';
        if (text ? size == strlen(line) && memcmp(line, value, size) == 0
                 : size == sizeof number && memcmp(&number, value, size) == 0)
            *out = false;
    }
    return 0;
}

static int bloom_filter(struct format_file *f, uint32_t piece_number, uint32_t column,
                        struct format_bloom_filter *out, struct format_error *e)
{
    (void)column;
    if (fails(f, "contain")) return fail(e, FORMAT_ERROR_DAMAGED, piece_number, f->message);
    *out = (struct format_bloom_filter){.offset = 0};
    return 0;
}

static void last_error(struct format_file *f, struct format_error *out)
{
    fail(out, fails(f, "panic") ? FORMAT_ERROR_INTERNAL : FORMAT_ERROR_DAMAGED, f->failed_piece,
         f->message);
}

static int64_t allocated(void)
{
    return claimed;
}

/* ---- Writing: the same lines */

struct format_writer {
    struct format_output output;
    uint32_t columns;
    char formats[COLUMNS_MAX][32];
    bool failing;
};

static int put(struct format_writer *w, const char *text, struct format_error *e)
{
    return w->output.write(w->output.context, text, strlen(text)) == 0
               ? 0
               : fail(e, FORMAT_ERROR_CALLBACK, -1, "");
}

static int create(const struct format_output *output, const struct format_write *options,
                  const struct ArrowSchema *s, struct format_writer **out, struct format_error *e)
{
    struct format_writer *w = calloc(1, sizeof *w);
    char line[256];
    (void)options;
    w->output = *output;
    w->columns = (uint32_t)s->n_children;
    *out = w;
    int r = put(w, "PAR1\x15\n", e);
    for (uint32_t i = 0; r == 0 && i < w->columns; i++) {
        const struct ArrowSchema *child = s->children[i];
        w->failing |= strcmp(child->name, "unwritable") == 0;
        snprintf(w->formats[i], sizeof w->formats[i], "%s", child->format);
        snprintf(line, sizeof line, "column %s %c\n", child->name, child->format[0]);
        r = put(w, line, e);
    }
    return r;
}

static int write_array(struct format_writer *w, struct ArrowArray *a, struct format_error *e)
{
    char text[64];
    int r = w->failing ? fail(e, FORMAT_ERROR_UNSUPPORTED, -1, "an unwritable column")
                       : put(w, "group\n", e);
    for (int64_t row = 0; r == 0 && row < a->length; row++) {
        for (uint32_t c = 0; r == 0 && c < w->columns; c++) {
            const struct ArrowArray *child = a->children[c];
            const uint8_t *valid = child->buffers[0];
            if (c > 0) r = put(w, "\t", e);
            if (valid != NULL && (valid[row / 8] >> row % 8 & 1) == 0) {
                r = put(w, "\\N", e);
            } else if (w->formats[c][0] == 'u') {
                const int32_t *offsets = child->buffers[1];
                const int32_t size = offsets[row + 1] - offsets[row];
                if (size > 0 && w->output.write(w->output.context,
                                                (const char *)child->buffers[2] + offsets[row],
                                                (uint64_t)size) != 0)
                    r = fail(e, FORMAT_ERROR_CALLBACK, -1, "");
            } else {
                const int64_t *i64 = child->buffers[1];
                const double *f64 = child->buffers[1];
                if (w->formats[c][0] == 'l')
                    snprintf(text, sizeof text, "%lld", (long long)i64[row]);
                else
                    snprintf(text, sizeof text, "%.17g", f64[row]);
                r = put(w, text, e);
            }
        }
        if (r == 0) r = put(w, "\n", e);
    }
    a->release(a);
    return r;
}

static int finish(struct format_writer *w, struct format_error *e)
{
    (void)w;
    (void)e;
    return 0;
}

static void destroy(struct format_writer *w)
{
    free(w);
}

__attribute__((visibility("default"))) const struct format_library *glint_formats(void)
{
    static const struct format_library library = {.abi = FORMAT_LIBRARY_ABI,
                                                  .size = sizeof library,
                                                  .version = "a fake",
                                                  .open = open_file,
                                                  .close = close_file,
                                                  .schema = schema,
                                                  .piece_count = piece_count,
                                                  .piece = piece,
                                                  .statistics = statistics,
                                                  .may_contain = may_contain,
                                                  .bloom_filter = bloom_filter,
                                                  .read = read_piece,
                                                  .last_error = last_error,
                                                  .create = create,
                                                  .write = write_array,
                                                  .finish = finish,
                                                  .destroy = destroy,
                                                  .allocated = allocated};
    return &library;
}
