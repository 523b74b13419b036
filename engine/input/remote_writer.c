/* Parts have to be of S3_PART_BYTES_MIN at least, and there are at most S3_PARTS_MAX: so parts get
 * twice as large after each tenth of these, as far as the memory goes. A part is kept until the
 * store has it. */
#include "engine/input/remote_writer.h"

#include "engine/base/text.h"
#include "engine/input/remote_url.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* ---- Names */

bool remote_output_is(const char *attempts)
{
    return remote_url_kind(attempts) == REMOTE_S3;
}

size_t remote_part_parse(const char *name, const char **out_job, const char **out_suffix)
{
    *out_job = NULL;
    *out_suffix = name;
    if (strncmp(name, "part-", 5) != 0) return 0;
    const size_t size = 5 + strspn(name + 5, "0123456789");
    if (size < 5 + 5) return 0;
    *out_suffix = name + size;
    const char *job = name + size + 1;
    if (name[size] == '-' && strspn(job, "0123456789abcdef") == REMOTE_JOB_DIGITS) {
        *out_job = job;
        *out_suffix = job + REMOTE_JOB_DIGITS;
    }
    return size;
}

bool remote_output_part(const char *attempts, const char *part, char *out, size_t capacity)
{
    const char *slash = strrchr(attempts, '/'), *job, *suffix;
    const size_t digits = remote_part_parse(part, &job, &suffix);
    if (slash == NULL || strlen(slash + 1) != REMOTE_JOB_DIGITS || digits == 0 || job != NULL)
        return false;
    return text_format(out, capacity, "%.*s/%.*s-%s%s", (int)(slash - attempts), attempts,
                       (int)digits, part, slash + 1, suffix);
}

bool remote_name_is_commit(const char *name)
{
    const size_t size = sizeof REMOTE_COMMIT_PREFIX - 1;
    return strncmp(name, REMOTE_COMMIT_PREFIX, size) == 0 &&
           strspn(name + size, "0123456789abcdef") == REMOTE_JOB_DIGITS &&
           name[size + REMOTE_JOB_DIGITS] == '\0';
}

/* ---- Uploads */

struct remote_writer {
    struct remote_store store;
    char url[PATH_MAX];
    const char *key; /* in `url` */
    char id[S3_UPLOAD_ID_BYTES];
    uint64_t memory_max, size;
    uint8_t *data; /* of the next part: `fill` bytes, room for `capacity` */
    uint64_t fill, capacity;
    struct store_upload_part *parts;
    uint64_t part_capacity;
    uint32_t part_count;
    bool created, finished;
};

/* Of the part that is filled now. */
static uint64_t part_bytes(const struct remote_writer *w)
{
    const uint64_t wanted = S3_PART_BYTES_MIN << (w->part_count / (S3_PARTS_MAX / 10));
    return wanted < w->memory_max ? wanted : w->memory_max;
}

int remote_writer_create(struct remote_writer **out, struct env *env, const char *url,
                         uint64_t memory_max, int cancelled, struct glint_error *error)
{
    struct remote_writer *w = *out = NULL;
    assert(memory_max >= S3_PART_BYTES_MIN && remote_output_is(url));
    if (strlen(url) >= sizeof w->url)
        return error_set(error, GLINT_E_OUTPUT_CREATE, "use a shorter URL", "%s is too long", url);
    w = mem_zalloc(sizeof *w);
    if (w == NULL) return error_no_memory(error);
    memcpy(w->url, url, strlen(url) + 1);
    w->memory_max = memory_max;
    w->key = remote_url_split(w->url).path;
    if (*w->key == '/') w->key++;
    int r = remote_store_init(&w->store, env, w->url, cancelled, error);
    if (r == 0) r = remote_store_create_upload(&w->store, w->key, w->id, error);
    w->created = r == 0;
    if (r != 0) {
        remote_writer_destroy(w, false);
        return r;
    }
    *out = w;
    return 0;
}

