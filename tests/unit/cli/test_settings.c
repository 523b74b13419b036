/* The options that every job has: how values are parsed, and which are rejected. */
#include "engine/cli/cli_internal.h"
#include "engine/limits.h"
#include "engine/plan/context_config.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct settings settings;
static struct glint_error error;

static bool read_settings(char **words)
{
    const struct cli_syntax syntax = {
        .command = "glint submit", .summary = "", .common = settings_option_table()};
    struct cli_line line;
    int count = 0;
    while (words[count] != NULL) count++;
    memset(&error, 0, sizeof error);
    bool sound = cli_line_parse(&line, &syntax, count, words, &error);
    cr_assert(sound, "%s", error.cause);
    settings_fini(&settings);
    sound = settings_read(&settings, &line, &error);
    cli_line_fini(&line);
    return sound;
}

#define READ(...) read_settings((char *[]){(char *)"submit", __VA_ARGS__, NULL})

static void expect_rejected(bool sound, enum glint_code code, const char *option)
{
    cr_expect_not(sound, "%s", option);
    cr_expect_eq(error.code, code);
    cr_expect_not_null(strstr(error.cause, option), "%s", error.cause);
}

Test(settings, defaults_apply)
{
    cr_assert(read_settings((char *[]){(char *)"submit", NULL}));
    const struct context_config *c = &settings.config;
    cr_expect_eq(c->slots, 0);
    cr_expect_eq(c->memory_bytes, MEMORY_BYTES_DEFAULT);
    cr_expect_eq(c->line_bytes_max, LINE_BYTES_MAX_DEFAULT);
    cr_expect_eq(c->split_bytes, 0);
    cr_expect_eq(c->partitions, 0);
    cr_expect_eq(c->bad_rows_max, -1);
    cr_expect_eq(c->timeout_ns, 0);
    cr_expect_not(c->no_sync || c->overwrite || c->skip_bad_rows);
    cr_expect_not(c->encode_messages || c->explain);
    cr_expect_null(c->work_dir);
    cr_expect_eq(settings.color, PRINT_COLOR_AUTO);
    cr_expect_not(settings.json || settings.quiet || settings.verbose);
}

Test(settings, every_option_is_read)
{
    cr_assert(READ("--master", "local[3]", "--memory", "64M", "--work-dir", "/w", "--split-size",
                   "1.5K", "--partitions", "7", "--max-line", "1KiB", "--overwrite", "--bad-rows",
                   "skip", "--max-bad-rows", "9", "--timeout", "5m", "--json", "-v", "--color",
                   "never", "--encode-messages", "--no-sync"));
    const struct context_config *c = &settings.config;
    cr_expect_eq(c->slots, 3);
    cr_expect_eq(c->memory_bytes, 64 * MIB);
    cr_expect_str_eq(c->work_dir, "/w");
    cr_expect_eq(c->split_bytes, 1536);
    cr_expect_eq(c->partitions, 7);
    cr_expect_eq(c->line_bytes_max, 1024);
    cr_expect(c->no_sync && c->overwrite && c->skip_bad_rows && c->encode_messages);
    cr_expect_eq(c->bad_rows_max, 9);
    cr_expect_eq(c->timeout_ns, UINT64_C(300000000000));
    cr_expect(settings.json && settings.verbose && !settings.quiet);
    cr_expect_eq(settings.color, PRINT_COLOR_NEVER);
}

static uint32_t read_slots(const char *master)
{
    cr_assert(READ("--master", (char *)master), "%s", master);
    return settings.config.slots;
}

