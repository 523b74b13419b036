/* inverted_index INPUT OUTPUT: for each word of lines "DOCUMENT TAB TEXT" the documents that it is
 * in, each once, sorted: WORD TAB DOCUMENT TAB DOCUMENT...
 *
 *     cc -O2 inverted_index.c $(pkg-config --cflags --libs glint) -o inverted_index
 *     ./inverted_index inverted_index INPUT OUTPUT */
#include <glint/glint.h>

static int split_text(struct glint_task *task, void *state, const struct glint_record *line,
                      struct glint_emitter *out)
{
    struct glint_slice text = line->value.bytes, document, word;
    glint_next_field(&text, '\t', &document);
    if (text.data == NULL) return glint_bad_row(task, line->value.bytes, "not DOCUMENT TAB TEXT");
    while (glint_next_field(&text, ' ', &word))
        if (word.size > 0)
            glint_emit(out, &(struct glint_record){{.bytes = word}, {.bytes = document}});
    return 0;
}
static const struct glint_function split =
    GLINT_FLAT_MAP("inverted_index.split", GLINT_ELEMENTS(GLINT_TEXT),
                   GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT), split_text);

static int emit_document(struct glint_task *task, void *state, const struct glint_record *posting,
                         struct glint_emitter *out)
{
    glint_emit(out, &(struct glint_record){.key = posting->value});
    return 0;
}
static const struct glint_function document =
    GLINT_MAP("inverted_index.document", GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT),
              GLINT_PAIRS(GLINT_TEXT, GLINT_NONE), emit_document);

static int append_list(struct glint_task *task, void *state, struct glint_acc *list,
                       const union glint_value *more)
{
    const int code = glint_acc_append(task, list, "\t", 1);
    return code != 0 ? code : glint_acc_append(task, list, more->bytes.data, more->bytes.size);
}
static const struct glint_function append =
    GLINT_REDUCE("inverted_index.append", GLINT_TEXT, append_list);

static int run(struct glint *g, const struct glint_job_args *args)
{
    struct glint_rdd *lines = glint_text_file(g, args->positional[0]);
    struct glint_rdd *postings = glint_distinct(glint_flat_map(lines, &split, NULL));
    struct glint_rdd *sorted = glint_sort_by(postings, &document, NULL, true);
    /* The values of a key are reduced in the order of the sort. */
    struct glint_rdd *lists = glint_reduce_by_key(sorted, &append, NULL);
    return glint_save_as_text_file(lists, args->positional[1]);
}
GLINT_JOB(inverted_index, .summary = "list the documents of each word",
          .positional = {"INPUT", "OUTPUT"}, .outputs = {"OUTPUT"},
          .functions = {&split, &document, &append}, .run = run);

int main(int argc, char **argv)
{
    return glint_main(argc, argv, &inverted_index);
}
