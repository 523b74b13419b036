/* Hellos and rejections: encoding and decoding, and the rules for which processes may connect and
 * which frames they may send. */
#include "engine/net/hello.h"

#include "engine/base/text.h"
#include "engine/net/crypto_library.h"
#include "engine/net/payload.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- The build id of this program, and of libglint.so if the program uses it, read from the
 * running program's memory, so that they always match.
 *
 * The linker stores a hash of its output in an ELF note (-Wl,--build-id=sha1), which is mapped with
 * the program. */

#define ID_BYTES_MAX 32u

static char own_build[NAME_BYTES_MAX];
static_assert(sizeof GLINT_VERSION + sizeof "-" + 2 * ID_BYTES_MAX < NAME_BYTES_MAX,
              "version and id fit");

struct ids {
    uint8_t bytes[ID_BYTES_MAX]; /* exclusive or of the ids: one, unless libglint.so is used */
    uint32_t size;
    bool marked; /* all have an id */
};

/* Adds the build id to `ids` if it is among the notes in [at, limit), which are aligned to 4 bytes.
 * Returns false if not found. */
static bool find_build_id_in_notes(const uint8_t *at, const uint8_t *limit, struct ids *ids)
{
    while ((size_t)(limit - at) >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        const uint8_t *name = at + sizeof note;
        uint64_t name_size = (note.n_namesz + UINT64_C(3)) & ~UINT64_C(3);
        uint64_t id_size = (note.n_descsz + UINT64_C(3)) & ~UINT64_C(3);
        if (name_size + id_size > (uint64_t)(limit - name)) return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
            note.n_descsz > 0 && note.n_descsz <= ID_BYTES_MAX) {
            for (uint32_t i = 0; i < note.n_descsz; i++) ids->bytes[i] ^= name[name_size + i];
            if (note.n_descsz > ids->size) ids->size = note.n_descsz;
            return true;
        }
        at = name + name_size + id_size;
    }
    return false;
}

/* True if the object contains the engine's code. */
static bool object_has_engine_code(const struct dl_phdr_info *info)
{
    const uintptr_t here = (uintptr_t)&own_build;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && here >= start &&
            here - start < info->dlpi_phdr[i].p_memsz)
            return true;
    }
    return false;
}

/* Callback of dl_iterate_phdr. The first object is the program itself. A result other than 0 ends
 * the iteration. */
static int read_build_id_of_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct ids *ids = arg;
    const bool program = ids->size == 0, engine = object_has_engine_code(info);
    (void)size;
    if (!program && !engine) return 0;
    ids->marked = false;
    for (unsigned i = 0; i < info->dlpi_phnum && !ids->marked; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE) continue;
        const uint8_t *notes = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
        /* Not skipped if 8-byte aligned: mold puts all notes into one segment with
         * that alignment. */
        ids->marked = find_build_id_in_notes(notes, notes + segment->p_memsz, ids);
    }
    return engine || !ids->marked;
}

static void read_own_build_id(void)
{
    struct ids ids = {.size = 0};
    dl_iterate_phdr(read_build_id_of_object, &ids);
    int n = snprintf(own_build, sizeof own_build, "%s%s", GLINT_VERSION,
                     ids.marked ? "-" : BUILD_UNMARKED);
    if (ids.marked) text_format_hex(own_build + n, ids.bytes, ids.size);
    assert(strlen(own_build) < sizeof own_build - 1);
}

const char *build_id(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_own_build_id);
    assert(own_build[0] != '\0');
    return own_build;
}

/* ---- hello */

/* Later protocol versions may append fields to a hello or a rejection; decoding ignores them.
 *
 * Limits for the error in a rejection, so that it fits HELLO_BYTES_MAX. */
#define REJECT_CAUSE_MAX 512u
#define REJECT_HINT_MAX  256u
static_assert(REJECT_CAUSE_MAX + REJECT_HINT_MAX + 32 <= HELLO_BYTES_MAX, "a rejection fits");
static_assert(3 * (NAME_BYTES_MAX + 2) + 2 * (INCARNATION_BYTES + 2) + 32 <= HELLO_BYTES_MAX,
              "a hello fits");
static_assert(PROTOCOL_MIN <= PROTOCOL_MAX && PROTOCOL_MIN > 0, "the protocol range is not empty");

