/* wholeTextFiles, binaryFiles and binaryRecords, compared with the bytes that the test wrote. */
#include "engine/input/compress.h"
#include "tests/unit/ops/actions.h"

#include <stdio.h>
#include <sys/stat.h>

TestSuite(whole_files, .init = scratch_open, .fini = scratch_close);

#define FILES 7

/* A list of files, and their contents. */
struct files {
    char paths[FILES * PATH_BYTES];
    struct buffer content[FILES];
    uint32_t count;
    uint64_t record_bytes;
};

static void files_add(struct files *f, uint64_t size, uint64_t seed)
{
    char name[16], path[PATH_BYTES];
    struct buffer *b = &f->content[f->count];
    cr_assert(buffer_reserve(b, size + 1));
    for (seed = 2 * seed + 1; b->size < size;)
        b->data[b->size++] = (uint8_t)(' ' + test_next(&seed) % 90);
    snprintf(name, sizeof name, "file%u", f->count++);
    scratch_write(name, b->data, b->size);
    const size_t n = strlen(f->paths);
    snprintf(f->paths + n, sizeof f->paths - n, "%s%s", n > 0 ? "," : "", scratch_path(name, path));
}

static void files_free(struct files *f)
{
    for (uint32_t i = 0; i < f->count; i++) buffer_fini(&f->content[i]);
}

static struct glint_rdd *make_text(struct glint *g, void *arg)
{
    return glint_whole_text_files(g, ((struct files *)arg)->paths);
}

static struct glint_rdd *make_binary(struct glint *g, void *arg)
{
    return glint_binary_files(g, ((struct files *)arg)->paths);
}

static struct glint_rdd *make_records(struct glint *g, void *arg)
{
    const struct files *f = arg;
    return glint_binary_records(g, f->paths, f->record_bytes);
}

static struct table whole_by_hand(const struct files *f, enum glint_type type)
{
    struct table t = {.schema = {GLINT_TEXT, type}};
    char name[16], path[PATH_BYTES];
    for (uint32_t i = 0; i < f->count; i++) {
        snprintf(name, sizeof name, "file%u", i);
        table_add(&t, text(scratch_path(name, path)),
                  bytes(f->content[i].data, f->content[i].size));
    }
    return t;
}

/* Empty files are first, last and in between; one is larger than a batch. */
Test(whole_files, one_record_per_file)
{
    static const uint64_t sizes[FILES] = {0, 1, 300000, 0, 3000001, 17, 0};
    struct files f = {.count = 0};
    for (int i = 0; i < FILES; i++) files_add(&f, sizes[i], (uint64_t)i);
    struct table as_text = whole_by_hand(&f, GLINT_TEXT), raw = whole_by_hand(&f, GLINT_BYTES);
    for (uint64_t split = 0; split < 2000000; split = split * 1000 + 100) {
        const struct fixture base = {.split_bytes = split};
        plan_expect(make_text, &f, &base, &as_text);
        plan_expect(make_binary, &f, &base, &raw);
    }
    table_free(&as_text);
    table_free(&raw);
    files_free(&f);
}

/* As in Spark, where a directory of lines is an error for it. */
Test(whole_files, nested_directories_are_not_read)
{
    char path[PATH_BYTES];
    struct files f = {.count = 0};
    files_add(&f, 100, 1);
    cr_assert_eq(mkdir(scratch_path("nested", path), 0777), 0);
    scratch_write("nested/file", "no", 2);
    struct table as_text = whole_by_hand(&f, GLINT_TEXT), raw = whole_by_hand(&f, GLINT_BYTES);
    scratch_path("", f.paths);
    f.paths[strlen(f.paths) - 1] = '\0';
    plan_expect(make_text, &f, NULL, &as_text);
    plan_expect(make_binary, &f, NULL, &raw);
    f.record_bytes = 1;
    plan_expect_error(make_records, &f, NULL, GLINT_E_INPUT_KIND, "a nested directory");
    table_free(&as_text);
    table_free(&raw);
    files_free(&f);
}

static struct table one_file(const char *path, enum glint_type type, struct buffer content)
{
    struct table t = {.schema = {GLINT_TEXT, type}};
    table_add(&t, text(path), bytes(content.data, content.size));
    return t;
}

static int append(void *arg, const void *data, uint64_t size)
{
    return buffer_append(arg, data, size) ? 0 : GLINT_E_NO_MEMORY;
}

static struct buffer compress(const struct buffer *plain)
{
    struct buffer zipped = {NULL, 0, 0};
    struct compressor *gzip = compressor_create(COMPRESSION_GZIP, append, &zipped);
    cr_assert_eq(compressor_write(gzip, plain->data, plain->size), 0);
    cr_assert_eq(compressor_finish(gzip), 0);
    compressor_destroy(gzip);
    return zipped;
}

