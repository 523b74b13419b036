/* Files that msgpackFile must reject: truncated, corrupt, of other types, or changed; and cells
 * that saveAsMsgpackFile must not write. */
#include "engine/batch.h"
#include "engine/input/compress.h"
#include "engine/input/split.h"
#include "tests/support/memory_env.h"
#include "tests/unit/ops/msgpack_tables.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <utime.h>

TestSuite(msgpack_errors, .init = scratch_open, .fini = scratch_close);

struct plan {
    struct glint_schema schema;
    char path[PATH_BYTES];
};

static struct glint_rdd *make_file(struct glint *g, void *arg)
{
    const struct plan *p = arg;
    return glint_msgpack_file(g, p->path, p->schema);
}

/* Reads `bytes` as a file. Returns the code and sets the cause. */
static int read_bytes(struct glint_schema schema, const void *data, uint64_t size, char cause[512])
{
    struct plan p = {.schema = schema};
    struct glint_rows rows = {.count = 0};
    scratch_write("file", data, size);
    scratch_path("file", p.path);
    struct glint *g = fixture_open(&fixtures[0]);
    const int code = glint_collect(make_file(g, &p), &rows);
    snprintf(cause, 512, "%.511s", glint_error(g)->cause);
    glint_rows_free(&rows);
    fixture_close(g, code);
    return code;
}

static void expect_corrupt(struct glint_schema schema, const void *data, uint64_t size,
                           const char *wanted)
{
    char cause[512];
    cr_assert_eq(read_bytes(schema, data, size, cause), GLINT_E_MSGPACK_CORRUPT, "%s: %s", wanted,
                 cause);
    cr_assert_not_null(strstr(cause, "/file, byte "), "%s", cause);
    cr_assert_not_null(strstr(cause, wanted), "\"%s\" does not contain \"%s\"", cause, wanted);
}

Test(msgpack_errors, truncated_record_is_rejected)
{
    struct table t = {.schema = {GLINT_TEXT, GLINT_MSGPACK}};
    char cause[512], wanted[64];
    table_add(&t, text("first"), text("\x93\x01\xa1x\xcb\x01\x02\x03\x04\x05\x06\x07\x08"));
    table_add(&t, text("second"),
              text("\x81\xc4\x03xyz\xd6\x01"
                   "abcd"));
    table_add(&t, text("a third one, of more than thirty-one bytes"), text("\xcd\x01\x01"));
    struct buffer file = table_pack(&t, 0, 3);
    uint64_t starts[4] = {0};
    for (uint64_t i = 0; i < 3; i++) {
        struct buffer record = table_pack(&t, i, i + 1);
        starts[i + 1] = starts[i] + record.size;
        buffer_fini(&record);
    }
    for (uint64_t size = 0; size <= file.size; size++) {
        const int code = read_bytes(t.schema, file.data, size, cause);
        uint64_t start = 0;
        for (int i = 0; i < 4; i++)
            if (starts[i] <= size) start = starts[i];
        if (start == size) {
            cr_assert_eq(code, 0, "complete at %llu: %s", (unsigned long long)size, cause);
            continue;
        }
        snprintf(wanted, sizeof wanted, "/file, byte %llu: the file ends inside a record",
                 (unsigned long long)start);
        cr_assert_eq(code, GLINT_E_MSGPACK_CORRUPT);
        cr_assert_not_null(strstr(cause, wanted), "\"%s\" does not contain \"%s\"", cause, wanted);
    }
    buffer_fini(&file);
    table_free(&t);
}

