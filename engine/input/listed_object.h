/* A name in a list of a store, with what the list says about it. */
#ifndef GLINT_INPUT_LISTED_OBJECT_H
#define GLINT_INPUT_LISTED_OBJECT_H

#include "engine/input/remote_reader.h"

struct listed_object {
    const char *name; /* borrowed during the call */
    bool is_directory;
    bool known; /* `identity` is set, as the object's own response would say it */
    struct remote_identity identity;
};

/* Called for each name; the first result that is not 0 ends the list. */
typedef int listed_object_call(void *arg, const struct listed_object *object);

#endif
