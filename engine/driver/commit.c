/* The output committer (states and layout: commit.h). The lock in the hidden directory tells one in
 * use from one that a dead job left. */
#include "engine/driver/commit.h"

#include "engine/base/crash.h"
#include "engine/base/mem.h"
#include "engine/base/path.h"
#include "engine/base/text.h"
#include "engine/driver/driver_internal.h"
#include "engine/input/input.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Outputs that --overwrite replaces: only what glint has written, and nothing else, is
 * removed.
 *
 * Name and file type decide what is glint's: a job writes _SUCCESS and parts, all regular files,
 * and directories like dt=2026-01-01 with parts and such directories in them (commit.h).
 * _SUCCESS is written last, so parts without it are not the output of a glint job that succeeded,
 * perhaps of another tool. */

#define REPLACE_HINT                                                                               \
    "name another output, or move it away: --overwrite replaces only outputs of glint jobs and "   \
    "empty directories"

/* The files of an existing output. */
struct output_file_ids {
    struct output_file_id {
        uint64_t device, inode;
    } * items; /* sorted */
    uint64_t count, capacity;
};

/* A directory of an output while its entries are visited. */
struct output_directory {
    struct env *env;
    int dir;
    unsigned depth;    /* 0: the output itself */
    const char *where; /* below the output, with a slash; "": the output */
    struct commit_found *found;
    struct output_file_ids *ids;
    int error; /* remove_replaced_files: the first negative errno */
};

typedef int output_entry(void *arg, const char *name);

/* part-00007, part-00007.gz, part-00007.zst: as ops/save.c names them. */
static bool is_output_file_of_job(const struct output_directory *c, const char *name)
{
    const char *job, *suffix;
    if (strcmp(name, COMMIT_SUCCESS) == 0) return c->depth == 0;
    return remote_part_parse(name, &job, &suffix) > 0 && job == NULL &&
           commit_name_is_part(name, NULL);
}

static bool is_output_directory_of_job(const struct output_directory *c, const char *name)
{
    return c->depth < COMMIT_PARTITION_LEVELS && name[0] != '=' && strchr(name, '=') != NULL;
}

/* Visits the entries of the directory `name` in `dir`. Returns as list, or a negative errno. */
static int visit_output_directory(struct output_directory *c, int dir, const char *name,
                                  output_entry *entry)
{
    int r = c->dir = c->env->open(c->env, dir, name, ENV_DIR_NOFOLLOW);
    if (r < 0) return r;
    r = c->env->list(c->env, c->dir, entry, c);
    c->env->close(c->env, c->dir);
    return r == 0 ? c->error : r;
}

static int visit_nested_output_directory(const struct output_directory *outer, const char *name,
                                         output_entry *entry)
{
    char where[2 * NAME_MAX];
    struct output_directory inner = *outer;
    if (!text_format(where, sizeof where, "%s%s/", outer->where, name)) where[0] = '\0';
    inner.where = where;
    inner.depth++;
    inner.error = 0;
    assert(inner.depth <= COMMIT_PARTITION_LEVELS);
    return visit_output_directory(&inner, outer->dir, name, entry);
}

/* Called for each entry. 1 ends the listing: a foreign entry was found. */
static int check_replaced_entry(void *arg, const char *name)
{
    struct output_directory *c = arg;
    struct env_stat stat = {.kind = ENV_OTHER};
    const bool file = is_output_file_of_job(c, name),
               directory = !file && is_output_directory_of_job(c, name);
    int r = file || directory ? c->env->stat_name(c->env, c->dir, name, &stat) : 0;
    if (r != 0) return r;
    if (directory && stat.kind == ENV_DIRECTORY)
        return visit_nested_output_directory(c, name, check_replaced_entry);
    if (!file || stat.kind != ENV_FILE) {
        if (!text_format(c->found->foreign, sizeof c->found->foreign, "%s%s", c->where, name))
            text_format(c->found->foreign, sizeof c->found->foreign, "%s", name);
        return 1;
    }
    if (strcmp(name, COMMIT_SUCCESS) == 0)
        c->found->success = true;
    else
        c->found->parts++;
    return 0;
}

/* Checks whether the directory `name` in `dir` may be replaced. `shown` is its path for messages.
 * Returns 0; OUTPUT_EXISTS if it is a link, is or contains the current directory, contains a file
 * that is not glint's, or parts without _SUCCESS; OUTPUT_CREATE if it cannot be read. */
static int check_output_replaceable(struct env *env, int dir, const char *name, const char *shown,
                                    struct glint_error *error)
{
    struct env_stat stat;
    struct commit_found found = {.parts = 0};
    struct output_directory c = {.env = env, .where = "", .found = &found};
    int r = env->stat_name(env, dir, name, &stat);
    if (r == 0 && stat.kind != ENV_DIRECTORY)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, "name the directory itself",
                         "%s is a symbolic link, and --overwrite would replace it", shown);
    /* The current directory would become the hidden one, which is removed. */
    if (r == 0 && env_path_is_within(env, ".", &stat))
        return error_set(error, GLINT_E_OUTPUT_EXISTS, "name another output",
                         "%s is the current directory, or contains it", shown);
    if (r == 0) r = visit_output_directory(&c, dir, name, check_replaced_entry);
    if (r < 0) return error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "list", shown);
    return commit_reject_foreign(&found, shown, REPLACE_HINT, error);
}

