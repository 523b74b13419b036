/* Error exit of all programs of the benchmark. */
#include "die.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *message, ...)
{
    va_list args;
    va_start(args, message);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, message, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void die_errno(const char *what)
{
    die("%s: %s", what, strerror(errno));
}
