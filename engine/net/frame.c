/* Frame headers: encoding, decoding and checksum.
 *
 * A table gives the maximum payload of each frame type, so that a length is checked before memory
 * is allocated for it. */
#include "engine/net/frame.h"

#include "engine/base/endian.h"
#include "engine/base/hash.h"
#include "engine/limits.h"

#include <assert.h>

#define AT_VERSION  4
#define AT_TYPE     5
#define AT_FLAGS    6
#define AT_LENGTH   8
#define AT_HEAD     12
#define AT_REQUEST  16
#define AT_CHECKSUM 24

static_assert(AT_CHECKSUM + sizeof(uint64_t) == FRAME_HEADER_BYTES,
              "the offsets match the picture in frame.h");
static_assert(FRAME_TYPES_END <= 32, "a frame_type_set has 32 bits");

static const uint8_t magic[4] = {'G', 'L', 'N', 'T'};

static const struct {
    const char *name;
    uint32_t bytes_max; /* of the payload */
} types[FRAME_TYPES_END] = {
    [FRAME_HELLO] = {"HELLO", HELLO_BYTES_MAX},
    [FRAME_REJECT] = {"REJECT", HELLO_BYTES_MAX},
    [FRAME_PING] = {"PING", SMALL_FRAME_BYTES_MAX},
    [FRAME_MESSAGE] = {"MESSAGE", CONTROL_FRAME_BYTES_MAX},
    [FRAME_REGISTER] = {"REGISTER", SMALL_FRAME_BYTES_MAX},
    [FRAME_EXECUTOR_ADDED] = {"EXECUTOR_ADDED", SMALL_FRAME_BYTES_MAX},
    [FRAME_REQUEST_EXECUTOR] = {"REQUEST_EXECUTOR", SMALL_FRAME_BYTES_MAX},
    [FRAME_QUEUED] = {"QUEUED", 0},
    [FRAME_EXECUTOR_STARTED] = {"EXECUTOR_STARTED", 0},
    [FRAME_EXECUTOR_EXITED] = {"EXECUTOR_EXITED", SMALL_FRAME_BYTES_MAX},
    [FRAME_STATUS] = {"STATUS", 0},
    [FRAME_STATUS_REPLY] = {"STATUS_REPLY", SMALL_FRAME_BYTES_MAX},
    [FRAME_CANCEL] = {"CANCEL", SMALL_FRAME_BYTES_MAX},
    [FRAME_CANCELLED] = {"CANCELLED", SMALL_FRAME_BYTES_MAX},
    [FRAME_DRAIN] = {"DRAIN", 0},
    [FRAME_GET] = {"GET", GET_FRAME_BYTES_MAX},
    [FRAME_DATA] = {"DATA", DATA_FRAME_BYTES_MAX},
    [FRAME_FETCH_ERROR] = {"FETCH_ERROR", SMALL_FRAME_BYTES_MAX},
    [FRAME_BLOCK_REQUEST] = {"BLOCK_REQUEST", SMALL_FRAME_BYTES_MAX},
    [FRAME_BLOCK_ASSIGN] = {"BLOCK_ASSIGN", SMALL_FRAME_BYTES_MAX},
    [FRAME_PROGRESS] = {"PROGRESS", SMALL_FRAME_BYTES_MAX},
    [FRAME_JOB_KEY] = {"JOB_KEY", SMALL_FRAME_BYTES_MAX},
    [FRAME_PROGRAM_REQUEST] = {"PROGRAM_REQUEST", 0},
    [FRAME_PROGRAM] = {"PROGRAM", SMALL_FRAME_BYTES_MAX},
};

const struct frame_type_set frames_before_hello = {FRAME_BIT(FRAME_HELLO) | FRAME_BIT(FRAME_REJECT),
                                                   "before the hello"};

const char *frame_type_name(enum frame_type type)
{
    return type > 0 && type < FRAME_TYPES_END ? types[type].name : "unknown";
}

uint32_t frame_payload_bytes_max(enum frame_type type)
{
    assert(type > 0 && type < FRAME_TYPES_END);
    return types[type].bytes_max;
}

static uint64_t frame_checksum(const uint8_t header[FRAME_HEADER_BYTES], const uint8_t *head,
                               uint32_t size)
{
    /* DATA and empty frames: one-shot hashing is faster than a streaming state. */
    if (size == 0) return hash_checksum(header, AT_CHECKSUM);
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, header, AT_CHECKSUM);
    XXH3_64bits_update(&state, head, size);
    return XXH3_64bits_digest(&state);
}

