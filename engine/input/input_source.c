/* See input_source.h. */
#include "engine/input/input_source.h"

#include "engine/input/input.h"
#include "engine/input/remote_reader.h"

#include <assert.h>

int input_source_open(struct input_source *s, struct env *env, const char *path, const char *stored,
                      const struct remote_identity *remote, uint64_t end, struct glint_error *error)
{
    const char *place = stored != NULL ? stored : path;
    *s = (struct input_source){.env = env, .path = path, .file = -1};
    if (remote != NULL) {
        s->remote = remote_reader_create(env, place, path);
        if (s->remote == NULL) return error_no_memory(error);
        remote_reader_expect(s->remote, remote, end);
    } else {
        s->file = env->open(env, ENV_CWD, place, ENV_READ);
        if (s->file < 0)
            return error_set_shared_path(error, input_error_code(s->file), s->file, "open", path);
    }
    s->open = true;
    return 0;
}

void input_source_adopt(struct input_source *s, struct env *env, const char *path,
                        struct remote_reader *reader)
{
    *s =
        (struct input_source){.env = env, .path = path, .file = -1, .remote = reader, .open = true};
}

static int64_t set_read_error(const struct input_source *s, int64_t n, struct glint_error *error)
{
    if (n >= 0) return n;
    return error_set_system(error, input_error_code((int)n), (int)n, "read", s->path);
}

int64_t input_source_read_some(const struct input_source *s, void *out, uint64_t size,
                               uint64_t offset, struct glint_error *error)
{
    if (s->remote != NULL) return remote_reader_read(s->remote, out, size, offset, error);
    return set_read_error(s, s->env->pread(s->env, s->file, out, size, offset), error);
}

int64_t input_source_read(const struct input_source *s, void *out, uint64_t size, uint64_t offset,
                          struct glint_error *error)
{
    assert(size > 0);
    if (s->remote != NULL) return remote_reader_read(s->remote, out, size, offset, error);
    return set_read_error(s, env_read_full(s->env, s->file, out, size, offset), error);
}

void input_source_close(struct input_source *s)
{
    remote_reader_destroy(s->remote);
    /* Read only: an error of close does not matter. */
    if (s->open && s->file >= 0) s->env->close(s->env, s->file);
    s->remote = NULL;
    s->open = false;
}
