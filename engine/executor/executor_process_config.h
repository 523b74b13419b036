/* Encodes what an executor daemon and its executor send over the control pipe (control_pipe.h).
 * Pure: no I/O, no clock. */
#ifndef GLINT_EXECUTOR_EXECUTOR_PROCESS_CONFIG_H
#define GLINT_EXECUTOR_EXECUTOR_PROCESS_CONFIG_H

#include "engine/base/mem.h"
#include "engine/executor/executor_process.h"
#include "engine/net/wire.h"

#include <limits.h>

/* A decoded configuration, with the buffers that its strings point to: do not copy or move it. */
struct received_config {
    struct executor_process_config config; /* the receiver sets registry and env */
    char cluster[NAME_BYTES_MAX], node[NAME_BYTES_MAX], host[HOST_BYTES_MAX];
    char secret_file[PATH_MAX], work_dir[PATH_MAX];
};

/* Appends to `out`. Returns 0 or NO_MEMORY. */
int executor_process_config_encode(const struct executor_process_config *c, struct buffer *out,
                                   struct glint_error *error);
/* Returns 0 or PROTOCOL. */
int executor_process_config_decode(struct glint_slice bytes, struct received_config *out,
                                   struct glint_error *error);

/* Sent with each heartbeat; the daemon reports the latest in its reply to STATUS. */
struct executor_metrics {
    uint32_t tasks_running;
    uint64_t memory_bytes; /* resident */
};
int executor_metrics_encode(const struct executor_metrics *s, struct buffer *out,
                            struct glint_error *error);
int executor_metrics_decode(struct glint_slice bytes, struct executor_metrics *s,
                            struct glint_error *error);

#endif