Test(whole_files, only_text_is_decompressed)
{
    struct files f = {.count = 0};
    struct buffer plain = {NULL, 0, 0};
    for (int i = 0; i < 100000; i++) cr_assert(buffer_append(&plain, "line of text\n", 13));
    struct buffer zipped = compress(&plain);
    scratch_write("file.gz", zipped.data, zipped.size);
    scratch_path("file.gz", f.paths);
    struct table as_text = one_file(f.paths, GLINT_TEXT, plain);
    struct table raw = one_file(f.paths, GLINT_BYTES, zipped);
    plan_expect(make_text, &f, NULL, &as_text);
    plan_expect(make_binary, &f, NULL, &raw);
    table_free(&as_text);
    table_free(&raw);
    scratch_write("file.gz", zipped.data, zipped.size - 5);
    plan_expect_error(make_text, &f, NULL, GLINT_E_COMPRESSED_TRUNCATED, "file.gz");
    f.record_bytes = 1;
    plan_expect_error(make_records, &f, NULL, GLINT_E_INPUT_FORMAT, "from a compressed file");
    buffer_fini(&plain);
    buffer_fini(&zipped);
}

/* Files are cut at any byte; a record belongs to the piece that it starts in. */
Test(whole_files, binary_records_are_never_cut)
{
    static const uint64_t sizes[] = {1, 7, 100, 4096, 300000, MIB};
    for (int s = 0; s < 6; s++) {
        struct files f = {.record_bytes = sizes[s]};
        const uint64_t size = sizes[s];
        const uint64_t records = size > 4096 ? 3 : 3000;
        files_add(&f, records * size, 3);
        files_add(&f, 0, 4);
        files_add(&f, 2 * size, 5);
        struct table expected = {.schema = {GLINT_NONE, GLINT_BYTES}};
        for (uint32_t i = 0; i < f.count; i++)
            for (uint64_t at = 0; at < f.content[i].size; at += size)
                table_add(&expected, none(), bytes(f.content[i].data + at, size));
        for (uint64_t split = 0; split < 3000000; split = split * 50 + 999) {
            const struct fixture base = {.split_bytes = split};
            plan_expect(make_records, &f, &base, &expected);
        }
        table_free(&expected);
        files_free(&f);
    }
}

static struct glint_rdd *make_with_header(struct glint *g, void *arg)
{
    return glint_with_header(make_text(g, arg));
}

Test(whole_files, errors_are_reported)
{
    struct files f = {.record_bytes = 4};
    files_add(&f, 8, 1);
    files_add(&f, 9, 1);
    plan_expect_error(make_records, &f, NULL, GLINT_E_INPUT_FORMAT,
                      "file1: 9 bytes are no multiple of the record's 4");
    plan_expect_error(make_with_header, &f, NULL, GLINT_E_PLAN_ARGUMENT,
                      "withHeader is for sources of lines");
    f.record_bytes = 0;
    plan_expect_error(make_records, &f, NULL, GLINT_E_BAD_VALUE, "records of 0 bytes");
    f.record_bytes = MIB + 1;
    plan_expect_error(make_records, &f, NULL, GLINT_E_BAD_VALUE, "records of 1048577 bytes");
    scratch_path("absent", f.paths);
    f.record_bytes = 1;
    plan_expect_error(make_text, &f, NULL, GLINT_E_INPUT_NOT_FOUND, "absent");
    plan_expect_error(make_records, &f, NULL, GLINT_E_INPUT_NOT_FOUND, "absent");
    files_free(&f);
}

/* A file that has changed since the plan was cut is not read as if it were the old one. */
Test(whole_files, changed_file_is_an_error)
{
    struct files f = {.record_bytes = 4};
    files_add(&f, 8, 1);
    for (int kind = 0; kind < 3; kind++) {
        struct glint_rows rows;
        struct glint *g = fixture_open(&fixtures[0]);
        struct glint_rdd *rdd = kind == 0   ? make_text(g, &f)
                                : kind == 1 ? make_binary(g, &f)
                                            : make_records(g, &f);
        cr_assert_eq(glint_partitions(rdd), 1);
        scratch_write("file0", "0123456789ab", kind % 2 == 0 ? 12 : 4);
        cr_assert_eq(glint_collect(rdd, &rows), GLINT_E_INPUT_CHANGED);
        fixture_close(g, GLINT_E_INPUT_CHANGED);
        scratch_write("file0", f.content[0].data, f.content[0].size);
    }
    files_free(&f);
}

Test(whole_files, out_of_memory_fails_cleanly_or_is_retried)
{
    struct files f = {.record_bytes = 5};
    files_add(&f, 2000, 1);
    files_add(&f, 0, 1);
    plan_expect_no_memory(make_text, &f);
    plan_expect_no_memory(make_binary, &f);
    plan_expect_no_memory(make_records, &f);
    files_free(&f);
}
