/* Outputs: how a folder of results appears whole or not at all.
 *
 * Beside OUT stands a hidden folder .OUT.glint-JOB while the job runs; its file `lock` is locked by
 * this process. Tasks write attempt files into it; the driver alone keeps one attempt per partition, by
 * renaming it to its part, and publishes the folder with one rename when the whole job has ended well.
 * Folders of jobs whose lock nobody holds any more are leftovers, removed by the next job that
 * writes to the same OUT.
 *
 *   OPEN -> COMPLETE [commit_complete: all parts are there, _SUCCESS is written]
 *   COMPLETE -> PUBLISHED [commit_publish]        OPEN, COMPLETE -> REMOVED [commit_discard]
 *
 * Driver thread only. */
#ifndef GLINT_DRIVER_COMMIT_H
#define GLINT_DRIVER_COMMIT_H

#include "engine/base/env.h"
#include "engine/glint.h"

#include <limits.h>

enum commit_state { COMMIT_OPEN, COMMIT_COMPLETE, COMMIT_PUBLISHED, COMMIT_REMOVED };

struct commit {
    enum commit_state state;
    struct env *env;
    bool overwrite;
    bool existed; /* OUT did, and may be replaced */
    int lock;
    char out[PATH_MAX], hidden[PATH_MAX];
};

/* Refuses an existing OUT unless `overwrite`; makes the hidden folder. On an error nothing is left.
 * OUTPUT_EXISTS, OUTPUT_CREATE, OUTPUT_FULL. */
int commit_open(struct commit *c, struct env *env, const char *out, bool overwrite, uint64_t job,
                struct glint_error *error);
/* Keeps the attempt file `name` (a bare file name, made by a task) as the part `part`. */
int commit_keep(struct commit *c, struct glint_slice name, const char *part,
                struct glint_error *error);
int commit_complete(struct commit *c, struct glint_error *error);
/* Never replaces what appeared at OUT meanwhile, unless `overwrite`. */
int commit_publish(struct commit *c, struct glint_error *error);
/* Removes what was not published. False: something could not be removed. */
bool commit_discard(struct commit *c);

#endif
