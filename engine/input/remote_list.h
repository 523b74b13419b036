/* Lists of stores: their responses, a page of ListObjectsV2 of S3 in XML and a status of WebHDFS in
 * JSON, and the names in them. The parsers are pure. */
#ifndef GLINT_INPUT_REMOTE_LIST_H
#define GLINT_INPUT_REMOTE_LIST_H

#include "engine/input/remote_reader.h"
#include "engine/input/remote_target.h"

/* Called for each name; the first result that is not 0 ends the list. */
typedef int listed_object_call(void *arg, const struct listed_object *object);

#define S3_TOKEN_BYTES 2048u

/* Parses a page of S3, and calls `entry` for each key, and for each common prefix, which ends with
 * the delimiter, until one returns non-zero, which is returned; 0 at the end, -1: it is no page.
 * `token` (S3_TOKEN_BYTES) is set to the token of the next page, or "". Takes at most 16 times the
 * size of the page in memory. */
int s3_list_parse(const uint8_t *text, uint64_t size, char *token, listed_object_call *entry,
                  void *arg);

/* Calls `entry` for the objects of the target's bucket whose keys begin with `prefix`, by what
 * follows it, in any order; names up to the next slash are directories, once. The first result that
 * is not 0 ends the list and is returned; or returns 0, or a code with *error set. */
int s3_list_objects(struct remote_target *t, struct env *env, const char *name, const char *prefix,
                    listed_object_call *entry, void *arg, struct glint_error *error);

/* Parses the response to LISTSTATUS, and calls `entry` for each name, until one returns non-zero,
 * which is returned; 0 at the end, -1: it is none. The memory does not depend on its size. */
int hdfs_list_parse(const uint8_t *text, uint64_t size, listed_object_call *entry, void *arg);

#endif
