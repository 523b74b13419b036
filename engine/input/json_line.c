/* See json_line.h.
 *
 * While the members of an object at depth d are scanned, `active` of its level is the set of paths
 * whose first d names led to the object, one bit each. A member's name selects those that continue
 * with it. */
#include "engine/input/json_line.h"

#include "engine/base/text.h"
#include "engine/base/utf8.h"
#include "engine/input/csv.h"

#include <assert.h>
#include <string.h>

/* ---- In a pointer, ~1 is a slash in a name and ~0 a tilde. */

/* ---- From what users write */

/* Returns the reason why it is no pointer, or NULL. */
static const char *find_json_pointer_problem(struct glint_slice pointer)
{
    uint32_t segments = 0;
    if (pointer.size > 0 && pointer.data[0] == JSON_PATH_RAW)
        pointer = (struct glint_slice){pointer.data + 1, pointer.size - 1};
    if (pointer.size == 0 || pointer.data[0] != '/') return "a pointer begins with a slash";
    for (uint64_t i = 0; i < pointer.size; i++) {
        const uint8_t next = i + 1 < pointer.size ? pointer.data[i + 1] : '\0';
        if (pointer.data[i] == '\0') return "it contains a NUL";
        if (pointer.data[i] == '~' && next != '0' && next != '1')
            return "in a pointer, ~ is written ~0, and / in a name ~1";
        segments += pointer.data[i] == '/';
    }
    return segments <= JSON_SEGMENTS_MAX ? NULL : "it has more than 32 names";
}

static bool append_escaped_pointer_name(struct buffer *out, const uint8_t *name, uint64_t size)
{
    bool ok = buffer_append(out, "/", 1);
    for (uint64_t i = 0; ok && i < size; i++) {
        if (name[i] == '~')
            ok = buffer_append(out, "~0", 2);
        else if (name[i] == '/')
            ok = buffer_append(out, "~1", 2);
        else
            ok = buffer_append(out, &name[i], 1);
    }
    return ok;
}

/* Appends the indexes [N][N]... at *at. Returns NULL or the reason. */
static const char *append_path_indexes(struct buffer *out, struct glint_slice path, uint64_t *at,
                                       bool *ok)
{
    while (*at < path.size && path.data[*at] == '[') {
        uint64_t end = ++*at;
        while (end < path.size && path.data[end] >= '0' && path.data[end] <= '9') end++;
        if (end == *at || end == path.size || path.data[end] != ']')
            return "an index is a number in brackets, from 0";
        *ok = *ok && append_escaped_pointer_name(out, path.data + *at, end - *at);
        *at = end + 1;
    }
    return *at == path.size || path.data[*at] == '.' ? NULL : "a dot is missing after ]";
}

static const char *append_dotted_path_as_pointer(struct buffer *out, struct glint_slice path,
                                                 bool *ok)
{
    uint64_t at = path.size > 1 && path.data[0] == '$' && path.data[1] == '.' ? 1 : 0;
    if (at < path.size && path.data[at] == '.') at++;
    if (at < path.size && path.data[at] == '[') { /* of a list */
        const char *reason = append_path_indexes(out, path, &at, ok);
        if (reason != NULL || at == path.size) return reason;
        at++;
    }
    for (;;) {
        const uint64_t name = at;
        while (at < path.size && strchr(".[]", path.data[at]) == NULL) at++;
        if (at == name) return "a name is empty";
        *ok = *ok && append_escaped_pointer_name(out, path.data + name, at - name);
        const char *reason = append_path_indexes(out, path, &at, ok);
        if (reason != NULL || at == path.size) return reason;
        at++;
    }
}

