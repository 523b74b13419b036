/* One pass over the words. */
#include "engine/cli/options.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/cli/cli.h"
#include "engine/cli/print.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- Edit distance with three rows of the table, because a swap looks back two rows. A prefix of
 * a longer name counts as distance 1: abbreviations are rejected, but get a suggestion. */

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t suggest_distance(const char *a, const char *b)
{
    size_t rows = strnlen(a, SUGGEST_BYTES_MAX + 1), columns = strnlen(b, SUGGEST_BYTES_MAX + 1);
    if (rows > SUGGEST_BYTES_MAX || columns > SUGGEST_BYTES_MAX) return UINT32_MAX;
    uint32_t table[3][SUGGEST_BYTES_MAX + 1];
    for (size_t j = 0; j <= columns; j++) table[0][j] = (uint32_t)j;
    for (size_t i = 1; i <= rows; i++) {
        uint32_t *row = table[i % 3], *above = table[(i - 1) % 3], *two_above = table[(i + 1) % 3];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= columns; j++) {
            uint32_t changed = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = min_u32(changed, min_u32(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min_u32(row[j], two_above[j - 2] + 1);
        }
    }
    uint32_t distance = table[rows % 3][columns];
    assert(distance <= (rows > columns ? rows : columns));
    return distance;
}

void suggest_init(struct suggest *n, const char *wanted)
{
    assert(wanted != NULL);
    /* Accept about one error per three characters; beyond that it is another name. */
    uint32_t worst = (uint32_t)(strnlen(wanted, SUGGEST_BYTES_MAX) / 3) + 1;
    *n = (struct suggest){.wanted = wanted, .name = NULL, .distance = worst + 1};
}

void suggest_add_candidate(struct suggest *n, const char *candidate)
{
    assert(candidate != NULL);
    uint32_t distance = suggest_distance(n->wanted, candidate);
    size_t size = strlen(n->wanted);
    if (size >= 2 && distance > 1 && strncmp(n->wanted, candidate, size) == 0) distance = 1;
    if (distance >= n->distance) return;
    n->name = candidate;
    n->distance = distance;
}

/* The placeholder of options that list columns. Of other options the last value counts; here it
 * would leave out columns that the user has named. */
#define COLUMN_LIST "COLS"

static const struct glint_job_option help_row = {"help", NULL, NULL, "print this help"};

const struct glint_job_option cli_json_option[] = {{"json", NULL, NULL, "print one JSON object"},
                                                   {.name = NULL}};

/* Returns the letter that is short for an option: 'q'; 0: it has none. */
static char cli_option_letter(const struct glint_job_option *row)
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

/* Returns the n-th option: own, common, then --help, the last one; NULL after it. */
static const struct glint_job_option *cli_syntax_option(const struct cli_syntax *s, uint32_t n)
{
    const struct glint_job_option *const tables[] = {s->own, s->common};
    assert(n < CLI_OPTIONS_MAX);
    for (size_t i = 0; i < 2; i++)
        for (const struct glint_job_option *row = tables[i]; row != NULL && row->name != NULL;
             row++)
            if (n-- == 0) return row;
    return n == 0 ? &help_row : NULL;
}

static bool option_has_name_or_letter(const struct glint_job_option *row, const char *name,
                                      size_t size, char letter)
{
    if (name == NULL) return cli_option_letter(row) == letter;
    return strncmp(row->name, name, size) == 0 && row->name[size] == '\0';
}

/* Finds a row by its name of `size` bytes or, if that is NULL, by its letter. Returns its number,
 * as that of cli_syntax_option; CLI_OPTIONS_MAX if there is none. */
static uint32_t find_option_number(const struct cli_syntax *s, const char *name, size_t size,
                                   char letter)
{
    const struct glint_job_option *const tables[] = {s->own, s->common};
    uint32_t n = 0;
    for (size_t i = 0; i < 2; i++)
        for (const struct glint_job_option *row = tables[i]; row != NULL && row->name != NULL;
             row++, n++)
            if (option_has_name_or_letter(row, name, size, letter)) return n;
    return option_has_name_or_letter(&help_row, name, size, letter) ? n : CLI_OPTIONS_MAX;
}

/* Returns the other name of an option, or NULL. */
static const char *cli_option_alias(const struct cli_syntax *s,
                                    const struct glint_job_option *option)
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

/* Sets the error for an unknown option; `suggest` may be NULL. */
static void set_option_error_with_suggestion(struct glint_error *error, const char *command,
                                             const char *option, const char *suggest)
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

/* Offers the names of a table (may be NULL), except of hidden options. */
static void offer_option_names(struct suggest *suggest, const struct glint_job_option *table)
{
    for (; table != NULL && table->name != NULL; table++)
        if (table->help != NULL) suggest_add_candidate(suggest, table->name);
}

/* `option`: as given, with its dashes and without a value. */
static bool set_unknown_option_error(const struct cli_syntax *s, const char *option,
                                     struct glint_error *error)
{
    struct suggest suggest;
    suggest_init(&suggest, option + strspn(option, "-"));
    offer_option_names(&suggest, s->own);
    offer_option_names(&suggest, s->common);
    suggest_add_candidate(&suggest, help_row.name);
    set_option_error_with_suggestion(error, s->command, option, suggest.name);
    return false;
}

/* True if the option's value may be the next word. A placeholder in brackets is of a value that may
 * be left out, so it must follow after '='. */
static bool option_requires_value(const struct glint_job_option *option)
{
    return option->value != NULL && option->value[0] != '[';
}

/* Whether the placeholder lists all values, as in "text|int", as no other one does: the line
 * is checked to have one of them. */
static bool cli_option_is_choice(const struct glint_job_option *option)
{
    const char *value = option->value;
    if (value == NULL || value[0] == '[' || strchr(value, '|') == NULL) return false;
    while (*value != '\0' && !(*value >= 'A' && *value <= 'Z')) value++;
    return *value == '\0';
}

/* Writes its values with `last` between the last two: "text or int". */
static void cli_option_choices(const struct glint_job_option *option, const char *last, char *out,
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
        return set_unknown_option_error(line->syntax, option, error);
    }
    const struct glint_job_option *row = cli_syntax_option(line->syntax, n);
    const bool takes_value = row->value != NULL;
    const char *before = line->values[n];
    *out_used_next = option_requires_value(row) && *end == '\0';
    line->values[n] = !takes_value                 ? "true"
                      : *end == '='                ? end + 1
                      : option_requires_value(row) ? next
                                                   : "";
    line->given[line->given_count++] = (struct cli_given){n, line->values[n]};
    if (!takes_value && *end == '=')
        error_set(error, GLINT_E_USAGE, NULL, "%.*s takes no value", (int)size, word);
    else if (line->values[n] == NULL)
        error_set(error, GLINT_E_USAGE, NULL, "%s needs a value", word);
    else if (before != NULL && takes_value && strcmp(row->value, COLUMN_LIST) == 0 &&
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
        if (n == CLI_OPTIONS_MAX) return set_unknown_option_error(line->syntax, word, error);
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

/* ---- Help: one pass over a table for each format. A page's title is its command with dashes in
 * place of spaces, without the word "submit" before a job: `glint submit count-keys` is described
 * by glint-count-keys(1), and can be shortened in the same way. */

#define TEXT_BYTES_MAX  8192u
#define TITLE_BYTES_MAX 128u

enum {
    OPTION_COLUMN = 29,   /* where the texts of options begin */
    PLACEHOLDER_MAX = 40, /* bytes of a list of values there */
    COLUMNS = 79
};

static enum help_format help_format = HELP_TEXT; /* of all help that this process prints */

/* ---- Text */

/* Prints text, of which the first line begins at `column`; breaks long lines between words, and
 * indents all but the first. */
static void print_wrapped_text(const char *original, int column, int indent)
{
    char own[TEXT_BYTES_MAX];
    const char *text = own;
    format_text_with_own_commands(own, sizeof own, original);
    while (*text != '\0') {
        int length = (int)strcspn(text, "\n"), room = COLUMNS - column;
        if (length > room) {
            for (length = room; length > 0 && text[length] != ' ';) length--;
            if (length == 0) length = (int)strcspn(text, " \n"); /* a long word */
        }
        printf("%.*s\n", length, text);
        text += length + (text[length] != '\0');
        if (*text != '\0') printf("%*s", column = indent, "");
    }
}

/* Whether its values are listed in the text, since they are too many for a placeholder. */
static bool has_too_many_choices(const struct glint_job_option *row)
{
    return cli_option_is_choice(row) && strlen(row->value) > PLACEHOLDER_MAX;
}

static const char *option_placeholder(const struct glint_job_option *row)
{
    return has_too_many_choices(row) ? "NAME" : row->value;
}

/* `alias`: the option's other name, or NULL. */
static void format_option_text(char *out, size_t capacity, const struct glint_job_option *row,
                               const char *alias)
{
    char also[64] = "", names[256] = "";
    if (alias != NULL) text_format(also, sizeof also, "; also --%s", alias);
    if (has_too_many_choices(row)) {
        memcpy(names, ": ", sizeof ": ");
        cli_option_choices(row, ", ", names + 2, sizeof names - 2);
    }
    bool fits =
        text_format(out, capacity, row->default_value != NULL ? "%s%s%s (default: %s)" : "%s%s%s",
                    row->help, names, also, row->default_value);
    assert(fits);
}

static void print_option(const struct glint_job_option *row, const char *alias)
{
    char text[512], letter[] = {'-', cli_option_letter(row), ',', '\0'};
    const char *sign = row->value == NULL ? "" : option_requires_value(row) ? "=" : "[=";
    int column = printf("  %3s --%s%s%s", letter[1] != '\0' ? letter : "", row->name, sign,
                        row->value == NULL ? "" : option_placeholder(row) + (sign[0] == '['));
    int gap = column < OPTION_COLUMN ? OPTION_COLUMN - column : 3;
    format_option_text(text, sizeof text, row, alias);
    printf("%*s", gap, "");
    print_wrapped_text(text, column + gap, OPTION_COLUMN);
}

/* ---- Manual pages */

/* Prints text that roff does not interpret: no line of it is a request. A line break stays one. */
static void print_man_text(const char *text)
{
    char own[TEXT_BYTES_MAX];
    format_text_with_own_commands(own, sizeof own, text);
    for (const char *line = own; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        if (size == 0) printf(".PP");
        if (size > 0) printf("\\&");
        for (size_t i = 0; i < size; i++) {
            if (line[i] == '\\')
                printf("\\e");
            else /* a long list of choices may be broken */
                printf("%s%c%s", line[i] == '-' ? "\\" : "", line[i], line[i] == '|' ? "\\:" : "");
        }
        line += size;
        if (*line == '\n') line++;
        printf(*line != '\0' && *line != '\n' && size > 0 ? "\n.br\n" : "\n");
    }
}

static void print_man_option(const struct glint_job_option *row, const char *alias)
{
    char text[512];
    const char letter = cli_option_letter(row);
    printf(".TP\n");
    if (letter != '\0') printf("\\fB\\-%c\\fR, ", letter);
    printf("\\fB\\-\\-");
    for (const char *p = row->name; *p != '\0'; p++) printf("%s%c", *p == '-' ? "\\" : "", *p);
    if (row->value != NULL && row->value[0] == '[')
        printf("\\fR[=\\fI%.*s\\fR]\n", (int)strlen(row->value) - 2, row->value + 1);
    else
        printf(row->value != NULL ? "\\fR=\\fI%s\\fR\n" : "\\fR\n", option_placeholder(row));
    format_option_text(text, sizeof text, row, alias);
    print_man_text(text);
}

/* The description in NAME begins in lower case, and is one line without a full stop. */
static void print_man_header(const char *command, const char *summary)
{
    static const char submit[] = " submit ";
    char title[TITLE_BYTES_MAX], line[TITLE_BYTES_MAX];
    const char *word = strstr(command, submit);
    if (word != NULL)
        text_format(title, sizeof title, "%.*s %s", (int)(word - command), command,
                    word + sizeof submit - 1);
    else
        text_format(title, sizeof title, "%s", command);
    for (char *p = title; (p = strchr(p, ' ')) != NULL;) *p = '-';
    text_format(line, sizeof line, "%.*s", (int)strcspn(summary, ".:\n"), summary);
    line[0] = (char)tolower((unsigned char)line[0]);
    printf(".TH \"%s\" 1 \"\" \"%.*s %s\" \"User commands\"\n.SH NAME\n", title,
           (int)strcspn(command, " "), command, GLINT_VERSION);
    for (const char *p = title; *p != '\0'; p++) printf("%s%c", *p == '-' ? "\\" : "", *p);
    printf(" \\- ");
    print_man_text(line);
}

static void print_man_synopsis(const char *command, const char *arguments, const char *summary)
{
    printf(".SH SYNOPSIS\n.B ");
    print_man_text(command);
    print_man_text(arguments);
    printf(".SH DESCRIPTION\n");
    print_man_text(summary);
}

static void print_man_item(const char *name, const char *summary)
{
    printf(".TP\n.B ");
    print_man_text(name);
    print_man_text(summary);
}

/* ---- Words for completion */

static void print_completion_line(const char *name, const char *value, const char *summary)
{
    const char *dashes = value != NULL ? "--" : "";
    printf("%s%s%s%s\t%.*s\n", dashes, name, value != NULL && value[0] != '\0' ? "=" : "",
           value != NULL ? value : "", (int)strcspn(summary, "\n"), summary);
}

/* ---- Each in the format that is set */

static void print_one_option(const struct cli_syntax *s, const struct glint_job_option *row)
{
    const char *alias = cli_option_alias(s, row);
    const char *value = option_requires_value(row) ? row->value : "";
    switch (help_format) {
    case HELP_TEXT: print_option(row, alias); break;
    case HELP_MAN: print_man_option(row, alias); break;
    case HELP_WORDS:
        print_completion_line(row->name, value, row->help);
        if (alias != NULL) print_completion_line(alias, value, row->help);
        break;
    }
}

/* Prints the options from `begin` to `end` in alphabetical order, except hidden ones. Returns the
 * one after them, or --help, which is the last of all. */
static const struct glint_job_option *print_options(const struct cli_syntax *s, uint32_t begin,
                                                    uint32_t end)
{
    const struct glint_job_option *row, *after = NULL;
    for (const char *last = "";;) {
        const struct glint_job_option *next = NULL;
        for (uint32_t n = begin; n < end && (row = cli_syntax_option(s, n)) != NULL; n++) {
            if (cli_syntax_option(s, n + 1) == NULL) {
                after = row;
                break;
            }
            if (row->help != NULL && strcmp(row->name, last) > 0 &&
                (next == NULL || strcmp(row->name, next->name) < 0))
                next = row;
        }
        if (next == NULL) return after;
        print_one_option(s, next);
        last = next->name;
    }
}

void help_print_syntax(const struct cli_syntax *s)
{
    const bool text = help_format == HELP_TEXT, man = help_format == HELP_MAN;
    bool titles = s->own != NULL && s->common != NULL && s->common_title != NULL;
    const char *arguments = s->arguments != NULL ? s->arguments : "";
    char usage[512];
    uint32_t own = 0;
    while (titles && s->own[own].name != NULL) own++;
    text_format(usage, sizeof usage, "[OPTION...]%s%s", arguments[0] != '\0' ? " " : "", arguments);
    if (man) {
        print_man_header(s->command, s->summary);
        print_man_synopsis(s->command, usage, s->summary);
        if (s->help != NULL) printf(".PP\n");
        if (s->help != NULL) print_man_text(s->help);
        printf(".SH OPTIONS\n");
    } else if (text) {
        printf("Usage: %s %s\n", s->command, usage);
        print_wrapped_text(s->summary, 0, 0);
        printf(titles ? "\n Command options:\n" : "\n");
    }
    if (titles) print_options(s, 0, own);
    if (titles && text) printf("\n %s\n", s->common_title);
    if (titles && man) printf(".SS \"%s\"\n", s->common_title);
    const struct glint_job_option *help = print_options(s, own, CLI_OPTIONS_MAX);
    if (titles && text) putchar('\n');
    print_one_option(s, help);
    if (man)
        printf(".SH EXIT STATUS\n0 on success. An error message begins with a code, and the exit "
               "status follows from the code; see docs/errors.md.\n");
    if (!text || s->help == NULL) return;
    putchar('\n');
    print_wrapped_text(s->help, 0, 0);
}

static void print_help_item(const char *name, const char *summary, int width)
{
    char line[512];
    switch (help_format) {
    case HELP_TEXT:
        text_format(line, sizeof line, "  %-*s %s\n", width, name, summary);
        print_wrapped_text(line, 0, 0);
        break;
    case HELP_MAN: print_man_item(name, summary); break;
    case HELP_WORDS: print_completion_line(name, NULL, summary); break;
    }
}

void help_print_group(const struct cli_command *group)
{
    const struct cli_syntax *s = &group->syntax;
    if (help_format == HELP_MAN) {
        print_man_header(s->command, s->summary);
        print_man_synopsis(s->command, "COMMAND [ARGUMENT...] [OPTION...]", s->summary);
        printf(".SH COMMANDS\n");
    } else if (help_format == HELP_TEXT) {
        printf("Usage: %s COMMAND [ARGUMENT...] [OPTION...]\n%s\n\n", s->command, s->summary);
    }
    for (const struct cli_command *const *c = group->commands; *c != NULL; c++)
        print_help_item((*c)->name, (*c)->summary, 10);
    if (help_format == HELP_TEXT) printf("\nHelp for one of them: %s COMMAND --help\n", s->command);
}

void help_print_jobs(const struct cli_program *program)
{
    if (help_format == HELP_MAN) printf(".SH JOBS\n");
    if (help_format == HELP_TEXT)
        printf("\nJobs (%s submit JOB, or %s JOB for short):\n\n", program->name, program->name);
    for (uint32_t i = 0; program->jobs[i] != NULL; i++)
        print_help_item(program->jobs[i]->name, program->jobs[i]->summary, 16);
}

/* ---- glint help [--man|--words] [COMMAND|JOB [NAME]]: prints the same text as --help, a manual
 * page, or words for completion. */

enum { WORDS_MAX = 8 };

static const struct glint_job_option help_options[] = {
    {"man", NULL, NULL, "print a manual page, as in: glint help --man submit | man -l -"},
    {"words", NULL, NULL, "print the words that may follow, for completion"},
    {.name = NULL}};

static const struct cli_syntax help_syntax = {.command = "glint help",
                                              .summary =
                                                  "Describes a command or a job, as its --help.",
                                              .arguments = "[COMMAND|JOB [NAME]]",
                                              .own = help_options};

int help_print_own(const struct cli_program *program, const struct cli_syntax *syntax)
{
    char name[CLI_COMMAND_BYTES];
    struct cli_syntax own = *syntax;
    own.command = cli_own_command(program, syntax->command, name);
    help_print_syntax(&own);
    return cli_flush_stdout(0);
}

static int help_run(const struct cli_program *program, int argc, char **argv)
{
    static char help[] = "--help", submit[] = "submit";
    char *words[WORDS_MAX + 4];
    int count = 0, first = 1;
    const char *option = argc > 1 ? argv[1] : "";
    if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0)
        return help_print_own(program, &help_syntax);
    if (strcmp(option, "--man") == 0) help_format = HELP_MAN;
    if (strcmp(option, "--words") == 0) help_format = HELP_WORDS;
    if (help_format != HELP_TEXT) first = 2;
    words[count++] = argv[0];
    /* The help of a job is printed by submit. */
    for (uint32_t i = 0; argc > first && program->jobs[i] != NULL; i++)
        if (strcmp(program->jobs[i]->name, argv[first]) == 0) words[count++] = submit;
    for (int i = first; i < argc && i < first + WORDS_MAX; i++) words[count++] = argv[i];
    words[count++] = help;
    words[count] = NULL;
    return cli_run_words(program, count, words);
}

const struct cli_command cmd_help = {
    .name = "help", .summary = "describe a command or a job", .run = help_run};

bool cli_line_parse_or_report(struct cli_line *line, const struct cli_syntax *syntax, int argc,
                              char **argv, int *status)
{
    struct glint_error error = {.code = GLINT_OK};
    bool parsed = cli_line_parse(line, syntax, argc, argv, &error);
    if (parsed && !line->help) return true;
    if (parsed) help_print_syntax(syntax);
    *status = parsed ? cli_flush_stdout(0) : cli_fail(&error);
    cli_line_fini(line);
    return false;
}

/* ---- Finds the job's name on the command line. Before the job is known, it is unknown whether a
 * word is the value of an option: "--ratio 0.5" is an option and its value only for a job with that
 * option. So options before the name are looked up in the tables of all jobs; the line is then
 * parsed again with the job's own table. */

static const struct glint_job_option *
find_option_of_settings_or_jobs(const struct cli_program *program, const char *name, size_t size)
{
    const struct glint_job_option *row = cli_option_find(settings_option_table(), name, size);
    for (uint32_t i = 0; row == NULL && program->jobs[i] != NULL; i++)
        row = cli_option_find(program->jobs[i]->options, name, size);
    return row;
}

static void report_unknown_job_option(const struct cli_program *program, const char *command,
                                      const char *name, size_t size, struct glint_error *error)
{
    char option[128 + 2];
    text_format(option, sizeof option, "--%.*s", (int)size, name);
    struct suggest suggest;
    suggest_init(&suggest, option + 2);
    offer_option_names(&suggest, settings_option_table());
    for (uint32_t i = 0; program->jobs[i] != NULL; i++)
        offer_option_names(&suggest, program->jobs[i]->options);
    set_option_error_with_suggestion(error, command, option, suggest.name);
}

static const struct glint_job *find_job_by_name(const struct cli_program *program,
                                                const char *command, const char *name,
                                                struct glint_error *error)
{
    struct suggest suggest;
    suggest_init(&suggest, name);
    for (uint32_t i = 0; program->jobs[i] != NULL; i++) {
        if (strcmp(program->jobs[i]->name, name) == 0) return program->jobs[i];
        suggest_add_candidate(&suggest, program->jobs[i]->name);
    }
    char hint[128];
    if (suggest.name != NULL)
        snprintf(hint, sizeof hint, "did you mean %s?  all jobs: %s --help", suggest.name, command);
    else
        snprintf(hint, sizeof hint, "all jobs: %s --help", command);
    error_set(error, GLINT_E_UNKNOWN_JOB, hint, "unknown job %s", name);
    return NULL;
}

/* Returns true if the option's value is the next argument; false with *error set if no job has it.
 */
static bool option_takes_next_word(const struct cli_program *program, const char *command,
                                   const char *word, struct glint_error *error)
{
    assert(word[0] == '-' && word[1] == '-');
    const char *name = word + 2, *end = strchrnul(word, '=');
    size_t size = (size_t)(end - name);
    if (size == 4 && memcmp(name, "help", 4) == 0) return false;
    const struct glint_job_option *row = find_option_of_settings_or_jobs(program, name, size);
    if (row == NULL) report_unknown_job_option(program, command, name, size, error);
    return row != NULL && option_requires_value(row) && *end == '\0';
}

const struct glint_job *job_find(const struct cli_program *program, const char *command, int argc,
                                 char **argv, int *out_at, struct glint_error *error)
{
    bool help = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        bool ended = strcmp(word, "--") == 0;
        /* After "--" the next argument is the job, even if it starts with a dash. */
        if (ended && ++i == argc) break;
        if (ended || word[0] != '-') {
            *out_at = i;
            return find_job_by_name(program, command, argv[i], error);
        }
        help = help || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
        if (word[1] == '-' && option_takes_next_word(program, command, word, error)) i++;
        if (error->code != GLINT_OK) return NULL;
    }
    if (help) return NULL;
    char hint[128];
    snprintf(hint, sizeof hint, "usage: %s JOB ARGUMENTS... [OPTION...]", command);
    error_set(error, GLINT_E_USAGE, hint, "the job's name is missing");
    return NULL;
}
