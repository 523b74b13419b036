/* Each kernel, and parsing row by row, compared with a naive parser, on random tables in every
 * layout of a batch. Memory ends READ_SLACK after the last row: sanitizers detect reads past it. */
#include "engine/batch.h"
#include "engine/records/task.h"
#include "jobs/rows/fields_kernel.h"
#include "jobs/rows/fields_quotes.h"
#include "tests/support/naive_lines.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>
#include <math.h>

enum { TEXT_MAX = 1 << 18, LEVEL_ROWS = FIELDS_LEVELS, LEVEL_END };

enum layout {
    LINES,    /* consecutive, each with an LF */
    CUT,      /* the last one has no LF */
    CRLF,     /* with CR LF */
    FILTERED, /* some rows are left out */
    TRIMMED,  /* some rows start after the start of their line */
    SWAPPED,  /* one byte apart, but not always by an LF, and rows contain LFs */
    LAYOUTS
};

static struct table {
    uint8_t bytes[TEXT_MAX];
    uint32_t size, rows;
    uint32_t start[FIELDS_ROWS_MAX], end[FIELDS_ROWS_MAX];
} table;

/* The results of the naive parser. */
static struct expected {
    uint32_t rows;
    int64_t number[FIELDS_ROWS_MAX];
    uint32_t text_start[FIELDS_ROWS_MAX], text_end[FIELDS_ROWS_MAX];
    uint32_t id_start[FIELDS_ROWS_MAX], id_end[FIELDS_ROWS_MAX];
    uint32_t bad, first_bad; /* number of bad rows; number of the first one */
    const char *first_reason;
} expected;

static uint64_t seed;
static uint32_t random_below(uint32_t n)
{
    return (uint32_t)(test_random(&seed) >> 33) % n;
}

/* ---- The naive parser */

static bool plain_column(const uint8_t *row, uint32_t size, uint8_t delimiter, uint32_t column,
                         uint32_t *start, uint32_t *end)
{
    uint32_t at = 0;
    for (*start = 0; at < size && column > 0; at++) {
        if (row[at] != delimiter) continue;
        column--;
        *start = at + 1;
    }
    if (column > 0) return false;
    for (at = *start; at < size && row[at] != delimiter;) at++;
    *end = at;
    return true;
}

static const char *plain_number(const uint8_t *data, uint32_t size, enum fields_key key,
                                int64_t *out)
{
    char text[300], *end = text;
    const bool rating = key == FIELDS_RATING;
    const char *allowed = rating ? "0123456789+-.eE" : "0123456789+-";
    if (size == 0) return rating ? "the rating is empty" : "the key is empty";
    memcpy(text, data, size);
    text[size] = '\0';
    const bool fits = strlen(text) == size && strspn(text, allowed) == size;
    if (!rating) {
        errno = 0;
        *out = fits ? strtoll(text, &end, 10) : 0;
        if (!fits || end != text + size) return "the key is not an integer";
        return errno == 0 ? NULL : "the key is out of range";
    }
    const double value = fits ? strtod(text, &end) : 0;
    if (!fits || end != text + size || !isfinite(value)) return "the rating is not a number";
    *out = (int64_t)floor(value + 0.5);
    return value >= 0 && value <= 10 ? NULL : "the rating is out of range";
}

static const char *plain_row(const struct fields *f, uint32_t row, uint32_t at)
{
    struct expected *e = &expected;
    const uint8_t *data = table.bytes + table.start[row];
    const uint32_t size = table.end[row] - table.start[row];
    uint32_t start, end, id_start, id_end;
    if (!plain_column(data, size, f->delimiter, f->key_column, &start, &end) ||
        !plain_column(data, size, f->delimiter, f->id_column, &id_start, &id_end))
        return "a column is missing";
    e->text_start[at] = table.start[row] + start;
    e->text_end[at] = table.start[row] + end;
    e->id_start[at] = table.start[row] + id_start;
    e->id_end[at] = table.start[row] + id_end;
    e->number[at] = 0;
    if (f->key == FIELDS_TEXT || f->key == FIELDS_NONE) return NULL;
    return plain_number(data + start, end - start, f->key, &e->number[at]);
}

static void plain_parse(const struct fields *f)
{
    expected.rows = expected.bad = 0;
    for (uint32_t row = 0; row < table.rows; row++) {
        if (f->skip_empty && table.start[row] == table.end[row]) continue;
        const char *reason = plain_row(f, row, expected.rows);
        if (reason == NULL) {
            expected.rows++;
            continue;
        }
        if (expected.bad++ > 0) continue;
        expected.first_bad = row;
        expected.first_reason = reason;
    }
}

