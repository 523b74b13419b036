/* Which pending connections are dropped: those of the source with the most, one of them at random,
 * and never one with a known key for one without. */
#include "engine/net/conn_internal.h"

#include "engine/base/env.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct pending_conns *pending;
static struct env env;
static uint32_t random_state;

static int seeded_random(struct env *e, void *out, size_t size)
{
    uint8_t *bytes = out;
    (void)e;
    for (size_t i = 0; i < size; i++) {
        random_state = random_state * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(random_state >> 24);
    }
    return 0;
}

static void begin(void)
{
    env = *env_real();
    env.random = seeded_random;
    random_state = 1;
    pending = calloc(1, sizeof *pending);
    cr_assert_not_null(pending);
    pending->env = &env;
}

static void end(void)
{
    for (unsigned class = 0; class < PENDING_CLASSES; class ++) {
        struct pending_list *l = &pending->classes[class];
        while (l->count > 0) {
            struct conn *c = l->list[l->count / 2];
            pending_conns_remove(pending, c);
            free(c);
        }
    }
    for (size_t i = 0; i < sizeof pending->sources / sizeof pending->sources[0]; i++)
        cr_expect(pending->sources[i].counts[0] == 0 && pending->sources[i].counts[1] == 0);
    free(pending);
}

TestSuite(pending_conns, .init = begin, .fini = end);

static struct conn *add_pending(uint64_t source)
{
    struct conn *c = calloc(1, sizeof *c);
    cr_assert_not_null(c);
    c->source_key = source;
    pending_conns_add(pending, c);
    return c;
}

static uint32_t count(enum pending_class class)
{
    return pending->classes[class].count;
}

/* Removes the connection to drop from a class that has one too many. The caller frees it. */
static struct conn *displace(enum pending_class class)
{
    struct conn *c = pending_conns_choose_to_drop(pending, class);
    cr_assert_eq(c->pending_class, class);
    pending_conns_remove(pending, c);
    return c;
}

/* As displace; frees it and returns its source. */
static uint64_t drop_victim(enum pending_class class)
{
    struct conn *c = displace(class);
    uint64_t source = c->source_key;
    free(c);
    return source;
}

static uint64_t key_of(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return address_source_key((struct sockaddr *)&v4);
    cr_assert_eq(inet_pton(AF_INET6, text, &v6.sin6_addr), 1, "%s", text);
    return address_source_key((struct sockaddr *)&v6);
}

Test(pending_conns, ipv6_prefix_64_is_one_source)
{
    cr_expect_eq(key_of("2001:db8:1:2::1"), key_of("2001:db8:1:2:ffff:ffff:ffff:ffff"));
    cr_expect_neq(key_of("2001:db8:1:2::1"), key_of("2001:db8:1:3::1"));
    cr_expect_neq(key_of("10.0.0.1"), key_of("10.0.0.2"));
    cr_expect_eq(key_of("::ffff:10.0.0.1"), key_of("10.0.0.1"));
    cr_expect_neq(key_of("::ffff:10.0.0.1"), key_of("::ffff:10.0.0.2"));
    cr_expect_neq(key_of("::1"), key_of("0.0.0.1"));
}

Test(pending_conns, lone_source_survives_a_flood)
{
    enum { SOURCES = PENDING_MAX - 1, FLOOD = 20000 };
    struct conn *alone = add_pending(7);
    for (uint64_t i = 0; i < FLOOD; i++) {
        add_pending(1000 + i % SOURCES);
        if (count(PENDING_UNKNOWN) <= PENDING_MAX) continue;
        cr_assert_neq(drop_victim(PENDING_UNKNOWN), 7, "connection %d", (int)i);
    }
    cr_expect_eq(pending->classes[PENDING_UNKNOWN].list[alone->pending_at], alone);
    cr_expect_eq(count(PENDING_UNKNOWN), PENDING_MAX);
}

Test(pending_conns, any_connection_of_one_source_may_be_evicted)
{
    enum { FLOOD = 50 * PENDING_MAX };
    bool dropped[PENDING_MAX + 1] = {false};
    for (unsigned i = 0; i < PENDING_MAX; i++) add_pending(1);
    for (unsigned i = 0; i < FLOOD; i++) {
        add_pending(1);
        struct conn *c = pending_conns_choose_to_drop(pending, PENDING_UNKNOWN);
        dropped[c->pending_at] = true;
        pending_conns_remove(pending, c);
        free(c);
    }
    for (unsigned i = 0; i <= PENDING_MAX; i++) cr_expect(dropped[i], "place %u", i);
}

Test(pending_conns, known_key_is_evicted_only_by_known_keys)
{
    struct conn *known = add_pending(1);
    pending_conns_mark_known(pending, known);
    for (unsigned i = 0; i < 10 * PENDING_MAX; i++) {
        add_pending(1);
        if (count(PENDING_UNKNOWN) > PENDING_MAX) drop_victim(PENDING_UNKNOWN);
    }
    cr_expect_eq(count(PENDING_KNOWN), 1);
    /* In the class KNOWN, too, the only connection of a source is kept. */
    for (unsigned i = 0; i < 10 * PENDING_MAX; i++) {
        struct conn *c = add_pending(2 + i % 3), *displaced = NULL;
        if (count(PENDING_UNKNOWN) > PENDING_MAX) displaced = displace(PENDING_UNKNOWN);
        free(displaced);
        if (i % 2 == 0 || displaced == c) continue;
        pending_conns_mark_known(pending, c);
        if (count(PENDING_KNOWN) > PENDING_MAX)
            cr_assert_neq(drop_victim(PENDING_KNOWN), 1,
                          "a source with one connection was dropped");
    }
    cr_expect_eq(count(PENDING_KNOWN), PENDING_MAX);
    cr_expect_eq(pending->classes[PENDING_KNOWN].list[known->pending_at], known);
}
