/* Error exit of the benchmark's programs. */
#ifndef BASELINE_DIE_H
#define BASELINE_DIE_H

/* Prints "PROGRAM: MESSAGE" to stderr and exits with status 1; die_errno prints errno's text for
 * `what`. */
_Noreturn void die(const char *message, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die_errno(const char *what);

#endif
