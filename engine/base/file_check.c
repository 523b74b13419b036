/* Symlinks are resolved here and not by the kernel: each component is opened in its parent
 * directory's descriptor, so nothing can be replaced between checking a link and following it. */
#include "engine/base/file_check.h"

#include "engine/base/text.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#define LINKS_MAX 40 /* the kernel's limit */

/* ---- Resolving the path */

struct path_walk {
    struct env *env;
    int dir; /* the directory where `rest` starts */
    unsigned links;
    char rest[PATH_MAX];
    const char *path; /* the whole path, as given */
    enum glint_code code;
    struct glint_error *error;
};

static void path_walk_enter_directory(struct path_walk *w, int dir)
{
    if (w->dir >= 0) w->env->close(w->env, w->dir);
    w->dir = dir;
}

static void drop_path_prefix(struct path_walk *w, size_t size)
{
    assert(size <= strlen(w->rest));
    memmove(w->rest, w->rest + size, strlen(w->rest + size) + 1);
}

/* Takes the first component off `rest`. *out_last: it is the last one. */
static int next_path_component(struct path_walk *w, char name[NAME_MAX + 1], bool *out_last)
{
    if (w->rest[0] == '/') {
        int root = w->env->open(w->env, ENV_CWD, "/", ENV_SEARCH);
        if (root < 0) return root;
        path_walk_enter_directory(w, root);
        drop_path_prefix(w, strspn(w->rest, "/"));
    }
    size_t size = strcspn(w->rest, "/");
    if (size > NAME_MAX) return -ENAMETOOLONG;
    *out_last = w->rest[size] == '\0';
    bool fits = size > 0 ? text_format(name, NAME_MAX + 1, "%.*s", (int)size, w->rest)
                         : text_format(name, NAME_MAX + 1, ".");
    assert(fits);
    drop_path_prefix(w, size + strspn(w->rest + size, "/"));
    return 0;
}

/* Replaces the link `name` by its target at the start of `rest`. Returns 0 or a negative errno;
 * -EINVAL: not a symlink. */
static int follow_link(struct path_walk *w, const char *name)
{
    char target[PATH_MAX], joined[PATH_MAX];
    struct env_stat link;
    int r = w->env->read_link(w->env, w->dir, name, target, sizeof target, &link);
    if (r != 0) return r;
    if (!link.mine && link.owner != 0) {
        error_set(w->error, w->code,
                  "name the file itself, or replace the link with one of your own",
                  "%s: the symbolic link %s in this path belongs to another user", w->path, name);
        return -EPERM;
    }
    if (++w->links > LINKS_MAX) return -ELOOP;
    if (!text_format(joined, sizeof joined, "%s%s%s", target, w->rest[0] != '\0' ? "/" : "",
                     w->rest))
        return -ENAMETOOLONG;
    memcpy(w->rest, joined, sizeof joined);
    return 0;
}

static int open_following_checked_links(struct path_walk *w)
{
    char name[NAME_MAX + 1];
    bool last;
    for (;;) {
        int r = next_path_component(w, name, &last);
        if (r != 0) return r;
        int file = w->env->open(w->env, w->dir, name, last ? ENV_READ_NOFOLLOW : ENV_SEARCH);
        if (file >= 0 && last) return file;
        if (file >= 0) {
            path_walk_enter_directory(w, file);
            continue;
        }
        /* O_NOFOLLOW fails for a symlink with ELOOP, or with ENOTDIR if a directory was
         * expected. */
        if (file != -ELOOP && file != -ENOTDIR) return file;
        r = follow_link(w, name);
        if (r != 0) return r == -EINVAL ? file : r;
    }
}

static int open_checking_links(struct env *env, const char *path, enum glint_code code,
                               struct glint_error *error)
{
    struct path_walk w = {.env = env, .dir = ENV_CWD, .path = path, .code = code, .error = error};
    if (path[0] == '\0') return -ENOENT;
    if (!text_format(w.rest, sizeof w.rest, "%s", path)) return -ENAMETOOLONG;
    int file = open_following_checked_links(&w);
    path_walk_enter_directory(&w, -1);
    return file;
}

/* ---- The file */

/* Returns what is wrong with the file; NULL: it may be used. */
static const char *find_file_problem(const struct env_stat *s, enum file_use use)
{
    bool owned = s->mine || (use != FILE_LOG && s->owner == 0);
    uint32_t closed = s->owner == 0 ? 037 : 077; /* permission bits that a secret must not have */
    if (s->kind == ENV_DIRECTORY) return "it is a directory, not a file";
    if (s->kind != ENV_FILE) return "it is a pipe or a device, not a file";
    if (!owned) return "it belongs to another user";
    if (use == FILE_LOG && s->links != 1) return "it has more than one hard link";
    if (use == FILE_CONFIG && (s->mode & 022) != 0) return "other users may write to it";
    const bool secret = use == FILE_SECRET || use == FILE_KEY;
    if (secret && (s->mode & closed) != 0) return "other users may read or write it";
    return NULL;
}

/* Sets the error with a hint that fits the cause. Returns -EPERM. */
static int set_file_refused_error(const char *path, const char *wrong, const struct env_stat *s,
                                  enum file_use use, enum glint_code code,
                                  struct glint_error *error)
{
    char mode[32] = "";
    bool by_mode = s->kind == ENV_FILE && (s->mine || s->owner == 0);
    if (by_mode && use != FILE_LOG)
        text_format(mode, sizeof mode, " (mode %04o)", (unsigned)s->mode);
    error_set(error, code, NULL, "%s: %s%s", path, wrong, mode);
    static const char *const others[] = {
        [FILE_CONFIG] = "use a file that belongs to you or to root: it names programs to run",
        [FILE_SECRET] = "use a file of your own; `glint secret new FILE` makes one",
        [FILE_KEY] = "name the PEM file of the key, which must be your own",
        [FILE_LOG] = "remove it, or set log_dir to a directory that only you can write to"};
    if (by_mode && use == FILE_CONFIG)
        text_format(error->hint, sizeof error->hint,
                    "chmod go-w %s: it names programs to run, so only you and root may change it",
                    path);
    else if (by_mode && (use == FILE_SECRET || use == FILE_KEY))
        text_format(error->hint, sizeof error->hint,
                    "chmod %s %s; if other users may have read it, %s",
                    s->owner == 0 ? "640" : "600", path,
                    use == FILE_KEY ? "get a certificate for a new key"
                                    : "make a new one with `glint secret new`");
    else
        text_format(error->hint, sizeof error->hint, "%s", others[use]);
    return -EPERM;
}

int file_open_checked(struct env *env, const char *path, enum file_use use, enum glint_code code,
                      struct env_stat *out_stat, struct glint_error *error)
{
    bool log = use == FILE_LOG;
    int file = log ? env->open(env, ENV_CWD, path, ENV_APPEND)
                   : open_checking_links(env, path, code, error);
    *out_stat = (struct env_stat){.kind = ENV_OTHER};
    if (log && file == -ELOOP)
        return set_file_refused_error(path, "it is a symbolic link", out_stat, use, code, error);
    int r = file < 0 ? file : env->stat_open(env, file, out_stat);
    const char *wrong = r == 0 || r == -ENXIO ? find_file_problem(out_stat, use) : NULL;
    if (r >= 0 && wrong == NULL) return file;
    if (file >= 0) env->close(env, file);
    if (wrong != NULL) return set_file_refused_error(path, wrong, out_stat, use, code, error);
    error_set_system(error, code, r, log ? "write the log" : "open", path);
    return r;
}