/* ---- Random tables */

struct table_spec {
    enum layout layout;
    enum fields_key key;
    uint8_t delimiter;
    uint32_t columns, rows;
    uint32_t odd_in;     /* one of odd_in fields has an unusual form; 0: none */
    uint32_t missing_in; /* one of missing_in rows lacks fields; 0: none */
    uint32_t text_max;
};

static void put_bytes(const void *data, uint32_t size)
{
    cr_assert(table.size + size <= TEXT_MAX);
    memcpy(table.bytes + table.size, data, size);
    table.size += size;
}

static void put_field(const struct table_spec *s)
{
    // clang-format off
    static const char *const odd[] = {
        "", "7", "10.0", "10", "6.25", ".5", "5.", "11.0", "-1.0", "-0.4", "1e1", "nan", "x",
        "+3.0", "9.99", "1.x", "x.1", "0.4999", "1 2", "5.5.5", "-", "-7", "+12", "007",
        "12345678", "123456789", "-99999999", "9223372036854775807", "9223372036854775808",
        "1.5\r", ":.0", "/.5", "5,5", "3.:", "12a"};
    // clang-format on
    char text[256];
    if (s->odd_in > 0 && random_below(s->odd_in) == 0) {
        const char *one = odd[random_below(sizeof odd / sizeof odd[0])];
        put_bytes(one, (uint32_t)strlen(one));
    } else if (s->key == FIELDS_RATING) {
        snprintf(text, sizeof text, "%u.%u", random_below(10), random_below(10));
        put_bytes(text, 3);
    } else if (s->key == FIELDS_INT) {
        int n = snprintf(text, sizeof text, "%s%u", random_below(8) == 0 ? "-" : "",
                         random_below(1u << random_below(31)));
        put_bytes(text, (uint32_t)n);
    } else {
        const uint32_t size = random_below(s->text_max + 1);
        for (uint32_t i = 0; i < size; i++) text[i] = (char)('a' + random_below(26));
        put_bytes(text, size);
    }
}

static void put_row(const struct table_spec *s)
{
    const bool missing = s->missing_in > 0 && random_below(s->missing_in) == 0;
    const uint32_t columns = missing ? random_below(s->columns) : s->columns;
    const uint32_t from = table.size;
    for (uint32_t c = 0; c < columns; c++) {
        if (c > 0) put_bytes(&s->delimiter, 1);
        if (random_below(3) == 0 && s->text_max > 0 && s->odd_in > 0) {
            uint8_t text[200];
            const uint32_t size = random_below(s->text_max + 1);
            for (uint32_t i = 0; i < size; i++) text[i] = (uint8_t)('a' + random_below(26));
            put_bytes(text, size);
        } else {
            put_field(s);
        }
    }
    if (s->layout != SWAPPED) return;
    if (table.size > from && random_below(4) == 0)
        table.bytes[from + random_below(table.size - from)] = '\n';
}

/* Bytes that look like fields, in places that must not be parsed. */
static void put_rubbish(const struct table_spec *s, uint32_t size)
{
    const uint8_t some[] = {'\n', s->delimiter, '5', '.', '1', '\r', 'x', '\n'};
    for (uint32_t i = 0; i < size; i++) put_bytes(&some[random_below(sizeof some)], 1);
}

static void make_table(const struct table_spec *s, uint32_t before)
{
    table.size = table.rows = 0;
    put_rubbish(s, before);
    for (uint32_t row = 0; row < s->rows; row++) {
        const uint32_t start = table.size;
        put_row(s);
        if (s->layout != FILTERED || random_below(3) > 0 || row == 0) {
            table.start[table.rows] = start;
            table.end[table.rows++] = table.size;
        }
        if (s->layout == TRIMMED && table.size > start && random_below(4) == 0)
            table.start[table.rows - 1] += 1 + random_below(table.size - start);
        if (s->layout == CUT && row + 1 == s->rows) break;
        if (s->layout == CRLF) put_bytes("\r", 1);
        put_bytes(s->layout == SWAPPED && random_below(4) == 0 ? "5" : "\n", 1);
    }
    if (s->layout == CUT || s->layout == SWAPPED) put_rubbish(s, 1 + random_below(8));
}

/* ---- Comparison */

