/* The commit record of an output in a store: the object _glint-commit-JOB beside its parts. While
 * it exists, the output is neither the old nor the new one, and all that is left to do is in it: it
 * lists the uploads to complete, and the objects of the output that is replaced. Every user who may
 * write to the bucket can finish it, any number of times. Encoding and decoding are pure.
 *
 *   {"glint commit": 1, "job": "0123456789abcdef",
 *    "parts": [{"name": "part-00000-0123456789abcdef", "upload": ID, "size": 42, "etags": [...]}],
 *    "replaced": ["part-00000-fedcba9876543210"]} */
#ifndef GLINT_DRIVER_COMMIT_RECORD_H
#define GLINT_DRIVER_COMMIT_RECORD_H

#include "engine/input/remote_writer.h"

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
/* Adds a part, whose upload is moved to the record, unless it returns NO_MEMORY. */
int commit_record_add_part(struct commit_record *r, const char *name, struct remote_upload *upload,
                           struct glint_error *error);
int commit_record_add_replaced(struct commit_record *r, const char *name,
                               struct glint_error *error);
/* Appends it to `out`. Returns 0 or NO_MEMORY. */
int commit_record_encode(const struct commit_record *r, struct buffer *out,
                         struct glint_error *error);
/* Returns 0, or OUTPUT_EXISTS or NO_MEMORY with *error set: `name` says what is decoded. Only names
 * that a job of glint writes are accepted, so that no record makes others disappear. Call
 * commit_record_fini in any case. */
int commit_record_decode(struct glint_slice text, const char *name, struct commit_record *out,
                         struct glint_error *error);

#endif
