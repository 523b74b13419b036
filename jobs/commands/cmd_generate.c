/* glint generate: random input, for tests and measurements. */
#include "engine/base/env.h"
#include "engine/base/mem.h"
#include "engine/cli/options.h"
#include "engine/cli/signals.h"
#include "jobs/commands/commands.h"
#include "jobs/commands/output_file.h"
#include "jobs/generate/names.h"
#include "jobs/generate/ratings.h"
#include "jobs/generate/words.h"

#include <string.h>

#define CHUNK_ROWS 32768u

/* A kind of table: its rows depend only on (seed, row), see jobs/generate. */
struct generated_table {
    uint64_t rows_max;
    uint32_t row_bytes_max;
    size_t (*header)(uint8_t *out, size_t capacity); /* NULL: no header */
    size_t (*format)(uint64_t seed, uint64_t first_row, uint64_t rows, uint8_t *out,
                     size_t capacity);
};

static const struct generated_table ratings_table = {RATINGS_ROWS_MAX, RATINGS_ROW_BYTES_MAX,
                                                     ratings_header, ratings_format_rows};
static const struct generated_table words_table = {WORDS_ROWS_MAX, WORDS_ROW_BYTES, NULL,
                                                   words_format_rows};
static const struct generated_table urls_table = {WORDS_ROWS_MAX, URLS_ROW_BYTES_MAX, NULL,
                                                  urls_format_rows};
static const struct generated_table names_table = {NAMES_ROWS_MAX, NAMES_ROW_BYTES_MAX, NULL,
                                                   names_format_rows};
static const struct generated_table visits_table = {WORDS_ROWS_MAX, VISITS_ROW_BYTES, NULL,
                                                    visits_format_rows};

struct generate {
    const struct generated_table *table;
    struct output_file out;
    uint64_t first, rows, seed;
    bool header;
    struct glint_error *error;
};

static int write_generated_rows(struct generate *g)
{
    const uint64_t capacity = (uint64_t)CHUNK_ROWS * g->table->row_bytes_max;
    uint8_t *chunk = mem_alloc(capacity);
    if (chunk == NULL) return error_no_memory(g->error);
    int code = GLINT_OK;
    if (g->header) code = output_file_write(&g->out, chunk, g->table->header(chunk, capacity));
    for (uint64_t row = 0; code == 0 && row < g->rows; row += CHUNK_ROWS) {
        uint64_t rows = g->rows - row < CHUNK_ROWS ? g->rows - row : CHUNK_ROWS;
        code = output_file_write(&g->out, chunk,
                                 g->table->format(g->seed, g->first + row, rows, chunk, capacity));
        enum glint_code stop = signals_pending();
        if (code == 0 && stop != 0)
            code = error_set(g->error, stop, NULL, "interrupted by a signal");
    }
    mem_free(chunk);
    return code;
}

static bool read_rows_option(const struct cli_line *line, const char *name, uint64_t max,
                             uint64_t *out, struct glint_error *error)
{
    const char *text = cli_line_option(line, name);
    uint64_t value = 0;
    bool sound = text[0] != '\0' && strlen(text) <= 20;
    for (const char *p = text; sound && *p != '\0'; p++) {
        sound = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(value, 10, &value) &&
                !__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
    }
    *out = value;
    if (sound && value <= max) return true;
    error_set(error, GLINT_E_BAD_VALUE, NULL, "--%s %s: it must be a whole number from 0 to %llu",
              name, text, (unsigned long long)max);
    return false;
}

static void write_table(const struct generated_table *table, const struct cli_line *line,
                        struct glint_error *error)
{
    const char *output = line->argument_count > 0 ? line->arguments[0] : NULL;
    struct generate g = {.table = table, .error = error};
    g.header = table->header != NULL && !cli_line_flag(line, "no-header");
    if (!read_rows_option(line, "skip", table->rows_max, &g.first, error) ||
        !read_rows_option(line, "rows", table->rows_max - g.first, &g.rows, error) ||
        !read_rows_option(line, "seed", UINT64_MAX, &g.seed, error))
        return;
    if (output_file_open(&g.out, env_real(), output, cli_line_flag(line, "overwrite"), error) == 0)
        output_file_close(&g.out, write_generated_rows(&g));
}

