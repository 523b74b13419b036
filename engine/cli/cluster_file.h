/* A cluster from its file, the environment and options, into struct cluster.
 *
 * An option wins over the environment (GLINT_<KEY>), that over the file, that over the preset of
 * the table of keys (cluster_keys.h). All that can be wrong with a file is found here, with line
 * and column, before anything is started. Relative paths start at the file's folder, those of
 * options and the environment at the current one. Main thread: it asks the environment. */
#ifndef GLINT_CLI_CLUSTER_FILE_H
#define GLINT_CLI_CLUSTER_FILE_H

#include "engine/base/env.h"
#include "engine/cli/cluster_keys.h"

struct cluster_flag {
    const struct cluster_key *key;
    const char *text;
};

/* Where to look. Borrowed for as long as the cluster is used. */
struct cluster_source {
    const char *path;                 /* --cluster; NULL: $GLINT_CLUSTER, and where that is empty,
                                       * no file: presets, the environment and flags */
    const struct cluster_flag *flags; /* flag_count of them */
    uint32_t flag_count;
    bool listens; /* executors come by themselves: the file need not name any */
};

enum origin_from { FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT, FROM_FLAG };

struct cluster_origin {
    enum origin_from from;
    struct toml_place at; /* FROM_FILE */
};

/* Its memory is one arena, which holds everything that `cluster` points to. */
struct cluster_file {
    struct cluster cluster;
    const char *name; /* of the file, as it was given, for messages; NULL: there is none */
    struct arena memory;
    struct cluster_origin origins[CLUSTER_KEYS];
    struct cluster_origin (*executor_origins)[CLUSTER_EXECUTOR_KEYS]; /* per executor */
    struct toml_place *executor_places;
};

/* 0, or a code with *error set: CONFIG, BAD_VALUE (of a flag), NO_MEMORY, SYSTEM. cluster_file_fini
 * in any case. */
int cluster_file_read(struct cluster_file *out, struct env *env,
                      const struct cluster_source *source, struct glint_error *error);
void cluster_file_fini(struct cluster_file *file);

/* "default", "cluster.toml:12", "environment GLINT_DEAD", "flag --dead". */
void cluster_origin_text(const struct cluster_file *file, const struct cluster_key *key,
                         const struct cluster_origin *origin, char *out, size_t capacity);
/* Only with a secret, or without any safety, may a port be open to others. */
bool cluster_may_listen(const struct cluster *c, const char *host);
/* What to do about an address that others reach, without a secret. */
extern const char cluster_secret_hint[];
/* What must hold between values (cluster_check.c); used by cluster_file_read. */
bool cluster_file_check(const struct cluster_file *file, bool listens, struct glint_error *error);
/* Puts the place of an executor's key in the file before the cause: what the system said about it.
 */
void cluster_file_add_position(const struct cluster_file *file, const char *id, const char *key,
                               struct glint_error *error);
/* Refuses what stands at `at` of the file: CONFIG with file, line and column before the cause. */
bool cluster_file_error(const struct cluster_file *file, struct toml_place at,
                        struct glint_error *error, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 5, 6)));

#endif
