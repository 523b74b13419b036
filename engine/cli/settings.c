/* One table, and one reader per kind of value. An option is read by its name in the table, so a
 * misspelt name fails an assertion in every run. */
#include "engine/cli/settings.h"

#include "engine/base/text.h"
#include "engine/limits.h"

#include <assert.h>
#include <string.h>

#define DURATION_HOURS_END 2500000u /* fits 63 bits in nanoseconds */

const struct glint_job_option settings_options[] = {
    {"master", "MASTER", "local[*]",
     "local[N]: N slots in this process; local[*]: one per processor"},
    {"memory", "BYTES", "1G", "memory of the whole process: 512M, 2G"},
    {"work-dir", "DIR", NULL, "parent of this run's work directory (default: $TMPDIR, else /tmp)"},
    {"split-size", "BYTES", NULL, "input bytes per task (default: by input size, 1M to 32M)"},
    {"partitions", "N", NULL, "partitions after a shuffle (default: by input size)"},
    {"max-line", "BYTES", "16M", "longest line that is accepted"},
    {"overwrite", NULL, NULL, "replace existing outputs"},
    {"no-sync", NULL, NULL, "do not sync outputs to disk; a power loss may leave them incomplete"},
    {"bad-rows", "fail|skip", "fail", "what to do with invalid rows"},
    {"max-bad-rows", "N", NULL, "with --bad-rows skip: fail if there are more than N"},
    {"timeout", "TIME", NULL, "cancel the job after 90, 30s, 5m, 2h"},
    {"cluster", "FILE", NULL, "run on the executors in FILE (default: $GLINT_CLUSTER)"},
    {"listen", "HOST:PORT", NULL, "accept executors that run glint executor --join HOST:PORT"},
    {"executors", "N", NULL, "wait for N executors before the first task (default: 1)"},
    {"event-log", "FILE", NULL, "write an event log to FILE, for glint history"},
    {"speculate", NULL, NULL, "run a second attempt of slow tasks on other executors"},
    {"json", NULL, NULL, "print one JSON object on standard output at the end"},
    {"format", "FORMAT", "text", "format of glint explain: text, dot (for Graphviz) or svg"},
    {"quiet", NULL, NULL, "print only errors and warnings"},
    {"verbose", NULL, NULL, "print each stage and its time"},
    {"color", "WHEN", "auto", "colour messages: auto, always, never"},
    {"encode-messages", NULL, NULL, NULL}, /* tests only */
    /* Keys of a cluster's file: described by glint config show --help. */
    {"secret-file", "PATH", NULL, NULL},
    {"insecure-plaintext", NULL, NULL, NULL},
    {"launch", "WORD", NULL, NULL},
    {"launch-command", "LIST", NULL, NULL},
    {"log-dir", "PATH", NULL, NULL},
    {"log-bytes-max", "BYTES", NULL, NULL},
    {"drivers-max", "N", NULL, NULL},
    {"ports", "FIRST-LAST", NULL, NULL},
    {"heartbeat", "TIME", NULL, NULL},
    {"suspect", "TIME", NULL, NULL},
    {"dead", "TIME", NULL, NULL},
    {"connect", "TIME", NULL, NULL},
    {"start", "TIME", NULL, NULL},
    {"drain", "TIME", NULL, NULL},
    {"fetch", "TIME", NULL, NULL},
    {NULL, NULL, NULL, NULL},
};

static_assert(MEMORY_BYTES_DEFAULT == GIB && LINE_BYTES_MAX_DEFAULT == 16 * MIB,
              "the defaults above must equal those in limits.h");

struct settings_reader {
    const struct cli_line *line;
    struct glint_error *error;
};

static void set_bad_value(struct settings_reader *r, const char *name, const char *text,
                          const char *wanted)
{
    error_set(r->error, GLINT_E_BAD_VALUE, NULL, "--%s %s: it must be %s", name, text, wanted);
}

static bool parse_count(const char *text, int64_t min, int64_t max, int64_t *out)
{
    return text_parse_i64((const uint8_t *)text, strlen(text), out) && *out >= min && *out <= max;
}

/* Returns a number in [min, max], or `absent` if the option is not given. */
static int64_t read_count(struct settings_reader *r, const char *name, int64_t min, int64_t max,
                          int64_t absent)
{
    assert(min <= max);
    const char *text = cli_line_option(r->line, name);
    int64_t value;
    if (text == NULL) return absent;
    if (parse_count(text, min, max, &value)) return value;
    char wanted[96];
    text_format(wanted, sizeof wanted, "a whole number from %lld to %lld", (long long)min,
                (long long)max);
    set_bad_value(r, name, text, wanted);
    return absent;
}

/* Returns bytes in [1, max], or 0 if the option is not given. */
static uint64_t read_bytes(struct settings_reader *r, const char *name, uint64_t max)
{
    const char *text = cli_line_option(r->line, name);
    uint64_t value;
    if (text == NULL) return 0;
    if (text_parse_bytes(text, &value) && value >= 1 && value <= max) return value;
    char limit[TEXT_NUMBER_MAX], wanted[96];
    if (max % KIB == 0)
        text_format_bytes(limit, max);
    else /* rounding could show more than is accepted */
        text_format(limit, sizeof limit, "%llu", (unsigned long long)max);
    text_format(wanted, sizeof wanted, "bytes, as in 4096, 64K or 1.5G, from 1 to %s", limit);
    set_bad_value(r, name, text, wanted);
    return 0;
}

