/* An env in front of the real one whose n-th call fails, for torture tests.
 *
 * Calls are counted over all threads. Removing never fails: a test that looks for leftovers must
 * know that they could be removed. Everything else that can fail in the world can fail here. */
#ifndef GLINT_TESTS_FAULTS_H
#define GLINT_TESTS_FAULTS_H

#include "engine/base/env.h"

enum fault_mode {
    FAULT_NONE,
    FAULT_ONCE,         /* the n-th call fails, later ones do not */
    FAULT_FROM_THEN_ON, /* all calls from the n-th on, but for listing folders */
    FAULT_SHORT,        /* nothing fails; reads and writes do a few bytes at a time */
};

/* The env of the process's torture test. faults_set before each run; not while one runs. */
struct env *faults_env(void);
/* `error`: the negative errno that failing calls answer. */
void faults_set(enum fault_mode mode, int64_t n, int error);
/* Did a call fail since faults_set, and which ("pread") was the first? NULL: none. */
const char *faults_failed(void);

#endif
