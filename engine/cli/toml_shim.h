/* TOML as plain values: what stands between toml++ and everything else.
 *
 * The library is C++, throws, and descends as deep as its input: the shim is the one file in C++,
 * catches all that can be thrown, and is given only what toml_scan let pass. Pure; any thread. */
#ifndef GLINT_CLI_TOML_SHIM_H
#define GLINT_CLI_TOML_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct arena;

#define TOML_BYTES_MAX   ((uint64_t)1 << 20)
#define TOML_NESTING_MAX 16u /* of brackets, and of the parts of a key */
#define TOML_DEPTH_MAX   4u  /* values deeper than that are not kept: no key takes them */

enum toml_kind { TOML_TEXT, TOML_INTEGER, TOML_REAL, TOML_BOOL, TOML_DATE, TOML_ARRAY, TOML_TABLE };

/* From 1; 0: unknown. */
struct toml_place {
    uint32_t line, column;
};

/* Memory is the arena's. */
struct toml_value {
    enum toml_kind kind;
    struct toml_place at;
    const char *key; /* in a table; NULL in an array */
    struct toml_place key_at;
    const char *text;         /* TEXT; UTF-8 without NUL */
    int64_t integer;          /* INTEGER */
    bool boolean;             /* BOOL */
    struct toml_value *items; /* ARRAY: in order; TABLE: as they stand in the file */
    uint32_t count;
};

struct toml_failure {
    bool no_memory;
    struct toml_place at;
    char reason[256];
};

/* Is it UTF-8, short enough, and flat enough to be parsed? */
bool toml_scan(const uint8_t *data, uint64_t size, struct toml_failure *failure);
/* *out: the table of the whole text. Calls toml_scan first. */
bool toml_read(struct arena *memory, const uint8_t *data, uint64_t size, struct toml_value *out,
               struct toml_failure *failure);

/* Of toml++. */
const char *toml_version(void);

#ifdef __cplusplus
}
#endif
#endif
