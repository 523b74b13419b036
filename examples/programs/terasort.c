/* terasort INPUT OUTPUT: the lines in the order of their first 10 bytes, as the sort benchmark has
 * them. Lines with equal keys keep their order; a line shorter than the key is a key as a whole.
 *
 *     cc -O2 terasort.c $(pkg-config --cflags --libs glint) -o terasort
 *     ./terasort terasort INPUT OUTPUT */
#include <glint/glint.h>

static int first_bytes(struct glint_task *task, void *state, const struct glint_record *line,
                       struct glint_emitter *out)
{
    const uint64_t *key_bytes = state;
    struct glint_slice key = line->value.bytes;
    if (key.size > *key_bytes) key.size = *key_bytes;
    glint_emit(out, &(struct glint_record){.key.bytes = key});
    return 0;
}
static const struct glint_function key =
    GLINT_MAP("terasort.key", GLINT_ELEMENTS(GLINT_TEXT), GLINT_PAIRS(GLINT_BYTES, GLINT_NONE),
              first_bytes, .state_size = sizeof(uint64_t));

static int run(struct glint *g, const struct glint_job_args *args)
{
    const int64_t key_bytes = glint_job_i64(g, args, "key-bytes", 1, 1 << 20);
    struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
    struct glint_rdd *sorted =
        glint_sort_by(lines, &key, glint_bind(g, &key_bytes, sizeof key_bytes), true);
    return glint_save_as_text_file(sorted, args->positional[1]);
}

static const struct glint_job_option options[] = {
    {"key-bytes", "N", "10", "how many bytes of a line are its key"}, {.name = NULL}};
GLINT_JOB(terasort, .summary = "sort lines by their first bytes", .positional = {"INPUT", "OUTPUT"},
          .outputs = {"OUTPUT"}, .options = options, .functions = {&key}, .run = run);

int main(int argc, char **argv)
{
    return glint_main(argc, argv, &terasort);
}
