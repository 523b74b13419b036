/* Hellos and rejections: round trips, corruption, and which peers are rejected with
 * which message. */
#include "engine/net/hello.h"

#include "engine/net/net_init.h"
#include "engine/records/pack.h"

#include "tests/unit/net/bytes.h"

#include <stdio.h>

TestSuite(hello, .init = begin, .fini = end);

static struct hello driver(void)
{
    return (struct hello){.protocol_min = PROTOCOL_MIN,
                          .protocol_max = PROTOCOL_MAX,
                          .role = ROLE_DRIVER,
                          .channel = CHANNEL_CONTROL,
                          .cluster = "plain",
                          .node = "driver",
                          .incarnation = {1, 2, 3},
                          .build = "0.1.0-aa"};
}

static struct hello executor(void)
{
    struct hello h = driver();
    h.role = ROLE_EXECUTOR;
    memcpy(h.node, "e1", 3);
    memset(h.incarnation, 7, sizeof h.incarnation);
    return h;
}

static struct hello daemon_hello(void)
{
    struct hello h = executor();
    h.role = ROLE_DAEMON;
    return h;
}

static struct buffer encode(const struct hello *h)
{
    struct buffer bytes = {NULL, 0, 0};
    cr_assert_eq(hello_encode(h, &bytes, &error), 0);
    cr_assert_leq(bytes.size, HELLO_BYTES_MAX);
    return bytes;
}

static bool equal(const struct hello *a, const struct hello *b)
{
    return a->protocol_min == b->protocol_min && a->protocol_max == b->protocol_max &&
           a->role == b->role && a->channel == b->channel && strcmp(a->cluster, b->cluster) == 0 &&
           strcmp(a->node, b->node) == 0 && strcmp(a->build, b->build) == 0 &&
           memcmp(a->incarnation, b->incarnation, INCARNATION_BYTES) == 0 &&
           memcmp(a->expected_incarnation, b->expected_incarnation, INCARNATION_BYTES) == 0;
}

static int decode(struct glint_slice bytes, struct hello *out)
{
    memset(&error, 0, sizeof error);
    int r = hello_decode(bytes, out, &error);
    cr_assert_eq(r, error.code);
    return r;
}

Test(hello, round_trips)
{
    for (int role = 1; role < ROLES_END; role++)
        for (int channel = 1; channel < CHANNELS_END; channel++) {
            struct hello h = driver(), back;
            h.role = role;
            h.channel = channel;
            h.protocol_max = UINT32_MAX;
            memset(h.expected_incarnation, 0xff, sizeof h.expected_incarnation);
            memset(h.cluster, 'c', sizeof h.cluster - 1);
            memset(h.node, 'n', sizeof h.node - 1);
            memset(h.build, 'b', sizeof h.build - 1);
            struct buffer bytes = encode(&h);
            cr_assert_eq(decode(whole(&bytes), &back), 0, "%s", error.cause);
            cr_expect(equal(&h, &back));
            buffer_fini(&bytes);
        }
}

static void check_corrupted(struct glint_slice bad, bool cut, void *arg)
{
    struct hello h;
    (void)arg;
    int r = decode(bad, &h);
    if (cut) cr_assert_eq(r, GLINT_E_PROTOCOL);
    cr_assert(r == 0 || r == GLINT_E_PROTOCOL || r == GLINT_E_PEER_MISMATCH);
    cr_assert(r == 0 || (h.role == 0 && h.node[0] == '\0'));
    cr_assert(r != 0 || (h.role > 0 && h.role < ROLES_END && h.channel > 0 &&
                         h.channel < CHANNELS_END && h.node[0] != '\0' && h.cluster[0] != '\0'));
}

Test(hello, damaged_bytes_are_rejected_or_valid)
{
    struct hello h = executor();
    struct buffer bytes = encode(&h);
    damage(whole(&bytes), check_corrupted, NULL);
    cr_assert(buffer_append(&bytes, "\xc0", 1));
    cr_expect_eq(decode(whole(&bytes), &h), GLINT_E_PROTOCOL); /* trailing bytes */
    buffer_fini(&bytes);
}

