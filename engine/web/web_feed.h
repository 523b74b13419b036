/* Events on their way from the driver's thread to the web server's: the driver appends to a buffer
 * under a lock that is held for moments only, the server takes all of it a few times a second. If
 * the server cannot follow, ends of attempts are dropped and counted; the job never waits. */
#ifndef GLINT_WEB_WEB_FEED_H
#define GLINT_WEB_WEB_FEED_H

#include "engine/events/event_log.h"
#include "engine/events/job_model.h"

#include <pthread.h>

#define WEB_FEED_BYTES_MAX (64 * MIB)

struct web_feed {
    pthread_mutex_t lock;
    struct buffer pending, taken;
    uint64_t dropped; /* ends of attempts */
    /* Of the attempt that is being added: here, since clearing them for each would cost more than
     * all the rest. */
    char names[COUNTERS_MAX][NAME_BYTES_MAX];
    struct job_counter counters[COUNTERS_MAX];
};

void web_feed_init(struct web_feed *f);
void web_feed_fini(struct web_feed *f);
/* For the driver's thread. */
struct event_sink web_feed_sink(struct web_feed *f);
/* For the server's thread: adds all events to the model. Returns 0 or a code. */
int web_feed_take(struct web_feed *f, struct job_model *m, struct glint_error *error);

#endif
