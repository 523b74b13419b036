/* Creates contexts; glint_finish and glint_destroy end them. */
#ifndef GLINT_DRIVER_CREATE_H
#define GLINT_DRIVER_CREATE_H

#include "engine/plan/context_config.h"

/* Returns NULL with *error set. */
struct glint *context_create(const struct context_config *config, struct glint_error *error);

#endif
