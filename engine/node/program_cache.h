/* Programs of other builds that this daemon has fetched from drivers: files named by their SHA-256
 * in a private directory, $XDG_CACHE_HOME/glint/programs (~/.cache if unset), mode 0700, shared by
 * the daemons of one user. It keeps PROGRAM_CACHE_FILES files of PROGRAM_CACHE_BYTES at most; those
 * used longest ago are removed first, but none that is in use: a file in use has a shared
 * lock. Loop thread; blocks on disk. */
#ifndef GLINT_NODE_PROGRAM_CACHE_H
#define GLINT_NODE_PROGRAM_CACHE_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/net/conn.h"
#include "engine/net/wire.h"

#include <limits.h>

#define PROGRAM_CACHE_FILES 8u
#define PROGRAM_CACHE_BYTES (1 * GIB)

/* A file of the cache that is in use, or is being written. */
struct program_file {
    int file; /* open and locked; -1: none */
    char path[PATH_MAX];
    bool temporary; /* being written: removed by program_file_close */
};
#define PROGRAM_FILE_NONE ((struct program_file){.file = -1})

/* Ends the use of a file. */
void program_file_close(struct env *env, struct program_file *f);

/* Gets the program of a driver whose build is not the daemon's own: from the cache
 * (program_cache.h), or from the driver, in chunks over the connection of its session. The complete
 * file is verified by its SHA-256 before it is used, in either case. Loop thread only; hashing is
 * done on libuv's thread pool. */
struct program_fetch;

/* Starts by asking the driver for the size and hash of its program. `done` is called once, from the
 * loop, unless program_fetch_release is called before: with the verified file, which the callee may
 * move to itself, or with *why. Returns NULL when out of memory. */
struct program_fetch *program_fetch_start(struct net *net, struct conn *conn, uint64_t fetch_ms,
                                          void (*done)(void *arg, struct program_file *file,
                                                       const struct glint_error *why),
                                          void *arg);
/* PROGRAM, and the responses to GET. */
int program_fetch_on_frame(struct program_fetch *p, const struct frame *f,
                           struct glint_slice payload, struct glint_error *error);
uint8_t *program_fetch_buffer_for(struct program_fetch *p, const struct frame *f);
void program_fetch_on_data(struct program_fetch *p, const struct frame *f);
/* Call when the connection has closed. The loop frees it. NULL is allowed. */
void program_fetch_release(struct program_fetch *p);

#endif