static int remove_replaced_entry(void *arg, const char *name)
{
    struct output_directory *c = arg;
    struct env_stat stat = {.kind = ENV_OTHER};
    int r = -ENOTEMPTY;
    if (is_output_file_of_job(c, name)) {
        r = c->env->remove(c->env, c->dir, name, false);
    } else if (is_output_directory_of_job(c, name)) {
        r = c->env->stat_name(c->env, c->dir, name, &stat);
        if (r == 0) r = stat.kind == ENV_DIRECTORY ? 0 : -ENOTEMPTY;
        if (r == 0) r = visit_nested_output_directory(c, name, remove_replaced_entry);
        if (r == 0) r = c->env->remove(c->env, c->dir, name, true);
    }
    if (c->error == 0 && r != -ENOENT) c->error = r;
    return 0;
}

/* Removes it file by file. A file that no glint job writes is kept, and so are the directories that
 * contain it. Returns 0 or the first negative errno. */
static int remove_replaced_files(struct env *env, int dir, const char *name)
{
    struct output_directory c = {.env = env, .where = ""};
    const int r = visit_output_directory(&c, dir, name, remove_replaced_entry);
    int removed = env->remove(env, dir, name, true); /* even if unreadable: it may be empty */
    return removed == 0 ? 0 : r != 0 ? r : removed;
}

static int compare_file_ids(const void *a, const void *b)
{
    const struct output_file_id *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

static int add_file_id(void *arg, const char *name)
{
    const struct output_directory *c = arg;
    struct output_file_ids *ids = c->ids;
    struct env_stat stat;
    int r = c->env->stat_name(c->env, c->dir, name, &stat);
    if (r == 0 && stat.kind == ENV_DIRECTORY && c->depth < COMMIT_PARTITION_LEVELS)
        r = visit_nested_output_directory(c, name, add_file_id);
    else if (r == 0 && stat.links <= 1 &&
             !array_reserve(&ids->items, &ids->capacity, ids->count + 1, sizeof *ids->items))
        r = -ENOMEM;
    else if (r == 0 && stat.links <= 1)
        ids->items[ids->count++] = (struct output_file_id){stat.device, stat.inode};
    return r == -ENOENT ? 0 : r;
}

/* Lists the files of an output, but those with more than one hard link: removing this name keeps
 * the file. An output that does not exist has none. Returns 0 or a negative errno. */
static int list_output_file_ids(struct env *env, const char *out, struct output_file_ids *ids)
{
    *ids = (struct output_file_ids){.items = NULL};
    struct output_directory c = {.env = env, .where = "", .ids = ids};
    const int r = visit_output_directory(&c, ENV_CWD, out, add_file_id);
    if (ids->count > 1) qsort(ids->items, ids->count, sizeof *ids->items, compare_file_ids);
    return r == -ENOENT ? 0 : r;
}

static bool is_in_output_file_ids(const struct output_file_ids *ids, uint64_t device,
                                  uint64_t inode)
{
    const struct output_file_id id = {device, inode};
    return ids->count > 0 &&
           bsearch(&id, ids->items, ids->count, sizeof id, compare_file_ids) != NULL;
}

/* ---- commit */

/* Levels of directories in the hidden one: those of attempts of partitions. */
#define HIDDEN_DEPTH_MAX (2 + COMMIT_PARTITION_LEVELS)
#define REMOVE_TRIES     8
#define OUTPUT           "output" /* in the hidden directory: will be renamed to OUT */
#define ATTEMPTS         "attempts"
#define PROBE            OUTPUT "/probe"
#define SUCCESS          OUTPUT "/" COMMIT_SUCCESS

/* Copies the user's path without trailing slashes. Returns false if it does not fit. */
static bool trim_trailing_slashes(const char *path, char *out, size_t capacity)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    return text_format(out, capacity, "%.*s", (int)n, path);
}

/* Standard output cannot be a directory, whatever is at its name. */
static int reject_stdout_output(const char *out, struct glint_error *error)
{
    if (strcmp(out, "-") != 0 && strcmp(out, "/dev/stdout") != 0) return 0;
    return error_set(error, GLINT_E_OUTPUT_CREATE,
                     "name a directory, and print it when the job is done: glint cat OUTPUT",
                     "%s: a job's output is a directory of parts, not standard output", out);
}

static int reject_existing_output(const struct commit *c, struct glint_error *error)
{
    struct env_stat s;
    int r = c->env->stat_name(c->env, ENV_CWD, c->out, &s);
    if (r == -ENOENT) return 0;
    if (r == 0) r = c->env->stat(c->env, c->out, &s);
    if (r == -ENOENT) /* a dangling link: a directory cannot get this name by rename */
        return error_set(error, GLINT_E_OUTPUT_EXISTS, "remove the link, or name another output",
                         "%s is a dangling symbolic link", c->out);
    if (r != 0) return error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "stat", c->out);
    if (s.kind != ENV_DIRECTORY)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, "name a directory that does not exist yet",
                         "%s exists and is not a directory", c->out);
    if (c->overwrite) return check_output_replaceable(c->env, ENV_CWD, c->out, c->out, error);
    return error_set(error, GLINT_E_OUTPUT_EXISTS,
                     "name another output, or pass --overwrite to replace it", "%s exists", c->out);
}

