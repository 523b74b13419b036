/* One pass over a table for each format. A page's title is its command with dashes in place of
 * spaces, without the word "submit" before a job: `glint submit count-keys` is described by
 * glint-count-keys(1), and can be shortened in the same way. */
#include "engine/cli/cli.h"

#include "engine/base/text.h"
#include "engine/cli/print.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES_MAX  8192u
#define TITLE_BYTES_MAX 128u

enum {
    OPTION_COLUMN = 29,   /* where the texts of options begin */
    PLACEHOLDER_MAX = 40, /* bytes of a list of values there */
    COLUMNS = 79
};

static enum help_format help_format = HELP_TEXT;

/* Sets the format of all help that this process prints; HELP_TEXT by default. */
static void help_set_format(enum help_format format)
{
    help_format = format;
}

/* ---- Text */

/* Prints text, of which the first line begins at `column`; breaks long lines between words, and
 * indents all but the first. */
static void print_wrapped_text(const char *original, int column, int indent)
{
    char own[TEXT_BYTES_MAX];
    const char *text = own;
    print_own_commands(own, sizeof own, original);
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
    const char *sign = row->value == NULL ? "" : cli_option_takes_next(row) ? "=" : "[=";
    int column = printf("  %3s --%s%s%s", letter[1] != '\0' ? letter : "", row->name, sign,
                        row->value == NULL ? "" : option_placeholder(row) + (sign[0] == '['));
    int gap = column < OPTION_COLUMN ? OPTION_COLUMN - column : 3;
    format_option_text(text, sizeof text, row, alias);
    printf("%*s", gap, "");
    print_wrapped_text(text, column + gap, OPTION_COLUMN);
}

/* ---- Manual pages */

/* Prints text that roff does not interpret: no line of it is a request. A line break stays one. */
static void man_text(const char *text)
{
    char own[TEXT_BYTES_MAX];
    print_own_commands(own, sizeof own, text);
    for (const char *line = own; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        if (size == 0) printf(".PP");
        if (size > 0) printf("\\&");
        for (size_t i = 0; i < size; i++) {
            if (line[i] == '\\')
                printf("\\e");
            else
                printf("%s%c", line[i] == '-' ? "\\" : "", line[i]);
        }
        line += size;
        if (*line == '\n') line++;
        printf(*line != '\0' && *line != '\n' && size > 0 ? "\n.br\n" : "\n");
    }
}

static void man_option(const struct glint_job_option *row, const char *alias)
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
    man_text(text);
}

/* The description in NAME begins in lower case, and is one line without a full stop. */
static void man_header(const char *command, const char *summary)
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
    man_text(line);
}

static void man_synopsis(const char *command, const char *arguments, const char *summary)
{
    printf(".SH SYNOPSIS\n.B ");
    man_text(command);
    man_text(arguments);
    printf(".SH DESCRIPTION\n");
    man_text(summary);
}

static void man_item(const char *name, const char *summary)
{
    printf(".TP\n.B ");
    man_text(name);
    man_text(summary);
}

static void man_footer(void)
{
    printf(".SH EXIT STATUS\n0 on success. An error message begins with a code, and the exit "
           "status follows from the code; see docs/errors.md.\n");
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
    const char *value = cli_option_takes_next(row) ? row->value : "";
    switch (help_format) {
    case HELP_TEXT: print_option(row, alias); break;
    case HELP_MAN: man_option(row, alias); break;
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
        man_header(s->command, s->summary);
        man_synopsis(s->command, usage, s->summary);
        if (s->help != NULL) printf(".PP\n");
        if (s->help != NULL) man_text(s->help);
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
    if (man) man_footer();
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
    case HELP_MAN: man_item(name, summary); break;
    case HELP_WORDS: print_completion_line(name, NULL, summary); break;
    }
}

void help_print_commands(const struct cli_command *group)
{
    const struct cli_syntax *s = &group->syntax;
    if (help_format == HELP_MAN) {
        man_header(s->command, s->summary);
        man_synopsis(s->command, "COMMAND [ARGUMENT...] [OPTION...]", s->summary);
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

static const struct glint_job_option options[] = {
    {"man", NULL, NULL, "print a manual page, as in: glint help --man submit | man -l -"},
    {"words", NULL, NULL, "print the words that may follow, for completion"},
    {.name = NULL}};

static int print_own_help(const struct cli_program *program)
{
    char name[CLI_COMMAND_BYTES];
    const struct cli_syntax syntax = {.command = cli_own_command(program, "glint help", name),
                                      .summary = "Describes a command or a job, as its --help.",
                                      .arguments = "[COMMAND|JOB [NAME]]",
                                      .own = options};
    help_print_syntax(&syntax);
    return cli_flush_stdout(0);
}

static int help_run(const struct cli_program *program, int argc, char **argv)
{
    static char help[] = "--help", submit[] = "submit";
    char *words[WORDS_MAX + 4];
    int count = 0, first = 1;
    const char *option = argc > 1 ? argv[1] : "";
    if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) return print_own_help(program);
    if (strcmp(option, "--man") == 0) help_set_format(HELP_MAN);
    if (strcmp(option, "--words") == 0) help_set_format(HELP_WORDS);
    if (strcmp(option, "--man") == 0 || strcmp(option, "--words") == 0) first = 2;
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
