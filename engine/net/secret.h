/* Shared secrets, by which the processes of one cluster authenticate each other. A secret is 32
 * random bytes, stored as a line of 64 hex digits. A file may list several, so that secrets can be
 * rotated one node at a time: a listener accepts all of them, and a dialling process uses the
 * first.
 *
 * A line `client HEX` is a client secret, derived from a secret of the cluster by HKDF-SHA256
 * (`glint secret derive`). It allows its holder only to ask for the status of executors, and the
 * secret it was derived from cannot be computed from it. A file contains secrets of one kind.
 *
 * TLS keys are derived from a secret (tls.c). The file, and each symbolic link to it, must be owned
 * by this user or root and not accessible to others: mode 0600, or 0640 if owned by root
 * (base/file_check.h). A secret that is too short or all one digit is rejected. A secret is never
 * in an argument, an environment variable, a log or (see net_init.c) a core dump. */
#ifndef GLINT_NET_SECRET_H
#define GLINT_NET_SECRET_H

#include "engine/base/env.h"
#include "engine/glint.h"

#include <limits.h>

#define SECRET_BYTES 32u
#define SECRETS_MAX  8u /* per file */

/* What a secret lets its holder do: everything; only ask for the status; connect the executors and
 * the driver of one job to each other (a job key, drawn by its driver, never in a file). */
enum secret_kind { SECRET_PEER, SECRET_CLIENT, SECRET_JOB };

struct secret {
    uint8_t bytes[SECRET_BYTES];
};

struct secrets {
    enum secret_kind kind; /* of all in `list` */
    uint32_t count;        /* at least 1 once loaded */
    struct secret list[SECRETS_MAX];
};

/* Reads and validates a secret file. Returns 0, or SECRET with *error set (path, what is wrong, how
 * to fix it) and *out cleared. */
int secrets_load(struct env *env, const char *path, struct secrets *out, struct glint_error *error);
/* Creates a file, mode 0600, with a random secret. Never replaces a file. Returns 0 or a code:
 * OUTPUT_EXISTS, SECRET, OUTPUT_FULL or SYSTEM. */
int secret_file_create(struct env *env, const char *path, struct glint_error *error);
/* Creates a file, mode 0600, with the client secret derived from the first secret of `from`.
 * Otherwise as secret_file_create. */
int client_secret_file_create(struct env *env, const struct secrets *from, const char *path,
                              struct glint_error *error);
/* The default secret file: $XDG_STATE_HOME/glint/secret (~/.local/state if unset). If missing, it
 * is created with its directories (mode 0700); processes that start at the same time agree on one
 * secret. Returns 0, SECRET, or SYSTEM without random numbers. */
int default_secret_path(struct env *env, char out[PATH_MAX], struct glint_error *error);
/* Derives `size` bytes for the purpose `info` by HKDF-SHA256 with an empty salt. Returns false if
 * OpenSSL failed. */
bool secret_derive_key(const struct secret *secret, const char *info, uint8_t *out, size_t size);
/* Derives the client secret of a cluster's secret. Returns false if OpenSSL failed. */
bool secret_derive_client_secret(const struct secret *secret, struct secret *out);
/* Overwrite them with zeros. */
void secret_clear(struct secret *s);
void secrets_clear(struct secrets *s);

#endif