static void check_rows(const struct fields *f, const char *what)
{
    const struct expected *e = &expected;
    cr_assert_eq(f->rows, e->rows, "%s: %u rows, not %u", what, f->rows, e->rows);
    for (uint32_t i = 0; i < e->rows; i++) {
        if (f->key == FIELDS_TEXT)
            cr_assert(f->text_start[i] == e->text_start[i] && f->text_end[i] == e->text_end[i],
                      "%s: text of row %u: %u to %u, not %u to %u", what, i, f->text_start[i],
                      f->text_end[i], e->text_start[i], e->text_end[i]);
        else
            cr_assert(f->number[i] == e->number[i], "%s: number of row %u: %lld, not %lld", what, i,
                      (long long)f->number[i], (long long)e->number[i]);
        if (f->ids)
            cr_assert(f->id_start[i] == e->id_start[i] && f->id_end[i] == e->id_end[i],
                      "%s: id of row %u: %u to %u, not %u to %u", what, i, f->id_start[i],
                      f->id_end[i], e->id_start[i], e->id_end[i]);
    }
}

static void check_bad(struct glint_task *task, bool skip, int r, const char *what)
{
    if (skip || expected.bad == 0) {
        int64_t counted = 0;
        for (uint32_t i = COUNT_BUILT_IN; i < task->counters.used; i++)
            counted += task->counters.values[i];
        cr_assert_eq(r, 0, "%s: %d", what, r);
        cr_assert_eq(counted, (int64_t)expected.bad, "%s: %lld skipped", what, (long long)counted);
        return;
    }
    cr_assert_eq(r, GLINT_E_BAD_ROW, "%s: %d", what, r);
    cr_assert(strstr(task->error.cause, expected.first_reason) != NULL, "%s: \"%s\", not \"%s\"",
              what, task->error.cause, expected.first_reason);
}

/* Parses the table with one kernel level (LEVEL_ROWS: row by row). The memory of the table has
 * exactly the required size. */
static void check_level(struct fields *f, int level, bool skip, const char *what)
{
    struct fields_kernel any_length;
    f->kernel = NULL;
    if (level < FIELDS_LEVELS) {
        const struct fields_kernel *kernel = fields_kernel_at(f, (enum fields_level)level);
        if (kernel == NULL) return;
        any_length = *kernel;
        any_length.row_bytes_max = UINT32_MAX;
        f->kernel = &any_length;
    }
    const uint32_t end = table.end[table.rows - 1];
    const uint32_t size = table.size > end + READ_SLACK ? table.size : end + READ_SLACK;
    uint8_t *memory = malloc(size);
    uint32_t *start = malloc(table.rows * sizeof *start), *ends = malloc(table.rows * sizeof *ends);
    cr_assert(memory != NULL && start != NULL && ends != NULL);
    memset(memory, '5', size);
    memcpy(memory, table.bytes, table.size);
    memcpy(start, table.start, table.rows * sizeof *start);
    memcpy(ends, table.end, table.rows * sizeof *ends);
    struct task_options options = {.skip_bad_rows = skip, .bad_rows_max = -1};
    struct glint_task task = {.options = &options};
    struct glint_batch lines = {
        .rows = table.rows,
        .value = {.type = GLINT_TEXT, .base = memory, .size = end, .start = start, .end = ends}};
    if (seed % 2 == 0 && rows_are_lines(&lines.value, lines.rows)) lines.value.lines = start;
    int r = fields_parse(f, &task, &lines);
    check_bad(&task, skip, r, what);
    if (r == 0) {
        cr_assert(f->base == memory);
        check_rows(f, what);
    }
    arena_fini(&task.arena);
    free(memory);
    free(start);
    free(ends);
}

static void check_table(const struct table_spec *s, uint32_t key_column, uint32_t id_column)
{
    static struct fields f;
    memset(&f, 0xa5, sizeof f);
    f.delimiter = s->delimiter;
    f.whole = false;
    f.skip_empty = (seed & 4) != 0;
    f.keep_nulls = true;
    f.key_label = f.id_label = NULL;
    f.key = s->key;
    f.pairs = f.escapes = f.as_in_rows = false;
    f.id_type = 0;
    if (s->key == FIELDS_NONE) memset(f.number, 0, sizeof f.number);
    f.key_column = key_column;
    f.id_column = id_column;
    f.quotes = fields_may_quote(f.delimiter);
    plain_parse(&f);
    for (int level = 0; level < LEVEL_END; level++)
        for (int ids = 0; ids < 2; ids++)
            for (int skip = 0; skip < 2; skip++) {
                char what[160];
                snprintf(what, sizeof what,
                         "layout %d, key %d in %u, id in %u, delimiter %02x, level %d, ids %d, "
                         "skip %d, seed %llx",
                         s->layout, s->key, key_column, id_column, s->delimiter, level, ids, skip,
                         (unsigned long long)seed);
                f.ids = ids != 0;
                check_level(&f, level, skip != 0, what);
            }
}