Test(hello, invalid_fields_are_rejected)
{
    struct hello bad[10], back;
    for (int i = 0; i < 10; i++) bad[i] = driver();
    bad[0].node[0] = '\0';
    bad[1].cluster[0] = '\0';
    bad[2].build[0] = '\0';
    memset(bad[3].incarnation, 0, INCARNATION_BYTES);
    memcpy(bad[4].node, "a\033[2J", 6);
    memcpy(bad[5].cluster, "two\nlines", 10);
    memcpy(bad[6].build, "\xff\xfe", 3);
    memcpy(bad[7].node, "\xc2\x9b", 3); /* a control character in two bytes */
    bad[8].protocol_min = 0;
    bad[9].protocol_min = 2;
    bad[9].protocol_max = 1;
    for (int i = 0; i < 10; i++) {
        struct buffer bytes = encode(&bad[i]);
        cr_expect_eq(decode(whole(&bytes), &back), GLINT_E_PROTOCOL, "%d", i);
        buffer_fini(&bytes);
    }
}

/* The fields after the version range may be anything in another protocol version. */
Test(hello, other_protocol_is_rejected_naming_both)
{
    struct packer p = {.failed = false};
    struct hello back;
    char range[64];
    pack_array(&p, 4);
    pack_u64(&p, PROTOCOL_MAX + 4);
    pack_u64(&p, PROTOCOL_MAX + 6);
    pack_text(&p, "a field of the future");
    pack_array(&p, 0);
    cr_expect_eq(decode(whole(&p.out), &back), GLINT_E_PEER_MISMATCH);
    snprintf(range, sizeof range, "the other %u to %u", PROTOCOL_MAX + 4, PROTOCOL_MAX + 6);
    cr_expect_not_null(strstr(error.cause, range), "%s", error.cause);
    snprintf(range, sizeof range, "protocol versions %u to %u (build %s)", PROTOCOL_MIN,
             PROTOCOL_MAX, build_id());
    cr_expect_not_null(strstr(error.cause, range), "%s", error.cause);
    packer_fini(&p);
}

/* A later version that still supports this protocol may send more fields. */
Test(hello, extra_fields_are_ignored)
{
    struct hello h = driver(), back;
    struct buffer bytes = encode(&h);
    cr_assert_eq(bytes.data[0], 0x99);
    bytes.data[0] = 0x9a;
    cr_assert(buffer_append(&bytes, "\xa1x", 2));
    cr_expect_eq(decode(whole(&bytes), &back), 0);
    cr_expect(equal(&h, &back));
    buffer_fini(&bytes);
}

static void expect_mismatch(const struct hello *self, const struct hello *peer, const char *one,
                            const char *other)
{
    memset(&error, 0, sizeof error);
    cr_expect_eq(hello_check_compatible(self, peer, &error), GLINT_E_PEER_MISMATCH);
    cr_expect_not_null(strstr(error.cause, one), "\"%s\" has no \"%s\"", error.cause, one);
    cr_expect_not_null(strstr(error.cause, other), "\"%s\" has no \"%s\"", error.cause, other);
    cr_expect(error.hint[0] != '\0');
}

Test(hello, mismatches_name_both_values)
{
    struct hello self = executor(), peer = driver();
    cr_assert_eq(hello_check_compatible(&self, &peer, &error), 0);
    memcpy(peer.cluster, "other", 6);
    expect_mismatch(&self, &peer, "plain", "other");
    peer = driver();
    memcpy(peer.build, "0.1.0-bb", 9);
    expect_mismatch(&self, &peer, "0.1.0-aa", "0.1.0-bb");
    peer = driver();
    memcpy(peer.incarnation, self.incarnation, INCARNATION_BYTES);
    expect_mismatch(&self, &peer, "itself", "driver");
    peer = driver();
    peer.expected_incarnation[0] = 0xab;
    expect_mismatch(&self, &peer, "0707070707070707", "ab00000000000000");
    memcpy(peer.expected_incarnation, self.incarnation, INCARNATION_BYTES);
    cr_expect_eq(hello_check_compatible(&self, &peer, &(struct glint_error){.code = 0}), 0);
    /* The dialling side: another incarnation than the expected one responds. */
    peer = driver();
    memcpy(peer.expected_incarnation, "another start", 13);
    struct hello answer = executor();
    expect_mismatch(&peer, &answer, "0707070707070707", "616e6f7468657220");
    memcpy(peer.expected_incarnation, answer.incarnation, INCARNATION_BYTES);
    cr_expect_eq(hello_check_compatible(&peer, &answer, &(struct glint_error){.code = 0}), 0);
}

Test(hello, daemons_of_any_build_are_accepted)
{
    struct hello self = daemon_hello(), peer = driver();
    memcpy(peer.build, "0.1.0-bb", 9);
    cr_expect_eq(hello_check_compatible(&self, &peer, &error), 0);
    cr_expect_eq(hello_check_compatible(&peer, &self, &error), 0);
}

