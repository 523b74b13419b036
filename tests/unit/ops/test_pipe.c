/* pipe: lines through processes, with one and several slots; what commands do wrong; and no process
 * is left. */
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void pipe_end(void)
{
    scratch_close();
    cr_expect(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a process is left");
}

TestSuite(pipe, .init = scratch_open, .fini = pipe_end);

#define LINES 20000u

struct plan {
    const char *argv[8];
    const char *env[3];
    const int *ok;
    bool combine;
    char path[PATH_BYTES];
};

/* Lines of up to 31 bytes, some empty, one of over 1 MiB; NUL bytes in some. */
static struct table lines_make(uint32_t count, struct plan *p)
{
    struct table lines = {.schema = {GLINT_NONE, GLINT_TEXT}};
    struct buffer file = {NULL, 0, 0};
    uint64_t seed = 1;
    char line[64];
    for (uint32_t i = 0; i < count; i++) {
        int size = snprintf(line, sizeof line, "%.*s", (int)(test_next(&seed) % 32),
                            "abcdefghijklmnopqrstuvwxyzabcdef");
        if (size > 3 && i > 1000 && i % 100 == 0) line[2] = '\0';
        const uint64_t start = file.size;
        cr_assert(buffer_append(&file, line, (uint64_t)size));
        for (uint32_t n = 0; i == count / 2 && n < 300000; n++)
            cr_assert(buffer_append(&file, "long", 4));
        table_add(&lines, none(), bytes(file.data + start, file.size - start));
        cr_assert(buffer_append(&file, "\n", 1));
    }
    scratch_write("lines", file.data, file.size);
    scratch_path("lines", p->path);
    buffer_fini(&file);
    return lines;
}

static struct glint_rdd *pipe_lines(struct glint_rdd *rdd, const struct plan *p)
{
    const struct glint_command command = {
        .argv = p->argv, .env = p->env, .ok = p->ok, .combine = p->combine};
    return glint_pipe_command(rdd, &command);
}

static struct glint_rdd *make_lines(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return pipe_lines(glint_text_file(g, p->path), p);
}

/* Rows that are not consecutive lines in memory. */
static struct glint_rdd *make_selected(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    struct glint_rdd *lines = glint_text_file(g, p->path);
    return pipe_lines(glint_sample(lines, 1, 1), p);
}

static struct glint_rdd *make_twice(struct glint *g, void *arg)
{
    return pipe_lines(make_lines(g, arg), arg);
}

static struct glint_rdd *make_pairs(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return pipe_lines(glint_key_value_text_file(g, p->path, ','), p);
}

Test(pipe, cat_gives_the_same_lines)
{
    struct plan p = {.argv = {"cat"}};
    struct table lines = lines_make(LINES, &p);
    const uint64_t split_bytes[] = {0, 65536};
    for (int i = 0; i < 2; i++) {
        const struct fixture base = {.split_bytes = split_bytes[i]};
        plan_expect(make_lines, &p, &base, &lines);
        plan_expect(make_selected, &p, &base, &lines);
        plan_expect(make_twice, &p, &base, &lines);
    }
    table_free(&lines);
}

static void expect_lines(plan_make make, struct plan *p, const char *input, const char *expected)
{
    struct table lines = {.schema = {GLINT_NONE, GLINT_TEXT}};
    struct glint_slice rest = {(const uint8_t *)expected, strlen(expected)}, line;
    if (expected[0] != '\0')
        while (glint_next_field(&rest, '|', &line))
            table_add(&lines, none(), bytes(line.data, line.size));
    scratch_write("input", input, strlen(input));
    scratch_path("input", p->path);
    plan_expect(make, p, NULL, &lines);
    table_free(&lines);
}

Test(pipe, pairs_are_lines_with_a_tab)
{
    struct plan p = {.argv = {"cat"}};
    expect_lines(make_pairs, &p, "a,1\n,2\nb\nc,,\n", "a\t1|\t2|b\t|c\t,");
}

Test(pipe, combine_sorts_by_key_and_is_stable)
{
    struct plan p = {.argv = {"cat"}, .combine = true};
    expect_lines(make_pairs, &p, "b,2\na,1\nab,0\nb,1\n,0\na,0\n", "\t0|a\t1|a\t0|ab\t0|b\t2|b\t1");
    expect_lines(make_pairs, &p, "", "");
}

/* Sorted in memory of 2 MiB, so in several runs: each is sorted. */
Test(pipe, combine_of_much_input_runs_repeatedly)
{
    struct plan p = {.argv = {"sh", "-c", "sort -c && echo run"}, .combine = true};
    const struct fixture w = {
        .name = "combine", .slots = 1, .memory_bytes = 16 * MIB, .split_bytes = 64 * MIB};
    struct buffer file = {NULL, 0, 0};
    struct glint_rows rows = {.count = 0};
    uint64_t seed = 3;
    char line[32];
    for (int i = 0; i < 100000; i++) {
        int size = snprintf(line, sizeof line, "%05u,1\n", (unsigned)(test_next(&seed) % 100000));
        cr_assert(buffer_append(&file, line, (uint64_t)size));
    }
    scratch_write("input", file.data, file.size);
    scratch_path("input", p.path);
    buffer_fini(&file);
    p.env[0] = "LC_ALL=C";
    struct glint *g = fixture_open(&w);
    glint_collect(make_pairs(g, &p), &rows);
    cr_expect(rows.count >= 2 && rows.count <= 5, "%d runs", (int)rows.count);
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
}

Test(pipe, a_last_line_without_its_end_is_a_line)
{
    struct plan p = {.argv = {"printf", "a\\nb"}};
    expect_lines(make_lines, &p, "x\n", "a|b");
}

Test(pipe, a_command_need_not_read_its_input)
{
    struct plan p = {.argv = {"head", "-n", "1"}};
    struct table lines = lines_make(LINES, &p), first = {.schema = lines.schema};
    const struct fixture base = {.split_bytes = 64 * MIB};
    table_add(&first, none(), lines.rows[0].value);
    plan_expect(make_lines, &p, &base, &first);
    table_free(&lines);
    table_free(&first);
}

Test(pipe, variables_of_the_call_and_of_hadoop)
{
    struct plan p = {.argv = {"sh", "-c",
                              "echo $A $mapreduce_task_partition $mapred_task_is_map;"
                              "basename $map_input_file; echo ${mapreduce_task_id#task_*_}"},
                     .env = {"A=1=2", "mapreduce_task_partition=9"}};
    expect_lines(make_lines, &p, "x\n", "1=2 9 true|input|0001_m_000000");
}

/* ls opens the directory as 3. */
Test(pipe, a_command_has_three_files)
{
    struct plan p = {.argv = {"ls", "/proc/self/fd"}};
    int more = dup(0);
    expect_lines(make_lines, &p, "x\n", "0|1|2|3");
    close(more);
}

Test(pipe, signals_have_their_default)
{
    struct plan p = {.argv = {"grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"}};
    expect_lines(make_lines, &p, "x\n", "SigBlk:\t0000000000000000|SigIgn:\t0000000000000000");
}

static void expect_failure(struct plan *p, enum glint_code code, const char *cause)
{
    scratch_write("input", "x\n", 2);
    scratch_path("input", p->path);
    plan_expect_error(make_lines, p, NULL, code, cause);
}

Test(pipe, exit_status_is_checked)
{
    struct plan p = {.argv = {"sh", "-c", "cat >&2; echo why >&2; exit 3"}};
    static const int ok[] = {3, 0, -1};
    expect_failure(&p, GLINT_E_COMMAND_FAILED,
                   "exit 3 exited with status 3; the end of its standard error:\nx\nwhy");
    p.ok = ok;
    expect_lines(make_lines, &p, "x\n", "");
}

Test(pipe, death_by_a_signal_is_an_error)
{
    struct plan p = {.argv = {"sh", "-c", "kill -TERM $$"}};
    expect_failure(&p, GLINT_E_COMMAND_KILLED, "was killed by signal 15 (TERM)");
}

Test(pipe, what_cannot_be_started_is_an_error)
{
    char script[PATH_BYTES];
    struct plan p = {.argv = {"no-such-command"}};
    expect_failure(&p, GLINT_E_COMMAND_FAILED, "no-such-command was not found in $PATH");
    p.argv[0] = "/no/such/command";
    expect_failure(&p, GLINT_E_COMMAND_FAILED, "/no/such/command, or the interpreter");
    scratch_write("script", "echo\n", 5);
    p.argv[0] = scratch_path("script", script);
    expect_failure(&p, GLINT_E_COMMAND_FAILED, "script is not executable");
    chmod(script, 0700);
    expect_failure(&p, GLINT_E_COMMAND_FAILED, "script is not a program for this machine");
    scratch_write("script", "#!/no/such\n", 11);
    chmod(script, 0700);
    expect_failure(&p, GLINT_E_COMMAND_FAILED, "or the interpreter that it names, does not exist");
}

/* In its own group: it is killed with the command. */
Test(pipe, a_process_that_is_left_is_killed)
{
    struct plan p = {.argv = {"sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!"}};
    scratch_write("input", "x\n", 2);
    scratch_path("input", p.path);
    struct glint_rows rows = {.count = 0};
    struct glint *g = fixture_open(&fixtures[0]);
    cr_assert_eq(glint_collect(make_lines(g, &p), &rows), 0, "%s", glint_error(g)->cause);
    cr_assert_eq(rows.count, 1u);
    char path[64];
    const struct glint_slice pid = glint_rows_at(&rows, 0).value.bytes;
    snprintf(path, sizeof path, "/proc/%.*s/cmdline", (int)pid.size, (const char *)pid.data);
    char name[8] = "";
    for (int i = 0; i < 500; i++) { /* init reaps it */
        FILE *file = fopen(path, "r");
        name[0] = '\0';
        if (file != NULL && fread(name, 1, 5, file) == 0) name[0] = '\0';
        if (file != NULL) fclose(file);
        if (name[0] == '\0') break;
        poll(NULL, 0, 10);
    }
    cr_expect_str_eq(name, "");
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
}

Test(pipe, a_process_that_keeps_the_output_open_is_an_error)
{
    struct plan p = {.argv = {"sh", "-c", "sleep 1000 &"}};
    struct glint_rows rows = {.count = 0};
    scratch_write("input", "x\n", 2);
    scratch_path("input", p.path);
    struct glint *g = fixture_open(&fixtures[1]);
    glint_collect(make_lines(g, &p), &rows);
    cr_expect_eq(glint_error(g)->code, GLINT_E_COMMAND_FAILED);
    cr_expect_not_null(strstr(glint_error(g)->cause, "keeps its output open"));
    fixture_close(g, GLINT_E_COMMAND_FAILED);
}

/* take needs one row of a command that never ends. */
Test(pipe, an_action_that_needs_no_more_kills_the_command)
{
    struct plan p = {.argv = {"yes"}};
    struct glint_rows rows = {.count = 0};
    scratch_write("input", "x\n", 2);
    scratch_path("input", p.path);
    struct glint *g = fixture_open(&fixtures[0]);
    cr_expect_eq(glint_take(make_lines(g, &p), 3, &rows), 0);
    cr_expect_eq(rows.count, 3u);
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
}

Test(pipe, a_line_without_end_is_an_error)
{
    struct plan p = {.argv = {"cat", "/dev/zero"}};
    expect_failure(&p, GLINT_E_LINE_TOO_LONG,
                   "cat /dev/zero printed a line of more than 16777216 bytes");
}

Test(pipe, counters_of_hadoop)
{
    struct plan p = {
        .argv = {"sh", "-c",
                 "echo reporter:counter:g,c,2 >&2; echo reporter:counter:g,c,x >&2;"
                 "echo reporter:counter:g,c >&2; echo reporter:counter:a,b,c,1 >&2;"
                 "echo reporter:status:fine >&2; printf reporter:counter:g,c,40 >&2; cat"}};
    struct glint_rows rows = {.count = 0};
    scratch_write("input", "x\n", 2);
    scratch_path("input", p.path);
    struct glint *g = fixture_open(&fixtures[1]);
    cr_expect_eq(glint_collect(make_lines(g, &p), &rows), 0);
    cr_expect_eq(glint_counter_value(g, "g: c"), 42);
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
}

static struct glint_rdd *make_numbers(struct glint *g, void *arg)
{
    const struct glint_record one = {.value = {.i64 = 1}};
    return pipe_lines(
        glint_parallelize(g, (struct glint_schema)GLINT_ELEMENTS(GLINT_I64), &one, 1, 1), arg);
}

/* ---- Records */

static struct glint_rdd *pipe_records(struct glint_rdd *rdd, const struct plan *p,
                                      struct glint_schema output)
{
    const struct glint_command command = {
        .argv = p->argv, .record_input = true, .record_output = true, .output = output};
    return glint_pipe_command(rdd, &command);
}

static struct glint_rdd *make_record_pairs(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return pipe_records(glint_key_value_text_file(g, p->path, ','), p,
                        (struct glint_schema)GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT));
}

