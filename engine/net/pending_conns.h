/* Connections that were accepted and are not open yet, and which of them gives way when there are
 * too many. Two classes, each of at most PENDING_MAX:
 *
 *   UNKNOWN   nothing is known of it but its address
 *   KNOWN    its ClientHello has named one of our keys, and the binder fits
 * [pending_conns_mark_known]
 *
 * A class gives way for its own newcomers only, so whoever has a key is never displaced by those
 * who have none. Within a class the source with the most connections gives way, and of these (the
 * newcomer among them) one at random: a source that has one connection keeps it as long as another
 * source has two, and none is shut out because it is far away. A source is an IPv4 address, or a
 * /64 of IPv6, which is what one host has.
 *
 * Adding and choosing look at each source and connection once. Loop thread only. */
#ifndef GLINT_NET_PENDING_CONNS_H
#define GLINT_NET_PENDING_CONNS_H

#include "engine/limits.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct conn;
struct env;

enum pending_class { PENDING_UNKNOWN, PENDING_KNOWN, PENDING_CLASSES };

/* Free where all counts are 0. */
struct pending_source {
    uint64_t key;
    uint32_t counts[PENDING_CLASSES];
};

struct pending_conns {
    struct env *env;
    struct pending_source sources[PENDING_CLASSES * (PENDING_MAX + 1)];
    struct pending_list {
        uint32_t count;
        struct conn *list[PENDING_MAX + 1]; /* with the newcomer, before one gives way */
    } classes[PENDING_CLASSES];
};

/* What an address counts as. */
uint64_t address_source_key(const struct sockaddr *address);
/* A new one is UNKNOWN; its address is known. */
void pending_conns_add(struct pending_conns *p, struct conn *c);
void pending_conns_mark_known(struct pending_conns *p, struct conn *c);
void pending_conns_remove(struct pending_conns *p, struct conn *c);
/* Which one of a class gives way; there is one. It stays where it is. */
struct conn *pending_conns_choose_victim(struct pending_conns *p, enum pending_class class);

#endif
