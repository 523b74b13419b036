/* Messages: round trips; damaged messages are rejected without memory leaks. */
#include "engine/transfer/message.h"

#include "engine/limits.h"

#include "tests/unit/net/bytes.h"

TestSuite(message, .init = begin, .fini = end);

static struct message *make(enum message_type type)
{
    struct message *m = message_create(type);
    cr_assert_not_null(m);
    m->stage = 1;
    m->task = UINT32_MAX;
    m->attempt = 3;
    m->partition = 70000;
    m->id = UINT64_MAX;
    m->size = UINT64_MAX / 2;
    m->slot = SLOTS_MAX - 1;
    m->start_ns = UINT64_MAX / 5;
    m->run_ns = UINT64_MAX / 3;
    if (type != MSG_CANCEL) cr_assert(buffer_append(&m->body, "a body\0with a zero", 18));
    if (type == MSG_DONE) cr_assert(buffer_append(&m->counters, "\x90", 1));
    if (type == MSG_DONE) cr_assert(buffer_append(&m->blocks, "\x94\x01\x02\x03\x04", 5));
    if (type != MSG_FAILED) return m;
    m->error = mem_zalloc(sizeof *m->error);
    cr_assert_not_null(m->error);
    error_set(m->error, GLINT_E_BAD_ROW, "the hint", "the cause");
    memcpy(m->error->effect, "the effect", sizeof "the effect");
    return m;
}

static struct buffer encode(const struct message *m)
{
    struct buffer bytes = {NULL, 0, 0};
    cr_assert_eq(message_encode(m, &bytes, &error), 0);
    return bytes;
}

Test(message, every_type_round_trips)
{
    for (int type = 1; type < MSG_TYPES_END; type++) {
        struct message *m = make((enum message_type)type);
        struct buffer bytes = encode(m);
        struct message *back = message_decode(whole(&bytes), &error);
        cr_assert_not_null(back);
        cr_expect(back->type == m->type && back->stage == m->stage && back->task == m->task);
        cr_expect(back->attempt == m->attempt && back->partition == m->partition);
        cr_expect(back->id == m->id && back->size == m->size && back->slot == m->slot);
        cr_expect(back->start_ns == m->start_ns && back->run_ns == m->run_ns);
        cr_expect(same(&back->body, &m->body) && same(&back->counters, &m->counters));
        cr_expect_eq(back->error != NULL, type == MSG_FAILED);
        if (back->error != NULL) cr_expect_eq(memcmp(back->error, m->error, sizeof *m->error), 0);
        message_destroy(back);
        message_destroy(m);
        buffer_fini(&bytes);
    }
    message_destroy(NULL);
}

static void check_corrupted(struct glint_slice bad, bool cut, void *arg)
{
    (void)arg;
    memset(&error, 0, sizeof error);
    struct message *back = message_decode(bad, &error);
    cr_assert_eq(error.code, back == NULL ? GLINT_E_PROTOCOL : GLINT_OK);
    cr_assert(back == NULL || (!cut && back->type > 0 && back->type < MSG_TYPES_END));
    if (back != NULL) cr_assert_eq(back->error != NULL, back->type == MSG_FAILED);
    if (back != NULL && back->error != NULL) cr_assert(error_is_known(back->error->code));
    message_destroy(back);
}

Test(message, damaged_bytes_are_rejected_or_valid)
{
    for (int type = 1; type < MSG_TYPES_END; type++) {
        struct message *m = make((enum message_type)type);
        struct buffer good = encode(m);
        damage(whole(&good), check_corrupted, NULL);
        message_destroy(m);
        buffer_fini(&good);
    }
}

/* FAILED without an error, and other messages with one, are rejected. */
Test(message, only_failed_messages_carry_an_error)
{
    for (int type = 1; type < MSG_TYPES_END; type++) {
        struct message *m = make((enum message_type)type);
        struct buffer bytes = encode(m);
        cr_assert(bytes.data[1] == type && bytes.data[0] == 0x9e);
        bytes.data[1] = type == MSG_FAILED ? MSG_DONE : MSG_FAILED;
        memset(&error, 0, sizeof error);
        cr_expect_null(message_decode(whole(&bytes), &error));
        cr_expect_eq(error.code, GLINT_E_PROTOCOL);
        message_destroy(m);
        buffer_fini(&bytes);
    }
}

