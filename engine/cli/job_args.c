/* Access to a job's options. glint_job_args.options points to the parsed command line. */
#include "engine/base/text.h"
#include "engine/cli/options.h"

#include <assert.h>
#include <string.h>

const char *glint_job_option(const struct glint_job_args *args, const char *name)
{
    const struct cli_line *line = args->options;
    assert(cli_option_find(line->syntax->own, name, strlen(name)) != NULL);
    return cli_line_option(line, name);
}

int64_t glint_job_i64(struct glint *g, const struct glint_job_args *args, const char *name,
                      int64_t min, int64_t max)
{
    assert(min <= max);
    const char *text = glint_job_option(args, name);
    assert(text != NULL); /* without a default, the job must check glint_job_option first */
    int64_t value;
    if (text_parse_i64((const uint8_t *)text, strlen(text), &value) && value >= min && value <= max)
        return value;
    glint_abort(g, GLINT_E_BAD_VALUE, NULL, "--%s %s: it must be a whole number from %lld to %lld",
                name, text, (long long)min, (long long)max);
    return min;
}

double glint_job_f64(struct glint *g, const struct glint_job_args *args, const char *name)
{
    const char *text = glint_job_option(args, name);
    assert(text != NULL);
    double value;
    if (text_parse_f64((const uint8_t *)text, strlen(text), &value)) return value;
    glint_abort(g, GLINT_E_BAD_VALUE, NULL, "--%s %s: it must be a number", name, text);
    return 0;
}

bool glint_parse_f64(struct glint_slice text, double *out)
{
    return text_parse_f64(text.data, text.size, out);
}

bool glint_parse_i64(struct glint_slice text, int64_t *out)
{
    return text_parse_i64(text.data, text.size, out);
}
