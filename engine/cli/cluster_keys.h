/* The keys of a cluster's file: one table from which come parsing, `glint config show`, the
 * environment's names, options, docs/cluster.md and "did you mean". */
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
    KEY_NAME, /* letters, digits, - _ . as far as a file's name and a word of ssh may hold them */
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

struct cluster_key {
    const char *name;
    const char *flag; /* of the command line; NULL: it stands in the file only */
    enum key_kind kind;
    const char *default_value; /* as the environment would give it; NULL: none */
    const char *absent;        /* with no preset: what it is then; NULL: it must be there */
    uint64_t min, max;         /* of counts, bytes and times, in the field's unit */
    const char *unit;          /* of counts */
    const char *help;
    size_t offset, size; /* in struct cluster, or in struct cluster_executor */
};

#define CLUSTER_KEYS          17u
#define CLUSTER_EXECUTOR_KEYS 6u
extern const struct cluster_key cluster_keys[CLUSTER_KEYS];
extern const struct cluster_key cluster_executor_keys[CLUSTER_EXECUTOR_KEYS]; /* of [[executor]] */

/* "text", "whole number", "time": as a person reads it. */
const char *key_kind_name(enum key_kind kind);
/* What a value of this key must be: "a time from 10ms to 1h, as in \"5s\" or \"200ms\"". */
void key_expected(const struct cluster_key *key, char *out, size_t capacity);
/* Its range: "10ms to 1h"; empty where it has none. */
void key_range(const struct cluster_key *key, char *out, size_t capacity);
/* GLINT_HEARTBEAT */
void key_env_name(const struct cluster_key *key, char *out, size_t capacity);

enum key_set_result { KEY_SET, KEY_REFUSED, KEY_NO_MEMORY };
/* Writes the key's field of `target`. `folder`: what relative paths start from. */
enum key_set_result key_set(const struct cluster_key *key, const struct toml_value *value,
                            const char *dir, struct arena *memory, void *target);
/* The value of a text that is no TOML: an option's, the environment's, a preset. What does not fit
 * becomes a text, which key_set refuses. False without memory. */
bool key_value_from_text(const struct cluster_key *key, const char *text, struct arena *memory,
                         struct toml_value *out);
/* The field of `target` as text, in the form that the environment would give it; false: there is
 * none, or no memory. */
bool key_print(const struct cluster_key *key, const void *target, struct buffer *out);

#endif
