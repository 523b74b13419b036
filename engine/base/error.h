/* Errors as values: struct glint_error (engine/glint.h) filled in place, without memory. */
#ifndef GLINT_BASE_ERROR_H
#define GLINT_BASE_ERROR_H

#include "engine/glint.h"

#include <stdarg.h>

/* Sets code, hint and cause unless an error is there already: the first one stays. Returns the code
 * that the error now has. hint may be NULL. */
int error_set(struct glint_error *e, enum glint_code code, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));
int error_set_va(struct glint_error *e, enum glint_code code, const char *hint, const char *cause,
                 va_list args) __attribute__((format(printf, 4, 0)));
/* For a failed system call on `path`: `verb` says what was tried ("open", "read"). EMFILE, ENOMEM
 * and ENOSPC get codes of their own; all else gets `code`. `error` is a negative errno. */
int error_set_system(struct glint_error *e, enum glint_code code, int error, const char *operation,
                     const char *path);
/* The same of a write of `size` bytes behind `done`: a full disk's error says how much it takes. */
int error_set_write(struct glint_error *e, enum glint_code code, int error, const char *path,
                    uint64_t done, uint64_t size);
/* The same of an input or output that was there for the driver: one that is missing here may be on
 * storage that this node does not see. */
int error_set_shared_path(struct glint_error *e, enum glint_code code, int error,
                          const char *operation, const char *path);
int error_no_memory(struct glint_error *e);
bool error_is_retryable(enum glint_code code);
const char *error_name(enum glint_code code);
bool error_is_known(enum glint_code code); /* a row of codes.h: a peer may send any number */

#endif
