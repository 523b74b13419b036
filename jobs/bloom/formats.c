/* The table of all formats, and what they share: finding, writing and reading them, and the fields
 * of their headers. Every field is checked separately, so that an error names the offset of the
 * invalid byte. */
#include "jobs/bloom/formats.h"

#include "jobs/bloom/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char format_truncated[] = "the header is truncated";
const char format_no_bits[] = "the number of bits is not positive";

static const struct format *const formats[BLOOM_FORMATS] = {
    [BLOOM_FORMAT_BITS] = &format_bits,
    [BLOOM_FORMAT_SPARK] = &format_spark,
    [BLOOM_FORMAT_SPARK_V2] = &format_spark_v2,
    [BLOOM_FORMAT_HADOOP] = &format_hadoop,
    [BLOOM_FORMAT_GUAVA] = &format_guava,
    [BLOOM_FORMAT_PARQUET] = &format_parquet,
    [BLOOM_FORMAT_RBLOOM] = &format_rbloom,
    [BLOOM_FORMAT_GO_BLOOM] = &format_go_bloom,
    [BLOOM_FORMAT_GO_BLOOM_JSON] = &format_go_bloom_json,
    [BLOOM_FORMAT_DATASKETCHES] = &format_datasketches,
    [BLOOM_FORMAT_NPM_BLOOM] = &format_npm_bloom,
    [BLOOM_FORMAT_REDISBLOOM] = &format_redisbloom,
    [BLOOM_FORMAT_FASTBLOOM] = &format_fastbloom,
    [BLOOM_FORMAT_ORC] = &format_orc,
    [BLOOM_FORMAT_CASSANDRA] = &format_cassandra,
};

static const struct format *format_of_number(enum bloom_format format)
{
    assert((unsigned)format < BLOOM_FORMATS);
    return formats[format];
}

/* Those of one scheme differ only in the file. */
static const struct format *const formats_of_schemes[BLOOM_SCHEMES] = {
    [BLOOM_HADOOP_BLOOM] = &format_hadoop,
    [BLOOM_SPARK_BLOOM] = &format_spark,
    [BLOOM_SPARK_BLOOM_V2] = &format_spark_v2,
    [BLOOM_GUAVA] = &format_guava,
    [BLOOM_RBLOOM] = &format_rbloom,
    [BLOOM_GO_BLOOM] = &format_go_bloom,
    [BLOOM_DATASKETCHES] = &format_datasketches,
    [BLOOM_NPM_BLOOM] = &format_npm_bloom,
    [BLOOM_REDISBLOOM] = &format_redisbloom,
    [BLOOM_FASTBLOOM] = &format_fastbloom,
    [BLOOM_ORC] = &format_orc,
    [BLOOM_CASSANDRA] = &format_cassandra,
};

/* NULL: it is no class's. */
static const struct format *format_of_scheme(enum bloom_scheme scheme)
{
    assert((unsigned)scheme < BLOOM_SCHEMES);
    return formats_of_schemes[scheme];
}

/* ---- Properties */

const char *bloom_format_name(enum bloom_format format)
{
    return format_of_number(format)->name;
}

const char *bloom_format_program(enum bloom_format format)
{
    return format_of_number(format)->program;
}

bool bloom_format_parse(const char *name, uint64_t size, enum bloom_format *out_format)
{
    for (unsigned i = 0; i < BLOOM_FORMATS; i++) {
        if (strlen(formats[i]->name) != size || memcmp(formats[i]->name, name, size) != 0) continue;
        *out_format = (enum bloom_format)i;
        return true;
    }
    return false;
}

enum bloom_scheme bloom_format_scheme(enum bloom_format format)
{
    assert(format != BLOOM_FORMAT_BITS);
    return format_of_number(format)->scheme;
}

enum bloom_layout bloom_format_layout(enum bloom_format format)
{
    assert(format != BLOOM_FORMAT_BITS);
    return format_of_number(format)->layout;
}

bool bloom_format_fits(enum bloom_format format, const struct bloom_params *params)
{
    const struct format *f = format_of_number(format);
    return format == BLOOM_FORMAT_BITS ||
           (params->scheme == f->scheme && params->layout == f->layout);
}

