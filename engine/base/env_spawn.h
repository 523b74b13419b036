/* Child processes of the real env: see spawn and reap in env.h. */
#ifndef GLINT_BASE_ENV_SPAWN_H
#define GLINT_BASE_ENV_SPAWN_H

#include "engine/base/env.h"

int env_spawn(struct env *env, const char *path, char *const *words, char *const *variables,
              struct env_child *out);
int env_reap(struct env *env, int pid);

#endif