static struct glint_rdd *make_record_elements(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return pipe_records(glint_text_file(g, p->path), p,
                        (struct glint_schema)GLINT_ELEMENTS(GLINT_TEXT));
}

static struct glint_rdd *make_record_of_numbers(struct glint *g, void *arg)
{
    const struct glint_record one = {.key = {.i64 = -2}, .value = {.f64 = 1.5}};
    return pipe_records(
        glint_parallelize(g, (struct glint_schema)GLINT_PAIRS(GLINT_I64, GLINT_F64), &one, 1, 1),
        arg, (struct glint_schema)GLINT_PAIRS(GLINT_BYTES, GLINT_BYTES));
}

Test(pipe, numbers_are_eight_bytes)
{
    static const uint8_t minus_two[] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
                         one_and_a_half[] = {0, 0, 0, 0, 0, 0, 0xf8, 0x3f};
    struct plan p = {.argv = {"cat"}};
    struct glint_rows rows = {.count = 0};
    struct glint_record record;
    struct glint *g = fixture_open(&fixtures[1]);
    cr_expect_eq(glint_collect(make_record_of_numbers(g, &p), &rows), 0);
    cr_assert_eq(rows.count, 1);
    glint_rows_records(&rows, 0, 1, &record);
    cr_expect_arr_eq(record.key.bytes.data, minus_two, sizeof minus_two);
    cr_expect_eq(record.key.bytes.size, sizeof minus_two);
    cr_expect_arr_eq(record.value.bytes.data, one_and_a_half, sizeof one_and_a_half);
    cr_expect_eq(record.value.bytes.size, sizeof one_and_a_half);
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
}

