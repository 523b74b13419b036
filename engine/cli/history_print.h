/* Prints a job's history. */
#ifndef GLINT_CLI_HISTORY_PRINT_H
#define GLINT_CLI_HISTORY_PRINT_H

#include "engine/events/job_model.h"

#include <stdio.h>

void history_print(FILE *out, const struct job_model *m);
/* Prints one object and a newline. Returns false when out of memory, having printed nothing. */
bool history_print_json(FILE *out, const struct job_model *m);

#endif
