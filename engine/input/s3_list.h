/* Responses of S3 in XML: a page of a list of objects (ListObjectsV2). Pure. */
#ifndef GLINT_INPUT_S3_LIST_H
#define GLINT_INPUT_S3_LIST_H

#include "engine/input/listed_object.h"

#define S3_TOKEN_BYTES 2048u

/* Parses a page, and calls `entry` for each key, and for each common prefix, which ends with the
 * delimiter, until one returns non-zero, which is returned; 0 at the end, -1: it is no page.
 * `token` (S3_TOKEN_BYTES) is set to the token of the next page, or "". Takes at most 16 times the
 * size of the page in memory. */
int s3_list_parse(const uint8_t *text, uint64_t size, char *token, listed_object_call *entry,
                  void *arg);

#endif
