/* Names are compared in sorted order, so that headers of many thousand columns are matched in
 * n log n. */
#include "engine/input/column_map.h"

#include "engine/base/text.h"
#include "engine/input/csv.h"
#include "engine/input/format.h"
#include "engine/input/line_reader.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct named {
    struct glint_slice name;
    uint32_t column;
};

/* A header, and its columns in the order of their names: for many files. */
struct column_index {
    struct named *sorted;
    struct glint_slice *names; /* by column */
    uint64_t count;
    uint8_t separator;
};

static int compare_named_columns(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    const int order = codec_compare(a->name, b->name);
    return order != 0 ? order : (a->column > b->column) - (a->column < b->column);
}

static void column_index_destroy(struct column_index *x)
{
    if (x == NULL) return;
    mem_free(x->names);
    mem_free(x->sorted);
    mem_free(x);
}

/* `header` is borrowed. Returns NULL when out of memory. */
static struct column_index *column_index_create(struct glint_slice header, uint8_t separator)
{
    struct column_index *x = mem_zalloc(sizeof *x);
    struct glint_slice name;
    uint64_t capacity = 0;
    bool ok = x != NULL;
    while (ok && glint_next_name(&header, (char)separator, &name)) {
        ok = array_reserve(&x->names, &capacity, x->count + 1, sizeof *x->names);
        if (ok) x->names[x->count++] = name;
    }
    if (ok) ok = (x->sorted = mem_alloc((x->count + 1) * sizeof *x->sorted)) != NULL;
    if (!ok) {
        column_index_destroy(x);
        return NULL;
    }
    x->separator = separator;
    for (uint64_t i = 0; i < x->count; i++) x->sorted[i] = (struct named){x->names[i], (uint32_t)i};
    qsort(x->sorted, x->count, sizeof *x->sorted, compare_named_columns);
    return x;
}

/* How many columns have the name. */
static uint32_t column_index_find(const struct column_index *x, struct glint_slice name)
{
    uint64_t low = 0, high = x->count; /* the first name that is not less */
    uint32_t found = 0;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (codec_compare(x->sorted[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < x->count && codec_compare(x->sorted[low].name, name) == 0; low++) found++;
    return found;
}

/* Merges both sorted lists. taken[i]: field i of the file has a column of `index`. */
static void match_column_names(const struct column_index *x, const struct column_index *file,
                               uint32_t *out, bool *taken)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < x->count; i++) {
        int order = 1;
        while (at < file->count &&
               (order = codec_compare(file->sorted[at].name, x->sorted[i].name)) < 0)
            at++;
        const bool found = at < file->count && order == 0;
        out[x->sorted[i].column] = found ? file->sorted[at].column : COLUMN_EMPTY;
        if (found) taken[file->sorted[at++].column] = true;
    }
}

struct run_list {
    struct column_run *runs;
    uint64_t count, capacity;
};

static bool add_field_to_column_runs(struct run_list *l, uint32_t from)
{
    struct column_run *last = l->count > 0 ? &l->runs[l->count - 1] : NULL;
    if (last != NULL &&
        (from == COLUMN_EMPTY ? last->from == COLUMN_EMPTY
                              : last->from != COLUMN_EMPTY && from == last->from + last->count)) {
        last->count++;
        return true;
    }
    if (!array_reserve(&l->runs, &l->capacity, l->count + 1, sizeof *l->runs)) return false;
    l->runs[l->count++] = (struct column_run){from, 1};
    return true;
}

static bool copy_runs_to_column_map(const struct run_list *l, const struct column_index *file,
                                    struct arena *arena, const struct column_map **out)
{
    struct column_map *map = arena_alloc(arena, sizeof *map);
    const struct column_run *runs = arena_copy(arena, l->runs, l->count * sizeof *runs);
    if (map == NULL || runs == NULL) return false;
    *map = (struct column_map){.runs = runs,
                               .count = (uint32_t)l->count,
                               .fields = (uint32_t)file->count,
                               .separator = file->separator};
    *out = map;
    return true;
}