static const char *const roles[ROLES_END] = {"", "driver", "executor", "daemon", "client"};
static const char *const channels[CHANNELS_END] = {"", "control", "data"};

static bool incarnation_is_zero(const uint8_t incarnation[INCARNATION_BYTES])
{
    static const uint8_t zeros[INCARNATION_BYTES];
    return memcmp(incarnation, zeros, sizeof zeros) == 0;
}

static const struct payload_format hello_format = {
    .fields = {FIELD_NUMBER(struct hello, protocol_min, 0, UINT32_MAX),
               FIELD_NUMBER(struct hello, protocol_max, 0, UINT32_MAX),
               FIELD_NUMBER(struct hello, role, 1, ROLES_END - 1),
               FIELD_NUMBER(struct hello, channel, 1, CHANNELS_END - 1),
               FIELD_NAME(struct hello, cluster, 0), FIELD_NAME(struct hello, node, 0),
               FIELD_BYTES(struct hello, incarnation),
               FIELD_BYTES(struct hello, expected_incarnation), FIELD_NAME(struct hello, build, 0)},
};

int hello_encode(const struct hello *h, struct buffer *out, struct glint_error *error)
{
    return payload_encode(&hello_format, h, out, error);
}

int hello_decode(struct glint_slice bytes, struct hello *out, struct glint_error *error)
{
    struct hello h = {.role = 0};
    struct unpacker u = unpack_begin(bytes), range = u;
    *out = h;
    uint32_t min = (uint32_t)unpack_u64(&range, UINT32_MAX);
    uint32_t max = (uint32_t)unpack_u64(&range, UINT32_MAX);
    bool ok = !range.failed && min > 0 && min <= max;
    /* Checked before the other fields, which another protocol version may encode differently. */
    if (ok && (min > PROTOCOL_MAX || max < PROTOCOL_MIN))
        return error_set(
            error, GLINT_E_PEER_MISMATCH, "install the same build of glint on every node",
            "one side supports protocol versions %u to %u (build %s), the other %u to %u",
            PROTOCOL_MIN, PROTOCOL_MAX, build_id(), min, max);
    payload_unpack_fields(&u, &hello_format, &h);
    ok = ok && !u.failed && h.cluster[0] != '\0' && h.node[0] != '\0' && h.build[0] != '\0' &&
         !incarnation_is_zero(h.incarnation);
    if (!ok) return error_set(error, GLINT_E_PROTOCOL, NULL, "a hello does not parse");
    *out = h;
    return 0;
}

/* The channels that two roles may have, as bits. */
static unsigned allowed_channels_between(enum role a, enum role b)
{
    enum { CONTROL = 1u << CHANNEL_CONTROL, DATA = 1u << CHANNEL_DATA };
    static const unsigned table[ROLES_END][ROLES_END] = {
        [ROLE_DRIVER] = {[ROLE_EXECUTOR] = CONTROL | DATA, [ROLE_DAEMON] = CONTROL},
        [ROLE_EXECUTOR] = {[ROLE_DRIVER] = CONTROL | DATA, [ROLE_EXECUTOR] = DATA},
        [ROLE_DAEMON] = {[ROLE_DRIVER] = CONTROL, [ROLE_CLIENT] = CONTROL},
        [ROLE_CLIENT] = {[ROLE_DAEMON] = CONTROL},
    };
    assert(a > 0 && a < ROLES_END && b > 0 && b < ROLES_END && table[a][b] == table[b][a]);
    return table[a][b];
}

