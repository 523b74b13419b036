/* Splits a command into words by the quoting rules of POSIX shells, without a shell. */
#ifndef GLINT_JOBS_TEXT_COMMAND_WORDS_H
#define GLINT_JOBS_TEXT_COMMAND_WORDS_H

#include <stddef.h>

/* Writes the words of `command` to `out`, each followed by a NUL, and their addresses to `words`,
 * followed by NULL. `out` needs strlen(command) + 2 bytes, `words` strlen(command) / 2 + 2 places.
 * Returns NULL, or why the command cannot be split: a quote without end, no word, or a character
 * that only a shell interprets, such as |. Nothing is expanded: $, * and ~ are ordinary. */
const char *command_words_split(const char *command, char *out, char **words);

#endif
