/* One pass over the words. */
#include "engine/cli/options.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/cli/print.h"
#include "engine/cli/suggest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The placeholder of options that list columns. Of other options the last value counts; here it
 * would leave out columns that the user has named. */
#define COLUMNS "COLS"

static const struct glint_job_option help_row = {"help", NULL, NULL, "print this help"};

const struct glint_job_option cli_json_option[] = {{"json", NULL, NULL, "print one JSON object"},
                                                   {.name = NULL}};

char cli_option_letter(const struct glint_job_option *row)
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

const struct glint_job_option *cli_syntax_option(const struct cli_syntax *s, uint32_t n)
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
static uint32_t find_option_number(const struct cli_syntax *s, const char *name, size_t size,
                                   char letter)
{
    const struct glint_job_option *row;
    for (uint32_t n = 0; (row = cli_syntax_option(s, n)) != NULL; n++)
        if (name == NULL ? cli_option_letter(row) == letter
                         : strlen(row->name) == size && memcmp(row->name, name, size) == 0)
            return n;
    return CLI_OPTIONS_MAX;
}

const char *cli_option_alias(const struct cli_syntax *s, const struct glint_job_option *option)
{
    for (const struct cli_alias *a = s->aliases; a != NULL && a->alias != NULL; a++)
        if (strcmp(a->name, option->name) == 0 &&
            find_option_number(s, a->alias, strlen(a->alias), '\0') == CLI_OPTIONS_MAX)
            return a->alias;
    return NULL;
}

