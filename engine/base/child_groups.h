/* The process groups of running commands, so that a process that crashes or ends at once can kill
 * them: the kernel kills only the leaders, which are its children (PR_SET_PDEATHSIG). */
#ifndef GLINT_BASE_CHILD_GROUPS_H
#define GLINT_BASE_CHILD_GROUPS_H

/* Registers the group. Any thread. Without a free slot it is not registered. */
void child_groups_add(int group);
/* Call it before the leader is reaped: until then the number is still that of the group. */
void child_groups_remove(int group);
/* Kills what is left of all groups. Async-signal-safe. */
void child_groups_kill_all(void);

#endif
