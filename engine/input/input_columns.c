/* Files with equal headers, the usual case, cost one comparison of bytes; files that differ from
 * the names but not among each other share a map. */
#include "engine/input/input_columns.h"

#include "engine/base/header_names.h"
#include "engine/base/text.h"
#include "engine/input/column_map.h"
#include "engine/input/csv.h"
#include "engine/input/format.h"
#include "engine/input/line_reader.h"

#include <assert.h>
#include <string.h>

#define NAME_SHOWN_BYTES 128u
#define PIECES_MAX       1024u /* files whose requests are sent ahead of each other */

struct matcher {
    struct input_list *list;
    struct glint_error *error;
    struct column_index *wanted; /* NULL: no file differs so far */
    uint32_t *fields;            /* of the current file, for each wanted column */
    uint8_t separator;
    struct buffer line, last; /* of the current file, and of the last one that differed */
    const struct column_map *last_map;
    const char *path; /* of the current file */
};

static bool same_bytes(struct glint_slice a, const struct buffer *b)
{
    return a.size == b->size && (a.size == 0 || memcmp(a.data, b->data, a.size) == 0);
}

/* `problem` precedes the column's name. */
static int fail_match(struct matcher *m, uint32_t column, const char *hint, const char *problem)
{
    char name[NAME_SHOWN_BYTES], here[HEADER_NAMES_BYTES], first[HEADER_NAMES_BYTES];
    const struct glint_slice header = {m->line.data, m->line.size};
    header_name_append(name, 0, sizeof name, column_index_name(m->wanted, column));
    header_names_format(header, m->separator, here, sizeof here);
    header_names_format(m->list->columns.header, m->separator, first, sizeof first);
    return error_set(m->error, GLINT_E_BAD_VALUE, hint,
                     "%s: %s \"%s\"; its columns are: %s; those of the first input: %s", m->path,
                     problem, name, here, first);
}

static int check_use(struct matcher *m, const struct column_index *file,
                     const struct glint_column_use *use)
{
    char problem[NAME_SHOWN_BYTES];
    const uint32_t found = column_index_find(file, column_index_name(m->wanted, use->number));
    if (use->by_name ? found == 1 : m->fields[use->number] == use->number) return 0;
    if (use->by_name)
        return fail_match(m, use->number, "leave out the file, or choose all columns by number",
                          found == 0 ? "no column is named" : "several columns are named");
    text_format(problem, sizeof problem,
                "column %u is chosen by number, others by name, but here it is not",
                use->number + 1);
    return fail_match(m, use->number, "choose all columns by name, or all by number", problem);
}

static int match_other(struct matcher *m, struct input_file *file)
{
    const struct input_columns *c = &m->list->columns;
    if (m->wanted == NULL) m->wanted = column_index_create(c->header, m->separator);
    if (m->wanted == NULL) return error_no_memory(m->error);
    const uint32_t count = column_index_count(m->wanted);
    if (m->fields == NULL) m->fields = mem_alloc((count + 1) * sizeof *m->fields);
    struct column_index *own =
        column_index_create((struct glint_slice){m->line.data, m->line.size}, m->separator);
    int r = own != NULL && m->fields != NULL ? 0 : error_no_memory(m->error);
    if (r == 0 && column_index_count(own) > HEADER_COLUMNS_MAX)
        r = error_set(m->error, GLINT_E_PLAN_LIMIT, NULL, "%s: more than %u columns", m->path,
                      HEADER_COLUMNS_MAX);
    if (r == 0 && !column_index_match(m->wanted, own, m->fields, &m->list->arena, &file->columns))
        r = error_no_memory(m->error);
    if (r == 0 && file->columns != NULL && file->columns->count > COLUMN_RUNS_MAX)
        r = error_set(m->error, GLINT_E_PLAN_LIMIT, "give the files the same order of columns",
                      "%s: more than %u columns have another order than in the first file", m->path,
                      COLUMN_RUNS_MAX);
    for (uint32_t i = 0; r == 0 && i < c->count; i++)
        if (c->uses[i].number < count) r = check_use(m, own, &c->uses[i]);
    column_index_destroy(own);
    m->last.size = 0;
    if (r == 0 && !buffer_append(&m->last, m->line.data, m->line.size))
        r = error_no_memory(m->error);
    m->last_map = file->columns;
    return r;
}

/* The file is piece `index` of `ahead`. */
static int match_file(struct matcher *m, struct env *env, struct input_file *file,
                      struct input_ahead *ahead, uint32_t index, uint64_t line_bytes_max)
{
    bool found;
    struct input_columns *c = &m->list->columns;
    m->path = file->path;
    int r = read_first_line_ahead(env, ahead, index, m->list->csv, line_bytes_max, &m->line, &found,
                                  m->error);
    if (r != 0 || !found || same_bytes(c->header, &m->line)) return r;
    if (m->last.data != NULL &&
        same_bytes((struct glint_slice){m->last.data, m->last.size}, &m->line))
        file->columns = m->last_map;
    else
        r = match_other(m, file);
    if (r == 0 && file->columns != NULL && c->moved++ == 0) c->first_moved = file->path;
    return r;
}

/* Matches the files from `begin` on, and sets *begin to the next one. */
static int match_some(struct matcher *m, struct env *env, struct split_piece *pieces,
                      uint64_t *begin, uint64_t line_bytes_max)
{
    struct input_file *files = m->list->files;
    uint64_t at[PIECES_MAX];
    uint32_t n = 0;
    for (; *begin < m->list->count && n < PIECES_MAX; ++*begin) {
        if (files[*begin].size == 0) continue;
        pieces[n] = split_whole_file(&files[*begin]);
        at[n++] = *begin;
    }
    const struct split split = {pieces, n};
    struct input_ahead ahead = {.split = &split, .head_bytes = FORMAT_HEAD_BYTES};
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = match_file(m, env, &files[at[i]], &ahead, i, line_bytes_max);
    input_ahead_close(&ahead);
    return r;
}

int input_list_match_columns(struct env *env, struct input_list *list, uint64_t line_bytes_max,
                             struct glint_error *error)
{
    struct matcher m = {.list = list, .error = error};
    assert(list->header && list->columns.header.data != NULL);
    m.separator = list->csv != 0 ? CSV_SEPARATOR : list->columns.delimiter;
    struct split_piece *pieces = mem_alloc(PIECES_MAX * sizeof *pieces);
    int r = pieces != NULL ? 0 : error_no_memory(error);
    list->columns.moved = 0;
    for (uint64_t i = 0; r == 0 && i < list->count;)
        r = match_some(&m, env, pieces, &i, line_bytes_max);
    mem_free(pieces);
    column_index_destroy(m.wanted);
    mem_free(m.fields);
    buffer_fini(&m.line);
    buffer_fini(&m.last);
    return r;
}
