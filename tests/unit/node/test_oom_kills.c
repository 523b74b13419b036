/* OOM kill counters, from simulated cgroups of both versions. */
#include "engine/node/daemon_internal.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

struct made_up {
    struct env env; /* first: env calls are passed a pointer to it */
    struct {
        const char *path, *text;
    } files[4];
};

static int fake_open(struct env *env, int dir, const char *path, enum env_open_mode mode)
{
    const struct made_up *m = (const struct made_up *)env;
    cr_assert(dir == ENV_CWD && mode == ENV_READ);
    for (int i = 0; i < 4 && m->files[i].path != NULL; i++)
        if (strcmp(m->files[i].path, path) == 0) return i;
    return -ENOENT;
}

static int64_t fake_pread(struct env *env, int file, void *out, size_t size, uint64_t offset)
{
    const char *text = ((const struct made_up *)env)->files[file].text;
    size_t left = strlen(text) - (size_t)offset;
    if (left > size) left = size;
    memcpy(out, text + offset, left);
    return (int64_t)left;
}

static int fake_close(struct env *env, int file)
{
    (void)env;
    (void)file;
    return 0;
}

#define EXPECT(count, ...)                                                                         \
    do {                                                                                           \
        struct made_up m = {{.open = fake_open, .pread = fake_pread, .close = fake_close},         \
                            {__VA_ARGS__}};                                                        \
        cr_expect_eq(oom_kill_count(&m.env), (uint64_t)(count));                                   \
    } while (0)

Test(oom_kill_count, cgroup_v2_kills_are_counted)
{
    EXPECT(3, {"/proc/self/cgroup", "0::/user.slice/a\n"},
           {"/sys/fs/cgroup/user.slice/a/memory.events", "low 0\noom 9\noom_kill 3\nx 1\n"});
}

Test(oom_kill_count, cgroup_v1_kills_are_counted)
{
    EXPECT(12, {"/proc/self/cgroup", "5:cpu:/x\n4:memory:/job\n0::/\n"},
           {"/sys/fs/cgroup/memory/job/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 12\n"});
}

Test(oom_kill_count, container_root_is_the_fallback)
{
    EXPECT(1, {"/proc/self/cgroup", "0::/docker/0123\n"},
           {"/sys/fs/cgroup/memory.events", "oom_kill 1"});
}

/* The path of the group's file would be too long. */
Test(oom_kill_count, too_long_a_path_falls_back_to_the_root)
{
    static char line[4090] = "0::/";
    memset(line + 4, 'a', sizeof line - 6);
    line[sizeof line - 2] = '\n';
    EXPECT(1, {"/proc/self/cgroup", line}, {"/sys/fs/cgroup/memory.events", "oom_kill 1"});
}

Test(oom_kill_count, missing_or_invalid_counter_is_zero)
{
    EXPECT(0, {NULL, NULL});
    EXPECT(0, {"/proc/self/cgroup", "nonsense"});
    EXPECT(0, {"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/memory.events", "oom_kill x\n"});
    EXPECT(0, {"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/memory.events", "oom_kill"});
    EXPECT(0, {"/proc/self/cgroup", "0::/a\n"},
           {"/sys/fs/cgroup/a/memory.events", "oom_kill -1\n"});
}