static int reject_url_output(const struct commit *c, struct glint_error *error)
{
    char shown[2 * PATH_MAX];
    return error_set(error, GLINT_E_OUTPUT_CREATE,
                     "outputs are written to file systems and s3: copy the output from there",
                     "cannot create %s: a URL, not a path",
                     remote_url_redact(c->out, shown, sizeof shown) ? shown : "it");
}

/* Sets the error when no directory can be created in `directory`: it does not exist, or its file
 * system (such as /proc) does not allow it. */
static int reject_parent_directory(const struct commit *c, const char *directory,
                                   struct glint_error *error)
{
    char hint[PATH_HINT_BYTES];
    struct env_stat s;
    if (c->env->stat(c->env, directory, &s) == 0)
        return error_set(error, GLINT_E_OUTPUT_CREATE, "name an output in another directory",
                         "cannot create %s: no directory can be created in %s", c->out, directory);
    if (remote_url_kind(c->out) != REMOTE_NONE) return reject_url_output(c, error);
    const char *reason = path_explain_missing(c->out, hint);
    if (reason != NULL)
        return error_set(error, GLINT_E_OUTPUT_CREATE, hint, "cannot create %s: %s", c->out,
                         reason);
    return error_set(error, GLINT_E_OUTPUT_CREATE, "create that directory first",
                     "cannot create %s: directory %s does not exist", c->out, directory);
}

/* Executors of a shared daemon write attempts as its user: the group may. A submitter who is not a
 * member cannot give the directory to it (EPERM), and needs executors of its own. */
static int share_directory_with_group(int dir, uint32_t group)
{
    const int r = fchown(dir, (uid_t)-1, group) == 0 ? 0 : -errno;
    if (r == -EPERM) return 0;
    return r == 0 && fchmod(dir, 02770) != 0 ? -errno : r;
}

/* After probe_output_exchange, which may exchange attempts/ with output/. */
static int share_attempts_directory(const struct commit *c, const uint32_t *group,
                                    struct glint_error *error)
{
    if (group == NULL) return 0;
    int dir = c->env->open(c->env, c->lock.dir, ATTEMPTS, ENV_DIR_NOFOLLOW), r = dir;
    if (dir >= 0) {
        r = share_directory_with_group(dir, *group);
        c->env->close(c->env, dir);
    }
    if (r >= 0) r = share_directory_with_group(c->lock.dir, *group);
    return r < 0 ? error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "create", c->out) : 0;
}

static int make_hidden_output_dir(struct commit *c, const char *directory,
                                  struct glint_error *error)
{
    int r = locked_dir_create(c->env, c->hidden, false, &c->lock);
    if (r == -ENOENT) return reject_parent_directory(c, directory, error);
    if (r == 0) {
        c->state = COMMIT_OPEN;
        r = text_format(c->attempts, sizeof c->attempts, "%s/" ATTEMPTS, c->hidden) &&
                    text_format(c->parts, sizeof c->parts, "%s/" OUTPUT, c->hidden)
                ? c->env->make_dir(c->env, c->lock.dir, OUTPUT, false)
                : -ENAMETOOLONG;
        if (r == 0) r = c->env->make_dir(c->env, c->lock.dir, ATTEMPTS, false);
        if (r == 0) return 0;
        commit_cleanup(c);
    }
    return error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "create", c->out);
}

/* ---- Can OUT be replaced? Probed before the job runs, not after */

static int set_cannot_replace_error(const struct commit *c, int r, struct glint_error *error)
{
    const char *reason = NULL;
    if (r == -EINVAL || r == -ENOSYS || r == -EOPNOTSUPP)
        reason = "its file system cannot exchange two directories";
    if (r == -EBUSY) reason = "it is a mount point";
    if (r == -EPERM)
        reason = "it is immutable, or belongs to another user in a directory with the sticky bit";
    if (reason == NULL) return error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "replace", c->out);
    return error_set(error, GLINT_E_OUTPUT_CREATE, "name another output",
                     "%s cannot be replaced: %s", c->out, reason);
}

/* Whether the file system supports RENAME_EXCHANGE: exchanges two empty directories of ours. */
static int probe_output_exchange(struct commit *c)
{
    int dir = c->lock.dir;
    return c->env->rename(c->env, dir, OUTPUT, dir, ATTEMPTS, ENV_RENAME_EXCHANGE);
}

/* Whether OUT may be moved, without moving it: tries to rename OUT over a directory that is not
 * empty. The kernel checks permissions, mount points and immutability first, and only then fails
 * with ENOTEMPTY, which is success here. */
