/* What a URL means for HTTP: the URL that is requested, and how requests are signed. The URLs of
 * stores (s3, webhdfs) are translated here. Credentials are those of this process: from its
 * environment or its user's files. Any thread. */
#ifndef GLINT_INPUT_REMOTE_TARGET_H
#define GLINT_INPUT_REMOTE_TARGET_H

#include "engine/base/env.h"
#include "engine/base/mem.h"
#include "engine/input/remote_transfer.h"
#include "engine/input/remote_url.h"

#define REMOTE_URL_BYTES 8192u

struct remote_target {
    enum remote_kind kind;
    struct env *env;
    const char *url;             /* as given, borrowed */
    int cancelled;               /* of the requests */
    char base[REMOTE_URL_BYTES]; /* http: "" (it is `url`); s3: of the bucket; webhdfs: of the path,
                                  * up to the ? of the query */
    struct remote_signature signature;
    int64_t expires_ns;             /* of the signature's credentials, Unix time; 0: never */
    char request[REMOTE_URL_BYTES]; /* the last one that was made */
};

/* Returns 0, or a code with *error set: INPUT_URL if it is too long, or has no bucket. `name` is
 * for messages; `cancelled` as in struct remote_request. */
int remote_target_init(struct remote_target *t, struct env *env, const char *url, const char *name,
                       int cancelled, struct glint_error *error);
/* Sets INPUT_URL: "name: what". Returns the code. */
int remote_set_url_error(const char *name, const char *what, struct glint_error *error);
/* Sets *out to the request of bytes [from, to) of the object, which is valid until the next one;
 * to == 0: all. Returns false if the URL is too long. */
bool remote_target_object(struct remote_target *t, uint64_t from, uint64_t to,
                          struct remote_request *out);
/* Sets *out to a request about the path, with this query. */
bool remote_target_query(struct remote_target *t, const char *query, struct remote_request *out);
/* Sets *out to a request of S3 about an object of the bucket, whose parameters are in the order of
 * their names; "": without a query. */
bool remote_target_key(struct remote_target *t, const char *key, const char *query,
                       struct remote_request *out);

/* remote_response.c: small responses as a whole: lists of objects, and descriptions of files. */
/* Appends the response to the query to `out`, with retries. Returns 0 or a code with *error set, as
 * remote_reader_read, or INPUT_URL if it is longer than `size_max`. Ends with INTERRUPTED when
 * the target's `cancelled` is readable. */
int remote_document_read(struct remote_target *target, struct env *env, const char *name,
                         const char *query, uint64_t size_max, struct buffer *out,
                         struct glint_error *error);

#endif
