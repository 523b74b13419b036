/* Lookups in the table of codes, and functions that fill an error. */
#include "engine/base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct code_row {
    const char *name, *text;
    enum glint_code code;
    int exit;
    bool retry;
};

static const struct code_row rows[] = {
#define ROW(number, name, exit, retry, text) {#name, text, GLINT_E_##name, exit, retry != 0},
    GLINT_CODES(ROW)
#undef ROW
};

static const struct code_row *find_code_row(enum glint_code code)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].code == code) return &rows[i];
    return NULL;
}

const char *glint_code_text(enum glint_code code)
{
    const struct code_row *row = find_code_row(code);
    return row != NULL ? row->text : "no error";
}

int glint_code_exit_status(enum glint_code code)
{
    const struct code_row *row = find_code_row(code);
    return row != NULL ? row->exit : code == GLINT_OK ? 0 : 70;
}

bool error_is_retryable(enum glint_code code)
{
    const struct code_row *row = find_code_row(code);
    return row != NULL && row->retry;
}

bool error_is_known(enum glint_code code)
{
    return find_code_row(code) != NULL;
}

const char *glint_code_name(enum glint_code code)
{
    const struct code_row *row = find_code_row(code);
    return row != NULL ? row->name : "OK";
}

int error_set_va(struct glint_error *e, enum glint_code code, const char *hint, const char *cause,
                 va_list args)
{
    assert(code < 0);
    if (e->code != GLINT_OK) return e->code;
    assert(find_code_row(code) != NULL);
    e->code = code;
    vsnprintf(e->cause, sizeof e->cause, cause, args);
    e->effect[0] = '\0';
    snprintf(e->hint, sizeof e->hint, "%s", hint != NULL ? hint : "");
    return code;
}

int error_set(struct glint_error *e, enum glint_code code, const char *hint, const char *cause, ...)
{
    va_list args;
    va_start(args, cause);
    int r = error_set_va(e, code, hint, cause, args);
    va_end(args);
    return r;
}

int error_no_memory(struct glint_error *e)
{
    return error_set(e, GLINT_E_NO_MEMORY, "lower --memory or the number of slots",
                     "cannot allocate memory");
}

int error_set_system(struct glint_error *e, enum glint_code code, int error, const char *operation,
                     const char *path)
{
    assert(error < 0);
    char reason[128];
    const char *text = strerror_r(-error, reason, sizeof reason);
    if (error == -ENOMEM) return error_no_memory(e);
    if (error == -EMFILE || error == -ENFILE)
        return error_set(e, GLINT_E_SYSTEM, "raise the limit on open files (ulimit -n)",
                         "cannot %s %s: %s", operation, path, text);
    if (error == -ENOSPC || error == -EDQUOT) {
        bool spill = code == GLINT_E_SPILL_IO || code == GLINT_E_WORK_DIR;
        return error_set(e, spill ? GLINT_E_SPILL_FULL : GLINT_E_OUTPUT_FULL,
                         spill ? "free space there, or use another directory: --work-dir, or "
                                 "work_dir in cluster.toml"
                               : "free space there, or choose another output",
                         "cannot %s %s: %s", operation, path, text);
    }
    return error_set(e, code, NULL, "cannot %s %s: %s", operation, path, text);
}

int error_set_write(struct glint_error *e, enum glint_code code, int error, const char *path,
                    uint64_t done, uint64_t size)
{
    if (e->code != GLINT_OK) return e->code;
    error_set_system(e, code, error, "write", path);
    size_t used = strlen(e->cause);
    if (error == -ENOSPC || error == -EDQUOT)
        snprintf(e->cause + used, sizeof e->cause - used,
                 ": %llu bytes are written, %llu more are needed", (unsigned long long)done,
                 (unsigned long long)size);
    return e->code;
}

int error_set_shared_path(struct glint_error *e, enum glint_code code, int error,
                          const char *operation, const char *path)
{
    if (e->code != GLINT_OK) return e->code;
    error_set_system(e, code, error, operation, path);
    if (error == -ENOENT || error == -ENOTDIR)
        snprintf(e->hint, sizeof e->hint, "%s",
                 "the file was removed, or this node cannot see it: inputs and outputs of a "
                 "cluster must be on storage that all nodes share, at the same path");
    if (error == -EACCES)
        snprintf(e->hint, sizeof e->hint, "%s",
                 "the executors' user needs access: executors of the packages run as glint, whose "
                 "group the submitter must be in, or use executors of your own user");
    return e->code;
}
