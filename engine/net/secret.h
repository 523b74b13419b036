/* The secrets that let processes of one cluster talk: each is 32 random bytes, in a file as a line
 * of 64 hex digits. A file may list several, so that they can be changed one node after the other:
 * a listener accepts each of them, and the first is used to dial.
 *
 * A line `client HEX` holds a client secret, derived from a secret of the cluster by HKDF-SHA256
 * (`glint secret derive`). Its holder may ask for the status of executors, and nothing else, and
 * cannot compute the secret that it comes from. A file holds one kind.
 *
 * From a secret the key of TLS is derived (tls.c). The file, and each link to it, must belong to
 * this user or to root, and be closed to others: 0600, or of root's 0640 (base/file_check.h). A
 * secret that is short or all one digit is refused. It is never in an argument, a variable or a
 * log, nor, since net_init.c forbids them, in a core dump. */
#ifndef GLINT_NET_SECRET_H
#define GLINT_NET_SECRET_H

#include "engine/base/env.h"
#include "engine/glint.h"

#include <limits.h>

#define SECRET_BYTES 32u
#define SECRETS_MAX  8u /* in a file */

enum secret_kind { SECRET_PEER, SECRET_CLIENT };

struct secret {
    uint8_t bytes[SECRET_BYTES];
};

struct secrets {
    enum secret_kind kind; /* of all of them */
    uint32_t count;        /* at least 1 once loaded */
    struct secret list[SECRETS_MAX];
};

/* 0, or SECRET with *error set: path, what is wrong, how to make it right; *out is cleared then. */
int secrets_load(struct env *env, const char *path, struct secrets *out, struct glint_error *error);
/* Makes a new file, mode 0600, with a random secret; never replaces one. 0, or SECRET,
 * OUTPUT_EXISTS. */
int secret_file_create(struct env *env, const char *path, struct glint_error *error);
/* Makes a new file, mode 0600, with the client secret of the first secret of `from`. 0, or SECRET,
 * OUTPUT_EXISTS. */
int client_secret_file_create(struct env *env, const struct secrets *from, const char *path,
                              struct glint_error *error);
/* The file where no secret is configured: $XDG_STATE_HOME/glint/secret (default ~/.local/state),
 * made with its directories (0700) if it is not there; two processes that start at once agree on
 * one. 0 or SECRET. */
int default_secret_path(struct env *env, char out[PATH_MAX], struct glint_error *error);
/* HKDF-SHA256 with an empty salt. False: OpenSSL failed. */
bool secret_derive_key(const struct secret *secret, const char *info, uint8_t *out, size_t size);
/* The client secret of one of a cluster. False: OpenSSL failed. */
bool secret_derive_client_secret(const struct secret *secret, struct secret *out);
void secrets_clear(struct secrets *s);

#endif
