/* What a task is doing, in words: for the message of a crash. */
#ifndef GLINT_EXECUTOR_DESCRIBE_TASK_H
#define GLINT_EXECUTOR_DESCRIBE_TASK_H

#include "engine/base/crash.h"
#include "engine/data/task.h"
#include "engine/net/message.h"

/* "task 3 (attempt 0) of stage textFile..map, in function words.split, reading in.txt from byte 0".
 * By the task's own thread; may be called in a signal handler. */
void describe_task(const struct glint_task *task, const struct message *m, struct crash_text *out);
/* The name of its function at work; NULL: none. Any thread. */
const char *describe_task_function(struct glint_task *task);

#endif
