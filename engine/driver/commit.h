/* The output committer: all output directories of a job appear complete and together, or none does
 * (as Hadoop's OutputCommitter, with the driver as the only one that commits).
 *
 *   .OUT.glint-JOB/           hidden directory next to OUT, locked while the job runs
 *     .glint-lock             its lock (base/locked_dir.h)
 *     attempts/               attempt files, written by tasks on all nodes
 *     output/                 committed parts and _SUCCESS: this becomes OUT
 *
 * commit_task renames one attempt file per partition from attempts/ to output/. Only the driver
 * does this, so two attempts of a task can never both be committed. attempts/ is removed before
 * output/ is renamed to OUT, so an executor that was declared lost but still runs cannot add a file
 * to a published output. After the whole job has succeeded each output is published by one rename,
 * which exchanges output/ with the OUT that it replaces; if one fails, those before it are rolled
 * back. A hidden directory that is no longer locked is of a job that died, at whatever moment: the
 * next job that writes to the same OUT removes it.
 *
 * An output in a store of objects has no directory: its parts are uploads, and what is published is
 * a record of them, after which they are completed (commit_objects.h). Records are written with the
 * renames, all or none; then nothing is rolled back any more.
 *
 *   OPEN           -> COMPLETE   [commit_complete_output: all parts, no attempts, _SUCCESS]
 *   COMPLETE       -> PUBLISHED  [commit_publish_all_or_none]
 *   PUBLISHED      -> COMPLETE   [commit_publish_all_or_none: rolled back]
 *   OPEN, COMPLETE -> REMOVED    [commit_cleanup]
 *
 * Driver thread only. */
#ifndef GLINT_DRIVER_COMMIT_H
#define GLINT_DRIVER_COMMIT_H

#include "engine/base/locked_dir.h"
#include "engine/glint.h"
#include "engine/records/pack.h"

#include <limits.h>

/* Attempt files are named PART.attempt-N. No part's name contains this mark, so a part and an
 * attempt are never confused. */
#define COMMIT_ATTEMPT_MARK ".attempt-"

/* PUBLISHED can be rolled back; KEPT is published for good. */
enum commit_state { COMMIT_OPEN, COMMIT_COMPLETE, COMMIT_PUBLISHED, COMMIT_KEPT, COMMIT_REMOVED };

struct commit_objects;

/* One output of a job. */
struct commit {
    enum commit_state state;
    struct commit_objects *objects; /* it is in a store; NULL: a directory */
    struct env *env;
    bool overwrite, sync;
    bool exchanged;         /* PUBLISHED: output/ now contains the OUT that was replaced */
    bool rollback_failed;   /* PUBLISHED: the rollback failed, so the output is still at OUT */
    bool failed;            /* the action that writes it failed */
    bool reserved;          /* opened ahead (job_outputs_reserve); no action writes to it yet */
    uint32_t rdds_checked;  /* inputs of RDDs up to this id were checked for overlap */
    struct locked_dir lock; /* the hidden directory; the driver accesses it by lock.dir only */
    int parent;             /* sync: descriptor of the directory that contains OUT; else -1 */
    char out[PATH_MAX], hidden[PATH_MAX];
    char
        attempts[PATH_MAX]; /* path of attempts/, for tasks; in a store remote_writer.h says what */
    char parts[PATH_MAX];   /* path of output/; in a store its URL, which cannot be read yet */
};

struct commit_options {
    bool overwrite;
    bool no_sync;          /* no fsync */
    const uint32_t *group; /* of executors of another user, who write attempts; NULL: none */
};

/* Initializes `c` and creates the hidden directory. Without `overwrite` OUT must not exist; with it
 * OUT must be replaceable (commit.h), which is probed now and not after hours of work. Removes
 * hidden directories of dead jobs. Returns 0, or OUTPUT_EXISTS, OUTPUT_CREATE, OUTPUT_FULL, SYSTEM,
 * after which nothing is left on disk. */
int commit_open_output(struct commit *c, struct env *env, const char *out,
                       struct commit_options options, uint64_t job, struct glint_error *error);
/* Commits the attempt file `name` (a file name without directory, from a task), or the next of
 * its uploads, as the part `part`. `node` is the executor's node, for the message. Returns 0, or
 * PATH_NOT_SHARED if the file does not exist here (OUT is not on a file system shared by all
 * nodes), OUTPUT_IO, OUTPUT_CREATE, PROTOCOL. */
int commit_task(struct commit *c, struct glint_slice name, struct unpacker *uploads,
                const char *part, const char *node, struct glint_error *error);
/* Removes attempts/ with all attempts that were not committed, and writes _SUCCESS. Returns 0 or
 * OUTPUT_IO. */
int commit_complete_output(struct commit *c, struct glint_error *error);
/* Publishes all outputs that are COMPLETE, or none. On an error (OUTPUT_EXISTS, OUTPUT_IO,
 * OUTPUT_CREATE) an output that could not be rolled back is still PUBLISHED. When it returns 0 the
 * outputs are on disk (unless no_sync); those in a store are finished, or an error says that and
 * how they can be. A directory that appeared at OUT while the job ran is replaced only with
 * `overwrite`, and if it is an output of glint. */
int commit_publish_all_or_none(struct commit *const *commits, uint32_t count,
                               struct glint_error *error);
/* Removes the hidden directory: with the output if it is not published, or with the old output that
 * it replaced. The old output is kept if a rollback failed. Returns false if something could not be
 * removed. Any number of times. */
bool commit_cleanup(struct commit *c);

#endif
