/* The functions of <glint/bloom.h> on files. A file is parsed once when it is opened: every filter
 * is validated and gets a view into the file's bytes, mapped or read, so look-ups need neither
 * memory nor error codes. A file is written atomically. */
#include "jobs/bloom/public.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct glint_bloom_file {
    uint8_t *data;
    size_t size, count, capacity;
    bool mapped;
    struct glint_bloom_entry *entries;
    struct glint_bloom *filters; /* views, in the order of the entries */
};

/* ---- keys: msgpack strings and numbers */

enum { PAIR = 0x92, NUMBER_MAX = 9 };

static uint64_t load_big_endian_number(const uint8_t *at, uint32_t bytes)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) value = value << 8 | at[i];
    return value;
}

/* Decodes a number of `bytes` bytes at data[1]. */
static int decode_key_number(const uint8_t *data, uint32_t bytes, struct glint_bloom_entry *entry)
{
    uint64_t value = load_big_endian_number(data + 1, bytes);
    bool is_signed = data[0] >= 0xd0;
    uint32_t spare = 64 - 8 * bytes;
    if (data[0] == 0xcb) {
        entry->kind = GLINT_BLOOM_KEY_DOUBLE;
        memcpy(&entry->real, &value, sizeof value);
        return GLINT_BLOOM_OK;
    }
    if (!is_signed && value > INT64_MAX) return GLINT_BLOOM_ERR_KEY;
    entry->kind = GLINT_BLOOM_KEY_INT;
    entry->number = is_signed ? (int64_t)(value << spare) >> spare : (int64_t)value;
    return GLINT_BLOOM_OK;
}

/* Number of length bytes after the tag of a string or bin, or of value bytes after the tag of a
 * number; 0: another tag. */
static uint32_t text_length_bytes(uint8_t tag)
{
    if (tag >= 0xd9 && tag <= 0xdb) return 1u << (tag - 0xd9);
    if (tag >= 0xc4 && tag <= 0xc6) return 1u << (tag - 0xc4);
    return 0;
}
static uint32_t number_bytes(uint8_t tag)
{
    if (tag == 0xcb) return 8;
    if (tag >= 0xcc && tag <= 0xcf) return 1u << (tag - 0xcc);
    if (tag >= 0xd0 && tag <= 0xd3) return 1u << (tag - 0xd0);
    return 0;
}

static int decode_key_text(const uint8_t *data, uint64_t left, uint64_t head, uint64_t size,
                           struct glint_bloom_entry *entry, uint64_t *out_size)
{
    if (left < head || left - head < size) return GLINT_BLOOM_ERR_TRUNCATED;
    entry->kind = GLINT_BLOOM_KEY_TEXT;
    entry->text = (const char *)data + head;
    entry->text_size = size;
    *out_size = head + size;
    return GLINT_BLOOM_OK;
}

static int decode_key(const uint8_t *data, uint64_t left, struct glint_bloom_entry *entry,
                      uint64_t *out_size)
{
    if (left == 0) return GLINT_BLOOM_ERR_TRUNCATED;
    uint8_t tag = data[0];
    *out_size = 1;
    if (tag <= 0x7f || tag >= 0xe0) {
        entry->kind = GLINT_BLOOM_KEY_INT;
        entry->number = (int8_t)tag;
        return GLINT_BLOOM_OK;
    }
    if (tag >= 0xa0 && tag <= 0xbf)
        return decode_key_text(data, left, 1, tag & 0x1f, entry, out_size);
    uint32_t length = text_length_bytes(tag), number = number_bytes(tag);
    if (length == 0 && number == 0) return GLINT_BLOOM_ERR_KEY;
    if (left - 1 < length + number) return GLINT_BLOOM_ERR_TRUNCATED;
    if (length > 0)
        return decode_key_text(data, left, 1 + length, load_big_endian_number(data + 1, length),
                               entry, out_size);
    *out_size = 1 + number;
    return decode_key_number(data, number, entry);
}

