/* Reading cluster files: every key, which source wins, and what is rejected with which message. */
#include "engine/cli/cluster_file.h"
#include "tests/support/memory_env.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONE "[[executor]]\nid = \"e1\"\nport = 7401\n"

static struct cluster_file file;
static struct memory_env fake_env;
static struct glint_error error;
static struct cluster_option options[4];
static struct cluster_source source;

static void init(void)
{
    source = (struct cluster_source){.path = "c.toml", .options = options};
    unsetenv("GLINT_CLUSTER");
    setenv("XDG_STATE_HOME", "/state", 1);
}

static void fini(void)
{
    cluster_file_fini(&file);
    cr_expect_eq(fake_env.open_files, 0);
}

TestSuite(cluster_file, .init = init, .fini = fini);

static const struct cluster_key *key_named(const char *name)
{
    for (uint32_t i = 0; i < CLUSTER_KEYS; i++)
        if (strcmp(cluster_keys[i].name, name) == 0) return &cluster_keys[i];
    cr_assert_fail("no key %s", name);
    return NULL;
}

static int read_text(const char *text)
{
    cluster_file_fini(&file);
    memset(&error, 0, sizeof error);
    memory_env_init(&fake_env, text, strlen(text));
    return cluster_file_read(&file, &fake_env.env, &source, &error);
}

static const struct cluster *read_sound(const char *text)
{
    int code = read_text(text);
    cr_assert_eq(code, GLINT_OK, "%s", error.cause);
    return &file.cluster;
}

static void expect_rejected(const char *text, const char *cause)
{
    cr_expect_eq(read_text(text), GLINT_E_CONFIG, "%s", text);
    cr_expect_not_null(strstr(error.cause, cause), "%s: %s", text, error.cause);
    cr_expect_neq(error.hint[0], '\0', "%s: no hint", text);
}

Test(cluster_file, defaults_apply)
{
    const struct cluster *c = read_sound(ONE);
    cr_expect_str_eq(c->name, "glint");
    cr_expect_null(c->secret_file);
    cr_expect_not(c->insecure_plaintext);
    cr_expect_eq(c->launch, LAUNCH_NONE);
    cr_expect_str_eq(c->launch_command[0], "ssh");
    cr_expect_str_eq(c->launch_command[9], "{id}");
    cr_expect_str_eq(c->launch_command[10], "--launched");
    cr_expect_null(c->launch_command[11]);
    cr_expect_str_eq(c->log_dir, "/state/glint/log/glint");
    cr_expect_eq(c->log_bytes_max, 16 * MIB);
    cr_expect_eq(c->drivers_max, 1);
    cr_expect(c->ports.first == 0 && c->ports.last == 0);
    cr_expect_eq(c->heartbeat.heartbeat_ns, 1000000000);
    cr_expect_eq(c->heartbeat.suspect_ns, 5000000000);
    cr_expect_eq(c->heartbeat.dead_ns, 10000000000);
    cr_expect_eq(c->connect_ms, 5000);
    cr_expect_eq(c->start_ms, 30000);
    cr_expect_eq(c->drain_ms, 30000);
    cr_expect_eq(c->fetch_ms, 60000);
    cr_expect_not(c->speculate);
    cr_assert_eq(c->executor_count, 1);
    cr_expect_str_eq(c->executors[0].host, "127.0.0.1");
    cr_expect_geq(c->executors[0].slots, 1);
    cr_expect_eq(c->executors[0].memory_bytes, GIB);
    cr_expect_null(c->executors[0].work_dir);
    for (uint32_t i = 0; i < CLUSTER_KEYS; i++) cr_expect_eq(file.origins[i].from, FROM_DEFAULT);
}

