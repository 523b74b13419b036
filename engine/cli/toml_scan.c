/* A single pass over a TOML text that only recognizes strings and comments. The parser recurses
 * once per bracket and per part of a key, as does freeing its result, so their number is limited
 * before it starts. Outside of strings and comments, TOML is ASCII; but toml++ 3.3 misreads some
 * other characters there, so they are rejected. All other errors are left to the parser. */
#include "engine/base/utf8.h"
#include "engine/cli/toml_shim.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct toml_scanner {
    const uint8_t *data;
    uint64_t size, at;
    struct toml_place place;
    uint32_t brackets, dots;
    struct toml_failure *failure;
};

static bool scan_fail(struct toml_scanner *s, const char *reason)
{
    s->failure->at = s->place;
    snprintf(s->failure->reason, sizeof s->failure->reason, "%s", reason);
    return false;
}

/* Advances by one character. Returns false if it is not UTF-8. */
static bool scan_character(struct toml_scanner *s)
{
    assert(s->at < s->size);
    unsigned size = utf8_size(s->data + s->at, s->size - s->at);
    if (size == 0) {
        char reason[64];
        snprintf(reason, sizeof reason, "byte 0x%02x is not UTF-8", s->data[s->at]);
        return scan_fail(s, reason);
    }
    bool line_ends = s->data[s->at] == '\n';
    s->at += size;
    s->place.line += line_ends;
    s->place.column = line_ends ? 1 : s->place.column + 1;
    return true;
}

static bool scan_characters(struct toml_scanner *s, uint64_t count)
{
    for (; count > 0; count--)
        if (!scan_character(s)) return false;
    return true;
}

static bool is_byte_at(const struct toml_scanner *s, uint64_t at, uint8_t byte)
{
    return at < s->size && s->data[at] == byte;
}

static bool skip_comment(struct toml_scanner *s)
{
    while (s->at < s->size && s->data[s->at] != '\n')
        if (!scan_character(s)) return false;
    return true;
}

/* Skips a string. A single-line string ends at the end of the line in any case. */
static bool skip_text(struct toml_scanner *s)
{
    uint8_t quote = s->data[s->at];
    bool many_lines = is_byte_at(s, s->at + 1, quote) && is_byte_at(s, s->at + 2, quote);
    uint64_t quotes = many_lines ? 3 : 1;
    if (!scan_characters(s, quotes)) return false;
    while (s->at < s->size) {
        uint8_t c = s->data[s->at];
        if (c == '\n' && !many_lines) return true;
        if (c == quote) {
            uint64_t run = 1;
            while (run < quotes + 2 && is_byte_at(s, s->at + run, quote)) run++;
            if (!many_lines) return scan_characters(s, 1);
            if (run >= quotes)
                return scan_characters(s, run); /* a multi-line string may end with two quotes */
        }
        bool escapes = c == '\\' && quote == '"';
        if (!scan_character(s)) return false;
        if (escapes && s->at < s->size && s->data[s->at] != '\n' && !scan_character(s))
            return false;
    }
    return true;
}

static bool is_of_key(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("-_. \t", c) != NULL;
}

/* Scans a character outside of strings and comments. */
static bool scan_structure(struct toml_scanner *s, uint8_t c)
{
    if (c == '.') s->dots++;
    if (c == '\0' || !is_of_key(c)) s->dots = 0;
    if (c == '[' || c == '{') s->brackets++;
    if ((c == ']' || c == '}') && s->brackets > 0) s->brackets--;
    if (s->brackets > TOML_NESTING_MAX) return scan_fail(s, "brackets are nested too deeply");
    if (s->dots >= TOML_NESTING_MAX) return scan_fail(s, "the key has too many parts");
    bool mark = s->at == 0 && s->size >= 3 && memcmp(s->data, "\xef\xbb\xbf", 3) == 0;
    struct toml_place place = s->place;
    if (!scan_character(s)) return false;
    if (c < 0x80 || mark) return true;
    s->place = place;
    return scan_fail(s, "non-ASCII characters must be quoted");
}

bool toml_scan(const uint8_t *data, uint64_t size, struct toml_failure *failure)
{
    struct toml_scanner s = {data, size, 0, {1, 1}, 0, 0, failure};
    *failure = (struct toml_failure){.no_memory = false};
    if (size > TOML_BYTES_MAX) return scan_fail(&s, "it is larger than 1 MiB");
    while (s.at < size) {
        uint8_t c = data[s.at];
        bool sound = c == '#'                ? skip_comment(&s)
                     : c == '"' || c == '\'' ? skip_text(&s)
                                             : scan_structure(&s, c);
        if (!sound) return false;
    }
    assert(s.at == size);
    return true;
}
