/* "Did you mean": finds the name most similar to a misspelt one. Pure. */
#ifndef GLINT_CLI_SUGGEST_H
#define GLINT_CLI_SUGGEST_H

#include <stdint.h>

#define SUGGEST_BYTES_MAX 64u /* longer names get no suggestion */

/* Returns the edit distance: insertions, deletions, substitutions and swaps of adjacent characters.
 * UINT32_MAX if either name is too long. */
uint32_t suggest_distance(const char *a, const char *b);

/* Candidates are offered one by one, from any tables; the first of equally good ones is kept. */
struct suggest {
    const char *wanted;
    const char *name; /* best so far; NULL: none is similar enough */
    uint32_t distance;
};
/* Starts a search for `wanted`, which is borrowed. */
void suggest_init(struct suggest *n, const char *wanted);
void suggest_offer(struct suggest *n, const char *candidate);

#endif
