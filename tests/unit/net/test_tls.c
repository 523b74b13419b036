/* TLS sessions over memory: handshakes delivered in pieces of every size, data in both directions,
 * and modified bytes. */
#include "engine/net/tls.h"

#include "engine/limits.h"
#include "tests/unit/net/bytes.h"

#include <stdlib.h>

static struct tls_context *contexts[2];
static struct tls *sides[2];   /* 0: accepting, 1: dialling */
static struct buffer wires[2]; /* sent by that side, not yet received by the other */

/* Secrets generated from one number each. */
static struct secrets secrets_of(unsigned count, const uint8_t numbers[])
{
    struct secrets s = {.count = count};
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < SECRET_BYTES; k++)
            s.list[i].bytes[k] = (uint8_t)(k * 3 + numbers[i]);
    return s;
}

static void open_with(const struct secrets *accepts, const struct secrets *dials)
{
    begin();
    for (unsigned i = 0; i < 2; i++) {
        contexts[i] = tls_context_create(i == 0 ? accepts : dials, i == 0, &error);
        cr_assert_not_null(contexts[i]);
        sides[i] = tls_open(contexts[i], i == 1, &error);
        cr_assert_not_null(sides[i]);
    }
}

static void open_sides(bool same)
{
    const struct secrets a = secrets_of(1, (uint8_t[]){0}), b = secrets_of(1, (uint8_t[]){1});
    open_with(&a, same ? &a : &b);
}

static void close_sides(void)
{
    for (unsigned i = 0; i < 2; i++) {
        tls_close(sides[i]);
        tls_context_destroy(contexts[i]);
        buffer_fini(&wires[i]);
    }
    end();
}

/* Appends the output of side `from` to its wire. */
static void collect(unsigned from)
{
    struct buffer out = {NULL, 0, 0};
    tls_take_output(sides[from], &out);
    cr_assert(buffer_append(&wires[from], out.data, out.size));
    buffer_fini(&out);
}

/* Delivers the wire of `from` to the other side, `step` bytes at a time (0: all), and appends
 * decrypted bytes to `plain`. Returns the code. */
static int deliver(unsigned from, uint64_t step, struct buffer *plain, uint64_t capacity)
{
    struct tls *to = sides[!from];
    struct buffer *wire = &wires[from];
    int code = 0;
    for (uint64_t at = 0, n; at < wire->size && code == 0; at += n) {
        n = step == 0 || step > wire->size - at ? wire->size - at : step;
        code = tls_feed(to, (struct glint_slice){wire->data + at, n}, &error);
        while (code == 0 && tls_is_handshake_done(to)) {
            cr_assert(buffer_reserve(plain, capacity));
            int64_t got = tls_read(to, plain->data + plain->size, capacity, &error);
            if (got < 0) code = (int)got;
            if (got <= 0) break;
            plain->size += (uint64_t)got;
        }
    }
    wire->size = 0;
    return code;
}

static int shake_hands(uint64_t step)
{
    struct buffer none = {NULL, 0, 0};
    int code = 0;
    for (unsigned i = 0; i < 8 && code == 0; i++) {
        unsigned from = i % 2 == 0;
        collect(from);
        code = deliver(from, step, &none, 100);
        cr_expect_eq(none.size, 0);
    }
    buffer_fini(&none);
    return code;
}

Test(tls, handshake_accepts_any_fragmentation)
{
    for (uint64_t step = 0; step < 40; step++) {
        open_sides(true);
        cr_expect_eq(shake_hands(step), 0, "%s", error.cause);
        cr_expect(tls_is_handshake_done(sides[0]) && tls_is_handshake_done(sides[1]));
        close_sides();
    }
}

Test(tls, first_flights_fit_the_unauthenticated_limit)
{
    struct buffer none = {NULL, 0, 0};
    open_sides(true);
    collect(1);
    cr_expect(wires[1].size > 100 && wires[1].size < HELLO_BYTES_MAX);
    cr_expect_eq(deliver(1, 0, &none, 1), 0);
    collect(0);
    cr_expect(wires[0].size > 100 && wires[0].size < HELLO_BYTES_MAX);
    close_sides();
}

