/* A table of numbers without a lock, since a signal handler reads it. */
#include "engine/base/child_groups.h"

#include <assert.h>
#include <signal.h>
#include <stdatomic.h>

#define GROUPS_MAX 1024 /* one for each slot */

static atomic_int groups[GROUPS_MAX]; /* 0: free */

void child_groups_add(int group)
{
    assert(group > 1);
    for (int i = 0; i < GROUPS_MAX; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&groups[i], &none, group)) return;
    }
}

void child_groups_remove(int group)
{
    for (int i = 0; i < GROUPS_MAX; i++) {
        int found = group;
        if (atomic_compare_exchange_strong(&groups[i], &found, 0)) return;
    }
}

void child_groups_kill_all(void)
{
    for (int i = 0; i < GROUPS_MAX; i++) {
        const int group = atomic_load(&groups[i]);
        if (group > 1) kill(-group, SIGKILL);
    }
}
