/* Four files that include each other. */
#ifndef GLINT_BASE_CIRCLE_FIRST_H
#define GLINT_BASE_CIRCLE_FIRST_H

#include "engine/base/circle_second.h"

#endif
