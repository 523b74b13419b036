/* Jobs on files of columns, with a library whose files are text (tests/fake_formats): the same
 * results as on tables of text, and an error for each thing that such a file can get wrong. */
#include "engine/driver/driver.h"
#include "tests/support/jobs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(columns, .init = scratch_open, .fini = scratch_close);

#define HEAD "PAR1\x15\n"
static bool skip;
static uint64_t split_bytes;

#define RUN(...)                                                                                   \
    test_job_once(&(struct context_config){.skip_bad_rows = skip,                                  \
                                           .bad_rows_max = -1,                                     \
                                           .split_bytes = split_bytes},                            \
                  (const char *const[]){__VA_ARGS__, NULL}, &error)

static struct glint_error error;

static void write_file(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

static void expect_output(const char *name, const char *wanted)
{
    struct output o = output_read(name);
    cr_assert_not_null(o.data, "%s: %s", name, error.cause);
    cr_expect(o.size == strlen(wanted) && memcmp(o.data, wanted, o.size) == 0, "%s: %.*s", name,
              (int)o.size, o.data);
    output_free(&o);
    scratch_remove(name);
}

static void expect_failure(int got, enum glint_code code, const char *cause)
{
    cr_expect_eq(got, code, "%s: %d", cause, got);
    cr_expect_not_null(strstr(error.cause, cause), "%s: %s", cause, error.cause);
    cr_expect_eq(scratch_files_left(), 0);
    scratch_sweep();
}

static void expect_part(const char *wanted)
{
    char text[500];
    FILE *part = fopen("out/part-00000.parquet", "r");
    cr_assert_not_null(part);
    const size_t n = fread(text, 1, sizeof text - 1, part);
    fclose(part);
    text[n] = '\0';
    cr_expect_str_eq(text, wanted);
}

#define RATINGS                                                                                    \
    HEAD "column id u\ncolumn rating g\ncolumn votes l\n"                                          \
         "group\ntt1\t8.5\t10\ntt2\t1.2\t20\ngroup\ntt3\t\\N\t30\ntt4\t9.4\t\\N\ngroup\n"

Test(columns, counts_are_those_of_a_table)
{
    write_file("a.parquet", RATINGS);
    cr_assert_eq(RUN("count-keys", "a.parquet", "out"), 0, "%s", error.cause);
    expect_output("out", "1\t1\n9\t2\n");
    cr_assert_eq(RUN("count-keys", "--key", "text", "--key-column", "id", "a.parquet", "out"), 0);
    expect_output("out", "tt1\t1\ntt2\t1\ntt3\t1\ntt4\t1\n");
    cr_assert_eq(RUN("count-keys", "--key", "int", "--key-column", "3", "a.parquet", "out"), 0);
    expect_output("out", "10\t1\n20\t1\n30\t1\n");
    cr_assert_eq(RUN("count-keys", "--key", "none", "a.parquet", "out"), 0);
    expect_output("out", "0\t4\n");
}

/* Rows of every form of batch: more than one batch and more than one array. */
Test(columns, many_rows_with_nulls_and_dictionaries)
{
    static char text[1 << 20], table[1 << 20];
    size_t n = (size_t)snprintf(text, sizeof text,
                                HEAD "column key d\ncolumn plain u\ncolumn n l\ngroup\n"),
           m = 0;
    for (int i = 0; i < 20000; i++) {
        if (i % 4000 == 0 && i > 0) n += (size_t)snprintf(text + n, sizeof text - n, "group\n");
        const bool null = i % 7 == 0;
        n += (size_t)snprintf(text + n, sizeof text - n, null ? "\\N\tv%d\t%d\n" : "k%d\tv%d\t%d\n",
                              null ? i : i % 50, null ? i % 10 : i, i % 10);
        if (!null)
            m += (size_t)snprintf(table + m, sizeof table - m, "k%d\tv%d\t%d\n", i % 50, i, i % 10);
    }
    write_file("a.parquet", text);
    write_file("a.tsv", table);
    static const char *const keys[] = {"1", "2"};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(RUN("count-keys", "--key", "text", "--key-column", keys[i], "--id-column", "1",
                         "a.tsv", "tsv"),
                     0);
        cr_assert_eq(RUN("count-keys", "--key", "text", "--key-column", keys[i], "--id-column", "1",
                         "a.parquet", "out"),
                     0, "%s", error.cause);
        struct output a = output_read("tsv"), b = output_read("out");
        if (i == 0) cr_expect(output_same(&a, &b));
        output_free(&a);
        output_free(&b);
        scratch_remove("tsv");
        scratch_remove("out");
    }
}

Test(columns, a_filter_has_the_ids)
{
    write_file("a.parquet", RATINGS);
    write_file("a.tsv", "tt1\t8.5\ntt2\t1.2\ntt4\t9.4\n");
    cr_assert_eq(RUN("count-keys", "a.parquet", "counts"), 0);
    cr_assert_eq(RUN("bloom-build", "0.01", "a.parquet", "counts", "out"), 0, "%s", error.cause);
    cr_assert_eq(RUN("bloom-build", "0.01", "a.tsv", "counts", "tsv"), 0);
    struct output a = output_read("tsv"), b = output_read("out");
    cr_expect(output_same(&a, &b));
    output_free(&a);
    output_free(&b);
}

Test(columns, rows_keep_their_types)
{
    write_file("a.parquet", RATINGS);
    cr_assert_eq(RUN("sort", "--by", "votes:nr", "a.parquet", "out"), 0, "%s", error.cause);
    expect_part(HEAD "column id u\ncolumn rating g\ncolumn votes l\ngroup\n"
                     "tt3\t\\N\t30\ntt2\t1.2\t20\ntt1\t8.5\t10\ntt4\t9.4000000000000004\t\\N\n");
    cr_assert_eq(RUN("sort", "--by", "id", "--output-format", "csv", "out", "csv"), 0, "%s",
                 error.cause);
    expect_output("csv", "tt1,8.5,10\ntt2,1.2,20\ntt3,\\N,30\ntt4,9.4,\\N\n");
}

