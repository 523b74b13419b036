/* The table of configuration keys: those of a cluster's file, and the options of every job.
 * Parsing, range checks, `glint config show`, environment variables, options, help texts,
 * suggestions and docs/cluster.md are made from it. */
#ifndef GLINT_CLI_CONFIG_KEYS_H
#define GLINT_CLI_CONFIG_KEYS_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/cli/toml_shim.h"
#include "engine/net/cluster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
const struct config_key *key_find(const struct config_key *keys, uint32_t count, const char *name);
/* Returns the kind's name for people: "path", "number", "time". */
const char *key_kind_name(enum key_kind kind);
/* Describes the accepted values: "a time from 10ms to 1h, as in \"5s\" or \"200ms\"". */
void key_expected(const struct config_key *key, char *out, size_t capacity);
/* Describes the range: "10ms to 1h"; empty if the key has none. */
void key_range(const struct config_key *key, char *out, size_t capacity);
/* Writes the environment variable's name: GLINT_HEARTBEAT. */
void key_env_name(const struct config_key *key, char *out, size_t capacity);

enum key_set_result { KEY_SET, KEY_INVALID, KEY_NO_MEMORY };
/* Sets the key's field in `target`. Relative paths are relative to `dir`. Writes nothing unless it
 * returns KEY_SET. */
enum key_set_result key_set(const struct config_key *key, const struct toml_value *value,
                            const char *dir, struct arena *memory, void *target);
/* Converts text that is not TOML (an option, an environment variable, a default) to a value. Text
 * that is not a list becomes a value that key_set rejects for a list. Returns false when out of
 * memory. */
bool key_value_from_text(const struct config_key *key, const char *text, struct arena *memory,
                         struct toml_value *out);
/* Both; `text` is borrowed while the field is used. For keys that are no path. */
enum key_set_result key_set_text(const struct config_key *key, const char *text,
                                 struct arena *memory, void *target);
/* Appends the field of `target` as text, in the form of an environment variable. Returns false if
 * it is not set, or when out of memory. */
bool key_print(const struct config_key *key, const void *target, struct buffer *out);
/* Returns `path`, which is relative to `dir` unless it is absolute; NULL when out of memory. */
const char *key_absolute_path(struct arena *memory, const char *dir, const char *path);
/* True for a host name or address that is safe as an argument of a command. */
bool key_is_host(const char *text);

#endif
