/* See input_stream.h. The file's size and modification time are compared when it is opened and
 * again after the last read, so a concurrent write is detected, perhaps only at the end. */
#include "engine/input/input_stream.h"

#include "engine/base/cancel.h"
#include "engine/input/decompress.h"
#include "engine/input/format.h"
#include "engine/input/remote_reader.h"
#include "engine/input/remote_transfer.h"
#include "engine/records/task.h"

#include <assert.h>
#include <string.h>

/* ---- What goes wrong here has no consequence: the read asks again. */

/* Its response fits the buffer of a transfer, so the connection does not wait for the task. */
static bool is_small_object(const struct split_piece *piece)
{
    return piece->remote != NULL && piece->offset == 0 && piece->frames_end == 0 &&
           piece->file_size > 0 && piece->file_size <= REMOTE_SMALL_BYTES_MAX &&
           piece->length >= piece->file_size;
}

/* The bytes to ask for; 0: none. */
static uint64_t bytes_to_read_ahead(const struct input_ahead *a, const struct split_piece *piece)
{
    if (is_small_object(piece) && (a->head_bytes == 0 || piece->file_size < a->head_bytes))
        return piece->file_size;
    return piece->remote != NULL && piece->remote->ranges ? a->head_bytes : 0;
}

/* Returns whether the next piece may be started, too. */
static bool start_read_ahead(struct input_ahead *a, struct env *env, int cancelled, uint32_t index)
{
    const struct split_piece *piece = &a->split->pieces[index];
    struct remote_reader **place = &a->readers[index % REMOTE_AHEAD_MAX];
    assert(*place == NULL);
    const uint64_t size = bytes_to_read_ahead(a, piece);
    if (size == 0) return true;
    const char *url = piece->stored != NULL ? piece->stored : piece->path;
    struct remote_reader *r = remote_reader_create(env, url, piece->path, cancelled);
    if (r == NULL) return false;
    remote_reader_set_identity(r, piece->remote, size);
    if (!remote_reader_start(r, a->group, size)) {
        remote_reader_destroy(r);
        return false;
    }
    *place = r;
    return true;
}

/* Sends requests for the pieces from `index` on, whose waits end once `cancelled` (0: none) is
 * readable. Returns the reader of piece `index`, which the caller destroys before
 * input_ahead_close; NULL: none was started, which is no error. */
static struct remote_reader *input_ahead_take(struct input_ahead *a, struct env *env, int cancelled,
                                              uint32_t index)
{
    struct glint_error ignored = {.code = GLINT_OK};
    if (a->split->count == 1 || bytes_to_read_ahead(a, &a->split->pieces[index]) == 0) return NULL;
    if (a->group == NULL) a->group = remote_session_open(&ignored);
    if (a->group == NULL) return NULL;
    if (a->next < index) a->next = index;
    while (a->next < a->split->count && a->next - index < REMOTE_AHEAD_MAX &&
           start_read_ahead(a, env, cancelled, a->next))
        a->next++;
    struct remote_reader *r = a->readers[index % REMOTE_AHEAD_MAX];
    a->readers[index % REMOTE_AHEAD_MAX] = NULL;
    return r;
}

void input_ahead_close(struct input_ahead *a)
{
    for (uint32_t i = 0; i < REMOTE_AHEAD_MAX; i++) {
        remote_reader_destroy(a->readers[i]);
        a->readers[i] = NULL;
    }
    remote_session_close(a->group);
    a->group = NULL;
}

/* ---- input stream */

#define SKIP_BYTES (64 * KIB)

/* `grown`: most probably a log, to which a process always writes. */
static int set_input_changed_error(struct input_stream *s, const char *what, bool grown)
{
    return error_set(s->error, GLINT_E_INPUT_CHANGED,
                     grown ? "what it has now can be piped: cat FILE | glint submit JOB - OUT"
                           : "run the job again when no process writes to its input",
                     "%s: %s", s->piece->path, what);
}

