/* See shared_library.h. */
#include "engine/base/shared_library.h"

#include <dlfcn.h>
#include <string.h>

static int load_library(const struct shared_library *l, struct glint_error *error)
{
    void *handle = dlopen(l->names[0], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL && l->names[1] != NULL)
        handle = dlopen(l->names[1], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return error_set(error, l->code, l->hint, "%s, which cannot be loaded: %s", l->purpose,
                         dlerror());
    for (size_t i = 0; i < l->symbol_count; i++) {
        void *symbol = dlsym(handle, l->symbols[i].name);
        if (symbol == NULL)
            return error_set(error, l->code, l->hint,
                             "%s, and the installed one is too old: it has no %s", l->purpose,
                             l->symbols[i].name);
        memcpy((char *)l->table + l->symbols[i].offset, &symbol, sizeof symbol);
    }
    return l->initialize != NULL ? l->initialize(error) : 0;
}

int shared_library_load(struct shared_library *l, struct glint_error *error)
{
    if (atomic_load_explicit(&l->loaded, memory_order_acquire)) return 0;
    pthread_mutex_lock(&l->lock);
    const int r = atomic_load(&l->loaded) ? 0 : load_library(l, error);
    if (r == 0) atomic_store_explicit(&l->loaded, true, memory_order_release);
    pthread_mutex_unlock(&l->lock);
    return r;
}
