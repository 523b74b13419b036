/* Reading filter files: keys of every kind, records of every size, and corruption of every byte. */
#include "jobs/commands/filter_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64]; /* of the test's file */
static struct glint_error error;

static void start(void)
{
    snprintf(path, sizeof path, "/tmp/glint-filter-XXXXXX");
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
}

static void stop(void)
{
    unlink(path);
    cr_expect_eq(mem_live_blocks(), 0);
}

TestSuite(filter_file, .init = start, .fini = stop);

static void put_record(struct buffer *out, const char *key, size_t key_size, uint64_t n)
{
    struct bloom_params params;
    struct bloom_filter filter;
    uint8_t header[BLOOM_HEADER_MAX], pair = 0x92;
    cr_assert_eq(bloom_params_for(BLOOM_SPARK, n, 0.01, &params), BLOOM_OK);
    cr_assert_eq(bloom_init(&filter, &params), BLOOM_OK);
    bloom_add(&filter, "tt0000001", 9);
    uint32_t header_size = bloom_encode_header(&filter, header);
    cr_assert(buffer_append(out, &pair, 1) && buffer_append(out, key, key_size) &&
              buffer_append(out, header, header_size) &&
              buffer_append(out, filter.bits, bloom_bytes(params.m)));
    bloom_fini(&filter);
}

static void write_file(const uint8_t *data, uint64_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

struct seen {
    char text[512]; /* "key:n@offset " of each record */
    int stop_at, count;
};

static int on_record(void *arg, struct filter_record *record)
{
    struct seen *seen = arg;
    size_t used = strlen(seen->text);
    if (++seen->count == seen->stop_at) return -1;
    cr_expect(bloom_contains(&record->filter, "tt0000001", 9));
    snprintf(seen->text + used, sizeof seen->text - used, "%s:%" PRIu64 "@%" PRIu64 " ",
             record->key.text, record->filter.params.n, record->offset);
    return 0;
}

static int walk_file(struct seen *seen)
{
    const char *paths[] = {path};
    memset(&error, 0, sizeof error);
    return filter_each(env_real(), paths, 1, on_record, seen, &error);
}

Test(filter_file, every_kind_of_key_is_read)
{
    struct buffer file = {NULL, 0, 0};
    struct seen seen = {.count = 0};
    put_record(&file, "\x06", 1, 1);
    uint64_t one = file.size;
    put_record(&file, "\xff", 1, 1);
    put_record(&file, "\xd3\x80\0\0\0\0\0\0\0", 9, 1);
    put_record(&file, "\xcb\x3f\xe0\0\0\0\0\0\0", 9, 1);
    put_record(&file,
               "\xa3"
               "abc",
               4, 1);
    put_record(&file,
               "\xc4\x02"
               "xy",
               4, 1);
    put_record(&file, "\xa0", 1, 1);
    write_file(file.data, file.size);
    cr_expect_eq(walk_file(&seen), 0, "%s", error.cause);
    char wanted[512];
    snprintf(wanted, sizeof wanted,
             "6:1@0 -1:1@%" PRIu64 " -9223372036854775808:1@%" PRIu64 " 0.5:1@%" PRIu64
             " abc:1@%" PRIu64 " xy:1@%" PRIu64 " :1@%" PRIu64 " ",
             one, 2 * one, 3 * one + 8, 4 * one + 16, 5 * one + 19, 6 * one + 22);
    cr_expect_str_eq(seen.text, wanted);
    buffer_fini(&file);
}

Test(filter_file, records_larger_than_the_window_are_read)
{
    struct buffer file = {NULL, 0, 0};
    struct seen seen = {.count = 0};
    put_record(&file, "\x01", 1, 100000);
    uint64_t one = file.size;
    put_record(&file, "\x02", 1, 800);
    put_record(&file, "\x03", 1, 5000);
    write_file(file.data, file.size);
    cr_expect_eq(walk_file(&seen), 0, "%s", error.cause);
    char wanted[128];
    snprintf(wanted, sizeof wanted, "1:100000@0 2:800@%" PRIu64 " ", one);
    cr_expect_eq(strncmp(seen.text, wanted, strlen(wanted)), 0, "%s", seen.text);
    cr_expect_eq(seen.count, 3);
    buffer_fini(&file);
}

/* The first window contains many records and cuts the last one; a large record is between small
 * ones. */
Test(filter_file, small_records_around_a_large_one_are_read)
{
    struct buffer file = {NULL, 0, 0};
    struct seen seen = {.count = 0};
    char wanted[sizeof seen.text] = "";
    for (int i = 0; i < 11; i++) {
        static const uint64_t ids[11] = {20000, 1, 20000, 20000, 1, 100000, 1, 20000, 7, 300000, 9};
        const uint64_t at = file.size;
        const char key = (char)i;
        put_record(&file, &key, 1, ids[i]);
        snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted),
                 "%d:%" PRIu64 "@%" PRIu64 " ", i, ids[i], at);
    }
    write_file(file.data, file.size);
    cr_expect_eq(walk_file(&seen), 0, "%s", error.cause);
    cr_expect_str_eq(seen.text, wanted);
    buffer_fini(&file);
}