Test(columns, files_are_matched_by_the_names_of_columns)
{
    write_file("a.parquet", HEAD "column id u\ncolumn n l\ngroup\nx\t1\n");
    write_file("b.parquet", HEAD "column n l\ncolumn more u\ncolumn id u\ngroup\n2\tm\ty\n");
    cr_assert_eq(RUN("sort", "--by", "id", "--output-format", "csv", "a.parquet,b.parquet", "out"),
                 0, "%s", error.cause);
    expect_output("out", "x,1,\\N\ny,2,m\n");
    expect_failure(RUN("sort", "--by", "more", "a.parquet,b.parquet", "out"), GLINT_E_BAD_VALUE,
                   "a.parquet: no column is named \"more\"");
    expect_failure(RUN("sort", "--by", "other", "a.parquet", "out"), GLINT_E_BAD_VALUE,
                   "no column is named \"other\"; the columns are: id, n");
    expect_failure(RUN("count-keys", "--key-column", "3", "a.parquet", "out"), GLINT_E_BAD_VALUE,
                   "there is no column 3");
    expect_failure(RUN("agg", "--sum", "3", "a.parquet", "out"), GLINT_E_BAD_VALUE,
                   "--sum: a.parquet: there is no column 3, there are 2");
}

Test(columns, csv_becomes_a_file_of_columns)
{
    write_file("a.csv", "id,name\n1,\"a,b\"\n2,\\N\n");
    cr_assert_eq(RUN("sort", "--by", "id", "--csv", "--header", "--output-format", "parquet",
                     "a.csv", "out"),
                 0, "%s", error.cause);
    cr_assert_eq(RUN("sort", "--by", "id", "--output-format", "csv", "out", "csv"), 0);
    expect_output("csv", "1,\"a,b\"\n2,\\N\n");
    expect_failure(RUN("sort", "--output-format", "parquet", "a.csv", "no"), GLINT_E_USAGE,
                   "needs rows of CSV with a header");
    expect_failure(RUN("sort", "--output-format", "csv", "a.csv", "no"), GLINT_E_USAGE,
                   "needs rows of CSV");
}

Test(columns, selected_columns_keep_their_types)
{
    write_file("a.parquet", RATINGS);
    cr_assert_eq(RUN("select", "--columns", "votes AS n, votes * 2 AS twice, *", "--where",
                     "rating > 5", "a.parquet", "out"),
                 0, "%s", error.cause);
    expect_part(HEAD "column n l\ncolumn twice l\ncolumn id u\ncolumn rating g\n"
                     "column votes l\ngroup\n10\t20\ttt1\t8.5\t10\n");
    scratch_remove("out");
    cr_assert_eq(RUN("select", "--columns", "votes / 4 AS part, -votes + 1 AS n, rating + 1 AS up",
                     "--where", "id = 'tt1'", "a.parquet", "out"),
                 0, "%s", error.cause);
    expect_part(HEAD "column part g\ncolumn n l\ncolumn up g\ngroup\n2.5\t-9\t9.5\n");
    expect_failure(RUN("select", "--columns", "id, votes AS id", "a.parquet", "no"),
                   GLINT_E_BAD_VALUE, "two columns of the output are named \"id\"");
    expect_failure(RUN("select", "--columns", "id", "--output-header", "a.parquet", "no"),
                   GLINT_E_USAGE, "--output-header");
    scratch_remove("out");
    write_file("a.csv", "id,x\n1,2\n");
    cr_assert_eq(RUN("select", "--columns", "x AS y, *", "--csv", "--header", "--output-format",
                     "parquet", "a.csv", "out"),
                 0, "%s", error.cause);
    cr_assert_eq(RUN("select", "--output-format", "csv", "out", "csv"), 0);
    expect_output("csv", "2,1,2\n");
    cr_assert_eq(RUN("select", "--columns", "id", "--output-format", "csv", "a.parquet", "csv"), 0);
    expect_output("csv", "tt1\ntt2\ntt3\ntt4\n");
}

/* 2^53 + 1 of a text is a number without a double; of a column of doubles, it is none. */
Test(columns, integers_of_texts_that_no_double_is_are_bad_rows)
{
    write_file("a.csv", "id,n\n9007199254740992,1\n9007199254740993,2\n");
    expect_failure(RUN("select", "--csv", "--header", "--columns", "+id AS id", "--output-format",
                       "parquet", "a.csv", "out"),
                   GLINT_E_BAD_ROW, "a.csv:3: calculated from text, an integer that no double is");
    cr_assert_eq(RUN("select", "--csv", "--header", "--columns", "+id AS id", "--where", "n = 1",
                     "--output-format", "parquet", "a.csv", "out"),
                 0, "%s", error.cause);
    expect_part(HEAD "column id g\ngroup\n9007199254740992\n");
    cr_assert_eq(RUN("select", "--csv", "--header", "--columns", "+id", "a.csv", "text"), 0);
    expect_output("text", "9007199254740992\n9007199254740993\n");
    write_file("a.parquet", HEAD "column id g\ngroup\n9007199254740992\n");
    cr_assert_eq(RUN("select", "--columns", "id + 1 AS id", "a.parquet", "more"), 0, "%s",
                 error.cause);
}

Test(columns, names_of_json_and_of_expressions_are_columns)
{
    write_file("a.json", "{\"k\":\"x\",\"v\":{\"n\":2}}\n{\"k\":null,\"v\":{\"n\":3}}\n");
    cr_assert_eq(RUN("select", "--columns", "k, v.n * 2 AS m", "--json-lines", "--output-format",
                     "parquet", "a.json", "out"),
                 0, "%s", error.cause);
    expect_part(HEAD "column k u\ncolumn m g\ngroup\nx\t4\n\\N\t6\n");
    scratch_remove("out");
    write_file("a.csv", "x,1\ny,2\n");
    cr_assert_eq(RUN("select", "--columns", "$2 AS n", "--csv", "--output-format", "parquet",
                     "a.csv", "out"),
                 0, "%s", error.cause);
    expect_part(HEAD "column n u\ngroup\n1\n2\n");
    expect_failure(
        RUN("select", "--columns", "*", "--csv", "--output-format", "parquet", "a.csv", "no"),
        GLINT_E_USAGE, "needs the names of columns");
    expect_failure(RUN("select", "--columns", "*", "--csv", "--output-header", "a.csv", "no"),
                   GLINT_E_USAGE, "the columns of * have no names");
}