static uint32_t encode_key_number(uint8_t out[NUMBER_MAX], uint8_t tag, uint64_t value,
                                  uint32_t bytes)
{
    out[0] = tag;
    for (uint32_t i = 0; i < bytes; i++) out[1 + i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
    return 1 + bytes;
}

/* Encodes the header of a string, or a whole number, in the shortest form. Returns its size, 0: not
 * a key. */
static uint32_t encode_key_head(const struct glint_bloom_entry *entry, uint8_t out[NUMBER_MAX])
{
    uint64_t size = entry->text_size, bits;
    int64_t number = entry->number;
    switch (entry->kind) {
    case GLINT_BLOOM_KEY_TEXT:
        if (size < 32) return encode_key_number(out, (uint8_t)(0xa0 | size), 0, 0);
        if (size <= UINT8_MAX) return encode_key_number(out, 0xd9, size, 1);
        if (size <= UINT16_MAX) return encode_key_number(out, 0xda, size, 2);
        return size <= UINT32_MAX ? encode_key_number(out, 0xdb, size, 4) : 0;
    case GLINT_BLOOM_KEY_INT:
        if (number >= -32 && number <= INT8_MAX)
            return encode_key_number(out, (uint8_t)number, 0, 0);
        if (number > 0 && number <= UINT8_MAX)
            return encode_key_number(out, 0xcc, (uint64_t)number, 1);
        if (number > 0 && number <= UINT16_MAX)
            return encode_key_number(out, 0xcd, (uint64_t)number, 2);
        if (number > 0 && number <= UINT32_MAX)
            return encode_key_number(out, 0xce, (uint64_t)number, 4);
        if (number > 0) return encode_key_number(out, 0xcf, (uint64_t)number, 8);
        if (number >= INT8_MIN) return encode_key_number(out, 0xd0, (uint64_t)number, 1);
        if (number >= INT16_MIN) return encode_key_number(out, 0xd1, (uint64_t)number, 2);
        if (number >= INT32_MIN) return encode_key_number(out, 0xd2, (uint64_t)number, 4);
        return encode_key_number(out, 0xd3, (uint64_t)number, 8);
    case GLINT_BLOOM_KEY_DOUBLE:
        memcpy(&bits, &entry->real, sizeof bits);
        return encode_key_number(out, 0xcb, bits, 8);
    default: return 0;
    }
}

/* ---- reading ---- */

static bool reserve_filter_entry(struct glint_bloom_file *file)
{
    if (file->count < file->capacity) return true;
    size_t capacity = file->capacity > 0 ? 2 * file->capacity : 16;
    struct glint_bloom_entry *entries = realloc(file->entries, capacity * sizeof *entries);
    if (entries == NULL) return false;
    file->entries = entries;
    struct glint_bloom *filters = realloc(file->filters, capacity * sizeof *filters);
    if (filters == NULL) return false;
    file->filters = filters;
    file->capacity = capacity;
    return true;
}

/* Reads the next pair, or a filter without a key, which must be the only entry. */
static int read_filter_entry(struct glint_bloom_file *file, uint64_t *at)
{
    const uint8_t *data = file->data + *at;
    uint64_t left = file->size - *at, key = 0, used;
    if (!reserve_filter_entry(file)) return GLINT_BLOOM_ERR_MEMORY;
    struct glint_bloom_entry *entry = &file->entries[file->count];
    struct glint_bloom *filter = &file->filters[file->count];
    *entry = (struct glint_bloom_entry){.kind = GLINT_BLOOM_KEY_NONE};
    bool pair = data[0] == PAIR;
    if (pair) {
        int result = decode_key(data + 1, left - 1, entry, &key);
        if (result != 0) return result;
        key++;
    } else if (*at > 0) {
        return file->entries[0].kind == GLINT_BLOOM_KEY_NONE ? GLINT_BLOOM_ERR_TRAILING
                                                             : GLINT_BLOOM_ERR_FORMAT;
    }
    int result = bloom_decode_first(data + key, left - key, &filter->filter, &used);
    if (result != 0) return result;
    assert(used > 0 && used <= left - key);
    *at += key + used;
    file->count++;
    return !pair && *at < file->size ? GLINT_BLOOM_ERR_TRAILING : GLINT_BLOOM_OK;
}

static int read_filter_entries(struct glint_bloom_file *file)
{
    int result = GLINT_BLOOM_OK;
    for (uint64_t at = 0; result == 0 && at < file->size;) result = read_filter_entry(file, &at);
    for (size_t i = 0; i < file->count; i++) file->entries[i].filter = &file->filters[i];
    return result;
}

static int read_file_to_memory(int fd, uint8_t *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t n = read(fd, data + at, size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return GLINT_BLOOM_ERR_IO;
        if (n == 0) return GLINT_BLOOM_ERR_TRUNCATED; /* the file was truncated */
        at += (size_t)n;
    }
    return GLINT_BLOOM_OK;
}

static int read_file_bytes(struct glint_bloom_file *file, int fd)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0) return GLINT_BLOOM_ERR_IO;
    if (!S_ISREG(stat.st_mode)) {
        errno = S_ISDIR(stat.st_mode) ? EISDIR : EINVAL;
        return GLINT_BLOOM_ERR_IO;
    }
    if (stat.st_size == 0) return GLINT_BLOOM_OK; /* a part without keys */
    size_t size = (size_t)stat.st_size;
    if (file->mapped) {
        void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED) return GLINT_BLOOM_ERR_IO;
        file->data = data;
        file->size = size;
        return GLINT_BLOOM_OK;
    }
    file->data = malloc(size);
    if (file->data == NULL) return GLINT_BLOOM_ERR_MEMORY;
    file->size = size;
    return read_file_to_memory(fd, file->data, size);
}