Test(fields, random_tables_equal_plain_parser)
{
    static const uint8_t delimiters[] = {'\t', ',', ' ', '|', 0, 0xff, '.', '5', '-', '\r'};
    for (uint32_t turn = 0; turn < 1500; turn++) {
        seed = 0x9e3779b97f4a7c15u * (turn + 1);
        struct table_spec s = {
            .layout = (enum layout)random_below(LAYOUTS),
            .key = (enum fields_key)random_below(4),
            .delimiter = delimiters[random_below(4) > 0 ? 0 : random_below(sizeof delimiters)],
            .columns = 1 + random_below(8),
            .rows = 1 + random_below(random_below(4) == 0 ? FIELDS_ROWS_MAX : 60),
            .odd_in = (const uint32_t[]){0, 2, 50}[random_below(3)],
            .missing_in = (const uint32_t[]){0, 0, 3, 100}[random_below(4)],
            .text_max = (const uint32_t[]){0, 3, 12, 25, 199}[random_below(5)]};
        if (s.text_max > 25 && s.rows > 100) s.rows = 100;
        make_table(&s, random_below(130));
        check_table(&s, random_below(s.columns), random_below(s.columns));
        check_table(&s, random_below(s.columns),
                    random_below(8) == 0 ? random_below(20) : random_below(s.columns));
    }
}

/* Rows of all lengths, starting at every position of a chunk; the key is the first, a middle or the
 * last field. */
Test(fields, rows_across_chunks_equal_plain_parser)
{
    for (uint32_t key = FIELDS_RATING; key <= FIELDS_NONE; key++)
        for (uint32_t before = 0; before < 64; before++)
            for (uint32_t text_max = 1; text_max < 80; text_max += 13) {
                seed = 1 + before * 1000 + text_max;
                struct table_spec s = {.layout = before % 2 ? CUT : LINES,
                                       .key = (enum fields_key)key,
                                       .delimiter = '\t',
                                       .columns = 3,
                                       .rows = 30,
                                       .odd_in = 30,
                                       .text_max = text_max};
                make_table(&s, before);
                check_table(&s, before % 3, (before + text_max) % 3);
            }
}

/* Many empty rows and columns: chunks full of delimiters. */
Test(fields, many_empty_fields_equal_plain_parser)
{
    for (uint32_t turn = 0; turn < 3 * LAYOUTS * 12; turn++) {
        const uint32_t columns = 1 + turn % 3;
        seed = turn + 1;
        struct table_spec s = {.layout = (enum layout)(turn / 3 % LAYOUTS),
                               .key = FIELDS_TEXT,
                               .delimiter = ';',
                               .columns = columns,
                               .rows = 1 + random_below(FIELDS_ROWS_MAX),
                               .missing_in = columns == 3 ? 5 : 0,
                               .text_max = turn / (3 * LAYOUTS) % 3};
        make_table(&s, random_below(67));
        check_table(&s, columns - 1, 0);
        check_table(&s, 0, columns - 1);
    }
}

static void check_change(uint32_t row_bytes, uint32_t row)
{
    const struct table_spec s = {.layout = LINES, .key = FIELDS_TEXT, .delimiter = ';'};
    table.size = 0;
    for (table.rows = 0; table.rows < FIELDS_ROWS_MAX; table.rows++) {
        table.start[table.rows] = table.size;
        memset(table.bytes + table.size, 'a', row_bytes - 1);
        table.size += row_bytes;
        table.bytes[table.size - 1] = '\n';
        table.end[table.rows] = table.size - 1;
    }
    if (row % 3 == 0) table.bytes[table.end[row]] = 'b';
    if (row % 3 == 0) table.bytes[table.end[row] + 1] = '\n';
    if (row % 3 == 1) table.start[row + 1]++;
    if (row % 3 == 2) table.end[row]--;
    check_table(&s, 0, 0);
}

/* All rows but one are consecutive lines: that one starts or ends a byte off, or the row after it
 * begins with an LF instead. With rows of 64 bytes, all LFs are at the same position of their
 * chunks. */
Test(fields, one_irregular_row_equals_plain_parser)
{
    for (uint32_t row = 0; row + 1 < FIELDS_ROWS_MAX; row++) check_change(3, row);
    for (uint32_t row = 0; row < 100; row++) check_change(64, row);
}

/* Ratings with a byte after "d.d", across block borders at every position. With rows of 17 bytes,
 * the previous block has an LF at the position of the "x". */
