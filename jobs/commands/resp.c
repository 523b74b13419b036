/* Words are kept as offsets, because the bytes may move until the request is complete. Memory is
 * taken as words arrive, never for the count that a client announces. */
#include "jobs/commands/resp.h"

#include "engine/base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    NUMBER_LINE_MAX = 32,     /* of a count or a length, with its line end */
    LINE_BYTES_MAX = 1 << 16, /* of an inline command */
    SHORT_HEAD_MAX = 5,       /* of a word of at most 99 bytes: $NN CR LF */
};

static const char bad_count[] = "invalid multibulk length", bad_length[] = "invalid bulk length",
                  too_long[] = "too big request", not_bulk[] = "expected '$'",
                  quoted[] = "an inline command with quotes; send an array of bulk strings",
                  bad_end[] = "a bulk string does not end with CRLF";

static bool add_word(struct resp_parser *p, uint64_t offset, uint64_t size)
{
    assert(p->count < UINT32_MAX);
    if (!array_reserve(&p->words, &p->capacity, p->count + 1, sizeof *p->words)) return false;
    p->words[p->count++] = (struct resp_word){offset, size};
    return true;
}

/* Reads a line "NUMBER CR LF" at p->at + 1, behind its type, and moves past it. */
static enum resp_result parse_number(struct resp_parser *p, const uint8_t *data, uint64_t size,
                                     int64_t *out)
{
    assert(p->at < size);
    uint64_t at = p->at + 1;
    const uint64_t begin = at;
    bool negative = false;
    int64_t number = 0;
    for (; at < size && data[at] != '\r'; at++) {
        if (at - begin >= 18) return RESP_INVALID; /* fewer digits than 2^63 */
        if (data[at] == '-' && at == begin)
            negative = true;
        else if (data[at] >= '0' && data[at] <= '9')
            number = number * 10 + (data[at] - '0');
        else
            return RESP_INVALID;
    }
    if (at + 1 >= size) return RESP_PARTIAL;
    if (at == begin + negative || data[at + 1] != '\n') return RESP_INVALID;
    *out = negative ? -number : number;
    p->at = at + 2;
    return RESP_COMPLETE;
}

/* Words of a line, separated by spaces. */
static enum resp_result parse_inline_words(struct resp_parser *p, const uint8_t *data,
                                           uint64_t size, const struct resp_limits *limits,
                                           const char **why)
{
    const uint8_t *end = memchr(data, '\n', size);
    const uint64_t most = limits->bytes < LINE_BYTES_MAX ? limits->bytes : LINE_BYTES_MAX;
    if (end == NULL && size < most) return RESP_PARTIAL;
    *why = too_long;
    if (end == NULL || (uint64_t)(end - data) >= most) return RESP_INVALID;
    *why = quoted;
    if (memchr(data, '"', (size_t)(end - data)) != NULL ||
        memchr(data, '\'', (size_t)(end - data)) != NULL)
        return RESP_INVALID;
    *why = too_long;
    const uint64_t stop = (uint64_t)(end - data);
    for (uint64_t at = 0; at < stop;) {
        const uint64_t begin = at;
        while (at < stop && data[at] > ' ') at++;
        if (at > begin) {
            if (p->count == limits->words) return RESP_INVALID;
            if (!add_word(p, begin, at - begin)) return RESP_NO_MEMORY;
        }
        while (at < stop && data[at] <= ' ') at++;
    }
    p->at = stop + 1;
    return RESP_COMPLETE;
}

static enum resp_result parse_bulk_word(struct resp_parser *p, const uint8_t *data, uint64_t size,
                                        const struct resp_limits *limits, const char **why)
{
    const uint64_t begin = p->at;
    int64_t length = 0;
    *why = not_bulk;
    if (begin == size) return RESP_PARTIAL;
    if (data[begin] != '$') return RESP_INVALID;
    *why = bad_length;
    const enum resp_result result = parse_number(p, data, size, &length);
    if (result != RESP_COMPLETE) return result;
    const uint64_t start = p->at;
    p->at = begin; /* the word is parsed when all of it is there */
    if (length < 0) return RESP_INVALID;
    *why = too_long;
    if ((uint64_t)length + 2 > limits->bytes || start + (uint64_t)length + 2 > limits->bytes)
        return RESP_INVALID;
    const uint64_t end = start + (uint64_t)length;
    if (end + 2 > size) return RESP_PARTIAL;
    *why = bad_end;
    if (data[end] != '\r' || data[end + 1] != '\n') return RESP_INVALID;
    if (!add_word(p, start, (uint64_t)length)) return RESP_NO_MEMORY;
    p->at = end + 2;
    return RESP_COMPLETE;
}

/* The usual words, of at most 99 bytes, as far as they are there and memory is; parse_bulk_word is
 * for all others, and for what is no word. */
