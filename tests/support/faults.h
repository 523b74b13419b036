/* An env that wraps the real one and makes the n-th call fail, for torture tests.
 *
 * Counts calls of all threads. Removing files never fails, so that a test that checks for leftovers
 * knows that they could be removed. All other calls that can fail in practice can fail here. */
#ifndef GLINT_TESTS_FAULTS_H
#define GLINT_TESTS_FAULTS_H

#include "engine/base/env.h"

enum fault_mode {
    FAULT_NONE,
    FAULT_ONCE,         /* the n-th call fails, later ones do not */
    FAULT_FROM_THEN_ON, /* all calls from the n-th on, except listing directories */
    FAULT_SHORT,        /* no failure; short reads and writes of a few bytes */
};

/* The process-wide env. Call faults_set before each run, not during one. */
struct env *faults_env(void);
/* `error`: the negative errno that failing calls return. */
void faults_set(enum fault_mode mode, int64_t n, int error);
/* Returns the name of the first call that failed since faults_set, e.g. "pread", or NULL. */
const char *faults_failed(void);

#endif
