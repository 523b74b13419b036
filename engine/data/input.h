/* Which files a job reads: a user's list of paths, made into files that exist and can be opened.
 *
 * Runs on the driver, before anything else, so that every bad path is reported at once. */
#ifndef GLINT_DATA_INPUT_H
#define GLINT_DATA_INPUT_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"

/* What the files are to hold. The first bytes of text are looked at: what is of another format is
 * refused (data/format.h). */
enum input_content { INPUT_TEXT, INPUT_BINARY };

struct input_file {
    const char *path;   /* in the list's arena; of a saved output's part: the one it will have */
    const char *stored; /* where that part is until then; NULL: at `path` */
    uint64_t size;
    int64_t mtime_ns;
    uint64_t device, inode;
    bool gzip; /* text: the name ends in .gz, or the first bytes say so */
};

/* A folder whose files are input, as it was named or matched. */
struct input_dir {
    const char *path; /* in the list's arena */
    uint64_t device, inode;
};

/* An output that the job has saved, and that is not published yet. */
struct saved_output {
    const char *path;      /* as the job named it */
    const char *directory; /* where its parts are; NULL: explain, nothing was written */
    uint32_t stage, parts; /* explain: the stage that would write it, and its tasks */
    const struct saved_output *next;
};

struct input_list {
    const struct saved_output *saved;      /* outputs of the job itself that paths may name */
    const struct saved_output **unwritten; /* explain: those of them that are input */
    uint32_t unwritten_count;
    struct input_file *files;
    uint64_t count;
    uint64_t bytes; /* of all files, as they are on disk */
    enum input_content content;
    bool header; /* the first line of each file is no row: the caller's choice, for the splits */
    uint64_t capacity;
    struct input_dir *dirs;
    uint64_t dir_count, dir_capacity;
    struct arena arena;
};

/* `paths`: files, folders, globs and file URLs of these (base/path.h), separated by commas. What
 * exists under the name as it is written is no list, no URL and no glob. Files of a folder, and
 * matches of a glob, come sorted by bytes; names that begin with _ or . are left out of both; a
 * folder inside a folder is an error, not descended into. Duplicates stay. The
 * path of one of out->saved is that output, whatever else has the name; its files are named as they
 * will be when it is published. `out` is zeros before, but for `saved`, and needs input_list_fini
 * in any case. Returns 0 or a code: INPUT_NOT_FOUND, INPUT_PERMISSION, INPUT_KIND, INPUT_FORMAT
 * (the first bad path's; the cause lists all), INPUT_IO, SYSTEM, NO_MEMORY. */
int input_list_resolve(struct env *env, const char *paths, enum input_content content,
                       struct input_list *out, struct glint_error *error);
void input_list_fini(struct input_list *list);

/* The code for a system call on an input that failed with `error`, a negative errno. */
enum glint_code input_error_code(int error);

#endif
