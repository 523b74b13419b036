/* The size of a record is unknown until its heads have been parsed, which say how many bytes are
 * needed at least. So the window over the file grows until parsing succeeds, and only the new bytes
 * are read. Small records are copied out of the window, which stays for the next ones; a large
 * record gets the window itself. What a caller leaves of a record is the memory of the next ones:
 * the kernel clears the pages of new blocks, which takes longer than reading into them. */
#include "jobs/commands/filter_file.h"

#include "engine/base/text.h"
#include "engine/input/input_stream.h"
#include "engine/limits.h"
#include "engine/records/pack.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WINDOW_FIRST     (64 * KIB)
#define RECORD_BYTES_MAX (VALUE_BYTES_MAX + KEY_BYTES_MAX + 64)

struct filter_file {
    struct env *env;
    const char *path;
    int file;
    struct input_stream *object; /* at a URL, read in order; NULL: it is the file */
    uint64_t size, at;           /* `at`: start of the next record */
    struct buffer window;
    uint64_t used;                /* bytes of the window before `at` */
    struct buffer spare;          /* of an earlier record; empty */
    const struct filter_map *map; /* NULL: the file is read */
    struct glint_error *error;
};

bool filter_key_copy(struct arena *arena, const struct filter_key *key, struct filter_key *out)
{
    *out = *key;
    out->text = arena_alloc(arena, key->size + 1);
    if (out->text == NULL) return false;
    memcpy(out->text, key->text, key->size + 1);
    return true;
}

int filter_key_compare(const struct filter_key *a, const struct filter_key *b)
{
    if (a->number != b->number) return a->number ? -1 : 1;
    if (a->number && a->order != b->order) return a->order < b->order ? -1 : 1;
    uint64_t size = a->size < b->size ? a->size : b->size;
    int c = memcmp(a->text, b->text, size);
    return c != 0 ? c : (a->size > b->size) - (a->size < b->size);
}

void filter_record_fini(struct filter_record *record)
{
    mem_free(record->key.text);
    if (!record->mapped) buffer_fini(&record->bytes);
    *record = (struct filter_record){.path = NULL};
}

static int set_invalid_filter_file_error(const struct filter_file *f, uint64_t offset,
                                         const char *reason)
{
    return error_set(f->error, GLINT_E_FILTER_INVALID,
                     "use the part-* files that bloom-build writes", "%s, byte %llu: %s", f->path,
                     (unsigned long long)offset, reason);
}

/* Makes the window `wanted` bytes, starting at f->at. */
static int grow_read_window(struct filter_file *f, uint64_t wanted)
{
    struct buffer *window = &f->window;
    assert(f->used <= window->size && f->at + wanted <= f->size);
    window->size -= f->used;
    if (f->used > 0) memmove(window->data, window->data + f->used, window->size);
    f->used = 0;
    if (wanted <= window->size) return GLINT_OK;
    uint64_t more = wanted - window->size;
    if (!buffer_reserve(window, more)) return error_no_memory(f->error);
    int64_t n;
    if (f->object != NULL)
        n = input_stream_read(f->object, window->data + window->size, more);
    else
        n = env_read_full(f->env, f->file, window->data + window->size, more, f->at + window->size);
    if (n < 0 && f->object != NULL) return (int)n;
    if (n < 0) return error_set_system(f->error, GLINT_E_INPUT_IO, (int)n, "read", f->path);
    if ((uint64_t)n < more)
        return error_set(f->error, GLINT_E_INPUT_CHANGED, NULL,
                         "%s was truncated while it was read", f->path);
    window->size = wanted;
    return GLINT_OK;
}

/* Moves the `size` bytes after f->used to the record. */
static int move_window_to_record(struct filter_file *f, uint64_t size, struct buffer *out)
{
    if (f->used == 0 && size > WINDOW_FIRST / 2) {
        *out = f->window;
        f->window = (struct buffer){NULL, 0, 0};
    } else {
        if (!buffer_reserve(&f->spare, size)) return error_no_memory(f->error);
        *out = f->spare;
        f->spare = (struct buffer){NULL, 0, 0};
        memcpy(out->data, f->window.data + f->used, size);
        f->used += size;
    }
    out->size = size;
    return GLINT_OK;
}

