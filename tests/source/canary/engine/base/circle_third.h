/* Four files that include each other. */
#ifndef GLINT_BASE_CIRCLE_THIRD_H
#define GLINT_BASE_CIRCLE_THIRD_H

#include "engine/base/circle_fourth.h"

#endif