Test(cluster_file, every_key_is_read)
{
    source.path = "/c.toml"; /* the path of the checkout may contain anything */
    const struct cluster *c = read_sound(
        "cluster = 'lab'\nsecret_file = '/s'\ninsecure_plaintext = false\nlaunch = 'ssh'\n"
        "launch_command = ['rsh', '--host={host}', '{id}{config}']\nlog_dir = '/l'\n"
        "log_bytes_max = 1048576\ndrivers_max = 2\nports = '7500-7599'\nheartbeat = '200ms'\n"
        "suspect = '1.5s'\ndead = '2s'\nconnect = '1s'\nstart = '2m'\ndrain = '1h'\nfetch = '90'\n"
        "speculate = true\n[[executor]]\nid = 'n-1.a_b'\nhost = 'n1.example.org'\nport = 65535\n"
        "slots = 4\nmemory = '2G'\nwork_dir = '/w'\n");
    cr_expect_str_eq(c->name, "lab");
    cr_expect_str_eq(c->secret_file, "/s");
    cr_expect_not(c->insecure_plaintext);
    cr_expect_eq(c->launch, LAUNCH_SSH);
    cr_expect_str_eq(c->launch_command[2], "{id}{config}");
    cr_expect_null(c->launch_command[3]);
    cr_expect_str_eq(c->log_dir, "/l");
    cr_expect_eq(c->log_bytes_max, MIB);
    cr_expect_eq(c->drivers_max, 2);
    cr_expect(c->ports.first == 7500 && c->ports.last == 7599);
    cr_expect_eq(c->heartbeat.heartbeat_ns, 200000000);
    cr_expect_eq(c->heartbeat.suspect_ns, 1500000000);
    cr_expect_eq(c->connect_ms, 1000);
    cr_expect_eq(c->start_ms, 120000);
    cr_expect_eq(c->drain_ms, 3600000);
    cr_expect_eq(c->fetch_ms, 90000);
    cr_expect(c->speculate);
    cr_expect_str_eq(c->executors[0].id, "n-1.a_b");
    cr_expect_str_eq(c->executors[0].host, "n1.example.org");
    cr_expect_eq(c->executors[0].port, 65535);
    cr_expect_eq(c->executors[0].slots, 4);
    cr_expect_eq(c->executors[0].memory_bytes, 2 * GIB);
    cr_expect_str_eq(c->executors[0].work_dir, "/w");
    for (uint32_t i = 0; i < CLUSTER_KEYS; i++) cr_expect_eq(file.origins[i].at.line, i + 1);
    for (uint32_t i = 0; i < CLUSTER_EXECUTOR_KEYS; i++)
        cr_expect_eq(file.executor_origins[0][i].at.line, CLUSTER_KEYS + 2 + i);
}

Test(cluster_file, option_over_environment_over_file)
{
    char text[128];
    setenv("GLINT_HEARTBEAT", "300ms", 1);
    setenv("GLINT_SUSPECT", "3s", 1);
    setenv("GLINT_DEAD", "", 1);
    setenv("GLINT_SPECULATE", "true", 1);
    setenv("GLINT_LAUNCH_COMMAND", "['run', '{id}']", 1);
    setenv("GLINT_EXECUTOR", "ignored", 1);
    options[source.option_count++] = (struct cluster_option){key_named("heartbeat"), "400ms"};
    const struct cluster *c = read_sound("heartbeat = '2s'\nsuspect = '4s'\ndead = '6s'\n" ONE);
    cr_expect_eq(c->heartbeat.heartbeat_ns, 400000000);
    cr_expect_eq(c->heartbeat.suspect_ns, 3000000000);
    cr_expect_eq(c->heartbeat.dead_ns, 6000000000);
    cr_expect(c->speculate);
    cr_expect_str_eq(c->launch_command[0], "run");
    static const char *const origins[][2] = {{"heartbeat", "option --heartbeat"},
                                             {"suspect", "environment GLINT_SUSPECT"},
                                             {"dead", "c.toml:3"},
                                             {"start", "default"}};
    for (size_t i = 0; i < 4; i++) {
        const struct cluster_key *key = key_named(origins[i][0]);
        cluster_origin_text(&file, key, &file.origins[key - cluster_keys], text, sizeof text);
        cr_expect_str_eq(text, origins[i][1]);
    }
}

