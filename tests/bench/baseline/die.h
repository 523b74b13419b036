/* How a program of the benchmark ends when it cannot go on. */
#ifndef BASELINE_DIE_H
#define BASELINE_DIE_H

/* Prints "PROGRAM: MESSAGE" to stderr and exits with 1; die_errno says errno's text for `what`. */
_Noreturn void die(const char *message, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die_errno(const char *what);

#endif
