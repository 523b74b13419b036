/* Pending connections: accepted, but not open yet. If there are too many, chooses one to drop. Two
 * classes, each of at most PENDING_MAX connections:
 *
 *   UNKNOWN  only its address is known
 *   KNOWN    its ClientHello named one of our keys with a valid binder [pending_conns_mark_known]
 *
 * A new connection can displace only one of its own class, so a flood from hosts without a key
 * never displaces a host with a key. Within a class the source with the most connections loses one
 * of them, chosen at random (possibly the new one): a source with one connection keeps it while
 * another source has two, and a slow, distant host is not at a disadvantage. A source is an IPv4
 * address, or an IPv6 /64, which is what one host typically has.
 *
 * Adding and choosing scan all sources and connections once. Loop thread only. */
#ifndef GLINT_NET_PENDING_CONNS_H
#define GLINT_NET_PENDING_CONNS_H

#include "engine/limits.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct conn;
struct env;

enum pending_class { PENDING_UNKNOWN, PENDING_KNOWN, PENDING_CLASSES };

/* Connection counts of one source; the entry is free if all are 0. */
struct pending_source {
    uint64_t key;
    uint32_t counts[PENDING_CLASSES];
};

struct pending_conns {
    struct env *env;
    struct pending_source sources[PENDING_CLASSES * (PENDING_MAX + 1)];
    struct pending_list {
        uint32_t count;
        struct conn *list[PENDING_MAX + 1]; /* plus a new one, until one is dropped */
    } classes[PENDING_CLASSES];
};

/* The source that an address belongs to. */
uint64_t address_source_key(const struct sockaddr *address);
/* Adds c to the class UNKNOWN; its source_key must be set. */
void pending_conns_add(struct pending_conns *p, struct conn *c);
/* Moves c from UNKNOWN to KNOWN. */
void pending_conns_mark_known(struct pending_conns *p, struct conn *c);
void pending_conns_remove(struct pending_conns *p, struct conn *c);
/* Returns the connection to drop from a class that is not empty. Does not remove it. */
struct conn *pending_conns_choose_victim(struct pending_conns *p, enum pending_class class);

#endif
