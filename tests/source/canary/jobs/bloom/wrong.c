#include "engine/glint.h"
