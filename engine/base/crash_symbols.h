/* Names of functions in the backtrace of a crash. */
#ifndef GLINT_BASE_CRASH_SYMBOLS_H
#define GLINT_BASE_CRASH_SYMBOLS_H

#include "engine/base/crash.h"

/* In the signal handler. Appends "FILE(FUNCTION+0x1f)[0x12bf]": the last number is what addr2line
 * takes. FUNCTION may be static: all names of the file are searched, unless it is stripped.
 * `is_return`: `address` is the one after a call. */
void crash_symbols_append(struct crash_text *out, const void *address, bool is_return);

#endif