Test(columns, results_of_agg_have_names_and_types)
{
    write_file("a.parquet", HEAD "column k u\ncolumn x g\ncolumn n l\n"
                                 "group\na\t0.5\t1\nb\t2\t2\na\t1\t\\N\n");
    cr_assert_eq(RUN("agg", "--by", "k", "--sum", "x", "--min", "n,k:t", "--mean", "n", "--count",
                     "--distinct", "x", "--median", "x", "--first", "n", "a.parquet", "out"),
                 0, "%s", error.cause);
    expect_part(HEAD "column k u\ncolumn sum(x) g\ncolumn min(n) l\ncolumn min_text(k) u\n"
                     "column mean(n) g\ncolumn count l\ncolumn distinct(x) l\n"
                     "column quantile(x,0.5) g\ncolumn first(n) l\ngroup\n"
                     "a\t1.5\t1\ta\t1\t2\t2\t0.75\t1\nb\t2\t2\tb\t2\t1\t1\t2\t2\n");
    scratch_remove("out");
    cr_assert_eq(
        RUN("agg", "--by", "k", "--sum", "x", "--output-format", "csv", "a.parquet", "csv"), 0,
        "%s", error.cause);
    expect_output("csv", "a,1.5\nb,2.0\n");
    write_file("a.json", "{\"k\":\"x\",\"v\":{\"n\":2}}\n{\"k\":\"x\",\"v\":{\"n\":3}}\n");
    cr_assert_eq(RUN("agg", "--by", "k", "--sum", "v.n", "--count", "--json-lines",
                     "--output-format", "parquet", "a.json", "out"),
                 0, "%s", error.cause);
    expect_part(HEAD "column k u\ncolumn sum(v.n) l\ncolumn count l\ngroup\nx\t5\t2\n");
    scratch_remove("out");
    write_file("a.csv", "x,1\n");
    expect_failure(
        RUN("agg", "--by", "1", "--count", "--csv", "--output-format", "parquet", "a.csv", "no"),
        GLINT_E_USAGE, "needs the names of columns");
    expect_failure(RUN("agg", "--by", "k", "--sum", "n,n", "a.parquet", "no"), GLINT_E_BAD_VALUE,
                   "two columns of the output are named \"sum(n)\"");
}

/* Writes rows of numbers of each kind that has cells, and of those that have none. */
static void write_numbers(const char *name)
{
    static const char *const doubles[] = {
        "0.5", "-12.34", "1e300", "0.30000000000000004", "7",
        "-0",  "\\N",    "1e-5",  "123456789012.345",    "0.0001"};
    static char text[1 << 20];
    size_t n = (size_t)snprintf(text, sizeof text,
                                HEAD "column k u\ncolumn d d\ncolumn x g\ncolumn i l\n"
                                     "column u L\ngroup\n");
    for (int i = 0; i < 6000; i++) {
        if (i % 2500 == 2499) n += (size_t)snprintf(text + n, sizeof text - n, "group\n");
        n += (size_t)snprintf(text + n, sizeof text - n, i % 11 == 0 ? "\\N" : "k%d", i % 13);
        n += (size_t)snprintf(text + n, sizeof text - n, i % 17 == 3 ? "\t\\N" : "\td%d", i % 5);
        n += (size_t)snprintf(text + n, sizeof text - n, "\t%s", doubles[i % 10]);
        n += (size_t)snprintf(text + n, sizeof text - n, i % 3 == 0 ? "\t\\N" : "\t%lld",
                              i * 700001LL - 9000);
        n += (size_t)snprintf(text + n, sizeof text - n, "\t%s%d\n",
                              i % 4 == 1 ? "1844674407370955" : "", 1000 + i % 600);
    }
    cr_assert_lt(n, sizeof text);
    write_file(name, text);
}

/* Cells give the results of rows of text, which jobs with --where read. */
Test(columns, agg_of_cells_is_that_of_text)
{
    static const char *const keys[] = {"k", "d", "i", "k,d", "d,k,u"};
    write_numbers("a.parquet");
    split_bytes = 1 << 20; /* for both: the order of doubles is that of splits */
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        cr_assert_eq(RUN("agg", "--by", keys[i], "--sum", "x,i,u", "--min", "x,i,u", "--max",
                         "x,i,u", "--mean", "i", "--count", "--output-format", "tsv", "a.parquet",
                         "cells"),
                     0, "%s", error.cause);
        cr_assert_eq(RUN("agg", "--by", keys[i], "--sum", "x,i,u", "--min", "x,i,u", "--max",
                         "x,i,u", "--mean", "i", "--count", "--output-format", "tsv", "--where",
                         "u > 0", "a.parquet", "text"),
                     0, "%s", error.cause);
        struct output a = output_read("cells"), b = output_read("text");
        cr_expect(output_same(&a, &b), "%s", keys[i]);
        cr_expect_gt(a.size, 100);
        output_free(&a);
        output_free(&b);
        scratch_remove("cells");
        scratch_remove("text");
    }
    split_bytes = 0;
}

Test(columns, bad_rows_of_cells_are_those_of_text)
{
    static const char *const wheres[] = {NULL, "n is not null"};
    write_file("a.parquet", HEAD "column k u\ncolumn x u\ncolumn n l\n"
                                 "group\na\t0.5\t1\nb\tno\t2\na\t1\t5\n");
    write_file("nan.parquet", HEAD "column k u\ncolumn x g\ncolumn n l\n"
                                   "group\na\t0.5\t1\nb\tnan\t2\na\t1\t5\nc\t-inf\t2\n");
    write_file("b.parquet", HEAD "column k u\ncolumn n l\ngroup\na\t1\nx\x1fy\t2\na\t3\n\x1d\t4\n");
    for (int i = 0; i < 2; i++) {
        const char *option = wheres[i] != NULL ? "--where" : "--null";
        const char *where = wheres[i] != NULL ? wheres[i] : "\\N";
        skip = false;
        expect_failure(RUN("agg", "--by", "k", "--sum", "x", option, where, "a.parquet", "no"),
                       GLINT_E_BAD_ROW,
                       wheres[i] == NULL
                           ? "a.parquet, row 2: a numeric column is not a number: column 2 (x): "
                             "\"no\"; the row: \"b,no,\""
                           : "a.parquet, row 2: a numeric column is not a number: column 2 (x): "
                             "\"no\"; the row: \"b,no,2\"");
        skip = true;
        cr_assert_eq(RUN("agg", "--by", "k", "--sum", "x", option, where, "--output-format", "tsv",
                         "a.parquet", "out"),
                     0, "%s", error.cause);
        expect_output("out", "a\t1.5\n");
        cr_assert_eq(RUN("agg", "--by", "k", "--sum", "x", option, where, "--output-format", "tsv",
                         "nan.parquet", "out"),
                     0, "%s", error.cause);
        expect_output("out", "a\t1.5\nb\tnan\nc\t-inf\n");
        cr_assert_eq(RUN("agg", "--by", "k", "--sum", "n", option, where, "--output-format", "tsv",
                         "b.parquet", "out"),
                     0, "%s", error.cause);
        expect_output("out", "\x1d\t4\na\t4\nx\x1fy\t2\n");
        skip = false;
    }
}