struct frame_type_set hello_allowed_frames(const struct hello *self, const struct hello *peer,
                                           bool dialled)
{
    enum {
        PING = FRAME_BIT(FRAME_PING),
        RESPONSES = FRAME_BIT(FRAME_DATA) | FRAME_BIT(FRAME_FETCH_ERROR),
        TRANSFER = FRAME_BIT(FRAME_GET) | RESPONSES,
    };
    static const uint32_t control[ROLES_END][ROLES_END] = {
        /* from, to */
        [ROLE_DRIVER] = {[ROLE_EXECUTOR] = PING | FRAME_BIT(FRAME_JOB_KEY) |
                                           FRAME_BIT(FRAME_MESSAGE) |
                                           FRAME_BIT(FRAME_EXECUTOR_ADDED),
                         [ROLE_DAEMON] = PING | FRAME_BIT(FRAME_REQUEST_EXECUTOR) |
                                         FRAME_BIT(FRAME_PROGRESS) | FRAME_BIT(FRAME_PROGRAM) |
                                         RESPONSES},
        [ROLE_EXECUTOR] = {[ROLE_DRIVER] = PING | FRAME_BIT(FRAME_MESSAGE) |
                                           FRAME_BIT(FRAME_REGISTER) | FRAME_BIT(FRAME_DRAIN)},
        [ROLE_DAEMON] = {[ROLE_DRIVER] = PING | FRAME_BIT(FRAME_QUEUED) |
                                         FRAME_BIT(FRAME_EXECUTOR_STARTED) |
                                         FRAME_BIT(FRAME_PROGRAM_REQUEST) | FRAME_BIT(FRAME_GET) |
                                         FRAME_BIT(FRAME_EXECUTOR_EXITED) | FRAME_BIT(FRAME_CANCEL),
                         [ROLE_CLIENT] =
                             PING | FRAME_BIT(FRAME_STATUS_REPLY) | FRAME_BIT(FRAME_CANCELLED)},
        [ROLE_CLIENT] = {[ROLE_DAEMON] = PING | FRAME_BIT(FRAME_STATUS) | FRAME_BIT(FRAME_CANCEL)},
    };
    static const char *const where[ROLES_END][CHANNELS_END] = {
        [ROLE_DRIVER] = {"", "on the control connection of a driver",
                         "on the data connection of a driver"},
        [ROLE_EXECUTOR] = {"", "on the control connection of an executor",
                           "on the data connection of an executor"},
        [ROLE_DAEMON] = {"", "on the connection of a daemon", ""},
        [ROLE_CLIENT] = {"", "on the connection of a client", ""},
    };
    struct frame_type_set set = {.where = where[peer->role][peer->channel]};
    assert((allowed_channels_between(self->role, peer->role) & 1u << peer->channel) != 0);
    if (peer->channel == CHANNEL_CONTROL) /* the accepting side may still reject */
        set.types = control[peer->role][self->role] | (dialled ? FRAME_BIT(FRAME_REJECT) : 0);
    else if (peer->role == ROLE_DRIVER)
        set.types = TRANSFER | FRAME_BIT(FRAME_BLOCK_ASSIGN);
    else if (self->role == ROLE_DRIVER)
        set.types = TRANSFER | FRAME_BIT(FRAME_BLOCK_REQUEST);
    else /* between executors the dialling side sends the requests */
        set.types = dialled ? RESPONSES : FRAME_BIT(FRAME_GET);
    return set;
}

static int set_other_incarnation_error(const char *node, const uint8_t *actual,
                                       const uint8_t *expected_incarnation,
                                       struct glint_error *error)
{
    char actual_text[17], expected_text[17];
    /* Half of the bytes are enough to tell two starts apart. */
    text_format_hex(actual_text, actual, 8);
    text_format_hex(expected_text, expected_incarnation, 8);
    return error_set(error, GLINT_E_PEER_MISMATCH, "it was restarted",
                     "%s is incarnation %s, expected incarnation %s", node, actual_text,
                     expected_text);
}

bool build_has_id(const char *build)
{
    const char *dash = strrchr(build, '-');
    return dash == NULL || strcmp(dash, BUILD_UNMARKED) != 0;
}

/* A daemon only starts processes, and a client only reads its reports. All others exchange plans
 * and payloads, which differ from build to build. */
static int check_same_build(const struct hello *self, const struct hello *peer,
                            struct glint_error *error)
{
    if (self->role == ROLE_DAEMON || peer->role == ROLE_DAEMON) return 0;
    if (strcmp(self->build, peer->build) != 0)
        return error_set(error, GLINT_E_PEER_MISMATCH,
                         "start the executors with the driver's own build of the program",
                         "%s runs build %s, %s runs build %s", self->node, self->build, peer->node,
                         peer->build);
    /* Without a build id equal texts do not mean equal programs. */
    if (build_has_id(self->build)) return 0;
    return error_set(error, GLINT_E_PEER_MISMATCH, "link with -Wl,--build-id=sha1",
                     "cannot check that %s and %s run the same program: build %s has no build id",
                     self->node, peer->node, self->build);
}

