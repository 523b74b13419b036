/* Messages for people on standard error, in one format:
 *
 *     error[E0102]: unknown option
 *       cause: glint submit count-keys has no --confg
 *       effect: ...
 *       hint: did you mean --config?
 *
 * Untrusted text (names, rows) is escaped: control characters and invalid UTF-8 appear as \xNN. */
#ifndef GLINT_CLI_PRINT_H
#define GLINT_CLI_PRINT_H

#include "engine/glint.h"

#include <stdio.h>

enum print_color { PRINT_COLOR_AUTO, PRINT_COLOR_ALWAYS, PRINT_COLOR_NEVER };

/* AUTO: only if standard error is a terminal, TERM is not "dumb" and NO_COLOR is empty. */
bool print_color_enabled(enum print_color color);
void print_error(FILE *out, const struct glint_error *error, bool color);
/* Prints escaped text; a newline is followed by `indent`. */
void print_escaped(FILE *out, const char *text, const char *indent);

/* What else has a meaning in a format, and is escaped: in quotes of Graphviz, in XML. */
enum print_format { PRINT_TERMINAL, PRINT_DOT, PRINT_XML };
/* Prints text as a part of this format; `indent` NULL: newlines are escaped, too. */
void print_text_for(FILE *out, enum print_format format, const char *text, const char *indent);

/* Sets the name of this program, "glint" by default; it is borrowed. */
void print_set_program_name(const char *name);
/* Copies `text` with the program's own name in the commands that every program has: "glint submit"
 * becomes "wordcount submit". Cuts it if it does not fit. */
void format_text_with_own_commands(char *out, size_t capacity, const char *text);

struct json;
/* Prints a complete object and a newline, and ends with json_fini. Returns false if the writer has
 * failed, having printed nothing. */
bool print_json_object(FILE *out, struct json *j);

/* Whether the error is a failed write to a pipe whose reader has ended, as with `| head`. That is
 * no failure of the command. */
bool cli_error_is_broken_pipe(const struct glint_error *error);
/* Prints the error to standard error and returns its exit status; 0, having printed nothing, if
 * cli_error_is_broken_pipe. */
int cli_fail(const struct glint_error *error);
/* Call it after printing to standard output. If output was lost, prints an error and returns
 * STDOUT_IO's exit status (a non-zero `status` takes precedence); otherwise returns `status`. */
int cli_flush_stdout(int status);

#endif
