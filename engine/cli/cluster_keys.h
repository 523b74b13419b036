/* The keys of a cluster's file. This table is the source for parsing, `glint config show`, names of
 * environment variables, options, docs/cluster.md and suggestions. */
#ifndef GLINT_CLI_CLUSTER_KEYS_H
#define GLINT_CLI_CLUSTER_KEYS_H

#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/cli/toml_shim.h"
#include "engine/net/cluster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum key_kind {
    KEY_NAME, /* letters, digits, - _ . only: used in file names and in arguments of ssh */
    KEY_HOST,
    KEY_PATH,
    KEY_BOOL,
    KEY_COUNT,
    KEY_PORTS, /* FIRST-LAST */
    KEY_BYTES,
    KEY_TIME_MS,
    KEY_TIME_NS,
    KEY_LAUNCH,
    KEY_WORDS,
};

/* One key: its form, range and documentation, and the field that it sets. */
struct cluster_key {
    const char *name;
    const char *option; /* the option's name; NULL: only in the file */
    enum key_kind kind;
    const char *default_value; /* as text, like in the environment; NULL: none */
    /* Without a default, for the docs: what applies then; NULL: the key is required. */
    const char *absent;
    uint64_t min, max; /* of counts, bytes and times, in units of the field */
    const char *unit;  /* of counts */
    const char *help;
    size_t offset, size; /* of the field in struct cluster or struct cluster_executor */
};

#define CLUSTER_KEYS          17u
#define CLUSTER_EXECUTOR_KEYS 6u
extern const struct cluster_key cluster_keys[CLUSTER_KEYS];
extern const struct cluster_key cluster_executor_keys[CLUSTER_EXECUTOR_KEYS]; /* of [[executor]] */

/* Returns the kind's name for people: "path", "number", "time". */
const char *key_kind_name(enum key_kind kind);
/* Describes the accepted values: "a time from 10ms to 1h, as in \"5s\" or \"200ms\"". */
void key_expected(const struct cluster_key *key, char *out, size_t capacity);
/* Describes the range: "10ms to 1h"; empty if the key has none. */
void key_range(const struct cluster_key *key, char *out, size_t capacity);
/* Writes the environment variable's name: GLINT_HEARTBEAT. */
void key_env_name(const struct cluster_key *key, char *out, size_t capacity);

enum key_set_result { KEY_SET, KEY_INVALID, KEY_NO_MEMORY };
/* Sets the key's field in `target`. Relative paths are relative to `dir`. Writes nothing unless it
 * returns KEY_SET. */
enum key_set_result key_set(const struct cluster_key *key, const struct toml_value *value,
                            const char *dir, struct arena *memory, void *target);
/* Converts text that is not TOML (an option, an environment variable, a default) to a value. Text
 * that is not valid becomes a TOML string, which key_set rejects. Returns false when out of
 * memory. */
bool key_value_from_text(const struct cluster_key *key, const char *text, struct arena *memory,
                         struct toml_value *out);
/* Appends the field of `target` as text, in the form of an environment variable. Returns false if
 * it is not set, or when out of memory. */
bool key_print(const struct cluster_key *key, const void *target, struct buffer *out);

#endif
