/* Shared by input/input.c and input/remote_list.c: the state while paths are resolved. */
#ifndef GLINT_INPUT_INPUT_WALK_H
#define GLINT_INPUT_INPUT_WALK_H

#include "engine/input/input.h"

#define CAUSE_BYTES_KEPT 64 /* for "and N more" */

struct input_walk {
    struct env *env;
    struct input_list *list;
    struct glint_error *error;
    /* The bad paths so far. */
    uint64_t bad_count, bad_shown;
    enum glint_code bad_code;                           /* the first one's */
    char hint[sizeof(((struct glint_error *)0)->hint)]; /* the first one */
    const struct name_list *matches; /* of the glob that is being added, sorted; or NULL */
    bool in_tree; /* after ** in a glob: links to directories are left out, so that a walk ends */
    char bad[sizeof(((struct glint_error *)0)->cause) - CAUSE_BYTES_KEPT];
};

/* Records a bad path; the walk continues. `hint` may be NULL. Returns 0. */
int input_record_bad_path(struct input_walk *w, enum glint_code code, const char *path,
                          const char *reason, const char *hint);
/* Returns 1 if a file with these first bytes can be read, and sets *out; 0 if it was recorded as
 * bad. `name` may tell the compression. */
int input_detect_format(struct input_walk *w, const char *path, const char *name,
                        const uint8_t *head, uint64_t size, struct input_file *out);
/* Adds a file to the list, with copies of its paths. Returns 0, NO_MEMORY or INTERRUPTED. */
int input_append_file(struct input_walk *w, const struct input_file *file);
/* Adds the objects of a URL (input/remote_list.c). Returns 0 or a code. */
int input_add_url(struct input_walk *w, const char *url);
/* Copies to the list's arena; NULL when out of memory, with the error set. */
char *input_copy_text(struct input_walk *w, const char *text);

bool input_is_glob(const char *text);
#define GLOB_COMPONENTS_MAX 63u

/* The components of a pattern, for paths that a store lists. */
struct input_glob {
    const char *names[GLOB_COMPONENTS_MAX];
    uint32_t count;
    bool too_long; /* it has more components */
};
enum glob_match {
    GLOB_NONE,
    GLOB_BEGIN,     /* a path below the directory may match */
    GLOB_FILE,      /* the file matches */
    GLOB_DIRECTORY, /* the directory matches, or one that lists the path, which does not */
};

/* Cuts `pattern`, which the glob borrows, into its components. A slash at its end means all files
 * of the directory. */
void input_glob_init(struct input_glob *g, char *pattern);
/* Whether a match may be in a directory of the listed one. */
bool input_glob_spans_directories(const struct input_glob *g);
/* Matches a path by the rules of input_glob_expand. *out_size: the bytes of `path` up to the end of
 * the directory that matches, of GLOB_DIRECTORY. */
enum glob_match input_glob_match(const struct input_glob *g, const char *path, bool directory,
                                 size_t *out_size);

#endif
