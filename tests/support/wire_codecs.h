/* The payloads of net/wire.h and transfer/wire_fetch.h as a table with one function each, for tests
 * that treat all of them alike: decode, then encode again. */
#ifndef GLINT_TESTS_WIRE_CODECS_H
#define GLINT_TESTS_WIRE_CODECS_H

#include "engine/base/endian.h"
#include "engine/net/wire.h"
#include "engine/records/pack.h"
#include "engine/transfer/wire_fetch.h"

#include <xxhash.h>

#define WIRE_PARTS 3u /* entries in an INDEX response */

/* Returns the decoder's code. If 0, appends the decoded value, encoded again, to *out. */
typedef int wire_recode(struct glint_slice in, struct buffer *out, struct glint_error *error);

#define WIRE_AGAIN(name)                                                                           \
    static int name##_recode(struct glint_slice in, struct buffer *out, struct glint_error *error) \
    {                                                                                              \
        struct name v;                                                                             \
        int r = name##_decode(in, &v, error);                                                      \
        return r != 0 ? r : name##_encode(&v, out, error);                                         \
    }
WIRE_AGAIN(ping)
WIRE_AGAIN(executor_registration)
WIRE_AGAIN(executor_address)
WIRE_AGAIN(job_identity)
WIRE_AGAIN(executor_request)
WIRE_AGAIN(program_info)
WIRE_AGAIN(executor_exited)
WIRE_AGAIN(daemon_status)
WIRE_AGAIN(block_request)
WIRE_AGAIN(block_assignment)
WIRE_AGAIN(cancelled_jobs)
WIRE_AGAIN(job_progress)
#undef WIRE_AGAIN

static int get_request_recode(struct glint_slice in, struct buffer *out, struct glint_error *error)
{
    struct get_request v;
    int r = get_request_decode(in, &v, error);
    if (r == 0) r = get_request_encode(&v, out, error);
    get_request_fini(&v);
    return r;
}

static int fetch_error_recode(struct glint_slice in, struct buffer *out, struct glint_error *error)
{
    struct glint_error why;
    int r = fetch_error_decode(in, &why, error);
    return r != 0 ? r : fetch_error_encode(&why, out, error);
}

/* Size of the list of an INDEX response: all that its checksum covers. */
static uint64_t index_list_size(struct glint_slice in)
{
    struct msgpack_head head;
    uint64_t at = 0, left = 1;
    for (; left > 0 && msgpack_read_head(in.data + at, in.size - at, &head); left--) {
        at += head.head_size;
        if (head.kind == MSGPACK_KIND_ARRAY) left += head.count;
    }
    return at;
}

/* Fixes the checksum first, so that corrupted input reaches the checks after it. */
static int map_output_index_recode(struct glint_slice in, struct buffer *out,
                                   struct glint_error *error)
{
    struct index_entry parts[WIRE_PARTS];
    struct buffer summed = {NULL, 0, 0};
    if (in.size >= INDEX_CHECKSUM_BYTES && buffer_append(&summed, in.data, in.size)) {
        struct glint_slice rest = {summed.data + INDEX_CHECKSUM_BYTES,
                                   summed.size - INDEX_CHECKSUM_BYTES};
        put_le64(summed.data, XXH3_64bits(rest.data, index_list_size(rest)));
        in.data = summed.data;
    }
    int r = map_output_index_decode(in, parts, WIRE_PARTS, error);
    if (r == 0) r = map_output_index_encode(parts, WIRE_PARTS, out, error);
    buffer_fini(&summed);
    return r;
}

/* The first byte of a fuzzer seed is an index into this table: add at the end. */
static const struct wire_codec {
    const char *name;
    wire_recode *recode;
} wire_codecs[] = {
    {"ping", ping_recode},
    {"executor_registration", executor_registration_recode},
    {"executor_address", executor_address_recode},
    {"job_identity", job_identity_recode},
    {"executor_request", executor_request_recode},
    {"program_info", program_info_recode},
    {"executor_exited", executor_exited_recode},
    {"daemon_status", daemon_status_recode},
    {"get_request", get_request_recode},
    {"block_request", block_request_recode},
    {"block_assignment", block_assignment_recode},
    {"fetch_error", fetch_error_recode},
    {"map_output_index", map_output_index_recode},
    {"cancelled_jobs", cancelled_jobs_recode},
    {"job_progress", job_progress_recode},
};
#define WIRE_CODECS_COUNT (sizeof wire_codecs / sizeof wire_codecs[0])

#endif
