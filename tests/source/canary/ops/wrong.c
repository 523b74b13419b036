#include "engine/executor/task.h"

/* Whoever calls this: a retired word. */
