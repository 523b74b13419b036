/* Four files that include each other. */
#ifndef GLINT_BASE_CIRCLE_SECOND_H
#define GLINT_BASE_CIRCLE_SECOND_H

#include "engine/base/circle_third.h"

#endif
