/* What S3 answers to requests that write: documents in XML. The status alone does not say whether
 * an upload was completed: 200 may come with an error in its body. Pure; any thread. */
#ifndef GLINT_INPUT_S3_REPLY_H
#define GLINT_INPUT_S3_REPLY_H

#include "engine/input/xml_elements.h"

#define S3_UPLOAD_ID_BYTES 1100u /* ids of Amazon have at most 1,024 */
#define S3_KEY_BYTES       XML_TEXT_BYTES
#define S3_TIME_BYTES      32u

enum s3_reply_kind {
    S3_NOTHING,          /* no body that is known */
    S3_ERROR,            /* Error: `code` and `message` */
    S3_UPLOAD_CREATED,   /* InitiateMultipartUploadResult: `upload_id` */
    S3_UPLOAD_COMPLETED, /* CompleteMultipartUploadResult */
};

struct s3_reply {
    enum s3_reply_kind kind;
    char upload_id[S3_UPLOAD_ID_BYTES]; /* printable, not empty */
    char code[64], message[256];        /* printable; may be cut */
};

/* Texts that are missing, too long or not printable make it S3_NOTHING. */
void s3_reply_parse(const uint8_t *text, uint64_t size, struct s3_reply *out);

/* An upload that is neither completed nor aborted. */
struct s3_upload {
    char key[S3_KEY_BYTES], upload_id[S3_UPLOAD_ID_BYTES];
    char initiated[S3_TIME_BYTES]; /* such as 2026-11-29T12:00:00.000Z */
};
/* Where the next page of a list of uploads begins; `key` "": there is none. */
struct s3_uploads_marker {
    char key[S3_KEY_BYTES], upload_id[S3_UPLOAD_ID_BYTES];
};
/* The first result that is not 0 ends the list. */
typedef int s3_upload_call(void *arg, const struct s3_upload *upload);

/* Parses a page of ListMultipartUploads. Returns 0 and sets *next at the end, -1 if it is none, or
 * what `entry` returned. */
int s3_uploads_parse(const uint8_t *text, uint64_t size, struct s3_uploads_marker *next,
                     s3_upload_call *entry, void *arg);

#endif