static int probe_output_rename(struct commit *c)
{
    struct env *env = c->env;
    int dir = c->lock.dir, file = env->open(env, dir, PROBE, ENV_CREATE);
    if (file < 0) return file;
    env->close(env, file);
    int r = env->rename(env, ENV_CWD, c->out, dir, OUTPUT, ENV_RENAME_REPLACE);
    if (r == 0) { /* this file system replaced a non-empty directory: OUT has moved, move it back */
        r = env->rename(env, dir, OUTPUT, ENV_CWD, c->out, ENV_RENAME_NOREPLACE);
        c->exchanged = c->rollback_failed = r != 0; /* then commit_cleanup keeps the old output */
        return -EOPNOTSUPP;
    }
    if (r == -ENOTEMPTY || r == -EEXIST) r = 0;
    int removed = env->remove(env, dir, PROBE, false);
    return r != 0 ? r : removed;
}

static int reject_irreplaceable_output(struct commit *c, struct glint_error *error)
{
    struct env_stat s;
    if (!c->overwrite || c->env->stat(c->env, c->out, &s) != 0) return 0;
    int r = probe_output_exchange(c);
    if (r == 0) r = probe_output_rename(c);
    return r == 0 ? 0 : set_cannot_replace_error(c, r, error);
}

/* ---- Sync to disk */

/* Opens the directory that contains OUT: publishing is durable only after an fsync of it. */
static int open_output_parent(struct commit *c, const char *directory, struct glint_error *error)
{
    if (!c->sync) return 0;
    int r = c->parent = c->env->open(c->env, ENV_CWD, directory, ENV_DIR);
    if (r >= 0) return 0;
    error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "open the parent directory of", c->out);
    if (r == -EACCES)
        text_format(
            error->hint, sizeof error->hint, "%s",
            "the directory must be readable to sync it: make it readable, or pass --no-sync");
    return error->code;
}

/* Syncs _SUCCESS (the open `file`), then output/ with the names of the parts, then the hidden
 * directory. The tasks have already synced the contents of the parts. */
static int sync_output(struct commit *c, int file)
{
    if (!c->sync) return 0;
    int r = c->env->sync_file(c->env, file);
    int output = r == 0 ? c->env->open(c->env, c->lock.dir, OUTPUT, ENV_DIR_NOFOLLOW) : r;
    if (output < 0) return output;
    r = env_sync_dir(c->env, output);
    c->env->close(c->env, output);
    return r == 0 ? env_sync_dir(c->env, c->lock.dir) : r;
}

/* ---- Open and commit */

static int open_object_output(struct commit *c, const char *url, uint64_t job,
                              struct glint_error *error)
{
    if (!trim_trailing_slashes(url, c->out, sizeof c->out))
        return error_set(error, GLINT_E_OUTPUT_CREATE, "use a shorter path", "%s is too long", url);
    memcpy(c->parts, c->out, sizeof c->parts);
    const int r = commit_objects_open(&c->objects, c->env, c->out, c->overwrite, job, c->attempts,
                                      sizeof c->attempts, error);
    if (r == 0) c->state = COMMIT_OPEN;
    return r;
}

int commit_open_output(struct commit *c, struct env *env, const char *out,
                       struct commit_options options, uint64_t job, struct glint_error *error)
{
    char directory[PATH_MAX], name[PATH_MAX], prefix[PATH_MAX];
    int r = reject_stdout_output(out, error);
    out = path_from_file_url(out);
    memset(c, 0, sizeof *c);
    c->env = env;
    c->overwrite = options.overwrite;
    c->sync = !options.no_sync;
    c->lock = LOCKED_DIR_NONE;
    c->parent = -1;
    c->state = COMMIT_REMOVED; /* so that commit_cleanup may be called after any error below */
    if (r == 0 && remote_output_is_in_store(out)) return open_object_output(c, out, job, error);
    if (r != 0) return r;
    bool fits = path_split(out, directory, name, sizeof directory) &&
                trim_trailing_slashes(out, c->out, sizeof c->out) &&
                text_format(prefix, sizeof prefix, ".%s.glint-", name) &&
                text_format(c->hidden, sizeof c->hidden, "%s/%s%016llx", directory, prefix,
                            (unsigned long long)job);
    if (!fits)
        return error_set(error, GLINT_E_OUTPUT_CREATE, "name a directory",
                         "\"%s\" cannot be an output directory", out);
    r = reject_existing_output(c, error);
    if (r != 0) return r;
    locked_dir_remove_stale(env, directory, prefix, HIDDEN_DEPTH_MAX); /* of dead jobs */
    r = make_hidden_output_dir(c, directory, error);
    if (r == 0) r = open_output_parent(c, directory, error);
    if (r == 0) r = reject_irreplaceable_output(c, error);
    if (r == 0) r = share_attempts_directory(c, options.group, error);
    if (r != 0) commit_cleanup(c);
    return r;
}

/* Whether `path` is OUT, trailing slashes ignored. */
static bool commit_writes_to_path(const struct commit *c, const char *path)
{
    char trimmed[PATH_MAX];
    return trim_trailing_slashes(path, trimmed, sizeof trimmed) && strcmp(trimmed, c->out) == 0;
}