Test(cluster_file, overriding_values_are_checked)
{
    options[source.option_count++] = (struct cluster_option){key_named("drivers_max"), "0"};
    cr_expect_eq(read_text(ONE), GLINT_E_BAD_VALUE);
    cr_expect_not_null(strstr(error.cause, "--drivers-max is 0"), "%s", error.cause);
    source.option_count = 0;
    setenv("GLINT_DEAD", "late", 1);
    expect_rejected(ONE, "GLINT_DEAD is \"late\"");
    setenv("GLINT_DEAD", "4s", 1);
    expect_rejected("suspect = '5s'\n" ONE, "c.toml:1:11: heartbeat < suspect < dead is required");
}

Test(cluster_file, environment_names_the_file)
{
    source.path = NULL;
    cr_assert_eq(read_text(ONE), GLINT_OK);
    cr_expect_null(file.cluster.path, "no file is fine");
    cr_expect_eq(file.cluster.executor_count, 0);
    setenv("GLINT_CLUSTER", "/etc/c.toml", 1);
    cr_expect_str_eq(read_sound(ONE)->path, "/etc/c.toml");
    cr_expect_str_eq(file.cluster.name, "glint", "the name is not the environment's");
}

Test(cluster_file, relative_paths_resolve_from_the_file)
{
    setenv("GLINT_LOG_DIR", "/elsewhere", 1);
    source.path = "/etc/glint/c.toml";
    cr_expect_str_eq(read_sound("secret_file = 'secret'\n" ONE)->secret_file, "/etc/glint/secret");
    cr_expect_str_eq(file.cluster.log_dir, "/elsewhere");
    source.path = "/c.toml";
    cr_expect_str_eq(read_sound("secret_file = 'secret'\n" ONE)->secret_file, "/secret");
    source.path = "c.toml";
    cr_expect_eq(read_sound(ONE)->path[0], '/');
}

Test(cluster_file, errors_name_line_column_and_suggest_a_key)
{
    expect_rejected("", "c.toml:1:1: the file has no [[executor]]");
    expect_rejected("executor = []", "the file has no [[executor]]");
    expect_rejected("cluster = 'a'\nhartbeat = '1s'\n" ONE, "c.toml:2:1: unknown key hartbeat");
    cr_expect_not_null(strstr(error.hint, "did you mean heartbeat?"));
    expect_rejected(ONE "prot = 1\n", "c.toml:4:1: unknown key prot in [[executor]]");
    cr_expect_not_null(strstr(error.hint, "did you mean port?"));
    expect_rejected("[[excutor]]\n", "unknown key excutor");
    cr_expect_not_null(strstr(error.hint, "did you mean executor?"));
    expect_rejected("slots = 1\n" ONE, "unknown key slots");
    cr_expect_not_null(strstr(error.hint, "[[executor]]"));
    expect_rejected(ONE "dead = '1s'\n", "unknown key dead in [[executor]]");
    expect_rejected("dead = '9s'\ndead = '9s'\n" ONE, "c.toml:2:");
    expect_rejected("[executor]\nid = 'e1'\n", "c.toml:1:2: executor must be a list of tables");
    expect_rejected("executor = ['e1']\n", "executor must be a list of tables");
    expect_rejected("[[executor]]\nid = 'e1'\n", "c.toml:1:1: an [[executor]] has no port");
    expect_rejected("[[executor]]\nport = 1\n", "an [[executor]] has no id");
}