/* A file of Bloom.save: its key is its name without the ending, and it is alone. */
Test(filter_file, filter_without_a_key_is_the_only_one)
{
    struct buffer file = {NULL, 0, 0};
    struct seen seen = {.count = 0};
    put_record(&file, "\x01", 1, 100000);
    write_file(file.data + 2, file.size - 2);
    cr_expect_eq(walk_file(&seen), 0, "%s", error.cause);
    char wanted[128];
    snprintf(wanted, sizeof wanted, "%s:100000@0 ", strrchr(path, '/') + 1);
    cr_expect_str_eq(seen.text, wanted);
    put_record(&file, "\x02", 1, 1);
    write_file(file.data + 2, file.size - 2);
    cr_expect_eq(walk_file(&seen), GLINT_E_FILTER_INVALID);
    cr_expect(strstr(error.cause, "must be alone") != NULL, "%s", error.cause);
    buffer_fini(&file);
}

/* Mapped records are those that are read, and damage is found. */
Test(filter_file, mapped_files_give_the_same_records)
{
    struct buffer file = {NULL, 0, 0};
    struct seen seen = {.count = 0}, mapped = {.count = 0};
    struct filter_maps maps = {.items = NULL};
    const char *paths[] = {path};
    for (char key = 0; key < 5; key++) put_record(&file, &key, 1, key == 2 ? 100000 : 40);
    write_file(file.data, file.size);
    cr_expect_eq(walk_file(&seen), 0);
    cr_expect_eq(filter_each_mapped(env_real(), paths, 1, &maps, on_record, &mapped, &error), 0);
    cr_expect_str_eq(mapped.text, seen.text);
    cr_assert_eq(maps.count, 1);
    cr_expect_eq(maps.bytes, file.size);
    filter_maps_close(&maps);
    write_file(file.data, file.size - 1);
    cr_expect_eq(filter_each_mapped(env_real(), paths, 1, &maps, on_record, &mapped, &error),
                 GLINT_E_FILTER_INVALID);
    filter_maps_close(&maps);
    buffer_fini(&file);
}

Test(filter_file, empty_file_has_no_filters)
{
    struct seen seen = {.count = 0};
    write_file((const uint8_t *)"", 0);
    cr_expect_eq(walk_file(&seen), 0);
    cr_expect_eq(seen.count, 0);
}

static int opens_before_failure;

static int open_until_failure(struct env *env, int dir, const char *name, enum env_open_mode mode)
{
    return opens_before_failure-- > 0 ? env_real()->open(env, dir, name, mode) : -EACCES;
}

/* A path is looked at by opening its file; then the file may be gone, or not be readable. */
Test(filter_file, file_that_cannot_be_opened_later)
{
    struct env env = *env_real();
    struct seen seen = {.stop_at = 0};
    const char *const paths[] = {path};
    int r = GLINT_OK;
    env.open = open_until_failure;
    write_file((const uint8_t *)"", 0);
    for (int opens = 0; opens < 4; opens++) {
        opens_before_failure = opens;
        r = filter_each_mapped(&env, paths, 1, NULL, on_record, &seen, &error);
        if (r == GLINT_OK) break;
        cr_expect_eq(r, GLINT_E_INPUT_PERMISSION);
        cr_expect(strstr(error.cause, "Permission denied") != NULL, "%s", error.cause);
        error = (struct glint_error){.code = GLINT_OK};
    }
    cr_expect_eq(r, GLINT_OK, "%s", error.cause);
}

Test(filter_file, callback_can_end_the_iteration)
{
    struct buffer file = {NULL, 0, 0};
    struct seen seen = {.stop_at = 2};
    for (int i = 0; i < 3; i++) put_record(&file, "\x01", 1, 10);
    write_file(file.data, file.size);
    cr_expect_eq(walk_file(&seen), -1);
    cr_expect_eq(seen.count, 2);
    buffer_fini(&file);
}