Test(hello, unmarked_builds_never_match)
{
    struct hello self = executor(), peer = driver();
    memcpy(self.build, "1" BUILD_UNMARKED, sizeof "1" BUILD_UNMARKED);
    memcpy(peer.build, self.build, sizeof peer.build);
    expect_mismatch(&self, &peer, "e1", "1-unmarked");
}

Test(hello, only_allowed_roles_and_channels_match)
{
    static const struct {
        enum role a, b;
        enum channel channel;
    } allowed[] = {
        {ROLE_DRIVER, ROLE_EXECUTOR, CHANNEL_CONTROL}, {ROLE_DRIVER, ROLE_EXECUTOR, CHANNEL_DATA},
        {ROLE_DRIVER, ROLE_DAEMON, CHANNEL_CONTROL},   {ROLE_EXECUTOR, ROLE_EXECUTOR, CHANNEL_DATA},
        {ROLE_CLIENT, ROLE_DAEMON, CHANNEL_CONTROL},
    };
    unsigned fits = 0;
    for (int a = 1; a < ROLES_END; a++)
        for (int b = 1; b < ROLES_END; b++)
            for (int channel = 1; channel < CHANNELS_END; channel++) {
                struct hello self = executor(), peer = driver();
                self.role = a;
                peer.role = b;
                peer.channel = channel;
                bool expected = false;
                for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
                    expected |= allowed[i].channel == peer.channel &&
                                ((allowed[i].a == self.role && allowed[i].b == peer.role) ||
                                 (allowed[i].b == self.role && allowed[i].a == peer.role));
                memset(&error, 0, sizeof error);
                int r = hello_check_compatible(&self, &peer, &error);
                cr_expect_eq(r, expected ? 0 : GLINT_E_PEER_MISMATCH, "%d %d %d", a, b, channel);
                fits += r == 0;
            }
    cr_expect_eq(fits, 9);
}

