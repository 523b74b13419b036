/* Converts values of keys: from TOML or text to a field, and back to text. One switch over the
 * kinds per direction. Fields are accessed by offset, and written completely or not at all. */
#include "engine/base/text.h"
#include "engine/cli/cluster_keys.h"
#include "engine/cli/settings.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NS_OF_MS     ((uint64_t)1000000)
#define NAME_MAX_OWN 64u
#define HOST_MAX     255u
#define WORDS_MAX    256u
#define PORTS_MAX    1000 /* size of a range */

static const char *const launches[] = {
    [LAUNCH_NONE] = "none", [LAUNCH_LOCAL] = "local", [LAUNCH_SSH] = "ssh", NULL};

const char *key_kind_name(enum key_kind kind)
{
    static const char *const names[] = {
        [KEY_NAME] = "name",    [KEY_HOST] = "host",    [KEY_PATH] = "path",
        [KEY_BOOL] = "boolean", [KEY_COUNT] = "number", [KEY_BYTES] = "bytes",
        [KEY_TIME_MS] = "time", [KEY_TIME_NS] = "time", [KEY_LAUNCH] = "choice",
        [KEY_WORDS] = "list",   [KEY_PORTS] = "ports",
    };
    assert((size_t)kind < sizeof names / sizeof names[0]);
    return names[kind];
}

static void time_text(char *out, size_t capacity, uint64_t ms)
{
    static const struct {
        uint64_t ms;
        const char *unit;
    } units[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    size_t i = 0;
    while (ms % units[i].ms != 0) i++;
    bool fits =
        text_format(out, capacity, "%llu%s", (unsigned long long)(ms / units[i].ms), units[i].unit);
    assert(fits);
}

/* Formats a size so that text_parse_bytes reads it back. */
static void bytes_text(char *out, size_t capacity, uint64_t bytes)
{
    static const char units[] = {'\0', 'K', 'M', 'G', 'T'};
    size_t i = 0;
    for (; i + 1 < sizeof units && bytes > 0 && bytes % 1024 == 0; i++) bytes /= 1024;
    bool fits = text_format(out, capacity, "%llu%.1s", (unsigned long long)bytes, &units[i]);
    assert(fits);
}

static void limit_text(const struct cluster_key *key, uint64_t value, char *out, size_t capacity)
{
    bool fits = true;
    switch (key->kind) {
    case KEY_TIME_NS: time_text(out, capacity, value / NS_OF_MS); break;
    case KEY_TIME_MS: time_text(out, capacity, value); break;
    case KEY_BYTES: bytes_text(out, capacity, value); break;
    default: fits = text_format(out, capacity, "%llu", (unsigned long long)value); break;
    }
    assert(fits);
}

void key_range(const struct cluster_key *key, char *out, size_t capacity)
{
    char min[TEXT_NUMBER_MAX], max[TEXT_NUMBER_MAX];
    out[0] = '\0';
    if (key->max == 0) return;
    assert(key->min < key->max);
    limit_text(key, key->min, min, sizeof min);
    limit_text(key, key->max, max, sizeof max);
    text_format(out, capacity, "%s to %s", min, max);
}

void key_expected(const struct cluster_key *key, char *out, size_t capacity)
{
    char range[2 * TEXT_NUMBER_MAX + 8];
    key_range(key, range, sizeof range);
    switch (key->kind) {
    case KEY_NAME:
        text_format(out, capacity,
                    "1 to %u letters, digits, - _ or ., and begin with a letter or "
                    "digit",
                    NAME_MAX_OWN);
        break;
    case KEY_HOST: text_format(out, capacity, "a host name or address"); break;
    case KEY_PATH: text_format(out, capacity, "a path; ~ and $ are not expanded"); break;
    case KEY_BOOL: text_format(out, capacity, "true or false"); break;
    case KEY_COUNT: text_format(out, capacity, "a whole number, %s", range); break;
    case KEY_PORTS:
        text_format(out, capacity,
                    "the first and the last of at most %d ports, as in "
                    "\"7500-7599\"",
                    PORTS_MAX);
        break;
    case KEY_BYTES:
        text_format(out, capacity, "bytes, %s, as in \"512M\" or \"1.5G\"", range);
        break;
    case KEY_TIME_MS:
    case KEY_TIME_NS:
        text_format(out, capacity, "a time, %s, as in \"5s\" or \"200ms\"", range);
        break;
    case KEY_LAUNCH: text_format(out, capacity, "\"local\", \"ssh\" or \"none\""); break;
    case KEY_WORDS:
        text_format(out, capacity,
                    "a program and its arguments, as in [\"ssh\", \"{host}\"]; only {host}, {id} "
                    "and {config} are allowed in braces");
        break;
    }
}

void key_env_name(const struct cluster_key *key, char *out, size_t capacity)
{
    bool fits = text_format(out, capacity, "GLINT_%s", key->name);
    assert(fits);
    for (; *out != '\0'; out++) *out = (char)toupper((unsigned char)*out);
}

static void put_number(const struct cluster_key *key, void *target, uint64_t value)
{
    void *field = (char *)target + key->offset;
    assert(key->size == 8 || value >> (8 * key->size) == 0);
    switch (key->size) {
    case sizeof(uint16_t): *(uint16_t *)field = (uint16_t)value; break;
    case sizeof(uint32_t): *(uint32_t *)field = (uint32_t)value; break;
    default: *(uint64_t *)field = value; break;
    }
}

static uint64_t get_number(const struct cluster_key *key, const void *target)
{
    const void *field = (const char *)target + key->offset;
    switch (key->size) {
    case sizeof(uint16_t): return *(const uint16_t *)field;
    case sizeof(uint32_t): return *(const uint32_t *)field;
    default: return *(const uint64_t *)field;
    }
}

static void put_text(const struct cluster_key *key, void *target, const char *text)
{
    assert(key->size == sizeof text);
    *(const char **)((char *)target + key->offset) = text;
}

static bool is_name(const char *text)
{
    size_t size = strlen(text);
    if (size < 1 || size > NAME_MAX_OWN || !isalnum((unsigned char)text[0])) return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr("-_.", *text) == NULL) return false;
    return true;
}

