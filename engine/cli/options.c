/* One pass over the words, and help made from the same tables. */
#include "engine/cli/options.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/cli/print.h"
#include "engine/cli/suggest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define HELP_BYTES_MAX 8192u

enum { HELP_COLUMN = 29, HELP_COLUMNS = 79 }; /* where the texts of options begin; width */

static const struct glint_job_option help_row = {"help", NULL, NULL, "print this help"};

const struct glint_job_option cli_json_option[] = {{"json", NULL, NULL, "print one JSON object"},
                                                   {.name = NULL}};

static char row_letter(const struct glint_job_option *row)
{
    static const char *const names[] = {"help", "quiet", "verbose"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(row->name, names[i]) == 0) return names[i][0];
    return '\0';
}

const struct glint_job_option *cli_option_find(const struct glint_job_option *table,
                                               const char *name, size_t size)
{
    for (const struct glint_job_option *row = table; row != NULL && row->name != NULL; row++)
        if (strlen(row->name) == size && memcmp(row->name, name, size) == 0) return row;
    return NULL;
}

/* Returns the n-th row over all tables; NULL after the last, which is --help. */
static const struct glint_job_option *row_at(const struct cli_syntax *s, uint32_t n)
{
    const struct glint_job_option *const tables[] = {s->own, s->common};
    assert(n < CLI_OPTIONS_MAX);
    for (size_t i = 0; i < 2; i++)
        for (const struct glint_job_option *row = tables[i]; row != NULL && row->name != NULL;
             row++)
            if (n-- == 0) return row;
    return n == 0 ? &help_row : NULL;
}

/* Finds a row by its name of `size` bytes or, if that is NULL, by its letter. Returns its number;
 * CLI_OPTIONS_MAX if there is none. */
static uint32_t find_row(const struct cli_syntax *s, const char *name, size_t size, char letter)
{
    const struct glint_job_option *row;
    for (uint32_t n = 0; (row = row_at(s, n)) != NULL; n++)
        if (name == NULL ? row_letter(row) == letter
                         : strlen(row->name) == size && memcmp(row->name, name, size) == 0)
            return n;
    return CLI_OPTIONS_MAX;
}

void cli_unknown_option(struct glint_error *error, const char *command, const char *option,
                        const char *suggest)
{
    char hint[128];
    if (strcmp(option, "--on") == 0)
        text_format(hint, sizeof hint, "it is the first option: glint submit --on ENGINE JOB");
    else if (suggest != NULL)
        snprintf(hint, sizeof hint, "did you mean --%s?  all options: %s --help", suggest, command);
    else
        snprintf(hint, sizeof hint, "all options: %s --help", command);
    error_set(error, GLINT_E_UNKNOWN_OPTION, hint, "%s has no option %s", command, option);
}

void cli_offer_options(struct suggest *suggest, const struct glint_job_option *table)
{
    for (; table != NULL && table->name != NULL; table++)
        if (table->help != NULL) suggest_offer(suggest, table->name);
}

/* `option`: as given, with its dashes and without a value. */
static bool unknown_option(const struct cli_syntax *s, const char *option,
                           struct glint_error *error)
{
    struct suggest suggest;
    suggest_init(&suggest, option + strspn(option, "-"));
    cli_offer_options(&suggest, s->own);
    cli_offer_options(&suggest, s->common);
    suggest_offer(&suggest, help_row.name);
    cli_unknown_option(error, s->command, option, suggest.name);
    return false;
}

/* Parses --name or --name=value; `next` is the word after it. *out_used_next: it is the value. */
static bool parse_long(struct cli_line *line, const char *word, const char *next,
                       bool *out_used_next, struct glint_error *error)
{
    const char *end = strchrnul(word, '=');
    size_t size = (size_t)(end - word);
    uint32_t n = find_row(line->syntax, word + 2, size - 2, '\0');
    if (n == CLI_OPTIONS_MAX) {
        char option[128];
        text_format(option, sizeof option, "%.*s", (int)size, word);
        return unknown_option(line->syntax, option, error);
    }
    bool takes_value = row_at(line->syntax, n)->value != NULL;
    *out_used_next = takes_value && *end == '\0';
    line->values[n] = !takes_value ? "true" : *end == '=' ? end + 1 : next;
    if (!takes_value && *end == '=')
        error_set(error, GLINT_E_USAGE, NULL, "%.*s takes no value", (int)size, word);
    else if (line->values[n] == NULL)
        error_set(error, GLINT_E_USAGE, NULL, "%s needs a value", word);
    return error->code == GLINT_OK;
}

/* Parses -q or -qv. No option with a letter takes a value. */
static bool parse_letters(struct cli_line *line, const char *word, struct glint_error *error)
{
    for (const char *p = word + 1; *p != '\0'; p++) {
        uint32_t n = find_row(line->syntax, NULL, 0, *p);
        if (n == CLI_OPTIONS_MAX) return unknown_option(line->syntax, word, error);
        assert(row_at(line->syntax, n)->value == NULL);
        line->values[n] = "true";
    }
    return true;
}

static bool check_count(const struct cli_line *line, struct glint_error *error)
{
    const struct cli_syntax *s = line->syntax;
    uint32_t n = line->argument_count;
    if (n >= s->arguments_min && n <= s->arguments_max) return true;
    char usage[512];
    snprintf(usage, sizeof usage, "usage: %s [OPTION...]%s%s", s->command,
             s->arguments != NULL ? " " : "", s->arguments != NULL ? s->arguments : "");
    if (n > s->arguments_max)
        error_set(error, GLINT_E_USAGE, usage, "too many arguments: %s",
                  line->arguments[s->arguments_max]);
    else
        error_set(error, GLINT_E_USAGE, usage, "too few arguments: %u given, %u needed", n,
                  s->arguments_min);
    return false;
}