const char *json_path_append(struct buffer *pointers, struct glint_slice path, bool *out_no_memory)
{
    const uint64_t before = pointers->size;
    const char *reason = NULL;
    bool ok = true;
    *out_no_memory = false;
    if (path.size == 0) return "it is empty";
    if (memchr(path.data, '\0', path.size) != NULL) return "it contains a NUL";
    if (path.size > 1 && path.data[0] == JSON_PATH_RAW) {
        ok = buffer_append(pointers, path.data, 1);
        path = (struct glint_slice){path.data + 1, path.size - 1};
    }
    if (path.data[0] == '/')
        ok = buffer_append(pointers, path.data, path.size);
    else
        reason = append_dotted_path_as_pointer(pointers, path, &ok);
    if (reason == NULL && ok) {
        const uint8_t *pointer = pointers->data + before;
        reason = find_json_pointer_problem((struct glint_slice){pointer, pointers->size - before});
    }
    if (reason == NULL && ok) ok = buffer_append(pointers, "", 1);
    if (reason == NULL && ok) return NULL;
    pointers->size = before;
    *out_no_memory = reason == NULL;
    return reason != NULL ? reason : "out of memory";
}

/* ---- As sent to tasks */

bool json_pointers_are_valid(struct glint_slice pointers)
{
    uint32_t count = 0;
    for (uint64_t at = 0; at < pointers.size; count++) {
        const uint8_t *pointer = pointers.data + at;
        const uint8_t *end = memchr(pointer, '\0', pointers.size - at);
        if (end == NULL || count == JSON_PATHS_MAX) return false;
        if (find_json_pointer_problem((struct glint_slice){pointer, (uint64_t)(end - pointer)}) !=
            NULL)
            return false;
        at += (uint64_t)(end - pointer) + 1;
    }
    return true;
}

/* RFC 6901: digits, without a zero in front. */
static uint64_t parse_json_index(struct glint_slice name)
{
    uint64_t index = 0;
    if (name.size == 0 || name.size > 18 || (name.size > 1 && name.data[0] == '0'))
        return UINT64_MAX;
    for (uint64_t i = 0; i < name.size; i++) {
        if (name.data[i] < '0' || name.data[i] > '9') return UINT64_MAX;
        index = 10 * index + (uint64_t)(name.data[i] - '0');
    }
    return index;
}

/* Decodes the name at `at`, up to a slash or the end of the pointer, to `out`. */
static const char *decode_pointer_name(const char *at, uint8_t *out, struct json_segment *segment)
{
    uint64_t size = 0;
    for (; *at != '/' && *at != '\0'; at++) {
        const bool escape = *at == '~';
        if (escape) at++;
        out[size++] = escape ? (*at == '0' ? '~' : '/') : (uint8_t)*at;
    }
    segment->name = (struct glint_slice){out, size};
    segment->index = parse_json_index(segment->name);
    return at;
}

void json_pointer_read(const char *pointer, struct json_segment *segments, uint8_t *names,
                       struct json_path *out)
{
    const bool raw = *pointer == JSON_PATH_RAW;
    pointer += raw;
    *out = (struct json_path){.pointer = pointer, .raw = raw, .segments = segments};
    for (const char *at = pointer; *at != '\0';) {
        assert(*at == '/' && out->count < JSON_SEGMENTS_MAX);
        at = decode_pointer_name(at + 1, names, &segments[out->count]);
        names += segments[out->count++].name.size;
    }
    assert(out->count > 0);
}

static bool read_json_pointer(const char *pointer, struct arena *arena, struct json_path *out)
{
    struct json_segment *segments = arena_alloc(arena, JSON_SEGMENTS_MAX * sizeof *segments);
    uint8_t *names = arena_alloc(arena, strlen(pointer) + 1);
    if (segments == NULL || names == NULL) return false;
    json_pointer_read(pointer, segments, names, out);
    return true;
}

bool json_paths_read(struct glint_slice pointers, struct arena *arena, struct json_paths *out)
{
    const char *at = (const char *)pointers.data;
    out->count = 0;
    out->arrays = false;
    for (uint64_t left = pointers.size; left > 0;) {
        const uint64_t size = strlen(at) + 1;
        assert(out->count < JSON_PATHS_MAX && size <= left);
        if (!read_json_pointer(at, arena, &out->items[out->count++])) return false;
        at += size;
        left -= size;
    }
    return true;
}

/* ---- json line */

static_assert(JSON_PATHS_MAX <= 64, "a set of paths is a word");

struct level {
    uint64_t active;
    uint64_t index; /* of the next element of an array */
};