Test(cluster_file, wrong_types_and_ranges_are_rejected)
{
    expect_rejected("heartbeat = 1\n" ONE, "c.toml:1:13: heartbeat is 1; it must be a time");
    expect_rejected("heartbeat = '9ms'\n" ONE, "10ms to 1h");
    expect_rejected("heartbeat = '61m'\n" ONE, "10ms to 1h");
    expect_rejected("drivers_max = '1'\n" ONE, "is \"1\"; it must be a whole number, 1 to 64");
    expect_rejected("drivers_max = 1.0\n" ONE, "a number with a fraction");
    expect_rejected("drivers_max = -1\n" ONE, "is -1");
    expect_rejected("drivers_max = 65\n" ONE, "is 65");
    static const char *const no_ports[] = {"7500",      "7599-7500", "0-10", "65000-65536",
                                           "7000-8000", "-7500-1",   "a-b",  "7500-"};
    for (size_t i = 0; i < sizeof no_ports / sizeof no_ports[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "ports = '%s'\n" ONE, no_ports[i]);
        expect_rejected(text, "the first and the last of at most 1000 ports");
    }
    expect_rejected("ports = 7500\n" ONE, "is 7500; it must be the first and the last");
    expect_rejected("speculate = 1\n" ONE, "true or false");
    expect_rejected("launch = 'rsh'\n" ONE, "\"local\", \"ssh\" or \"none\"");
    expect_rejected("launch_command = []\n" ONE, "a program and its arguments");
    expect_rejected("launch_command = ['']\n" ONE, "a program and its arguments");
    expect_rejected("launch_command = ['ssh', '{hots}']\n" ONE, "are allowed in braces");
    expect_rejected("log_bytes_max = '1K'\n" ONE, "64K to 1T");
    expect_rejected("log_dir = '~/log'\n" ONE, "~ and $ are not expanded");
    expect_rejected("log_dir = ''\n" ONE, "a path");
    expect_rejected("cluster = '-x'\n" ONE, "begin with a letter");
    expect_rejected("cluster = 2026-11-21\n" ONE, "is a date");
    expect_rejected("dead.x = 1\n" ONE, "dead is a table");
    expect_rejected("[[executor]]\nid = '../x'\nport = 1\n", "begin with a letter");
    expect_rejected("[[executor]]\nid = 'a'\nport = 0\n", "1 to 65535");
    expect_rejected("[[executor]]\nid = 'a'\nport = 65536\n", "1 to 65535");
    expect_rejected(ONE "host = '-oProxyCommand=x'\n", "a host name or address");
    expect_rejected(ONE "memory = '15M'\n", "16M to 128T");
    expect_rejected(ONE "slots = 257\n", "1 to 256");
}

Test(cluster_file, conflicting_values_are_rejected)
{
    expect_rejected("heartbeat = '5s'\n" ONE, "c.toml:1:13: heartbeat < suspect < dead");
    expect_rejected("suspect = '2s'\ndead = '2s'\n" ONE, "c.toml:2:8:");
    expect_rejected(ONE ONE, "c.toml:5:6: duplicate id e1 (line 2)");
    expect_rejected(ONE "[[executor]]\nid = 'e2'\nhost = 'LOCALHOST'\nport = 7401\n",
                    "c.toml:7:8: e1 and e2 have the same address");
    expect_rejected("drivers_max = 3\nports = '7500-7501'\n" ONE "slots = 3\n",
                    "c.toml:2:9: 2 ports for drivers_max = 3");
    expect_rejected("drivers_max = 2\n" ONE "slots = 1\n", "c.toml:5:9: executor e1 has 1 slots");
    expect_rejected(ONE "slots = 2\nmemory = '16M'\n", "c.toml:5:10: executor e1 has less than");
    read_sound(ONE "[[executor]]\nid = 'e2'\nhost = '127.0.0.2'\nport = 7401\n");
}