Test(filter_file, truncation_is_reported_with_offset)
{
    struct buffer file = {NULL, 0, 0};
    put_record(&file,
               "\xa3"
               "abc",
               4, 40);
    uint64_t one = file.size;
    put_record(&file, "\x07", 1, 900);
    for (uint64_t size = 1; size < file.size; size++) {
        struct seen seen = {.count = 0};
        write_file(file.data, size);
        int code = walk_file(&seen);
        if (size == one) {
            cr_expect_eq(code, 0);
            continue;
        }
        char where[96];
        snprintf(where, sizeof where, "%s, byte %" PRIu64 ":", path, size < one ? 0 : one);
        cr_expect_eq(code, GLINT_E_FILTER_INVALID, "cut at %" PRIu64, size);
        cr_expect_eq(strncmp(error.cause, where, strlen(where)), 0, "%s", error.cause);
    }
    buffer_fini(&file);
}

/* A key has no checksum, so its bytes may change into another key; all other changes must be
 * detected. */
Test(filter_file, flipped_bits_outside_keys_are_detected)
{
    struct buffer file = {NULL, 0, 0};
    put_record(&file,
               "\xa3"
               "abc",
               4, 40);
    put_record(&file,
               "\xa3"
               "xyz",
               4, 40);
    for (uint64_t at = 0; at < file.size; at++) {
        bool in_key = at % (file.size / 2) - 2 < 3; /* after the heads of the pair and the text */
        for (int bit = 0; bit < 8; bit++) {
            struct seen seen = {.count = 0};
            file.data[at] ^= (uint8_t)(1 << bit);
            write_file(file.data, file.size);
            int code = walk_file(&seen);
            file.data[at] ^= (uint8_t)(1 << bit);
            cr_expect_eq(code, in_key ? 0 : GLINT_E_FILTER_INVALID, "byte %" PRIu64 " bit %d", at,
                         bit);
        }
    }
    buffer_fini(&file);
}

Test(filter_file, invalid_records_are_rejected)
{
    static const struct {
        const char *data;
        size_t size;
    } wrong[] = {
        {"\x01", 1},             /* not a pair */
        {"\x91\x01", 2},         /* too short */
        {"\x93\x01\x02\x03", 4}, /* too long */
        {"\x92\xc0\x01", 3},     /* the key is nil */
        {"\x92\x90\x01", 3},     /* the key is an array */
        {"\x92\x01\x02", 3},     /* the value is not a filter */
        {"\x92\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
        {"\xdd\xff\xff\xff\xff", 5}, /* claims more elements than the file has bytes */
        {"tt0000001\t5.7\n", 14},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct seen seen = {.count = 0};
        write_file((const uint8_t *)wrong[i].data, wrong[i].size);
        cr_expect_eq(walk_file(&seen), GLINT_E_FILTER_INVALID, "%zu", i);
        cr_expect_eq(seen.count, 0);
    }
}

Test(filter_file, out_of_memory_is_reported)
{
    struct buffer file = {NULL, 0, 0};
    put_record(&file,
               "\xa3"
               "abc",
               4, 4000);
    write_file(file.data, file.size);
    for (int64_t n = 1;; n++) {
        struct seen seen = {.count = 0};
        mem_fail_at(n, false);
        int code = walk_file(&seen);
        mem_fail_at(0, false);
        cr_expect(code == 0 || code == GLINT_E_NO_MEMORY);
        if (code != 0) continue;
        cr_expect_gt(n, 4);
        break;
    }
    buffer_fini(&file);
}

Test(filter_file, keys_are_ordered)
{
    struct filter_key keys[] = {
        {true, -1, (char *)"-1", 2}, {true, 2, (char *)"2", 1},     {true, 10, (char *)"10", 2},
        {false, 0, (char *)"", 0},   {false, 0, (char *)"10", 2},   {false, 0, (char *)"2", 1},
        {false, 0, (char *)"a", 1},  {false, 0, (char *)"a\0b", 3}, {false, 0, (char *)"\xff", 1},
    };
    enum { KEYS = sizeof keys / sizeof keys[0] };
    for (int i = 0; i < KEYS; i++)
        for (int j = 0; j < KEYS; j++)
            cr_expect_eq((filter_key_compare(&keys[i], &keys[j]) > 0) -
                             (filter_key_compare(&keys[i], &keys[j]) < 0),
                         (i > j) - (i < j), "%d %d", i, j);
}
