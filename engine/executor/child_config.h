/* What a daemon and its child tell each other over their line (line.h). Pure. */
#ifndef GLINT_EXECUTOR_CHILD_CONFIG_H
#define GLINT_EXECUTOR_CHILD_CONFIG_H

#include "engine/base/mem.h"
#include "engine/executor/child.h"
#include "engine/net/wire.h"

#include <limits.h>

/* A configuration that came over the line; its texts lie behind it. */
struct child_received {
    struct child_config config; /* registry and env are the receiver's to add; no join */
    char cluster[NAME_BYTES_MAX], node[NAME_BYTES_MAX], host[HOST_BYTES_MAX];
    char secret_file[PATH_MAX], work_dir[PATH_MAX];
};

/* 0 or NO_MEMORY. */
int child_config_encode(const struct child_config *c, struct buffer *out,
                        struct glint_error *error);
/* 0 or PROTOCOL. *out stays where it is. */
int child_config_decode(struct glint_slice bytes, struct child_received *out,
                        struct glint_error *error);

/* What the daemon answers to STATUS. */
struct child_state {
    uint32_t tasks_running;
    uint64_t memory_bytes; /* resident */
};
int child_state_encode(const struct child_state *s, struct buffer *out, struct glint_error *error);
int child_state_decode(struct glint_slice bytes, struct child_state *s, struct glint_error *error);

#endif
