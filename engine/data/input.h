/* Which files a job reads: a user's list of paths, made into files that exist and can be opened.
 *
 * Runs on the driver, before anything else, so that every bad path is reported at once. */
#ifndef GLINT_DATA_INPUT_H
#define GLINT_DATA_INPUT_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"

struct input_file {
    const char *path; /* in the list's arena */
    uint64_t size;
    int64_t mtime_ns;
    bool gzip; /* the name ends in .gz */
};

struct input_list {
    struct input_file *files;
    uint64_t count;
    uint64_t bytes; /* of all files, as they are on disk */
    uint64_t capacity;
    struct arena arena;
};

/* `paths`: files, folders and globs, separated by commas (a name with a comma in it can only be
 * reached by a glob or through its folder). Files of a folder, and matches of a glob, come sorted
 * by bytes; names that begin with _ or . are left out of both; a folder inside a folder is an
 * error, not descended into. A path that exists as it is written is no glob. Duplicates stay. `out`
 * is zeros before and needs input_list_fini in any case. Answers 0 or a code: INPUT_MISSING,
 * INPUT_DENIED, INPUT_KIND (the first bad path's; the cause lists all), INPUT_IO, SYSTEM,
 * NO_MEMORY. */
int input_list_make(struct env *env, const char *paths, struct input_list *out,
                    struct glint_error *error);
void input_list_fini(struct input_list *list);

/* The code for a system call on an input that failed with `error`, a negative errno. */
enum glint_code input_code(int error);

#endif
