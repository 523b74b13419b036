/* Reads a cluster's configuration from its file, the environment and options into struct cluster.
 *
 * Precedence: option, environment (GLINT_<KEY>), file, default in the table of keys
 * (config_keys.h). All errors in a file are found here, with line and column, before anything is
 * started. Relative paths in the file are relative to the file's directory, those in options and
 * the environment to the current directory. Main thread only, because it reads the environment. */
#ifndef GLINT_CLI_CLUSTER_FILE_H
#define GLINT_CLI_CLUSTER_FILE_H

#include "engine/base/env.h"
#include "engine/cli/config_keys.h"
#include "engine/cli/options.h"

enum origin_from { FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT, FROM_OPTION };

/* Where the value of a key came from. */
struct cluster_origin {
    enum origin_from from;
    struct toml_place at; /* of the value; FROM_DEFAULT: of its executor; else zeros */
};

/* A configured cluster. All memory that `cluster` points to is in one arena. */
struct cluster_file {
    struct cluster cluster;
    const char *name; /* of the file, as given, for messages; NULL: no file */
    struct arena memory;
    struct cluster_origin origins[CLUSTER_KEYS];
    struct cluster_origin (*executor_origins)[CLUSTER_EXECUTOR_KEYS]; /* per executor */
};

/* The keys of the cluster, or of one executor. */
struct cluster_section {
    const struct config_key *keys;
    uint32_t count;
    void *target; /* the struct with their fields */
    struct cluster_origin *origins;
    const char *executor; /* its id; NULL: the cluster */
};
/* Section 0 is the cluster, then one for each executor. */
struct cluster_section cluster_file_section(struct cluster_file *file, uint32_t n);

#define CLUSTER_OPTIONS_MAX (CLUSTER_KEYS + 2)
/* Fills `out` with --cluster, a row for each key that is an option, and the end row. The help shows
 * only those named in `shown`, as "dead|connect"; NULL: all. Returns `out`. */
const struct glint_job_option *cluster_options(const char *shown,
                                               struct glint_job_option out[CLUSTER_OPTIONS_MAX]);

/* Reads the cluster that `line` and the environment configure. Without --cluster and
 * $GLINT_CLUSTER there is no file: only defaults, the environment and options. `line` may be NULL,
 * and is borrowed while the cluster is used, else it must have cluster_options. `listens`: the file
 * need not list executors. Returns 0, or a code with *error set: CONFIG, BAD_VALUE (of an option),
 * NO_MEMORY, SYSTEM. Call cluster_file_fini in any case. */
int cluster_file_read(struct cluster_file *out, struct env *env, const struct cli_line *line,
                      bool listens, struct glint_error *error);
/* The same of the file `name`, and the environment. */
int cluster_file_read_named(struct cluster_file *out, struct env *env, const char *name,
                            struct glint_error *error);
/* The same for commands that connect to a cluster; unless it `listens`, a file is required. Returns
 * false with *error set. */
bool cluster_file_open(struct cluster_file *out, const struct cli_line *line, bool listens,
                       struct glint_error *error);
void cluster_file_fini(struct cluster_file *file);
/* The value of --cluster, else $GLINT_CLUSTER; NULL: none. */
const char *cluster_file_name(const struct cli_line *line);

/* Formats an origin: "default", "cluster.toml:12", "environment GLINT_DEAD", "option --dead". */
void cluster_origin_text(const struct cluster_file *file, const struct config_key *key,
                         const struct cluster_origin *origin, char *out, size_t capacity);
/* True if it is allowed to listen on `host`: a loopback address, or with a secret, or with
 * insecure_plaintext. */
bool cluster_may_listen(const struct cluster *c, const char *host);
/* The hint for an address that is reachable from other hosts, without a secret. */
extern const char cluster_secret_hint[];
/* Prepends to the cause of `error` the position of an executor's key in the file, for errors that
 * are only found when the value is used. */
void cluster_file_add_position(struct cluster_file *file, const char *id, const char *key,
                               struct glint_error *error);

#endif