/* Whether the directory `path` is the OUT that `outer` replaces, or inside it. */
static bool is_path_within_output(struct env *env, const char *path, const struct commit *outer)
{
    struct env_stat replaced;
    return env->stat(env, outer->out, &replaced) == 0 && env_path_is_within(env, path, &replaced);
}

/* Whether the URL of s3 is `outer`, or of something inside it. */
static bool is_url_within(const char *url, const char *outer)
{
    if (!remote_output_is_in_store(url)) return false;
    const char *inner = remote_url_split(url).host, *directory = remote_url_split(outer).host;
    const size_t size = strlen(directory);
    return strncmp(inner, directory, size) == 0 && (inner[size] == '\0' || inner[size] == '/');
}

/* Rejects two outputs of one job that are the same directory (by device and inode, whatever their
 * paths), or of which one is inside the directory that the other replaces: publishing the second
 * would remove the first. Returns 0 or OUTPUT_EXISTS. */
static int commit_check_disjoint(const struct commit *a, const struct commit *b,
                                 struct glint_error *error)
{
    static const char hint[] = "use a separate directory for each output";
    const bool objects = a->objects != NULL && b->objects != NULL;
    if (objects && (is_url_within(a->out, b->out) || is_url_within(b->out, a->out)))
        return error_set(error, GLINT_E_OUTPUT_EXISTS, hint,
                         "%s and %s are outputs, and are not apart", a->out, b->out);
    if (a->objects != NULL || b->objects != NULL) return 0;
    char directory_a[PATH_MAX], directory_b[PATH_MAX], name[PATH_MAX];
    bool split = path_split(a->out, directory_a, name, sizeof directory_a) &&
                 path_split(b->out, directory_b, name, sizeof directory_b);
    assert(split && a->state != COMMIT_REMOVED && b->state != COMMIT_REMOVED);
    if (env_paths_are_same(a->env, a->out, b->out))
        return error_set(error, GLINT_E_OUTPUT_EXISTS, hint, "two outputs have the path %s",
                         b->out);
    bool inner = is_path_within_output(a->env, directory_a, b);
    if (!inner && !is_path_within_output(a->env, directory_b, a)) return 0;
    return error_set(error, GLINT_E_OUTPUT_EXISTS, hint, "%s is inside %s, and both are outputs",
                     inner ? a->out : b->out, inner ? b->out : a->out);
}

int commit_task(struct commit *c, struct glint_slice name, struct unpacker *uploads,
                const char *part, const char *node, struct glint_error *error)
{
    assert(c->state == COMMIT_OPEN && strstr(part, COMMIT_ATTEMPT_MARK) == NULL);
    char from[PATH_MAX], to[PATH_MAX];
    if (c->objects != NULL) return commit_objects_add_part(c->objects, part, uploads, error);
    /* The name comes over the network: a slash would reach files outside of attempts/. */
    if (name.size == 0 || name.size > 255 || memchr(name.data, '/', name.size) != NULL ||
        memchr(name.data, 0, name.size) != NULL)
        return error_set(error, GLINT_E_PROTOCOL, NULL,
                         "a task returned an invalid part file name");
    if (!text_format(from, sizeof from, ATTEMPTS "/%.*s", (int)name.size,
                     (const char *)name.data) ||
        !text_format(to, sizeof to, OUTPUT "/%s", part))
        return error_set(error, GLINT_E_OUTPUT_CREATE, "use a shorter path", "%s is too long",
                         c->out);
    int r = c->env->rename(c->env, c->lock.dir, from, c->lock.dir, to, ENV_RENAME_NOREPLACE);
    if (r == -ENOENT)
        return error_set(error, GLINT_E_PATH_NOT_SHARED,
                         "use storage that all nodes share, at the same path",
                         "a part of %s that was written on %s is not visible to the driver: %s/%s",
                         c->out, node, c->hidden, from);
    return r == 0 ? 0 : error_set_system(error, GLINT_E_OUTPUT_IO, r, "commit a part of", c->out);
}

/* Retries on ENOTEMPTY: an executor that was declared lost but still runs may create attempt files
 * while this removes them. Once the directory is gone it cannot. */
static int remove_attempt_files(const struct commit *c)
{
    int r = -ENOTEMPTY;
    for (int i = 0; i < REMOVE_TRIES && r == -ENOTEMPTY; i++)
        r = env_remove_tree(c->env, c->lock.dir, ATTEMPTS, HIDDEN_DEPTH_MAX);
    return r;
}

int commit_complete_output(struct commit *c, struct glint_error *error)
{
    assert(c->state == COMMIT_OPEN);
    if (c->objects != NULL) {
        commit_objects_complete(c->objects);
        c->state = COMMIT_COMPLETE;
        return 0;
    }
    int r = remove_attempt_files(c);
    if (r == 0 && commit_partitions_merge(c->env, c->lock.dir, OUTPUT, c->sync, c->out, error) != 0)
        return error->code;
    int file = r == 0 ? c->env->open(c->env, c->lock.dir, SUCCESS, ENV_CREATE_PUBLIC) : r;
    if (file < 0) r = file;
    if (r == 0) r = sync_output(c, file);
    int closed = file >= 0 ? c->env->close(c->env, file) : 0;
    if (r == 0) r = closed;
    if (r != 0) return error_set_system(error, GLINT_E_OUTPUT_IO, r, "complete", c->out);
    c->state = COMMIT_COMPLETE;
    return 0;
}