Test(message, unknown_error_codes_are_rejected)
{
    static const int codes[] = {0, 1, INT32_MIN, -100000, -9999, -5};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct message *m = make(MSG_FAILED);
        m->error->code = (enum glint_code)codes[i];
        struct buffer bytes = encode(m);
        error.code = GLINT_OK;
        cr_expect_null(message_decode(whole(&bytes), &error));
        cr_expect_eq(error.code, GLINT_E_PROTOCOL);
        message_destroy(m);
        buffer_fini(&bytes);
    }
}

Test(message, out_of_memory_is_reported)
{
    struct message *m = make(MSG_FAILED);
    for (int64_t n = 1; n < 10; n++) {
        struct buffer bytes = {NULL, 0, 0};
        error.code = GLINT_OK;
        mem_fail_at(n, false);
        struct message *back = NULL;
        if (message_encode(m, &bytes, &error) == 0) back = message_decode(whole(&bytes), &error);
        mem_fail_at(0, false);
        cr_expect_eq(error.code, back != NULL ? GLINT_OK : GLINT_E_NO_MEMORY);
        message_destroy(back);
        buffer_fini(&bytes);
    }
    message_destroy(m);
}

/* ---- Bodies */

static const struct map_output_location locations[] = {
    {0, 0}, {1, 127}, {EXECUTORS_MAX - 1, 128}, {3, UINT32_MAX}, {65535, 1}};

static void check_outputs(struct glint_slice bad, bool cut, void *arg)
{
    struct map_output_location *back;
    uint32_t count;
    (void)arg;
    memset(&error, 0, sizeof error);
    int r = map_outputs_decode(bad, &back, &count, &error);
    cr_assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL));
    cr_assert((r == 0) == (back != NULL) && (r == 0 || count == 0));
    if (cut) cr_assert_neq(r, 0);
    for (uint32_t i = 0; i < count; i++) cr_assert_lt(back[i].executor, EXECUTORS_MAX);
    mem_free(back);
}

Test(message, map_outputs_round_trip)
{
    for (uint32_t count = 0; count <= 5; count++) {
        struct buffer bytes = {NULL, 0, 0};
        struct map_output_location *back;
        uint32_t back_count;
        cr_assert_eq(map_outputs_encode(locations, count, &bytes, &error), 0);
        cr_assert_eq(map_outputs_decode(whole(&bytes), &back, &back_count, &error), 0);
        cr_assert_eq(back_count, count);
        cr_expect_eq(memcmp(back, locations, count * sizeof *back), 0);
        mem_free(back);
        damage(whole(&bytes), check_outputs, NULL);
        memset(&error, 0, sizeof error);
        buffer_fini(&bytes);
    }
}