#define TABLE_OPTIONS(rows_)                                                                       \
    {"rows", "N", rows_, "rows of the table"},                                                     \
        {"skip", "N", "0", "skip the first N rows of the table"},                                  \
        {"seed", "S", "1", "seed of the random values"},                                           \
    {                                                                                              \
        "overwrite", NULL, NULL, "replace OUTPUT if it is a file"                                  \
    }
#define TABLE_HELP                                                                                 \
    "Without OUTPUT, or for -, rows go to standard output. The same rows and seed always give "    \
    "the same bytes."

static const struct glint_job_option ratings_options[] = {
    TABLE_OPTIONS("1250000"),
    {"no-header", NULL, NULL, "omit the header line"},
    {NULL, NULL, NULL, NULL}};
static const struct glint_job_option text_options[] = {TABLE_OPTIONS("1250000"),
                                                       {NULL, NULL, NULL, NULL}};
static const struct glint_job_option names_options[] = {TABLE_OPTIONS("1000"),
                                                        {NULL, NULL, NULL, NULL}};

static void write_ratings(const struct cli_line *line, struct glint_error *error)
{
    write_table(&ratings_table, line, error);
}

static const struct cli_command generate_ratings = {
    .name = "ratings",
    .summary = "a table of ratings, distributed as IMDb's",
    .syntax = {.command = "glint generate ratings",
               .summary = "Writes a random table of ratings: id, average rating, votes.",
               .help = TABLE_HELP,
               .arguments = "[OUTPUT]",
               .arguments_max = 1,
               .own = ratings_options},
    .execute = write_ratings};

static void write_words(const struct cli_line *line, struct glint_error *error)
{
    write_table(&words_table, line, error);
}

static const struct cli_command generate_words = {
    .name = "words",
    .summary = "pronounceable words of 30 letters",
    .syntax = {.command = "glint generate words",
               .summary = "Writes random words of 30 letters, one per line, without duplicates.",
               .help = TABLE_HELP,
               .arguments = "[OUTPUT]",
               .arguments_max = 1,
               .own = text_options},
    .execute = write_words};

static void write_urls(const struct cli_line *line, struct glint_error *error)
{
    write_table(&urls_table, line, error);
}

static const struct cli_command generate_urls = {
    .name = "urls",
    .summary = "URLs with a number each",
    .syntax = {.command = "glint generate urls",
               .summary =
                   "Writes random URLs with a number each: URL TAB NUMBER, without duplicate URLs.",
               .help = TABLE_HELP,
               .arguments = "[OUTPUT]",
               .arguments_max = 1,
               .own = text_options},
    .execute = write_urls};

static void write_names(const struct cli_line *line, struct glint_error *error)
{
    write_table(&names_table, line, error);
}

static const struct cli_command generate_names = {
    .name = "names",
    .summary = "names of two or three Chinese characters",
    .syntax = {.command = "glint generate names",
               .summary =
                   "Writes random names of two or three Chinese characters, without duplicates.",
               .help = TABLE_HELP " A seed gives at most 110,000.",
               .arguments = "[OUTPUT]",
               .arguments_max = 1,
               .own = names_options},
    .execute = write_names};

static void write_visits(const struct cli_line *line, struct glint_error *error)
{
    write_table(&visits_table, line, error);
}

static const struct cli_command generate_visits = {
    .name = "visits",
    .summary = "visits of users, as input of a join",
    .syntax =
        {.command = "glint generate visits",
         .summary =
             "Writes random visits of 10,000,000 users: USER TAB 40 letters, as input of a join.",
         .help = TABLE_HELP,
         .arguments = "[OUTPUT]",
         .arguments_max = 1,
         .own = text_options},
    .execute = write_visits};

static const struct cli_command *const generate_commands[] = {
    &generate_ratings, &generate_words, &generate_urls, &generate_names, &generate_visits, NULL};

const struct cli_command cmd_generate = {
    .name = "generate",
    .summary = "generate test input",
    .syntax = {.command = "glint generate", .summary = "Generates test input."},
    .commands = generate_commands};
