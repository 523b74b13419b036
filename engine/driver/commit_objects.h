/* The outputs of a job in a store of objects: the second back end of the committer (commit.h).
 *
 *   s3://BUCKET/OUT/part-00000-JOB    parts: uploads by tasks, not visible until they are completed
 *   s3://BUCKET/OUT/_glint-commit-JOB the commit record, while they are being completed
 *   s3://BUCKET/OUT/_SUCCESS          written last; it contains the job
 *
 * A store has no rename. So the record, one object, decides: once it is written the output will be
 * the new one, and every step after it can be repeated by every process (commit_record.h). A job
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
#include "engine/records/pack.h"

#include <stdbool.h>

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