/* A column that is no key keeps its -0.0. */
Test(columns, zeros_of_keys_have_no_sign)
{
    static const struct {
        const char *words[9], *wanted;
    } jobs[] = {
        {{"agg", "--by", "x", "--count"}, "0.0\t3\n1.5\t1\n"},
        {{"agg", "--by", "x", "--count", "--first", "y"}, "0.0\t3\t-0.0\n1.5\t1\t-0.0\n"},
        {{"agg", "--by", "k,x", "--count"}, "a\t0.0\t3\na\t1.5\t1\n"},
        {{"agg", "--by", "x", "--sum", "w", "--min", "w"},
         "0.0\t1.5e+300\t0.0\n1.5\t1e+300\t1e+300\n"},
        {{"agg", "--distinct", "x,y", "--count"}, "4\t2\t1\n"},
        {{"distinct"},
         "0.0\ta\t0.0\t0.0\n0.0\ta\t0.0\t1e+300\n0.0\ta\t0.0\t5e+299\n"
         "1.5\ta\t0.0\t1e+300\n"},
        {{"sort", "--unique"},
         "0.0\ta\t0.0\t0.0\n0.0\ta\t0.0\t1e+300\n0.0\ta\t0.0\t5e+299\n"
         "1.5\ta\t0.0\t1e+300\n"},
        {{"dedup", "--by", "x"}, "0.0\ta\t-0.0\t-0.0\n1.5\ta\t-0.0\t1e+300\n"},
        {{"dedup", "--by", "k,y"}, "0.0\ta\t0.0\t-0.0\n"},
        {{"select", "--columns", "x,y"}, "0.0\t-0.0\n-0.0\t-0.0\n-0.0\t-0.0\n1.5\t-0.0\n"},
        {{"count-keys", "--key", "text", "--key-column", "x", NULL}, "0.0\t3\n1.5\t1\n"},
        {{"count-keys", "--key", "text", "--key-column", "x", "--where", "x < 9", NULL},
         "0.0\t3\n1.5\t1\n"},
    };
    write_file("a.parquet", HEAD "column x g\ncolumn k u\ncolumn y g\ncolumn w g\ngroup\n"
                                 "0.0\ta\t-0.0\t-0.0\n-0.0\ta\t-0.0\t1e+300\ngroup\n"
                                 "-0.0\ta\t-0.0\t5e+299\n1.5\ta\t-0.0\t1e+300\n");
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        const char *words[16];
        size_t n = 0;
        while (jobs[i].words[n] != NULL) {
            words[n] = jobs[i].words[n];
            n++;
        }
        if (strcmp(words[0], "count-keys") != 0) {
            words[n++] = "--output-format";
            words[n++] = "tsv";
        }
        words[n++] = "a.parquet";
        words[n++] = "out";
        words[n] = NULL;
        cr_assert_eq(test_job_once(&(struct context_config){.bad_rows_max = -1}, words, &error), 0,
                     "%s: %s", words[0], error.cause);
        expect_output("out", jobs[i].wanted);
    }
    static const char *const methods[] = {"shuffle", "broadcast", "bloom"};
    for (int i = 0; i < 6; i++) {
        cr_assert_eq(RUN("join", "--type", "semi", "--method", methods[i % 3], "--key-column",
                         i < 3 ? "x" : "x,k", "--output-format", "tsv", "--right-where",
                         "w = 0 or w = 1e300 and x = 1.5", "a.parquet", "a.parquet", "out"),
                     0, "%s", error.cause);
        expect_output("out", "0.0\ta\t-0.0\t-0.0\n0.0\ta\t-0.0\t1e+300\n"
                             "0.0\ta\t-0.0\t5e+299\n1.5\ta\t-0.0\t1e+300\n");
    }
}

Test(columns, keys_of_different_types_are_joined_by_value)
{
    static const char *const methods[] = {"shuffle", "broadcast", "bloom"};
    static const char *const keys[] = {"n", "k,n", "n,k"};
    write_file("l.parquet",
               HEAD "column k u\ncolumn n l\ngroup\na\t1\na\t2\na\t9007199254740993\na\t\\N\n");
    write_file("r.parquet", HEAD "column k u\ncolumn n g\ngroup\na\t1\na\t2.5\nb\t3\n"
                                 "a\t9007199254740992\na\t\\N\n");
    for (int i = 0; i < 18; i++) {
        cr_assert_eq(RUN("join", "--method", methods[i / 6], "--key-column", keys[i / 2 % 3],
                         "--left-where", i % 2 == 0 ? "n < 3" : "n > 1", "--type", "semi",
                         "--output-format", "tsv", "l.parquet", "r.parquet", "out"),
                     0, "%s", error.cause);
        expect_output("out", i % 2 == 0 ? "a\t1\n" : "a\t9007199254740993\n");
    }
}

/* 2^53 + 1 is no double, and equal to none. Bounds of row groups are of these texts, too. */
Test(columns, integers_in_one_file_are_keys_of_doubles_in_another)
{
    write_file("a.parquet", HEAD "column v l\ngroup\n10\n9007199254740993\n\\N\n"
                                 "bounds 0\t10\t9007199254740993\t1\n");
    write_file("b.parquet", HEAD "column v g\ngroup\n10\n9007199254740992\n");
    cr_assert_eq(
        RUN("agg", "--by", "v", "--count", "--output-format", "tsv", "a.parquet,b.parquet", "out"),
        0, "%s", error.cause);
    expect_output("out", "\\N\t1\n10.0\t2\n9007199254740992.0\t1\n9007199254740993\t1\n");
    cr_assert_eq(RUN("distinct", "--output-format", "tsv", "b.parquet,a.parquet", "out"), 0);
    struct output o = output_read("out");
    cr_expect_eq(o.size, strlen("\\N\n10.0\n9007199254740992.0\n9007199254740993\n"));
    output_free(&o);
    scratch_remove("out");
    cr_assert_eq(
        RUN("count-keys", "--key", "text", "--key-column", "v", "a.parquet,b.parquet", "out"), 0);
    expect_output("out", "10.0\t2\n9007199254740992.0\t1\n9007199254740993\t1\n");
    cr_assert_eq(RUN("select", "--columns", "v", "--where", "v = '10'", "--output-format", "tsv",
                     "a.parquet,b.parquet", "out"),
                 0);
    expect_output("out", "10.0\n10.0\n");
    cr_assert_eq(RUN("count-keys", "--key", "text", "--key-column", "v", "a.parquet", "out"), 0);
    expect_output("out", "10\t1\n9007199254740993\t1\n");
}

