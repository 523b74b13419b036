/* The options of every job: what their values mean, and which are refused. */
#include "engine/cli/settings.h"
#include "engine/limits.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct cli_syntax syntax = {
    .command = "glint submit", .summary = "", .common = settings_options};

static struct settings settings;
static struct glint_error error;

static bool read_settings(char **words)
{
    struct cli_line line;
    int count = 0;
    while (words[count] != NULL) count++;
    memset(&error, 0, sizeof error);
    bool sound = cli_line_parse(&line, &syntax, count, words, &error);
    cr_assert(sound, "%s", error.cause);
    sound = settings_read(&settings, &line, &error);
    cli_line_fini(&line);
    return sound;
}

#define READ(...) read_settings((char *[]){(char *)"submit", __VA_ARGS__, NULL})

static void expect_refused(bool sound, enum glint_code code, const char *option)
{
    cr_expect_not(sound, "%s", option);
    cr_expect_eq(error.code, code);
    cr_expect_not_null(strstr(error.cause, option), "%s", error.cause);
}

Test(settings, presets_are_the_limits)
{
    cr_assert(read_settings((char *[]){(char *)"submit", NULL}));
    const struct glint_config *c = &settings.config;
    cr_expect_eq(c->slots, 0);
    cr_expect_eq(c->memory_bytes, MEMORY_BYTES_DEFAULT);
    cr_expect_eq(c->line_bytes_max, LINE_BYTES_MAX_DEFAULT);
    cr_expect_eq(c->split_bytes, 0);
    cr_expect_eq(c->partitions, 0);
    cr_expect_eq(c->bad_rows_max, -1);
    cr_expect_eq(c->timeout_ns, 0);
    cr_expect_not(c->overwrite || c->skip_bad_rows || c->encode_messages || c->explain);
    cr_expect_null(c->work_dir);
    cr_expect_eq(settings.color, PRINT_COLOR_AUTO);
    cr_expect_not(settings.json || settings.quiet || settings.verbose);
}

Test(settings, all_of_them)
{
    cr_assert(READ("--master", "local[3]", "--memory", "64M", "--work-dir", "/w", "--split-size",
                   "1.5K", "--partitions", "7", "--max-line", "1KiB", "--overwrite", "--bad-rows",
                   "skip", "--max-bad-rows", "9", "--timeout", "5m", "--json", "-v", "--color",
                   "never", "--encode-messages"));
    const struct glint_config *c = &settings.config;
    cr_expect_eq(c->slots, 3);
    cr_expect_eq(c->memory_bytes, 64 * MIB);
    cr_expect_str_eq(c->work_dir, "/w");
    cr_expect_eq(c->split_bytes, 1536);
    cr_expect_eq(c->partitions, 7);
    cr_expect_eq(c->line_bytes_max, 1024);
    cr_expect(c->overwrite && c->skip_bad_rows && c->encode_messages);
    cr_expect_eq(c->bad_rows_max, 9);
    cr_expect_eq(c->timeout_ns, UINT64_C(300000000000));
    cr_expect(settings.json && settings.verbose && !settings.quiet);
    cr_expect_eq(settings.color, PRINT_COLOR_NEVER);
}

Test(settings, master)
{
    uint32_t slots = 99;
    cr_expect(settings_master("local", &slots) && slots == 1);
    cr_expect(settings_master("local[*]", &slots) && slots == 0);
    cr_expect(settings_master("local[1]", &slots) && slots == 1);
    cr_expect(settings_master("local[256]", &slots) && slots == SLOTS_MAX);
    static const char *const wrong[] = {"",          "local[",     "local[]",   "local[0]",
                                        "local[-1]", "local[257]", "local[1",   "local[1]]",
                                        "local[**]", "Local[1]",   "local[ 1]", "spark://host:7077",
                                        "[1]",       "local]",     "local[1.5]"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_expect_not(settings_master(wrong[i], &slots), "%s", wrong[i]);
}

Test(settings, durations)
{
    uint64_t ns = 0;
    cr_expect(settings_duration("90", &ns) && ns == UINT64_C(90000000000));
    cr_expect(settings_duration("1.5s", &ns) && ns == 1500000000);
    cr_expect(settings_duration("5m", &ns) && ns == UINT64_C(300000000000));
    cr_expect(settings_duration("2h", &ns) && ns == UINT64_C(7200000000000));
    cr_expect(settings_duration("0.001", &ns) && ns == 1000000);
    static const char *const wrong[] = {
        "", "0", "s", "-1", "5 m", "1d", "1e3", "5mm", "nan", "1e99", "99999999999999999999h"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_expect_not(settings_duration(wrong[i], &ns), "%s", wrong[i]);
}

Test(settings, sizes_and_counts_have_bounds)
{
    static const char *const bad_bytes[] = {"0", "",    "-1",      "1X", "1k",
                                            "K", "0.5", "999999T", "1 K"};
    for (size_t i = 0; i < sizeof bad_bytes / sizeof bad_bytes[0]; i++) {
        expect_refused(READ("--memory", (char *)bad_bytes[i]), GLINT_E_BAD_VALUE, "--memory");
        expect_refused(READ("--split-size", (char *)bad_bytes[i]), GLINT_E_BAD_VALUE,
                       "--split-size");
        expect_refused(READ("--max-line", (char *)bad_bytes[i]), GLINT_E_BAD_VALUE, "--max-line");
    }
    expect_refused(READ("--max-line", "4G"), GLINT_E_BAD_VALUE, "--max-line");
    expect_refused(READ("--partitions", "0"), GLINT_E_BAD_VALUE, "--partitions");
    expect_refused(READ("--partitions", "100001"), GLINT_E_BAD_VALUE, "--partitions");
    expect_refused(READ("--partitions", "two"), GLINT_E_BAD_VALUE, "--partitions");
    expect_refused(READ("--bad-rows", "drop"), GLINT_E_BAD_VALUE, "fail skip");
    expect_refused(READ("--color", "yes"), GLINT_E_BAD_VALUE, "auto always never");
    expect_refused(READ("--master", "yarn"), GLINT_E_BAD_VALUE, "--master yarn");
    expect_refused(READ("--timeout", "0"), GLINT_E_BAD_VALUE, "--timeout");
    expect_refused(READ("--bad-rows", "skip", "--max-bad-rows", "-1"), GLINT_E_BAD_VALUE,
                   "--max-bad-rows");
    expect_refused(READ("--max-bad-rows", "5"), GLINT_E_USAGE, "--max-bad-rows");
}

Test(settings, the_first_error_stays)
{
    expect_refused(READ("--memory", "x", "--timeout", "x"), GLINT_E_BAD_VALUE, "--memory");
}

Test(settings, quiet_wins)
{
    cr_assert(READ("-v", "-q"));
    cr_expect(settings.quiet && !settings.verbose);
}