uint64_t bloom_format_m_max(enum bloom_format format)
{
    return format_of_number(format)->m_max;
}

bool bloom_class_size(enum bloom_scheme scheme, double n, double p, double *out_m, double *out_k)
{
    const struct format *f = format_of_scheme(scheme);
    if (f == NULL || f->size_rule == NULL) return false;
    assert(n >= 1 && p > 0 && p < 1);
    f->size_rule(n, p, out_m, out_k);
    return true;
}

uint64_t bloom_class_seed(enum bloom_scheme scheme)
{
    const struct format *f = format_of_scheme(scheme);
    return f != NULL ? f->default_seed : 0;
}

void bloom_scheme_id_sizes(enum bloom_scheme scheme, uint32_t *out_min, uint32_t *out_max)
{
    const struct format *f = format_of_scheme(scheme);
    *out_min = f != NULL ? f->id_min : 0;
    *out_max = f != NULL ? f->id_max : 0;
}

void bloom_format_indexes(const struct bloom_params *params, const void *id, uint64_t size,
                          uint64_t *out_indexes)
{
    const struct format *f = format_of_scheme(params->scheme);
    assert(f != NULL && f->indexes != NULL && params->m > 0 && params->k <= BLOOM_K_MAX);
    f->indexes(params, id, size, out_indexes);
}

double format_bits_for_rate(double n, double p)
{
    const double ln2 = log(2);
    return ceil(-n * log(p) / (ln2 * ln2));
}

double format_round_up(double m, double unit)
{
    return ceil(m / unit) * unit;
}

/* ---- Fields */

uint32_t format_put_big_endian(uint8_t *out, uint64_t value, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) out[i] = (uint8_t)(value >> 8 * (size - 1 - i));
    return size;
}

uint32_t format_put_little_endian(uint8_t *out, uint64_t value, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) out[i] = (uint8_t)(value >> 8 * i);
    return size;
}

uint32_t format_put_f64(uint8_t *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return format_put_little_endian(out, bits, sizeof bits);
}

bool format_get_big_endian(struct head *head, uint32_t size, uint64_t *out)
{
    *out = 0;
    head->at = head->end;
    assert(size <= 8 && head->end <= head->size);
    if (head->have - head->end < size) {
        head->at = head->size;
        return false;
    }
    for (uint32_t i = 0; i < size; i++) *out = *out << 8 | head->data[head->end++];
    return true;
}

bool format_get_little_endian(struct head *head, uint32_t size, uint64_t *out)
{
    const bool there = format_get_big_endian(head, size, out);
    *out = size == 0 ? 0 : __builtin_bswap64(*out) >> (64 - 8 * size);
    return there;
}

bool format_get_java_int(struct head *head, int64_t *out)
{
    uint64_t value;
    bool there = format_get_big_endian(head, 4, &value);
    *out = (int32_t)(uint32_t)value;
    return there;
}

uint32_t format_put_varint(uint8_t *out, uint64_t value)
{
    uint32_t size = 0;
    for (; value > 0x7f; value >>= 7) out[size++] = (uint8_t)(value | 0x80);
    out[size++] = (uint8_t)value;
    return size;
}

const char *format_get_varint(struct head *head, uint64_t *out)
{
    uint64_t byte = 0x80;
    *out = 0;
    for (uint32_t shift = 0; byte >= 0x80; shift += 7) {
        if (!format_get_big_endian(head, 1, &byte)) return format_truncated;
        if (shift > 56 || (shift > 0 && byte == 0)) return "the number is invalid";
        *out |= (byte & 0x7f) << shift;
    }
    return NULL;
}

uint32_t format_put_text(uint8_t *out, const char *text)
{
    const size_t size = strlen(text);
    assert(size < BLOOM_FORMAT_HEAD_MAX);
    memcpy(out, text, size);
    return (uint32_t)size;
}

uint32_t format_put_decimal(uint8_t *out, uint64_t value)
{
    char text[24];
    const int size = snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    assert(size > 0 && size < (int)sizeof text);
    memcpy(out, text, (size_t)size);
    return (uint32_t)size;
}

static void skip_white_space(struct head *head)
{
    while (head->end < head->have && memchr(" \t\r\n", head->data[head->end], 4) != NULL)
        head->end++;
    head->at = head->end;
}

