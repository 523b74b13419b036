/* A job that another engine runs: the driver plans it here, up to the first action whose results
 * are not known, and writes that action to a stage file (glint stage pack); with the results of its
 * tasks, it goes on from there (pack --next), to the end (gather).
 *
 * The job's code runs again each time. Actions whose results are known get them as if executors had
 * sent them, so what follows, and what it writes, is the same as on a cluster. Actions on side
 * files run here. */
#ifndef GLINT_DRIVER_STAGE_SESSION_H
#define GLINT_DRIVER_STAGE_SESSION_H

#include "engine/driver/transport.h"
#include "engine/foreign/stage_file.h"

struct stage_session {
    /* The file to write; NULL: run to the end, and publish the outputs. */
    const char *out;
    const struct stage_file *file; /* of the action before; NULL: none */
    int results;                   /* descriptor with the result lines of that action */
    const char *output;            /* replaces the job's first output; NULL: the same */
    const char *const *words;      /* the job's name, arguments and options, for the new file */
    uint32_t word_count;
    uint32_t stdin_tasks; /* as context_config.stdin_tasks; with `file`: that of the file */
    /* Set by the transport. */
    bool packed;
    uint32_t stages, tasks; /* of the new file */
};

/* Creates a transport that does this and passes the rest to `inner`, which it then owns. Returns 0,
 * or NO_MEMORY with the context's error set, and `inner` is the caller's. */
int stage_transport_create(struct glint *g, struct stage_session *session,
                           const struct transport *inner, struct transport *out);

#endif
