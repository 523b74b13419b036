/* The driver may not call the executor. */
#include "engine/executor/executor.h"
