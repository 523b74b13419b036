/* "Did you mean": the name that is nearest to a misspelt one. Pure. */
#ifndef GLINT_CLI_SUGGEST_H
#define GLINT_CLI_SUGGEST_H

#include <stdint.h>

#define SUGGEST_BYTES_MAX 64u /* longer names are near to nothing */

/* Inserted, left out, changed or swapped neighbouring characters that lead from a to b; UINT32_MAX
 * where either name is too long. */
uint32_t suggest_distance(const char *a, const char *b);

/* Candidates are offered one by one, from whatever tables they stand in; the first of equals stays.
 */
struct suggest {
    const char *wanted;
    const char *name; /* the best so far; NULL: nothing is near enough to be worth a guess */
    uint32_t distance;
};
void suggest_init(struct suggest *n, const char *wanted);
void suggest_offer(struct suggest *n, const char *candidate);

#endif