/* As find_option_number by name, also by the other name. */
static uint32_t find_option_by_name_or_alias(const struct cli_syntax *s, const char *name,
                                             size_t size)
{
    uint32_t n = find_option_number(s, name, size, '\0');
    for (const struct cli_alias *a = s->aliases;
         n == CLI_OPTIONS_MAX && a != NULL && a->alias != NULL; a++)
        if (strlen(a->alias) == size && memcmp(a->alias, name, size) == 0)
            n = find_option_number(s, a->name, strlen(a->name), '\0');
    return n;
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

bool cli_option_takes_next(const struct glint_job_option *option)
{
    return option->value != NULL && option->value[0] != '[';
}

bool cli_option_is_choice(const struct glint_job_option *option)
{
    const char *value = option->value;
    if (value == NULL || value[0] == '[' || strchr(value, '|') == NULL) return false;
    while (*value != '\0' && !(*value >= 'A' && *value <= 'Z')) value++;
    return *value == '\0';
}

void cli_option_choices(const struct glint_job_option *option, const char *last, char *out,
                        size_t capacity)
{
    assert(cli_option_is_choice(option));
    size_t used = 0;
    for (const char *p = option->value; *p != '\0' && used < capacity;) {
        const size_t size = strcspn(p, "|");
        const char *after = p[size] == '\0' ? "" : strchr(p + size + 1, '|') != NULL ? ", " : last;
        text_format(out + used, capacity - used, "%.*s%s", (int)size, p, after);
        used += strlen(out + used);
        p += size + (p[size] == '|');
    }
}

bool cli_choice_find(const char *list, const char *word, uint64_t *out)
{
    const size_t size = strlen(word);
    for (*out = 0;; ++*out) {
        const size_t n = strcspn(list, "|");
        if (n == size && memcmp(list, word, n) == 0) return true;
        if (list[n] == '\0') return false;
        list += n + 1;
    }
}

/* Checks the value of a command's or a job's own option; keys of the configuration have checks. */
static bool check_option_choice(const struct cli_syntax *s, const struct glint_job_option *row,
                                const char *value, struct glint_error *error)
{
    char hint[sizeof error->hint] = "use ";
    uint64_t at;
    if (value == NULL || !cli_option_is_choice(row) ||
        cli_option_find(s->own, row->name, strlen(row->name)) != row ||
        cli_choice_find(row->value, value, &at))
        return true;
    cli_option_choices(row, " or ", hint + strlen(hint), sizeof hint - strlen(hint));
    error_set(error, GLINT_E_BAD_VALUE, hint, "unknown --%s \"%s\"", row->name, value);
    return false;
}

/* Parses --name or --name=value; `next` is the word after it. *out_used_next: it is the value. */
static bool parse_long_option(struct cli_line *line, const char *word, const char *next,
                              bool *out_used_next, struct glint_error *error)
{
    const char *end = strchrnul(word, '=');
    size_t size = (size_t)(end - word);
    uint32_t n = find_option_by_name_or_alias(line->syntax, word + 2, size - 2);
    if (n == CLI_OPTIONS_MAX) {
        char option[128];
        text_format(option, sizeof option, "%.*s", (int)size, word);
        return unknown_option(line->syntax, option, error);
    }
    const struct glint_job_option *row = cli_syntax_option(line->syntax, n);
    const bool takes_value = row->value != NULL;
    const char *before = line->values[n];
    *out_used_next = cli_option_takes_next(row) && *end == '\0';
    line->values[n] = !takes_value                 ? "true"
                      : *end == '='                ? end + 1
                      : cli_option_takes_next(row) ? next
                                                   : "";
    line->given[line->given_count++] = (struct cli_given){n, line->values[n]};
    if (!takes_value && *end == '=')
        error_set(error, GLINT_E_USAGE, NULL, "%.*s takes no value", (int)size, word);
    else if (line->values[n] == NULL)
        error_set(error, GLINT_E_USAGE, NULL, "%s needs a value", word);
    else if (before != NULL && takes_value && strcmp(row->value, COLUMNS) == 0 &&
             strcmp(before, line->values[n]) != 0)
        error_set(error, GLINT_E_USAGE, "list all columns in one option, as in --by 1,3",
                  "--%s is given twice: %s and %s", row->name, before, line->values[n]);
    return error->code == GLINT_OK &&
           check_option_choice(line->syntax, row, line->values[n], error);
}

/* Parses -q or -qv. No option with a letter takes a value. */
static bool parse_letter_options(struct cli_line *line, const char *word, struct glint_error *error)
{
    for (const char *p = word + 1; *p != '\0'; p++) {
        uint32_t n = find_option_number(line->syntax, NULL, 0, *p);
        if (n == CLI_OPTIONS_MAX) return unknown_option(line->syntax, word, error);
        assert(cli_syntax_option(line->syntax, n)->value == NULL);
        line->values[n] = "true";
    }
    return true;
}

/* Whether one of the options of a list, as a|b, is given. */
static bool has_any_option(const struct cli_line *line, const char *names)
{
    char name[64];
    for (const char *at = names; *at != '\0';) {
        const size_t size = strcspn(at, "|");
        assert(size < sizeof name);
        memcpy(name, at, size);
        name[size] = '\0';
        if (cli_line_has(line, name)) return true;
        at += size + (at[size] == '|');
    }
    return false;
}

static bool check_argument_count(const struct cli_line *line, struct glint_error *error)
{
    const struct cli_syntax *s = line->syntax;
    const bool by_option = s->argument_option != NULL && cli_line_has(line, s->argument_option);
    const uint32_t n = line->argument_count + by_option;
    const bool all = s->optional_with != NULL && !has_any_option(line, s->optional_with);
    const uint32_t least = all ? s->arguments_max : s->arguments_min;
    if (n >= least && n <= s->arguments_max) return true;
    char usage[512];
    snprintf(usage, sizeof usage, "usage: %s [OPTION...]%s%s", s->command,
             s->arguments != NULL ? " " : "", s->arguments != NULL ? s->arguments : "");
    if (n > s->arguments_max)
        error_set(error, GLINT_E_USAGE, usage, "too many arguments: %s",
                  line->arguments[s->arguments_max - by_option]);
    else
        error_set(error, GLINT_E_USAGE, usage, "too few arguments: %u given, %u needed", n, least);
    return false;
}

bool cli_line_parse(struct cli_line *line, const struct cli_syntax *syntax, int argc, char **argv,
                    struct glint_error *error)
{
    bool ended = false; /* by -- */
    assert(argc >= 1 && syntax->arguments_min <= syntax->arguments_max);
    *line = (struct cli_line){.syntax = syntax};
    line->arguments = mem_zalloc(((uint64_t)argc + 1) * sizeof *line->arguments);
    line->given = mem_zalloc((uint64_t)argc * sizeof *line->given);
    if (line->arguments == NULL || line->given == NULL) {
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
            sound =
                parse_long_option(line, word, next < argc ? argv[next] : NULL, &used_next, error);
        else
            sound = parse_letter_options(line, word, error);
        if (!sound) return false;
        if (used_next) i = next;
    }
    line->help = cli_line_has(line, help_row.name);
    return line->help || check_argument_count(line, error);
}

void cli_line_fini(struct cli_line *line)
{
    if (line == NULL) return;
    mem_free(line->arguments);
    mem_free(line->given);
    line->arguments = NULL;
    line->given = NULL;
    line->argument_count = line->given_count = 0;
}

static uint32_t option_number_of(const struct cli_line *line, const char *name)
{
    uint32_t n = find_option_number(line->syntax, name, strlen(name), '\0');
    assert(n < CLI_OPTIONS_MAX); /* the option is in one of the tables */
    return n;
}

const char *cli_line_value(const struct cli_line *line, const char *name, uint32_t *at)
{
    const uint32_t row = option_number_of(line, name);
    while (*at < line->given_count) {
        const struct cli_given *given = &line->given[(*at)++];
        if (given->row == row) return given->value;
    }
    return NULL;
}

bool cli_line_has(const struct cli_line *line, const char *name)
{
    return line->values[option_number_of(line, name)] != NULL;
}

const char *cli_line_option(const struct cli_line *line, const char *name)
{
    uint32_t n = option_number_of(line, name);
    return line->values[n] != NULL ? line->values[n]
                                   : cli_syntax_option(line->syntax, n)->default_value;
}

bool cli_line_flag(const struct cli_line *line, const char *name)
{
    return cli_line_option(line, name) != NULL;
}
