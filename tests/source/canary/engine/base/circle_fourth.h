/* Four files that include each other. */
#ifndef GLINT_BASE_CIRCLE_FOURTH_H
#define GLINT_BASE_CIRCLE_FOURTH_H

#include "engine/base/circle_first.h"

#endif
