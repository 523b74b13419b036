/* argp parses and formats. Arguments that it would accept but should not are rejected before: its
 * getopt accepts any unique prefix of a name, and prints errors in its own format. */
#include "engine/cli/options.h"

#include "engine/base/mem.h"
#include "engine/cli/print.h"
#include "engine/cli/suggest.h"

#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { KEY_FIRST = 0x1000 }; /* key of row r: KEY_FIRST + r; rows with a letter use it */

static const struct glint_job_option help_row = {"help", NULL, NULL, "print this help"};

static int row_letter(const struct glint_job_option *row)
{
    static const struct {
        const char *name;
        char letter;
    } letters[] = {{"help", 'h'}, {"quiet", 'q'}, {"verbose", 'v'}};
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        if (strcmp(row->name, letters[i].name) == 0) return letters[i].letter;
    return 0;
}

static uint32_t table_size(const struct glint_job_option *table)
{
    uint32_t n = 0;
    while (table != NULL && table[n].name != NULL) n++;
    return n;
}

const struct glint_job_option *cli_syntax_row(const struct cli_syntax *s, uint32_t n)
{
    uint32_t own = table_size(s->own), common = table_size(s->common);
    assert(own + common + 1 <= CLI_OPTIONS_MAX);
    if (n < own) return &s->own[n];
    if (n < own + common) return &s->common[n - own];
    return n == own + common ? &help_row : NULL;
}

const struct glint_job_option *cli_option_find(const struct glint_job_option *table,
                                               const char *name, size_t size)
{
    for (const struct glint_job_option *row = table; row != NULL && row->name != NULL; row++)
        if (strlen(row->name) == size && memcmp(row->name, name, size) == 0) return row;
    return NULL;
}

static const struct glint_job_option *find_long(const struct cli_syntax *s, const char *name,
                                                size_t size)
{
    const struct glint_job_option *row = cli_option_find(s->own, name, size);
    if (row == NULL) row = cli_option_find(s->common, name, size);
    bool help = size == strlen(help_row.name) && memcmp(name, help_row.name, size) == 0;
    return row == NULL && help ? &help_row : row;
}

static const struct glint_job_option *find_letter(const struct cli_syntax *s, char letter)
{
    const struct glint_job_option *row;
    for (uint32_t n = 0; (row = cli_syntax_row(s, n)) != NULL; n++)
        if (row_letter(row) == letter) return row;
    return NULL;
}

void cli_unknown_option(struct glint_error *error, const char *command, const char *option,
                        const char *suggest)
{
    char hint[128];
    if (suggest != NULL)
        snprintf(hint, sizeof hint, "did you mean --%s?  all options: %s --help", suggest, command);
    else
        snprintf(hint, sizeof hint, "all options: %s --help", command);
    error_set(error, GLINT_E_UNKNOWN_OPTION, hint, "%s has no option %s", command, option);
}

static void unknown_option(const struct cli_syntax *s, const char *option, const char *name,
                           struct glint_error *error)
{
    struct suggest suggest;
    const struct glint_job_option *row;
    suggest_init(&suggest, name);
    for (uint32_t n = 0; (row = cli_syntax_row(s, n)) != NULL; n++)
        if (row->help != NULL) suggest_offer(&suggest, row->name);
    cli_unknown_option(error, s->command, option, suggest.name);
}

/* Checks --name or --name=value. *takes_next: the value is the next argument. */
static bool check_long(const struct cli_syntax *s, const char *word, bool *takes_next,
                       struct glint_error *error)
{
    char name[128];
    const char *end = strchrnul(word, '=');
    snprintf(name, sizeof name, "%.*s", (int)(end - word - 2), word + 2);
    const struct glint_job_option *row = find_long(s, word + 2, (size_t)(end - word - 2));
    if (row == NULL) {
        char option[sizeof name + 2];
        snprintf(option, sizeof option, "--%s", name);
        unknown_option(s, option, name, error);
        return false;
    }
    if (row->value == NULL && *end == '=') {
        error_set(error, GLINT_E_USAGE, NULL, "--%s takes no value", row->name);
        return false;
    }
    *takes_next = row->value != NULL && *end == '\0';
    return true;
}

/* Checks -q or -qv. No option with a letter takes a value. */
static bool check_letters(const struct cli_syntax *s, const char *word, struct glint_error *error)
{
    for (const char *p = word + 1; *p != '\0'; p++) {
        const struct glint_job_option *row = find_letter(s, *p);
        assert(row == NULL || row->value == NULL);
        if (row != NULL) continue;
        unknown_option(s, word, word + 1, error);
        return false;
    }
    return true;
}

static bool check_words(const struct cli_syntax *s, int argc, char **argv,
                        struct glint_error *error)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *word = argv[i];
        bool takes_next = false;
        if (word[0] != '-' || word[1] == '\0') continue;
        bool sound = word[1] == '-' ? check_long(s, word, &takes_next, error)
                                    : check_letters(s, word, error);
        if (!sound) return false;
        if (takes_next && ++i == argc) {
            error_set(error, GLINT_E_USAGE, NULL, "%s needs a value", word);
            return false;
        }
    }
    return true;
}