Test(tls, wrong_secret_is_reported_on_both_sides)
{
    open_sides(false);
    struct buffer none = {NULL, 0, 0};
    collect(1);
    cr_expect_eq(deliver(1, 0, &none, 1), GLINT_E_AUTH);
    cr_expect(error.cause[0] != '\0' && strstr(error.hint, "secret") != NULL);
    cr_expect_not(tls_is_handshake_done(sides[0]));
    memset(&error, 0, sizeof error);
    collect(0);
    cr_expect_gt(wires[0].size, 0, "an alert");
    cr_expect_eq(deliver(0, 0, &none, 1), GLINT_E_AUTH);
    cr_expect_not(tls_is_handshake_done(sides[1]));
    close_sides();
}

Test(tls, any_secret_is_accepted_and_the_first_one_dials)
{
    const struct secrets old = secrets_of(1, (uint8_t[]){1}), new = secrets_of(1, (uint8_t[]){2}),
                         both = secrets_of(2, (uint8_t[]){1, 2}),
                         swapped = secrets_of(2, (uint8_t[]){2, 1});
    const struct {
        const struct secrets *accepts, *dials;
        bool fits;
    } pairs[] = {{&both, &old, true},     {&both, &new, true},    {&old, &both, true},
                 {&new, &both, false},    {&new, &swapped, true}, {&old, &swapped, false},
                 {&both, &swapped, true}, {&new, &old, false}};
    for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        open_with(pairs[i].accepts, pairs[i].dials);
        cr_expect_eq(shake_hands(0), pairs[i].fits ? 0 : GLINT_E_AUTH, "pair %u", i);
        cr_expect_eq(tls_is_handshake_done(sides[0]) && tls_is_handshake_done(sides[1]),
                     pairs[i].fits, "pair %u", i);
        if (pairs[i].fits) cr_expect_eq(tls_peer_secret_kind(sides[0]), SECRET_PEER);
        close_sides();
    }
}

Test(tls, client_secret_is_distinct_from_its_parent)
{
    const struct secrets peer = secrets_of(2, (uint8_t[]){1, 2}),
                         other = secrets_of(1, (uint8_t[]){3});
    struct secrets client = {.kind = SECRET_CLIENT, .count = 1};
    for (unsigned i = 0; i < 2; i++) {
        cr_assert(secret_derive_client_secret(&peer.list[i], &client.list[0]));
        open_with(&peer, &client);
        cr_expect_eq(shake_hands(0), 0, "%s", error.cause);
        cr_expect_eq(tls_peer_secret_kind(sides[0]), SECRET_CLIENT);
        close_sides();
        open_with(&other, &client);
        cr_expect_eq(shake_hands(0), GLINT_E_AUTH);
        close_sides();
    }
    /* The same secret of another kind gives another key. */
    client.kind = SECRET_PEER;
    open_with(&peer, &client);
    cr_expect_eq(shake_hands(0), GLINT_E_AUTH);
    close_sides();
    /* Without `accept_client_secrets` a client secret is rejected. */
    client.kind = SECRET_CLIENT;
    open_with(&peer, &client);
    tls_close(sides[0]);
    tls_context_destroy(contexts[0]);
    contexts[0] = tls_context_create(&peer, false, &error);
    sides[0] = tls_open(contexts[0], false, &error);
    cr_expect_eq(shake_hands(0), GLINT_E_AUTH);
    close_sides();
}

Test(tls, secrets_can_change_between_handshakes)
{
    const struct secrets old = secrets_of(1, (uint8_t[]){1}), new = secrets_of(1, (uint8_t[]){2});
    static const uint8_t bytes[100] = "still there";
    struct buffer plain = {NULL, 0, 0};
    open_with(&old, &old);
    cr_assert_eq(shake_hands(0), 0);
    cr_assert(tls_context_set_secrets(contexts[0], &new));
    cr_assert_eq(tls_write(sides[1], (struct glint_slice){bytes, sizeof bytes}, &error), 0);
    collect(1);
    cr_expect_eq(deliver(1, 0, &plain, 1000), 0, "an open session continues");
    cr_expect_eq(plain.size, sizeof bytes);
    buffer_fini(&plain);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < 2; k++) {
            tls_close(sides[k]);
            sides[k] = tls_open(contexts[k], k == 1, &error);
            buffer_fini(&wires[k]);
        }
        cr_expect_eq(shake_hands(0), i == 0 ? GLINT_E_AUTH : 0);
        cr_assert(tls_context_set_secrets(contexts[1], &new));
        memset(&error, 0, sizeof error);
    }
    close_sides();
}

