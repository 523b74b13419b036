/* Shared by input/input.c and input/input_glob.c: the state while paths are resolved. */
#ifndef GLINT_INPUT_INPUT_WALK_H
#define GLINT_INPUT_INPUT_WALK_H

#include "engine/input/input.h"

#define CAUSE_BYTES_KEPT       64     /* for "and N more" */
#define INPUT_ALTERNATIVES_MAX 10000u /* of braces */

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

/* The names of a directory, or the paths that match the components of a glob so far. */
struct name_list {
    struct input_walk *walk;
    const char *pattern; /* of names; NULL: all */
    char **items;
    uint64_t count, capacity;
};

/* Lists the names in `dir` that are input and match, sorted; none if it cannot be listed, which is
 * recorded of `path`, unless that is NULL and there is no such directory. Returns 0 or a code; call
 * input_names_fini in any case. */
int input_names_list(struct name_list *n, struct input_walk *w, const char *dir, const char *path,
                     const char *pattern);
bool input_is_link_to_directory(struct input_walk *w, const char *path);
/* Sorts by bytes. */
void input_names_sort(struct name_list *n);
/* Whether `n`, which is sorted, or NULL for no names, has the name. */
bool input_names_contain(const struct name_list *n, const char *name);
void input_names_fini(struct name_list *n);
/* Records a bad path, or sets the error if others would fail, too, unless it is set. Returns 0 or a
 * code. */
int input_record_failed_call(struct input_walk *w, int error, const char *operation,
                             const char *path);
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

/* Returns the brace that closes `open`, or NULL. */
const char *input_brace_end(const char *open);
/* Whether it has a group {a,b}. Other braces are ordinary bytes. */
bool input_has_braces(const char *text);
/* Lists what the groups of `text` stand for, also in each other, in the order of shells; `out` is
 * empty. Returns 0 or a code. */
int input_expand_braces(struct input_walk *w, const char *text, struct name_list *out);
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
/* Expands `pattern` component by component; `out` is empty. The paths may not exist. Returns 0 or a
 * code. */
int input_glob_expand(struct input_walk *w, const char *pattern, struct name_list *out);

#endif
