/* OS abstraction layer for time, randomness and files. All of engine/ uses these through an env, so
 * that a test can replace the disk and make any call fail.
 *
 * env_real() is the real one. Calls return a negative errno on failure. Thread-safe: an env has no
 * state unless a test adds some. */
#ifndef GLINT_BASE_ENV_H
#define GLINT_BASE_ENV_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_NS     UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)

/* Of two times or deadlines; UINT64_MAX: never. */
static inline uint64_t earlier_ns(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

enum env_kind { ENV_FILE, ENV_DIRECTORY, ENV_FIFO, ENV_OTHER };

struct env_stat {
    enum env_kind kind;
    uint64_t size;
    int64_t mtime_ns;
    uint64_t device, inode;
    uint32_t mode; /* permission bits */
    uint32_t owner;
    uint32_t links;
    bool mine; /* owned by this process's user */
};

/* In place of an open directory: relative names start at the current directory, absolute ones
 * work. */
#define ENV_CWD (-100)

/* How to open a file or directory; all descriptors are close-on-exec. */
enum env_open_mode {
    ENV_READ,          /* an existing file; never blocks on a FIFO */
    ENV_READ_NOFOLLOW, /* like READ, but does not follow a symlink */
    ENV_CREATE,        /* a new file, exclusive, mode 0600 & umask; does not follow a symlink */
    ENV_APPEND, /* for a log: created like CREATE if missing; -ENXIO for a FIFO without a reader */
    ENV_CREATE_PUBLIC, /* like CREATE, mode 0666 & umask: for a job's output */
    ENV_LOCK,          /* an existing file to lock: read and write, which NFS requires */
    ENV_DIR,           /* a directory */
    ENV_DIR_NOFOLLOW,  /* like DIR, but -ENOTDIR for a symlink */
    ENV_SEARCH,        /* like DIR_NOFOLLOW, only to open names in it: needs no read permission */
};

/* Identifies the machine. Two nodes with the same boot id are one machine, even if their host names
 * differ (containers). */
struct env_node {
    char host[65];
    char boot[37]; /* "": not available */
};

/* A child process, with pipes to its standard input, output and error. The ends of this process are
 * close-on-exec and do not block. */
struct env_child {
    int pid; /* also the number of its process group */
    int input, output, errors;
    int exited; /* readable when it has exited */
};

/* The ends of the child, until it has them. The two calls are for base/ only. */
#define ENV_PIPES 3
struct env_pipes {
    int child[ENV_PIPES]; /* its standard input, output and error */
};
/* Opens the pipes of a child that is not started yet: sets those in `out`. Returns 0 or a negative
 * errno with nothing open. */
int env_pipes_open(struct env_pipes *p, struct env_child *out);
/* Closes the child's ends; `out`: also those in it; NULL: not those. */
void env_pipes_close(struct env_pipes *p, const struct env_child *out);

/* What to do if the target exists. */
enum env_rename_mode {
    ENV_RENAME_NOREPLACE, /* -EEXIST if the target exists, on every file system */
    ENV_RENAME_EXCHANGE,  /* -EINVAL if the file system does not support it (NFS) */
    ENV_RENAME_REPLACE,
};

/* `dir` is an open directory, or ENV_CWD. With an open directory, another user who renames or
 * replaces its path cannot redirect a name; use ENV_CWD only for paths that no other user can
 * change. Symlinks in the last component are followed only where stated. */
struct env {
    uint64_t (*now_ns)(struct env *env); /* monotonic */
    int64_t (*wall_ns)(struct env *env); /* Unix time, UTC */
    int (*random)(struct env *env, void *out, size_t size);
    void (*node)(struct env *env, struct env_node *out);
    int (*open)(struct env *env, int dir, const char *name, enum env_open_mode mode);
    int64_t (*pread)(struct env *env, int file, void *out, size_t size, uint64_t offset);
    int64_t (*write)(struct env *env, int file, const void *data, size_t size);
    int (*close)(struct env *env, int file);
    /* Flush the data of an open file, or the entries of an open directory, to disk. */
    int (*sync_file)(struct env *env, int file);
    int (*sync_dir)(struct env *env, int dir);
    int (*stat_open)(struct env *env, int file, struct env_stat *out);
    int (*stat)(struct env *env, const char *path, struct env_stat *out); /* follows symlinks */
    /* Reads a symlink's target, NUL-terminated, and the link's own stat, both of the same link.
     * -EINVAL: not a symlink. */
    int (*read_link)(struct env *env, int dir, const char *name, char *out, size_t capacity,
                     struct env_stat *out_stat);
    /* Does not follow a symlink: its kind is ENV_OTHER. */
    int (*stat_name)(struct env *env, int dir, const char *name, struct env_stat *out);
    int (*make_dir)(struct env *env, int dir, const char *name, bool only_owner);
    /* -EISDIR for a directory unless `is_dir`, which removes an empty directory. */
    int (*remove)(struct env *env, int dir, const char *name, bool is_dir);
    int (*rename)(struct env *env, int from_dir, const char *from, int to_dir, const char *to,
                  enum env_rename_mode mode);
    /* Calls `entry` for each name except . and .. in the open directory, in any order. Stops at the
     * first non-zero result and returns it. */
    int (*list)(struct env *env, int dir, int (*entry)(void *arg, const char *name), void *arg);
    /* Takes an exclusive lock, or one that several may share; it is released when the file is
     * closed. Does not block: -EWOULDBLOCK if it is locked otherwise. */
    int (*lock)(struct env *env, int file);
    int (*lock_shared)(struct env *env, int file);
    /* Starts a program as the leader of a process group, with `words` as its arguments and
     * `variables` as its environment (both end with NULL), no descriptor but 0 to 2, and no signal
     * blocked or ignored. The kernel kills it when the calling thread ends. `path` is not searched
     * in $PATH. Returns 0, or a negative errno with nothing running or open. */
    int (*spawn)(struct env *env, const char *path, char *const *words, char *const *variables,
                 struct env_child *out);
    /* Kills what is left of the process group, waits for the process, and frees its pid; the
     * caller closes the pipes. Returns the status as from waitpid, or a negative errno. */
    int (*reap)(struct env *env, int pid);
    int64_t (*read)(struct env *env, int file, void *out, size_t size); /* -EAGAIN: nothing yet */
    /* Returns how many are ready; 0: none within the time. */
    int (*poll)(struct env *env, struct pollfd *files, uint32_t count, int timeout_ms);
    /* Sends one datagram to a socket of AF_UNIX, whose name is a path or, in the abstract
     * namespace, begins with '@'. Does not block. Returns 0 or a negative errno. */
    int (*send_datagram)(struct env *env, const char *socket, const char *text);
    void *state; /* for tests */
};

/* Returns the env of the operating system; static, never freed. */
struct env *env_real(void);
/* ENV_RENAME_NOREPLACE for file systems without an atomic one (NFS): reserves the name with an
 * empty file or directory, then replaces it. Returns 0 or a negative errno. */
int env_rename_noreplace_emulated(int from_dir, const char *from, int to_dir, const char *to);

/* Reads `size` bytes; fewer only at the end of the file. Returns the number of bytes or a negative
 * errno. */
int64_t env_read_full(struct env *env, int file, void *out, uint64_t size, uint64_t offset);
/* Reads a file as text, cut at capacity - 1 bytes. Returns false if it cannot be read, or is
 * empty. */
bool env_read_text(struct env *env, const char *path, char *out, uint64_t capacity);
/* Writes all of `data`. Returns 0 or a negative errno. */
int env_write_all(struct env *env, int file, const void *data, uint64_t size);
/* Flushes the entries of an open directory to disk. Returns 0, also if the file system does not
 * support it (such file systems write entries synchronously), or a negative errno. */
int env_sync_dir(struct env *env, int dir);
/* Creates the directories above `path` that are missing, for this user only. `path` is written to
 * and restored. Returns 0 or a negative errno. */
int env_make_parents(struct env *env, char *path);
/* Calls env->list on the directory `path`, which may be a symlink. */
int env_list_dir(struct env *env, const char *path, int (*entry)(void *arg, const char *name),
                 void *arg);
/* Whether both are stats of one file, whatever its names. */
bool env_is_same_file(const struct env_stat *a, const struct env_stat *b);
/* True if the directory `path`, or one of its ancestors, is the directory that `outer`
 * describes. */
bool env_path_is_within(struct env *env, const char *path, const struct env_stat *outer);
/* True if both paths mean the same name in the same directory, however they are written. The name
 * need not exist. */
bool env_paths_are_same(struct env *env, const char *a, const char *b);
/* Removes `name` in `dir`: a file, a symlink (not its target), or a directory with at most `depth`
 * levels of directories inside. Directories are opened before they are emptied, so replacing one by
 * a symlink meanwhile does not redirect the removal. Returns 0, also if it does not exist, or a
 * negative errno. */
int env_remove_tree(struct env *env, int dir, const char *name, unsigned depth);

#endif
