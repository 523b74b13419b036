#include "engine/executor/task.h"
