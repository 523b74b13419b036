/* The lines in which another engine carries records and results between tasks: KEY TAB FIELD TAB
 * FIELD ... Lines are ASCII, and LC_ALL=C sort of the keys is their order.
 *
 *     TASK.PARENT.MAP.PARTITION.NUMBER   records for a task of the next stage, in base64
 *     TASK.PARENT.MAP.end                pack's id, stage, records, checksum, counters
 *     TASK.FILE.NUMBER                   a piece, in base64, of what a task of the last stage made:
 *                                        file 00 is its result, others are files that it saved
 *     TASK.end                           pack's id, lines, checksum, counters
 *
 * Records are keys and values in turn, each its size in 4 bytes, big-endian, and its byte form
 * (records/codec.h). STAGE_CONTINUES as the last size: the value goes on in the next line.
 *
 * With --io rawbytes records are pairs instead, as Hadoop Streaming calls the format:
 *
 *     4 bytes, big-endian   4 bytes
 *     size of KEY           size of VALUE
 *         |      KEY            |      VALUE
 *
 * KEY is the same. VALUE is the records without base64, or the fields of a line that ends them. */
#ifndef GLINT_FOREIGN_STAGE_TEXT_H
#define GLINT_FOREIGN_STAGE_TEXT_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/limits.h"

#define STAGE_PIECE_BYTES (48 * KIB) /* of a value or file, in one line: 64 KiB in base64 */
/* A line ends before the record that makes it larger; a key has up to KEY_BYTES_MAX. */
#define STAGE_LINE_BYTES_MAX (64 * MIB)
#define RAW_KEY_BYTES_MAX    256u
#define STAGE_CONTINUES      UINT32_MAX

/* Appends bytes as a field, in base64. Returns false when out of memory. */
bool stage_text_append(struct buffer *out, struct glint_slice bytes);
/* Appends the bytes of such a field. Returns 0, STAGE_LINES if it is not valid, or NO_MEMORY. */
int stage_text_parse(struct glint_slice field, struct buffer *out, struct glint_error *error);

/* Reads lines of a descriptor; bounded memory. Zeros, but the first four. */
struct line_input {
    struct env *env;
    int file;
    const char *name; /* for messages */
    bool raw;         /* pairs, not lines */
    struct buffer bytes;
    uint64_t at;       /* in bytes: of what was not returned yet */
    uint64_t number;   /* of the line returned last, from 1 */
    uint32_t key_size; /* of the pair returned last */
    bool ended;
};
/* Returns 1 with the line, without its newline, or the pair, without the size of its key; valid
 * until the next call. Returns 0 at the end, or a negative code with *error set. */
int line_input_next(struct line_input *in, struct glint_slice *out, struct glint_error *error);
/* Returns the first line to the input. */
void line_input_rewind(struct line_input *in);
/* Cuts the key off a line or pair. Returns false if the line has only a key. */
bool line_input_take_key(const struct line_input *in, struct glint_slice *line,
                         struct glint_slice *out);
void line_input_fini(struct line_input *in);
/* Sets STAGE_LINES about the current line. */
int line_input_fail(const struct line_input *in, const char *hint, struct glint_error *error,
                    const char *cause, ...) __attribute__((format(printf, 4, 5)));

/* Continues the checksum of a task's lines (without newlines), and of its counters: XXH3-64, seeded
 * with that of the lines before. */
uint64_t stage_line_checksum(uint64_t before, struct glint_slice line);
/* Reads the field of a checksum or an id, 16 hexadecimal digits. */
bool stage_text_hex(struct glint_slice field, uint64_t *out);
/* What glint_next_field has left of a line, with the TAB before it. */
struct glint_slice stage_text_rest_with_tab(struct glint_slice rest);
/* Cuts the next number off *key, up to the next '.' or its end. Returns false if there is none. */
bool stage_key_number(struct glint_slice *key, uint64_t max, uint64_t *out);

#endif
