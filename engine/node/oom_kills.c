/* cgroup v2: memory.events of the group that /proc/self/cgroup names by "0::/PATH". cgroup v1:
 * memory.oom_control of "N:memory:/PATH". Both contain a line "oom_kill COUNT". In a container the
 * path may be the host's, and the files are at the root instead. */
#include "engine/node/oom_kills.h"

#include "engine/base/text.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#define TEXT_BYTES_MAX 4096u

static bool parse_kill_count(const char *text, uint64_t *out)
{
    static const char name[] = "oom_kill ";
    const char *at = text;
    while (at != NULL && strncmp(at, name, sizeof name - 1) != 0) {
        at = strchr(at, '\n');
        if (at != NULL) at++;
    }
    if (at == NULL) return false;
    at += sizeof name - 1;
    int64_t count;
    if (!text_parse_i64((const uint8_t *)at, strcspn(at, "\n"), &count) || count < 0) return false;
    *out = (uint64_t)count;
    return true;
}

static bool read_kill_count(struct env *env, const char *root, const char *group, size_t group_size,
                            const char *name, uint64_t *out)
{
    char path[PATH_MAX], text[TEXT_BYTES_MAX];
    if (!text_format(path, sizeof path, "%s%.*s/%s", root, (int)group_size, group, name))
        return false;
    return env_read_text(env, path, text, sizeof text) && parse_kill_count(text, out);
}

static bool read_group_kill_count(struct env *env, const char *root, const char *group,
                                  const char *name, uint64_t *out)
{
    size_t size = strcspn(group, "\n");
    return read_kill_count(env, root, group, size, name, out) ||
           read_kill_count(env, root, "", 0, name, out);
}

uint64_t oom_kill_count(struct env *env)
{
    char groups[TEXT_BYTES_MAX];
    uint64_t count = 0;
    if (!env_read_text(env, "/proc/self/cgroup", groups, sizeof groups)) return 0;
    const char *v1 = strstr(groups, ":memory:"), *v2 = strstr(groups, "0::");
    if (v1 != NULL && read_group_kill_count(env, "/sys/fs/cgroup/memory", v1 + strlen(":memory:"),
                                            "memory.oom_control", &count))
        return count;
    if (v2 != NULL &&
        read_group_kill_count(env, "/sys/fs/cgroup", v2 + strlen("0::"), "memory.events", &count))
        return count;
    assert(count == 0);
    return 0;
}