Test(columns, joined_rows_have_the_columns_of_both_sides)
{
    static const char *const methods[] = {"shuffle", "broadcast", "bloom"};
    write_file("l.parquet", HEAD "column k u\ncolumn n l\ngroup\na\t1\nb\t2\n\\N\t3\n");
    write_file("r.parquet", HEAD "column k u\ncolumn x g\ngroup\na\t0.5\n");
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(RUN("join", "--method", methods[i], "--key-column", "k", "l.parquet",
                         "r.parquet", "out"),
                     0, "%s", error.cause);
        expect_part(HEAD "column k u\ncolumn n l\ncolumn k_right u\ncolumn x g\n"
                         "group\na\t1\ta\t0.5\n");
        scratch_remove("out");
    }
    cr_assert_eq(RUN("join", "--type", "left", "--key-column", "k", "--null", "", "l.parquet",
                     "r.parquet", "out"),
                 0, "%s", error.cause);
    cr_assert_eq(RUN("sort", "--by", "n:n", "--output-format", "csv", "out", "csv"), 0);
    expect_output("csv", "a,1,a,0.5\nb,2,\\N,\\N\n\\N,3,\\N,\\N\n");
    scratch_remove("out");
    cr_assert_eq(
        RUN("join", "--type", "anti", "--key-column", "k", "l.parquet", "r.parquet", "out"), 0,
        "%s", error.cause);
    cr_assert_eq(RUN("sort", "--by", "n:n", "--output-format", "csv", "out", "csv"), 0);
    expect_output("csv", "b,2\n\\N,3\n");
    scratch_remove("out");
    cr_assert_eq(
        RUN("join-steps", "--key-column", "k", "l.parquet", "r.parquet", "filter", "kept", "out"),
        0, "%s", error.cause);
    expect_part(HEAD "column k u\ncolumn n l\ncolumn k_right u\ncolumn x g\n"
                     "group\na\t1\ta\t0.5\n");
}

Test(columns, both_outputs_of_split_dataset_have_the_columns)
{
    write_file("a.parquet", HEAD "column id u\ncolumn n l\ngroup\ntt1\t1\ntt2\t\\N\n");
    cr_assert_eq(RUN("split-dataset", "--ratio", "1/0", "a.parquet", "out", "rest"), 0, "%s",
                 error.cause);
    expect_part(HEAD "column id u\ncolumn n l\ngroup\ntt1\t1\ntt2\t\\N\n");
    scratch_remove("out");
    rename("rest", "out");
    expect_part(HEAD "column id u\ncolumn n l\n");
    scratch_remove("out");
    write_file("a.csv", "id,x\n1,2\n");
    cr_assert_eq(RUN("split-dataset", "--ratio", "0/1", "--csv", "--header", "--output-format",
                     "parquet", "a.csv", "rest", "out"),
                 0, "%s", error.cause);
    expect_part(HEAD "column id u\ncolumn x u\ngroup\n1\t2\n");
}

Test(columns, joins_of_other_forms)
{
    write_file("l.csv", "k,k_right\na,1\n");
    write_file("r.csv", "k,y\na,\\N\n");
    write_file("r.tsv", "a\t3\n");
    write_file("r.parquet", HEAD "column y u\ngroup\na\n");
    cr_assert_eq(RUN("join", "--csv", "--header", "--key-column", "1", "--output-format", "parquet",
                     "r.csv", "r.csv", "out"),
                 0, "%s", error.cause);
    expect_part(HEAD "column k u\ncolumn y u\ncolumn k_right u\ncolumn y_right u\n"
                     "group\na\t\\N\ta\t\\N\n");
    scratch_remove("out");
    expect_failure(RUN("join", "--csv", "--header", "--key-column", "1", "--output-format",
                       "parquet", "l.csv", "r.csv", "no"),
                   GLINT_E_BAD_VALUE, "two columns of the output are named \"k_right\"");
    expect_failure(
        RUN("join", "--csv", "--left-header", "--output-format", "parquet", "l.csv", "r.csv", "no"),
        GLINT_E_USAGE, "needs the names of columns of RIGHT");
    expect_failure(RUN("join", "--key-column", "1", "r.parquet", "r.tsv", "no"), GLINT_E_USAGE,
                   "one side is a file of columns, and the other one lines of text");
    cr_assert_eq(RUN("join", "--type", "semi", "--key-column", "1", "r.tsv", "r.parquet", "out"),
                 0);
    expect_output("out", "a\t3\n");
    write_file("a.json", "{\"k\":1}\n");
    expect_failure(RUN("join", "--json-lines", "--key-column", "k", "--output-format", "csv",
                       "a.json", "a.json", "no"),
                   GLINT_E_USAGE, "needs the names of columns of LEFT");
}

Test(columns, rows_become_text_of_other_forms)
{
    write_file("a.parquet", HEAD "column k u\ncolumn x g\ncolumn n l\n"
                                 "group\na\"b\t0.5\t9223372036854775807\n\\N\tnan\t\\N\n");
    cr_assert_eq(RUN("sort", "--by", "x", "--output-format", "jsonl", "a.parquet", "out"), 0, "%s",
                 error.cause);
    expect_output("out", "{\"k\":\"a\\\"b\",\"x\":0.5,\"n\":9223372036854775807}\n"
                         "{\"k\":null,\"x\":\"nan\",\"n\":null}\n");
    cr_assert_eq(RUN("sort", "--by", "x", "--output-format", "tsv", "a.parquet", "out"), 0);
    expect_output("out", "\"a\"\"b\"\t0.5\t9223372036854775807\n\\N\tnan\t\\N\n");
    cr_assert_eq(RUN("select", "--output-header", "--output-format", "csv", "a.parquet", "out"), 0,
                 "%s", error.cause);
    expect_output("out", "k,x,n\n\"a\"\"b\",0.5,9223372036854775807\n\\N,nan,\\N\n");
    cr_assert_eq(RUN("split-dataset", "--ratio", "1/0", "--output-format", "jsonl", "a.parquet",
                     "out", "rest"),
                 0);
    scratch_remove("out");
    expect_output("rest", "");
    write_file("bad.parquet", HEAD "column k u\ngroup\nx\xff\n");
    expect_failure(RUN("sort", "--output-format", "jsonl", "bad.parquet", "no"), GLINT_E_BAD_ROW,
                   "a text is not UTF-8");
    write_file("a.csv", "k,v\n\"a\tb\",\\N\n");
    cr_assert_eq(
        RUN("sort", "--by", "k", "--csv", "--header", "--output-format", "jsonl", "a.csv", "out"),
        0);
    expect_output("out", "{\"k\":\"a\\tb\",\"v\":null}\n");
    cr_assert_eq(RUN("sort", "--csv", "--output-format", "tsv", "a.csv", "out"), 0);
    expect_output("out", "\"a\tb\"\t\\N\nk\tv\n");
    write_file("a.json", "{\"k\":2}\n{\"k\":1}\n");
    cr_assert_eq(
        RUN("sort", "--json-lines", "--by", "k", "--output-format", "jsonl", "a.json", "out"), 0);
    expect_output("out", "{\"k\":1}\n{\"k\":2}\n");
    expect_failure(
        RUN("sort", "--json-lines", "--by", "k", "--output-format", "tsv", "a.json", "no"),
        GLINT_E_USAGE, "needs rows of CSV");
}

