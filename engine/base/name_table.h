/* Names of columns by number, found by hash: files can have thousands. One thread. */
#ifndef GLINT_BASE_NAME_TABLE_H
#define GLINT_BASE_NAME_TABLE_H

#include "engine/base/mem.h"

/* Zeros are empty. */
struct name_table {
    const char **names; /* in the order in which they were added; borrowed */
    uint32_t count;
    uint64_t capacity;
    uint32_t *slots; /* number + 1; 0: empty; at most half full */
    uint64_t slot_count;
};

/* The number of the name, or UINT32_MAX. */
uint32_t name_table_find(const struct name_table *t, const char *name);
/* Adds a name, which is kept by reference; an equal one keeps the number that is found. Returns
 * false when out of memory. */
bool name_table_add(struct name_table *t, const char *name);
void name_table_fini(struct name_table *t);

#endif
