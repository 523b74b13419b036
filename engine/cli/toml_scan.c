/* A single pass over a TOML text that only recognizes strings and comments. The parser recurses
 * once per bracket and per part of a key, as does freeing its result, so their number is limited
 * before it starts. Outside of strings and comments, TOML is ASCII; but toml++ 3.3 misreads some
 * other characters there, so they are rejected. All other errors are left to the parser. */
#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "engine/cli/toml_shim.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

struct toml_scanner {
    uint32_t brackets, dots;
    uint8_t quote;   /* of the open string; '#': in a comment; 0: neither */
    uint32_t quotes; /* that end the string: 1 or 3 */
    bool escaped;    /* the character after a backslash */
};

/* Scans a character of a string or comment; returns how many were scanned. */
static uint32_t scan_quoted(struct toml_scanner *s, const uint8_t *p, uint64_t left)
{
    uint32_t run = 0;
    if (*p == '\n' && s->quotes == 1) {
        s->quote = 0; /* in any case, even if it was not closed */
        s->dots = 0;
    } else if (!s->escaped && *p == s->quote && s->quote != '#') {
        /* A multi-line string may end with two quotes of its own. */
        uint32_t most = s->quotes == 1 ? 1 : 5;
        while (run < most && run < left && p[run] == s->quote) run++;
        if (run >= s->quotes) s->quote = 0;
        if (s->quote == 0) return run;
    }
    s->escaped = !s->escaped && *p == '\\' && s->quote == '"';
    return 1;
}

/* Scans a character outside of both; returns how many were scanned, or 0 with *reason set. */
static uint32_t scan_structure(struct toml_scanner *s, const uint8_t *p, uint64_t left,
                               const char **reason)
{
    if (*p == '#' || *p == '"' || *p == '\'') {
        s->quote = *p;
        s->quotes = *p != '#' && left > 2 && p[1] == *p && p[2] == *p ? 3 : 1;
        s->escaped = false;
        return s->quotes;
    }
    if (*p == '.')
        s->dots++;
    else if (!isalnum(*p) && (*p == '\0' || strchr("-_ \t", *p) == NULL))
        s->dots = 0;
    s->brackets += *p == '[' || *p == '{';
    s->brackets -= (*p == ']' || *p == '}') && s->brackets > 0;
    *reason = s->brackets > TOML_NESTING_MAX ? "brackets are nested too deeply"
              : s->dots >= TOML_NESTING_MAX  ? "the key has too many parts"
              : *p >= 0x80                   ? "non-ASCII characters must be quoted"
                                             : NULL;
    return *reason == NULL;
}

bool toml_scan(const uint8_t *data, uint64_t size, struct toml_failure *failure)
{
    struct toml_scanner s = {.quote = 0};
    const char *reason = size > TOML_BYTES_MAX ? "it is larger than 1 MiB" : NULL;
    *failure = (struct toml_failure){.at = {1, 1}};
    uint64_t at = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* byte order mark */
    while (at < size && reason == NULL) {
        const uint8_t *p = data + at;
        unsigned bytes = utf8_size(p, size - at);
        uint32_t count = bytes == 0     ? 0
                         : s.quote != 0 ? scan_quoted(&s, p, size - at)
                                        : scan_structure(&s, p, size - at, &reason);
        if (bytes == 0)
            text_format(failure->reason, sizeof failure->reason, "byte 0x%02x is not UTF-8", *p);
        if (count == 0) break;
        assert(count == 1 || bytes == 1);
        at += (uint64_t)bytes * count;
        failure->at.line += *p == '\n';
        failure->at.column = *p == '\n' ? 1 : failure->at.column + count;
    }
    if (reason != NULL) text_format(failure->reason, sizeof failure->reason, "%s", reason);
    return failure->reason[0] == '\0';
}
