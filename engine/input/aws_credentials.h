/* Credentials for requests to S3, as the AWS SDKs find them. Any thread. */
#ifndef GLINT_INPUT_AWS_CREDENTIALS_H
#define GLINT_INPUT_AWS_CREDENTIALS_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/input/remote_transfer.h"

/* Credentials that expire earlier than this from now are replaced. */
#define AWS_REFRESH_NS (300 * (int64_t)SECOND_NS)

/* NULL if the variable of the environment is empty, too. */
const char *env_variable(const char *name);
/* The endpoint that this variable, or the one for all services, names; NULL: Amazon's. */
const char *aws_endpoint(const char *name);
/* Fills in the signature's parts if this process has credentials, and sets `region`;
 * *out_expires_ns is Unix time, 0: never. Returns 0, INPUT_PERMISSION if it has some that cannot be
 * used, INPUT_URL if they do not fit, or INPUT_IO if a server that gives them does not answer. */
int aws_credentials_read(struct env *env, struct remote_signature *out, int64_t *out_expires_ns,
                         char *region, size_t capacity, struct glint_error *error);

#endif