/* Sets *out to the fields of `file` that have the names of the columns of `index`: array of
 * as many numbers, COLUMN_EMPTY if there is none; of equal names the first one is the
 * first, and so on. Then *out_map is the map, in `arena`, or NULL if rows need not be changed.
 * `out` is borrowed memory. Returns false when out of memory. */
static bool column_index_match(const struct column_index *x, const struct column_index *file,
                               uint32_t *out, struct arena *arena,
                               const struct column_map **out_map)
{
    struct run_list l = {.runs = NULL};
    bool *taken = mem_zalloc(file->count + 1);
    bool ok = taken != NULL;
    *out_map = NULL;
    if (ok) match_column_names(x, file, out, taken);
    for (uint64_t i = 0; ok && i < x->count; i++) ok = add_field_to_column_runs(&l, out[i]);
    for (uint64_t i = 0; ok && i < file->count; i++)
        if (!taken[i]) ok = add_field_to_column_runs(&l, (uint32_t)i);
    const bool same = l.count == 1 && l.runs[0].from == 0;
    if (ok && !same && l.count > 0) ok = copy_runs_to_column_map(&l, file, arena, out_map);
    mem_free(l.runs);
    mem_free(taken);
    return ok;
}

bool column_map_is_valid(const struct column_map *map)
{
    uint64_t columns = 0;
    if (map->count == 0 || map->fields == 0 || map->fields > HEADER_COLUMNS_MAX) return false;
    for (uint32_t i = 0; i < map->count; i++) {
        const struct column_run *run = &map->runs[i];
        columns += run->count;
        if (run->count == 0 || columns > 2 * (uint64_t)HEADER_COLUMNS_MAX) return false;
        if (run->from != COLUMN_EMPTY && (uint64_t)run->from + run->count > map->fields)
            return false;
    }
    return true;
}

/* starts[i]: the offset of field i; starts[fields]: where what follows them begins. Returns false
 * if there are fewer fields. */
static bool find_field_starts(const struct column_map *map, struct glint_slice row,
                              uint64_t *starts)
{
    starts[0] = 0;
    for (uint32_t i = 0; i < map->fields; i++) {
        const uint8_t *at = row.data + starts[i];
        const uint64_t left = row.size - starts[i];
        const uint8_t *end = left > 0 ? memchr(at, map->separator, (size_t)left) : NULL;
        if (end == NULL) {
            starts[i + 1] = row.size + 1;
            return i + 1 == map->fields;
        }
        starts[i + 1] = (uint64_t)(end - row.data) + 1;
    }
    return true;
}

/* What follows the fields of the header, with a separator before it. */
static uint64_t bytes_after_last_field(const struct column_map *map, struct glint_slice row,
                                       const uint64_t *starts)
{
    const uint64_t from = starts[map->fields];
    return from > row.size ? 0 : row.size - from + 1;
}

/* Of a run without fields in the file. */
static uint64_t null_fields_bytes(const struct column_run *run, struct glint_slice null)
{
    assert(run->from == COLUMN_EMPTY && run->count > 0);
    return run->count * (null.size + 1) - 1;
}

static void write_null_fields(const struct column_map *map, const struct column_run *run,
                              struct glint_slice null, uint8_t *out)
{
    for (uint32_t i = 0; i < run->count; i++) {
        if (i > 0) *out++ = map->separator;
        if (null.size > 0) memcpy(out, null.data, null.size);
        out += null.size;
    }
}

uint64_t column_map_measure(const struct column_map *map, struct glint_slice row,
                            struct glint_slice null, uint64_t *starts)
{
    assert(map->count > 0 && map->fields > 0);
    if (!find_field_starts(map, row, starts)) return UINT64_MAX;
    uint64_t size = map->count - 1 + bytes_after_last_field(map, row, starts);
    for (uint32_t i = 0; i < map->count; i++) {
        const struct column_run *run = &map->runs[i];
        size += run->from == COLUMN_EMPTY ? null_fields_bytes(run, null)
                                          : starts[run->from + run->count] - 1 - starts[run->from];
    }
    return size;
}