/* A value of each kind where another type is expected, as a value and as a key. */
Test(msgpack_errors, wrong_type_is_rejected)
{
    static const struct {
        enum glint_type fits, also;
        const char *name, *bytes;
        uint64_t size;
    } kinds[] = {{GLINT_NONE, 0, "nil", "\xc0", 1},
                 {GLINT_ANY, 0, "a boolean", "\xc3", 1},
                 {GLINT_I64, 0, "an integer", "\xd1\xff\x00", 3},
                 {GLINT_I64, 0, "an integer", "\x05", 1},
                 {GLINT_ANY, 0, "an unsigned integer", "\xcf\x80\0\0\0\0\0\0\0", 9},
                 {GLINT_F64, 0, "a float", "\xca\x3f\x80\0\0", 5},
                 {GLINT_F64, 0, "a float", "\xcb\x3f\xf0\0\0\0\0\0\0", 9},
                 {GLINT_TEXT, 0, "a str", "\xd9\x01x", 3},
                 {GLINT_BYTES, 0, "a bin", "\xc4\x01x", 3},
                 {GLINT_ANY, 0, "an ext", "\xd4\x01x", 3},
                 {GLINT_ANY, 0, "an array", "\x90", 1},
                 {GLINT_ANY, 0, "a map", "\x80", 1}};
    static const char *const wanted[] = {[GLINT_NONE] = "nil",
                                         [GLINT_BYTES] = "a bin",
                                         [GLINT_TEXT] = "a str",
                                         [GLINT_I64] = "a signed integer",
                                         [GLINT_F64] = "a float"};
    char cause[512], message[128];
    for (int type = GLINT_NONE; type <= GLINT_MSGPACK; type++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            uint8_t pair[32] = {0x92, 0x07};
            const bool fits = type == GLINT_MSGPACK || kinds[k].fits == (enum glint_type)type;
            memcpy(pair + 2, kinds[k].bytes, kinds[k].size);
            const struct glint_schema value = {GLINT_I64, type}, key = {type, GLINT_I64};
            if (fits) {
                cr_assert_eq(read_bytes(value, pair, 2 + kinds[k].size, cause), 0, "%s", cause);
                continue;
            }
            snprintf(message, sizeof message, "byte 2: expected %s, found %s", wanted[type],
                     kinds[k].name);
            expect_corrupt(value, pair, 2 + kinds[k].size, message);
            if (type == GLINT_NONE) continue;
            snprintf(message, sizeof message, "byte 1: expected %s, found %s", wanted[type],
                     kinds[k].name);
            memcpy(pair + 1, kinds[k].bytes, kinds[k].size);
            pair[1 + kinds[k].size] = 0x07;
            expect_corrupt(key, pair, 2 + kinds[k].size, message);
        }
}

Test(msgpack_errors, invalid_msgpack_is_rejected)
{
    const struct glint_schema pair = {GLINT_I64, GLINT_MSGPACK}, any = {GLINT_NONE, GLINT_MSGPACK};
    uint8_t deep[64];
    memset(deep, 0x91, sizeof deep);
    expect_corrupt(pair, "\x93\x01\x02\x03", 4,
                   "byte 0: expected an array of key and value, found");
    expect_corrupt(pair, "\x92\x01\x02text", 7, "byte 3: expected an array of key and value");
    expect_corrupt(pair, "\x92\x01\xc1", 3, "byte 2: invalid");
    expect_corrupt(pair, "\xc1", 1, "byte 0: invalid");
    expect_corrupt(any, "\x92\x01\x93\x01\xc1\x01", 6, "byte 0: invalid");
    expect_corrupt(any, deep, sizeof deep, "byte 0: invalid or too deeply nested msgpack");
    expect_corrupt(pair, "\x92\x01\xc6\xff\xff\xff\xff", 7,
                   "byte 0: the file ends inside a record");
    expect_corrupt(any, "\xdf\xff\xff\xff\xff", 5, "byte 0: the file ends inside a record");
}

/* An error that is several windows into the file. */
Test(msgpack_errors, error_has_the_file_offset)
{
    struct buffer file = {NULL, 0, 0};
    char wanted[64];
    while (file.size < 1000000)
        cr_assert(buffer_append(&file,
                                "\xc4\x0c"
                                "twelve bytes",
                                14));
    snprintf(wanted, sizeof wanted, "byte %llu: expected a bin, found a str",
             (unsigned long long)file.size);
    cr_assert(buffer_append(&file, "\xa1x\xc4\x01y", 5));
    expect_corrupt((struct glint_schema){GLINT_NONE, GLINT_BYTES}, file.data, file.size, wanted);
    buffer_fini(&file);
}