/* Returns the index of the option's value in `words`, which ends with NULL. */
static int read_word(struct settings_reader *r, const char *name, const char *const *words)
{
    const char *text = cli_line_option(r->line, name);
    assert(text != NULL); /* it has a default */
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], text) == 0) return i;
    char wanted[96] = "one of";
    for (size_t used = strlen(wanted); *words != NULL; words++, used = strlen(wanted))
        text_format(wanted + used, sizeof wanted - used, " %s", *words);
    set_bad_value(r, name, text, wanted);
    return 0;
}

bool settings_parse_master(const char *text, uint32_t *out_slots)
{
    static const char prefix[] = "local[";
    size_t size = strlen(text), before = sizeof prefix - 1;
    *out_slots = 1;
    if (strcmp(text, "local") == 0) return true; /* one slot, as in Spark */
    if (strncmp(text, prefix, before) != 0 || text[size - 1] != ']') return false;
    *out_slots = 0;
    if (strcmp(text + before, "*]") == 0) return true;
    int64_t slots;
    if (!text_parse_i64((const uint8_t *)text + before, size - before - 1, &slots)) return false;
    if (slots < 1 || slots > (int64_t)SLOTS_MAX) return false;
    *out_slots = (uint32_t)slots;
    return true;
}

bool settings_parse_duration(const char *text, uint64_t *out_ns)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
    size_t digits = strspn(text, "0123456789.");
    double number;
    if (!text_parse_f64((const uint8_t *)text, digits, &number)) return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(text + digits, units[i].unit) != 0) continue;
        double ns = number * units[i].seconds * 1e9;
        if (!(ns >= 1 && ns < DURATION_HOURS_END * 3600e9)) return false;
        *out_ns = (uint64_t)ns;
        return true;
    }
    return false;
}

static void read_master(struct settings_reader *r, struct glint_config *config)
{
    const char *text = cli_line_option(r->line, "master");
    if (settings_parse_master(text, &config->slots)) return;
    char wanted[96];
    text_format(wanted, sizeof wanted, "local[*], or local[N] with N from 1 to %u", SLOTS_MAX);
    set_bad_value(r, "master", text, wanted);
}

static void read_timeout(struct settings_reader *r, struct glint_config *config)
{
    const char *text = cli_line_option(r->line, "timeout");
    if (text == NULL || settings_parse_duration(text, &config->timeout_ns)) return;
    char wanted[96];
    text_format(wanted, sizeof wanted, "a time above 0 and below %uh, as in 90, 30s, 5m or 2h",
                DURATION_HOURS_END);
    set_bad_value(r, "timeout", text, wanted);
}

static void read_bad_rows(struct settings_reader *r, struct glint_config *config)
{
    static const char *const choices[] = {"fail", "skip", NULL};
    config->skip_bad_rows = read_word(r, "bad-rows", choices) == 1;
    config->bad_rows_max = read_count(r, "max-bad-rows", 0, INT64_MAX, -1);
    /* An option without effect is an error, so that users do not rely on it. */
    if (config->bad_rows_max >= 0 && !config->skip_bad_rows)
        error_set(r->error, GLINT_E_USAGE, "add --bad-rows skip",
                  "--max-bad-rows has no effect: without --bad-rows skip the first bad row fails "
                  "the job");
}

bool settings_read(struct settings *out, const struct cli_line *line, struct glint_error *error)
{
    static const char *const colors[] = {[PRINT_COLOR_AUTO] = "auto",
                                         [PRINT_COLOR_ALWAYS] = "always",
                                         [PRINT_COLOR_NEVER] = "never",
                                         NULL};
    static const char *const formats[] = {
        [PLAN_TEXT] = "text", [PLAN_DOT] = "dot", [PLAN_SVG] = "svg", NULL};
    struct settings_reader r = {line, error};
    struct glint_config *config = &out->config;
    *out = (struct settings){.config = {.bad_rows_max = -1}};
    out->color = (enum print_color)read_word(&r, "color", colors);
    out->format = (enum plan_format)read_word(&r, "format", formats);
    out->json = cli_line_flag(line, "json");
    if (out->json && out->format != PLAN_TEXT)
        error_set(error, GLINT_E_USAGE, "use only one of them",
                  "--json and --format %s both write to standard output", formats[out->format]);
    out->quiet = cli_line_flag(line, "quiet");
    out->verbose = cli_line_flag(line, "verbose") && !out->quiet;
    read_master(&r, config);
    config->memory_bytes = read_bytes(&r, "memory", (uint64_t)1 << 47);
    config->work_dir = cli_line_option(line, "work-dir");
    config->split_bytes = read_bytes(&r, "split-size", (uint64_t)1 << 47);
    config->partitions = (uint32_t)read_count(&r, "partitions", 1, PARTITIONS_MAX, 0);
    config->line_bytes_max = read_bytes(&r, "max-line", VALUE_BYTES_MAX);
    config->event_log = cli_line_option(line, "event-log");
    config->overwrite = cli_line_flag(line, "overwrite");
    config->no_sync = cli_line_flag(line, "no-sync");
    config->encode_messages = cli_line_flag(line, "encode-messages");
    read_bad_rows(&r, config);
    read_timeout(&r, config);
    return error->code == GLINT_OK && settings_read_cluster(out, line, error);
}

void settings_fini(struct settings *s)
{
    cluster_file_fini(&s->file);
    s->config.cluster = NULL;
}