Test(fields, ratings_across_blocks_equal_plain_parser)
{
    static const char row[] = "abcdefghijk\t5.5x\n";
    for (uint32_t before = 0; before < 64; before++) {
        struct table_spec s = {.layout = LINES, .key = FIELDS_RATING, .delimiter = '\t'};
        seed = before + 1;
        table.size = 0;
        put_rubbish(&s, before);
        for (table.rows = 0; table.rows < FIELDS_ROWS_MAX; table.rows++) {
            table.start[table.rows] = table.size;
            put_bytes(row, sizeof row - 1);
            table.end[table.rows] = table.size - 1;
        }
        check_table(&s, 1, 0);
    }
}

/* The scan is used for the layouts it supports, and leaves few rows to the slow path. */
Test(fields, scan_is_used_for_tables_and_leaves_few_rows)
{
    static struct fields f;
    for (enum layout layout = LINES; layout < LAYOUTS; layout++)
        for (int level = 0; level < FIELDS_LEVELS; level++) {
            seed = 42;
            struct table_spec s = {.layout = layout,
                                   .key = FIELDS_RATING,
                                   .delimiter = '\t',
                                   .columns = 3,
                                   .rows = FIELDS_ROWS_MAX};
            make_table(&s, 17);
            f = (struct fields){
                .delimiter = '\t', .key = FIELDS_RATING, .key_column = 1, .keep_nulls = true};
            f.base = table.bytes;
            f.kernel = fields_kernel_at(&f, (enum fields_level)level);
            if (f.kernel == NULL) continue;
            uint64_t odd[FIELDS_ODD_WORDS] = {0};
            struct glint_column lines = {
                .base = table.bytes, .size = table.size, .start = table.start, .end = table.end};
            const bool fits = fields_scan(&f, &lines, table.rows, odd);
            cr_assert_eq(fits, layout == LINES || layout == CUT, "layout %d, level %d", layout,
                         level);
            uint32_t left = 0;
            for (uint32_t i = 0; i < FIELDS_ROWS_MAX / 64; i++) left += fields_bit_count(odd[i]);
            cr_assert(left <= 8, "layout %d, level %d: %u rows left", layout, level, left);
        }
}

Test(fields, kernel_is_chosen_by_delimiter_and_columns)
{
    struct fields f = {
        .delimiter = '\t', .key = FIELDS_RATING, .key_column = 1, .keep_nulls = true};
    cr_assert_not_null(fields_kernel_best(&f));
    f.delimiter = '5';
    cr_assert_null(fields_kernel_best(&f));
    f.key = FIELDS_INT;
    cr_assert_not_null(fields_kernel_best(&f));
    f.id_column = FIELDS_COLUMN_MAX - 1;
    cr_assert_null(fields_kernel_best(&f));
}

Test(fields, short_integers_are_parsed)
{
    for (uint32_t turn = 0; turn < 200000; turn++) {
        uint8_t text[32] = {0};
        const int64_t value = (int64_t)(test_random(&seed) % 400000000) - 200000000;
        seed += turn + 1;
        const int size = snprintf((char *)text, sizeof text, "%lld", (long long)value);
        int64_t got = 0;
        const bool fits = fields_int(text, (uint32_t)size, &got);
        cr_assert_eq(fits, value > -100000000 && value < 100000000);
        cr_assert(!fits || got == value, "%s: %lld", (const char *)text, (long long)got);
        text[random_below((uint32_t)size)] =
            (uint8_t)(random_below(2) ? '0' + 10 + random_below(190) : random_below('0'));
        if (text[0] != '-') cr_assert_not(fields_int(text, (uint32_t)size, &got), "%s", text);
    }
}

Test(fields, single_line_batch_is_parsed)
{
    static struct fields f = {
        .delimiter = ',', .key = FIELDS_INT, .key_column = 2, .ids = true, .keep_nulls = true};
    uint8_t row[100 + READ_SLACK] = "some id,text,42,more";
    struct task_options options = {.skip_bad_rows = false};
    struct glint_task task = {.options = &options};
    struct glint_batch lines = {.rows = 1, .value = {.type = GLINT_TEXT, .base = row, .size = 20}};
    f.kernel = fields_kernel_best(&f);
    cr_assert_eq(fields_parse(&f, &task, &lines), 0);
    cr_assert(f.rows == 1 && f.number[0] == 42 && f.id_start[0] == 0 && f.id_end[0] == 7);
    lines.value.size = 10;
    cr_assert_eq(fields_parse(&f, &task, &lines), GLINT_E_BAD_ROW);
    cr_assert_eq(f.rows, 0);
    arena_fini(&task.arena);
}