static int gzip_write(void *arg, const void *data, uint64_t size)
{
    return buffer_append(arg, data, size) ? 0 : -1;
}

static void write_gzip(const char *name, const void *data, uint64_t size)
{
    struct buffer packed = {NULL, 0, 0};
    struct compressor *gzip = compressor_create(COMPRESSION_GZIP, gzip_write, &packed);
    cr_assert_not_null(gzip);
    cr_assert_eq(compressor_write(gzip, data, size), 0);
    cr_assert_eq(compressor_finish(gzip), 0);
    compressor_destroy(gzip);
    scratch_write(name, packed.data, packed.size);
    buffer_fini(&packed);
}

/* The size of a gzip file's content is unknown, so a claimed length must not cause an allocation
 * before the bytes have been read. */
Test(msgpack_errors, length_in_gzip_file_allocates_nothing)
{
    struct plan p = {.schema = {GLINT_NONE, GLINT_MSGPACK}};
    scratch_path("file.gz", p.path);
    static uint8_t zeros[1000000] = "\xdf\xff\xff\xff\xff";
    write_gzip("file.gz", zeros, sizeof zeros);
    plan_expect_error(make_file, &p, NULL, GLINT_E_VALUE_LIMIT, "file.gz: a record of at least");
    write_gzip("file.gz", "\x01\xc6\xff\xff\xff\xff", 6);
    plan_expect_error(make_file, &p, NULL, GLINT_E_MSGPACK_CORRUPT,
                      "file.gz, byte 1: the file ends inside a record");
}

/* A file that changes after it was listed and split: its size, or only its mtime. */
Test(msgpack_errors, changed_file_is_detected)
{
    for (int grown = 0; grown < 2; grown++) {
        struct plan p = {.schema = {GLINT_NONE, GLINT_I64}};
        struct glint_rows rows = {.count = 0};
        scratch_write("file", "\x01\x02\x03", 3);
        scratch_path("file", p.path);
        struct glint *g = fixture_open(&fixtures[1]);
        struct glint_rdd *rdd = make_file(g, &p);
        cr_assert_eq(glint_partitions(rdd), 1);
        if (grown) scratch_write("file", "\x01\x02\x03\x04", 4);
        const struct utimbuf old = {1000, 1000};
        if (!grown) cr_assert_eq(utime(p.path, &old), 0);
        cr_assert_eq(glint_collect(rdd, &rows), GLINT_E_INPUT_CHANGED);
        fixture_close(g, GLINT_E_INPUT_CHANGED);
    }
}

/* ---- The source alone, on a file in memory */

extern const struct op op_msgpack_file;

static enum flow count_rows(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    (void)out;
    *(uint64_t *)state += batch->rows;
    return FLOW_MORE;
}

/* Returns the task's code. Allocation number `memory_at` and all later ones fail; 0: none. */
static int run_source(struct memory_env *env, const struct split *split, int64_t memory_at,
                      uint64_t *rows)
{
    const struct task_options options = {.memory_bytes = MEMORY_BYTES_DEFAULT};
    struct glint_task task = {.env = &env->env, .options = &options};
    const struct glint_schema schema = {GLINT_NONE, GLINT_TEXT};
    const struct op_open open = {.task = &task, .out = schema};
    struct buffer wire = {NULL, 0, 0};
    struct glint_emitter out;
    void *state = calloc(1, op_msgpack_file.state_size);
    cr_assert(state != NULL && split_encode(split, &wire));
    *rows = 0;
    emitter_init(&out, &task, schema, count_rows, rows, NULL);
    mem_fail_at(memory_at, true);
    if (op_msgpack_file.open(state, &open) == 0)
        op_msgpack_file.run(state, (struct glint_slice){wire.data, wire.size}, &out);
    mem_fail_at(0, false);
    op_msgpack_file.close(state);
    cr_assert_eq(env->open_files, 0);
    arena_fini(&task.arena);
    buffer_fini(&wire);
    free(state);
    return task.error.code;
}