Test(cluster_file, non_loopback_needs_a_secret_or_opt_out)
{
    static const char *const own[] = {"localhost", "127.0.0.1", "127.9.9.9", "::1"};
    static const char *const others[] = {"10.0.0.1", "node", "fe80::1", "128.0.0.1", "127.0.0.1.x"};
    char text[256];
    for (size_t i = 0; i < 4; i++) {
        snprintf(text, sizeof text, ONE "host = '%s'\n", own[i]);
        read_sound(text);
    }
    for (size_t i = 0; i < 5; i++) {
        snprintf(text, sizeof text, ONE "host = '%s'\n", others[i]);
        expect_rejected(text, "c.toml:4:8: executor e1 would listen on");
        cr_expect_not_null(strstr(error.hint, "glint secret new"));
        cr_expect_not_null(strstr(error.hint, "insecure_plaintext = true"));
        snprintf(text, sizeof text, "secret_file = 's'\n" ONE "host = '%s'\n", others[i]);
        read_sound(text);
        snprintf(text, sizeof text, "insecure_plaintext = true\n" ONE "host = '%s'\n", others[i]);
        read_sound(text);
    }
    expect_rejected("secret_file = 's'\n" ONE "host = '0.0.0.0'\n", "no node can connect to it");
}

Test(cluster_file, path_unsafe_in_remote_shell_is_rejected)
{
    static const char *const wrong[] = {"/a b/c.toml", "/$(id)/c.toml", "/a;id/c.toml",
                                        "/a&b/c.toml", "/~/c.toml",     "/a*/c.toml"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        source.path = wrong[i];
        expect_rejected("launch = 'ssh'\n" ONE,
                        ":1:10: with launch = \"ssh\" a shell on each host");
        read_sound("launch = 'local'\n" ONE); /* launch = local runs no shell */
        read_sound("launch = 'ssh'\nlaunch_command = ['ssh', '{host}', 'start', '{id}']\n" ONE);
    }
    source.path = "/srv/glint-1/c_2.toml";
    read_sound("launch = 'ssh'\n" ONE);
}

Test(cluster_file, launched_executors_need_a_log_dir)
{
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/home/me", 1);
    cr_expect_str_eq(read_sound(ONE)->log_dir, "/home/me/.local/state/glint/log/glint");
    unsetenv("HOME");
    cr_expect_null(read_sound(ONE)->log_dir);
    expect_rejected("launch = 'local'\n" ONE, "c.toml:1:10: launched executors need");
}

Test(cluster_file, listening_driver_needs_no_executors)
{
    source.listens = true;
    cr_expect_eq(read_sound("cluster = 'a'\n")->executor_count, 0);
}

Test(cluster_file, executor_count_is_limited)
{
    static char text[CLUSTER_EXECUTORS_MAX * 64 + 128];
    size_t used = 0;
    for (unsigned i = 0; i <= CLUSTER_EXECUTORS_MAX; i++) {
        if (i == CLUSTER_EXECUTORS_MAX)
            cr_expect_eq(read_sound(text)->executor_count, CLUSTER_EXECUTORS_MAX);
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "[[executor]]\nid = 'e%u'\nport = %u\n", i, i + 1);
    }
    expect_rejected(text, "1025 executors; the maximum is 1024");
}

Test(cluster_file, read_failure_is_an_error)
{
    for (uint64_t at = 1; at <= 3; at++) {
        memset(&error, 0, sizeof error);
        memory_env_init(&fake_env, ONE, strlen(ONE));
        fake_env.fail_at = at;
        cr_expect_eq(cluster_file_read(&file, &fake_env.env, &source, &error), GLINT_E_CONFIG);
        cr_expect_eq(fake_env.open_files, 0);
        cluster_file_fini(&file);
    }
}

Test(cluster_file, out_of_memory_is_an_error)
{
    int code = GLINT_E_NO_MEMORY;
    for (int64_t n = 1; code != GLINT_OK; n++) {
        cr_assert_lt(n, 100);
        cluster_file_fini(&file);
        memset(&error, 0, sizeof error);
        memory_env_init(&fake_env, ONE, strlen(ONE));
        mem_fail_at(n, true);
        code = cluster_file_read(&file, &fake_env.env, &source, &error);
        mem_fail_at(0, false);
        cr_expect(code == GLINT_OK || code == GLINT_E_NO_MEMORY, "%s", error.cause);
    }
}
