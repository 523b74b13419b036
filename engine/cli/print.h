/* What a person reads on standard error, in one form:
 *
 *     error[E0102]: unknown option
 *       cause: glint submit count-keys has no --confg
 *       effect: ...
 *       hint: did you mean --config?
 *
 * Text from outside (names, rows) is made harmless for terminals: control characters and what is no
 * UTF-8 appear as \xNN. */
#ifndef GLINT_CLI_PRINT_H
#define GLINT_CLI_PRINT_H

#include "engine/glint.h"

#include <stdio.h>

enum print_color { PRINT_COLOR_AUTO, PRINT_COLOR_ALWAYS, PRINT_COLOR_NEVER };

/* AUTO: only where standard error is a terminal that is not dumb, and NO_COLOR is empty. */
bool print_color_enabled(enum print_color color);
void print_error(FILE *out, const struct glint_error *error, bool color);
/* `text` made harmless, as one line per line of it; `indent` stands before all lines but the first.
 */
void print_escaped(FILE *out, const char *text, const char *indent);

/* Prints the error on standard error and answers its exit status. A pipe whose reader has gone, as
 * by `| head`, is no news: of that nothing is printed. */
int cli_fail(const struct glint_error *error);
/* To be called at the end of whatever printed on standard output: where that text got lost, says so
 * and answers STDOUT_IO's exit status, else `status`. */
int cli_flush_stdout(int status);

#endif
