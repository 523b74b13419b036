/* Responses of WebHDFS in JSON: the status of a file, and of the entries of a directory. Pure. */
#ifndef GLINT_INPUT_HDFS_STATUS_H
#define GLINT_INPUT_HDFS_STATUS_H

#include "engine/input/listed_object.h"

/* Parses the response to GETFILESTATUS, without a name; false: it is none. */
bool hdfs_status_parse(const uint8_t *text, uint64_t size, struct listed_object *out);
/* Parses the response to LISTSTATUS, and calls `entry` for each name, until one returns non-zero,
 * which is returned; 0 at the end, -1: it is none. The memory does not depend on its size. */
int hdfs_list_parse(const uint8_t *text, uint64_t size, listed_object_call *entry, void *arg);

#endif
