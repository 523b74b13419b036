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
static struct glint_job_option rows[CLUSTER_OPTIONS_MAX];
static const struct cli_syntax syntax = {.command = "glint", .summary = "", .common = rows};
static struct cli_line line;
static bool listens;

/* The command line is --cluster `path` and `option`; both may be NULL. */
static void set_line(const char *path, const char *option)
{
    char *words[5] = {(char *)"glint"};
    int count = 1;
    if (path != NULL) words[count++] = (char *)"--cluster";
    if (path != NULL) words[count++] = (char *)path;
    if (option != NULL) words[count++] = (char *)option;
    memset(&error, 0, sizeof error);
    cli_line_fini(&line);
    cluster_option_table(NULL, rows);
    cr_assert(cli_line_parse(&line, &syntax, count, words, &error), "%s", error.cause);
}

static void init(void)
{
    set_line("c.toml", NULL);
    unsetenv("GLINT_CLUSTER");
    setenv("XDG_STATE_HOME", "/state", 1);
}

static void fini(void)
{
    cluster_file_fini(&file);
    cli_line_fini(&line);
    cr_expect_eq(fake_env.open_files, 0);
}

TestSuite(cluster_file, .init = init, .fini = fini);

static int read_text(const char *text)
{
    cluster_file_fini(&file);
    memset(&error, 0, sizeof error);
    memory_env_init(&fake_env, text, strlen(text));
    return cluster_file_read(&file, &fake_env.env, &line, listens, &error);
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
    cr_expect_null(c->driver_host);
    cr_expect(c->driver_ports.first == 0 && c->driver_ports.last == 0);
    cr_expect(c->allow_programs, "own secret, loopback only");
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
    set_line("/c.toml", NULL); /* the path of the checkout may contain anything */
    const struct cluster *c = read_sound(
        "cluster = 'lab'\nsecret_file = '/s'\ninsecure_plaintext = false\n"
        "allow_programs = true\nallow_commands = true\npython = '/p'\n"
        "launch = 'ssh'\n"
        "launch_command = ['rsh', '--host={host}', '{id}{config}']\nlog_dir = '/l'\n"
        "log_bytes_max = 1048576\ndrivers_max = 2\nports = '7500-7599'\n"
        "driver_host = 'd.example.org'\ndriver_ports = '7600-7620'\nheartbeat = '200ms'\n"
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
    cr_expect(c->allow_programs);
    cr_expect(c->allow_commands);
    cr_expect_str_eq(c->python, "/p");
    cr_expect_str_eq(c->driver_host, "d.example.org");
    cr_expect(c->driver_ports.first == 7600 && c->driver_ports.last == 7620);
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
    set_line("c.toml", "--heartbeat=400ms");
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
        const struct config_key *key = config_key_find(cluster_keys, CLUSTER_KEYS, origins[i][0]);
        cluster_key_origin_format(&file, key, &file.origins[key - cluster_keys], text, sizeof text);
        cr_expect_str_eq(text, origins[i][1]);
    }
}

Test(cluster_file, overriding_values_are_checked)
{
    set_line("c.toml", "--drivers-max=0");
    cr_expect_eq(read_text(ONE), GLINT_E_BAD_VALUE);
    cr_expect_not_null(strstr(error.cause, "--drivers-max is 0"), "%s", error.cause);
    set_line("c.toml", NULL);
    setenv("GLINT_DEAD", "late", 1);
    expect_rejected(ONE, "GLINT_DEAD is \"late\"");
    setenv("GLINT_DEAD", "4s", 1);
    expect_rejected("suspect = '5s'\n" ONE, "c.toml:1:11: heartbeat < suspect < dead is required");
}