int input_stream_check_unchanged(struct input_stream *s)
{
    assert(s->open);
    struct env_stat now;
    if (s->source.remote != NULL) {
        /* What is opened is checked by its responses. */
        return s->checked ? remote_reader_check_unchanged(s->source.remote, s->error) : 0;
    }
    int r = s->env->stat_open(s->env, s->source.file, &now);
    if (r < 0) return error_set_system(s->error, input_error_code(r), r, "stat", s->piece->path);
    const bool null = now.kind == ENV_OTHER && s->piece->file_size == 0; /* /dev/null */
    if (now.kind != ENV_FILE && !null)
        return error_set(s->error, GLINT_E_INPUT_KIND, NULL, "%s: not a regular file",
                         s->piece->path);
    if (now.size > s->piece->file_size) return set_input_changed_error(s, "it has grown", true);
    if (now.size < s->piece->file_size)
        return set_input_changed_error(s, "it was truncated", false);
    if (now.mtime_ns != s->piece->mtime_ns)
        return set_input_changed_error(s, "it was modified during the job", false);
    return 0;
}

/* A compressed stream cannot seek: decompresses and discards the bytes before `offset`. */
static int skip_to_offset(struct input_stream *s, uint64_t offset)
{
    if (offset == 0) return 0;
    uint8_t *dropped = mem_alloc(SKIP_BYTES);
    if (dropped == NULL) return error_no_memory(s->error);
    int64_t n = 1;
    while (n > 0 && s->at < offset) {
        const uint64_t left = offset - s->at;
        n = input_stream_read(s, dropped, left < SKIP_BYTES ? left : SKIP_BYTES);
    }
    mem_free(dropped);
    return n < 0 ? (int)n : 0;
}

/* The end of the bytes on disk that a task of the piece reads, with the end of its last line. */
static uint64_t expected_end_on_disk(const struct split_piece *piece)
{
    const uint64_t size = piece->file_size, tail = READ_TAIL_BYTES;
    if (piece->format != 0) return 0; /* ranges are read one by one */
    uint64_t end = piece->frames_end;
    if (piece->compression == COMPRESSION_NONE && piece->length != SPLIT_TO_END)
        end = piece->offset + piece->length;
    return end > 0 && end < size && size - end > tail ? end + tail : size;
}

/* Sets *out to the descriptor that ends waits for a server: of the task, or without one of the job;
 * 0: none. Returns 0 or the task's code. */
static int find_cancel_file(const struct split_piece *piece, struct glint_task *task, int *out)
{
    *out = piece->cancelled;
    if (task != NULL) *out = task->cancel_file != NULL ? task->cancel_file(task) : 0;
    return *out < 0 ? task->error.code : 0;
}

/* The first bytes of a small object, which the driver has not looked at. */
static int detect_compression(struct input_stream *s)
{
    const struct split_piece *piece = s->piece;
    char reason[FORMAT_REASON_BYTES];
    const uint8_t *head;
    const int64_t n = remote_reader_peek(s->source.remote, FORMAT_HEAD_BYTES, &head, s->error);
    if (n < 0) return (int)n;
    const char *hint =
        format_detect(piece->path, head, (uint64_t)n, piece->nul_is_text, &s->compression, reason);
    if (hint == NULL) return 0;
    return error_set(s->error, GLINT_E_INPUT_FORMAT, hint, "%s: %s", piece->path, reason);
}

/* Prepares reading from `offset`, once s->source is open. */
static int seek_and_begin_reading(struct input_stream *s, uint64_t offset)
{
    const struct split_piece *piece = s->piece;
    int r = input_stream_check_unchanged(s);
    if (r == 0 && piece->detect) r = detect_compression(s);
    if (r < 0) return r;
    s->checked = true;
    if (s->compression == COMPRESSION_NONE) {
        s->at = offset;
        s->ended = s->at >= piece->file_size;
        return 0;
    }
    s->source.size = piece->file_size;
    const uint64_t to = piece->frames_end < piece->file_size ? piece->frames_end : 0;
    s->decompressor = decompressor_create(&s->source, s->compression, piece->frames_start, to);
    if (s->decompressor == NULL) return error_no_memory(s->error);
    return skip_to_offset(s, offset);
}

