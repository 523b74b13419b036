/* docs/protocol.md compared with the encoders: each list of fields on that page must be what is
 * encoded, in that order. To identify fields, the n-th has the value n or -n, or starts with byte n
 * or the n-th letter; booleans are 1, and a kind has its own value. tests/cluster/test_protocol.py
 * compares the page with what tests in Python send. */
#include "engine/limits.h"
#include "engine/net/frame.h"
#include "engine/net/wire.h"
#include "engine/records/pack.h"
#include "engine/transfer/message.h"
#include "engine/transfer/wire_fetch.h"

#include "tests/unit/net/bytes.h"

#include <stdio.h>

enum { PAGE_MAX = 1 << 16 };
static struct buffer encoded;

TestSuite(protocol_doc, .init = begin, .fini = end);

static const char *protocol_page(void)
{
    static char text[PAGE_MAX];
    FILE *file = fopen(GLINT_SOURCE_DIR "/docs/protocol.md", "r");
    cr_assert_not_null(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    cr_assert_lt(size, sizeof text - 1);
    text[size] = '\0';
    fclose(file);
    return text;
}

/* Checks that the value at `at` is that of the n-th field. Returns the offset of the next one. */
static uint64_t expect_field(struct glint_slice in, uint64_t at, uint64_t n, const char *list)
{
    struct msgpack_head head;
    uint64_t size;
    cr_assert(msgpack_read_head(in.data + at, in.size - at, &head));
    cr_assert(msgpack_validate(in.data + at, in.size - at, &size));
    const uint8_t *content = in.data + at + head.head_size;
    bool right = head.kind == MSGPACK_KIND_ARRAY;
    if (head.kind == MSGPACK_KIND_UINT)
        right = head.u64 == n || head.u64 == 1 || (n == 1 && strncmp(list, "`[kind", 6) == 0);
    if (head.kind == MSGPACK_KIND_INT) right = head.i64 == -(int64_t)n;
    if (head.kind == MSGPACK_KIND_STR) right = content[0] == 'a' + n - 1;
    if (head.kind == MSGPACK_KIND_BIN) right = content[0] == n;
    cr_expect(right, "%s: field %d differs", list, (int)n);
    return at + size;
}

/* Checks `encoded` against `list`, the field names as written on the page. Frees `encoded`. */
static void expect_fields(const char *list)
{
    char quoted[512];
    uint64_t count = 1;
    struct msgpack_head head;
    snprintf(quoted, sizeof quoted, "`[%s]`", list);
    cr_expect_not_null(strstr(protocol_page(), quoted), "docs/protocol.md must have %s", quoted);
    for (const char *c = list; *c != '\0'; c++) count += *c == ',';
    cr_assert(msgpack_read_head(encoded.data, encoded.size, &head) &&
              head.kind == MSGPACK_KIND_ARRAY);
    cr_assert_eq(head.count, count, "%d fields are encoded, not %s", (int)head.count, quoted);
    uint64_t at = head.head_size;
    for (uint64_t n = 1; n <= count; n++) at = expect_field(whole(&encoded), at, n, quoted);
    cr_expect_eq(at, encoded.size);
    buffer_fini(&encoded);
}

#define EXPECT(list, name, ...)                                                                    \
    do {                                                                                           \
        const struct name v = {__VA_ARGS__};                                                       \
        cr_assert_eq(name##_encode(&v, &encoded, &error), 0);                                      \
        expect_fields(list);                                                                       \
    } while (0)

Test(protocol_doc, lists_the_fields_of_payloads)
{
    EXPECT("sent_ns, memory_bytes, tasks_running", ping, 1, 2, 3);
    EXPECT("port, slots, memory_bytes", executor_registration, 1, 2, 3);
    EXPECT("executor, node, host, port, incarnation", executor_address, .executor = 1, .node = "b",
           .host = "c", .port = 4, .incarnation = {5});
    EXPECT("job, name", job_identity, .job = 1, .name = "b");
    EXPECT("job, name, driver_host, driver_port, incarnation, key", executor_request,
           .job = {1, "b"}, .driver_host = "c", .driver_port = 4, .incarnation = {5}, .key = {{6}});
    EXPECT("wait_status, out_of_memory, log, code, cause, hint", executor_exited, .wait_status = -1,
           .out_of_memory = true, .log = "c",
           /* no such code */ .why = {.code = (enum glint_code) - 4, .cause = "e", .hint = "f"});
}

Test(protocol_doc, lists_the_fields_of_requests)
{
    uint32_t maps[1][2] = {{1, 2}};
    EXPECT("kind, shuffle, partition, inline_bytes_max, outputs", get_request, .kind = 1, .id = 2,
           .partition = 3, .size = 4, .map_count = 1, .maps = maps);
    EXPECT("kind, shuffle, map, attempt, offset, size", get_request, .kind = 2, .id = 2, .map = 3,
           .attempt = 4, .offset = 5, .size = 6);
    EXPECT("kind, broadcast, block", get_request, .kind = 3, .id = 2, .block = 3);
    EXPECT("kind, result, offset, size", get_request, .kind = 4, .id = 2, .offset = 3, .size = 4);
    EXPECT("kind, program, offset, size", get_request, .kind = 5, .id = 2, .offset = 3, .size = 4);
    EXPECT("size, sha256", program_info, .size = 1, .sha256 = {2});
    EXPECT("broadcast, blocks_max, received, failed", block_request, .id = 1, .blocks_max = 2);
    EXPECT("broadcast, blocks", block_assignment, .id = 1);
    EXPECT("stages, tasks, retries, stage_name, stage, stage_tasks, stage_done, tasks_running, "
           "cached_rdds, cached_blocks, cached_memory_bytes, cached_disk_bytes",
           job_progress, .stages = 1, .tasks = 2, .retries = 3, .stage_name = "d", .stage = 5,
           .stage_tasks = 6, .stage_done = 1, .tasks_running = 8, .cached_rdds = 9,
           .cached_blocks = 10, .cached_memory_bytes = 11, .cached_disk_bytes = 12);
}

Test(protocol_doc, lists_the_fields_of_a_status)
{
    const struct status_job job = {.job = 1,
                                   .name = "b",
                                   .running = true,
                                   .age_ns = 5,
                                   .heartbeat_age_ns = 6,
                                   .memory_bytes = 7};
    EXPECT("node, build, slots, drivers_max, memory_bytes, uptime_ns, draining, jobs",
           daemon_status, .node = "a", .build = "b", .slots = 3, .drivers_max = 4,
           .memory_bytes = 5, .uptime_ns = 6, .draining = true);
    struct daemon_status s = {.node = "a", .job_count = 1, .jobs = {job}};
    struct buffer none = {NULL, 0, 0};
    cr_assert_eq(daemon_status_encode(&s, &encoded, &error), 0);
    s.job_count = 0;
    cr_assert_eq(daemon_status_encode(&s, &none, &error), 0);
    encoded.size -= none.size; /* the jobs come last */
    memmove(encoded.data, encoded.data + none.size, encoded.size);
    buffer_fini(&none);
    expect_fields("job, name, progress, running, age_ns, heartbeat_age_ns, memory_bytes");
}

Test(protocol_doc, lists_the_fields_of_a_hello)
{
    static const char *const fields[] = {
        "protocol_min", "protocol_max",         "role", "channel", "cluster", "node",
        "incarnation",  "expected_incarnation", "build"};
    enum { FIELDS = sizeof fields / sizeof fields[0] };
    struct msgpack_head head;
    const struct hello h = {.protocol_min = 1,
                            .protocol_max = 1,
                            .role = ROLE_DRIVER,
                            .channel = CHANNEL_DATA,
                            .cluster = "glint",
                            .node = "driver",
                            .incarnation = {1},
                            .build = "0.1.0-9f3a"};
    const char *at = protocol_page();
    for (int i = 0; i < FIELDS; i++) {
        char row[64];
        snprintf(row, sizeof row, "\n| %d | %s |", i, fields[i]);
        at = strstr(at, row);
        cr_assert_not_null(at, "docs/protocol.md must have the row%s", row);
    }
    cr_expect_eq(strncmp(strchr(at + 1, '\n'), "\n\n", 2), 0, "the table has an extra row");
    cr_assert_eq(hello_encode(&h, &encoded, &error), 0);
    cr_assert(msgpack_read_head(encoded.data, encoded.size, &head) &&
              head.kind == MSGPACK_KIND_ARRAY);
    cr_expect_eq(head.count, FIELDS);
    buffer_fini(&encoded);
}

Test(protocol_doc, lists_the_fields_of_messages)
{
    const struct fetch_failure fault = {1, 2, 3, 4, true};
    cr_assert_eq(fetch_failure_encode(&fault, &encoded, &error), 0);
    expect_fields("shuffle, map, executor, attempt, unreachable");
    const struct task_options options = {.line_bytes_max = 1,
                                         .result_bytes_max = 2,
                                         .skip_bad_rows = true,
                                         .bad_rows_max = -4,
                                         .no_sync = true,
                                         .dir = "f"};
    cr_assert_eq(job_options_encode(&options, &encoded, &error), 0);
    expect_fields("line_bytes_max, result_bytes_max, skip_bad_rows, bad_rows_max, "
                  "no_sync, directory");
    struct message *m = message_create(MSG_JOB);
    cr_assert_not_null(m);
    m->stage = 2;
    m->task = 3;
    m->attempt = 4;
    m->partition = 5;
    m->slot = 6;
    m->id = 7;
    m->size = 8;
    m->start_ns = 9;
    m->run_ns = 10;
    cr_assert(buffer_append(&m->body, "\x0b", 1) && buffer_append(&m->counters, "\x0c", 1) &&
              buffer_append(&m->blocks, "\x0d", 1));
    cr_assert_eq(message_encode(m, &encoded, &error), 0);
    expect_fields("type, stage, task, attempt, partition, slot, id, size, start, run, "
                  "body, counters, blocks, error");
    message_destroy(m);
}

Test(protocol_doc, lists_the_fields_of_errors)
{
    const struct glint_error why = {(enum glint_code) - 1, "b", "c", "d"};
    const struct glint_error rejection = {(enum glint_code) - 1, "b", "", "c"};
    cr_assert_eq(reject_encode(&rejection, &encoded, &error), 0);
    expect_fields("code, cause, hint");
    cr_assert_eq(fetch_error_encode(&why, &encoded, &error), 0);
    cr_assert_eq(encoded.data[0], 0x91);
    memmove(encoded.data, encoded.data + 1, --encoded.size);
    expect_fields("code, cause, effect, hint");
}

static void expect_row(int number, const char *name)
{
    char row[64];
    snprintf(row, sizeof row, "\n| %d | %s |", number, name);
    cr_expect_not_null(strstr(protocol_page(), row), "docs/protocol.md must have the row%s", row);
}

Test(protocol_doc, lists_the_types)
{
    for (int type = 1; type < FRAME_TYPES_END; type++) expect_row(type, frame_type_name(type));
    static const char *const messages[MSG_TYPES_END] = {[MSG_JOB] = "JOB",
                                                        [MSG_STAGE] = "STAGE",
                                                        [MSG_MAP_OUTPUTS] = "MAP_OUTPUTS",
                                                        [MSG_BROADCAST] = "BROADCAST",
                                                        [MSG_TASK] = "TASK",
                                                        [MSG_KILL] = "KILL",
                                                        [MSG_CANCEL] = "CANCEL",
                                                        [MSG_RELEASE] = "RELEASE",
                                                        [MSG_DONE] = "DONE",
                                                        [MSG_FAILED] = "FAILED",
                                                        [MSG_FREE] = "FREE"};
    for (int type = 1; type < MSG_TYPES_END; type++) expect_row(type, messages[type]);
}