Test(settings, master_is_parsed)
{
    cr_expect_eq(read_slots("local"), 1);
    cr_expect_eq(read_slots("local[*]"), 0);
    cr_expect_eq(read_slots("local[1]"), 1);
    cr_expect_eq(read_slots("local[256]"), SLOTS_MAX);
    static const char *const wrong[] = {"",          "local[",     "local[]",   "local[0]",
                                        "local[-1]", "local[257]", "local[1",   "local[1]]",
                                        "local[**]", "Local[1]",   "local[ 1]", "spark://host:7077",
                                        "[1]",       "local]",     "local[1.5]"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_rejected(READ("--master", (char *)wrong[i]), GLINT_E_BAD_VALUE,
                        "it must be local[*], or local[N] with N from 1 to 256");
}

static uint64_t read_timeout_ms(const char *timeout)
{
    cr_assert(READ("--timeout", (char *)timeout), "%s", timeout);
    return settings.config.timeout_ns / 1000000;
}

Test(settings, durations_are_parsed)
{
    cr_expect_eq(read_timeout_ms("90"), 90000);
    cr_expect_eq(read_timeout_ms("1.5s"), 1500);
    cr_expect_eq(read_timeout_ms("0.29"), 290);
    cr_expect_eq(read_timeout_ms("5m"), 300000);
    cr_expect_eq(read_timeout_ms("2h"), 7200000);
    cr_expect_eq(read_timeout_ms("0.001"), 1);
    cr_expect_eq(read_timeout_ms("2499999h"), UINT64_C(8999996400000));
    static const char *const wrong[] = {"",
                                        "0",
                                        "s",
                                        "-1",
                                        "5 m",
                                        "1d",
                                        "1e3",
                                        "5mm",
                                        "nan",
                                        "1e99",
                                        "0.0001",
                                        "2500000h",
                                        "99999999999999999999h"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_rejected(READ("--timeout", (char *)wrong[i]), GLINT_E_BAD_VALUE, "--timeout");
}

Test(settings, out_of_range_values_are_rejected)
{
    static const char *const bad_bytes[] = {"0", "",    "-1",      "1X", "1k",
                                            "K", "0.5", "999999T", "1 K"};
    for (size_t i = 0; i < sizeof bad_bytes / sizeof bad_bytes[0]; i++) {
        expect_rejected(READ("--memory", (char *)bad_bytes[i]), GLINT_E_BAD_VALUE, "--memory");
        expect_rejected(READ("--split-size", (char *)bad_bytes[i]), GLINT_E_BAD_VALUE,
                        "--split-size");
        expect_rejected(READ("--max-line", (char *)bad_bytes[i]), GLINT_E_BAD_VALUE, "--max-line");
    }
    expect_rejected(READ("--max-line", "4G"), GLINT_E_BAD_VALUE, "from 1 to 4294967295");
    expect_rejected(READ("--partitions", "0"), GLINT_E_BAD_VALUE, "--partitions");
    expect_rejected(READ("--partitions", "100001"), GLINT_E_BAD_VALUE, "--partitions");
    expect_rejected(READ("--partitions", "two"), GLINT_E_BAD_VALUE, "--partitions");
    expect_rejected(READ("--bad-rows", "drop"), GLINT_E_BAD_VALUE, "fail skip");
    expect_rejected(READ("--color", "yes"), GLINT_E_BAD_VALUE, "auto always never");
    expect_rejected(READ("--master", "yarn"), GLINT_E_BAD_VALUE, "--master yarn");
    expect_rejected(READ("--timeout", "0"), GLINT_E_BAD_VALUE, "--timeout");
    expect_rejected(READ("--bad-rows", "skip", "--max-bad-rows", "-1"), GLINT_E_BAD_VALUE,
                    "--max-bad-rows");
    expect_rejected(READ("--max-bad-rows", "5"), GLINT_E_USAGE, "--max-bad-rows");
}

Test(settings, first_error_is_kept)
{
    expect_rejected(READ("--memory", "x", "--timeout", "x"), GLINT_E_BAD_VALUE, "--memory");
}

Test(settings, quiet_overrides_verbose)
{
    cr_assert(READ("-v", "-q"));
    cr_expect(settings.quiet && !settings.verbose);
}

/* ---- Local or cluster */

Test(settings, options_configure_a_cluster)
{
    unsetenv("GLINT_CLUSTER");
    cr_assert(READ((char *)"--listen", (char *)"127.0.0.1:7400", (char *)"--executors=3",
                   (char *)"--event-log", (char *)"events", (char *)"--speculate",
                   (char *)"--heartbeat=200ms"),
              "%s", error.cause);
    const struct cluster *c = settings.config.cluster;
    cr_assert_eq(c, &settings.file.cluster);
    cr_expect_null(c->path);
    cr_expect_str_eq(c->listen_host, "127.0.0.1");
    cr_expect_eq(c->listen_port, 7400);
    cr_expect_eq(c->executors_min, 3);
    cr_expect_str_eq(settings.config.event_log, "events");
    cr_expect(c->speculate);
    cr_expect_eq(c->heartbeat.heartbeat_ns, 200000000);
    cr_assert(READ((char *)"--master=local[2]"));
    cr_expect_null(settings.config.cluster);
    settings_fini(&settings);
}

Test(settings, conflicting_options_are_rejected)
{
    unsetenv("GLINT_CLUSTER");
    expect_rejected(READ((char *)"--master=local", (char *)"--cluster=c.toml"), GLINT_E_USAGE,
                    "--cluster");
    expect_rejected(READ((char *)"--master=local", (char *)"--listen=localhost:1"), GLINT_E_USAGE,
                    "--listen");
    expect_rejected(READ((char *)"--speculate"), GLINT_E_USAGE, "--speculate");
    expect_rejected(READ((char *)"--executors=2"), GLINT_E_USAGE, "--executors");
    expect_rejected(READ((char *)"--dead=8s"), GLINT_E_USAGE, "--dead");
    expect_rejected(READ((char *)"--cluster=no/such.toml"), GLINT_E_CONFIG, "no/such.toml");
    expect_rejected(READ((char *)"--listen=10.0.0.1:7400"), GLINT_E_CONFIG, "--listen");
    cr_expect_not_null(strstr(error.hint, "glint secret new"));
    expect_rejected(READ((char *)"--listen=[::1]:7400", (char *)"--executors=0"), GLINT_E_BAD_VALUE,
                    "--executors");
    expect_rejected(READ((char *)"--listen=7400"), GLINT_E_BAD_VALUE, "--listen");
    settings_fini(&settings);
}

Test(settings, local_master_overrides_cluster_of_environment)
{
    setenv("GLINT_CLUSTER", "no/such.toml", 1);
    expect_rejected(READ((char *)"--quiet"), GLINT_E_CONFIG, "no/such.toml");
    cr_expect(READ((char *)"--master=local"));
    cr_expect_null(settings.config.cluster);
    settings_fini(&settings);
}

Test(settings, addresses_are_parsed)
{
    static const char *const wrong[] = {"",      ":1",     "h",    "h:",   "h:0",  "h:65536",
                                        "::1:2", "[::1]2", "h:1 ", "-h:1", "[]:1", "h/x:1"};
    const struct cluster *c = &settings.file.cluster;
    cr_expect(READ("--insecure-plaintext", "--listen", "node:65535"));
    cr_expect_str_eq(c->listen_host, "node");
    cr_expect_eq(c->listen_port, 65535);
    cr_expect(READ("--insecure-plaintext", "--listen", "[fe80::1%eth0]:1"));
    cr_expect_str_eq(c->listen_host, "fe80::1%eth0");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_rejected(READ("--insecure-plaintext", "--listen", (char *)wrong[i]),
                        GLINT_E_BAD_VALUE, "it must be HOST:PORT");
    settings_fini(&settings);
}
