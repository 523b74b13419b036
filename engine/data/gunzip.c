/* ISA-L decompresses one member. This file adds the sequence of members, and detects a stream that
 * ends early, for which ISA-L reports success. */
#include "engine/data/gunzip.h"

#include "engine/base/mem.h"
#include "engine/data/gzip_header.h"
#include "engine/data/input.h"
#include "engine/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <isa-l/igzip_lib.h>
#include <string.h>

#define IN_BYTES (64 * KIB)

/* The states, with the function of each change:
 *
 *     GUNZIP_BETWEEN -> GUNZIP_HEADER  [next_member]
 *     GUNZIP_HEADER  -> GUNZIP_MEMBER  [read_header]
 *     GUNZIP_MEMBER  -> GUNZIP_BETWEEN [inflate_some]
 *     GUNZIP_BETWEEN -> GUNZIP_ENDED   [next_member, skip_padding] */
enum gunzip_state { GUNZIP_BETWEEN, GUNZIP_HEADER, GUNZIP_MEMBER, GUNZIP_ENDED };

struct gunzip {
    struct env *env;
    int file;
    enum gunzip_state state;
    const char *path;
    uint64_t in_at; /* offset of `in` in the file */
    uint64_t in_size;
    uint64_t members; /* started so far */
    bool file_ended;
    struct gzip_header header;
    struct inflate_state inflate; /* next_in and avail_in: the unread part of `in` */
    uint8_t in[IN_BYTES];
};

struct gunzip *gunzip_create(struct env *env, int file, const char *path)
{
    struct gunzip *z = mem_alloc(sizeof *z);
    if (z == NULL) return NULL;
    memset(z, 0, offsetof(struct gunzip, in)); /* the buffer needs no zeros */
    z->env = env;
    z->file = file;
    z->path = path;
    isal_inflate_init(&z->inflate);
    return z;
}

void gunzip_destroy(struct gunzip *z)
{
    mem_free(z);
}

/* Uses next_in: after corrupt data ISA-L's avail_in may be wrong by some bytes. */
uint64_t gunzip_offset(const struct gunzip *z)
{
    const uint64_t used = z->inflate.next_in != NULL ? (uint64_t)(z->inflate.next_in - z->in) : 0;
    return z->in_at + (used < z->in_size ? used : z->in_size);
}

static int set_gzip_truncated(const struct gunzip *z, struct glint_error *error)
{
    return error_set(error, GLINT_E_GZIP_TRUNCATED, "copy or download the file again",
                     "%s: the gzip data ends early, at byte %" PRIu64, z->path, gunzip_offset(z));
}

static int set_gzip_corrupt(const struct gunzip *z, struct glint_error *error, const char *reason)
{
    return error_set(error, GLINT_E_GZIP_CORRUPT, "check the file with gzip -t",
                     "%s: damaged gzip data at byte %" PRIu64 ": %s", z->path, gunzip_offset(z),
                     reason);
}

/* Reads the next bytes into the empty `in`. Returns 0 or a code. */
static int refill_input(struct gunzip *z, struct glint_error *error)
{
    assert(z->inflate.avail_in == 0);
    if (z->file_ended) return 0;
    z->in_at += z->in_size;
    z->in_size = 0;
    int64_t n = z->env->pread(z->env, z->file, z->in, IN_BYTES, z->in_at);
    if (n < 0) return error_set_system(error, input_error_code((int)n), (int)n, "read", z->path);
    assert((uint64_t)n <= IN_BYTES);
    z->file_ended = n == 0;
    z->in_size = (uint64_t)n;
    z->inflate.next_in = z->in;
    z->inflate.avail_in = (uint32_t)n;
    return 0;
}