/* The table of docs/protocol.md: for each type, the sender, the receiver and the channel. */
Test(hello, each_role_accepts_only_its_frames)
{
    static const struct {
        enum frame_type type;
        enum role from, to;
        enum channel channel;
    } table[] = {{FRAME_PING, ROLE_DRIVER, ROLE_EXECUTOR, CHANNEL_CONTROL},
                 {FRAME_PING, ROLE_EXECUTOR, ROLE_DRIVER, CHANNEL_CONTROL},
                 {FRAME_PING, ROLE_DRIVER, ROLE_DAEMON, CHANNEL_CONTROL},
                 {FRAME_PING, ROLE_DAEMON, ROLE_DRIVER, CHANNEL_CONTROL},
                 {FRAME_PING, ROLE_CLIENT, ROLE_DAEMON, CHANNEL_CONTROL},
                 {FRAME_PING, ROLE_DAEMON, ROLE_CLIENT, CHANNEL_CONTROL},
                 {FRAME_MESSAGE, ROLE_DRIVER, ROLE_EXECUTOR, CHANNEL_CONTROL},
                 {FRAME_MESSAGE, ROLE_EXECUTOR, ROLE_DRIVER, CHANNEL_CONTROL},
                 {FRAME_REGISTER, ROLE_EXECUTOR, ROLE_DRIVER, CHANNEL_CONTROL},
                 {FRAME_JOB_KEY, ROLE_DRIVER, ROLE_EXECUTOR, CHANNEL_CONTROL},
                 {FRAME_EXECUTOR_ADDED, ROLE_DRIVER, ROLE_EXECUTOR, CHANNEL_CONTROL},
                 {FRAME_REQUEST_EXECUTOR, ROLE_DRIVER, ROLE_DAEMON, CHANNEL_CONTROL},
                 {FRAME_PROGRESS, ROLE_DRIVER, ROLE_DAEMON, CHANNEL_CONTROL},
                 {FRAME_PROGRAM, ROLE_DRIVER, ROLE_DAEMON, CHANNEL_CONTROL},
                 {FRAME_DATA, ROLE_DRIVER, ROLE_DAEMON, CHANNEL_CONTROL},
                 {FRAME_FETCH_ERROR, ROLE_DRIVER, ROLE_DAEMON, CHANNEL_CONTROL},
                 {FRAME_PROGRAM_REQUEST, ROLE_DAEMON, ROLE_DRIVER, CHANNEL_CONTROL},
                 {FRAME_GET, ROLE_DAEMON, ROLE_DRIVER, CHANNEL_CONTROL},
                 {FRAME_QUEUED, ROLE_DAEMON, ROLE_DRIVER, CHANNEL_CONTROL},
                 {FRAME_EXECUTOR_STARTED, ROLE_DAEMON, ROLE_DRIVER, CHANNEL_CONTROL},
                 {FRAME_EXECUTOR_EXITED, ROLE_DAEMON, ROLE_DRIVER, CHANNEL_CONTROL},
                 {FRAME_STATUS, ROLE_CLIENT, ROLE_DAEMON, CHANNEL_CONTROL},
                 {FRAME_STATUS_REPLY, ROLE_DAEMON, ROLE_CLIENT, CHANNEL_CONTROL},
                 {FRAME_CANCEL, ROLE_CLIENT, ROLE_DAEMON, CHANNEL_CONTROL},
                 {FRAME_CANCEL, ROLE_DAEMON, ROLE_DRIVER, CHANNEL_CONTROL},
                 {FRAME_CANCELLED, ROLE_DAEMON, ROLE_CLIENT, CHANNEL_CONTROL},
                 {FRAME_DRAIN, ROLE_EXECUTOR, ROLE_DRIVER, CHANNEL_CONTROL},
                 {FRAME_GET, ROLE_DRIVER, ROLE_EXECUTOR, CHANNEL_DATA},
                 {FRAME_GET, ROLE_EXECUTOR, ROLE_DRIVER, CHANNEL_DATA},
                 {FRAME_DATA, ROLE_DRIVER, ROLE_EXECUTOR, CHANNEL_DATA},
                 {FRAME_DATA, ROLE_EXECUTOR, ROLE_DRIVER, CHANNEL_DATA},
                 {FRAME_FETCH_ERROR, ROLE_DRIVER, ROLE_EXECUTOR, CHANNEL_DATA},
                 {FRAME_FETCH_ERROR, ROLE_EXECUTOR, ROLE_DRIVER, CHANNEL_DATA},
                 {FRAME_BLOCK_REQUEST, ROLE_EXECUTOR, ROLE_DRIVER, CHANNEL_DATA},
                 {FRAME_BLOCK_ASSIGN, ROLE_DRIVER, ROLE_EXECUTOR, CHANNEL_DATA}};
    static const enum role pairs[][2] = {{ROLE_DRIVER, ROLE_EXECUTOR}, {ROLE_EXECUTOR, ROLE_DRIVER},
                                         {ROLE_DRIVER, ROLE_DAEMON},   {ROLE_DAEMON, ROLE_DRIVER},
                                         {ROLE_CLIENT, ROLE_DAEMON},   {ROLE_DAEMON, ROLE_CLIENT}};
    struct hello to = {.channel = CHANNEL_CONTROL}, from = to;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (unsigned channel = CHANNEL_CONTROL; channel < CHANNELS_END; channel++) {
            from.role = pairs[i][0];
            to.role = pairs[i][1];
            if (channel == CHANNEL_DATA && (from.role > ROLE_EXECUTOR || to.role > ROLE_EXECUTOR))
                continue;
            from.channel = to.channel = (enum channel)channel;
            uint32_t expected = 0;
            for (size_t k = 0; k < sizeof table / sizeof table[0]; k++)
                if (table[k].from == from.role && table[k].to == to.role &&
                    table[k].channel == from.channel)
                    expected |= FRAME_BIT(table[k].type);
            uint32_t refuse = channel == CHANNEL_CONTROL ? FRAME_BIT(FRAME_REJECT) : 0;
            cr_expect_eq(hello_allowed_frames(&to, &from, false).types, expected, "pair %zu", i);
            cr_expect_eq(hello_allowed_frames(&to, &from, true).types, expected | refuse,
                         "pair %zu", i);
        }
    }
    to.role = from.role = ROLE_EXECUTOR; /* the dialling side sends requests */
    to.channel = from.channel = CHANNEL_DATA;
    cr_expect_eq(hello_allowed_frames(&to, &from, false).types, FRAME_BIT(FRAME_GET));
    cr_expect_eq(hello_allowed_frames(&to, &from, true).types,
                 FRAME_BIT(FRAME_DATA) | FRAME_BIT(FRAME_FETCH_ERROR));
}

Test(hello, reject_round_trips)
{
    struct glint_error why = {.code = GLINT_OK}, back = {.code = GLINT_OK};
    struct buffer bytes = {NULL, 0, 0};
    error_set(&why, GLINT_E_PEER_MISMATCH, "the hint", "build %s, not %s", "a", "b");
    cr_assert_eq(reject_encode(&why, &bytes, &error), 0);
    cr_expect_eq(reject_decode(whole(&bytes), &back), GLINT_E_PEER_MISMATCH);
    cr_expect_str_eq(back.cause, "build a, not b");
    cr_expect_str_eq(back.hint, "the hint");
    buffer_fini(&bytes);
}