/* Each call fails once; also, the file changes before each call. */
Test(msgpack_errors, every_failed_call_is_reported)
{
    struct table t = awkward_table((struct glint_schema){GLINT_NONE, GLINT_TEXT}, 3000);
    struct buffer file = table_pack(&t, 0, t.count);
    struct memory_env env;
    uint64_t rows, calls = 0;
    memory_env_init(&env, file.data, file.size);
    const struct split_piece pieces[] = {
        {.path = "a", .length = file.size, .file_size = file.size},
        {.path = "b", .length = file.size, .file_size = file.size}};
    const struct split split = {pieces, 2};
    cr_assert_eq(run_source(&env, &split, 0, &rows), 0);
    cr_assert_eq(rows, 2 * t.count);
    calls = env.calls;
    cr_assert_gt(calls, 8);
    for (uint64_t n = 1; n <= calls; n++) {
        memory_env_init(&env, file.data, file.size);
        env.fail_at = n;
        cr_assert_eq(run_source(&env, &split, 0, &rows), GLINT_E_INPUT_IO, "call %llu",
                     (unsigned long long)n);
        memory_env_init(&env, file.data, file.size);
        env.change_at = n;
        cr_assert_eq(run_source(&env, &split, 0, &rows), GLINT_E_INPUT_CHANGED, "call %llu",
                     (unsigned long long)n);
    }
    const int64_t live = mem_live_blocks();
    int code = GLINT_E_NO_MEMORY;
    int64_t n = 0;
    for (; code == GLINT_E_NO_MEMORY; n++) {
        memory_env_init(&env, file.data, file.size);
        code = run_source(&env, &split, n + 1, &rows);
        cr_assert_eq(mem_live_blocks(), live);
    }
    cr_assert_eq(code, 0);
    cr_assert_gt(n, 3, "the pieces of the split, the window, a larger window");
    buffer_fini(&file);
    table_free(&t);
}

Test(msgpack_errors, invalid_plan_is_rejected)
{
    struct plan p = {.schema = {GLINT_NONE, GLINT_I64}};
    scratch_path("missing", p.path);
    plan_expect_error(make_file, &p, NULL, GLINT_E_INPUT_NOT_FOUND, "missing");
    p.schema.value = GLINT_ANY;
    plan_expect_error(make_file, &p, NULL, GLINT_E_PLAN_TYPE, "msgpackFile");
    p.schema = (struct glint_schema){GLINT_SAME, GLINT_I64};
    plan_expect_error(make_file, &p, NULL, GLINT_E_PLAN_TYPE, "msgpackFile");
    p.schema = (struct glint_schema){GLINT_MSGPACK + 1, GLINT_I64};
    plan_expect_error(make_file, &p, NULL, GLINT_E_PLAN_TYPE, "msgpackFile");
}

/* Invalid cells of type msgpack: the output must not exist afterwards. */
Test(msgpack_errors, invalid_cell_is_not_saved)
{
    static const struct {
        const char *bytes;
        uint64_t size;
    } cells[] = {{"", 0}, {"\xc1", 1}, {"\x01\x02", 2}, {"\x92\x01", 2}};
    char path[PATH_BYTES];
    struct env_stat st;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct glint_record r = {.value = bytes(cells[i].bytes, cells[i].size)};
        struct glint *g = fixture_open(&fixtures[i]);
        struct glint_rdd *rdd =
            glint_parallelize(g, (struct glint_schema){GLINT_NONE, GLINT_MSGPACK}, &r, 1, 1);
        cr_assert_eq(glint_save_as_msgpack_file(rdd, scratch_path("out", path)),
                     GLINT_E_FUNCTION_FAILED);
        fixture_close(g, GLINT_E_FUNCTION_FAILED);
        cr_assert_eq(env_real()->stat(env_real(), path, &st), -ENOENT);
    }
}
