/* Adds objects at URLs to the list. The first response of a server says what an object is, and has
 * the bytes that tell its format. */
#include "engine/data/format.h"
#include "engine/data/input_walk.h"
#include "engine/remote/remote_reader.h"
#include "engine/remote/remote_url.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

/* Records why the object cannot be read. A server that cannot be reached ends the walk: each of its
 * other objects would wait as long. */
static int record_failed_url(struct input_walk *w, const char *name, const struct glint_error *e)
{
    const char *hint = e->hint[0] != '\0' ? e->hint : NULL;
    if (e->code == GLINT_E_NO_MEMORY || e->code == GLINT_E_INPUT_IO)
        return error_set(w->error, e->code, hint, "%s", e->cause);
    const size_t n = strlen(name);
    const bool prefixed = strncmp(e->cause, name, n) == 0 && strncmp(e->cause + n, ": ", 2) == 0;
    return input_record_bad_path(w, e->code, name, e->cause + (prefixed ? n + 2 : 0), hint);
}

/* Returns 1 and sets `file`; 0 if it was recorded as bad; or a code. */
static int identify(struct input_walk *w, const char *url, const char *name,
                    struct input_file *file)
{
    uint8_t head[FORMAT_HEAD_BYTES];
    struct remote_identity identity = {.size = 0};
    struct glint_error problem = {.code = GLINT_OK};
    struct remote_reader *reader = remote_reader_create(w->env, url, name);
    if (reader == NULL) return error_no_memory(w->error);
    const int64_t n = remote_reader_identify(reader, head, sizeof head, &identity, &problem);
    remote_reader_destroy(reader);
    if (n < 0) return record_failed_url(w, name, &problem);
    char path[PATH_MAX];
    const size_t size = strcspn(url, "?#");
    assert(size < sizeof path);
    memcpy(path, url, size);
    path[size] = '\0';
    const uint64_t used = w->list->content == INPUT_TEXT ? (uint64_t)n : 0;
    if (input_detect_format(w, name, path, head, used, &file->compression) == 0) return 0;
    struct remote_identity *copy = arena_alloc(&w->list->arena, sizeof *copy);
    if (copy == NULL) return error_no_memory(w->error);
    *copy = identity;
    file->remote = copy;
    file->size = identity.size;
    return 1;
}

int input_add_url(struct input_walk *w, const char *url)
{
    char name[2 * PATH_MAX];
    const char *hint;
    struct input_file file = {.path = NULL};
    if (strlen(url) >= PATH_MAX || !remote_url_redact(url, name, sizeof name))
        return input_record_bad_path(w, GLINT_E_INPUT_URL, "a URL", "it is too long", NULL);
    const char *problem = remote_url_check(url, &hint);
    if (problem != NULL) return input_record_bad_path(w, GLINT_E_INPUT_URL, name, problem, hint);
    int r = identify(w, url, name, &file);
    if (r <= 0) return r;
    file.path = input_copy_text(w, name);
    if (file.path != NULL && strcmp(url, name) != 0) file.stored = input_copy_text(w, url);
    if (file.path == NULL || (strcmp(url, name) != 0 && file.stored == NULL))
        return GLINT_E_NO_MEMORY;
    return input_append_file(w, &file);
}