static void parse_short_words(struct resp_parser *p, const uint8_t *data, uint64_t size,
                              const struct resp_limits *limits)
{
    const uint64_t most = p->expected < p->capacity ? p->expected : p->capacity;
    const uint64_t stop = size < limits->bytes ? size : limits->bytes;
    struct resp_word *words = p->words;
    uint64_t at = p->at, count = p->count;
    while (count < most && at + SHORT_HEAD_MAX < stop) {
        const uint8_t *head = data + at;
        const bool one = head[2] == '\r';
        const uint32_t first = head[1] - (uint32_t)'0', second = one ? 0 : head[2] - (uint32_t)'0';
        const uint64_t length = one ? first : 10 * first + second;
        const uint64_t begin = at + SHORT_HEAD_MAX - one, end = begin + length;
        if (head[0] != '$' || first > 9 || second > 9 || end + 2 > stop) break;
        if (memcmp(data + begin - 2, "\r\n", 2) != 0 || memcmp(data + end, "\r\n", 2) != 0) break;
        words[count++] = (struct resp_word){begin, length};
        at = end + 2;
    }
    assert(at <= size && count <= p->expected);
    p->count = (uint32_t)count;
    p->at = at;
}

enum resp_result resp_parse(struct resp_parser *p, const uint8_t *data, uint64_t size,
                            const struct resp_limits *limits, const char **why)
{
    assert(p->at <= size && limits->bytes >= NUMBER_LINE_MAX);
    if (size == 0) return RESP_PARTIAL;
    if (data[0] != '*') return parse_inline_words(p, data, size, limits, why);
    if (!p->in_array) {
        int64_t count = 0;
        *why = bad_count;
        const enum resp_result result = parse_number(p, data, size, &count);
        if (result != RESP_COMPLETE) return result;
        if (count > (int64_t)limits->words) return RESP_INVALID;
        p->expected = count > 0 ? (uint32_t)count : 0;
        p->in_array = true;
    }
    enum resp_result result = RESP_COMPLETE;
    while (p->count < p->expected && result == RESP_COMPLETE) {
        parse_short_words(p, data, size, limits);
        if (p->count < p->expected) result = parse_bulk_word(p, data, size, limits, why);
    }
    assert(result != RESP_COMPLETE || (p->at <= size && p->count == p->expected));
    return result;
}

void resp_next(struct resp_parser *p)
{
    *p = (struct resp_parser){.words = p->words, .capacity = p->capacity};
}

void resp_parser_fini(struct resp_parser *p)
{
    mem_free(p->words);
    *p = (struct resp_parser){.words = NULL};
}

/* ---- Replies */

static void append_to_reply(struct resp_reply *r, const void *data, uint64_t size)
{
    r->failed = r->failed || !buffer_append(&r->out, data, size);
}

static void append_reply_head(struct resp_reply *r, char type, int64_t number)
{
    char head[1 + TEXT_NUMBER_MAX + 2] = {type};
    const size_t size = 1 + text_format_i64(head + 1, number);
    memcpy(head + size, "\r\n", 2);
    append_to_reply(r, head, size + 2);
}

void resp_status(struct resp_reply *r, const char *text)
{
    append_to_reply(r, "+", 1);
    append_to_reply(r, text, strlen(text));
    append_to_reply(r, "\r\n", 2);
}

void resp_error(struct resp_reply *r, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\r' || *c == '\n') *c = ' ';
    append_to_reply(r, "-", 1);
    append_to_reply(r, text, strlen(text));
    append_to_reply(r, "\r\n", 2);
}

void resp_number(struct resp_reply *r, int64_t number)
{
    append_reply_head(r, ':', number);
}

void resp_bools(struct resp_reply *r, const uint8_t *yes, uint32_t count)
{
    static const char texts[4][5] = {":0\r\n", ":1\r\n", "#f\r\n", "#t\r\n"};
    const unsigned first = r->version == 3 ? 2 : 0;
    if (r->failed || !buffer_reserve(&r->out, 4 * (uint64_t)count)) {
        r->failed = true;
        return;
    }
    assert(r->version == 2 || r->version == 3);
    for (uint32_t i = 0; i < count; i++, r->out.size += 4)
        memcpy(r->out.data + r->out.size, texts[first + yes[i]], 4);
}

void resp_bulk(struct resp_reply *r, const void *data, uint64_t size)
{
    append_reply_head(r, '$', (int64_t)size);
    append_to_reply(r, data, size);
    append_to_reply(r, "\r\n", 2);
}

void resp_text(struct resp_reply *r, const char *text)
{
    resp_bulk(r, text, strlen(text));
}

void resp_null(struct resp_reply *r)
{
    if (r->version == 3)
        append_to_reply(r, "_\r\n", 3);
    else
        append_to_reply(r, "$-1\r\n", 5);
}

void resp_array(struct resp_reply *r, uint64_t count)
{
    append_reply_head(r, '*', (int64_t)count);
}

void resp_set(struct resp_reply *r, uint64_t count)
{
    append_reply_head(r, r->version == 3 ? '~' : '*', (int64_t)count);
}

void resp_map(struct resp_reply *r, uint64_t pairs)
{
    append_reply_head(r, r->version == 3 ? '%' : '*',
                      (int64_t)(r->version == 3 ? pairs : 2 * pairs));
}