static void stream_init(struct input_stream *s, struct env *env, const struct split_piece *piece,
                        struct glint_error *error)
{
    *s = (struct input_stream){
        .env = env, .piece = piece, .error = error, .compression = piece->compression};
}

static int stream_open(struct input_stream *s, struct env *env, struct glint_task *task,
                       const struct split_piece *piece, uint64_t offset, struct glint_error *error)
{
    int cancelled = 0;
    stream_init(s, env, piece, error);
    int r = piece->remote != NULL ? find_cancel_file(piece, task, &cancelled) : 0;
    if (r == 0)
        r = input_source_open(&s->source, env, piece->path, piece->stored, piece->remote,
                              expected_end_on_disk(piece), cancelled, error);
    s->open = r == 0;
    return r == 0 ? seek_and_begin_reading(s, offset) : r;
}

int input_stream_open(struct input_stream *s, struct env *env, const struct split_piece *piece,
                      uint64_t offset, struct glint_error *error)
{
    return stream_open(s, env, NULL, piece, offset, error);
}

int input_stream_open_in_task(struct input_stream *s, struct glint_task *task,
                              const struct split_piece *piece, uint64_t offset)
{
    return stream_open(s, task->env, task, piece, offset, &task->error);
}

int input_stream_open_ahead(struct input_stream *s, struct env *env, struct glint_task *task,
                            struct input_ahead *ahead, uint32_t index, struct glint_error *error)
{
    const struct split_piece *piece = &ahead->split->pieces[index];
    int cancelled;
    stream_init(s, env, piece, error);
    const int r = find_cancel_file(piece, task, &cancelled);
    if (r < 0) return r;
    struct remote_reader *started = input_ahead_take(ahead, env, cancelled, index);
    if (started == NULL) return stream_open(s, env, task, piece, 0, error);
    input_source_adopt(&s->source, env, piece->path, started);
    s->open = true;
    return seek_and_begin_reading(s, 0);
}

static int64_t read_decompressed(struct input_stream *s, void *out, uint64_t size)
{
    const int64_t n = decompressor_read(s->decompressor, out, size, s->error);
    if (n < 0) return n;
    s->at += (uint64_t)n;
    if (!s->past_frames && decompressor_has_reached_range_end(s->decompressor)) {
        s->past_frames = true;
        s->frames_bytes = s->at;
    } else {
        s->ended = (uint64_t)n < size;
    }
    return n;
}

int64_t input_stream_read(struct input_stream *s, void *out, uint64_t size)
{
    assert(s->open && size > 0 && size <= INT64_MAX);
    if (s->ended) return 0;
    if (s->piece->cancelled > 0 && cancel_check(s->env, s->piece->cancelled, s->error) != 0)
        return s->error->code;
    if (s->decompressor != NULL) return read_decompressed(s, out, size);
    /* Bytes appended after the splits were made are not read; fewer bytes are an error. */
    const uint64_t left = s->piece->file_size - s->at;
    if (size > left) size = left;
    const int64_t n = input_source_read(&s->source, out, size, s->at, s->error);
    if (n < 0) return n;
    if ((uint64_t)n < size) return set_input_changed_error(s, "it was truncated", false);
    s->at += size;
    s->ended = s->at == s->piece->file_size;
    return n;
}

int input_stream_read_at(struct input_stream *s, void *out, uint64_t size, uint64_t offset)
{
    assert(s->open && s->decompressor == NULL && size > 0);
    if (offset > s->piece->file_size || size > s->piece->file_size - offset)
        return error_set(s->error, GLINT_E_INPUT_DAMAGED, "write the file again, or leave it out",
                         "%s: it refers to bytes beyond its end", s->piece->path);
    const int64_t n = input_source_read(&s->source, out, size, offset, s->error);
    if (n < 0) return (int)n;
    return (uint64_t)n < size ? set_input_changed_error(s, "it was truncated", false) : 0;
}

uint64_t input_stream_disk_offset(const struct input_stream *s)
{
    return s->decompressor != NULL ? decompressor_offset(s->decompressor) : s->at;
}

void input_stream_close(struct input_stream *s)
{
    decompressor_destroy(s->decompressor);
    s->decompressor = NULL;
    input_source_close(&s->source);
    s->open = false;
}
