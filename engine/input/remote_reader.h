/* Reads an object at a URL like a file. Bytes that follow each other come from one request; when it
 * fails, the next one continues at the same byte, after a pause. Each response must be of the same
 * version of the object. One thread. */
#ifndef GLINT_INPUT_REMOTE_READER_H
#define GLINT_INPUT_REMOTE_READER_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/input/remote_transfer.h"

#include <jansson.h>

/* What an object was when it was first seen. */
struct remote_identity {
    uint64_t size;
    bool ranges; /* the server sends parts; false: only all of it */
    char version[REMOTE_VERSION_BYTES];
};

/* A name in a list of a store, with what the list says about it. */
struct listed_object {
    const char *name; /* borrowed during the call */
    bool is_directory;
    bool known; /* `identity` is set, as the object's own response would say it */
    struct remote_identity identity;
};

/* Reads the status of a file of WebHDFS, without a name; false: it is none. */
bool hdfs_status_read(const json_t *status, struct listed_object *out);
/* Parses the response to GETFILESTATUS, without a name; false: it is none. */
bool hdfs_status_parse(const uint8_t *text, uint64_t size, struct listed_object *out);

struct remote_reader;

/* `url` and `name` (as messages show it) are borrowed until destroy. Reads end with INTERRUPTED
 * when the descriptor `cancelled` is readable; 0: none. Returns NULL when out of memory. */
struct remote_reader *remote_reader_create(struct env *env, const char *url, const char *name,
                                           int cancelled);
/* Finds out what the object is, unless it is expected to be something, and reads its first bytes:
 * at most `size` of them. Returns their number, or a code with *error set. */
int64_t remote_reader_identify(struct remote_reader *r, void *head, uint64_t size,
                               struct remote_identity *out, struct glint_error *error);
/* Whether it is a directory of WebHDFS; nothing was read then. */
bool remote_identity_is_directory(const struct remote_identity *identity);
/* The object must be this; reads are of bytes before `end`, at first: this many are asked for at
 * once. */
void remote_reader_set_identity(struct remote_reader *r, const struct remote_identity *identity,
                                uint64_t end);
/* Sends the first request now, with the group's others, for `size` > 0 bytes from 0 on; its
 * response is read later. Returns false if it was not sent: REMOTE_AHEAD_MAX requests of this
 * process are under way so, or it failed. Call it after remote_reader_set_identity;
 * `group` is borrowed until destroy. */
bool remote_reader_start(struct remote_reader *r, struct remote_session *group, uint64_t size);
/* Reads the first bytes, at most `size` of them, and keeps them for the reads. Returns their
 * number, with *out_head until destroy, or a code as remote_reader_read. */
int64_t remote_reader_peek(struct remote_reader *r, uint64_t size, const uint8_t **out_head,
                           struct glint_error *error);
/* Reads `size` > 0 bytes at `offset`; fewer only at the end of the object. Returns the number, or
 * a code with *error set: INPUT_NOT_FOUND, INPUT_PERMISSION, INPUT_CHANGED, INPUT_IO, INPUT_URL,
 * NO_MEMORY. */
int64_t remote_reader_read(struct remote_reader *r, void *out, uint64_t size, uint64_t offset,
                           struct glint_error *error);
/* Returns INPUT_CHANGED if the object is another one now, after the last read. */
int remote_reader_check_unchanged(struct remote_reader *r, struct glint_error *error);
/* NULL is fine. */
void remote_reader_destroy(struct remote_reader *r);

#endif