static int upload_part(struct remote_writer *w, struct glint_error *error)
{
    if (w->part_count == S3_PARTS_MAX)
        return error_set(error, GLINT_E_OUTPUT_FULL,
                         "raise --memory, for larger parts, or --partitions",
                         "%s: after %" PRIu64 " bytes it has %u parts, and no more are allowed",
                         w->url, w->size, S3_PARTS_MAX);
    if (!array_reserve(&w->parts, &w->part_capacity, w->part_count + 1u, sizeof *w->parts))
        return error_no_memory(error);
    const int r = remote_store_upload_part(&w->store, w->key, w->id, w->part_count + 1,
                                           (struct glint_slice){w->data, w->fill},
                                           &w->parts[w->part_count], error);
    if (r != 0) return r;
    w->part_count++;
    w->size += w->fill;
    w->fill = 0;
    return 0;
}

/* Makes room for at least one byte. Small objects take little memory. */
static bool grow_part(struct remote_writer *w)
{
    const uint64_t bytes = part_bytes(w);
    uint64_t capacity = w->capacity > 0 ? 4 * w->capacity : 256 * KIB;
    if (capacity > bytes) capacity = bytes;
    if (w->capacity >= capacity) return true;
    uint8_t *grown = mem_grow(w->data, w->fill, capacity);
    if (grown == NULL) return false;
    w->data = grown;
    w->capacity = capacity;
    return true;
}

int remote_writer_write(struct remote_writer *w, const void *data, uint64_t size,
                        struct glint_error *error)
{
    const uint8_t *from = data;
    assert(!w->finished);
    while (size > 0) {
        if (w->fill == part_bytes(w)) {
            const int r = upload_part(w, error);
            if (r != 0) return r;
        }
        if (w->fill == w->capacity && !grow_part(w)) return error_no_memory(error);
        uint64_t room = w->capacity < part_bytes(w) ? w->capacity : part_bytes(w);
        room -= w->fill;
        const uint64_t n = size < room ? size : room;
        assert(n > 0);
        memcpy(w->data + w->fill, from, n);
        w->fill += n;
        from += n;
        size -= n;
    }
    return 0;
}

int remote_writer_finish(struct remote_writer *w, struct glint_error *error)
{
    assert(!w->finished);
    const int r = w->fill > 0 || w->part_count == 0 ? upload_part(w, error) : 0;
    w->finished = r == 0;
    mem_free(w->data);
    w->data = NULL;
    return r;
}

void remote_writer_pack(const struct remote_writer *w, struct packer *p)
{
    assert(w->finished && w->part_count > 0);
    pack_array(p, 2 + w->part_count);
    pack_text(p, w->id);
    pack_u64(p, w->size);
    for (uint32_t i = 0; i < w->part_count; i++) pack_text(p, w->parts[i].etag);
}

void remote_writer_destroy(struct remote_writer *w, bool keep)
{
    struct glint_error ignored = {.code = GLINT_OK};
    if (w == NULL) return;
    /* Also of a task that was cancelled. What is left if it fails, the driver aborts. */
    w->store.target.cancelled = 0;
    if (w->created && !(keep && w->finished))
        remote_store_abort_upload(&w->store, w->key, w->id, &ignored);
    mem_free(w->parts);
    mem_free(w->data);
    mem_free(w);
}

int remote_upload_unpack(struct unpacker *u, struct remote_upload *out, struct glint_error *error)
{
    struct unpacker fields = unpack_array(u);
    *out = (struct remote_upload){.size = 0};
    bool sound = !u->failed && fields.count >= 3 && fields.count <= 2 + S3_PARTS_MAX;
    out->part_count = sound ? (uint32_t)(fields.count - 2) : 0;
    if (sound && (out->parts = mem_alloc(out->part_count * sizeof *out->parts)) == NULL)
        return error_no_memory(error);
    unpack_text(&fields, out->id, sizeof out->id);
    out->size = unpack_u64(&fields, INT64_MAX);
    sound = sound && out->id[0] != '\0' && text_is_printable(out->id);
    for (uint32_t i = 0; sound && i < out->part_count; i++) {
        char *etag = out->parts[i].etag;
        unpack_text(&fields, etag, sizeof out->parts[i].etag);
        sound = etag[0] != '\0' && text_is_printable(etag);
    }
    if (sound && unpack_is_complete(&fields)) return 0;
    mem_free(out->parts);
    out->parts = NULL;
    return error_set(error, GLINT_E_PROTOCOL, NULL, "an upload that is not valid");
}
