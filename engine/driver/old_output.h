/* Outputs that --overwrite replaces: only what glint has written, and nothing else, is removed.
 *
 * Name and file type decide what is glint's: a job writes _SUCCESS and parts, all regular files,
 * and directories like dt=2026-01-01 with parts and such directories in them (commit_partitions.h).
 * _SUCCESS is written last, so parts without it are not the output of a glint job that succeeded,
 * perhaps of another tool. Driver thread only. */
#ifndef GLINT_DRIVER_OLD_OUTPUT_H
#define GLINT_DRIVER_OLD_OUTPUT_H

#include "engine/base/env.h"
#include "engine/base/error.h"

#define OLD_OUTPUT_SUCCESS "_SUCCESS"

/* Checks whether the directory `name` in `dir` may be replaced. `shown` is its path for messages.
 * Returns 0; OUTPUT_EXISTS if it is a link, is or contains the current directory, contains a file
 * that is not glint's, or parts without _SUCCESS; OUTPUT_CREATE if it cannot be read. */
int old_output_check_replaceable(struct env *env, int dir, const char *name, const char *shown,
                                 struct glint_error *error);
/* Removes it file by file. A file that no glint job writes is kept, and so are the directories that
 * contain it. Returns 0 or the first negative errno. */
int old_output_remove(struct env *env, int dir, const char *name);

/* The files of an existing output. */
struct old_output_ids {
    struct old_output_id {
        uint64_t device, inode;
    } * items; /* sorted; free with mem_free */
    uint64_t count, capacity;
};
/* Lists them, but those with more than one hard link: removing this name keeps the file. An output
 * that does not exist has none. Returns 0 or a negative errno. */
int old_output_list_ids(struct env *env, const char *out, struct old_output_ids *ids);
bool old_output_has_id(const struct old_output_ids *ids, uint64_t device, uint64_t inode);

#endif
