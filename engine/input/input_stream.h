/* Reads the bytes of one file, or object at a URL, from some offset, decompressed if it is
 * compressed, and checks that the file has not changed since the splits were made. Uses pread, not
 * mmap: a file that is truncated while it is read must be an error, not a SIGBUS. One thread. */
#ifndef GLINT_INPUT_INPUT_STREAM_H
#define GLINT_INPUT_INPUT_STREAM_H

#include "engine/input/input.h"
#include "engine/limits.h"

/* Sends the requests for the small objects of a split, or for the first bytes of all its objects,
 * before they are read: a server takes its time to answer each. One thread. */
struct remote_session;

/* Zeros, and `split`, which is borrowed, are one without requests. */
struct input_ahead {
    const struct split *split;
    uint32_t head_bytes; /* of each object; 0: small objects whole, no others */
    uint32_t next;       /* the first piece whose request was not sent */
    struct remote_session *group;
    struct remote_reader *readers[REMOTE_AHEAD_MAX]; /* of piece i: [i % REMOTE_AHEAD_MAX] */
};

/* Zeros are fine. */
void input_ahead_close(struct input_ahead *a);

struct input_stream {
    struct env *env;
    const struct split_piece *piece; /* borrowed while open */
    struct glint_error *error;
    struct decompressor *decompressor; /* NULL: the file is not compressed */
    uint64_t at; /* offset of the next byte, decompressed; in a range of frames: from its start */
    /* The bytes of the piece's frames, decompressed: known when they have been read. Not set for
     * the last frames of a file: s->ended tells their end. */
    uint64_t frames_bytes;
    bool past_frames;             /* frames_bytes is known */
    enum compression compression; /* the piece's, or the one that was detected */
    struct input_source source;
    bool open;
    bool checked; /* when it was opened */
    bool ended;   /* no bytes are left */
};

/* Opens the piece's file at `offset`, which may be outside the piece. `s` may be uninitialized;
 * call input_stream_close in any case. `piece` and `error` are borrowed until then. All calls
 * return 0 or a negative code with *error set: INPUT_NOT_FOUND, INPUT_PERMISSION, INPUT_KIND,
 * INPUT_CHANGED, INPUT_IO, INPUT_URL, INPUT_FORMAT, COMPRESSED_*, SYSTEM, NO_MEMORY. */
int input_stream_open(struct input_stream *s, struct env *env, const struct split_piece *piece,
                      uint64_t offset, struct glint_error *error);
/* As input_stream_open, in the environment of a task: a cancel ends waits for a server. `error` is
 * that of the task. */
int input_stream_open_in_task(struct input_stream *s, struct glint_task *task,
                              const struct split_piece *piece, uint64_t offset);
/* The same for piece `index` of a split, from its start, whose request may have been sent before;
 * sends requests for the pieces behind it. Close the stream before `ahead`. `task` NULL: on the
 * driver. */
int input_stream_open_ahead(struct input_stream *s, struct env *env, struct glint_task *task,
                            struct input_ahead *ahead, uint32_t index, struct glint_error *error);
/* Reads up to `size` > 0 bytes and returns their number, or a code. Less than `size` only at the
 * end of the file, s->ended is then set, and once after the piece's frames, which sets
 * s->past_frames. */
int64_t input_stream_read(struct input_stream *s, void *out, uint64_t size);
/* Reads all `size` > 0 bytes at `offset`, of a file that is not compressed: of an object in one
 * request. Returns 0 or a code. */
int input_stream_read_at(struct input_stream *s, void *out, uint64_t size, uint64_t offset);
/* Returns INPUT_CHANGED if the file's size or time of modification has changed. Call it after the
 * last read: a change before may have given wrong bytes. */
int input_stream_check_unchanged(struct input_stream *s);
/* Returns the offset in the file on disk: of a compressed file, in the compressed bytes. */
uint64_t input_stream_disk_offset(const struct input_stream *s);
/* Zeros, a failed open and a second call are fine. */
void input_stream_close(struct input_stream *s);

#endif