bool cli_line_parse(struct cli_line *line, const struct cli_syntax *syntax, int argc, char **argv,
                    struct glint_error *error)
{
    bool ended = false; /* by -- */
    assert(argc >= 1 && syntax->arguments_min <= syntax->arguments_max);
    *line = (struct cli_line){.syntax = syntax};
    line->arguments = mem_zalloc(((uint64_t)argc + 1) * sizeof *line->arguments);
    if (line->arguments == NULL) {
        error_no_memory(error);
        return false;
    }
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        bool used_next = false, sound = true;
        int next = i + 1 == syntax->skip ? i + 2 : i + 1;
        if (i == syntax->skip) continue;
        if (ended || word[0] != '-' || word[1] == '\0')
            line->arguments[line->argument_count++] = word;
        else if (strcmp(word, "--") == 0)
            ended = true;
        else if (word[1] == '-')
            sound = parse_long(line, word, next < argc ? argv[next] : NULL, &used_next, error);
        else
            sound = parse_letters(line, word, error);
        if (!sound) return false;
        if (used_next) i = next;
    }
    line->help = cli_line_has(line, help_row.name);
    return line->help || check_count(line, error);
}

void cli_line_fini(struct cli_line *line)
{
    if (line == NULL) return;
    mem_free(line->arguments);
    line->arguments = NULL;
    line->argument_count = 0;
}

bool cli_line_parse_or_report(struct cli_line *line, const struct cli_syntax *syntax, int argc,
                              char **argv, int *status)
{
    struct glint_error error = {.code = GLINT_OK};
    bool parsed = cli_line_parse(line, syntax, argc, argv, &error);
    if (parsed && !line->help) return true;
    if (parsed) cli_syntax_help(syntax);
    *status = parsed ? cli_flush_stdout(0) : cli_fail(&error);
    cli_line_fini(line);
    return false;
}

static uint32_t number_of(const struct cli_line *line, const char *name)
{
    uint32_t n = find_row(line->syntax, name, strlen(name), '\0');
    assert(n < CLI_OPTIONS_MAX); /* the option is in one of the tables */
    return n;
}

bool cli_line_has(const struct cli_line *line, const char *name)
{
    return line->values[number_of(line, name)] != NULL;
}

const char *cli_line_option(const struct cli_line *line, const char *name)
{
    uint32_t n = number_of(line, name);
    return line->values[n] != NULL ? line->values[n] : row_at(line->syntax, n)->default_value;
}

bool cli_line_flag(const struct cli_line *line, const char *name)
{
    return cli_line_option(line, name) != NULL;
}

/* ---- Help */

void cli_print_wrapped(const char *original, int column, int indent)
{
    char own[HELP_BYTES_MAX];
    const char *text = own;
    print_own_commands(own, sizeof own, original);
    while (*text != '\0') {
        int length = (int)strcspn(text, "\n"), room = HELP_COLUMNS - column;
        if (length > room) {
            for (length = room; length > 0 && text[length] != ' ';) length--;
            if (length == 0) length = (int)strcspn(text, " \n"); /* a long word */
        }
        printf("%.*s\n", length, text);
        text += length + (text[length] != '\0');
        if (*text != '\0') printf("%*s", column = indent, "");
    }
}

static void print_row(const struct glint_job_option *row)
{
    char text[512], letter[] = {'-', row_letter(row), ',', '\0'};
    bool has_default = row->default_value != NULL;
    int column = printf("  %3s --%s%s%s", letter[1] != '\0' ? letter : "", row->name,
                        row->value != NULL ? "=" : "", row->value != NULL ? row->value : "");
    int gap = column < HELP_COLUMN ? HELP_COLUMN - column : 3;
    bool fits = text_format(text, sizeof text, has_default ? "%s (default: %s)" : "%s", row->help,
                            row->default_value);
    assert(fits);
    printf("%*s", gap, "");
    cli_print_wrapped(text, column + gap, HELP_COLUMN);
}

/* Prints the rows from `begin` to `end` in alphabetical order, except hidden ones. */
static void print_rows(const struct cli_syntax *s, uint32_t begin, uint32_t end)
{
    for (const char *last = "";;) {
        const struct glint_job_option *next = NULL, *row;
        for (uint32_t n = begin; n < end && (row = row_at(s, n)) != &help_row; n++)
            if (row->help != NULL && strcmp(row->name, last) > 0 &&
                (next == NULL || strcmp(row->name, next->name) < 0))
                next = row;
        if (next == NULL) return;
        print_row(next);
        last = next->name;
    }
}

void cli_syntax_help(const struct cli_syntax *s)
{
    bool titles = s->own != NULL && s->common != NULL && s->common_title != NULL;
    uint32_t own = 0;
    while (titles && s->own[own].name != NULL) own++;
    printf("Usage: %s [OPTION...]%s%s\n", s->command, s->arguments != NULL ? " " : "",
           s->arguments != NULL ? s->arguments : "");
    cli_print_wrapped(s->summary, 0, 0);
    printf(titles ? "\n Command options:\n" : "\n");
    print_rows(s, 0, own);
    if (titles) printf("\n %s\n", s->common_title);
    print_rows(s, own, CLI_OPTIONS_MAX);
    if (titles) putchar('\n');
    print_row(&help_row);
    if (s->help == NULL) return;
    putchar('\n');
    cli_print_wrapped(s->help, 0, 0);
}