/* Reads the record at f->at, and nothing after it. */
static int read_filter_record(struct filter_file *f, struct buffer *out)
{
    uint64_t left = f->size - f->at, bytes_max = left < RECORD_BYTES_MAX ? left : RECORD_BYTES_MAX;
    for (;;) {
        const uint64_t have = f->window.size - f->used;
        uint64_t size = WINDOW_FIRST;
        enum msgpack_validity found = MSGPACK_TRUNCATED;
        if (have > 0) found = msgpack_validate_prefix(f->window.data + f->used, have, &size);
        if (found == MSGPACK_COMPLETE) {
            assert(size > 0 && size <= have);
            return move_window_to_record(f, size, out);
        }
        if (have > 0 && (found == MSGPACK_INVALID || size > bytes_max))
            return set_invalid_filter_file_error(f, f->at, "invalid or truncated msgpack");
        if (size < WINDOW_FIRST) size = WINDOW_FIRST;
        int failed = grow_read_window(f, size < bytes_max ? size : bytes_max);
        if (failed != 0) return failed;
    }
}

static int decode_number_key(const struct filter_file *f, struct filter_key *key,
                             const struct msgpack_head *head)
{
    key->text = mem_alloc(TEXT_NUMBER_MAX);
    if (key->text == NULL) return error_no_memory(f->error);
    key->number = true;
    if (head->kind == MSGPACK_KIND_FLOAT) {
        key->order = head->f64;
        key->size = text_format_f64(key->text, head->f64);
        return GLINT_OK;
    }
    if (head->kind == MSGPACK_KIND_UINT && head->u64 > INT64_MAX)
        return set_invalid_filter_file_error(f, f->at, "the key is not a signed 64-bit integer");
    key->order = (double)head->i64;
    key->size = text_format_i64(key->text, head->i64);
    return GLINT_OK;
}

static int decode_text_key(const struct filter_file *f, struct filter_key *key, const uint8_t *data,
                           uint64_t size)
{
    if (size > KEY_BYTES_MAX)
        return set_invalid_filter_file_error(f, f->at, "the key is too large");
    key->text = mem_alloc(size + 1);
    if (key->text == NULL) return error_no_memory(f->error);
    memcpy(key->text, data, size);
    key->text[size] = '\0';
    key->size = size;
    return GLINT_OK;
}

/* A file of the library, or of Python's Bloom.save, is one filter without a key. Its key is the
 * name of the file without its ending, as that of the files that `filter import` reads. */
static int decode_filter_without_key(const struct filter_file *f, struct filter_record *record)
{
    const char *slash = strrchr(f->path, '/'), *name = slash != NULL ? slash + 1 : f->path;
    const char *dot = strrchr(name, '.');
    const uint64_t size = dot != NULL && dot > name ? (uint64_t)(dot - name) : strlen(name);
    const enum bloom_result result =
        bloom_decode(record->bytes.data, record->bytes.size, &record->filter);
    if (result != BLOOM_OK)
        return set_invalid_filter_file_error(
            f, f->at,
            result == BLOOM_ERR_FORMAT ? "not a pair of key and filter" : bloom_strerror(result));
    if (record->bytes.size != f->size)
        return set_invalid_filter_file_error(f, f->at,
                                             "a filter without a key must be alone in its file");
    record->bare = true;
    return decode_text_key(f, &record->key, (const uint8_t *)name, size);
}