Test(columns, options_of_files_of_columns)
{
    write_file("a.parquet", HEAD "column k u\ncolumn n l\ngroup\na\t1\nb\t2\n");
    cr_assert_eq(RUN("sort", "--by", "k", "--row-group-rows", "1", "--bloom-filter", "n,k",
                     "a.parquet", "out"),
                 0, "%s", error.cause);
    scratch_remove("out");
    expect_failure(RUN("sort", "--bloom-filter", "k,x", "a.parquet", "no"), GLINT_E_BAD_VALUE,
                   "\"x\" is no column of OUTPUT");
    expect_failure(RUN("sort", "--bloom-filter", "k,k", "a.parquet", "no"), GLINT_E_BAD_VALUE,
                   "or is there twice");
    expect_failure(RUN("sort", "--row-group-rows", "0", "a.parquet", "no"), GLINT_E_BAD_VALUE,
                   "--row-group-rows 0");
    expect_failure(
        RUN("sort", "--bloom-filter", "k", "--output-format", "arrow", "a.parquet", "no"),
        GLINT_E_USAGE, "Arrow files have no Bloom filters");
    static const char *const texts[] = {"csv", "jsonl"};
    for (int i = 0; i < 2; i++)
        expect_failure(RUN("agg", "--count", "--row-group-rows", "5", "--output-format", texts[i],
                           "a.parquet", "no"),
                       GLINT_E_USAGE, "--row-group-rows has no meaning for a text output");
}

/* The array of a column that is read would be an error. */
Test(columns, only_needed_columns_are_read)
{
    write_file("a.parquet", HEAD "column id u\ncolumn kind d\ncolumn votes l\ngroup\n"
                                 "damage index\na\tx\t1\nb\ty\t2\n");
    cr_assert_eq(RUN("select", "--columns", "id", "--where", "votes > 1", "--output-format", "csv",
                     "a.parquet", "out"),
                 0, "%s", error.cause);
    expect_output("out", "b\n");
    cr_assert_eq(RUN("agg", "--sum", "votes", "--median", "votes", "--distinct", "id",
                     "--output-format", "csv", "a.parquet", "out"),
                 0, "%s", error.cause);
    expect_output("out", "3,2,1.5\n");
    cr_assert_eq(RUN("agg", "--count", "--output-format", "csv", "a.parquet", "out"), 0); /* none */
    expect_output("out", "2\n");
    expect_failure(RUN("select", "--columns", "*", "a.parquet", "no"), GLINT_E_INPUT_DAMAGED,
                   "column kind");
    expect_failure(RUN("select", "--columns", "id", "--where", "kind = 'x'", "a.parquet", "no"),
                   GLINT_E_INPUT_DAMAGED, "column kind");
    expect_failure(RUN("agg", "--count", "--by", "kind", "a.parquet", "no"), GLINT_E_INPUT_DAMAGED,
                   "column kind");
}

Test(columns, types_of_columns_that_are_not_needed_may_be_unknown)
{
    write_file("a.parquet", HEAD "column id u\ncolumn odd U\ngroup\na\tx\n");
    cr_assert_eq(RUN("select", "--columns", "id", "--output-format", "csv", "a.parquet", "out"), 0);
    expect_output("out", "a\n");
    expect_failure(RUN("select", "a.parquet", "no"), GLINT_E_INPUT_FORMAT, "column \"odd\"");
}

Test(columns, files_of_csv_are_matched_by_the_names_that_outputs_have)
{
    static const char *const jobs[] = {"select", "sort", "distinct"};
    write_file("a.csv", "a,b\n1,2\n");
    write_file("b.csv", "b,a\n3,4\n");
    write_file("c.csv", "a\n5\n");
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(
            RUN(jobs[i], "--csv", "--header", "--output-format", "jsonl", "a.csv,b.csv", "out"), 0,
            "%s", error.cause);
        expect_output("out", "{\"a\":\"1\",\"b\":\"2\"}\n{\"a\":\"4\",\"b\":\"3\"}\n");
        cr_assert_eq(
            RUN(jobs[i], "--csv", "--header", "--output-format", "jsonl", "a.csv,c.csv", "lack"), 0,
            "%s", error.cause);
        expect_output("lack", "{\"a\":\"1\",\"b\":\"2\"}\n{\"a\":\"5\",\"b\":null}\n");
    }
    cr_assert_eq(RUN("select", "--output-header", "--csv", "--header", "a.csv,b.csv", "out"), 0);
    expect_output("out", "a,b\n1,2\n4,3\n");
    cr_assert_eq(RUN("select", "--columns", "*, a AS z", "--csv", "--header", "--output-format",
                     "tsv", "b.csv,a.csv", "out"),
                 0);
    expect_output("out", "3\t4\t4\n2\t1\t1\n");
}

Test(columns, empty_fields_are_null_if_the_option_says_so)
{
    write_file("a.csv", "k,v\n1,\n,2\n");
    cr_assert_eq(RUN("sort", "--by", "v", "--csv", "--header", "--null", "", "--output-format",
                     "jsonl", "a.csv", "out"),
                 0, "%s", error.cause);
    expect_output("out", "{\"k\":\"1\",\"v\":null}\n{\"k\":null,\"v\":\"2\"}\n");
    cr_assert_eq(RUN("sort", "--by", "v", "--csv", "--header", "--null", "", "--output-format",
                     "parquet", "a.csv", "out"),
                 0, "%s", error.cause);
    expect_part(HEAD "column k u\ncolumn v u\ngroup\n1\t\\N\n\\N\t2\n");
}

Test(columns, an_empty_input_has_no_names)
{
    static const char *const types[] = {"inner", "left", "right"};
    write_file("empty.csv", "");
    write_file("a.csv", "a,b\n1,2\n");
    for (int i = 0; i < 3; i++) {
        expect_failure(RUN("join", "--csv", "--header", "--type", types[i], "--output-format",
                           "parquet", "empty.csv", "a.csv", "no"),
                       GLINT_E_BAD_VALUE, "LEFT has no line of names");
        expect_failure(RUN("join", "--csv", "--header", "--type", types[i], "--output-format",
                           "jsonl", "a.csv", "empty.csv", "no"),
                       GLINT_E_BAD_VALUE, "RIGHT has no line of names");
    }
    expect_failure(
        RUN("select", "--csv", "--header", "--output-format", "parquet", "empty.csv", "no"),
        GLINT_E_BAD_VALUE, "INPUT has no line of names");
}