/* ---- Publishing */

/* Undoes publish_output. If OUT did not exist before and the rename fails, removing the published
 * output restores that state, too. */
static void rollback_output(struct commit *c)
{
    if (c->state != COMMIT_PUBLISHED) return;
    if (c->objects != NULL) {
        c->rollback_failed = !commit_objects_roll_back(c->objects);
        if (!c->rollback_failed) c->state = COMMIT_COMPLETE;
        return;
    }
    int r = c->env->rename(c->env, ENV_CWD, c->out, c->lock.dir, OUTPUT,
                           c->exchanged ? ENV_RENAME_EXCHANGE : ENV_RENAME_NOREPLACE);
    if (r == 0)
        c->state = COMMIT_COMPLETE;
    else if (!c->exchanged && env_remove_tree(c->env, ENV_CWD, c->out, HIDDEN_DEPTH_MAX) == 0)
        c->state = COMMIT_COMPLETE;
    c->rollback_failed = c->state == COMMIT_PUBLISHED;
    if (!c->rollback_failed) c->exchanged = false;
}

/* Renames output/ to OUT. OUT was checked before the job ran, but may have changed since: what the
 * exchange moved into the hidden directory is checked again, and rolled back if it may not be
 * replaced. Checking before the rename would leave a race. */
static int publish_output(struct commit *c, struct glint_error *error)
{
    struct env_stat s;
    if (c->state != COMMIT_COMPLETE) return 0;
    if (c->objects != NULL) {
        const int started = commit_objects_start(c->objects, error);
        if (started == 0) c->state = COMMIT_PUBLISHED;
        return started;
    }
    int r = c->overwrite ? c->env->stat(c->env, c->out, &s) : -ENOENT;
    if (r != 0 && r != -ENOENT)
        return error_set_system(error, GLINT_E_OUTPUT_IO, r, "stat", c->out);
    bool directory = r == 0 && s.kind == ENV_DIRECTORY; /* else NOREPLACE fails: EEXIST */
    r = c->env->rename(c->env, c->lock.dir, OUTPUT, ENV_CWD, c->out,
                       directory ? ENV_RENAME_EXCHANGE : ENV_RENAME_NOREPLACE);
    if (r == -EEXIST)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, "name another output",
                         "%s appeared while the job ran", c->out);
    if (r != 0) return error_set_system(error, GLINT_E_OUTPUT_IO, r, "publish", c->out);
    c->exchanged = directory;
    c->state = COMMIT_PUBLISHED;
    r = directory ? check_output_replaceable(c->env, c->lock.dir, OUTPUT, c->out, error) : 0;
    if (r != 0) rollback_output(c);
    return r;
}

static int sync_output_parent(struct commit *c, struct glint_error *error)
{
    const bool directory = c->state == COMMIT_PUBLISHED && c->objects == NULL;
    int r = c->sync && directory ? env_sync_dir(c->env, c->parent) : 0;
    return r == 0 ? 0
                  : error_set_system(error, GLINT_E_OUTPUT_IO, r, "sync the parent directory of",
                                     c->out);
}

int commit_publish_all_or_none(struct commit *const *commits, uint32_t count,
                               struct glint_error *error)
{
    int r = 0;
    uint32_t published = 0;
    while (published < count && (r = publish_output(commits[published], error)) == 0) published++;
    /* The new outputs must be on disk before the old ones are removed and success is reported. */
    for (uint32_t i = 0; i < count && r == 0; i++) r = sync_output_parent(commits[i], error);
    while (r != 0 && published > 0) rollback_output(commits[--published]);
    for (uint32_t i = 0; i < count && r == 0; i++)
        if (commits[i]->state == COMMIT_PUBLISHED && commits[i]->objects != NULL)
            r = commit_objects_finish(commits[i]->objects, error);
    return r;
}

/* Keeps the hidden directory with the old output. Without its lock file no later job takes it for
 * one of a dead job, and it is not removed at exit either. */
static bool leave_replaced_output_on_disk(struct commit *c)
{
    assert(c->exchanged);
    exit_dirs_unregister(c->hidden);
    return c->env->remove(c->env, c->lock.dir, LOCKED_DIR_LOCK_NAME, false) == 0;
}

/* Removes the old output, now that the new one is on disk. If a file in it cannot be removed, or is
 * not glint's, the rest is kept. */
static bool remove_replaced_output(struct commit *c)
{
    if (remove_replaced_files(c->env, c->lock.dir, OUTPUT) == 0) return true;
    leave_replaced_output_on_disk(c);
    return false;
}

