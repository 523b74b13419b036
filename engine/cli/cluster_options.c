/* A boolean key is a switch that sets it to true: all defaults are false, so no option is needed to
 * unset one. */
#include "engine/cli/cluster_options.h"

#include <assert.h>

static const char *value_name(enum key_kind kind)
{
    switch (kind) {
    case KEY_BOOL: return NULL;
    case KEY_PATH: return "PATH";
    case KEY_COUNT: return "N";
    case KEY_PORTS: return "FIRST-LAST";
    case KEY_BYTES: return "BYTES";
    case KEY_TIME_MS:
    case KEY_TIME_NS: return "TIME";
    case KEY_WORDS: return "LIST";
    default: return "WORD";
    }
}

void cluster_options_make(struct glint_job_option *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < CLUSTER_KEYS; i++) {
        const struct cluster_key *key = &cluster_keys[i];
        if (key->option == NULL) continue;
        out[n++] = (struct glint_job_option){key->option, value_name(key->kind), NULL, key->help};
    }
    assert(n <= CLUSTER_KEYS);
    out[n] = (struct glint_job_option){NULL, NULL, NULL, NULL};
}

uint32_t cluster_options_read(const struct cli_line *line, struct cluster_option *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < CLUSTER_KEYS; i++) {
        const struct cluster_key *key = &cluster_keys[i];
        const char *text = key->option != NULL ? cli_line_option(line, key->option) : NULL;
        if (text != NULL) out[n++] = (struct cluster_option){key, text};
    }
    assert(n <= CLUSTER_KEYS);
    return n;
}
