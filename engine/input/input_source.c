/* See input_source.h. */
#include "engine/input/input_source.h"

#include "engine/base/cancel.h"
#include "engine/base/text.h"
#include "engine/input/remote_reader.h"
#include "engine/limits.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum glint_code input_error_code(int error)
{
    switch (error) {
    case -ENOENT:
    case -ENOTDIR:
    case -ELOOP:
    case -ENAMETOOLONG: return GLINT_E_INPUT_NOT_FOUND;
    case -EACCES:
    case -EPERM: return GLINT_E_INPUT_PERMISSION;
    case -EISDIR:
    case -ENXIO: return GLINT_E_INPUT_KIND;
    default: return GLINT_E_INPUT_IO;
    }
}

/* ---- Copies by blocks; the copy is opened again by its descriptor, /proc/self/fd/N. */

#define COPY_BYTES (256 * KIB)

/* Creates a file and removes its name. Returns it, or a code. */
static int create_unnamed_file(struct input_spool *s, struct env *env, struct glint_error *error)
{
    const char *parent = s->parent != NULL ? s->parent : getenv("TMPDIR");
    uint64_t id = 0;
    char path[PATH_MAX];
    if (parent == NULL || parent[0] == '\0') parent = "/tmp";
    if (env->random(env, &id, sizeof id) != 0)
        return error_set(error, GLINT_E_SYSTEM, NULL, "cannot get random numbers");
    if (!text_format(path, sizeof path, "%s/glint-input-%016llx", parent, (unsigned long long)id))
        return error_set(error, GLINT_E_WORK_DIR, "use a shorter path: --work-dir",
                         "the work directory's path is too long");
    const int file = env->open(env, ENV_CWD, path, ENV_CREATE);
    if (file < 0) return error_set_system(error, GLINT_E_WORK_DIR, file, "create", path);
    const int r = env->remove(env, ENV_CWD, path, false);
    if (r == 0) return file;
    env->close(env, file);
    return error_set_system(error, GLINT_E_WORK_DIR, r, "remove", path);
}

struct copy_source {
    int file, cancelled;
    const char *path;
};

/* Returns the number of bytes read, 0 at the end, or a code. A FIFO is opened without blocking, so
 * the first read waits for its writer here. */
static int64_t read_pipe_for_spool(struct env *env, const struct copy_source *from, uint8_t *out,
                                   struct glint_error *error)
{
    int64_t n = -EAGAIN;
    while (n == -EAGAIN) {
        n = cancel_wait_readable(env, from->file, from->cancelled, error);
        if (error->code != GLINT_OK) return error->code;
        if (n == 0) n = env->read(env, from->file, out, COPY_BYTES);
    }
    return n >= 0 ? n : error_set_system(error, GLINT_E_INPUT_IO, (int)n, "read", from->path);
}

static int copy_to_spool(struct env *env, const struct copy_source *from, int to,
                         struct glint_error *error)
{
    uint8_t *bytes = mem_alloc(COPY_BYTES);
    if (bytes == NULL) return error_no_memory(error);
    uint64_t copied = 0;
    int64_t n;
    int r = 0;
    while (r == 0 && (n = read_pipe_for_spool(env, from, bytes, error)) != 0) {
        r = n < 0 ? (int)n : env_write_all(env, to, bytes, (uint64_t)n);
        if (n > 0 && r != 0)
            r = error_set_write(error, GLINT_E_WORK_DIR, r, "the copy of piped input", copied,
                                (uint64_t)n);
        copied += n > 0 ? (uint64_t)n : 0;
    }
    mem_free(bytes);
    return r;
}

static int copy_path_to_spool(struct input_spool *s, struct env *env, int cancelled,
                              struct spooled_input *copy, struct glint_error *error)
{
    const bool is_stdin = strcmp(copy->path, INPUT_STDIN) == 0;
    const int file = is_stdin ? STDIN_FILENO : env->open(env, ENV_CWD, copy->path, ENV_READ);
    if (file < 0) return error_set_system(error, input_error_code(file), file, "open", copy->path);
    const struct copy_source from = {file, cancelled, is_stdin ? "standard input" : copy->path};
    int r = copy->file = create_unnamed_file(s, env, error);
    if (r >= 0) r = copy_to_spool(env, &from, copy->file, error);
    if (!is_stdin) env->close(env, file);
    if (r < 0 && copy->file >= 0) env->close(env, copy->file);
    return r;
}

int input_spool_copy(struct input_spool *s, struct env *env, const char *path, int cancelled,
                     const struct spooled_input **out, struct glint_error *error)
{
    for (*out = s->first; *out != NULL; *out = (*out)->next)
        if (strcmp((*out)->path, path) == 0) return 0;
    struct spooled_input *copy = arena_alloc(&s->arena, sizeof *copy);
    if (copy == NULL) return error_no_memory(error);
    *copy = (struct spooled_input){.next = s->first, .path = arena_strdup(&s->arena, path)};
    if (copy->path == NULL) return error_no_memory(error);
    int r = copy_path_to_spool(s, env, cancelled, copy, error);
    if (r < 0) return r;
    copy->stored = arena_format(&s->arena, "/proc/self/fd/%d", copy->file);
    if (copy->stored == NULL) {
        env->close(env, copy->file);
        return error_no_memory(error);
    }
    s->first = copy;
    *out = copy;
    return 0;
}

void input_spool_fini(struct input_spool *s, struct env *env)
{
    for (; s->first != NULL; s->first = s->first->next) env->close(env, s->first->file);
    arena_fini(&s->arena);
}

/* ---- input source */

int input_source_open(struct input_source *s, struct env *env, const char *path, const char *stored,
                      const struct remote_identity *remote, uint64_t end, int cancelled,
                      struct glint_error *error)
{
    const char *place = stored != NULL ? stored : path;
    *s = (struct input_source){.env = env, .path = path, .file = -1};
    if (remote != NULL) {
        s->remote = remote_reader_create(env, place, path, cancelled);
        if (s->remote == NULL) return error_no_memory(error);
        remote_reader_set_identity(s->remote, remote, end);
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

int64_t input_source_read(const struct input_source *s, void *out, uint64_t size, uint64_t offset,
                          struct glint_error *error)
{
    assert(size > 0);
    if (s->remote != NULL) return remote_reader_read(s->remote, out, size, offset, error);
    const int64_t n = env_read_full(s->env, s->file, out, size, offset);
    if (n >= 0) return n;
    return error_set_system(error, input_error_code((int)n), (int)n, "read", s->path);
}

void input_source_close(struct input_source *s)
{
    remote_reader_destroy(s->remote);
    /* Read only: an error of close does not matter. */
    if (s->open && s->file >= 0) s->env->close(s->env, s->file);
    s->remote = NULL;
    s->open = false;
}
