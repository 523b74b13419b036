/* Describes what a task is doing, as text for crash reports and logs. */
#ifndef GLINT_EXECUTOR_DESCRIBE_TASK_H
#define GLINT_EXECUTOR_DESCRIBE_TASK_H

#include "engine/base/crash.h"
#include "engine/data/task.h"
#include "engine/net/message.h"

/* Appends e.g. "task 3 (attempt 0) of stage textFile..map, in function words.split, reading in.txt
 * from byte 0". Task's own thread; async-signal-safe. */
void describe_task(const struct glint_task *task, const struct message *m, struct crash_text *out);
/* The name of the user function that is running; NULL: none. Any thread. */
const char *describe_task_function(struct glint_task *task);

#endif