int glint_bloom_open(const char *path, enum glint_bloom_open_mode mode, glint_bloom_file **out_file)
{
    *out_file = NULL;
    struct glint_bloom_file *file = calloc(1, sizeof *file);
    if (file == NULL) return GLINT_BLOOM_ERR_MEMORY;
    file->mapped = mode == GLINT_BLOOM_MAP;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a FIFO must not block */
    int result = fd < 0 ? GLINT_BLOOM_ERR_IO : read_file_bytes(file, fd);
    if (result == 0) result = read_filter_entries(file);
    int why = errno;
    if (fd >= 0) close(fd);
    if (result == 0)
        *out_file = file;
    else
        glint_bloom_close(file);
    errno = why;
    return result;
}

void glint_bloom_close(glint_bloom_file *file)
{
    if (file == NULL) return;
    if (file->mapped && file->data != NULL)
        munmap(file->data, file->size);
    else
        free(file->data);
    free(file->entries);
    free(file->filters);
    free(file);
}

size_t glint_bloom_entries(const glint_bloom_file *file)
{
    return file != NULL ? file->count : 0;
}

struct glint_bloom_entry glint_bloom_entry_at(const glint_bloom_file *file, size_t i)
{
    return i < glint_bloom_entries(file) ? file->entries[i]
                                         : (struct glint_bloom_entry){.filter = NULL};
}

const glint_bloom *glint_bloom_find_text(const glint_bloom_file *file, const char *text,
                                         size_t size)
{
    for (size_t i = 0; i < glint_bloom_entries(file); i++) {
        const struct glint_bloom_entry *entry = &file->entries[i];
        if (entry->kind == GLINT_BLOOM_KEY_TEXT && entry->text_size == size &&
            (size == 0 || memcmp(entry->text, text, size) == 0))
            return entry->filter;
    }
    return NULL;
}

const glint_bloom *glint_bloom_find_int(const glint_bloom_file *file, int64_t number)
{
    for (size_t i = 0; i < glint_bloom_entries(file); i++) {
        const struct glint_bloom_entry *entry = &file->entries[i];
        if (entry->kind == GLINT_BLOOM_KEY_INT && entry->number == number) return entry->filter;
    }
    return NULL;
}

/* ---- writing ---- */

static int write_all_bytes(int fd, const void *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t n = write(fd, (const uint8_t *)data + at, size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return GLINT_BLOOM_ERR_IO;
        at += (size_t)n;
    }
    return GLINT_BLOOM_OK;
}

static int write_entry(int fd, const struct glint_bloom_entry *entry)
{
    uint8_t start[1 + NUMBER_MAX] = {PAIR}, header[BLOOM_HEADER_MAX];
    int result = GLINT_BLOOM_OK;
    if (entry->kind != GLINT_BLOOM_KEY_NONE)
        result = write_all_bytes(fd, start, 1 + encode_key_head(entry, start + 1));
    if (result == 0 && entry->kind == GLINT_BLOOM_KEY_TEXT)
        result = write_all_bytes(fd, entry->text, entry->text_size);
    const struct bloom_filter *filter = &entry->filter->filter;
    if (result == 0) result = write_all_bytes(fd, header, bloom_encode_header(filter, header));
    if (result == 0) result = write_all_bytes(fd, filter->bits, bloom_bytes(filter->params.m));
    return result;
}

static bool are_keys_encodable(const struct glint_bloom_entry *entries, size_t count)
{
    uint8_t head[NUMBER_MAX];
    for (size_t i = 0; i < count; i++) {
        bool alone = entries[i].kind == GLINT_BLOOM_KEY_NONE && count == 1;
        if (!alone && encode_key_head(&entries[i], head) == 0) return false;
    }
    return true;
}

static int write_entries(int fd, const struct glint_bloom_entry *entries, size_t count)
{
    int result = GLINT_BLOOM_OK;
    for (size_t i = 0; result == 0 && i < count; i++) result = write_entry(fd, &entries[i]);
    if (result == 0 && fchmod(fd, 0644) != 0) result = GLINT_BLOOM_ERR_IO;
    if (result == 0 && fsync(fd) != 0) result = GLINT_BLOOM_ERR_IO;
    return result;
}

int glint_bloom_write(const char *path, const struct glint_bloom_entry *entries, size_t count)
{
    char temporary[PATH_MAX];
    if (!are_keys_encodable(entries, count)) return GLINT_BLOOM_ERR_KEY;
    int size = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    if (size < 0 || (size_t)size >= sizeof temporary) {
        errno = ENAMETOOLONG;
        return GLINT_BLOOM_ERR_IO;
    }
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) return GLINT_BLOOM_ERR_IO;
    int result = write_entries(fd, entries, count);
    int why = errno;
    if (close(fd) != 0 && result == 0) {
        result = GLINT_BLOOM_ERR_IO;
        why = errno;
    }
    if (result == 0 && rename(temporary, path) != 0) {
        result = GLINT_BLOOM_ERR_IO;
        why = errno;
    }
    if (result != 0) unlink(temporary);
    errno = why;
    return result;
}