Test(cluster_file, environment_names_the_file)
{
    set_line(NULL, NULL);
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
    set_line("/etc/glint/c.toml", NULL);
    cr_expect_str_eq(read_sound("secret_file = 'secret'\n" ONE)->secret_file, "/etc/glint/secret");
    cr_expect_str_eq(file.cluster.log_dir, "/elsewhere");
    set_line("/c.toml", NULL);
    cr_expect_str_eq(read_sound("secret_file = 'secret'\n" ONE)->secret_file, "/secret");
    set_line("c.toml", NULL);
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
    expect_rejected("drivers_max = '1'\n" ONE, "is \"1\"; it must be a whole number from 1 to 64");
    expect_rejected("drivers_max = 1.0\n" ONE, "a number with a fraction");
    expect_rejected("drivers_max = -1\n" ONE, "is -1");
    expect_rejected("drivers_max = 65\n" ONE, "is 65");
    static const char *const no_ports[] = {"0",         "7599-7500", "0-10", "65000-65536",
                                           "7000-8000", "-7500-1",   "a-b",  "7500-",
                                           "65536",     ""};
    for (size_t i = 0; i < sizeof no_ports / sizeof no_ports[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "ports = '%s'\n" ONE, no_ports[i]);
        expect_rejected(text, "a port, or the first and the last of at most 1000 ports");
    }
    expect_rejected("ports = 65536\n" ONE, "is 65536; it must be a port");
    expect_rejected("driver_ports = -1\n" ONE, "is -1; it must be a port");
    expect_rejected("driver_host = '-d'\n" ONE, "a host name or address");
    expect_rejected("allow_programs = 1\n" ONE, "true or false");
    expect_rejected("speculate = 1\n" ONE, "true or false");
    expect_rejected("launch = 'rsh'\n" ONE, "launch is \"rsh\"; it must be one of none local ssh");
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

Test(cluster_file, ports_may_be_one_port)
{
    const struct cluster *c = read_sound("ports = 7500\ndriver_ports = '7600'\n" ONE);
    cr_expect(c->ports.first == 7500 && c->ports.last == 7500);
    cr_expect(c->driver_ports.first == 7600 && c->driver_ports.last == 7600);
    expect_rejected("drivers_max = 2\nports = 7500\n" ONE "slots = 2\n",
                    "c.toml:2:9: 1 ports for drivers_max = 2");
}

Test(cluster_file, programs_are_allowed_by_default_only_with_own_secret)
{
    cr_expect(read_sound(ONE)->allow_programs);
    cr_expect_not(read_sound("allow_programs = false\n" ONE)->allow_programs);
    cr_expect_not(read_sound("secret_file = 's'\n" ONE)->allow_programs);
    cr_expect(read_sound("secret_file = 's'\nallow_programs = true\n" ONE)->allow_programs);
    cr_expect_not(read_sound("insecure_plaintext = true\n" ONE)->allow_programs);
    expect_rejected("insecure_plaintext = true\nallow_programs = true\n" ONE,
                    "c.toml:2:18: allow_programs and insecure_plaintext cannot both be true");
    set_line("c.toml", "--allow-programs");
    expect_rejected("insecure_plaintext = true\n" ONE, "c.toml:1:22: allow_programs and");
    cr_expect(read_sound("secret_file = 's'\n" ONE)->allow_programs);
}

Test(cluster_file, commands_are_allowed_by_default_as_programs)
{
    cr_expect(read_sound(ONE)->allow_commands);
    cr_expect(read_sound("allow_programs = false\n" ONE)->allow_commands);
    cr_expect_not(read_sound("allow_commands = false\n" ONE)->allow_commands);
    cr_expect_not(read_sound("secret_file = 's'\n" ONE)->allow_commands);
    cr_expect(read_sound("secret_file = 's'\nallow_commands = true\n" ONE)->allow_commands);
    cr_expect_not(read_sound("insecure_plaintext = true\n" ONE)->allow_commands);
    expect_rejected("insecure_plaintext = true\nallow_commands = true\n" ONE,
                    "c.toml:2:18: allow_commands and insecure_plaintext cannot both be true");
}

Test(cluster_file, driver_host_needs_a_secret_unless_loopback)
{
    cr_expect_str_eq(read_sound("driver_host = 'localhost'\n" ONE)->driver_host, "localhost");
    expect_rejected("driver_host = '10.0.0.1'\n" ONE,
                    "c.toml:1:15: the driver would listen on 10.0.0.1");
    cr_expect_not_null(strstr(error.hint, "glint secret new"));
    expect_rejected("driver_host = '::'\n" ONE, "driver_host :: is the wildcard address");
    cr_expect_str_eq(read_sound("secret_file = 's'\ndriver_host = 'd'\n" ONE)->driver_host, "d");
}

Test(cluster_file, path_unsafe_in_remote_shell_is_rejected)
{
    static const char *const wrong[] = {"/a b/c.toml", "/$(id)/c.toml", "/a;id/c.toml",
                                        "/a&b/c.toml", "/~/c.toml",     "/a*/c.toml"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        set_line(wrong[i], NULL);
        expect_rejected("launch = 'ssh'\n" ONE,
                        ":1:10: with launch = \"ssh\" a shell on each host");
        read_sound("launch = 'local'\n" ONE); /* launch = local runs no shell */
        read_sound("launch = 'ssh'\nlaunch_command = ['ssh', '{host}', 'start', '{id}']\n" ONE);
    }
    set_line("/srv/glint-1/c_2.toml", NULL);
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
    listens = true;
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
        cluster_file_read(&file, &fake_env.env, &line, listens, &error);
        cr_expect_eq(error.code, GLINT_E_CONFIG);
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
        code = cluster_file_read(&file, &fake_env.env, &line, listens, &error);
        mem_fail_at(0, false);
        cr_expect(code == GLINT_OK || code == GLINT_E_NO_MEMORY, "%s", error.cause);
    }
}