/* A host becomes an argument of launch_command, so it must not look like an option. */
static bool is_host(const char *text)
{
    size_t size = strlen(text);
    if (size < 1 || size > HOST_MAX || text[0] == '-') return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr("-_.:%", *text) == NULL) return false;
    return true;
}

static enum key_set_result set_path(const struct cluster_key *key, const char *text,
                                    const char *dir, struct arena *memory, void *target)
{
    if (text[0] == '\0' || text[0] == '~' || text[0] == '$') return KEY_INVALID;
    bool absolute = text[0] == '/';
    size_t size = strlen(dir) + strlen(text) + 2;
    char *path = arena_alloc(memory, size);
    if (path == NULL) return KEY_NO_MEMORY;
    text_format(path, size, "%s%s%s", absolute ? "" : dir, absolute ? "" : "/", text);
    put_text(key, target, path);
    return KEY_SET;
}

/* Accepts {host}, {id} and {config}, and no other braces. */
static bool is_template(const char *word)
{
    static const char *const names[] = {"{host}", "{id}", "{config}"};
    while ((word = strpbrk(word, "{}")) != NULL) {
        size_t i = 0, count = sizeof names / sizeof names[0];
        while (i < count && strncmp(word, names[i], strlen(names[i])) != 0) i++;
        if (i == count) return false;
        word += strlen(names[i]);
    }
    return true;
}

static enum key_set_result set_words(const struct cluster_key *key, const struct toml_value *value,
                                     struct arena *memory, void *target)
{
    if (value->kind != TOML_ARRAY || value->count < 1 || value->count > WORDS_MAX)
        return KEY_INVALID;
    for (uint32_t i = 0; i < value->count; i++)
        if (value->items[i].kind != TOML_TEXT || !is_template(value->items[i].text))
            return KEY_INVALID;
    if (value->items[0].text[0] == '\0') return KEY_INVALID;
    const char **words = arena_alloc(memory, ((uint64_t)value->count + 1) * sizeof *words);
    if (words == NULL) return KEY_NO_MEMORY;
    for (uint32_t i = 0; i < value->count; i++) words[i] = value->items[i].text;
    words[value->count] = NULL;
    assert(key->size == sizeof words);
    *(const char *const **)((char *)target + key->offset) = words;
    return KEY_SET;
}

static enum key_set_result set_number(const struct cluster_key *key, bool sound, uint64_t value,
                                      void *target)
{
    assert(key->max > 0);
    if (!sound || value < key->min || value > key->max) return KEY_INVALID;
    put_number(key, target, value);
    return KEY_SET;
}

static enum key_set_result set_launch(const struct cluster_key *key, const char *text, void *target)
{
    for (size_t i = 0; launches[i] != NULL; i++) {
        if (strcmp(launches[i], text) != 0) continue;
        put_number(key, target, i);
        return KEY_SET;
    }
    return KEY_INVALID;
}

/* Parses FIRST-LAST. */
static enum key_set_result set_ports(const struct cluster_key *key, const char *text, void *target)
{
    const char *dash = strchr(text, '-');
    int64_t first, last;
    if (dash == NULL || !text_parse_i64((const uint8_t *)text, (size_t)(dash - text), &first) ||
        !text_parse_i64((const uint8_t *)dash + 1, strlen(dash + 1), &last))
        return KEY_INVALID;
    if (first < 1 || last < first || last > UINT16_MAX || last - first >= PORTS_MAX)
        return KEY_INVALID;
    assert(key->size == sizeof(struct port_range));
    *(struct port_range *)((char *)target + key->offset) =
        (struct port_range){(uint16_t)first, (uint16_t)last};
    return KEY_SET;
}

