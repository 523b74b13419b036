/* See hdfs_status.h. */
#include "engine/remote/hdfs_status.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

static json_t *parse(const uint8_t *text, uint64_t size)
{
    return size > 0 ? json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

static bool is_type(const json_t *status, const char *type)
{
    const char *value = json_string_value(json_object_get(status, "type"));
    return value != NULL && strcmp(value, type) == 0;
}

bool hdfs_status_parse(const uint8_t *text, uint64_t size, struct hdfs_status *out)
{
    json_t *all = parse(text, size);
    const json_t *status = json_object_get(all, "FileStatus");
    const json_t *length = json_object_get(status, "length");
    const json_t *mtime = json_object_get(status, "modificationTime");
    const bool ok = json_is_integer(length) && json_is_integer(mtime) &&
                    json_integer_value(length) >= 0 &&
                    (is_type(status, "FILE") || is_type(status, "DIRECTORY"));
    if (ok)
        *out = (struct hdfs_status){.size = (uint64_t)json_integer_value(length),
                                    .mtime_ms = json_integer_value(mtime),
                                    .is_directory = is_type(status, "DIRECTORY")};
    json_decref(all);
    return ok;
}

int hdfs_list_parse(const uint8_t *text, uint64_t size,
                    int (*entry)(void *arg, const char *name, bool is_directory), void *arg)
{
    json_t *all = parse(text, size);
    const json_t *list = json_object_get(json_object_get(all, "FileStatuses"), "FileStatus");
    int r = json_is_array(list) ? 0 : -1;
    for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
        const json_t *status = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(status, "pathSuffix"));
        /* A name is one component: a server must not lead elsewhere. */
        if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL)
            r = -1;
        else
            r = entry(arg, name, is_type(status, "DIRECTORY"));
    }
    assert(r <= 0 || json_is_array(list));
    json_decref(all);
    return r;
}