/* ---- Row groups that need not be read. What the files say is not what they contain, so that it
 * can be seen which were read. */

#define SAID                                                                                       \
    HEAD                                                                                           \
        "column n l\ncolumn s u\ncolumn f g\ngroup\nbounds 0 1\t5\t0\nbounds 1 a\tc\t0\n1\tx\t1\n" \
        "group\nbounds 0 6\t9\t1\nbounds 2 6\t9\t0\nwithout 1 x\nwithout 0 "                       \
        "7\n2\tx\t2\n7\t\\N\t7\n"                                                                  \
        "group\n3\tx\t3\n"

static void expect_rows(const char *where, const char *rows)
{
    char wanted[64] = "";
    cr_assert_eq(RUN("select", "--columns", "f", "--where", where, "--output-format", "csv",
                     "a.parquet", "out"),
                 0, "%s: %s", where, error.cause);
    for (const char *row = rows; *row != '\0'; row++) {
        const size_t n = strlen(wanted);
        snprintf(wanted + n, sizeof wanted - n, "%c.0\n", *row);
    }
    expect_output("out", wanted);
}

Test(columns, row_groups_are_read_if_they_may_have_rows)
{
    write_file("a.parquet", SAID);
    expect_rows("n > 0", "1273");
    expect_rows("n < 6", "13"); /* 2 is in the second group, that says from 6 */
    expect_rows("n >= 6", "7");
    expect_rows("n = 7", ""); /* the Bloom filter does not have it */
    expect_rows("n IN (7, 2)", "");
    expect_rows("n = 7.0", "7"); /* it is asked for integers only */
    expect_rows("n <> 7", "123");
    expect_rows("s = 'x'", "3");
    expect_rows("s > 'b'", "123");
    expect_rows("s > 'c'", "23");
    expect_rows("n IS NULL", "");
    expect_rows("s IS NULL", "7");
    expect_rows("f < 6", "123");          /* bounds of floats say nothing about NaN */
    expect_rows("n < 6 AND f < 6", "13"); /* n may be null, but f is a number in each row */
    expect_rows("n IS NOT NULL AND n < 6 AND s = 'q'", "");
    expect_rows("f < 6 AND n < 6", "13");
    expect_rows("(1 + 1 = 2) AND n < 6", "123");
    expect_rows("NOT (n >= 6)", "13");
    expect_rows("n BETWEEN 6 AND 8", "7");
    expect_rows("n > 8 OR s = 'b'", "");
    expect_rows("6 > n", "13");
    /* The rest of the plan has its rows, and count-keys its pairs. */
    cr_assert_eq(RUN("count-keys", "--key", "int", "--key-column", "n", "--where", "n < 6",
                     "a.parquet", "out"),
                 0);
    expect_output("out", "1\t1\n3\t1\n");
}

Test(columns, row_groups_of_unknown_statistics_are_read)
{
    static const char *const lines[] = {"damage statistics", "fail statistics broken"};
    char text[1000];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%s%s\n%s", HEAD "column n l\ncolumn s u\ncolumn f g\ngroup\n",
                 lines[i], "bounds 0 6\t9\t0\n1\tx\t1\ngroup\nbounds 0 6\t9\t0\n2\ty\t2\n");
        write_file("a.parquet", text);
        expect_rows("n < 6", "12");
    }
    write_file("a.parquet", SAID "fail contain a broken filter\n");
    expect_rows("n = 7", "7");
    /* A row that is not read is not found to be bad, and numbers of rows count all groups. */
    write_file("a.parquet",
               HEAD "column n l\ncolumn s u\ncolumn f g\ngroup\nbounds 0 1\t1\t0\n1\tx\t1\n"
                    "1\tx\t1\ngroup\nbounds 0 2\t2\t0\n2\ty\t2\n");
    expect_failure(
        RUN("select", "--columns", "f", "--where", "n = 2 AND s > 5", "a.parquet", "out"),
        GLINT_E_BAD_ROW, "a.parquet, row 3: ");
    write_file("a.parquet", HEAD "column n l\ncolumn s u\ncolumn f g\ngroup\n"
                                 "bounds 0 1\t1\t0\n1\tx\t1\ngroup\n2\t9\t2\n");
    expect_rows("n = 2 AND s > 5", "2");
    expect_failure(
        RUN("select", "--columns", "f", "--where", "s > 5 AND n = 2", "a.parquet", "out"),
        GLINT_E_BAD_ROW, "a.parquet, row 1: ");
}

/* ---- Directories that give columns */

static void write_partition(const char *directory, const char *text)
{
    char path[100];
    cr_assert_eq(mkdir(directory, 0700), 0);
    snprintf(path, sizeof path, "%s/a.parquet", directory);
    write_file(path, text);
}

Test(columns, directories_give_columns)
{
    write_partition("dt=1", HEAD "column n l\ngroup\n1\n2\n");
    write_partition("dt=a%2Fb", HEAD "column n l\ncolumn dt l\ngroup\n3\t9\ngroup\n4\t9\n");
    write_partition("dt=__HIVE_DEFAULT_PARTITION__", HEAD "column n l\ngroup\n5\n");
    write_partition("dt=", HEAD "column n l\ngroup\n6\n");
    write_partition("q=2", HEAD "column n l\ngroup\n7\nfail next it was opened\n");
    cr_assert_eq(RUN("sort", "--by", "n:n", "--output-format", "csv", "dt=*/a.parquet", "out"), 0,
                 "%s", error.cause);
    expect_output("out", "1,1\n2,1\n3,a/b\n4,a/b\n5,\\N\n6,\n");
    cr_assert_eq(RUN("count-keys", "--key", "text", "--key-column", "dt", "dt=*/a.parquet", "out"),
                 0, "%s", error.cause);
    expect_output("out", "\t1\n1\t2\na/b\t2\n");
    cr_assert_eq(RUN("count-keys", "--key", "int", "--key-column", "dt", "dt=1/a.parquet", "out"),
                 0, "%s", error.cause);
    expect_output("out", "1\t2\n");
    write_partition("q=1", HEAD "column n l\ngroup\n7\n8\n");
    cr_assert_eq(RUN("select", "--columns", "q, n", "--where", "q = 1 AND n > 7", "--output-format",
                     "csv", "q=*/a.parquet", "out"),
                 0, "%s", error.cause);
    expect_output("out", "1,8\n"); /* the file in q=2 fails if it is read */
    cr_assert_eq(RUN("select", "--columns", "n", "--where", "q = 3 OR q = '0'", "--output-format",
                     "csv", "q=*/a.parquet", "out"),
                 0, "%s", error.cause);
    expect_output("out", "");
    expect_failure(RUN("select", "--columns", "n", "--where", "q = 2", "q=2/a.parquet", "out"),
                   GLINT_E_INPUT_DAMAGED, "it was opened");
    /* A bad value of a directory is that of each row. */
    expect_failure(
        RUN("count-keys", "--key", "rating", "--key-column", "dt", "dt=a%2Fb/a.parquet", "out"),
        GLINT_E_BAD_ROW, "\"a/b\"");
}