Test(hello, long_reject_is_truncated)
{
    struct glint_error why = {.code = GLINT_E_AUTH}, back = {.code = GLINT_OK};
    struct buffer bytes = {NULL, 0, 0};
    memset(why.cause, 'c', sizeof why.cause - 1);
    memset(why.hint, 'h', sizeof why.hint - 1);
    cr_assert_eq(reject_encode(&why, &bytes, &error), 0);
    cr_expect_leq(bytes.size, HELLO_BYTES_MAX);
    cr_expect_eq(reject_decode(whole(&bytes), &back), GLINT_E_AUTH);
    cr_expect(strlen(back.cause) > 400 && strlen(back.hint) > 200);
    buffer_fini(&bytes);
}

/* From another version: an unknown code. From an attacker: terminal escape sequences. */
Test(hello, unknown_or_unsafe_reject_is_sanitized)
{
    static const struct {
        int64_t code;
        const char *cause, *shown;
        int expected;
    } rows[] = {
        {-9999, "new rules", "new rules", GLINT_E_PEER_MISMATCH},
        {INT64_MIN, "far out", "far out", GLINT_E_PEER_MISMATCH},
        {GLINT_E_AUTH, "\033[2Jgone\n\xff", "?[2Jgone ?", GLINT_E_AUTH},
        {0, "fine", "a rejection does not parse", GLINT_E_PROTOCOL},
        {5, "fine", "a rejection does not parse", GLINT_E_PROTOCOL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct packer p = {.failed = false};
        pack_array(&p, 4);
        pack_i64(&p, rows[i].code);
        pack_text(&p, rows[i].cause);
        pack_text(&p, "");
        pack_text(&p, "a field of the future");
        memset(&error, 0, sizeof error);
        cr_expect_eq(reject_decode(whole(&p.out), &error), rows[i].expected);
        cr_expect_eq(error.code, rows[i].expected);
        cr_expect_str_eq(error.cause, rows[i].shown);
        packer_fini(&p);
    }
}

static void check_rejection(struct glint_slice bad, bool cut, void *arg)
{
    (void)arg;
    memset(&error, 0, sizeof error);
    int r = reject_decode(bad, &error);
    cr_assert(r < 0 && r == error.code);
    if (cut) cr_assert_eq(r, GLINT_E_PROTOCOL);
}

Test(hello, damaged_reject_is_still_an_error)
{
    struct glint_error why = {.code = GLINT_OK};
    struct buffer bytes = {NULL, 0, 0};
    error_set(&why, GLINT_E_AUTH, "hint", "cause");
    cr_assert_eq(reject_encode(&why, &bytes, &error), 0);
    damage(whole(&bytes), check_rejection, NULL);
    buffer_fini(&bytes);
}

Test(hello, out_of_memory_appends_nothing)
{
    struct hello h = driver();
    struct glint_error why = {.code = GLINT_E_AUTH};
    struct buffer bytes = {NULL, 0, 0};
    mem_fail_at(1, true);
    cr_expect_eq(hello_encode(&h, &bytes, &error), GLINT_E_NO_MEMORY);
    cr_expect_eq(bytes.size, 0);
    cr_expect_eq(reject_encode(&why, &bytes, &error), GLINT_E_NO_MEMORY);
    cr_expect_eq(bytes.size, 0);
    mem_fail_at(0, false);
    buffer_fini(&bytes);
}

/* Cut off, they would be those of another cluster. */
Test(hello, names_that_do_not_fit_are_refused)
{
    char name[NAME_BYTES_MAX + 1];
    memset(name, 'n', NAME_BYTES_MAX);
    name[NAME_BYTES_MAX] = '\0';
    for (int i = 0; i < 2; i++) {
        struct net net;
        const struct net_config config = {.role = ROLE_DRIVER,
                                          .cluster = i == 0 ? name : "plain",
                                          .node = i == 0 ? "driver" : name,
                                          .insecure_plaintext = true,
                                          .connect_ms = 1000};
        error.code = GLINT_OK;
        cr_expect_eq(net_init(&net, NULL, env_real(), &config, &error), GLINT_E_CONFIG);
        net_fini(&net);
    }
}

Test(hello, build_id_is_version_and_hash)
{
    const char *dash = strchr(build_id(), '-');
    cr_assert_not_null(dash);
    cr_expect_eq(strncmp(build_id(), GLINT_VERSION, (size_t)(dash - build_id())), 0);
    cr_expect_eq(strlen(dash + 1), 40, "%s", build_id());
    cr_expect_eq(strspn(dash + 1, "0123456789abcdef"), 40);
    cr_expect_eq(build_id(), build_id());
}