Test(pipe, cat_gives_the_same_records)
{
    struct plan p = {.argv = {"cat"}};
    struct table lines = lines_make(LINES, &p);
    const uint64_t split_bytes[] = {0, 65536};
    for (int i = 0; i < 2; i++) {
        const struct fixture base = {.split_bytes = split_bytes[i]};
        plan_expect(make_record_elements, &p, &base, &lines);
    }
    table_free(&lines);
}

Test(pipe, records_have_keys)
{
    struct plan p = {.argv = {"cat"}};
    struct table pairs = {.schema = {GLINT_TEXT, GLINT_TEXT}};
    table_add(&pairs, bytes("a", 1), bytes("b", 1));
    table_add(&pairs, bytes("", 0), bytes("c,d", 3));
    table_add(&pairs, bytes("e", 1), bytes("", 0));
    scratch_write("input", "a,b\n,c,d\ne\n", 11);
    scratch_path("input", p.path);
    plan_expect(make_record_pairs, &p, NULL, &pairs);
    table_free(&pairs);
}

Test(pipe, output_that_is_no_records_is_an_error)
{
    static const struct {
        const char *printed, *cause;
    } cases[] = {{"printf 'x'", "ends in a record"},
                 {"printf '\\0\\0\\0\\0\\2\\0\\0\\0x'", "ends in a record"},
                 {"printf '\\1\\0\\0\\0\\1\\0\\0\\0xy'", "has a key"},
                 {"exec >&-", "has no mark of its end"},
                 {"printf '\\0\\0\\0\\0\\1\\0\\0\\0x'", "has no mark of its end"},
                 {"printf '\\377\\377\\377\\377\\377\\377\\377\\377x'",
                  "goes on after the mark of its end"}};
    scratch_write("input", "a\n", 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan p = {.argv = {"sh", "-c", cases[i].printed}};
        scratch_path("input", p.path);
        plan_expect_error(make_record_elements, &p, NULL, GLINT_E_COMMAND_FAILED, cases[i].cause);
    }
}

