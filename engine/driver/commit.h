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
 * a record of them, after which they are completed. Records are written with the
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

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/locked_dir.h"
#include "engine/glint.h"
#include "engine/input/remote_store.h"
#include "engine/records/pack.h"

#include <limits.h>
#include <stdbool.h>

/* ---- The outputs of a job in a store of objects: the second back end of the committer.
 *
 *   s3://BUCKET/OUT/part-00000-JOB    parts: uploads by tasks, not visible until they are completed
 *   s3://BUCKET/OUT/_glint-commit-JOB the commit record, while they are being completed
 *   s3://BUCKET/OUT/_SUCCESS          written last; it contains the job
 *
 * A store has no rename. So the record, one object, decides: once it is written the output will be
 * the new one, and every step after it can be repeated by every process. A job
 * that reads or writes there meanwhile sees the record: a reader ends with an error, a writer
 * finishes the commit first.
 *
 *   OPEN -> STARTED      [commit_objects_start: the record is written]
 *   STARTED -> OPEN      [commit_objects_roll_back: it is removed again]
 *   STARTED -> FINISHED  [commit_objects_finish: the uploads are completed, _SUCCESS is written,
 * the old parts are removed, then the record] OPEN, FINISHED -> freed, without uploads
 * [commit_objects_destroy]
 *
 * Driver thread, or a command's only one. */

/* The commit record of an output in a store: the object _glint-commit-JOB beside its parts. While
 * it exists, the output is neither the old nor the new one, and all that is left to do is in it: it
 * lists the uploads to complete, and the objects of the output that is replaced. Every user who may
 * write to the bucket can finish it, any number of times. Encoding and decoding are pure.
 *
 *   {"glint commit": 1, "job": "0123456789abcdef",
 *    "parts": [{"name": "part-00000-0123456789abcdef", "upload": ID, "size": 42, "etags": [...]}],
 *    "replaced": ["part-00000-fedcba9876543210"]} */

#define COMMIT_SUCCESS    "_SUCCESS"
#define COMMIT_NAME_BYTES 96u /* of what a job writes into an output in a store */

struct commit_part {
    char name[COMMIT_NAME_BYTES]; /* of the object, in the output */
    struct remote_upload upload;
};

/* Zeros are an empty one. */
struct commit_record {
    char job[REMOTE_JOB_DIGITS + 1];
    struct commit_part *parts;
    uint64_t part_count, part_capacity;
    char (*replaced)[COMMIT_NAME_BYTES];
    uint64_t replaced_count, replaced_capacity;
};

void commit_record_fini(struct commit_record *r);
/* Whether it is the name of a part of that job, as tasks name them; NULL: of any, or of none, as
 * directories have them. */
bool commit_name_is_part(const char *name, const char *job);
/* Appends it to `out`. Returns 0 or NO_MEMORY. */
int commit_record_encode(const struct commit_record *r, struct buffer *out,
                         struct glint_error *error);
/* Returns 0, or OUTPUT_EXISTS or NO_MEMORY with *error set: `name` says what is decoded. Only names
 * that a job of glint writes are accepted, so that no record makes others disappear. Call
 * commit_record_fini in any case. */
int commit_record_decode(struct glint_slice text, const char *name, struct commit_record *out,
                         struct glint_error *error);

/* What an output contains. */
struct commit_found {
    uint64_t parts;
    bool success;
    char foreign[2 * NAME_MAX]; /* the first entry that no job writes, perhaps cut; "": none */
};
/* Rejects an output that contains what no job writes, or parts without _SUCCESS. Returns 0 or
 * OUTPUT_EXISTS. */
int commit_reject_foreign(const struct commit_found *found, const char *shown, const char *hint,
                          struct glint_error *error);

struct commit_objects;

/* Finishes commits that other processes started there and did not finish. Without `overwrite` no
 * object may be there then; with it only those of jobs of glint. `url` is of s3, without slashes at
 * its end. Sets `attempts` to what tasks are told (input/remote_store.h). Returns 0, or a code as
 * commit_open_output, and *out is NULL then. */
int commit_objects_open(struct commit_objects **out, struct env *env, const char *url,
                        bool overwrite, uint64_t job, char *attempts, size_t attempts_capacity,
                        struct glint_error *error);
/* Adds the upload of a part: the next one that a task packed. Returns 0, PROTOCOL or NO_MEMORY. */
int commit_objects_add_part(struct commit_objects *o, const char *part, struct unpacker *uploads,
                            struct glint_error *error);
/* Aborts the uploads of attempts that were not added. */
void commit_objects_complete(struct commit_objects *o);
int commit_objects_start(struct commit_objects *o, struct glint_error *error);
/* Returns false if the record may still be there: the output may then be finished by others. */
bool commit_objects_roll_back(struct commit_objects *o);
/* After an error the record is still there, and it can be called again, by any process. */
int commit_objects_finish(struct commit_objects *o, struct glint_error *error);
/* Returns false if uploads may be left. Frees it. NULL is fine. */
bool commit_objects_destroy(struct commit_objects *o);

/* What jobs left that ended in the middle: glint clean. */
struct commit_objects_left {
    uint64_t finished, removed; /* commits */
    uint64_t aborted;           /* uploads */
};
/* Finishes the commits that were started at `url`, or without `finish` removes what they wrote,
 * unless all of it is visible already. Then aborts all uploads of parts there. No job may be
 * writing there. */
int commit_objects_clean(struct env *env, const char *url, bool finish,
                         struct commit_objects_left *out, struct glint_error *error);

/* ---- Parts that are directories of partitions, as saveAsPartitionedColumnFiles commits them: when
 * all are there, their files are moved to the directories of the output. Driver thread only. */

/* Levels of directories in such a part. */
#define COMMIT_PARTITION_LEVELS 8

/* Moves part-N/a=1/FILE to a=1/FILE, for all parts in the directory `name` of `dir` that are
 * directories, and removes these. `sync`: what is moved is on disk afterwards. `shown` is the
 * output's path, for messages. Returns 0, or OUTPUT_IO, PLAN_LIMIT (more than
 * GLINT_PARTITIONS_SAVED_MAX directories), NO_MEMORY. */
int commit_partitions_merge(struct env *env, int dir, const char *name, bool sync,
                            const char *shown, struct glint_error *error);

/* Attempt files are named PART.attempt-N. No part's name contains this mark, so a part and an
 * attempt are never confused. */
#define COMMIT_ATTEMPT_MARK ".attempt-"

/* PUBLISHED can be rolled back; KEPT is published for good. */
enum commit_state { COMMIT_OPEN, COMMIT_COMPLETE, COMMIT_PUBLISHED, COMMIT_KEPT, COMMIT_REMOVED };

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
        attempts[PATH_MAX]; /* path of attempts/, for tasks; in a store remote_store.h says what */
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