Test(tls, bytes_survive_any_record_and_read_size)
{
    static const uint64_t sizes[] = {1, 100, 16383, 16384, 16385, 300000, 1 << 20};
    static const uint64_t steps[] = {0, 1000, 70000};
    static const uint64_t capacities[] = {33, 16384, 1 << 20};
    uint8_t *bytes = malloc(1 << 20);
    for (unsigned i = 0; i < 1 << 20; i++) bytes[i] = (uint8_t)(i * 7 + (i >> 8));
    open_sides(true);
    cr_assert_eq(shake_hands(0), 0);
    for (unsigned i = 0; i < 7 * 3 * 3 * 2; i++) {
        uint64_t size = sizes[i % 7], step = steps[i / 7 % 3], capacity = capacities[i / 21 % 3];
        unsigned from = i / 63;
        struct buffer plain = {NULL, 0, 0};
        cr_assert_eq(tls_write(sides[from], (struct glint_slice){bytes, size}, &error), 0);
        collect(from);
        cr_expect(wires[from].size > size && wires[from].size < size + size / 500 + 100);
        cr_assert_eq(deliver(from, step, &plain, capacity), 0);
        cr_assert_eq(plain.size, size);
        cr_assert_eq(memcmp(plain.data, bytes, size), 0);
        buffer_fini(&plain);
    }
    close_sides();
    free(bytes);
}

Test(tls, every_changed_byte_is_detected)
{
    static const uint8_t bytes[100] = "secret";
    open_sides(true);
    cr_assert_eq(shake_hands(0), 0);
    cr_assert_eq(tls_write(sides[1], (struct glint_slice){bytes, sizeof bytes}, &error), 0);
    collect(1);
    uint64_t size = wires[1].size;
    close_sides();
    for (uint64_t at = 0; at < size; at++) {
        struct buffer plain = {NULL, 0, 0};
        open_sides(true);
        cr_assert_eq(shake_hands(0), 0);
        cr_assert_eq(tls_write(sides[1], (struct glint_slice){bytes, sizeof bytes}, &error), 0);
        collect(1);
        wires[1].data[at] ^= 1;
        int code = deliver(1, 0, &plain, 1000);
        /* If the length field increases, TLS waits for more bytes. */
        bool waits = code == 0 && (at == 3 || at == 4);
        cr_expect(code == GLINT_E_PROTOCOL || waits, "byte %d: %d", (int)at, code);
        cr_expect_eq(plain.size, 0);
        buffer_fini(&plain);
        close_sides();
    }
}

Test(tls, changed_handshake_byte_prevents_opening)
{
    for (uint64_t at = 0; at < 400; at++) {
        struct buffer none = {NULL, 0, 0};
        open_sides(true);
        collect(1);
        if (at >= wires[1].size) {
            close_sides();
            break;
        }
        wires[1].data[at] ^= 1;
        int code = deliver(1, 0, &none, 1);
        if (code == 0) {
            collect(0);
            code = deliver(0, 0, &none, 1);
        }
        cr_expect_not(tls_is_handshake_done(sides[0]));
        /* The version of the first record is ignored, as RFC 8446, 5.1 requires. */
        cr_expect(!tls_is_handshake_done(sides[1]) || at == 2, "byte %d", (int)at);
        cr_expect_neq(code, GLINT_E_NO_MEMORY);
        buffer_fini(&none);
        close_sides();
    }
}

Test(tls, forged_close_alert_is_rejected)
{
    /* Only the peer's OpenSSL can encrypt a close_notify: a forged one must be rejected. */
    static const uint8_t alert[] = {0x15, 3, 3, 0, 2, 1, 0};
    open_sides(true);
    cr_assert_eq(shake_hands(0), 0);
    cr_assert(buffer_append(&wires[1], alert, sizeof alert));
    struct buffer plain = {NULL, 0, 0};
    cr_expect_lt(deliver(1, 0, &plain, 10), 0);
    buffer_fini(&plain);
    close_sides();
}

