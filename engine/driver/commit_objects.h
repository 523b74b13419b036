/* The outputs of a job in a store of objects: the second back end of the committer (commit.h).
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
#ifndef GLINT_DRIVER_COMMIT_OBJECTS_H
#define GLINT_DRIVER_COMMIT_OBJECTS_H

#include "engine/base/env.h"
#include "engine/glint.h"
#include "engine/input/remote_writer.h"
#include "engine/records/pack.h"

#include <limits.h>
#include <stdbool.h>

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
 * its end. Sets `attempts` to what tasks are told (input/remote_writer.h). Returns 0, or a code as
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

#endif
