/* Sources are found by a linear scan of a few KiB: a hash table would need protection against
 * attackers who choose their addresses to collide. */
#include "engine/net/pending_conns.h"

#include "engine/base/env.h"
#include "engine/net/conn_internal.h"

#include <assert.h>
#include <string.h>

#define IPV4_KEY                                                                                   \
    (UINT64_C(0xffffffff) << 32) /* cannot be the prefix of an IPv6 host: ff00::/8 is multicast */

uint64_t address_source_key(const struct sockaddr *address)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    uint64_t prefix;
    uint32_t v4;
    if (address->sa_family == AF_INET)
        return IPV4_KEY | ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr);
    if (address->sa_family != AF_INET6) return 0;
    /* A dual-stack socket reports IPv4 peers as ::ffff:a.b.c.d, which share one /64. */
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
        memcpy(&v4, v6->sin6_addr.s6_addr + 12, sizeof v4);
        return IPV4_KEY | ntohl(v4);
    }
    memcpy(&prefix, v6->sin6_addr.s6_addr, sizeof prefix);
    return prefix;
}

static bool is_source_free(const struct pending_source *s)
{
    for (unsigned i = 0; i < PENDING_CLASSES; i++)
        if (s->counts[i] > 0) return false;
    return true;
}

static struct pending_source *find_source(struct pending_conns *p, uint64_t key)
{
    struct pending_source *free = NULL;
    for (size_t i = 0; i < sizeof p->sources / sizeof p->sources[0]; i++) {
        struct pending_source *s = &p->sources[i];
        if (!is_source_free(s) && s->key == key) return s;
        if (free == NULL && is_source_free(s)) free = s;
    }
    assert(free != NULL); /* there are as many entries as connections */
    free->key = key;
    return free;
}

static void class_add(struct pending_conns *p, struct conn *c, enum pending_class class)
{
    struct pending_list *l = &p->classes[class];
    assert(l->count <= PENDING_MAX);
    c->pending_class = class;
    c->pending_at = l->count;
    l->list[l->count++] = c;
    c->source->counts[class]++;
}

static void class_remove(struct pending_conns *p, struct conn *c)
{
    struct pending_list *l = &p->classes[c->pending_class];
    assert(l->count > 0 && l->list[c->pending_at] == c);
    struct conn *last = l->list[--l->count];
    l->list[c->pending_at] = last;
    last->pending_at = c->pending_at;
    c->source->counts[c->pending_class]--;
}

void pending_conns_add(struct pending_conns *p, struct conn *c)
{
    c->source = find_source(p, c->source_key);
    class_add(p, c, PENDING_UNKNOWN);
}

void pending_conns_mark_known(struct pending_conns *p, struct conn *c)
{
    assert(c->pending_class == PENDING_UNKNOWN);
    class_remove(p, c);
    class_add(p, c, PENDING_KNOWN);
}

void pending_conns_remove(struct pending_conns *p, struct conn *c)
{
    class_remove(p, c);
    c->source = NULL;
}

struct conn *pending_conns_choose_victim(struct pending_conns *p, enum pending_class class)
{
    const struct pending_list *l = &p->classes[class];
    uint32_t most = 0, candidates = 0, random = 0;
    assert(l->count > 0);
    /* Counts the connections of all sources that have the most. */
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t count = l->list[i]->source->counts[class];
        candidates = count > most ? 1 : candidates + (count == most);
        if (count > most) most = count;
    }
    /* Random, so that an attacker cannot predict which one is kept. */
    if (p->env->random(p->env, &random, sizeof random) != 0) random = 0;
    uint32_t chosen = random % candidates;
    for (uint32_t i = 0;; i++) {
        assert(i < l->count);
        if (l->list[i]->source->counts[class] == most && chosen-- == 0) return l->list[i];
    }
}