const char *format_get_text(struct head *head, const char *text)
{
    const uint64_t size = strlen(text);
    skip_white_space(head);
    const uint64_t left = head->have - head->end, seen = left < size ? left : size;
    if (memcmp(head->data + head->end, text, seen) != 0) return "another name or sign is expected";
    if (seen < size) {
        head->at = head->size;
        return format_truncated;
    }
    head->end += size;
    return NULL;
}

const char *format_get_member(struct head *head, const char *name)
{
    const char *wrong = format_get_text(head, name);
    return wrong != NULL ? wrong : format_get_text(head, ":");
}

const char *format_get_decimal(struct head *head, uint64_t *out)
{
    uint32_t digits = 0;
    skip_white_space(head);
    *out = 0;
    for (; head->end < head->have && (uint8_t)(head->data[head->end] - '0') < 10; head->end++) {
        const uint64_t digit = (uint64_t)head->data[head->end] - '0';
        if (digits++ > 0 && *out == 0) return "the number is invalid";
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, digit, out))
            return "the number is too large";
    }
    return digits == 0 ? "a whole number is expected" : NULL;
}

const char *format_check_k(uint64_t k, struct bloom_params *params)
{
    if (k == 0) return "the number of hashes is not positive";
    if (k > BLOOM_K_MAX) return "there are more than 255 hashes, the limit";
    params->k = (uint32_t)k;
    return NULL;
}

static const char *format_check_java_k(int64_t k, struct bloom_params *params)
{
    return format_check_k(k > 0 ? (uint64_t)k : 0, params);
}

const char *format_get_java_k(struct head *head, struct bloom_params *params)
{
    int64_t k;
    return format_get_java_int(head, &k) ? format_check_java_k(k, params) : format_truncated;
}

const char *format_get_java_words(struct head *head, struct bloom_params *params)
{
    int64_t words;
    if (!format_get_java_int(head, &words)) return format_truncated;
    params->m = words > 0 ? (uint64_t)words * 64 : 0;
    return words > 0 ? NULL : format_no_bits;
}

/* ---- Bodies */

enum { WORD = 8, WORDS_BYTES = 3072 }; /* words that are swapped at a time */

static bool body_is_of_words(const struct format *f)
{
    return f->body == FORMAT_WORDS || f->body == FORMAT_BASE64_OF_WORDS;
}

static bool is_base64(const struct format *f)
{
    return f->body == FORMAT_BASE64 || f->body == FORMAT_BASE64_OF_WORDS;
}

/* Before it is base64. */
static uint64_t payload_size(const struct format *f, uint64_t m)
{
    const uint64_t size = body_is_of_words(f) ? bloom_round_up(m, 64) / 8 : bloom_bytes(m);
    return f->body == FORMAT_BASE64_OF_WORDS ? WORD + size : size;
}

static uint64_t body_size(const struct format *f, uint64_t m)
{
    const uint64_t size = payload_size(f, m);
    return is_base64(f) ? bloom_round_up(size, BASE64_GROUP) / BASE64_GROUP * BASE64_GROUP_TEXT
                        : size;
}

static void swap_words(uint8_t *out, const uint8_t *in, uint64_t size)
{
    assert(size % WORD == 0);
    for (uint64_t at = 0; at < size; at += WORD) {
        uint64_t word;
        memcpy(&word, in + at, sizeof word);
        word = __builtin_bswap64(word);
        memcpy(out + at, &word, sizeof word);
    }
}

/* Encodes carry and bytes; keeps those after the last whole group. */
static uint64_t put_base64(struct bloom_format_writer *w, const uint8_t *in, uint64_t size,
                           uint8_t *out)
{
    uint64_t at = 0, used = 0;
    assert(w->carried < BASE64_GROUP);
    while (w->carried > 0 && w->carried < BASE64_GROUP && at < size)
        w->carry[w->carried++] = in[at++];
    if (w->carried == BASE64_GROUP) {
        used = base64_encode(&w->base64, w->carry, BASE64_GROUP, out);
        w->carried = 0;
    }
    if (w->carried == 0) {
        const uint64_t whole = (size - at) / BASE64_GROUP * BASE64_GROUP;
        used += base64_encode(&w->base64, in + at, whole, out + used);
        at += whole;
    }
    while (at < size) w->carry[w->carried++] = in[at++];
    return used;
}