Test(pipe, notes_are_an_accumulator)
{
    struct plan p = {
        .argv = {"sh", "-c",
                 "printf '\\0\\0\\0\\0\\1\\0\\0\\0x"
                 "\\376\\377\\377\\377\\2\\0\\0\\0\\0a\\376\\377\\377\\377\\1\\0\\0\\0b"
                 "\\377\\377\\377\\377\\377\\377\\377\\377'"}};
    struct glint_rows rows = {.count = 0};
    struct glint_cell notes;
    scratch_write("input", "a\n", 2);
    scratch_path("input", p.path);
    struct glint *g = fixture_open(&fixtures[1]);
    cr_expect_eq(glint_collect(make_record_elements(g, &p), &rows), 0);
    cr_expect_eq(rows.count, 1);
    cr_assert(glint_accumulator_value(g, GLINT_COMMAND_NOTES, &notes));
    cr_expect(notes.value.bytes.size == 3 && memcmp(notes.value.bytes.data, "\0ab", 3) == 0);
    glint_accumulator_clear(g, GLINT_COMMAND_NOTES);
    cr_expect_not(glint_accumulator_value(g, GLINT_COMMAND_NOTES, &notes));
    glint_rows_free(&rows);
    fixture_close(g, GLINT_OK);
}

/* ---- Files, and workers of a parent (extras/python/tests has one that forks) */

