/* Outputs: how folders of results appear whole, and all together, or not at all.
 *
 * Beside OUT stands a hidden folder .OUT.glint-JOB while the job runs, locked by this process
 * (base/locked_dir.h); in it the output grows, and beside the output is the folder into which
 * tasks write attempt files. The driver alone keeps one attempt per partition, by renaming it to
 * its part. Once the folder of attempts is removed, which is before the output gets its name, an
 * executor that was given up for lost can add nothing to it. When the whole job has ended well,
 * each output gets its name by one rename, which puts what it replaces into the hidden folder;
 * where one of them cannot, those before it are taken back. Hidden folders whose lock nobody holds
 * any more are leftovers, whatever moment their job died at: the next job that writes to the same
 * OUT removes them.
 *
 *   OPEN      -> COMPLETE   [commit_complete_output: all parts, nothing else, _SUCCESS]
 *   COMPLETE  -> PUBLISHED  [commit_publish_all_or_none]
 *   PUBLISHED -> COMPLETE   [the same: taken back]
 *   OPEN, COMPLETE -> REMOVED  [commit_cleanup]
 *
 * Driver thread only. */
#ifndef GLINT_DRIVER_COMMIT_H
#define GLINT_DRIVER_COMMIT_H

#include "engine/base/locked_dir.h"
#include "engine/glint.h"

#include <limits.h>

/* Stands in the names of attempt files, between the part's name and the attempt, and in no part's.
 */
#define COMMIT_ATTEMPT_MARK ".attempt-"

enum commit_state { COMMIT_OPEN, COMMIT_COMPLETE, COMMIT_PUBLISHED, COMMIT_REMOVED };

struct commit {
    enum commit_state state;
    struct env *env;
    bool overwrite, sync;
    bool exchanged;         /* PUBLISHED: the hidden folder holds what stood at OUT before */
    bool rollback_failed;   /* PUBLISHED: it could not be taken back */
    bool reserved;          /* no action writes to it yet */
    uint32_t rdds_checked;  /* inputs of RDDs up to this one are none of its files */
    struct locked_dir lock; /* of the hidden folder; what the driver does there is by lock.dir */
    int parent;             /* sync: the folder that OUT stands in, open; else -1 */
    char out[PATH_MAX], hidden[PATH_MAX];
    char attempts[PATH_MAX]; /* in `hidden`: where tasks write */
    char parts[PATH_MAX];    /* in `hidden`: what is renamed to OUT */
};

struct commit_options {
    bool overwrite;
    bool no_sync; /* the disk is not waited for */
};

/* Refuses an existing OUT unless `overwrite`, and then what may not or cannot be replaced
 * (old_output.h); makes the hidden folder. On an error nothing is left. OUTPUT_EXISTS,
 * OUTPUT_CREATE, OUTPUT_FULL, SYSTEM. */
int commit_open_output(struct commit *c, struct env *env, const char *out,
                       struct commit_options options, uint64_t job, struct glint_error *error);
/* Refuses two outputs of one job that are one folder, however their paths are written, or of which
 * one lies within what the other replaces: the later would remove the earlier. OUTPUT_EXISTS. */
int commit_check_disjoint(const struct commit *a, const struct commit *b,
                          struct glint_error *error);
/* Is OUT this path, but for slashes at the end? */
bool commit_has_path(const struct commit *c, const char *path);
/* Keeps the attempt file `name` (a bare file name, made by a task) as the part `part`. `node` is
 * where it was made: PATH_NOT_SHARED if it is not here. OUTPUT_IO, PROTOCOL. */
int commit_task(struct commit *c, struct glint_slice name, const char *part, const char *node,
                struct glint_error *error);
/* Removes attempts that were not kept, and marks the output as whole. */
int commit_complete_output(struct commit *c, struct glint_error *error);
/* Publishes all of these that are complete, or none: then *error says why, and an output that could
 * not be taken back is still PUBLISHED. When it returns 0 the disk has them. Never replaces what
 * appeared at OUT meanwhile, unless `overwrite` and it is an output, too. */
int commit_publish_all_or_none(struct commit *const *commits, uint32_t count,
                               struct glint_error *error);
/* Removes what is not published: the whole output, or after `overwrite` what it has replaced, but
 * that stays if the new one should have been taken back. False: something could not be removed. */
bool commit_cleanup(struct commit *c);

#endif
