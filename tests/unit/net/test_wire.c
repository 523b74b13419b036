/* Payloads of frames: round trips; damaged ones are rejected or decode to valid values. */
#include "engine/net/wire.h"

#include "engine/records/pack.h"

#include "tests/support/wire_codecs.h"
#include "tests/unit/net/bytes.h"

TestSuite(wire, .init = begin, .fini = end);

/* Encodes, decodes and compares bytewise: padding is zero in `sample` and in the decoded struct. */
#define ROUND_TRIP(name, sample)                                                                   \
    do {                                                                                           \
        struct buffer bytes = {NULL, 0, 0};                                                        \
        struct name back;                                                                          \
        cr_assert_eq(name##_encode(sample, &bytes, &error), 0);                                    \
        cr_assert_leq(bytes.size, SMALL_FRAME_BYTES_MAX);                                          \
        cr_assert_eq(name##_decode(whole(&bytes), &back, &error), 0, "%s", error.cause);           \
        cr_expect_eq(memcmp(&back, sample, sizeof back), 0);                                       \
        buffer_fini(&bytes);                                                                       \
    } while (0)

#define FILLED(array, letter) memset(array, letter, sizeof(array) - 1)

Test(wire, ping_and_register_round_trip)
{
    static const struct ping pings[] = {{0, 0, 0}, {UINT64_MAX, UINT64_MAX, SLOTS_MAX}};
    static const struct executor_registration registrations[] = {
        {1, 1, 1}, {UINT16_MAX, SLOTS_MAX, UINT64_MAX}};
    for (int i = 0; i < 2; i++) {
        ROUND_TRIP(ping, &pings[i]);
        ROUND_TRIP(executor_registration, &registrations[i]);
    }
}

Test(wire, addresses_and_jobs_round_trip)
{
    static struct executor_address executor_address = {.executor = EXECUTORS_MAX - 1,
                                                       .port = UINT16_MAX};
    FILLED(executor_address.node, 'n');
    FILLED(executor_address.host, 'h');
    memset(executor_address.incarnation, 0xff, INCARNATION_BYTES);
    ROUND_TRIP(executor_address, &executor_address);
    static const struct job_identity job = {UINT64_MAX, ""}, name = {0, "count-keys"},
                                     both = {1, "gr\xc3\xb6\xc3\x9f"};
    ROUND_TRIP(job_identity, &job);
    ROUND_TRIP(job_identity, &name);
    ROUND_TRIP(job_identity, &both);
    static struct executor_request request = {
        .job = {1, "count-keys"}, .driver_port = 7401, .incarnation = {1, 2, 3}, .key = {{4, 5}}};
    FILLED(request.driver_host, 'h');
    ROUND_TRIP(executor_request, &request);
    static const struct program_info program = {INT64_MAX, {1, 2, 3}};
    ROUND_TRIP(program_info, &program);
    static struct executor_exited ends[] = {
        {0, false, "", {.code = GLINT_OK}},
        {INT32_MIN, true, "/var/log/e1.log", {.code = GLINT_OK}},
        {11, 0, "", {.code = GLINT_E_EXECUTOR_LOST, .cause = "signal 11 in task 3", .hint = "h"}}};
    FILLED(ends[2].log, '/');
    for (int i = 0; i < 3; i++) ROUND_TRIP(executor_exited, &ends[i]);
}

static struct job_progress largest_progress(void)
{
    struct job_progress p = {.stages = UINT32_MAX,
                             .tasks = UINT32_MAX,
                             .retries = UINT32_MAX,
                             .stage = UINT32_MAX,
                             .stage_tasks = UINT32_MAX,
                             .stage_done = UINT32_MAX,
                             .tasks_running = SLOTS_MAX,
                             .cached_rdds = UINT32_MAX,
                             .cached_blocks = UINT32_MAX,
                             .cached_memory_bytes = UINT64_MAX,
                             .cached_disk_bytes = UINT64_MAX};
    FILLED(p.stage_name, 's');
    return p;
}

Test(wire, progress_round_trips)
{
    const struct job_progress largest = largest_progress();
    static const struct job_progress none = {.stages = 0},
                                     half = {3,  40, 1, "textFile..reduceByKey", 2, 20, 7, 4, 1,
                                             19, 5,  6};
    ROUND_TRIP(job_progress, &largest);
    ROUND_TRIP(job_progress, &none);
    ROUND_TRIP(job_progress, &half);
}

Test(wire, cancelled_jobs_round_trip)
{
    static struct cancelled_jobs all = {.job_count = STATUS_JOBS_MAX};
    static const struct cancelled_jobs none = {.job_count = 0}, one = {1, {{7, "count-keys"}}};
    for (uint32_t i = 0; i < STATUS_JOBS_MAX; i++) {
        all.jobs[i].job = UINT64_MAX - i;
        FILLED(all.jobs[i].name, 'j');
    }
    ROUND_TRIP(cancelled_jobs, &all);
    ROUND_TRIP(cancelled_jobs, &none);
    ROUND_TRIP(cancelled_jobs, &one);
}

/* More jobs than allowed, and more tasks done than the stage has. */
Test(wire, impossible_counts_are_rejected)
{
    struct packer p = {.failed = false};
    struct cancelled_jobs decoded;
    struct job_progress progress;
    for (uint32_t jobs = STATUS_JOBS_MAX; jobs <= STATUS_JOBS_MAX + 1; jobs++) {
        pack_array(&p, jobs);
        for (uint32_t i = 0; i < jobs; i++) {
            pack_array(&p, 2);
            pack_u64(&p, 1);
            pack_text(&p, "j");
        }
        error.code = GLINT_OK;
        cr_expect_eq(
            cancelled_jobs_decode((struct glint_slice){p.out.data, p.out.size}, &decoded, &error),
            jobs <= STATUS_JOBS_MAX ? 0 : GLINT_E_PROTOCOL, "%u jobs", jobs);
        packer_fini(&p);
    }
    pack_array(&p, 7);
    for (int i = 0; i < 7; i++) i == 3 ? pack_text(&p, "s") : pack_u64(&p, i == 6 ? 2 : 1);
    error.code = GLINT_OK;
    cr_expect_eq(
        job_progress_decode((struct glint_slice){p.out.data, p.out.size}, &progress, &error),
        GLINT_E_PROTOCOL);
    packer_fini(&p);
}

Test(wire, largest_status_round_trips)
{
    static struct daemon_status s = {.slots = UINT32_MAX,
                                     .drivers_max = UINT32_MAX,
                                     .memory_bytes = UINT64_MAX,
                                     .uptime_ns = UINT64_MAX,
                                     .draining = true,
                                     .job_count = STATUS_JOBS_MAX};
    FILLED(s.node, 'n');
    FILLED(s.build, 'b');
    for (uint32_t i = 0; i < STATUS_JOBS_MAX; i++) {
        s.jobs[i] = (struct status_job){0};
        FILLED(s.jobs[i].name, 'j');
        s.jobs[i].progress = largest_progress();
        s.jobs[i].running = i % 2 == 0;
        s.jobs[i].job = s.jobs[i].age_ns = UINT64_MAX - i;
        s.jobs[i].heartbeat_age_ns = s.jobs[i].memory_bytes = UINT64_MAX;
    }
    ROUND_TRIP(daemon_status, &s);
    static const struct daemon_status none = {.node = "e1"};
    ROUND_TRIP(daemon_status, &none);
}

Test(wire, block_requests_round_trip)
{
    static struct block_request full = {UINT64_MAX, BLOCK_REQUEST_MAX, BLOCK_REQUEST_MAX,
                                        {0},        BLOCK_REQUEST_MAX, {0}};
    static struct block_assignment answer = {.id = UINT64_MAX, .count = BLOCK_REQUEST_MAX};
    static const struct block_request first = {.id = 1, .blocks_max = 4};
    static const struct block_assignment nothing = {.id = 1};
    for (uint32_t i = 0; i < BLOCK_REQUEST_MAX; i++) {
        full.received[i] = i;
        full.failed[i] = UINT32_MAX - i;
        answer.blocks[i].block = UINT32_MAX - i;
        answer.blocks[i].from = i == 0 ? EXECUTOR_ID_DRIVER : EXECUTORS_MAX - i;
        answer.blocks[i].checksum = UINT64_MAX - i;
    }
    ROUND_TRIP(block_request, &full);
    ROUND_TRIP(block_request, &first);
    ROUND_TRIP(block_assignment, &answer);
    ROUND_TRIP(block_assignment, &nothing);
}

Test(wire, errors_round_trip)
{
    struct glint_error why = {.code = GLINT_OK}, back;
    struct buffer bytes = {NULL, 0, 0};
    error_set(&why, GLINT_E_FETCH_FAILED, "the hint", "the cause");
    memcpy(why.effect, "the effect", sizeof "the effect");
    cr_assert_eq(fetch_error_encode(&why, &bytes, &error), 0);
    cr_assert_eq(fetch_error_decode(whole(&bytes), &back, &error), 0);
    cr_expect_eq(back.code, why.code);
    cr_expect(strcmp(back.cause, why.cause) == 0 && strcmp(back.effect, why.effect) == 0 &&
              strcmp(back.hint, why.hint) == 0);
    buffer_fini(&bytes);
}

static void get_comes_back(const struct get_request *g)
{
    struct buffer bytes = {NULL, 0, 0};
    struct get_request back;
    cr_assert_eq(get_request_encode(g, &bytes, &error), 0);
    cr_expect_leq(bytes.size, GET_FRAME_BYTES_MAX);
    cr_assert_eq(get_request_decode(whole(&bytes), &back, &error), 0, "%s", error.cause);
    cr_expect(back.kind == g->kind && back.id == g->id && back.map == g->map &&
              back.attempt == g->attempt && back.partition == g->partition &&
              back.block == g->block && back.offset == g->offset && back.size == g->size &&
              back.map_count == g->map_count);
    if (g->map_count > 0)
        cr_expect_eq(memcmp(back.maps, g->maps, g->map_count * sizeof *g->maps), 0);
    get_request_fini(&back);
    cr_expect(back.maps == NULL && back.map_count == 0);
    buffer_fini(&bytes);
}

Test(wire, requests_round_trip)
{
    static const struct get_request gets[] = {
        {.kind = GET_MAP_OUTPUT, .id = 1, .size = 1},
        {.kind = GET_MAP_OUTPUT,
         .id = UINT64_MAX,
         .map = PARTITIONS_MAX - 1,
         .attempt = UINT32_MAX,
         .offset = INT64_MAX - DATA_FRAME_BYTES_MAX,
         .size = DATA_FRAME_BYTES_MAX},
        {.kind = GET_BROADCAST_BLOCK, .id = 7, .block = UINT32_MAX},
        {.kind = GET_RESULT, .id = UINT64_MAX, .offset = 5, .size = MIB},
    };
    for (size_t i = 0; i < sizeof gets / sizeof gets[0]; i++) get_comes_back(&gets[i]);
    struct get_request parts = {.kind = GET_INDEX, .id = 3, .partition = PARTITIONS_MAX - 1};
    parts.size = FETCH_CHUNK_BYTES_MAX;
    parts.maps = mem_alloc(PARTITIONS_MAX * sizeof *parts.maps);
    for (uint32_t i = 0; i < PARTITIONS_MAX; i++) {
        parts.maps[i][0] = PARTITIONS_MAX - 1 - i;
        parts.maps[i][1] = UINT32_MAX - i;
    }
    parts.map_count = 1;
    get_comes_back(&parts);
    parts.map_count = PARTITIONS_MAX; /* the largest possible request fits its frame */
    get_comes_back(&parts);
    get_request_fini(&parts);
}

/* ---- Damage: of one sample of each payload, and of each kind of GET */

struct sample {
    const char *codec;
    struct buffer bytes;
};

enum { SAMPLES_MAX = 20 };

static unsigned samples_make(struct sample out[SAMPLES_MAX])
{
    static const uint32_t maps[2][2] = {{0, 1}, {7, 70000}};
    static const struct ping ping = {1, 300, 2};
    static const struct executor_registration executor_registration = {7401, 2, GIB};
    static const struct executor_address executor_address = {3, "e3", "10.0.0.3", 7403, {1, 2, 3}};
    static const struct job_identity job_identity = {UINT64_MAX / 3, "count-keys"};
    static const struct executor_request executor_request = {
        {5, "count-keys"}, "10.0.0.1", 7401, {9, 9}, {{7, 7}}};
    static const struct program_info program_info = {70000, {8, 8}};
    static const struct executor_exited executor_exited = {
        9, true, "/var/log/glint/e1.log", {.code = GLINT_E_WORK_DIR, .cause = "c", .hint = "h"}};
    static const struct block_request block_request = {1, 4, 2, {5, 6}, 1, {7}};
    static const struct block_assignment block_assignment = {
        1, 2, {{1, EXECUTOR_ID_DRIVER, UINT64_MAX}, {2, 0, 5}}};
    static const struct daemon_status daemon_status = {
        .node = "e1",
        .build = "0.1.0-ab",
        .slots = 2,
        .drivers_max = 1,
        .memory_bytes = GIB,
        .uptime_ns = 5,
        .job_count = 1,
        .jobs = {{5, "j", {1, 2, 3, "s", 4, 6, 5, 2, 1, 1, 7, 8}, true, 0, 0, 0}}};
    static const struct cancelled_jobs cancelled_jobs = {2, {{5, "j"}, {UINT64_MAX, "k"}}};
    static const struct job_progress progress = {1, 2, 3, "s", 4, 6, 5, 2, 1, 1, 7, 8};
    const struct get_request gets[] = {
        {.kind = GET_INDEX,
         .id = 1,
         .partition = 2,
         .size = 70000,
         .map_count = 2,
         .maps = (uint32_t(*)[2])(uintptr_t)maps},
        {.kind = GET_MAP_OUTPUT, .id = 1, .map = 2, .attempt = 300, .offset = 70000, .size = MIB},
        {.kind = GET_BROADCAST_BLOCK, .id = 1, .block = 20},
        {.kind = GET_RESULT, .id = 1, .offset = 0, .size = MIB},
        {.kind = GET_PROGRAM, .offset = 20, .size = MIB},
    };
    static const uint8_t along[20];
    static const struct index_entry parts[WIRE_PARTS] = {
        {.part = {0, 20, 40, 3}, .bytes = {along, 20}},
        {.part = {0}},
        {.part = {100, 1000, 999, 9}}};
    struct glint_error why = {.code = GLINT_OK};
    error_set(&why, GLINT_E_FETCH_FAILED, "hint", "cause");
    unsigned n = 0;
#define SAMPLE(name, v)                                                                            \
    do {                                                                                           \
        out[n] = (struct sample){.codec = #name};                                                  \
        cr_assert_eq(name##_encode(v, &out[n++].bytes, &error), 0);                                \
    } while (0)
    SAMPLE(ping, &ping);
    SAMPLE(executor_registration, &executor_registration);
    SAMPLE(executor_address, &executor_address);
    SAMPLE(job_identity, &job_identity);
    SAMPLE(executor_request, &executor_request);
    SAMPLE(program_info, &program_info);
    SAMPLE(executor_exited, &executor_exited);
    SAMPLE(daemon_status, &daemon_status);
    SAMPLE(cancelled_jobs, &cancelled_jobs);
    SAMPLE(job_progress, &progress);
    SAMPLE(block_request, &block_request);
    SAMPLE(block_assignment, &block_assignment);
    for (int i = 0; i < 5; i++) SAMPLE(get_request, &gets[i]);
    SAMPLE(fetch_error, &why);
#undef SAMPLE
    out[n] = (struct sample){.codec = "map_output_index"};
    cr_assert_eq(map_output_index_encode(parts, WIRE_PARTS, &out[n++].bytes, &error), 0);
    return n;
}

static const struct wire_codec *codec_of(const struct sample *s)
{
    for (size_t i = 0; i < WIRE_CODECS_COUNT; i++)
        if (strcmp(wire_codecs[i].name, s->codec) == 0) return &wire_codecs[i];
    cr_assert_fail("no codec %s", s->codec);
    return NULL;
}

static void check_corrupted(struct glint_slice bad, bool cut, void *arg)
{
    const struct wire_codec *codec = arg;
    struct buffer again = {NULL, 0, 0}, stable = {NULL, 0, 0};
    memset(&error, 0, sizeof error);
    int r = codec->recode(bad, &again, &error);
    cr_assert(r == 0 || r == GLINT_E_PROTOCOL, "%s: %d", codec->name, r);
    cr_assert_eq(r, error.code);
    if (cut) cr_assert_eq(r, GLINT_E_PROTOCOL, "%s", codec->name);
    if (r == 0) {
        cr_assert_eq(codec->recode(whole(&again), &stable, &error), 0, "%s", codec->name);
        cr_assert(same(&again, &stable), "%s", codec->name);
    }
    buffer_fini(&again);
    buffer_fini(&stable);
}

Test(wire, damaged_bytes_are_rejected_or_valid)
{
    struct sample samples[SAMPLES_MAX];
    bool seen[WIRE_CODECS_COUNT] = {false};
    unsigned n = samples_make(samples);
    for (unsigned i = 0; i < n; i++) {
        const struct wire_codec *codec = codec_of(&samples[i]);
        struct buffer *bytes = &samples[i].bytes, again = {NULL, 0, 0};
        seen[codec - wire_codecs] = true;
        memset(&error, 0, sizeof error);
        cr_assert_eq(codec->recode(whole(bytes), &again, &error), 0, "%s", codec->name);
        cr_expect(same(bytes, &again), "%s", codec->name);
        damage(whole(bytes), check_corrupted, (void *)(uintptr_t)codec);
        memset(&error, 0, sizeof error);
        cr_assert(buffer_append(bytes, "\xc0", 1));
        cr_expect_eq(codec->recode(whole(bytes), &again, &error), GLINT_E_PROTOCOL);
        buffer_fini(&again);
        buffer_fini(bytes);
    }
    for (size_t i = 0; i < WIRE_CODECS_COUNT; i++)
        cr_expect(seen[i], "%s has no sample", wire_codecs[i].name);
}

/* The message names what was being decoded, whatever is wrong with it. */
Test(wire, errors_say_what_does_not_parse)
{
    for (size_t i = 0; i < WIRE_CODECS_COUNT; i++) {
        struct buffer out = {NULL, 0, 0};
        memset(&error, 0, sizeof error);
        cr_expect_eq(wire_codecs[i].recode((struct glint_slice){NULL, 0}, &out, &error),
                     GLINT_E_PROTOCOL);
        cr_expect_not_null(strstr(error.cause, "not parse"), "%s", error.cause);
        cr_expect_eq(out.size, 0);
    }
}

Test(wire, out_of_memory_is_reported)
{
    struct sample samples[SAMPLES_MAX];
    unsigned count = samples_make(samples);
    for (unsigned i = 0; i < count; i++) {
        const struct wire_codec *codec = codec_of(&samples[i]);
        for (int64_t n = 1; n < 10; n++) {
            struct buffer out = {NULL, 0, 0};
            memset(&error, 0, sizeof error);
            mem_fail_at(n, false);
            int r = codec->recode(whole(&samples[i].bytes), &out, &error);
            mem_fail_at(0, false);
            cr_assert(r == 0 || r == GLINT_E_NO_MEMORY, "%s: %d", codec->name, r);
            cr_expect_eq(out.size, r == 0 ? samples[i].bytes.size : 0);
            buffer_fini(&out);
        }
        buffer_fini(&samples[i].bytes);
    }
}

/* Well-formed msgpack with invalid values. */
struct wrong {
    const char *codec, *bytes;
    size_t size;
};
#define WRONG(codec, bytes)                                                                        \
    {                                                                                              \
        codec, bytes, sizeof bytes - 1                                                             \
    }

Test(wire, out_of_range_values_are_rejected)
{
    static const struct wrong rows[] = {
        WRONG("ping", "\x93\x01\x02\xcd\x01\x01"),                    /* 257 tasks */
        WRONG("ping", "\x93\xff\x02\x01"),                            /* a negative time */
        WRONG("ping", "\x93\xca\0\0\0\0\x02\x01"),                    /* a float */
        WRONG("ping", "\x94\x01\x02\x03\x04"),                        /* a field too many */
        WRONG("executor_registration", "\x93\x00\x01\x01"),           /* port 0 */
        WRONG("executor_registration", "\x93\xce\0\x01\0\0\x01\x01"), /* port 65536 */
        WRONG("executor_registration", "\x93\x01\x00\x01"),           /* no slots */
        WRONG("executor_registration", "\x93\x01\x01\x00"),           /* no memory */
        WRONG("job_identity", "\x92\x00\xa0"),                        /* no job */
        WRONG("job_identity", "\x92\x01\xa1\x07"),                    /* BEL in its name */
        WRONG("job_identity", "\x92\x01\xa1\x00"),                    /* a NUL */
        WRONG("executor_request",
              "\x96\x01\xa1j\xa1h\x01\xc4\x02\x01\x02"),            /* a short incarnation */
        WRONG("executor_exited", "\x93\xce\x80\0\0\0\x01\xa0"),     /* a status over 31 bits */
        WRONG("executor_exited", "\x93\x00\x02\xa0"),               /* a boolean of 2 */
        WRONG("get_request", "\x93\x00\x01\x01"),                   /* no kind */
        WRONG("get_request", "\x93\x06\x01\x01"),                   /* an unknown kind */
        WRONG("get_request", "\x94\x01\x01\x01\x90"),               /* no map outputs */
        WRONG("get_request", "\x94\x01\x01\x01\x91\x01"),           /* half a pair */
        WRONG("get_request", "\x94\x04\x01\x00\x00"),               /* no bytes */
        WRONG("get_request", "\x94\x04\x01\x00\xce\x00\x80\0\x01"), /* more than a frame */
        WRONG("get_request",
              "\x94\x04\x01\xcf\x7f\xff\xff\xff\xff\xff\xff\xff\x01"), /* the end overflows */
        WRONG("block_request", "\x94\x01\x11\x90\x90"),                /* requests 17 blocks */
        WRONG("block_request", "\x94\x01\x01\xdc\0\x11"
                               "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\x90"),
        WRONG("block_assignment", "\x92\x01\x92\x01\x02"),               /* no checksum */
        WRONG("block_assignment", "\x92\x01\x93\x01\xce\0\x01\0\0\x05"), /* executor 65536 */
        WRONG("fetch_error", "\x91\x90"),                                /* no error */
        WRONG("fetch_error", "\x91\x94\x00\xa0\xa0\xa0"),                /* code 0 */
        WRONG("fetch_error", "\x91\x94\xd1\xd8\xf1\xa0\xa0\xa0"),        /* code -9999 */
        WRONG("fetch_error", "\x91\x94\xfb\xa0\xa0\xa0"),                /* code -5 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sample s = {.codec = rows[i].codec};
        struct buffer out = {NULL, 0, 0};
        memset(&error, 0, sizeof error);
        struct glint_slice bytes = {(const uint8_t *)rows[i].bytes, rows[i].size};
        cr_expect_eq(codec_of(&s)->recode(bytes, &out, &error), GLINT_E_PROTOCOL, "row %zu: %s", i,
                     rows[i].codec);
        buffer_fini(&out);
    }
}

/* A path on another host may contain any bytes. It is printed, so terminal control characters
 * are replaced. */
Test(wire, log_path_is_sanitized_for_printing)
{
    struct executor_exited e = {0,
                                false,
                                "/tmp/\033[2J\n\xff\xfe",
                                {.code = GLINT_E_WORK_DIR, .cause = "\033c", .hint = "\a"}},
                           back;
    struct buffer bytes = {NULL, 0, 0};
    cr_assert_eq(executor_exited_encode(&e, &bytes, &error), 0);
    cr_assert_eq(executor_exited_decode(whole(&bytes), &back, &error), 0);
    cr_expect_str_eq(back.log, "/tmp/?[2J ??");
    cr_expect_str_eq(back.why.cause, "?c");
    cr_expect_str_eq(back.why.hint, "?");
    buffer_fini(&bytes);
}

/* A header that claims a huge array must not cause an allocation. */
Test(wire, bombs_are_rejected_before_allocating)
{
    static const struct wrong bombs[] = {
        WRONG("get_request", "\xdd\xff\xff\xff\xff"),
        WRONG("get_request", "\x94\x01\x01\x01\xdd\xff\xff\xff\xff"),
        WRONG("daemon_status", "\x98\xdb\xff\xff\xff\xff"),
        WRONG("map_output_index", "\xdd\xff\xff\xff\xff\x01\x01\x01"),
        WRONG("block_request",
              "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"),
        WRONG("executor_address", "\xdf\xff\xff\xff\xff"),
    };
    mem_fail_at(1, true);
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        struct sample s = {.codec = bombs[i].codec};
        struct buffer out = {NULL, 0, 0};
        memset(&error, 0, sizeof error);
        struct glint_slice bytes = {(const uint8_t *)bombs[i].bytes, bombs[i].size};
        cr_expect_eq(codec_of(&s)->recode(bytes, &out, &error), GLINT_E_PROTOCOL, "%zu", i);
    }
    mem_fail_at(0, false);
}