static struct glint_rdd *make_files(struct glint *g, void *arg)
{
    static const char text[] = "1\n2\n";
    const struct plan *p = arg;
    struct glint_args *files = glint_args(g);
    glint_args_add_broadcast(files, "data", glint_broadcast_copy(g, text, sizeof text - 1));
    const struct glint_command command = {.argv = p->argv, .files = files};
    return glint_pipe_command(glint_text_file(g, p->path), &command);
}

Test(pipe, broadcasts_are_files_of_a_command)
{
    struct plan p = {.argv = {"cat", "{data}", "{data}"}};
    struct table lines = {.schema = {GLINT_NONE, GLINT_TEXT}};
    for (int i = 0; i < 4; i++) table_add(&lines, none(), bytes(i % 2 == 0 ? "1" : "2", 1));
    scratch_write("input", "x\n", 2);
    scratch_path("input", p.path);
    plan_expect(make_files, &p, NULL, &lines);
    table_free(&lines);
    p.argv[1] = "{other}";
    plan_expect_error(make_files, &p, NULL, GLINT_E_PLAN_ARGUMENT, "\"other\" (a broadcast)");
}

static struct glint_rdd *make_worker(struct glint *g, void *arg)
{
    static const char *const worker[] = {"word", NULL};
    const struct plan *p = arg;
    const struct glint_command command = {.argv = p->argv, .worker = worker};
    return glint_pipe_command(glint_text_file(g, p->path), &command);
}

