/* Responses of WebHDFS in JSON: the status of a file, and of the entries of a directory. Pure. */
#ifndef GLINT_REMOTE_HDFS_STATUS_H
#define GLINT_REMOTE_HDFS_STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct hdfs_status {
    uint64_t size;
    int64_t mtime_ms;
    bool is_directory;
};

/* Parses the response to GETFILESTATUS; false: it is none. */
bool hdfs_status_parse(const uint8_t *text, uint64_t size, struct hdfs_status *out);
/* Parses the response to LISTSTATUS, and calls `entry` for each name, until one returns non-zero,
 * which is returned; 0 at the end, -1: it is none. */
int hdfs_list_parse(const uint8_t *text, uint64_t size,
                    int (*entry)(void *arg, const char *name, bool is_directory), void *arg);

#endif