struct scan {
    const struct json_paths *paths;
    struct json_value *values;
    const uint8_t *at, *end;
    uint32_t depth;
    bool first; /* nothing of the innermost object or array has been read */
    uint64_t arrays[JSON_DEPTH_MAX / 64]; /* bit d: the container at depth d + 1 is an array */
    struct level levels[JSON_SEGMENTS_MAX + 1];
};

static void skip_json_space(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
        s->at++;
}

/* The next byte; NUL at the end. */
static uint8_t peek_json_byte(const struct scan *s)
{
    return s->at < s->end ? *s->at : '\0';
}

/* ---- Strings */

/* Returns the value of four hexadecimal digits, or -1. */
static int parse_hex4(const uint8_t *at, const uint8_t *end)
{
    int value = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        const int digit = text_hex_digit(at[i]);
        if (digit < 0) return -1;
        value = 16 * value + digit;
    }
    return value;
}

static bool is_surrogate(int32_t code)
{
    return code >= 0xd800 && code <= 0xdfff;
}

/* Returns the code point of the escape \uXXXX, or of a pair of them, or half of a pair that has no
 * other half, and sets *out_size to its bytes; -1: it is not valid. */
static int32_t unicode_escape(const uint8_t *at, const uint8_t *end, unsigned *out_size)
{
    const int high = end - at >= 6 ? parse_hex4(at + 2, end) : -1;
    *out_size = 6;
    if (!is_surrogate(high)) return high;
    const bool pair = high < 0xdc00 && end - at >= 12 && at[6] == '\\' && at[7] == 'u';
    const int low = pair ? parse_hex4(at + 8, end) : -1;
    if (low < 0xdc00 || low > 0xdfff) return high;
    *out_size = 12;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* Returns the size of the escape, 0: it is not valid. Sets *unpaired if it is half of a pair. */
static unsigned escape_size(const uint8_t *at, const uint8_t *end, bool *unpaired)
{
    unsigned size;
    if (end - at < 2 || at[1] == '\0') return 0;
    if (at[1] != 'u') return strchr("\"\\/bfnrt", at[1]) != NULL ? 2 : 0;
    const int32_t code = unicode_escape(at, end, &size);
    *unpaired |= is_surrogate(code);
    return code >= 0 ? size : 0;
}

/* Whether one of eight bytes is a quote, a backslash, a control character or not ASCII. */
static bool has_special_string_byte(uint64_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    const uint64_t quote = bytes ^ ones * '"', backslash = bytes ^ ones * '\\';
    return ((bytes | (bytes - ones * 0x20) | (quote - ones) | (backslash - ones)) & high) != 0;
}

static const uint8_t *skip_plain_string_bytes(const uint8_t *at, const uint8_t *end)
{
    while (end - at >= 8) {
        uint64_t bytes;
        memcpy(&bytes, at, sizeof bytes);
        if (has_special_string_byte(bytes)) break;
        at += 8;
    }
    while (at < end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\') at++;
    return at;
}

/* Scans the string whose first quote is at s->at. */
static const char *scan_string(struct scan *s, struct json_value *out)
{
    const uint8_t *const start = ++s->at;
    out->kind = JSON_KIND_TEXT;
    out->escaped = out->unpaired = false;
    for (;;) {
        s->at = skip_plain_string_bytes(s->at, s->end);
        if (s->at == s->end) return "JSON: a string has no closing quote";
        if (*s->at == '"') break;
        if (*s->at < 0x20) return "JSON: a control character in a string";
        const bool escape = *s->at == '\\';
        const unsigned size = escape ? escape_size(s->at, s->end, &out->unpaired)
                                     : utf8_size(s->at, (uint64_t)(s->end - s->at));
        if (size == 0 && escape) return "JSON: an escape in a string is not valid";
        if (size == 0) return "JSON: a string is not UTF-8";
        out->escaped |= escape;
        s->at += size;
    }
    out->raw = (struct glint_slice){start, (uint64_t)(s->at - start)};
    s->at++;
    return NULL;
}

static uint64_t encode_utf8(uint32_t code, uint8_t *out)
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    const unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (uint8_t)(first[more] | code >> (6 * more));
    for (unsigned i = 1; i <= more; i++)
        out[i] = (uint8_t)(0x80 | (code >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

/* Decodes the escape at *at, and passes it. Returns the bytes written. */
static uint64_t decode_escape(const uint8_t **at, const uint8_t *end, uint8_t *out)
{
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    const uint8_t c = (*at)[1];
    unsigned size = 2;
    if (c == 'u') {
        const int32_t code = unicode_escape(*at, end, &size);
        assert(code >= 0 && !is_surrogate(code));
        *at += size;
        return encode_utf8((uint32_t)code, out);
    }
    const char *name = strchr(names, c);
    assert(name != NULL && c != '\0');
    out[0] = (uint8_t)bytes[name - names];
    *at += size;
    return 1;
}

uint64_t json_text_decode(struct glint_slice raw, uint8_t *out)
{
    const uint8_t *at = raw.data, *end = raw.data + raw.size;
    uint64_t size = 0;
    while (at < end) {
        const uint8_t *escape = memchr(at, '\\', (size_t)(end - at));
        const uint64_t plain = (uint64_t)((escape != NULL ? escape : end) - at);
        memmove(out + size, at, plain);
        size += plain;
        at += plain;
        if (escape != NULL) size += decode_escape(&at, end, out + size);
    }
    assert(size <= raw.size);
    return size;
}

const char *json_string_read(const uint8_t **at, const uint8_t *end, struct buffer *out,
                             bool *out_utf8)
{
    struct scan s = {.at = *at, .end = end};
    struct json_value value;
    assert(*at < end && **at == '"');
    const char *problem = scan_string(&s, &value);
    if (problem != NULL) return problem;
    if (!buffer_reserve(out, value.raw.size + 1)) return "out of memory";
    const uint8_t *from = value.raw.data, *const to = from + value.raw.size;
    *at = s.at;
    *out_utf8 = !value.unpaired;
    while (value.unpaired && from < to) {
        unsigned size = 1;
        int32_t code = -1;
        if (*from != '\\') {
            out->data[out->size++] = *from++;
            continue;
        }
        if (from[1] == 'u') code = unicode_escape(from, to, &size);
        if (!is_surrogate(code)) {
            out->size += decode_escape(&from, to, out->data + out->size);
            continue;
        }
        if (code < 0xdc80 || code > 0xdcff) return "JSON: half of a surrogate pair in a string";
        out->data[out->size++] = (uint8_t)(code - 0xdc00);
        from += size;
    }
    if (!value.unpaired) out->size += json_text_decode(value.raw, out->data + out->size);
    return NULL;
}

/* Whether a name, with its escapes, is `wanted`. One with half of a pair is no text. */
static bool json_name_equals(const struct json_value *name, struct glint_slice wanted)
{
    const uint8_t *at = name->raw.data, *end = at + name->raw.size;
    uint64_t equal = 0;
    if (name->unpaired) return false;
    if (!name->escaped)
        return name->raw.size == wanted.size && memcmp(at, wanted.data, wanted.size) == 0;
    while (at < end) {
        uint8_t bytes[4] = {*at};
        uint64_t size = 1;
        if (*at == '\\')
            size = decode_escape(&at, end, bytes);
        else
            at++;
        if (wanted.size - equal < size || memcmp(wanted.data + equal, bytes, size) != 0)
            return false;
        equal += size;
    }
    return equal == wanted.size;
}

/* ---- Numbers and words */

static const uint8_t *skip_digits(const uint8_t *at, const uint8_t *end)
{
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at;
}

/* Returns the end of the number at `at`, or NULL. */
static const uint8_t *find_json_number_end(const uint8_t *at, const uint8_t *end)
{
    if (at < end && *at == '-') at++;
    const uint8_t *digits = at;
    at = skip_digits(at, end);
    if (at == digits || (*digits == '0' && at > digits + 1)) return NULL;
    if (at < end && *at == '.') {
        digits = ++at;
        at = skip_digits(at, end);
        if (at == digits) return NULL;
    }
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        digits = at;
        at = skip_digits(at, end);
        if (at == digits) return NULL;
    }
    return at;
}

/* Returns the end of true, false or null at `at`, or NULL. */
static const uint8_t *find_json_word_end(const uint8_t *at, const uint8_t *end)
{
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++) {
        const size_t size = strlen(words[i]);
        if ((size_t)(end - at) >= size && memcmp(at, words[i], size) == 0) return at + size;
    }
    return NULL;
}

/* ---- Objects and arrays */

static bool is_innermost_container_array(const struct scan *s)
{
    const uint32_t at = s->depth - 1;
    return (s->arrays[at / 64] >> at % 64 & 1) != 0;
}

/* Opens the object or array at s->at; `matched`: the paths that lead to it. */
static const char *open_container(struct scan *s, uint64_t matched)
{
    const uint64_t bit = UINT64_C(1) << s->depth % 64;
    if (s->depth == JSON_DEPTH_MAX) return "JSON: more than 1024 levels of objects and arrays";
    uint64_t *word = &s->arrays[s->depth / 64];
    *word = *s->at == '[' ? *word | bit : *word & ~bit;
    s->depth++;
    s->at++;
    s->first = true;
    if (s->depth <= JSON_SEGMENTS_MAX) s->levels[s->depth] = (struct level){matched, 0};
    return NULL;
}

/* Scans a value; `matched`: the paths that lead to it. */
static const char *scan_value(struct scan *s, uint64_t matched)
{
    struct json_value value = {.kind = JSON_KIND_CONTAINER, .raw = {s->at, 0}};
    const uint8_t first = peek_json_byte(s), *end = NULL;
    const char *problem = NULL;
    if (first == '{' || first == '[') {
        problem = open_container(s, matched);
    } else if (first == '"') {
        problem = scan_string(s, &value);
    } else if (first == '-' || (first >= '0' && first <= '9')) {
        end = find_json_number_end(s->at, s->end);
        if (end == NULL) return "JSON: a number is not valid";
    } else {
        end = find_json_word_end(s->at, s->end);
        if (end == NULL) return s->at < s->end ? "JSON: a value is not valid" : JSON_LINE_ENDS;
    }
    if (end != NULL) {
        value.kind = first == 'n' ? JSON_KIND_NULL : JSON_KIND_LITERAL;
        value.raw.size = (uint64_t)(end - s->at);
        s->at = end;
    }
    const uint32_t depth = s->depth - (value.kind == JSON_KIND_CONTAINER);
    for (; problem == NULL && matched != 0; matched &= matched - 1) {
        const int path = __builtin_ctzll(matched);
        /* Equal names: what was found below an earlier one is forgotten. */
        const bool here = s->paths->items[path].count == depth;
        s->values[path] = here ? value : (struct json_value){.kind = JSON_KIND_MISSING};
    }
    return problem;
}

/* Returns the paths of the innermost container that continue with this name, or with the index if
 * `name` is NULL. */
static uint64_t match_json_paths(const struct scan *s, const struct json_value *name)
{
    uint64_t matched = 0;
    if (s->depth > JSON_SEGMENTS_MAX) return 0;
    const struct level *level = &s->levels[s->depth];
    for (uint64_t left = level->active; left != 0; left &= left - 1) {
        const int path = __builtin_ctzll(left);
        const struct json_path *p = &s->paths->items[path];
        if (p->count < s->depth) continue;
        const struct json_segment *segment = &p->segments[s->depth - 1];
        const bool same =
            name != NULL ? json_name_equals(name, segment->name) : segment->index == level->index;
        matched |= (uint64_t)same << path;
    }
    return matched;
}

/* The paths that lead to the innermost container, which has ended, have all of it. */
static void end_values_of_container(struct scan *s)
{
    if (s->depth > JSON_SEGMENTS_MAX) return;
    for (uint64_t left = s->levels[s->depth].active; left != 0; left &= left - 1) {
        const int path = __builtin_ctzll(left);
        struct json_value *v = &s->values[path];
        if (s->paths->items[path].count + 1 == s->depth && v->kind == JSON_KIND_CONTAINER)
            v->raw.size = (uint64_t)(s->at - v->raw.data);
    }
}

/* Passes the closing bracket if it is next and may be here, or what separates members. Returns NULL
 * with *out_closed set, or what is wrong. */
static const char *begin_next_member_or_close(struct scan *s, bool *out_closed)
{
    const bool array = is_innermost_container_array(s);
    skip_json_space(s);
    *out_closed = peek_json_byte(s) == (array ? ']' : '}');
    if (*out_closed) {
        s->at++;
        end_values_of_container(s);
        s->depth--;
    } else if (s->at == s->end) {
        return JSON_LINE_ENDS;
    } else if (!s->first) {
        if (*s->at != ',')
            return array ? "JSON: neither , nor ] after an element"
                         : "JSON: neither , nor } after a member";
        s->at++;
        skip_json_space(s);
    }
    s->first = false;
    return NULL;
}

static const char *scan_next_member(struct scan *s)
{
    struct json_value name;
    if (peek_json_byte(s) != '"')
        return s->at < s->end ? "JSON: a name is not a string" : JSON_LINE_ENDS;
    const char *problem = scan_string(s, &name);
    if (problem != NULL) return problem;
    skip_json_space(s);
    if (peek_json_byte(s) != ':')
        return s->at < s->end ? "JSON: no colon after a name" : JSON_LINE_ENDS;
    s->at++;
    skip_json_space(s);
    return scan_value(s, match_json_paths(s, &name));
}

static const char *scan_next_element(struct scan *s)
{
    const uint64_t matched = match_json_paths(s, NULL);
    if (s->depth <= JSON_SEGMENTS_MAX) s->levels[s->depth].index++;
    return scan_value(s, matched);
}

static const char *scan_object(struct scan *s)
{
    const uint32_t paths = s->paths->count;
    skip_json_space(s);
    if (peek_json_byte(s) == '[' && !s->paths->arrays) return "JSON: an array, not an object";
    if (peek_json_byte(s) != '{' && peek_json_byte(s) != '[') return "JSON: not an object";
    const char *problem = open_container(s, paths < 64 ? (UINT64_C(1) << paths) - 1 : UINT64_MAX);
    while (problem == NULL && s->depth > 0) {
        bool closed;
        problem = begin_next_member_or_close(s, &closed);
        if (problem == NULL && !closed)
            problem = is_innermost_container_array(s) ? scan_next_element(s) : scan_next_member(s);
    }
    if (problem != NULL) return problem;
    skip_json_space(s);
    return s->at == s->end ? NULL : "JSON: more text after the object";
}

static bool is_json_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

const char *json_line_hint(struct glint_slice line, const char *problem, bool first)
{
    const uint8_t *from = line.data, *to = line.data + line.size;
    while (from < to && is_json_space(*from)) from++;
    while (from < to && is_json_space(to[-1])) to--;
    assert(from < to && problem != NULL);
    const uint8_t begin = *from, end = to[-1];
    const bool ends = strcmp(problem, JSON_LINE_ENDS) == 0;
    const bool array = begin == '[' && (first || to - from == 1 || from[1] == '{');
    if (array || (begin == '{' && end == ',' && !ends)) return JSON_ARRAY_HINT;
    const bool part = begin == '{' ? ends && (first || to - from == 1)
                                   : end == ',' || memchr("\"}]", begin, 3) != NULL;
    return part ? "an object over several lines? jq -c . FILE writes each on a line; jq before 1.7 "
                  "rounds long numbers"
                : NULL;
}

const char *json_line_scan(const struct json_paths *paths, struct glint_slice line,
                           struct json_value *values, uint64_t *out_at)
{
    assert(paths->count <= JSON_PATHS_MAX);
    struct scan s = {
        .paths = paths, .values = values, .at = line.data, .end = line.data + line.size};
    for (uint32_t i = 0; i < paths->count; i++)
        values[i] = (struct json_value){.kind = JSON_KIND_MISSING};
    const char *problem = scan_object(&s);
    *out_at = (uint64_t)(s.at - line.data);
    assert(*out_at <= line.size);
    return problem;
}

bool json_line_is_blank(struct glint_slice line)
{
    for (uint64_t i = 0; i < line.size; i++)
        if (!is_json_space(line.data[i])) return false;
    return true;
}

struct glint_slice json_row_line(struct glint_slice row)
{
    if (row.size == 0 || row.data[0] != JSON_ROW) return row;
    const uint8_t *line = row.data + 1;
    const uint8_t *end = memchr(line, CSV_SEPARATOR, row.size - 1);
    return (struct glint_slice){line, end != NULL ? (uint64_t)(end - line) : row.size - 1};
}
