/* A program that does not get as far as its job where the variable MISTAKE is set: "start" aborts
 * before main, "main" crashes in it, "exit" ends it with status 3. It does not even start where
 * libbeside.so is missing. For tests/cluster/test_programs.py. */
#include <glint/glint.h>

#include <stdio.h>
#include <stdlib.h>

int beside(void);

static bool makes(const char *what)
{
    const char *mistake = getenv("MISTAKE");
    return mistake != NULL && strcmp(mistake, what) == 0;
}

__attribute__((constructor)) static void start(void)
{
    if (makes("start")) abort();
}

static int run(struct glint *g, const struct glint_job_args *args)
{
    int64_t lines = 0;
    glint_count(glint_text_file(g, args->positional[0]), &lines);
    glint_answer_i64(g, "lines", lines + beside());
    return glint_error(g)->code;
}
GLINT_JOB(lines, .summary = "count lines", .positional = {"INPUT"}, .run = run);

int main(int argc, char **argv)
{
    static int *volatile nowhere;
    if (makes("main")) *nowhere = 1;
    if (makes("exit")) return 3;
    return glint_main(argc, argv, &lines);
}
