/* Writes to S3 or a store like it: requests, and objects as uploads of parts, which are visible
 * only when the driver completes them with what remote_writer_pack says. Requests are repeated as
 * those of remote_reader.h, and each may be: what it does twice it has done once. One thread. */
#ifndef GLINT_INPUT_REMOTE_STORE_H
#define GLINT_INPUT_REMOTE_STORE_H

#include "engine/base/env.h"
#include "engine/base/mem.h"
#include "engine/input/remote_list.h"
#include "engine/input/remote_target.h"
#include "engine/input/s3_reply.h"
#include "engine/limits.h"
#include "engine/records/pack.h"

/* A bucket, for requests about its objects. */
struct remote_store {
    struct env *env;
    const char *name; /* as messages show it, borrowed */
    struct remote_target target;
};

/* `url` names an object or directory of the bucket; it is borrowed. `cancelled` as in struct
 * remote_request. Returns 0, or OUTPUT_CREATE with *error set. Here and below, codes are of
 * outputs: OUTPUT_IO if a later attempt may succeed, OUTPUT_CREATE, NO_MEMORY, INTERRUPTED. */
int remote_store_init(struct remote_store *s, struct env *env, const char *url, int cancelled,
                      struct glint_error *error);

struct store_upload_part {
    char etag[REMOTE_VERSION_BYTES]; /* with quotes */
};

/* Writes a whole object. */
int remote_store_put(struct remote_store *s, const char *key, struct glint_slice content,
                     struct glint_error *error);
/* Appends a whole object to `out`. Returns INPUT_NOT_FOUND if it does not exist; *error is not set
 * then. */
int remote_store_get(struct remote_store *s, const char *key, uint64_t size_max, struct buffer *out,
                     struct glint_error *error);
/* Also if it does not exist. */
int remote_store_delete(struct remote_store *s, const char *key, struct glint_error *error);
/* Makes the parts an object. Returns INPUT_NOT_FOUND if there is no such upload, or not with these
 * parts: it was completed or aborted before; *error is not set then. */
int remote_store_complete_upload(struct remote_store *s, const char *key, const char *upload_id,
                                 const struct store_upload_part *parts, uint32_t count,
                                 struct glint_error *error);
/* Removes the parts, also if there is no such upload. */
int remote_store_abort_upload(struct remote_store *s, const char *key, const char *upload_id,
                              struct glint_error *error);
/* Calls `entry` for the uploads whose keys begin with `prefix`, until one returns non-zero, which
 * is returned; it must have set *error. */
int remote_store_list_uploads(struct remote_store *s, const char *prefix, s3_upload_call *entry,
                              void *arg, struct glint_error *error);
/* The same for objects, by what follows the prefix in their keys, up to the next slash: such common
 * prefixes are directories. */
int remote_store_list(struct remote_store *s, const char *prefix, listed_object_call *entry,
                      void *arg, struct glint_error *error);

/* ---- Names. What a task is told of an output in a store is its URL, a slash, and the job's number
 * as 16 hexadecimal digits; its part part-00007.gz is there part-00007-JOB.gz, so that outputs of
 * two jobs never have an object in common. */

#define REMOTE_JOB_DIGITS 16u

/* Whether the directory of attempts that a task is told is of a store. */
bool remote_output_is_in_store(const char *attempts);
/* Sets `out` to the URL of the part `part`. Returns false if it does not fit, or `attempts` is of
 * another form. */
bool remote_format_part_url(const char *attempts, const char *part, char *out, size_t capacity);
/* Returns the length of the name's first characters part-DIGITS, or 0; *out_job points to the
 * job's digits that may follow, or is NULL, *out_suffix to the rest. */
size_t remote_part_parse(const char *name, const char **out_job, const char **out_suffix);

/* The record of a commit that was started and is not finished (driver/commit.h) is the
 * object of this name and the job's digits, beside the parts. */
#define REMOTE_COMMIT_PREFIX "_glint-commit-"
bool remote_name_is_commit(const char *name);

/* ---- Writers: an object as an upload of parts */

struct remote_writer;

/* The memory of a part, at first S3_PART_BYTES_MIN, grows to at most `memory_max`, which is not
 * less, as the object does. Begins the upload of `url`, which is copied. Returns 0, or a code, and
 * *out is NULL then. */
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