void column_map_write(const struct column_map *map, struct glint_slice row, struct glint_slice null,
                      const uint64_t *starts, uint8_t *out)
{
    for (uint32_t i = 0; i < map->count; i++) {
        const struct column_run *run = &map->runs[i];
        if (i > 0) *out++ = map->separator;
        uint64_t size;
        if (run->from == COLUMN_EMPTY) {
            size = null_fields_bytes(run, null);
            write_null_fields(map, run, null, out);
        } else {
            size = starts[run->from + run->count] - 1 - starts[run->from];
            if (size > 0) memcpy(out, row.data + starts[run->from], size);
        }
        out += size;
    }
    assert(starts[0] == 0 && starts[map->fields] > 0);
    const uint64_t rest = bytes_after_last_field(map, row, starts);
    if (rest == 0) return;
    *out = map->separator;
    if (rest > 1) memcpy(out + 1, row.data + starts[map->fields], rest - 1);
}

/* ---- Files with equal headers, the usual case, cost one comparison of bytes; files that differ
 * from the names but not among each other share a map. */

#define NAME_SHOWN_BYTES 128u
#define PIECES_MAX       1024u /* files whose requests are sent ahead of each other */

struct matcher {
    struct input_list *list;
    struct glint_error *error;
    uint8_t separator;
    const struct glint_slice *lines; /* the header of each file; data NULL: it has none */
    struct column_index *wanted;     /* NULL: no file differs so far */
    uint32_t *fields;                /* of the current file, for each wanted column */
    struct glint_slice line, last;   /* of the current file, and of the last one that differed */
    const struct column_map *last_map;
    const char *path; /* of the current file */
    bool wider;       /* the header is that of the first file, and more */
};