static error_t on_word(int key, char *word, struct argp_state *state)
{
    struct cli_line *line = state->input;
    if (key == ARGP_KEY_ARG) {
        line->arguments[line->argument_count++] = word;
        return 0;
    }
    const struct glint_job_option *row;
    for (uint32_t n = 0; (row = cli_syntax_row(line->syntax, n)) != NULL; n++) {
        if (key != (int)(KEY_FIRST + n) && (key == 0 || key != row_letter(row))) continue;
        line->values[n] = row->value != NULL ? word : "true";
        if (row == &help_row) line->help = true;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

/* Converts the tables to argp's format; `out` has room for CLI_OPTIONS_MAX rows, two titles and the
 * end. With `texts`, help texts also show defaults. */
static bool make_options(const struct cli_syntax *s, struct argp_option *out, struct arena *texts)
{
    uint32_t own = table_size(s->own), shared = own + table_size(s->common);
    const struct glint_job_option *row;
    if (own > 0 && shared > own) {
        assert(s->common_title != NULL);
        *out++ = (struct argp_option){.doc = "Command options:", .group = 1};
        *out++ = (struct argp_option){.doc = s->common_title, .group = 2};
    }
    for (uint32_t n = 0; (row = cli_syntax_row(s, n)) != NULL; n++) {
        int letter = row_letter(row);
        *out = (struct argp_option){.name = row->name,
                                    .arg = row->value,
                                    .doc = row->help,
                                    .key = letter != 0 ? letter : (int)(KEY_FIRST + n),
                                    .flags = row->help == NULL ? OPTION_HIDDEN : 0,
                                    .group = n < own      ? 1
                                             : n < shared ? 2
                                                          : 3};
        if (texts != NULL && row->help != NULL && row->default_value != NULL) {
            size_t size = strlen(row->help) + strlen(row->default_value) + 16;
            char *text = arena_alloc(texts, size);
            if (text == NULL) return false;
            snprintf(text, size, "%s (default: %s)", row->help, row->default_value);
            out->doc = text;
        }
        out++;
    }
    *out = (struct argp_option){.name = NULL};
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
    assert(argc >= 1 && syntax->arguments_min <= syntax->arguments_max);
    *line = (struct cli_line){.syntax = syntax};
    if (!check_words(syntax, argc, argv, error)) return false;
    /* argp reorders its vector: give it a copy. */
    char **words = mem_alloc(2 * ((uint64_t)argc + 1) * sizeof *words);
    if (words == NULL) {
        error_no_memory(error);
        return false;
    }
    memcpy(words, argv, (size_t)argc * sizeof *words);
    words[argc] = NULL;
    line->arguments = mem_zalloc(((uint64_t)argc + 1) * sizeof *line->arguments);
    struct argp_option options[CLI_OPTIONS_MAX + 3];
    make_options(syntax, options, NULL);
    struct argp argp = {.options = options, .parser = on_word};
    /* argp must neither print nor exit: errors are reported in glint's own format. */
    unsigned flags = ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP | ARGP_IN_ORDER;
    int failed =
        line->arguments == NULL ? ENOMEM : argp_parse(&argp, argc, words, flags, NULL, line);
    mem_free(words);
    if (failed == ENOMEM)
        error_no_memory(error);
    else if (failed != 0)
        error_set(error, GLINT_E_USAGE, NULL, "%s: %s", syntax->command, strerror(failed));
    return failed == 0 && (line->help || check_count(line, error));
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
    if (parsed && !cli_syntax_help(syntax)) error_no_memory(&error);
    *status = error.code != GLINT_OK ? cli_fail(&error) : cli_flush_stdout(0);
    cli_line_fini(line);
    return false;
}

static uint32_t find_row(const struct cli_line *line, const char *name)
{
    const struct glint_job_option *row;
    for (uint32_t n = 0; (row = cli_syntax_row(line->syntax, n)) != NULL; n++)
        if (strcmp(row->name, name) == 0) return n;
    assert(0 && "the option is not in any table");
    return 0;
}

bool cli_line_has(const struct cli_line *line, const char *name)
{
    return line->values[find_row(line, name)] != NULL;
}

const char *cli_line_option(const struct cli_line *line, const char *name)
{
    uint32_t n = find_row(line, name);
    return line->values[n] != NULL ? line->values[n]
                                   : cli_syntax_row(line->syntax, n)->default_value;
}

bool cli_line_flag(const struct cli_line *line, const char *name)
{
    return cli_line_option(line, name) != NULL;
}

bool cli_syntax_help(const struct cli_syntax *s)
{
    struct arena texts = {.first = NULL};
    struct argp_option options[CLI_OPTIONS_MAX + 3];
    bool made = make_options(s, options, &texts);
    size_t size = strlen(s->summary) + (s->help != NULL ? strlen(s->help) : 0) + 8;
    char *doc = arena_alloc(&texts, size), command[256];
    if (made && doc != NULL) {
        /* \v separates the text before the options from the text after them. */
        snprintf(doc, size, "%s\v%s", s->summary, s->help != NULL ? s->help : "");
        snprintf(command, sizeof command, "%s", s->command);
        struct argp argp = {.options = options, .args_doc = s->arguments, .doc = doc};
        argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, command);
    }
    arena_fini(&texts);
    return made && doc != NULL;
}