static int decode_record(const struct filter_file *f, struct filter_record *record)
{
    const uint8_t *data = record->bytes.data;
    uint64_t size = record->bytes.size, key_size = 0;
    struct msgpack_head head;
    if (!msgpack_read_head(data, size, &head) || head.kind != MSGPACK_KIND_ARRAY || head.count != 2)
        return decode_filter_without_key(f, record);
    uint64_t at = head.head_size;
    bool sound = msgpack_read_head(data + at, size - at, &head) &&
                 msgpack_validate(data + at, size - at, &key_size);
    assert(sound); /* the whole record has been parsed */
    int failed;
    if (head.kind == MSGPACK_KIND_UINT || head.kind == MSGPACK_KIND_INT ||
        head.kind == MSGPACK_KIND_FLOAT)
        failed = decode_number_key(f, &record->key, &head);
    else if (head.kind == MSGPACK_KIND_STR || head.kind == MSGPACK_KIND_BIN)
        failed = decode_text_key(f, &record->key, data + at + head.head_size, head.size);
    else
        failed = set_invalid_filter_file_error(f, f->at + at,
                                               "the key is neither a string nor a number");
    if (failed != 0) return failed;
    at += key_size;
    enum bloom_result result = bloom_is_segment(data + at, size - at)
                                   ? bloom_segment_decode(data + at, size - at, &record->segment)
                                   : bloom_decode(data + at, size - at, &record->filter);
    return result == BLOOM_OK
               ? GLINT_OK
               : set_invalid_filter_file_error(f, f->at + at, bloom_strerror(result));
}

/* Keeps the memory that is left of a record for the next ones. */
static void recycle_record(struct filter_file *f, struct filter_record *record)
{
    struct buffer *to = f->window.data == NULL ? &f->window : &f->spare;
    if (!record->mapped && record->bytes.data != NULL && to->data == NULL) {
        *to = (struct buffer){record->bytes.data, 0, record->bytes.capacity};
        record->bytes = (struct buffer){NULL, 0, 0};
    }
    filter_record_fini(record);
}

/* The record at f->at of a mapped file. */
static int view_filter_record(struct filter_file *f, struct buffer *out)
{
    const uint64_t left = f->size - f->at;
    uint8_t *data = f->map->data + f->at;
    uint64_t size = 0;
    if (!msgpack_validate(data, left < RECORD_BYTES_MAX ? left : RECORD_BYTES_MAX, &size))
        return set_invalid_filter_file_error(f, f->at, "invalid or truncated msgpack");
    assert(size > 0 && size <= left);
    *out = (struct buffer){data, size, 0};
    return GLINT_OK;
}

static int each_filter_record(struct filter_file *f,
                              int (*each)(void *arg, struct filter_record *record), void *arg)
{
    int result = 0;
    while (result == 0 && f->at < f->size) {
        struct filter_record record = {.path = f->path, .offset = f->at, .mapped = f->map != NULL};
        result = f->map != NULL ? view_filter_record(f, &record.bytes)
                                : read_filter_record(f, &record.bytes);
        uint64_t size = record.bytes.size;
        if (result == 0) result = decode_record(f, &record);
        if (result == 0) result = each(arg, &record);
        recycle_record(f, &record);
        f->at += size;
    }
    return result;
}

/* Maps the file and a page behind it, because the kernels read words that may end after the bits;
 * without a file, memory. Returns 0 or a negative errno. */
static int map_bytes(struct filter_map *map, int file, uint64_t size)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint8_t *data = mmap(NULL, size + page, PROT_READ | (file < 0 ? PROT_WRITE : 0),
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) return -errno;
    if (file >= 0 && mmap(data, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED) {
        const int r = -errno;
        munmap(data, size + page);
        return r;
    }
    *map = (struct filter_map){data, size};
    return 0;
}

static int map_file(struct filter_file *f, struct filter_maps *maps)
{
    if (!array_reserve(&maps->items, &maps->capacity, maps->count + 1, sizeof *maps->items))
        return error_no_memory(f->error);
    const int failed = map_bytes(&maps->items[maps->count], f->file, f->size);
    if (failed != 0) return error_set_system(f->error, GLINT_E_INPUT_IO, failed, "map", f->path);
    f->map = &maps->items[maps->count++];
    maps->bytes += f->size;
    if (f->object == NULL) return GLINT_OK;
    const int64_t n = input_stream_read(f->object, f->map->data, f->size);
    if (n < 0) return (int)n;
    return (uint64_t)n == f->size ? 0
                                  : error_set(f->error, GLINT_E_INPUT_CHANGED, NULL,
                                              "%s was truncated while it was read", f->path);
}

