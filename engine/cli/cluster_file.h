/* Reads a cluster's configuration from its file, the environment and options into struct cluster.
 *
 * Precedence: option, environment (GLINT_<KEY>), file, default in the table of keys.
 * All errors in a file are found here, with line and column, before anything is
 * started. Relative paths in the file are relative to the file's directory, those in options and
 * the environment to the current directory. Main thread only, because it reads the environment. */
#ifndef GLINT_CLI_CLUSTER_FILE_H
#define GLINT_CLI_CLUSTER_FILE_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/cli/options.h"
#include "engine/cli/toml_shim.h"
#include "engine/net/cluster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The table of configuration keys: those of a cluster's file, and the options of every job.
 * Parsing, range checks, `glint config show`, environment variables, options, help texts,
 * suggestions and docs/cluster.md are made from it. */

enum key_kind {
    KEY_TEXT, /* anything */
    KEY_NAME, /* letters, digits, - _ . only: used in file names and in arguments of ssh */
    KEY_HOST,
    KEY_PATH, /* is made absolute */
    KEY_BOOL,
    KEY_COUNT,
    KEY_PORTS, /* FIRST-LAST, or one port */
    KEY_BYTES,
    KEY_TIME_MS,
    KEY_TIME_NS,
    KEY_CHOICE, /* one of config_key.value */
    KEY_WORDS,
    KEY_MASTER, /* local: 1, local[N], local[*]: 0 */
};

/* One key: how it is set, the field that it sets, its form, range and documentation. */
struct config_key {
    const char *name;
    const char *option; /* the option's name; NULL: only in the file */
    /* Placeholder in the help; NULL: a switch that sets it to true. KEY_CHOICE: all choices, as
     * "text|int", in the order of the field's values. */
    const char *value;
    enum key_kind kind;
    size_t offset, size;       /* of the field in the section's struct */
    const char *help;          /* NULL: the help does not show the option */
    const char *default_value; /* as text, like in the environment; NULL: none */
    /* Without a default, for the docs: what applies then; NULL: the key is required. */
    const char *absent;
    uint64_t min, max; /* of numbers, bytes and times (in ms) */
};

#define CLUSTER_KEYS          22u
#define CLUSTER_EXECUTOR_KEYS 6u
#define JOB_KEYS              25u
extern const struct config_key cluster_keys[CLUSTER_KEYS];                   /* struct cluster */
extern const struct config_key cluster_executor_keys[CLUSTER_EXECUTOR_KEYS]; /* of [[executor]] */
extern const struct config_key job_keys[JOB_KEYS];                           /* struct settings */

/* Returns NULL if there is no such key. */
const struct config_key *config_key_find(const struct config_key *keys, uint32_t count,
                                         const char *name);
/* Returns the kind's name for people: "path", "number", "time". */
const char *config_key_kind_name(enum key_kind kind);
/* Describes the accepted values: "a time from 10ms to 1h, as in \"5s\" or \"200ms\"". */
void config_key_format_expected(const struct config_key *key, char *out, size_t capacity);
/* Describes the range: "10ms to 1h"; empty if the key has none. */
void format_config_key_range(const struct config_key *key, char *out, size_t capacity);
/* Writes the environment variable's name: GLINT_HEARTBEAT. */
void config_key_format_env_name(const struct config_key *key, char *out, size_t capacity);

enum key_set_result { KEY_SET, KEY_INVALID, KEY_NO_MEMORY };
/* Sets the key's field in `target`. Relative paths are relative to `dir`. Writes nothing unless it
 * returns KEY_SET. */
enum key_set_result config_key_set(const struct config_key *key, const struct toml_value *value,
                                   const char *dir, struct arena *memory, void *target);
/* Converts text that is not TOML (an option, an environment variable, a default) to a value. Text
 * that is not a list becomes a value that config_key_set rejects for a list. Returns false when out
 * of memory. */
bool config_key_value_from_text(const struct config_key *key, const char *text,
                                struct arena *memory, struct toml_value *out);
/* Both; `text` is borrowed while the field is used. For keys that are no path. */
enum key_set_result config_key_set_text(const struct config_key *key, const char *text,
                                        struct arena *memory, void *target);
/* Appends the field of `target` as text, in the form of an environment variable. Returns false if
 * it is not set, or when out of memory. */
bool config_key_print(const struct config_key *key, const void *target, struct buffer *out);
/* Returns `path`, which is relative to `dir` unless it is absolute; NULL when out of memory. */
const char *config_key_absolute_path(struct arena *memory, const char *dir, const char *path);
/* True for a host name or address that is safe as an argument of a command. */
bool config_key_is_host(const char *text);

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
const struct glint_job_option *
cluster_option_table(const char *shown, struct glint_job_option out[CLUSTER_OPTIONS_MAX]);

/* Reads the cluster that `line` and the environment configure. Without --cluster and
 * $GLINT_CLUSTER there is no file: only defaults, the environment and options. `line` may be NULL,
 * and is borrowed while the cluster is used, else it must have cluster_option_table. `listens`: the
 * file need not list executors. Returns 0, or a code with *error set: CONFIG, BAD_VALUE (of an
 * option), NO_MEMORY, SYSTEM. Call cluster_file_fini in any case. */
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
void cluster_key_origin_format(const struct cluster_file *file, const struct config_key *key,
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
