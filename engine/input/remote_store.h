/* Requests that write to S3 or a store like it. They are repeated as those of remote_reader.h, and
 * each may be: what it does twice it has done once. One thread. */
#ifndef GLINT_INPUT_REMOTE_STORE_H
#define GLINT_INPUT_REMOTE_STORE_H

#include "engine/base/env.h"
#include "engine/base/mem.h"
#include "engine/input/remote_list.h"
#include "engine/input/remote_target.h"
#include "engine/input/s3_reply.h"

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
/* Begins an upload of parts, which no reader sees before it is completed. */
int remote_store_create_upload(struct remote_store *s, const char *key,
                               char upload_id[S3_UPLOAD_ID_BYTES], struct glint_error *error);
/* Uploads a part, from 1 on. A part that exists is replaced. */
int remote_store_upload_part(struct remote_store *s, const char *key, const char *upload_id,
                             uint32_t number, struct glint_slice content,
                             struct store_upload_part *out, struct glint_error *error);
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

#endif
