/* Finds where the frames of a compressed file end, from headers alone: the blocks of BGZF, whose
 * headers give their size, and the frames of zstd, whose blocks do. So a file of many frames can be
 * cut into splits without decompressing it. Reads a few bytes per block. One thread. */
#ifndef GLINT_INPUT_FRAMES_H
#define GLINT_INPUT_FRAMES_H

#include "engine/input/input.h"

struct frame_scan {
    const struct input_file *input;
    struct glint_error *error;
    struct input_source source;
    uint64_t at; /* the end of the last frame */
};

/* Opens the file; call frame_scan_close in any case. Returns 0 or a code with *error set: INPUT_*,
 * SYSTEM. */
int frame_scan_open(struct frame_scan *s, struct env *env, const struct input_file *file,
                    struct glint_error *error);
/* Returns 1 and advances s->at to the end of the next frame; 0 if none is found: at the end of the
 * file, in a format whose frames cannot be found, or where the bytes are wrong, which the task that
 * decompresses them reports; or a code. */
int frame_scan_next(struct frame_scan *s);
/* Zeros are fine. */
void frame_scan_close(struct frame_scan *s);

#endif
