/* Shared libraries that a process loads when it first needs them: it starts without them, and the
 * system's updates of them need no new glint. */
#ifndef GLINT_BASE_SHARED_LIBRARY_H
#define GLINT_BASE_SHARED_LIBRARY_H

#include "engine/base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct shared_symbol {
    const char *name;
    size_t offset; /* of its address in the table */
};

/* A static variable of the file that owns the table; `lock` is PTHREAD_MUTEX_INITIALIZER. */
struct shared_library {
    const char *names[2]; /* files, with the ABI's version; the second if the first is missing */
    const char *purpose;  /* begins the cause of an error: "URLs are read with libcurl" */
    const char *hint;
    enum glint_code code; /* of errors */
    const struct shared_symbol *symbols;
    size_t symbol_count;
    void *table;                             /* of addresses; valid once the library is loaded */
    int (*initialize)(struct glint_error *); /* with the table; returns 0 or a code; may be NULL */
    pthread_mutex_t lock;
    atomic_bool loaded;
};

/* Loads the library once; it stays loaded. Returns 0 or error->code: it is missing, lacks a symbol,
 * or cannot be initialized. Any thread; blocks on disk the first time. */
int shared_library_load(struct shared_library *l, struct glint_error *error);

#endif
