/* Adds the lines of standard input to a filter, writes it to FILE, maps the file, and looks up each
 * ID: printf 'tt0000001\ntt0000002\n' | bloom_example FILE tt0000002 tt0000003 */
#include <glint/bloom.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct glint_bloom_params params;
    struct glint_bloom_entry entry = {.kind = GLINT_BLOOM_KEY_NONE};
    glint_bloom *filter = NULL;
    glint_bloom_file *file = NULL;
    char line[4096];
    if (argc < 2) return fprintf(stderr, "usage: %s FILE [ID...] < IDS\n", argv[0]), 64;
    int failed =
        glint_bloom_size_by_rate(GLINT_BLOOM_XXH64, GLINT_BLOOM_SPLIT_BLOCK, 10000, 0.01, &params);
    if (failed == 0) failed = glint_bloom_create(&params, &filter);
    while (failed == 0 && fgets(line, sizeof line, stdin) != NULL)
        failed = glint_bloom_add(filter, line, strcspn(line, "\n"));
    entry.filter = filter;
    if (failed == 0) failed = glint_bloom_write(argv[1], &entry, 1);
    if (failed == 0) failed = glint_bloom_open(argv[1], GLINT_BLOOM_MAP, &file);
    if (failed == 0) printf("about %.0f ids\n", glint_bloom_ids(filter));
    for (int i = 2; failed == 0 && i < argc; i++) {
        const glint_bloom *mapped = glint_bloom_entry_at(file, 0).filter;
        bool found = glint_bloom_contains(mapped, argv[i], strlen(argv[i]));
        printf("%s: %s\n", argv[i], found ? "probably" : "no");
    }
    if (failed != 0) fprintf(stderr, "%s: %s\n", argv[1], glint_bloom_strerror(failed));
    glint_bloom_close(file);
    glint_bloom_destroy(filter);
    return failed != 0;
}