/* Zeros up to the end of the file are no error: tapes pad files with them. */
static int skip_padding(struct gunzip *z, struct glint_error *error)
{
    for (;;) {
        for (; z->inflate.avail_in > 0; z->inflate.avail_in--, z->inflate.next_in++)
            if (*z->inflate.next_in != 0)
                return set_gzip_corrupt(z, error, "unexpected bytes after the last member");
        int r = refill_input(z, error);
        if (r < 0) return r;
        if (z->file_ended) break;
    }
    z->state = GUNZIP_ENDED;
    return 0;
}

static int next_member(struct gunzip *z, struct glint_error *error)
{
    assert(z->state == GUNZIP_BETWEEN);
    int r = z->inflate.avail_in == 0 ? refill_input(z, error) : 0;
    if (r < 0) return r;
    if (z->inflate.avail_in == 0) {
        z->state = GUNZIP_ENDED;
        return 0;
    }
    /* Padding only after a member: a file that starts with a zero byte is not gzip. */
    if (z->members > 0 && *z->inflate.next_in == 0) return skip_padding(z, error);
    z->members++;
    z->header = (struct gzip_header){.phase = HEADER_FIXED};
    z->state = GUNZIP_HEADER;
    return 0;
}

static int read_header(struct gunzip *z, struct glint_error *error)
{
    assert(z->state == GUNZIP_HEADER);
    while (z->header.phase != HEADER_DONE) {
        int r = z->inflate.avail_in == 0 ? refill_input(z, error) : 0;
        if (r < 0) return r;
        if (z->inflate.avail_in == 0) return set_gzip_truncated(z, error);
        const char *problem = gzip_header_parse_byte(&z->header, *z->inflate.next_in);
        if (problem != NULL) return set_gzip_corrupt(z, error, problem);
        z->inflate.next_in++;
        z->inflate.avail_in--;
    }
    isal_inflate_reset(&z->inflate);
    z->inflate.crc_flag = ISAL_GZIP_NO_HDR_VER; /* no header to parse; verify the trailer */
    z->state = GUNZIP_MEMBER;
    return 0;
}

static const char *inflate_reason(int result)
{
    switch (result) {
    case ISAL_INVALID_BLOCK: return "bad block";
    case ISAL_INVALID_SYMBOL: return "bad symbol";
    case ISAL_INVALID_LOOKBACK: return "bad distance";
    case ISAL_INCORRECT_CHECKSUM: return "wrong checksum";
    default: return "cannot be decompressed";
    }
}

/* Returns the number of bytes written to `out`, or a code. */
static int64_t inflate_some(struct gunzip *z, void *out, uint64_t size, struct glint_error *error)
{
    if (z->inflate.avail_in == 0) {
        int r = refill_input(z, error);
        if (r < 0) return r;
    }
    const uint32_t room = size < GIB ? (uint32_t)size : (uint32_t)GIB;
    z->inflate.next_out = out;
    z->inflate.avail_out = room;
    const int result = isal_inflate(&z->inflate);
    if (result < 0 || result == ISAL_NEED_DICT)
        return set_gzip_corrupt(z, error, inflate_reason(result));
    /* ISA-L returns success when it needs more input, also at the end of the file. */
    if (z->inflate.block_state == ISAL_BLOCK_FINISH)
        z->state = GUNZIP_BETWEEN;
    else if (z->inflate.avail_out > 0 && z->inflate.avail_in == 0 && z->file_ended)
        return set_gzip_truncated(z, error);
    return room - z->inflate.avail_out;
}

int64_t gunzip_read(struct gunzip *z, void *out, uint64_t size, struct glint_error *error)
{
    assert(size > 0 && size <= INT64_MAX);
    uint64_t done = 0;
    while (done < size && z->state != GUNZIP_ENDED) {
        int64_t n;
        if (z->state == GUNZIP_BETWEEN)
            n = next_member(z, error);
        else if (z->state == GUNZIP_HEADER)
            n = read_header(z, error);
        else
            n = inflate_some(z, (uint8_t *)out + done, size - done, error);
        if (n < 0) return n;
        done += (uint64_t)n;
    }
    return (int64_t)done;
}
