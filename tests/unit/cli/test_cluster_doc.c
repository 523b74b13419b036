/* Compares docs/cluster.md and cluster.toml with the table of keys: the tables of the page must be
 * its rows in its order, and the example must name every key. */
#include "engine/cli/cluster_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16, ROW_MAX = 1024 };

/* Returns the contents of a file of the project, in a static buffer. */
static const char *project_file(const char *name)
{
    static char text[TEXT_MAX];
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", GLINT_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    size_t size = fread(text, 1, sizeof text - 1, file);
    cr_assert_lt(size, sizeof text - 1);
    text[size] = '\0';
    fclose(file);
    return text;
}

static void make_row(const struct config_key *key, char *out)
{
    char range[128];
    const char *quote = key->default_value != NULL ? "`" : "";
    const char *default_value = key->default_value != NULL ? key->default_value
                                : key->absent != NULL      ? key->absent
                                                           : "must be given";
    format_config_key_range(key, range, sizeof range);
    snprintf(out, ROW_MAX, "| `%s` | %s | %s%s%s | %s | %s |\n", key->name,
             config_key_kind_name(key->kind), quote, default_value, quote, range, key->help);
}

/* Compares the next table at *at with the keys, row by row. Moves *at after it. */
static void expect_table(const char **at, const struct config_key *keys, uint32_t count)
{
    static const char line[] = "| --- | --- | --- | --- | --- |\n";
    char row[ROW_MAX];
    *at = strstr(*at, line);
    cr_assert_not_null(*at);
    *at += strlen(line);
    for (uint32_t i = 0; i < count; i++) {
        make_row(&keys[i], row);
        cr_assert_eq(strncmp(*at, row, strlen(row)), 0, "docs/cluster.md must have:\n%s", row);
        *at += strlen(row);
    }
    cr_assert_neq(**at, '|', "a row too many: %.80s", *at);
}

Test(cluster_doc, docs_list_every_key)
{
    const char *at = project_file("docs/cluster.md");
    expect_table(&at, cluster_keys, CLUSTER_KEYS);
    expect_table(&at, cluster_executor_keys, CLUSTER_EXECUTOR_KEYS);
    cr_assert_null(strstr(at, "| --- | --- | --- | --- | --- |"));
}

static void expect_named(const char *text, const struct config_key *key)
{
    char line[128], comment[128];
    snprintf(line, sizeof line, "\n%s = ", key->name);
    snprintf(comment, sizeof comment, "\n# %s = ", key->name);
    cr_expect(strstr(text, line) != NULL || strstr(text, comment) != NULL, "cluster.toml: no %s",
              key->name);
}

Test(cluster_doc, example_names_every_key)
{
    const char *text = project_file("cluster.toml");
    for (uint32_t i = 0; i < CLUSTER_KEYS; i++) expect_named(text, &cluster_keys[i]);
    for (uint32_t i = 0; i < CLUSTER_EXECUTOR_KEYS; i++)
        expect_named(text, &cluster_executor_keys[i]);
}