bool commit_cleanup(struct commit *c)
{
    bool clean = true;
    if (c->objects != NULL) {
        clean = commit_objects_destroy(c->objects);
        c->objects = NULL;
        if (c->state != COMMIT_PUBLISHED) c->state = COMMIT_REMOVED;
        return clean;
    }
    if (c->lock.file < 0) return true;
    if (c->rollback_failed && c->exchanged)
        clean = leave_replaced_output_on_disk(c);
    else if (!c->exchanged || (clean = remove_replaced_output(c)))
        clean = locked_dir_remove(c->env, c->hidden, &c->lock, HIDDEN_DEPTH_MAX) == 0;
    if (c->state != COMMIT_PUBLISHED) c->state = COMMIT_REMOVED; /* not KEPT: returned above */
    c->exchanged = false;
    locked_dir_unlock(c->env, &c->lock);
    if (c->parent >= 0) c->env->close(c->env, c->parent);
    c->parent = -1;
    return clean;
}

/* ---- The outputs of a job. Each is opened before the tasks that write it run, and is checked
 * against the other outputs and against the inputs. All are published together when the job ends
 * (commit_job), or all are removed (abort_job). */

static int reject_inputs_inside(const struct commit *c, const struct input_list *inputs,
                                struct glint_error *error)
{
    struct output_file_ids ids;
    int r = list_output_file_ids(c->env, c->out, &ids);
    if (r != 0) r = error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "list", c->out);
    for (uint64_t i = 0; i < inputs->count && r == 0; i++) {
        const struct input_file *file = &inputs->files[i];
        if (is_in_output_file_ids(&ids, file->device, file->inode))
            r = error_set(error, GLINT_E_OUTPUT_EXISTS, "name another output",
                          "the input %s is in %s, which --overwrite would replace", file->path,
                          c->out);
    }
    mem_free(ids.items);
    return r;
}

/* OUT may not exist yet: checks the hidden directory, which has the same parent. */
static int reject_output_inside_input(const struct commit *c, const struct input_list *inputs,
                                      struct glint_error *error)
{
    for (uint64_t i = 0; i < inputs->dir_count; i++) {
        const struct input_dir *directory = &inputs->dirs[i];
        struct env_stat id = {.device = directory->device, .inode = directory->inode};
        if (env_path_is_within(c->env, c->hidden, &id))
            return error_set(error, GLINT_E_OUTPUT_CREATE, "name an output outside the input",
                             "%s is inside the input %s, which could not be read again", c->out,
                             directory->path);
    }
    return 0;
}

/* In a store, names are what they seem. */
static int reject_input_objects(const struct commit *c, const struct input_list *inputs,
                                struct glint_error *error)
{
    for (uint64_t i = 0; i < inputs->count; i++) {
        const char *path = inputs->files[i].path;
        if (is_url_within(path, c->out))
            return error_set(error, GLINT_E_OUTPUT_EXISTS, "name another output",
                             "the input %s is in %s, which --overwrite would replace", path,
                             c->out);
    }
    return 0;
}

/* Returns 0, or OUTPUT_EXISTS (an input is a file of the replaced output), OUTPUT_CREATE (the
 * output is inside an input directory, or the old output cannot be read), NO_MEMORY. */
static int check_output_input_overlap(const struct commit *c, const struct input_list *inputs,
                                      struct glint_error *error)
{
    if (c->objects != NULL) return reject_input_objects(c, inputs, error);
    /* Without `overwrite` OUT does not exist, so no input can be one of its files. */
    int r = reject_output_inside_input(c, inputs, error);
    return r == 0 && c->overwrite ? reject_inputs_inside(c, inputs, error) : r;
}

/* ---- job outputs */

/* Finds the output that job_outputs_reserve opened for `path`; NULL: none. */
static struct commit *find_reserved_output(const struct driver *d, const char *path)
{
    for (uint32_t i = 0; i < d->commit_count; i++)
        if (d->commits[i]->reserved && commit_writes_to_path(d->commits[i], path))
            return d->commits[i];
    return NULL;
}

static struct commit *add_output_commit(struct driver *d)
{
    struct commit *c = NULL;
    if (array_reserve(&d->commits, &d->commit_capacity, d->commit_count + 1, sizeof c))
        c = mem_zalloc(sizeof *c);
    if (c == NULL)
        error_no_memory(driver_error(d));
    else
        d->commits[d->commit_count++] = c;
    return c;
}

/* The group of executors that run as a user of their own, as those of the packages' unit do. */
static bool find_unix_group_of_executors(const struct context_config *config, uint32_t *out)
{
    const struct group *g = config->cluster != NULL ? getgrnam("glint") : NULL;
    if (g != NULL) *out = g->gr_gid;
    return g != NULL;
}

