/* The one door to the world: time, randomness, files. Everything in engine/ that asks the system
 * for these goes through an env, so a test can stand in for the disk and make any call fail.
 *
 * The real one is env_real(). Calls that fail answer a negative errno. Any thread may call; an env
 * has no state of its own unless a test gives it one. */
#ifndef GLINT_BASE_ENV_H
#define GLINT_BASE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum env_kind { ENV_FILE, ENV_DIRECTORY, ENV_OTHER };

struct env_stat {
    enum env_kind kind;
    uint64_t size;
    int64_t mtime_ns;
    uint64_t device, inode;
    uint32_t mode; /* permission bits */
    uint32_t owner;
    uint32_t links;
    bool mine; /* belongs to this process's user */
};

/* In place of an open directory: names start at the current one, and may be any path. */
#define ENV_CWD (-100)

enum env_open_mode {
    ENV_READ,          /* an existing file; never blocks on a FIFO */
    ENV_READ_NOFOLLOW, /* as READ, but no symlink is followed */
    ENV_CREATE,        /* a new file, exclusively, mode 0600 & umask; no symlink is followed */
    ENV_APPEND, /* a log, made like CREATE if it is not there; never blocks on a FIFO: -ENXIO */
    ENV_CREATE_PUBLIC, /* as CREATE, mode 0666 & umask: for a job's output */
    ENV_LOCK,          /* as OWN, to be locked: NFS locks only what is open for writing */
    ENV_DIR,           /* a directory */
    ENV_DIR_NOFOLLOW,  /* as DIR, but no symlink is followed: -ENOTDIR */
    ENV_SEARCH,        /* as DIR_OWN, for names in it only: it need not be readable */
};

/* The machine: two names of one boot are one, whatever their host's name (containers). */
struct env_node {
    char host[65];
    char boot[37]; /* "": the system does not tell */
};

enum env_rename_mode {
    ENV_RENAME_NOREPLACE, /* -EEXIST if there is something, on every file system */
    ENV_RENAME_EXCHANGE,  /* -EINVAL where the file system cannot do it (NFS) */
    ENV_RENAME_REPLACE,
};

/* `dir` is an open directory, or ENV_CWD. A user who can rename or replace the path by which it was
 * opened does not change what a name in it means; ENV_CWD is for paths that no other user can
 * change. A name's last component is followed only where it says so. */
struct env {
    uint64_t (*now_ns)(struct env *env); /* monotonic */
    int64_t (*wall_ns)(struct env *env); /* since 1970, UTC */
    int (*random)(struct env *env, void *out, size_t size);
    void (*node)(struct env *env, struct env_node *out);
    int (*open)(struct env *env, int dir, const char *name, enum env_open_mode mode);
    int64_t (*pread)(struct env *env, int file, void *out, size_t size, uint64_t offset);
    int64_t (*write)(struct env *env, int file, const void *data, size_t size);
    int (*close)(struct env *env, int file);
    /* Wait until the disk has the bytes of an open file, or the names of an open directory. */
    int (*sync_file)(struct env *env, int file);
    int (*sync_dir)(struct env *env, int dir);
    int (*stat_open)(struct env *env, int file, struct env_stat *out);
    int (*stat)(struct env *env, const char *path, struct env_stat *out); /* follows links */
    /* What the link says, ended with a zero, and whose it is: of one and the same link. -EINVAL: it
     * is none. */
    int (*read_link)(struct env *env, int dir, const char *name, char *out, size_t capacity,
                     struct env_stat *out_stat);
    /* Of a link itself: ENV_OTHER. */
    int (*stat_name)(struct env *env, int dir, const char *name, struct env_stat *out);
    int (*make_dir)(struct env *env, int dir, const char *name, bool only_owner);
    /* -EISDIR for a folder without `folder`; with it, an empty folder. */
    int (*remove)(struct env *env, int dir, const char *name, bool is_dir);
    int (*rename)(struct env *env, int from_dir, const char *from, int to_dir, const char *to,
                  enum env_rename_mode mode);
    /* Calls `entry` for each name but . and .. in the open directory, in no order; stops at its
     * first non-zero result, which is returned. */
    int (*list)(struct env *env, int dir, int (*entry)(void *arg, const char *name), void *arg);
    /* An exclusive lock that ends with the open file; -EWOULDBLOCK when somebody holds it. */
    int (*lock)(struct env *env, int file);
    void *state; /* a test's */
};

struct env *env_real(void);
/* ENV_RENAME_NOREPLACE where the file system cannot do it at once (NFS): takes the name with an
 * empty file or folder, and then its place. 0 or a negative errno. */
int env_rename_noreplace_emulated(int from_dir, const char *from, int to_dir, const char *to);

/* All of `size` bytes, or an error; fewer only at the file's end: answers how many. */
int64_t env_read_full(struct env *env, int file, void *out, uint64_t size, uint64_t offset);
/* All of them: 0 or a negative errno. */
int env_write_all(struct env *env, int file, const void *data, uint64_t size);
/* Waits until the disk has the entries of an open directory. 0 also where the file system has no
 * such call: those write what they are told. Else a negative errno. */
int env_sync_dir(struct env *env, int dir);
/* env->list of the directory `path`, which may be a link to one. */
int env_list_dir(struct env *env, const char *path, int (*entry)(void *arg, const char *name),
                 void *arg);
/* Is the directory `path`, or one above it, the one that `outer` is about? */
bool env_path_is_within(struct env *env, const char *path, const struct env_stat *outer);
/* Are two paths one name in one directory, however they are written? Whether anything has that name
 * does not count. */
bool env_paths_are_same(struct env *env, const char *a, const char *b);
/* What `name` is in `dir`: a file, a link (never what it leads to), or a folder with all that is in
 * it and `depth` levels of folders below. Folders are opened before they are emptied, so one that
 * is replaced by a link meanwhile leads nowhere. Missing is fine. 0 or a negative errno. */
int env_remove_tree(struct env *env, int dir, const char *name, unsigned depth);

#endif