Test(tls, out_of_memory_in_write_is_reported)
{
    static uint8_t bytes[100000];
    for (int64_t n = 1; n < 40; n++) {
        open_sides(true);
        cr_assert_eq(shake_hands(0), 0);
        mem_fail_at(n, true);
        int code = tls_write(sides[0], (struct glint_slice){bytes, sizeof bytes}, &error);
        mem_fail_at(0, false);
        cr_expect(code == 0 || code == GLINT_E_NO_MEMORY);
        close_sides();
        if (code == 0) return;
    }
    cr_assert(false, "it never succeeds");
}

Test(tls, out_of_memory_in_open_is_reported)
{
    open_sides(true);
    for (int64_t n = 1; n < 10; n++) {
        mem_fail_at(n, false);
        struct tls *t = tls_open(contexts[0], true, &error);
        mem_fail_at(0, false);
        cr_expect(t != NULL || error.code == GLINT_E_NO_MEMORY);
        memset(&error, 0, sizeof error);
        tls_close(t);
    }
    struct secrets secrets = {.count = 1, .list = {{{1, 2}}}};
    mem_fail_at(1, false);
    cr_expect_null(tls_context_create(&secrets, false, &error));
    mem_fail_at(0, false);
    cr_expect_eq(error.code, GLINT_E_NO_MEMORY);
    close_sides();
}

/* ---- The key of a job */

/* Side 0 accepts and side 1 dials; the numbers are of their secrets and job keys, 0: none. */
struct keys_of_sides {
    uint8_t secrets[2], jobs[2];
    bool forget; /* side 0 forgets its secrets */
};

static int job_key_handshake(const struct keys_of_sides *k)
{
    begin();
    for (unsigned i = 0; i < 2; i++) {
        const struct secrets secrets = secrets_of(1, &k->secrets[i]),
                             job = secrets_of(1, &k->jobs[i]);
        contexts[i] = tls_context_create(k->secrets[i] != 0 ? &secrets : NULL, i == 0, &error);
        cr_assert_not_null(contexts[i]);
        if (k->jobs[i] != 0) cr_assert(tls_context_set_job_key(contexts[i], &job.list[0]));
    }
    if (k->forget) tls_context_forget_secrets(contexts[0]);
    for (unsigned i = 0; i < 2; i++) {
        sides[i] = tls_open(contexts[i], i == 1, &error);
        cr_assert_not_null(sides[i]);
    }
    return shake_hands(0);
}

Test(tls, job_key_opens_only_its_job)
{
    static const struct {
        struct keys_of_sides keys;
        int code;
        enum secret_kind kind;
    } rows[] = {
        {{{0, 0}, {5, 5}, false}, 0, SECRET_JOB},  /* executor to executor */
        {{{1, 0}, {5, 5}, false}, 0, SECRET_JOB},  /* a daemon's process to the driver */
        {{{1, 1}, {5, 0}, false}, 0, SECRET_PEER}, /* --join to the driver */
        {{{1, 1}, {5, 5}, false}, 0, SECRET_PEER}, /* with secrets: they are used to dial */
        {{{1, 0}, {5, 5}, true}, 0, SECRET_JOB},
        {{{0, 0}, {5, 6}, false}, GLINT_E_AUTH, SECRET_JOB},
        {{{5, 0}, {0, 5}, false}, GLINT_E_AUTH, SECRET_JOB}, /* the same bytes as a secret */
        {{{1, 1}, {5, 0}, true}, GLINT_E_AUTH, SECRET_PEER}, /* forgotten */
        {{{0, 1}, {5, 0}, false}, GLINT_E_AUTH, SECRET_PEER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq(job_key_handshake(&rows[i].keys), rows[i].code, "row %zu: %s", i, error.cause);
        if (rows[i].code == 0)
            cr_expect_eq(tls_peer_secret_kind(sides[0]), rows[i].kind, "row %zu", i);
        error.code = GLINT_OK;
        close_sides();
    }
}
