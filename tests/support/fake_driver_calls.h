/* Definitions of the functions that a transport calls (driver.h). Include in one file of
 * a program. */
#ifndef TESTS_SUPPORT_FAKE_DRIVER_CALLS_H
#define TESTS_SUPPORT_FAKE_DRIVER_CALLS_H

#include "tests/support/fake_driver.h"

int driver_on_executor_added(struct driver *d, const struct executor_info *info)
{
    assert(d->executors < FAKE_EXECUTORS_MAX && info->slots > 0);
    snprintf(d->names[d->executors], NAME_BYTES_MAX, "%s", info->name);
    d->slots[d->executors++] = info->slots;
    return 0;
}

void driver_on_message(struct driver *d, uint32_t executor, struct message *m)
{
    assert(executor < d->executors && !d->is_lost[executor]);
    m->next = NULL;
    m->id = executor;
    if (d->end == NULL) d->end = &d->first;
    *d->end = m;
    d->end = &m->next;
    d->messages++;
}

void driver_on_executor_draining(struct driver *d, uint32_t executor)
{
    assert(executor < d->executors && !d->is_draining[executor] && !d->is_lost[executor]);
    d->is_draining[executor] = true;
    d->draining++;
}

void driver_on_executor_suspect(struct driver *d, uint32_t executor, bool suspect)
{
    assert(executor < d->executors && !d->is_lost[executor]);
    assert(d->is_suspect[executor] != suspect);
    d->is_suspect[executor] = suspect;
    d->suspects += suspect;
}

void driver_on_executor_lost(struct driver *d, uint32_t executor, enum executor_loss_reason loss,
                             const struct glint_error *why)
{
    assert(executor < d->executors && !d->is_lost[executor] && why->code != GLINT_OK);
    d->is_lost[executor] = true;
    d->lost++;
    d->loss = loss;
    d->why = *why;
}

void driver_on_counter_increment(struct driver *d, const char *name, int64_t by)
{
    assert(strcmp(name, "broadcast bytes sent") == 0 && by > 0);
    d->broadcast_bytes += by;
}

void driver_on_no_executors(struct driver *d, const struct glint_error *why)
{
    assert(why->code != GLINT_OK);
    d->no_executors++;
    d->no_executors_error = *why;
}

void driver_on_cancel_requested(struct driver *d)
{
    d->cancel_requests++;
}

#endif