/* ---- Errors */

static void expect_damage(const char *group, enum glint_code code, const char *cause)
{
    char text[1000];
    snprintf(text, sizeof text,
             HEAD
             "column id u\ncolumn rating g\ncolumn kind d\ngroup\na\t1\tx\ngroup\n%s\nb\t2\ty\n",
             group);
    write_file("damaged.parquet", text);
    expect_failure(RUN("sort", "--by", "id", "damaged.parquet", "out"), code, cause);
    skip = true; /* rows, never a file */
    expect_failure(
        RUN("count-keys", "--key", "text", "--key-column", "kind", "damaged.parquet", "out"), code,
        cause);
    skip = false;
    scratch_remove("damaged.parquet");
}

Test(columns, damage_is_an_error_of_the_file)
{
    expect_damage("damage offsets", GLINT_E_INPUT_DAMAGED, "damaged.parquet: row group 1, column");
    expect_damage("damage index", GLINT_E_INPUT_DAMAGED,
                  "row group 1, column kind: an index is outside of its dictionary");
    expect_damage("damage children", GLINT_E_INPUT_DAMAGED, "another shape");
    expect_damage("damage type", GLINT_E_INPUT_DAMAGED,
                  "another number of parts than it must have");
    expect_damage("damage memory", GLINT_E_MEMORY_LIMIT, "row group 1 needs");
    expect_damage("fail open a broken footer", GLINT_E_INPUT_DAMAGED,
                  "damaged.parquet: a broken footer");
    expect_damage("fail beyond x", GLINT_E_INPUT_DAMAGED, "beyond its end");
    expect_damage("fail piece it is encrypted", GLINT_E_INPUT_FORMAT, "it is encrypted");
    expect_damage("fail read a broken page", GLINT_E_INPUT_DAMAGED, ": a broken page");
    expect_damage("fail next a broken level", GLINT_E_INPUT_DAMAGED, ": a broken level");
    expect_damage("fail panic a bug", GLINT_E_INPUT_DAMAGED, ": a bug");
}

Test(columns, bad_values_name_file_row_and_column)
{
    write_file("a.parquet", HEAD "column id u\ncolumn rating g\ngroup\nx\t1\ngroup\ny\t2\nz\t11\n");
    expect_failure(RUN("count-keys", "a.parquet", "out"), GLINT_E_BAD_ROW,
                   "a.parquet, row 3: the rating is out of range: column 2 (rating): \"11.0\"");
    split_bytes = 1; /* a task for each row group */
    expect_failure(RUN("count-keys", "a.parquet", "out"), GLINT_E_BAD_ROW, "a.parquet, row 3: ");
    skip = true;
    cr_assert_eq(RUN("count-keys", "a.parquet", "out"), 0);
    skip = false;
    split_bytes = 0;
    expect_output("out", "1\t1\n2\t1\n");
    expect_failure(RUN("count-keys", "--key", "int", "a.parquet", "out"), GLINT_E_BAD_ROW,
                   "the key is not an integer");
    write_file("b.parquet", HEAD "column id u\ncolumn n l\ngroup\na\x1f"
                                 "b\t1\n");
    cr_assert_eq(RUN("sort", "--by", "n", "--output-format", "tsv", "b.parquet", "out"), 0);
    expect_output("out", "a\x1f"
                         "b\t1\n");
}

Test(columns, options_and_jobs_that_do_not_fit)
{
    write_file("a.parquet", RATINGS);
    write_file("a.tsv", "x\t1\n");
    expect_failure(RUN("count-keys", "--csv", "a.parquet", "out"), GLINT_E_USAGE,
                   "--csv has no meaning with files of columns");
    expect_failure(RUN("sort", "--header", "a.parquet", "out"), GLINT_E_USAGE, "--header");
    expect_failure(RUN("grep", "tt", "a.parquet", "out"), GLINT_E_USAGE, "no lines to search");
    expect_failure(RUN("count-keys", "--record-form", "a.parquet", "out"), GLINT_E_USAGE,
                   "--record-form");
    expect_failure(RUN("wordcount", "a.parquet", "out"), GLINT_E_INPUT_FORMAT,
                   "a.parquet: it is a Parquet file");
    expect_failure(RUN("count-keys", "a.parquet,a.tsv", "out"), GLINT_E_INPUT_FORMAT,
                   "a.tsv: no file of columns");
    write_file("twice.parquet", HEAD "column a u\ncolumn a l\ngroup\n");
    expect_failure(RUN("sort", "--by", "a", "twice.parquet", "out"), GLINT_E_INPUT_FORMAT,
                   "two columns are named \"a\"");
    write_file("u.parquet", HEAD "column unwritable u\ngroup\nx\n");
    expect_failure(RUN("sort", "u.parquet", "out"), GLINT_E_OUTPUT_IO, "an unwritable column");
}

Test(columns, batches_of_a_column_that_no_file_has_are_an_error)
{
    write_file("a.parquet", RATINGS);
    struct context_config config = {0};
    test_job_config(&config);
    struct glint *g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    const char *const names[] = {"id", "vote"};
    cr_expect_not_null(glint_column_batches(g, "a.parquet", names, 1, 0));
    cr_expect_null(glint_column_batches(g, "a.parquet", names, 2, 0));
    cr_expect_eq(glint_error(g)->code, GLINT_E_BAD_VALUE);
    cr_expect_str_eq(glint_error(g)->cause, "a.parquet: no column is named \"vote\"; "
                                            "the columns of all files are: id, rating, votes");
    glint_destroy(g);
}

Test(columns, files_without_rows_or_columns)
{
    write_file("a.parquet", HEAD "column id u\ncolumn rating g\n");
    cr_assert_eq(RUN("count-keys", "a.parquet", "out"), 0, "%s", error.cause);
    expect_output("out", "");
    write_file("b.parquet", HEAD "group\n");
    expect_failure(RUN("count-keys", "b.parquet", "out"), GLINT_E_INPUT_FORMAT,
                   "it has no columns");
}