uint32_t bloom_format_begin(struct bloom_format_writer *w, enum bloom_format format,
                            const struct bloom_params *params, uint8_t out[BLOOM_FORMAT_HEAD_MAX])
{
    const struct format *f = format_of_number(format);
    uint8_t word[WORD];
    w->format = format;
    w->params = *params;
    w->carried = 0;
    if (is_base64(f)) base64_pairs_init(&w->base64, f->body == FORMAT_BASE64_OF_WORDS);
    assert(bloom_format_fits(format, params) && params->m > 0 && params->m <= f->m_max);
    uint32_t size = f->encode(params, out);
    format_put_big_endian(word, params->m, WORD);
    if (f->body == FORMAT_BASE64_OF_WORDS)
        size += (uint32_t)put_base64(w, word, sizeof word, out + size);
    assert(size <= BLOOM_FORMAT_HEAD_MAX);
    return size;
}

uint64_t bloom_format_write(struct bloom_format_writer *w, const uint8_t *bits, uint64_t size,
                            uint8_t *out)
{
    const struct format *f = format_of_number(w->format);
    if (f->body == FORMAT_BYTES) {
        memcpy(out, bits, size);
        return size;
    }
    if (f->body == FORMAT_BASE64) return put_base64(w, bits, size, out);
    const uint64_t whole = size / WORD * WORD, left = size - whole;
    uint8_t last[WORD] = {0}, word[WORD];
    uint64_t used = 0;
    uint8_t words[WORDS_BYTES];
    for (uint64_t at = 0; f->body == FORMAT_BASE64_OF_WORDS && at < whole; at += WORDS_BYTES) {
        const uint64_t more = whole - at < WORDS_BYTES ? whole - at : WORDS_BYTES;
        swap_words(words, bits + at, more);
        used += put_base64(w, words, more, out + used);
    }
    if (f->body == FORMAT_WORDS) {
        swap_words(out, bits, whole);
        used = whole;
    }
    if (left == 0) return used;
    memcpy(last, bits + whole, left);
    swap_words(word, last, WORD);
    if (f->body == FORMAT_BASE64_OF_WORDS) return used + put_base64(w, word, WORD, out + used);
    memcpy(out + used, word, WORD);
    return used + WORD;
}

uint32_t bloom_format_end(struct bloom_format_writer *w, uint8_t out[BLOOM_FORMAT_HEAD_MAX])
{
    const struct format *f = format_of_number(w->format);
    uint32_t size = 0;
    if (w->carried > 0) size = (uint32_t)base64_encode(&w->base64, w->carry, w->carried, out);
    if (f->encode_trailer != NULL) size += f->encode_trailer(&w->params, out + size);
    assert(size <= BLOOM_FORMAT_HEAD_MAX);
    return size;
}

/* Converts the body at `data` to the bits of a filter, in place, which begin at *out_bits. */
static const char *convert_body(const struct format *f, uint8_t *data, uint64_t m,
                                uint8_t **out_bits, uint64_t *out_at)
{
    uint64_t size = payload_size(f, m), first;
    if (is_base64(f)) *out_at = base64_decode(f->body == FORMAT_BASE64_OF_WORDS, data, size);
    if (is_base64(f) && *out_at != UINT64_MAX) return "invalid base64";
    *out_bits = data;
    if (f->body == FORMAT_BASE64_OF_WORDS) {
        memcpy(&first, data, sizeof first);
        *out_at = 0;
        if (__builtin_bswap64(first) != m) return "the bits are not as many as the header says";
        *out_bits += WORD;
        size -= WORD;
    }
    if (body_is_of_words(f)) swap_words(*out_bits, *out_bits, size);
    *out_at = body_size(f, m) - 1;
    const uint8_t *bits = *out_bits;
    bool unused = m % 8 != 0 && bits[m / 8] >> m % 8 != 0;
    for (uint64_t at = bloom_bytes(m); at < size; at++) unused = unused || bits[at] != 0;
    return unused ? "a bit after the last one is set" : NULL;
}

/* ---- Files */

