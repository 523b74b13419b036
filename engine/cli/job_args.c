/* Access to a job's options. glint_job_args.options points to the parsed command line. */
#include "engine/base/text.h"
#include "engine/cli/options.h"

#include <assert.h>
#include <string.h>

const char *glint_job_option(const struct glint_job_args *args, const char *name)
{
    const struct cli_line *line = args->options;
    if (name != NULL && cli_option_find(line->syntax->own, name, strlen(name)) != NULL)
        return cli_line_option(line, name);
    glint_abort(line->context, GLINT_E_PLAN_ARGUMENT, "add it to the job's table of options",
                "the job of \"%s\" reads the option --%s, which it does not have",
                line->syntax->command, name != NULL ? name : "(NULL)");
    return NULL;
}

/* The value of an option that must have one; NULL with the context's error set. */
static const char *option_value(struct glint *g, const struct glint_job_args *args,
                                const char *name)
{
    const char *text = glint_job_option(args, name);
    if (text == NULL) /* no effect if the option does not exist */
        glint_abort(g, GLINT_E_PLAN_ARGUMENT,
                    "give it a default, or ask first if it is set: glint_job_option",
                    "the job reads --%s as a number; it is not set, and has no default",
                    name != NULL ? name : "(NULL)");
    return text;
}

int64_t glint_job_i64(struct glint *g, const struct glint_job_args *args, const char *name,
                      int64_t min, int64_t max)
{
    assert(min <= max);
    const char *text = option_value(g, args, name);
    int64_t value;
    if (text == NULL) return min;
    if (text_parse_i64((const uint8_t *)text, strlen(text), &value) && value >= min && value <= max)
        return value;
    glint_abort(g, GLINT_E_BAD_VALUE, NULL, "--%s %s: it must be a whole number from %lld to %lld",
                name, text, (long long)min, (long long)max);
    return min;
}

double glint_job_f64(struct glint *g, const struct glint_job_args *args, const char *name)
{
    const char *text = option_value(g, args, name);
    double value;
    if (text == NULL) return 0;
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
