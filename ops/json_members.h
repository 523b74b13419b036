/* Paths in JSON that are in no line at the start of an input, as columns that no header has. */
#ifndef GLINT_OPS_JSON_MEMBERS_H
#define GLINT_OPS_JSON_MEMBERS_H

#include "engine/input/input.h"
#include "engine/plan/context.h"

/* Warns of paths of the list that the first lines of its first file do not have, with the members
 * that are there. Reads at most 64 KiB, nothing of URLs; a problem is left to tasks. Driver. */
void json_members_warn_of_missing_paths(struct glint *g, const struct input_list *list);

#endif