static const char *decode_head(const struct format *f, struct head *head,
                               struct bloom_params *params)
{
    const uint64_t n = params->n;
    if (f != &format_bits)
        *params = (struct bloom_params){.scheme = f->scheme, .layout = f->layout};
    const char *wrong = f->decode(head, params);
    if (n > 0 || params->n > INT64_MAX) params->n = n;
    if (wrong != NULL) return wrong;
    assert(params->m > 0 && head->end <= head->size);
    if (params->m > f->m_max) return "it has more bits than the scheme can index";
    const uint64_t left = head->size - head->end, body = body_size(f, params->m);
    head->at = left < body ? head->size : head->end + body;
    if (left < body) return "the bits are truncated";
    return left > body && f->decode_trailer == NULL ? "bytes follow the bits" : NULL;
}

static const char *decode_trailer(const struct format *f, struct head *head,
                                  struct bloom_params *params)
{
    if (f->decode_trailer == NULL) return NULL;
    head->end += body_size(f, params->m);
    head->have = head->size;
    const char *wrong = f->decode_trailer(head, params);
    if (wrong != NULL) return wrong;
    if (is_base64(f)) skip_white_space(head);
    head->at = head->end;
    return head->end < head->size ? "bytes follow the filter" : NULL;
}

static struct head head_of_file(const uint8_t *data, uint64_t size)
{
    const uint64_t have = size < BLOOM_FORMAT_HEAD_MAX ? size : BLOOM_FORMAT_HEAD_MAX;
    return (struct head){.data = data, .have = have, .size = size};
}

const char *bloom_format_decode_head(enum bloom_format format, const uint8_t *data, uint64_t size,
                                     struct bloom_params *params, uint64_t *out_at)
{
    struct head head = head_of_file(data, size);
    const char *wrong = decode_head(format_of_number(format), &head, params);
    *out_at = head.at;
    return wrong;
}

const char *bloom_format_decode(enum bloom_format format, uint8_t *data, uint64_t size,
                                const struct bloom_params *params, struct bloom_filter *out_view,
                                uint64_t *out_at)
{
    const struct format *f = format_of_number(format);
    struct head head = head_of_file(data, size);
    *out_view = (struct bloom_filter){.params = *params};
    struct bloom_params *own = &out_view->params;
    const char *wrong = decode_head(f, &head, own);
    const uint64_t body = head.end;
    if (wrong == NULL) wrong = decode_trailer(f, &head, own);
    *out_at = head.at;
    if (wrong != NULL) return wrong;
    uint64_t at = 0;
    wrong = convert_body(f, data + body, own->m, &out_view->bits, &at);
    *out_at = body + at;
    if (wrong != NULL) out_view->bits = NULL;
    return wrong;
}

/* Whether a file that is all in its first bytes is one of the format, with its trailer. */
static bool is_whole_file(enum bloom_format format, const uint8_t *data, uint64_t size)
{
    const struct bloom_params any = {.n = 0};
    uint8_t copy[BLOOM_FORMAT_HEAD_MAX];
    struct bloom_filter view;
    uint64_t at;
    assert(size <= sizeof copy);
    memcpy(copy, data, size);
    return bloom_format_decode(format, copy, size, &any, &view, &at) == NULL;
}

uint32_t bloom_format_detect(const uint8_t *data, uint64_t size,
                             enum bloom_format out_formats[BLOOM_FORMATS])
{
    uint32_t count = 0;
    for (unsigned i = BLOOM_FORMAT_BITS + 1; i < BLOOM_FORMATS; i++) {
        struct head head = head_of_file(data, size);
        struct bloom_params params = {.n = 0};
        if (decode_head(formats[i], &head, &params) == NULL)
            out_formats[count++] = (enum bloom_format)i;
    }
    for (uint32_t i = count; count > 1 && size <= BLOOM_FORMAT_HEAD_MAX && i-- > 0;)
        if (!is_whole_file(out_formats[i], data, size)) out_formats[i] = out_formats[--count];
    /* Any bytes after a small number are a file of rbloom, which does not have its length. */
    for (uint32_t i = 0; count > 1 && i < count; i++)
        if (out_formats[i] == BLOOM_FORMAT_RBLOOM) out_formats[i] = out_formats[--count];
    return count;
}