int job_outputs_open(struct driver *d, const char *path, struct commit **out)
{
    const struct context_config *config = &d->g->config;
    struct commit_options options = {config->overwrite, config->no_sync, NULL};
    uint32_t group;
    struct commit *c = *out = find_reserved_output(d, path_from_file_url(path));
    if (c != NULL) { /* opened and checked by job_outputs_reserve */
        c->reserved = false;
        return 0;
    }
    if (config->stage != NULL && remote_output_is_in_store(path))
        return error_set(driver_error(d), GLINT_E_OUTPUT_CREATE,
                         "save to a directory of a file system, and copy it",
                         "%s: tasks of another engine do not write to stores", path);
    c = *out = add_output_commit(d);
    if (c == NULL) return driver_error(d)->code;
    if (find_unix_group_of_executors(config, &group)) options.group = &group;
    /* The id in the hidden directory's name differs for each output, since two of them may have
     * the same name and parent until commit_check_disjoint rejects them. */
    int r = commit_open_output(c, d->env, path, options, d->g->job_id + d->commit_count - 1,
                               driver_error(d));
    for (uint32_t i = 0; i + 1 < d->commit_count && r == 0; i++)
        r = commit_check_disjoint(d->commits[i], c, driver_error(d));
    return r;
}

void job_outputs_fail(struct action_run *a)
{
    for (uint32_t i = 0; i < a->commit_count; i++)
        if (a->commits[i] != NULL) a->commits[i]->failed = true;
}

void job_outputs_remove_failed(struct driver *d)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < d->commit_count; i++) {
        struct commit *c = d->commits[i];
        if (!c->failed || c->state == COMMIT_KEPT) {
            d->commits[kept++] = c;
            continue;
        }
        if (!commit_cleanup(c))
            glint_warn(d->g, "what a failed action wrote could not be removed and is left in %s",
                       c->hidden);
        mem_free(c);
    }
    d->commit_count = kept;
}

int job_outputs_reserve(struct driver *d, const char *path)
{
    struct commit *c = NULL;
    int r = job_outputs_open(d, path, &c);
    if (r == 0) c->reserved = true;
    return r;
}

/* g->rdds is sorted by id, newest first, so each output visits only RDDs that it has not checked.
 */
int job_outputs_check_inputs(struct driver *d)
{
    struct glint *g = d->g;
    int r = 0;
    for (uint32_t i = 0; i < d->commit_count && r == 0; i++) {
        struct commit *c = d->commits[i];
        if (c->state == COMMIT_KEPT) continue; /* the job may read it */
        const struct glint_rdd *rdd = g->rdds;
        uint32_t newest = rdd != NULL ? rdd->id : 0;
        for (; rdd != NULL && rdd->id > c->rdds_checked && r == 0; rdd = rdd->next)
            if (rdd->inputs != NULL) r = check_output_input_overlap(c, rdd->inputs, &g->error);
        if (r == 0) c->rdds_checked = newest;
    }
    return r;
}

static void commit_cleanup_published(struct driver *d, struct commit *c)
{
    /* An old output that remains is no reason to fail the job. */
    if (!commit_cleanup(c))
        glint_warn(d->g, "the output that %s replaced could not be removed and is left in %s",
                   c->out, c->hidden);
}

int job_outputs_publish(struct driver *d, struct commit *c)
{
    int r = commit_complete_output(c, driver_error(d));
    if (r == 0) r = commit_publish_all_or_none(&c, 1, driver_error(d));
    if (r != 0) return r;
    commit_cleanup_published(d, c);
    c->state = COMMIT_KEPT;
    d->kept_count++;
    return 0;
}

int commit_job(struct driver *d)
{
    /* Allocated first: after publishing nothing may fail. */
    d->published = mem_zalloc(sizeof *d->published * (d->commit_count + 1)); /* never 0 bytes */
    if (d->published == NULL) return error_no_memory(driver_error(d));
    int r = commit_publish_all_or_none(d->commits, d->commit_count, driver_error(d));
    for (uint32_t i = 0; i < d->commit_count && r == 0; i++) {
        struct commit *c = d->commits[i];
        if (c->state == COMMIT_PUBLISHED || c->state == COMMIT_KEPT)
            d->published[d->published_count++] = driver_output_name(d, c->out);
        if (c->state != COMMIT_KEPT) commit_cleanup_published(d, c);
    }
    return r;
}

const char *abort_job(struct driver *d)
{
    bool clean = true, rolled_back = true, used = false, started = false, objects = false;
    for (uint32_t i = 0; i < d->commit_count; i++) {
        struct commit *c = d->commits[i];
        if (c->state == COMMIT_KEPT) continue;
        used = used || !c->reserved;
        started = started || (c->objects != NULL && c->state == COMMIT_PUBLISHED);
        objects = objects || c->objects != NULL;
        rolled_back = rolled_back && c->state != COMMIT_PUBLISHED;
        clean = commit_cleanup(c) && clean;
    }
    if (clean && !used) return "no output was written";
    if (started)
        return "the commit of an output was started: glint clean --finish URL completes it";
    if (!rolled_back) return "an output was published and could not be rolled back";
    return clean     ? "no output was published; existing outputs are unchanged"
           : objects ? "no output was published; uploads are left, which glint clean removes"
                     : "no output was published; a hidden directory next to the output is left";
}

void job_outputs_fini(struct driver *d)
{
    for (uint32_t i = 0; i < d->commit_count; i++) {
        commit_cleanup(d->commits[i]);
        mem_free(d->commits[i]);
    }
    mem_free(d->commits);
    mem_free(d->published);
}
