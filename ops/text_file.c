/* textFile: lines of files, directories and globs. */
#include "ops/ops.h"

#include <assert.h>
#include <string.h>

static struct probed_source *take_probed_source(struct glint *g, const char *paths)
{
    for (struct probed_source **at = &g->probed; *at != NULL; at = &(*at)->next) {
        struct probed_source *probed = *at;
        if (strcmp(probed->paths, paths) != 0) continue;
        *at = probed->next;
        return probed;
    }
    return NULL;
}

static struct glint_rdd *text_file_create(struct glint *g, const char *paths)
{
    const struct file_source source = {.op = &op_text_file,
                                       .schema = {GLINT_NONE, GLINT_TEXT},
                                       .make_splits = text_source_make_splits};
    return file_source_create(g, paths, &source);
}

struct glint_rdd *glint_text_file(struct glint *g, const char *paths)
{
    struct probed_source *probed =
        paths != NULL && !context_failed(g) ? take_probed_source(g, paths) : NULL;
    if (probed == NULL) return text_file_create(g, paths);
    if (probed->rdd == NULL) g->error = probed->error;
    return probed->rdd;
}

/* Files are listed once: the source, or the error, stays for textFile. */
enum glint_column_format glint_probe_columns(struct glint *g, const char *paths)
{
    if (context_failed(g)) return GLINT_NO_COLUMNS;
    assert(paths != NULL);
    struct probed_source *probed = arena_alloc(&g->arena, sizeof *probed);
    const char *copy = arena_strdup(&g->arena, paths);
    if (probed == NULL || copy == NULL) {
        error_no_memory(&g->error);
        return GLINT_NO_COLUMNS;
    }
    struct glint_rdd *rdd = text_file_create(g, paths);
    *probed =
        (struct probed_source){.rdd = rdd, .error = g->error, .paths = copy, .next = g->probed};
    g->probed = probed;
    g->error = (struct glint_error){.code = GLINT_OK};
    context_check_interrupt(g);
    return rdd != NULL ? glint_accept_columns(rdd) : GLINT_NO_COLUMNS;
}

const struct op op_text_file = {.name = "textFile",
                                .kind = OP_SOURCE,
                                .state_size = sizeof(struct text_source_state),
                                .open = text_source_open,
                                .run = text_source_emit_lines};