int hello_check_compatible(const struct hello *self, const struct hello *peer,
                           struct glint_error *error)
{
    const char *a = self->node, *b = peer->node;
    /* A configured address leads back to this process. */
    if (memcmp(self->incarnation, peer->incarnation, INCARNATION_BYTES) == 0)
        return error_set(error, GLINT_E_PEER_MISMATCH, "check the addresses of the executors",
                         "%s is connected to itself as %s", a, b);
    if (strcmp(self->cluster, peer->cluster) != 0)
        return error_set(error, GLINT_E_PEER_MISMATCH,
                         "use the same cluster file on both; its `cluster` names the cluster",
                         "%s belongs to cluster %s, %s to cluster %s", a, self->cluster, b,
                         peer->cluster);
    if (check_same_build(self, peer, error) != 0) return error->code;
    if ((allowed_channels_between(self->role, peer->role) & 1u << peer->channel) == 0)
        return error_set(error, GLINT_E_PEER_MISMATCH, "check the addresses of the executors",
                         "%s (%s) and %s (%s): these roles have no %s connection", a,
                         roles[self->role], b, roles[peer->role], channels[peer->channel]);
    if (!incarnation_is_zero(peer->expected_incarnation) &&
        memcmp(peer->expected_incarnation, self->incarnation, INCARNATION_BYTES) != 0)
        return set_other_incarnation_error(a, self->incarnation, peer->expected_incarnation, error);
    if (!incarnation_is_zero(self->expected_incarnation) &&
        memcmp(self->expected_incarnation, peer->incarnation, INCARNATION_BYTES) != 0)
        return set_other_incarnation_error(b, peer->incarnation, self->expected_incarnation, error);
    return 0;
}

struct rejection {
    int64_t code;
    char cause[REJECT_CAUSE_MAX], hint[REJECT_HINT_MAX];
};

static const struct payload_format rejection_format = {
    .fields = {FIELD_INTEGER(struct rejection, code), FIELD_TEXT(struct rejection, cause),
               FIELD_TEXT(struct rejection, hint)},
};

int reject_encode(const struct glint_error *why, struct buffer *out, struct glint_error *error)
{
    struct rejection r = {.code = why->code};
    assert(why->code < 0);
    text_format(r.cause, sizeof r.cause, "%s", why->cause); /* truncated to fit */
    text_format(r.hint, sizeof r.hint, "%s", why->hint);
    return payload_encode(&rejection_format, &r, out, error);
}

/* The peer may be a later version: an unknown code becomes PEER_MISMATCH. */
int reject_decode(struct glint_slice bytes, struct glint_error *error)
{
    struct rejection r;
    struct unpacker u = unpack_begin(bytes);
    payload_unpack_fields(&u, &rejection_format, &r);
    if (u.failed || r.code >= 0)
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a rejection does not parse");
    /* From the network, and printed to a terminal or a log. */
    text_make_printable(r.cause);
    text_make_printable(r.hint);
    bool known = r.code > INT16_MIN && error_is_known((enum glint_code)r.code);
    return error_set(error, known ? (enum glint_code)r.code : GLINT_E_PEER_MISMATCH, r.hint, "%s",
                     r.cause);
}

#define CHUNK_BYTES (256 * KIB)

static int sha256_add_file(struct env *env, int file, EVP_MD_CTX *hash, uint8_t *chunk)
{
    int64_t n = 1;
    for (uint64_t at = 0; n > 0; at += (uint64_t)n) {
        n = env_read_full(env, file, chunk, CHUNK_BYTES, at);
        if (n < 0) return (int)n;
        if (crypto.EVP_DigestUpdate(hash, chunk, (size_t)n) != 1) return -EIO;
    }
    return 0;
}

int sha256_of_file(struct env *env, int file, uint8_t out[SHA256_BYTES])
{
    struct glint_error unused = {.code = GLINT_OK};
    if (crypto_library_load(&unused) != 0) return -ENOSYS;
    EVP_MD_CTX *hash = crypto.EVP_MD_CTX_new();
    uint8_t *chunk = mem_alloc(CHUNK_BYTES);
    int r = hash != NULL && chunk != NULL ? 0 : -ENOMEM;
    if (r == 0 && crypto.EVP_DigestInit_ex(hash, crypto.EVP_sha256(), NULL) != 1) r = -EIO;
    if (r == 0) r = sha256_add_file(env, file, hash, chunk);
    if (r == 0 && crypto.EVP_DigestFinal_ex(hash, out, NULL) != 1) r = -EIO;
    mem_free(chunk);
    crypto.EVP_MD_CTX_free(hash);
    return r;
}
