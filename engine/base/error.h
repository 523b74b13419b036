/* Errors as values: functions that fill a struct glint_error (engine/glint.h) in place, without
 * allocating. */
#ifndef GLINT_BASE_ERROR_H
#define GLINT_BASE_ERROR_H

#include "engine/glint.h"

#include <stdarg.h>

/* Sets code, hint and cause, unless `e` already has an error: the first one is kept. Returns the
 * code that `e` has afterwards. `hint` may be NULL. */
int error_set(struct glint_error *e, enum glint_code code, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));
int error_set_va(struct glint_error *e, enum glint_code code, const char *hint, const char *cause,
                 va_list args) __attribute__((format(printf, 4, 0)));
/* Sets the error of a failed system call on `path`. `operation` says what was tried ("open",
 * "read"). EMFILE, ENFILE, ENOMEM, ENOSPC and EDQUOT get codes of their own; all others get `code`.
 * `error` is a negative errno. */
int error_set_system(struct glint_error *e, enum glint_code code, int error, const char *operation,
                     const char *path);
/* The same for a write of `size` bytes after `done` bytes: if the disk is full, the error says how
 * many bytes are needed. */
int error_set_write(struct glint_error *e, enum glint_code code, int error, const char *path,
                    uint64_t done, uint64_t size);
/* The same for an input or output that the driver could access: if it is missing here, the hint
 * says that it may not be on shared storage. */
int error_set_shared_path(struct glint_error *e, enum glint_code code, int error,
                          const char *operation, const char *path);
/* Sets NO_MEMORY. Returns the code, as error_set. */
int error_no_memory(struct glint_error *e);
/* True if another attempt of a task that failed with this code may succeed. */
bool error_is_retryable(enum glint_code code);
bool error_is_known(enum glint_code code); /* has a row in codes.h; a peer may send any number */

#endif
