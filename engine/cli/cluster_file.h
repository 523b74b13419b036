/* Reads a cluster's configuration from its file, the environment and options into struct cluster.
 *
 * Precedence: option, environment (GLINT_<KEY>), file, default in the table of keys
 * (cluster_keys.h). All errors in a file are found here, with line and column, before anything is
 * started. Relative paths in the file are relative to the file's directory, those in options and
 * the environment to the current directory. Main thread only, because it reads the environment. */
#ifndef GLINT_CLI_CLUSTER_FILE_H
#define GLINT_CLI_CLUSTER_FILE_H

#include "engine/base/env.h"
#include "engine/cli/cluster_keys.h"

/* An option on the command line that overrides a key. */
struct cluster_option {
    const struct cluster_key *key;
    const char *text;
};

/* Where to read from. Must stay valid while the cluster is used. */
struct cluster_source {
    /* From --cluster; NULL: $GLINT_CLUSTER, and if that is empty, no file: only defaults, the
     * environment and options. */
    const char *path;
    const struct cluster_option *options; /* option_count of them */
    uint32_t option_count;
    bool listens; /* executors connect by themselves: the file need not list any */
};

enum origin_from { FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT, FROM_OPTION };

/* Where the value of a key came from. */
struct cluster_origin {
    enum origin_from from;
    struct toml_place at; /* if FROM_FILE */
};

/* A configured cluster. All memory that `cluster` points to is in one arena. */
struct cluster_file {
    struct cluster cluster;
    const char *name; /* of the file, as given, for messages; NULL: no file */
    struct arena memory;
    struct cluster_origin origins[CLUSTER_KEYS];
    struct cluster_origin (*executor_origins)[CLUSTER_EXECUTOR_KEYS]; /* per executor */
    struct toml_place *executor_places;
};

/* Returns 0, or a code with *error set: CONFIG, BAD_VALUE (of an option), NO_MEMORY, SYSTEM. Call
 * cluster_file_fini in any case. */
int cluster_file_read(struct cluster_file *out, struct env *env,
                      const struct cluster_source *source, struct glint_error *error);
void cluster_file_fini(struct cluster_file *file);

/* Formats an origin: "default", "cluster.toml:12", "environment GLINT_DEAD", "option --dead". */
void cluster_origin_text(const struct cluster_file *file, const struct cluster_key *key,
                         const struct cluster_origin *origin, char *out, size_t capacity);
/* True if it is allowed to listen on `host`: a loopback address, or with a secret, or with
 * insecure_plaintext. */
bool cluster_may_listen(const struct cluster *c, const char *host);
/* The hint for an address that is reachable from other hosts, without a secret. */
extern const char cluster_secret_hint[];
/* Checks relations between values (cluster_check.c); called by cluster_file_read. Returns false
 * with *error set. */
bool cluster_file_check(const struct cluster_file *file, bool listens, struct glint_error *error);
/* Prepends to the cause of `error` the position of an executor's key in the file, for errors that
 * are only found when the value is used. */
void cluster_file_add_position(const struct cluster_file *file, const char *id, const char *key,
                               struct glint_error *error);
/* Sets CONFIG about the value at `at`, with file, line and column before the cause. Returns
 * false. */
bool cluster_file_error(const struct cluster_file *file, struct toml_place at,
                        struct glint_error *error, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 5, 6)));

#endif
