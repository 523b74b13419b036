/* "Did you mean": the name that is nearest to a misspelt one. Pure. */
#ifndef GLINT_CLI_NEAREST_H
#define GLINT_CLI_NEAREST_H

#include <stdint.h>

#define NEAREST_BYTES_MAX 64u /* longer names are near to nothing */

/* Inserted, left out, changed or swapped neighbouring characters that lead from a to b; UINT32_MAX
 * where either name is too long. */
uint32_t nearest_distance(const char *a, const char *b);

/* Candidates are offered one by one, from whatever tables they stand in; the first of equals stays.
 */
struct nearest {
    const char *wanted;
    const char *name; /* the best so far; NULL: nothing is near enough to be worth a guess */
    uint32_t distance;
};
void nearest_init(struct nearest *n, const char *wanted);
void nearest_offer(struct nearest *n, const char *candidate);

#endif
