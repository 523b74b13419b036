/* The secret that lets processes of one cluster talk: 32 random bytes in a file, as 64 hex digits.
 *
 * From it the key of TLS is derived, HKDF-SHA256(secret, label) (tls.c); roles are told apart by
 * the hello, inside TLS. The file must belong to this user, be no link, and be readable by nobody
 * else (0600 or less); a secret that is short or all one digit is refused. It never stands in an
 * argument, a variable or a log, nor, since open.c forbids them, in a core dump. */
#ifndef GLINT_NET_SECRET_H
#define GLINT_NET_SECRET_H

#include "engine/base/env.h"
#include "engine/glint.h"

#define SECRET_BYTES 32u

struct secret {
    uint8_t bytes[SECRET_BYTES];
};

/* 0, or SECRET with *error set: path, what is wrong, how to make it right. */
int secret_load(struct env *env, const char *path, struct secret *out, struct glint_error *error);
/* Makes a new file, mode 0600; never replaces one. 0, or SECRET, OUTPUT_EXISTS. */
int secret_create(struct env *env, const char *path, struct glint_error *error);
/* Where no secret is configured: $XDG_STATE_HOME/glint/secret (default ~/.local/state), made with
 * its folders (0700) if it is not there; two processes that start at once agree on one. */
int secret_default(struct env *env, struct secret *out, struct glint_error *error);
void secret_clear(struct secret *s);

#endif