Test(pipe, a_parent_that_starts_no_worker_is_an_error)
{
    struct plan p = {.argv = {"sh", "-c", "exit 3"}};
    scratch_write("input", "x\n", 2);
    scratch_path("input", p.path);
    plan_expect_error(make_worker, &p, NULL, GLINT_E_COMMAND_FAILED,
                      "cannot start a worker: it has ended with status 3");
    p.argv[2] = "kill -9 $$";
    plan_expect_error(make_worker, &p, NULL, GLINT_E_COMMAND_FAILED, "killed by signal 9");
    p.argv[2] = "printf '\\0\\0\\0\\0\\2\\0\\0\\0no' >&0; cat >/dev/null";
    plan_expect_error(make_worker, &p, NULL, GLINT_E_COMMAND_FAILED, "start a worker: no");
    p.argv[0] = "no-such-command";
    plan_expect_error(make_worker, &p, NULL, GLINT_E_COMMAND_FAILED, "was not found in $PATH");
}

static struct glint_rdd *make_placed(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    struct glint_record records[3];
    for (uint32_t i = 0; i < 3; i++)
        records[i] =
            (struct glint_record){.key = {.bytes = {(const uint8_t *)p->argv[i], 5}},
                                  .value = {.bytes = {(const uint8_t *)p->argv[i] + 4, 1}}};
    struct glint_rdd *rdd = glint_parallelize(
        g, (struct glint_schema)GLINT_PAIRS(GLINT_BYTES, GLINT_BYTES), records, 3, 2);
    rdd = glint_with_partitioner(glint_partition_by(rdd, 3), &GLINT_PARTITION_IN_KEY, NULL);
    return glint_values(rdd);
}

Test(pipe, a_key_names_its_partition)
{
    struct plan p = {.argv = {"\0\0\0\2a", "\0\0\0\0b", "\0\0\0\1c"}};
    struct table values = {.schema = {GLINT_NONE, GLINT_BYTES}};
    table_add(&values, none(), bytes("b", 1));
    table_add(&values, none(), bytes("c", 1));
    table_add(&values, none(), bytes("a", 1));
    plan_expect(make_placed, &p, NULL, &values);
    table_free(&values);
    p.argv[1] = "\0\0\0\3b";
    plan_expect_error(make_placed, &p, NULL, GLINT_E_FUNCTION_FAILED, "one of 3 partitions");
}

static struct glint_rdd *make_record_numbers(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return pipe_records(glint_text_file(g, p->path), p,
                        (struct glint_schema)GLINT_ELEMENTS(GLINT_I64));
}

static struct glint_rdd *make_record_combine(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return glint_pipe_command(
        glint_key_value_text_file(g, p->path, ','),
        &(const struct glint_command){.argv = p->argv, .combine = true, .record_input = true});
}

Test(pipe, records_of_numbers_are_rejected)
{
    struct plan p = {.argv = {"cat"}};
    scratch_write("input", "a\n", 2);
    scratch_path("input", p.path);
    plan_expect_error(make_record_numbers, &p, NULL, GLINT_E_PLAN_ARGUMENT,
                      "the output must be text or bytes");
    plan_expect_error(make_record_combine, &p, NULL, GLINT_E_PLAN_ARGUMENT, "combine is for lines");
}

Test(pipe, misuse_is_rejected)
{
    struct plan p = {.argv = {"cat"}};
    plan_expect_error(make_numbers, &p, NULL, GLINT_E_PLAN_ARGUMENT, "must be text or bytes");
    p.combine = true;
    expect_failure(&p, GLINT_E_PLAN_ARGUMENT, "combine needs keys");
    p.combine = false;
    p.env[0] = "A";
    expect_failure(&p, GLINT_E_PLAN_ARGUMENT, "NAME=VALUE");
    p.env[0] = NULL;
    p.argv[0] = NULL;
    expect_failure(&p, GLINT_E_PLAN_ARGUMENT, "argv is empty");
}