static bool is_same_slice(struct glint_slice a, struct glint_slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* `problem` precedes the column's name. */
static int set_header_mismatch_error(struct matcher *m, uint32_t column, const char *hint,
                                     const char *problem)
{
    char name[NAME_SHOWN_BYTES], here[HEADER_NAMES_BYTES], first[HEADER_NAMES_BYTES];
    header_name_append(name, 0, sizeof name, m->wanted->names[column]);
    header_names_format(m->line, m->separator, here, sizeof here);
    header_names_format(m->list->columns.header, m->separator, first, sizeof first);
    return error_set(m->error, GLINT_E_BAD_VALUE, hint,
                     "%s: %s \"%s\"; its columns are: %s; those of %s: %s", m->path, problem, name,
                     here, m->wider ? "all inputs" : "the first input", first);
}

static int check_used_column_matches(struct matcher *m, const struct column_index *file,
                                     const struct glint_column_use *use)
{
    char problem[NAME_SHOWN_BYTES];
    const uint32_t found = column_index_find(file, m->wanted->names[use->number]);
    if (use->by_name ? found == 1 : m->fields[use->number] == use->number) return 0;
    if (use->by_name && found == 0 && m->list->columns.missing) return 0;
    if (use->by_name && found == 0)
        return set_header_mismatch_error(
            m, use->number,
            "leave out the file, or name its column so in its header; or with "
            "--missing null, the column is null there",
            "no column is named");
    if (use->by_name)
        return set_header_mismatch_error(m, use->number,
                                         "leave out the file, or rename all but one in its header",
                                         "several columns are named");
    text_format(problem, sizeof problem,
                "column %u is chosen by number, others by name, but here it is not",
                use->number + 1);
    return set_header_mismatch_error(m, use->number, "choose all columns by name", problem);
}

static int match_other_header(struct matcher *m, struct input_file *file)
{
    const struct input_columns *c = &m->list->columns;
    if (m->wanted == NULL) m->wanted = column_index_create(c->header, m->separator);
    if (m->wanted == NULL) return error_no_memory(m->error);
    const uint64_t count = m->wanted->count;
    if (m->fields == NULL) m->fields = mem_alloc((count + 1) * sizeof *m->fields);
    struct column_index *own = column_index_create(m->line, m->separator);
    int r = own != NULL && m->fields != NULL ? 0 : error_no_memory(m->error);
    if (r == 0 && own->count > HEADER_COLUMNS_MAX)
        r = error_set(m->error, GLINT_E_PLAN_LIMIT, NULL, "%s: more than %u columns", m->path,
                      HEADER_COLUMNS_MAX);
    if (r == 0 && !column_index_match(m->wanted, own, m->fields, &m->list->arena, &file->columns))
        r = error_no_memory(m->error);
    if (r == 0 && file->columns != NULL && file->columns->count > COLUMN_RUNS_MAX)
        r = error_set(m->error, GLINT_E_PLAN_LIMIT, "give the files the same order of columns",
                      "%s: more than %u columns have another order than in the first file", m->path,
                      COLUMN_RUNS_MAX);
    for (uint32_t i = 0; r == 0 && i < c->count; i++)
        if (c->uses[i].number < count) r = check_used_column_matches(m, own, &c->uses[i]);
    column_index_destroy(own);
    m->last = m->line;
    m->last_map = file->columns;
    return r;
}

static bool is_prefix_of_header(struct glint_slice header, struct glint_slice line,
                                uint8_t separator)
{
    return line.size > 0 && line.size < header.size && header.data[line.size] == separator &&
           memcmp(header.data, line.data, line.size) == 0;
}

static int match_columns_of_file(struct matcher *m, struct input_file *file, bool first)
{
    struct input_columns *c = &m->list->columns;
    int r = 0;
    if (is_same_slice(c->header, m->line)) return 0;
    if (m->last.data != NULL && is_same_slice(m->last, m->line))
        file->columns = m->last_map;
    else
        r = match_other_header(m, file);
    if (first && m->wider) return r; /* the others have more columns */
    if (r == 0 && file->columns != NULL && c->moved++ == 0) c->first_moved = file->path;
    return r;
}

/* The file is piece `index` of `ahead`. Equal headers of files in a row are one copy, `last`. */
static int read_header(struct matcher *m, struct env *env, struct input_ahead *ahead,
                       uint32_t index, uint64_t line_bytes_max, struct glint_slice *out)
{
    struct buffer line = {NULL, 0, 0};
    bool found;
    int r = read_first_line_ahead(env, ahead, index, line_bytes_max, &line, &found, m->error);
    if (r == 0 && found && (m->last.data == NULL || !is_same_slice(m->last, buffer_slice(&line)))) {
        m->last.data = arena_copy(&m->list->arena, line.data, line.size);
        m->last.size = line.size;
        if (m->last.data == NULL) r = error_no_memory(m->error);
    }
    if (r == 0 && found) *out = m->last;
    buffer_fini(&line);
    return r;
}

/* Reads the headers of the files from `begin` on, and sets *begin to the next one. */
static int read_next_headers(struct matcher *m, struct env *env, struct split_piece *pieces,
                             struct glint_slice *lines, uint64_t *begin, uint64_t line_bytes_max)
{
    const struct input_file *files = m->list->files;
    uint64_t at[PIECES_MAX];
    uint32_t n = 0;
    for (; *begin < m->list->count && n < PIECES_MAX; ++*begin) {
        if (files[*begin].size == 0) continue;
        pieces[n] = split_whole_file(&files[*begin]);
        pieces[n].csv = m->list->csv;
        at[n++] = *begin;
    }
    const struct split split = {pieces, n};
    struct input_ahead ahead = {.split = &split, .head_bytes = FORMAT_HEAD_BYTES};
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = read_header(m, env, &ahead, i, line_bytes_max, &lines[at[i]]);
    input_ahead_close(&ahead);
    return r;
}

static int read_headers(struct matcher *m, struct env *env, uint64_t line_bytes_max)
{
    const uint64_t bytes = (m->list->count + 1) * sizeof *m->lines;
    struct split_piece *pieces = mem_alloc(PIECES_MAX * sizeof *pieces);
    assert(m->list->header);
    struct glint_slice *lines = arena_alloc(&m->list->arena, bytes);
    int r = pieces != NULL && lines != NULL ? 0 : error_no_memory(m->error);
    if (r == 0) memset(lines, 0, bytes);
    for (uint64_t i = 0; r == 0 && i < m->list->count;)
        r = read_next_headers(m, env, pieces, lines, &i, line_bytes_max);
    mem_free(pieces);
    m->lines = lines;
    m->last = (struct glint_slice){NULL, 0};
    return r;
}

static struct matcher init_matcher(struct input_list *list, struct glint_error *error)
{
    return (struct matcher){.list = list,
                            .error = error,
                            .separator = list->csv != 0 ? CSV_SEPARATOR : list->columns.delimiter};
}

int input_list_match_columns(struct env *env, struct input_list *list, uint64_t line_bytes_max,
                             struct glint_error *error)
{
    struct matcher m = init_matcher(list, error);
    bool first = true;
    int r = 0;
    assert(list->columns.header.data != NULL);
    list->columns.moved = 0;
    m.lines = list->columns.lines;
    if (m.lines == NULL) r = read_headers(&m, env, line_bytes_max);
    for (uint64_t i = 0; r == 0 && i < list->count; i++) {
        m.line = m.lines[i];
        if (m.line.data == NULL) continue;
        m.path = list->files[i].path;
        if (first) m.wider = is_prefix_of_header(list->columns.header, m.line, m.separator);
        r = match_columns_of_file(&m, &list->files[i], first);
        first = false;
    }
    column_index_destroy(m.wanted);
    mem_free(m.fields);
    return r;
}

/* Appends to `united` the names of `line` that it does not have, of each name as often as the line
 * has it. */
static bool append_new_names(struct buffer *united, struct glint_slice line, uint8_t separator)
{
    struct column_index *all = column_index_create(buffer_slice(united), separator);
    struct column_index *own = column_index_create(line, separator);
    uint32_t *fields = all != NULL ? mem_alloc((all->count + 1) * sizeof *fields) : NULL;
    bool *taken = own != NULL ? mem_zalloc(own->count + 1) : NULL;
    struct buffer added = {NULL, 0, 0};
    bool ok = fields != NULL && taken != NULL;
    if (ok) match_column_names(all, own, fields, taken);
    for (uint64_t i = 0; ok && i < own->count; i++)
        if (!taken[i])
            ok = buffer_append(&added, &separator, 1) &&
                 buffer_append(&added, own->names[i].data, own->names[i].size);
    column_index_destroy(all); /* its names are in `united` */
    ok = ok && buffer_append(united, added.data, added.size);
    column_index_destroy(own);
    mem_free(fields);
    mem_free(taken);
    buffer_fini(&added);
    return ok;
}

int input_list_merge_csv_headers(struct env *env, struct input_list *list, uint64_t line_bytes_max,
                                 struct glint_error *error)
{
    struct matcher m = init_matcher(list, error);
    struct buffer united = {NULL, 0, 0};
    const uint8_t *names = NULL;
    assert(list->header && list->columns.count == 0);
    int r = read_headers(&m, env, line_bytes_max);
    list->columns.lines = m.lines;
    for (uint64_t i = 0; r == 0 && i < list->count; i++) {
        const struct glint_slice line = m.lines[i];
        if (line.data == NULL || line.data == m.last.data) continue;
        list->columns.differ |= m.last.data != NULL;
        if (!(m.last.data != NULL ? append_new_names(&united, line, m.separator)
                                  : buffer_append(&united, line.data, line.size)))
            r = error_no_memory(error);
        m.last = line;
    }
    if (r == 0 && m.last.data != NULL) {
        names = arena_copy(&list->arena, united.data, united.size);
        if (names == NULL) r = error_no_memory(error);
    }
    list->columns.united = names != NULL;
    list->columns.header = (struct glint_slice){names, names != NULL ? united.size : 0};
    buffer_fini(&united);
    return r;
}
