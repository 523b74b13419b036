/* The payloads of net/wire.h as a table of one function each, for tests that do the same with all
 * of them: bytes that a decoder takes are encoded again. */
#ifndef GLINT_TESTS_WIRE_CODECS_H
#define GLINT_TESTS_WIRE_CODECS_H

#include "engine/base/little.h"
#include "engine/data/scan.h"
#include "engine/net/wire.h"

#include <xxhash.h>

#define WIRE_PARTS 3u /* parts in an answer */

/* Answers the decoder's code; where that is 0, what it made of `in` is appended to *out again. */
typedef int wire_again(struct glint_slice in, struct buffer *out, struct glint_error *error);

#define WIRE_AGAIN(name)                                                                           \
    static int name##_again(struct glint_slice in, struct buffer *out, struct glint_error *error)  \
    {                                                                                              \
        struct name v;                                                                             \
        int r = name##_decode(in, &v, error);                                                      \
        return r != 0 ? r : name##_encode(&v, out, error);                                         \
    }
WIRE_AGAIN(ping)
WIRE_AGAIN(ready)
WIRE_AGAIN(peer)
WIRE_AGAIN(admit)
WIRE_AGAIN(admitted)
WIRE_AGAIN(ended)
WIRE_AGAIN(status)
WIRE_AGAIN(track)
WIRE_AGAIN(tracked)
WIRE_AGAIN(canceled)
WIRE_AGAIN(job_progress)
#undef WIRE_AGAIN

static int get_again(struct glint_slice in, struct buffer *out, struct glint_error *error)
{
    struct get v;
    int r = get_decode(in, &v, error);
    if (r == 0) r = get_encode(&v, out, error);
    get_fini(&v);
    return r;
}

static int gone_again(struct glint_slice in, struct buffer *out, struct glint_error *error)
{
    struct glint_error why;
    int r = gone_decode(in, &why, error);
    return r != 0 ? r : gone_encode(&why, out, error);
}

/* Of the list at the beginning of parts: all that is covered by the checksum. */
static uint64_t parts_list_size(struct glint_slice in)
{
    struct scan_head head;
    uint64_t at = 0, left = 1;
    for (; left > 0 && scan_head(in.data + at, in.size - at, &head); left--) {
        at += head.head_size;
        if (head.kind == SCAN_ARRAY) left += head.count;
    }
    return at;
}

/* With the checksum made right, so that damage comes to what stands behind it. */
static int parts_again(struct glint_slice in, struct buffer *out, struct glint_error *error)
{
    struct part_answer parts[WIRE_PARTS];
    struct buffer summed = {NULL, 0, 0};
    if (in.size >= PARTS_SUM_BYTES && buffer_append(&summed, in.data, in.size)) {
        struct glint_slice rest = {summed.data + PARTS_SUM_BYTES, summed.size - PARTS_SUM_BYTES};
        little_put64(summed.data, XXH3_64bits(rest.data, parts_list_size(rest)));
        in.data = summed.data;
    }
    int r = parts_decode(in, parts, WIRE_PARTS, error);
    if (r == 0) r = parts_encode(parts, WIRE_PARTS, out, error);
    buffer_fini(&summed);
    return r;
}

/* The order is that of the seeds' first byte: add at the end. */
static const struct wire_codec {
    const char *name;
    wire_again *again;
} wire_codecs[] = {
    {"ping", ping_again},         {"ready", ready_again},
    {"peer", peer_again},         {"admit", admit_again},
    {"admitted", admitted_again}, {"ended", ended_again},
    {"status", status_again},     {"get", get_again},
    {"track", track_again},       {"tracked", tracked_again},
    {"gone", gone_again},         {"parts", parts_again},
    {"canceled", canceled_again}, {"job_progress", job_progress_again},
};
#define WIRE_CODECS_COUNT (sizeof wire_codecs / sizeof wire_codecs[0])

#endif