Test(message, invalid_map_outputs_are_rejected)
{
    static const struct {
        const char *bytes;
        size_t size;
    } rows[] = {
        {"\x91\xa1x", 3},                    /* a text */
        {"\x91\x01", 2},                     /* an executor without attempt */
        {"\x92\xce\x00\x01\x00\x00\x01", 7}, /* executor 65536 */
        {"\x92\x01\xff", 3},                 /* attempt -1 */
        {"\xdd\xff\xff\xff\xfe", 5},         /* claims more elements than it has */
        {"\x01", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct map_output_location *back;
        uint32_t count;
        memset(&error, 0, sizeof error);
        struct glint_slice bytes = {(const uint8_t *)rows[i].bytes, rows[i].size};
        cr_expect_eq(map_outputs_decode(bytes, &back, &count, &error), GLINT_E_PROTOCOL, "%zu", i);
        cr_expect(back == NULL && count == 0);
    }
}

static void check_job(struct glint_slice bad, bool cut, void *arg)
{
    struct task_options o = {0};
    (void)arg;
    memset(&error, 0, sizeof error);
    int r = job_options_decode(bad, &o, &error);
    cr_assert(r == error.code && (r == 0 || (r == GLINT_E_PROTOCOL)));
    if (cut) cr_assert_neq(r, 0);
    cr_assert(o.line_bytes_max <= VALUE_BYTES_MAX && o.result_bytes_max <= RESULT_BYTES_MAX);
    cr_assert_lt(strlen(o.dir), sizeof o.dir);
}

Test(message, job_options_round_trip)
{
    static const struct task_options rows[] = {
        {.line_bytes_max = 1, .result_bytes_max = 1, .bad_rows_max = -1, .dir = ""},
        {.line_bytes_max = VALUE_BYTES_MAX,
         .result_bytes_max = RESULT_BYTES_MAX,
         .skip_bad_rows = true,
         .bad_rows_max = INT64_MAX,
         .no_sync = true,
         .dir = "/home/a b/\xff"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct task_options back = {.memory_bytes = 12345};
        struct buffer bytes = {NULL, 0, 0};
        cr_assert_eq(job_options_encode(&rows[i], &bytes, &error), 0);
        cr_assert_eq(job_options_decode(whole(&bytes), &back, &error), 0, "%s", error.cause);
        cr_expect(back.line_bytes_max == rows[i].line_bytes_max &&
                  back.result_bytes_max == rows[i].result_bytes_max &&
                  back.skip_bad_rows == rows[i].skip_bad_rows &&
                  back.bad_rows_max == rows[i].bad_rows_max && back.no_sync == rows[i].no_sync);
        cr_expect_str_eq(back.dir, rows[i].dir);
        cr_expect_eq(back.memory_bytes, 12345, "the executor's own options are kept");
        damage(whole(&bytes), check_job, NULL);
        memset(&error, 0, sizeof error);
        buffer_fini(&bytes);
    }
}

static void check_fault(struct glint_slice bad, bool cut, void *arg)
{
    struct fetch_failure f;
    (void)arg;
    memset(&error, 0, sizeof error);
    int r = fetch_failure_decode(bad, &f, &error);
    cr_assert(r == error.code && (r == 0 || r == GLINT_E_PROTOCOL));
    if (cut) cr_assert_neq(r, 0);
    cr_assert(f.map < PARTITIONS_MAX && f.executor < EXECUTORS_MAX);
}

Test(message, fetch_failures_round_trip)
{
    static const struct fetch_failure rows[] = {
        {0, 0, 0, 0, false}, {UINT64_MAX, PARTITIONS_MAX - 1, EXECUTORS_MAX - 1, UINT32_MAX, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fetch_failure back;
        struct buffer bytes = {NULL, 0, 0};
        cr_assert_eq(fetch_failure_encode(&rows[i], &bytes, &error), 0);
        cr_assert_eq(fetch_failure_decode(whole(&bytes), &back, &error), 0);
        cr_expect(back.shuffle == rows[i].shuffle && back.map == rows[i].map &&
                  back.executor == rows[i].executor && back.attempt == rows[i].attempt &&
                  back.unreachable == rows[i].unreachable);
        damage(whole(&bytes), check_fault, NULL);
        memset(&error, 0, sizeof error);
        buffer_fini(&bytes);
    }
}

Test(message, out_of_memory_in_bodies_is_reported)
{
    struct fetch_failure fault = {1, 2, 3, 4, false};
    struct task_options options = {.dir = "/"};
    struct map_output_location *back;
    struct buffer bytes = {NULL, 0, 0}, outputs = {NULL, 0, 0};
    uint32_t count;
    cr_assert_eq(map_outputs_encode(locations, 5, &outputs, &error), 0);
    mem_fail_at(1, true);
    cr_expect_eq(fetch_failure_encode(&fault, &bytes, &error), GLINT_E_NO_MEMORY);
    memset(&error, 0, sizeof error);
    cr_expect_eq(job_options_encode(&options, &bytes, &error), GLINT_E_NO_MEMORY);
    memset(&error, 0, sizeof error);
    cr_expect_eq(map_outputs_encode(locations, 5, &bytes, &error), GLINT_E_NO_MEMORY);
    memset(&error, 0, sizeof error);
    cr_expect_eq(map_outputs_decode(whole(&outputs), &back, &count, &error), GLINT_E_NO_MEMORY);
    mem_fail_at(0, false);
    cr_expect(bytes.data == NULL && back == NULL && count == 0);
    buffer_fini(&outputs);
}

/* Each code decodes to at most the size, and to less than an eighth below it. */
Test(message, size_codes_round_down_within_an_eighth)
{
    uint64_t last = 0;
    for (unsigned code = 1; code <= UINT8_MAX; code++) {
        uint64_t bytes = size_code_decode((uint8_t)code);
        cr_expect_gt(bytes, last);
        cr_expect_eq(size_code_encode(bytes), code, "code %u", code);
        cr_expect_eq(size_code_encode(bytes - 1), code - 1, "code %u", code);
        cr_expect_leq(bytes - last, last / 8 + 1);
        last = bytes;
    }
    cr_expect(size_code_encode(0) == 0 && size_code_decode(0) == 0);
    cr_expect_eq(last, 15 * GIB); /* 255: this size or more */
    cr_expect_eq(size_code_encode(UINT64_MAX), UINT8_MAX);
}
