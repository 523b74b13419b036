/* pagerank INPUT OUTPUT: the rank of each page of a graph whose edges are lines "FROM TO". As
 * Spark's example: ranks begin at 1; in each iteration a page gives equal shares of its rank to the
 * pages that it has links to, and becomes 0.15 + 0.85 * what it is given. An edge counts once. A
 * page that no link leads to has no rank, and drops out after the first iteration.
 *
 * With --checkpoint the ranks of every tenth iteration are saved in DIR/10, DIR/20, ..., and the
 * next ones start from there: what they came from is freed, so the disk does not fill with the
 * shuffles of many iterations.
 *
 *     cc -O2 pagerank.c $(pkg-config --cflags --libs glint) -o pagerank
 *     ./pagerank pagerank --iterations 10 INPUT OUTPUT */
#include <glint/glint.h>

#include <inttypes.h>
#include <stdio.h>

enum { CHECKPOINT_ITERATIONS = 10, PATH_BYTES_MAX = 4096 };

static int parse_edge(struct glint_task *task, void *state, const struct glint_record *line,
                      struct glint_emitter *out)
{
    struct glint_slice rest = line->value.bytes, from, to;
    if (!glint_next_field(&rest, ' ', &from) || !glint_next_field(&rest, ' ', &to) ||
        rest.data != NULL || from.size == 0 || to.size == 0)
        return glint_bad_row(task, line->value.bytes, "not FROM TO");
    glint_emit(out, &(struct glint_record){{.bytes = from}, {.bytes = to}});
    return 0;
}
static const struct glint_function parse = GLINT_MAP(
    "pagerank.parse", GLINT_ELEMENTS(GLINT_TEXT), GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT), parse_edge);

static int append_links(struct glint_task *task, void *state, struct glint_acc *links,
                        const union glint_value *more)
{
    const int code = glint_acc_append(task, links, " ", 1);
    return code != 0 ? code : glint_acc_append(task, links, more->bytes.data, more->bytes.size);
}
static const struct glint_function append =
    GLINT_REDUCE("pagerank.append", GLINT_TEXT, append_links);

static int emit_one(struct glint_task *task, void *state, const struct glint_record *page,
                    struct glint_emitter *out)
{
    glint_emit(out, &(struct glint_record){.value.f64 = 1});
    return 0;
}
static const struct glint_function one =
    GLINT_MAP("pagerank.one", GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
              GLINT_PAIRS(GLINT_SAME, GLINT_F64), emit_one);

/* From (page, [links, rank]), (linked page, share of the rank). */
static int give_shares(struct glint_task *task, void *state, const struct glint_record *page,
                       struct glint_emitter *out)
{
    const struct glint_pair pair = glint_pair(&page->value);
    struct glint_slice rest = pair.left.value.bytes, to;
    double links = 0;
    while (glint_next_field(&rest, ' ', &to)) links++;
    rest = pair.left.value.bytes;
    while (glint_next_field(&rest, ' ', &to))
        glint_emit(out,
                   &(struct glint_record){{.bytes = to}, {.f64 = pair.right.value.f64 / links}});
    return 0;
}
static const struct glint_function share =
    GLINT_FLAT_MAP("pagerank.share", GLINT_PAIRS(GLINT_TEXT, GLINT_MSGPACK),
                   GLINT_PAIRS(GLINT_TEXT, GLINT_F64), give_shares);

static int damp_rank(struct glint_task *task, void *state, const struct glint_record *page,
                     struct glint_emitter *out)
{
    glint_emit(out, &(struct glint_record){.value.f64 = 0.15 + 0.85 * page->value.f64});
    return 0;
}
static const struct glint_function damp =
    GLINT_MAP("pagerank.damp", GLINT_PAIRS(GLINT_TEXT, GLINT_F64),
              GLINT_PAIRS(GLINT_SAME, GLINT_F64), damp_rank);

/* The ranks after iteration `i`, from those before it, which are released. */
static struct glint_rdd *iterate(struct glint *g, struct glint_rdd *links, struct glint_rdd *ranks,
                                 int64_t i, const char *directory)
{
    glint_begin_scope(g);
    struct glint_rdd *shares = glint_flat_map(glint_join(links, ranks), &share, NULL);
    struct glint_rdd *next =
        glint_map_values(glint_reduce_by_key(shares, &GLINT_SUM_F64, NULL), &damp, NULL);
    if (directory != NULL && i % CHECKPOINT_ITERATIONS == 0) {
        char path[PATH_BYTES_MAX];
        snprintf(path, sizeof path, "%s/%" PRId64, directory, i);
        next = glint_checkpoint(next, path);
    }
    glint_release(ranks);
    return glint_end_scope(g, next);
}

static int run(struct glint *g, const struct glint_job_args *args)
{
    const int64_t iterations = glint_job_i64(g, args, "iterations", 1, 1000);
    struct glint_rdd *edges = glint_map(glint_text_file(g, args->positional[0]), &parse, NULL);
    struct glint_rdd *links = glint_reduce_by_key(glint_distinct(edges), &append, NULL);
    struct glint_rdd *ranks = glint_map_values(glint_cache(links), &one, NULL);
    const char *directory = glint_job_option(args, "checkpoint");
    for (int64_t i = 1; i <= iterations; i++)
        ranks = iterate(g, links, ranks, i, directory);
    return glint_save_as_text_file(ranks, args->positional[1]);
}

static const struct glint_job_option options[] = {
    {"iterations", "N", "10", "how often the ranks are passed on"},
    {"checkpoint", "DIR", NULL, "a directory, for the ranks of every tenth iteration"},
    {.name = NULL}};
GLINT_JOB(pagerank, .summary = "rank the pages of a graph", .positional = {"INPUT", "OUTPUT"},
          .outputs = {"OUTPUT"}, .options = options,
          .functions = {&parse, &append, &one, &share, &damp}, .run = run);

int main(int argc, char **argv)
{
    return glint_main(argc, argv, &pagerank);
}
