/* Writes an object of S3 as an upload of parts, which is visible only when the driver completes it
 * with what remote_writer_pack says. One thread. */
#ifndef GLINT_INPUT_REMOTE_WRITER_H
#define GLINT_INPUT_REMOTE_WRITER_H

#include "engine/base/env.h"
#include "engine/input/remote_store.h"
#include "engine/limits.h"
#include "engine/records/pack.h"

/* ---- Names. What a task is told of an output in a store is its URL, a slash, and the job's number
 * as 16 hexadecimal digits; its part part-00007.gz is there part-00007-JOB.gz, so that outputs of
 * two jobs never have an object in common. */

#define REMOTE_JOB_DIGITS 16u

/* Whether the directory of attempts that a task is told is of a store. */
bool remote_output_is(const char *attempts);
/* Sets `out` to the URL of the part `part`. Returns false if it does not fit, or `attempts` is of
 * another form. */
bool remote_output_part(const char *attempts, const char *part, char *out, size_t capacity);
/* Returns the length of the name's first characters part-DIGITS, or 0; *out_job points to the
 * job's digits that may follow, or is NULL, *out_suffix to the rest. */
size_t remote_part_parse(const char *name, const char **out_job, const char **out_suffix);

/* The record of a commit that was started and is not finished (driver/commit.h) is the
 * object of this name and the job's digits, beside the parts. */
#define REMOTE_COMMIT_PREFIX "_glint-commit-"
bool remote_name_is_commit(const char *name);

/* ---- Uploads */

struct remote_writer;

/* The memory of a part, at first S3_PART_BYTES_MIN, grows to at most `memory_max`, which is not
 * less, as the object does. Begins the upload of `url`, which is copied. Returns 0, or a code as
 * remote_store.h has them, and *out is NULL then. */
int remote_writer_create(struct remote_writer **out, struct env *env, const char *url,
                         uint64_t memory_max, int cancelled, struct glint_error *error);
int remote_writer_write(struct remote_writer *w, const void *data, uint64_t size,
                        struct glint_error *error);
/* Sends the last part, which may be empty. */
int remote_writer_finish(struct remote_writer *w, struct glint_error *error);
/* Packs the finished upload, one field: an array of its id, the object's size, and the ETags of its
 * parts. */
void remote_writer_pack(const struct remote_writer *w, struct packer *p);
/* Aborts the upload unless `keep`. NULL is fine. */
void remote_writer_destroy(struct remote_writer *w, bool keep);

/* An upload that can be completed. */
struct remote_upload {
    char id[S3_UPLOAD_ID_BYTES];
    uint64_t size;
    struct store_upload_part *parts; /* free with mem_free */
    uint32_t part_count;
};
/* Reads what remote_writer_pack packed. Returns 0, PROTOCOL or NO_MEMORY; nothing is to be freed
 * then. */
int remote_upload_unpack(struct unpacker *u, struct remote_upload *out, struct glint_error *error);

#endif