static enum key_set_result set_text(const struct cluster_key *key, const char *text,
                                    const char *dir, struct arena *memory, void *target)
{
    uint64_t number = 0;
    bool sound;
    switch (key->kind) {
    case KEY_NAME:
    case KEY_HOST:
        if (key->kind == KEY_NAME ? !is_name(text) : !is_host(text)) return KEY_INVALID;
        put_text(key, target, text);
        return KEY_SET;
    case KEY_PATH: return set_path(key, text, dir, memory, target);
    case KEY_LAUNCH: return set_launch(key, text, target);
    case KEY_PORTS: return set_ports(key, text, target);
    case KEY_BYTES:
        sound = text_parse_bytes(text, &number);
        return set_number(key, sound, number, target);
    case KEY_TIME_MS:
    case KEY_TIME_NS:
        sound = settings_parse_duration(text, &number);
        if (key->kind == KEY_TIME_MS) number /= NS_OF_MS;
        return set_number(key, sound, number, target);
    default: return KEY_INVALID;
    }
}

enum key_set_result key_set(const struct cluster_key *key, const struct toml_value *value,
                            const char *dir, struct arena *memory, void *target)
{
    if (key->kind == KEY_WORDS) return set_words(key, value, memory, target);
    if (value->kind == TOML_TEXT) return set_text(key, value->text, dir, memory, target);
    bool number = key->kind == KEY_COUNT || key->kind == KEY_BYTES;
    if (value->kind == TOML_INTEGER && number)
        return set_number(key, value->integer >= 0, (uint64_t)value->integer, target);
    if (value->kind != TOML_BOOL || key->kind != KEY_BOOL) return KEY_INVALID;
    assert(key->size == sizeof(bool));
    *(bool *)((char *)target + key->offset) = value->boolean;
    return KEY_SET;
}

/* Parses a list with the TOML parser, so that quoting is the same as in the file. */
static bool words_value(const char *text, struct arena *memory, struct toml_value *out)
{
    static const char name[] = "words = ";
    struct toml_failure failure;
    struct toml_value table;
    size_t size = sizeof name + strlen(text);
    char *line = arena_alloc(memory, size);
    if (line == NULL) return false;
    text_format(line, size, "%s%s", name, text);
    if (toml_read(memory, (const uint8_t *)line, size - 1, &table, &failure)) {
        if (table.count == 1) *out = table.items[0];
        return true;
    }
    return !failure.no_memory;
}

bool key_value_from_text(const struct cluster_key *key, const char *text, struct arena *memory,
                         struct toml_value *out)
{
    bool boolean = strcmp(text, "true") == 0;
    *out = (struct toml_value){.kind = TOML_TEXT, .text = text};
    if (key->kind == KEY_WORDS) return words_value(text, memory, out);
    if (key->kind == KEY_BOOL && (boolean || strcmp(text, "false") == 0))
        *out = (struct toml_value){.kind = TOML_BOOL, .boolean = boolean};
    int64_t number;
    if (key->kind == KEY_COUNT && text_parse_i64((const uint8_t *)text, strlen(text), &number))
        *out = (struct toml_value){.kind = TOML_INTEGER, .integer = number};
    return true;
}

static bool print_words(const char *const *words, struct buffer *out)
{
    if (words == NULL) return false;
    bool kept = buffer_append(out, "[", 1);
    for (uint32_t i = 0; words[i] != NULL; i++) {
        kept = kept && buffer_append(out, i > 0 ? ", \"" : "\"", i > 0 ? 3 : 1);
        for (const char *p = words[i]; *p != '\0'; p++) {
            if (*p == '"' || *p == '\\') kept = kept && buffer_append(out, "\\", 1);
            kept = kept && buffer_append(out, p, 1);
        }
        kept = kept && buffer_append(out, "\"", 1);
    }
    return kept && buffer_append(out, "]", 1);
}

/* Returns NULL for any port. */
static const char *ports_text(struct port_range ports, char *out, size_t capacity)
{
    if (ports.first == 0) return NULL;
    bool fits = text_format(out, capacity, "%u-%u", ports.first, ports.last);
    assert(fits);
    return out;
}

bool key_print(const struct cluster_key *key, const void *target, struct buffer *out)
{
    char number[TEXT_NUMBER_MAX];
    const void *field = (const char *)target + key->offset;
    const char *text = number;
    switch (key->kind) {
    case KEY_NAME:
    case KEY_HOST:
    case KEY_PATH: text = *(const char *const *)field; break;
    case KEY_BOOL: text = *(const bool *)field ? "true" : "false"; break;
    case KEY_LAUNCH: text = launches[get_number(key, target)]; break;
    case KEY_PORTS:
        text = ports_text(*(const struct port_range *)field, number, sizeof number);
        break;
    case KEY_WORDS: return print_words(*(const char *const *const *)field, out);
    default: limit_text(key, get_number(key, target), number, sizeof number); break;
    }
    return text != NULL && buffer_append(out, text, strlen(text));
}