void filter_maps_close(struct filter_maps *maps)
{
    for (uint64_t i = 0; i < maps->count; i++)
        munmap(maps->items[i].data, maps->items[i].size + (uint64_t)sysconf(_SC_PAGESIZE));
    mem_free(maps->items);
    *maps = (struct filter_maps){.items = NULL};
}

/* `memory`: of the window, for the next file. */
static int walk_file(struct filter_file *f, struct filter_maps *maps, struct buffer *memory,
                     int (*each)(void *arg, struct filter_record *record), void *arg)
{
    int result = 0;
    f->window = *memory;
    if (maps != NULL && f->size > 0) result = map_file(f, maps);
    if (result == 0) result = each_filter_record(f, each, arg);
    f->window.size = 0;
    *memory = f->window;
    buffer_fini(&f->spare);
    return result;
}

static int open_and_walk(struct env *env, const char *path, struct filter_maps *maps,
                         struct buffer *memory,
                         int (*each)(void *arg, struct filter_record *record), void *arg,
                         struct glint_error *error)
{
    struct filter_file f = {.env = env, .path = path, .error = error};
    struct env_stat stat;
    f.file = env->open(env, ENV_CWD, path, ENV_READ);
    if (f.file < 0) return error_set_system(error, GLINT_E_INPUT_PERMISSION, f.file, "open", path);
    int result = env->stat_open(env, f.file, &stat);
    f.size = stat.size;
    if (result != 0)
        result = error_set_system(error, GLINT_E_INPUT_IO, result, "stat", path);
    else if (stat.kind != ENV_FILE)
        result = error_set(error, GLINT_E_INPUT_KIND, NULL, "%s is not a regular file", path);
    else
        result = walk_file(&f, maps, memory, each, arg);
    env->close(env, f.file);
    return result;
}

/* An object at a URL is read once, in order; instead of a map there is memory. */
static int open_and_walk_object(struct env *env, const struct input_file *file,
                                struct filter_maps *maps, struct buffer *memory,
                                int (*each)(void *arg, struct filter_record *record), void *arg,
                                struct glint_error *error)
{
    struct input_stream object;
    const struct split_piece whole = split_whole_file(file);
    struct filter_file f = {.env = env,
                            .path = file->path,
                            .file = -1,
                            .object = &object,
                            .size = file->size,
                            .error = error};
    int result = input_stream_open(&object, env, &whole, 0, error);
    if (result == 0 && object.compression != COMPRESSION_NONE)
        result = error_set(error, GLINT_E_FILTER_INVALID, "decompress it",
                           "%s is compressed, as no file of filters is", file->path);
    if (result == 0) result = walk_file(&f, maps, memory, each, arg);
    if (result == 0) result = input_stream_check_unchanged(&object);
    input_stream_close(&object);
    return result;
}

int filter_each_mapped(struct env *env, const char *const *paths, uint32_t count,
                       struct filter_maps *maps,
                       int (*each)(void *arg, struct filter_record *record), void *arg,
                       struct glint_error *error)
{
    struct buffer memory = {NULL, 0, 0};
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < count; i++) {
        struct input_list list = {.files = NULL};
        result = input_list_resolve(env, paths[i], INPUT_BINARY, &list, error);
        for (uint64_t n = 0; result == 0 && n < list.count; n++)
            result =
                list.files[n].remote != NULL
                    ? open_and_walk_object(env, &list.files[n], maps, &memory, each, arg, error)
                    : open_and_walk(env, list.files[n].path, maps, &memory, each, arg, error);
        input_list_fini(&list);
    }
    buffer_fini(&memory);
    return result;
}

int filter_each(struct env *env, const char *const *paths, uint32_t count,
                int (*each)(void *arg, struct filter_record *record), void *arg,
                struct glint_error *error)
{
    return filter_each_mapped(env, paths, count, NULL, each, arg, error);
}