void frame_encode(const struct frame *frame, const uint8_t *head, uint8_t out[FRAME_HEADER_BYTES])
{
    assert(frame->length <= frame_payload_bytes_max(frame->type));
    assert(frame->head == (frame->type == FRAME_DATA ? 0 : frame->length));
    memcpy(out, magic, sizeof magic);
    out[AT_VERSION] = FRAME_VERSION;
    out[AT_TYPE] = (uint8_t)frame->type;
    out[AT_FLAGS] = out[AT_FLAGS + 1] = 0;
    put_le32(out + AT_LENGTH, frame->length);
    put_le32(out + AT_HEAD, frame->head);
    put_le64(out + AT_REQUEST, frame->request);
    put_le64(out + AT_CHECKSUM, frame_checksum(out, head, frame->head));
}

/* Names the other protocol if the first bytes are known: connecting to a wrong port is more
 * frequent than corruption. */
static int set_other_protocol_error(const uint8_t in[FRAME_HEADER_BYTES], struct glint_error *error)
{
    static const char *const http[] = {"GET ", "POST", "HEAD", "PUT ", "DELE", "OPTI",
                                       "CONN", "TRAC", "PATC", "PRI ", "HTTP"};
    static const char *const hint =
        "this port uses glint's protocol; check which program connects to it";
    for (size_t i = 0; i < sizeof http / sizeof http[0]; i++)
        if (memcmp(in, http[i], 4) == 0)
            return error_set(error, GLINT_E_PROTOCOL, hint, "the peer uses HTTP");
    if (memcmp(in, "SSH-", 4) == 0)
        return error_set(error, GLINT_E_PROTOCOL, hint, "the peer uses SSH");
    if (in[0] >= 0x14 && in[0] <= 0x17 && in[1] == 0x03)
        return error_set(error, GLINT_E_PROTOCOL,
                         "insecure_plaintext must be the same on both sides",
                         "the peer uses TLS, this side plain text");
    return error_set(error, GLINT_E_PROTOCOL, hint,
                     "invalid frame: its first bytes are %02x %02x %02x %02x", in[0], in[1], in[2],
                     in[3]);
}

int frame_decode(const uint8_t in[FRAME_HEADER_BYTES], const struct frame_type_set *expected,
                 struct frame *out, struct glint_error *error)
{
    memset(out, 0, sizeof *out);
    if (memcmp(in, magic, sizeof magic) != 0) return set_other_protocol_error(in, error);
    if (in[AT_VERSION] != FRAME_VERSION)
        return error_set(error, GLINT_E_PROTOCOL, "install the same build of glint on every node",
                         "frame version %u, expected version %u", in[AT_VERSION], FRAME_VERSION);
    enum frame_type type = in[AT_TYPE];
    if (type == 0 || type >= FRAME_TYPES_END)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unknown frame type %u", in[AT_TYPE]);
    if ((expected->types & FRAME_BIT(type)) == 0)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "unexpected %s frame %s",
                         frame_type_name(type), expected->where);
    if (in[AT_FLAGS] != 0 || in[AT_FLAGS + 1] != 0)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "%s frame with unknown flags %02x%02x",
                         frame_type_name(type), in[AT_FLAGS + 1], in[AT_FLAGS]);
    uint32_t length = get_le32(in + AT_LENGTH), head = get_le32(in + AT_HEAD);
    if (length > frame_payload_bytes_max(type))
        return error_set(error, GLINT_E_PROTOCOL, NULL,
                         "%s frame of %u bytes exceeds the limit of %u", frame_type_name(type),
                         length, frame_payload_bytes_max(type));
    if (head != (type == FRAME_DATA ? 0 : length))
        return error_set(error, GLINT_E_PROTOCOL, NULL,
                         "%s frame of %u bytes whose checksum covers %u", frame_type_name(type),
                         length, head);
    *out = (struct frame){
        .type = type, .length = length, .head = head, .request = get_le64(in + AT_REQUEST)};
    return 0;
}

int frame_verify_checksum(const uint8_t in[FRAME_HEADER_BYTES], const struct frame *frame,
                          const uint8_t *head, struct glint_error *error)
{
    assert(frame->head <= frame->length);
    /* `actual` is computed from the received bytes, `expected` is in the header. */
    uint64_t actual = frame_checksum(in, head, frame->head), expected = get_le64(in + AT_CHECKSUM);
    if (actual == expected) return 0;
    return error_set(error, GLINT_E_PROTOCOL, "the network or a machine's memory may be faulty",
                     "%s frame of %u bytes is damaged: checksum %016llx, expected %016llx",
                     frame_type_name(frame->type), frame->length, (unsigned long long)actual,
                     (unsigned long long)expected);
}
