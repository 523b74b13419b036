/* Converts TOML to plain C values, and hides toml++ from the rest of the program.
 *
 * The library is C++, throws exceptions, and recurses as deep as its input. The shim catches all
 * exceptions, and parses only input that toml_scan has accepted. Pure; any thread. */
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
#define TOML_DEPTH_MAX   4u  /* deeper values are dropped: no key uses them */

enum toml_kind { TOML_TEXT, TOML_INTEGER, TOML_REAL, TOML_BOOL, TOML_DATE, TOML_ARRAY, TOML_TABLE };

/* Counted from 1; 0: unknown. */
struct toml_place {
    uint32_t line, column;
};

/* A value; the arena owns all memory. */
struct toml_value {
    enum toml_kind kind;
    struct toml_place at;
    const char *key; /* inside a table; NULL inside an array */
    struct toml_place key_at;
    /* TEXT: its content, UTF-8 without NUL; INTEGER, BOOL: in decimal, "true" or "false"; others:
     * the type, for messages: "a date". */
    const char *text;
    struct toml_value *items; /* ARRAY: in order; TABLE: in the order of the file */
    uint32_t count;
};

/* Why a text was not accepted. */
struct toml_failure {
    bool no_memory;
    struct toml_place at;
    char reason[256];
};

/* Checks that the text is UTF-8, and that size and nesting are within the limits. Returns false
 * with *failure set, as toml_read. */
bool toml_scan(const uint8_t *data, uint64_t size, struct toml_failure *failure);
/* Parses the whole text into the table *out. Calls toml_scan first. */
bool toml_read(struct arena *memory, const uint8_t *data, uint64_t size, struct toml_value *out,
               struct toml_failure *failure);

/* Returns the version of toml++. */
const char *toml_version(void);

#ifdef __cplusplus
}
#endif
#endif
