/* Two executors connected by function calls. Whichever executor produced which map output, the
 * results are the same; a lost or corrupt output is named in the error; attempts can be killed;
 * large results stay in the store until they are fetched. */
#include "engine/base/endian.h"
#include "engine/executor/executor.h"

#include "engine/base/locked_dir.h"
#include "engine/driver/driver.h"
#include "engine/executor/store.h"
#include "ops/ops.h"
#include "tests/support/local.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <xxhash.h>

extern const struct op op_collect;

enum { MAPS = 4, REDUCES = 3, NUMBERS = 1000, EXECUTORS = 2, MAP_STAGE = 1, REDUCE_STAGE = 2 };

struct executors_fixture {
    struct glint *g;
    struct context_config config;
    struct glint_rdd *pairs, *counts, *shuffle_rdd;
    struct work_dir dirs[EXECUTORS];
    struct executor *executors[EXECUTORS]; /* at index i: executor i + 1 */
    struct fetcher fetcher;
    uint32_t locations[MAPS];
    uint32_t silent; /* this executor does not respond; 0: none */
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct message *first, *last;
};

static struct executors_fixture w;
static struct glint_error error;

static void deliver(void *arg, struct message *m)
{
    (void)arg;
    pthread_mutex_lock(&w.lock);
    if (w.last != NULL)
        w.last->next = m;
    else
        w.first = m;
    w.last = m;
    pthread_cond_signal(&w.arrived);
    pthread_mutex_unlock(&w.lock);
}

static struct message *receive(void)
{
    pthread_mutex_lock(&w.lock);
    while (w.first == NULL) pthread_cond_wait(&w.arrived, &w.lock);
    struct message *m = w.first;
    w.first = m->next;
    if (w.first == NULL) w.last = NULL;
    m->next = NULL;
    pthread_mutex_unlock(&w.lock);
    return m;
}

static void read_output(const struct run *run, const struct get_request *g, uint8_t *into)
{
    if (run->source.memory != NULL) {
        memcpy(into, run->source.memory + g->offset, g->size);
        return;
    }
    int file = open(run->path, O_RDONLY);
    cr_assert_eq(pread(file, into, g->size, (off_t)g->offset), (ssize_t)g->size);
    close(file);
}

/* Responds at once from the other executor's store, as fetch_server.c does. */
static void serve_request(struct fetch_request *r)
{
    const struct get_request *g = &r->get;
    struct store *s = executor_store(w.executors[r->executor - 1]);
    struct index_entry parts[MAPS];
    const struct run *runs[MAPS];
    uint64_t room = g->size;
    uint32_t count = g->kind == GET_INDEX ? g->map_count : 1, acquired = 0;
    if (r->executor == w.silent) error_set(&r->error, GLINT_E_CONNECTION, NULL, "no response");
    for (uint32_t i = 0; i < count && r->error.code == GLINT_OK; i++) {
        uint32_t map = g->kind == GET_INDEX ? g->maps[i][0] : g->map;
        uint32_t attempt = g->kind == GET_INDEX ? g->maps[i][1] : g->attempt;
        const struct run *run = store_acquire_map_output(s, g->id, map, attempt);
        if (run != NULL) runs[acquired++] = run;
        if (g->kind == GET_INDEX)
            parts[i] = index_entry_create(run, g->partition, &room);
        else if (run != NULL)
            read_output(run, g, r->into);
        else
            error_set(&r->error, GLINT_E_FETCH_FAILED, NULL, "map output not found");
    }
    if (g->kind == GET_INDEX && r->error.code == GLINT_OK)
        map_output_index_encode(parts, g->map_count, &r->response, &r->error);
    while (acquired > 0) store_release(s, runs[--acquired]);
}

static void submit(void *arg, struct fetch_request *first)
{
    (void)arg;
    for (struct fetch_request *r = first, *next; r != NULL; r = next) {
        next = r->next;
        r->error.code = GLINT_OK;
        serve_request(r);
        r->done(r);
    }
}

static void send_message(uint32_t executor, enum message_type type, const struct message *fields)
{
    struct message *m = message_create(type);
    cr_assert_not_null(m);
    m->stage = fields->stage;
    m->task = m->partition = fields->task;
    m->attempt = fields->attempt;
    m->id = fields->id;
    if (fields->body.size > 0)
        cr_assert(buffer_append(&m->body, fields->body.data, fields->body.size));
    cr_assert_eq(executor_handle_message(w.executors[executor - 1], m, &error), 0, "%s",
                 error.cause);
}

static void send_stage(uint32_t stage, const struct action *action, struct glint_rdd *shuffle_rdd)
{
    struct stage_plan s;
    struct message fields = {.stage = stage};
    cr_assert_eq(stage_plan_create(&s, action, shuffle_rdd), 0);
    cr_assert_eq(stage_plan_encode(&s, &fields.body, &error), 0);
    for (uint32_t e = 1; e <= EXECUTORS; e++) send_message(e, MSG_STAGE, &fields);
    buffer_fini(&fields.body);
    stage_plan_fini(&s);
}

static void open_fixture(const struct glint_function *function, uint64_t numbers)
{
    memset(&w, 0, sizeof w);
    error.code = GLINT_OK;
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.arrived, NULL);
    w.config = local_config(1, false);
    w.g = context_create(&w.config, &error);
    cr_assert_not_null(w.g);
    struct glint_rdd *all = local_numbers(w.g, numbers, MAPS);
    bool endless = function == FN_ENDLESS;
    w.pairs = endless ? glint_flat_map(all, function, NULL) : glint_map(all, function, NULL);
    cr_assert_not_null(w.pairs);
    w.counts = glint_partition_by(w.pairs, REDUCES);
    w.shuffle_rdd = w.counts->shuffle != NULL ? w.counts->shuffle : w.counts;
    cr_assert_eq(rdd_partition_count(w.counts), REDUCES);
    w.fetcher = (struct fetcher){.submit = submit};
    for (uint32_t i = 0; i < EXECUTORS; i++) {
        cr_assert_eq(work_dir_open(&w.dirs[i], env_real(), NULL, &error), 0);
        struct executor_config config = {.slots = 1,
                                         .self = i + 1,
                                         .options = {.memory_bytes = SLOT_MEMORY_BYTES_MIN,
                                                     .line_bytes_max = MIB,
                                                     .result_bytes_max = RESULT_BYTES_MAX,
                                                     .bad_rows_max = -1,
                                                     .work_dir = w.dirs[i].path},
                                         .registry = &w.config,
                                         .env = env_real(),
                                         .fetcher = &w.fetcher,
                                         .deliver = deliver};
        w.executors[i] = executor_create(&config, &error);
        cr_assert_not_null(w.executors[i]);
    }
    send_stage(MAP_STAGE, NULL, w.shuffle_rdd);
    struct action action = {.op = &op_collect, .rdd = w.counts};
    send_stage(REDUCE_STAGE, &action, NULL);
}

static void close_fixture(void)
{
    for (uint32_t i = 0; i < EXECUTORS; i++) {
        executor_destroy(w.executors[i]);
        work_dir_close(&w.dirs[i]);
    }
    cr_expect_null(w.first);
    cr_expect_eq(glint_finish(w.g), GLINT_OK);
    glint_destroy(w.g);
}

static void send_map(uint32_t executor, uint32_t map, uint32_t attempt)
{
    struct message fields = {.stage = MAP_STAGE, .task = map, .attempt = attempt};
    cr_assert_eq(rdd_encode_partition_splits(w.g, w.shuffle_rdd->parents[0], map, &fields.body), 0);
    send_message(executor, MSG_TASK, &fields);
    buffer_fini(&fields.body);
}

/* Bit i of `locations`: 0: executor 1 runs map i, 1: executor 2. */
static void run_maps(uint32_t locations, uint32_t attempt)
{
    struct map_output_location list[MAPS];
    struct message fields = {.id = w.shuffle_rdd->id};
    for (uint32_t i = 0; i < MAPS; i++) {
        w.locations[i] = 1 + (locations >> i & 1);
        list[i] = (struct map_output_location){w.locations[i], attempt};
        send_map(w.locations[i], i, attempt);
        struct message *done = receive();
        cr_assert_eq(done->type, MSG_DONE, "%s", done->error != NULL ? done->error->cause : "");
        cr_expect_eq(done->body.size, REDUCES);
        message_destroy(done);
    }
    cr_assert_eq(map_outputs_encode(list, MAPS, &fields.body, &error), 0);
    for (uint32_t e = 1; e <= EXECUTORS; e++) send_message(e, MSG_MAP_OUTPUTS, &fields);
    buffer_fini(&fields.body);
}

static struct message *run_reduce(uint32_t executor, uint32_t task)
{
    struct message fields = {.stage = REDUCE_STAGE, .task = task};
    cr_assert(buffer_append(&fields.body, "\x90", 1));
    send_message(executor, MSG_TASK, &fields);
    buffer_fini(&fields.body);
    return receive();
}

Test(executor, results_do_not_depend_on_output_location)
{
    struct buffer expected[REDUCES] = {{NULL, 0, 0}};
    for (uint32_t locations = 0; locations < 1u << MAPS; locations += 3) {
        open_fixture(FN_MAP, NUMBERS);
        run_maps(locations, locations % 4);
        for (uint32_t k = 0; k < 2 * REDUCES; k++) {
            struct buffer *e = &expected[k / 2];
            struct message *m = run_reduce(1 + k % 2, k / 2);
            cr_assert_eq(m->type, MSG_DONE, "%s", m->error != NULL ? m->error->cause : "");
            if (e->data == NULL) cr_assert(buffer_append(e, m->body.data, m->body.size));
            cr_assert_eq(m->body.size, e->size);
            cr_assert(memcmp(m->body.data, e->data, e->size) == 0);
            message_destroy(m);
        }
        while (executor_unfinished_tasks(w.executors[0]) > 0)
            sched_yield(); /* drops after the delivery */
        close_fixture();
    }
    for (uint32_t i = 0; i < REDUCES; i++) buffer_fini(&expected[i]);
}

static void expect_fault(struct message *m, uint32_t map, uint32_t executor, uint32_t attempt)
{
    struct fetch_failure fault;
    cr_assert_eq(m->type, MSG_FAILED);
    cr_assert_eq(m->error->code, GLINT_E_FETCH_FAILED, "%s", m->error->cause);
    cr_assert_eq(
        fetch_failure_decode((struct glint_slice){m->body.data, m->body.size}, &fault, &error), 0);
    cr_expect_eq(fault.shuffle, w.shuffle_rdd->id);
    cr_expect_eq(fault.map, map);
    cr_expect_eq(fault.executor, executor);
    cr_expect_eq(fault.attempt, attempt);
    cr_expect_eq(fault.unreachable, executor == w.silent);
    message_destroy(m);
}

Test(executor, missing_output_is_named_in_the_error)
{
    open_fixture(FN_MAP, NUMBERS);
    run_maps(0xa, 2); /* 1 and 3 at executor 2 */
    struct message kill = {.stage = MAP_STAGE, .task = 3, .attempt = 2};
    send_message(2, MSG_KILL, &kill); /* superseded: removes the output */
    expect_fault(run_reduce(1, 0), 3, 2, 2);
    expect_fault(run_reduce(2, 0), 3, 2, 2);
    kill.task = 0;
    send_message(1, MSG_KILL, &kill);
    expect_fault(run_reduce(1, 1), 0, 1, 2);
    run_maps(0x3, 3);
    struct message *m = run_reduce(1, 0);
    cr_expect_eq(m->type, MSG_DONE);
    message_destroy(m);
    close_fixture();
}

/* The driver must then treat all outputs of that executor as lost. */
Test(executor, silent_peer_is_reported_unreachable)
{
    open_fixture(FN_MAP, NUMBERS);
    run_maps(0xa, 0); /* 1 and 3 at executor 2 */
    w.silent = 2;
    expect_fault(run_reduce(1, 0), 1, 2, 0);
    w.silent = 1;
    expect_fault(run_reduce(2, 0), 0, 1, 0);
    w.silent = 0;
    struct message *m = run_reduce(1, 0);
    cr_expect_eq(m->type, MSG_DONE);
    message_destroy(m);
    close_fixture();
}

/* Flips a bit in the file of a map output. */
static void flip(uint32_t executor, uint32_t map, uint32_t partition)
{
    struct store *s = executor_store(w.executors[executor - 1]);
    const struct run *run = store_acquire_map_output(s, w.shuffle_rdd->id, map, 0);
    uint8_t byte;
    cr_assert_not_null(run);
    cr_assert_not_null(run->path);
    off_t at = (off_t)(run->parts[partition].offset + run->parts[partition].bytes / 2);
    int file = open(run->path, O_RDWR);
    cr_assert_eq(pread(file, &byte, 1, at), 1);
    byte ^= 4;
    cr_assert_eq(pwrite(file, &byte, 1, at), 1);
    close(file);
    store_release(s, run);
}

Test(executor, corrupt_output_is_named_in_the_error)
{
    open_fixture(FN_MAP, 3000000); /* each larger than MAP_OUTPUT_MEMORY_BYTES: in files */
    run_maps(0x6, 0);
    uint32_t partition = 0;
    struct store *s = executor_store(w.executors[0]);
    const struct run *run = store_acquire_map_output(s, w.shuffle_rdd->id, 0, 0);
    while (run->parts[partition].records == 0) partition++;
    store_release(s, run);
    flip(1, 0, partition);
    struct message *m = run_reduce(1, partition);
    cr_expect_not_null(strstr(m->error->cause, "the second read failed too"), "%s",
                       m->error->cause);
    expect_fault(m, 0, 1, 0);
    m = run_reduce(2, partition);
    cr_expect_not_null(strstr(m->error->cause, "the second read failed too"), "%s",
                       m->error->cause);
    expect_fault(m, 0, 1, 0);
    close_fixture();
}

Test(executor, large_results_are_stored_until_released)
{
    open_fixture(FN_LARGE, 60);
    run_maps(0x6, 0);
    uint64_t total = 0;
    for (uint32_t task = 0; task < REDUCES; task++) {
        struct store *s = executor_store(w.executors[1]);
        struct message *m = run_reduce(2, task);
        struct glint_slice bytes;
        void *ref;
        cr_assert_eq(m->type, MSG_DONE);
        total += m->id != 0 ? m->size : m->body.size;
        if (m->id != 0) {
            cr_expect_gt(m->size, RESULT_INLINE_BYTES_MAX);
            ref = store_acquire_bytes(s, STORED_RESULT, m->id, &bytes);
            cr_assert_not_null(ref);
            cr_expect_eq(bytes.size, m->size);
            cr_assert_eq(m->body.size, RESULT_CHECKSUM_BYTES);
            cr_expect_eq(get_le64(m->body.data), XXH3_64bits(bytes.data, bytes.size));
            store_release(s, ref);
            send_message(2, MSG_RELEASE, &(struct message){.id = m->id});
            cr_expect_null(store_acquire_bytes(s, STORED_RESULT, m->id, &bytes));
        }
        message_destroy(m);
    }
    cr_expect_gt(total, 60 * (uint64_t)LOCAL_LARGE_BYTES);
    close_fixture();
}

static void expect_interrupted(uint32_t task)
{
    struct message *m = receive();
    cr_assert_eq(m->type, MSG_FAILED);
    cr_expect_eq(m->error->code, GLINT_E_INTERRUPTED);
    cr_expect_eq(m->task, task);
    message_destroy(m);
}

static void wait_started(int count)
{
    while (atomic_load(&local_started) < count) sched_yield();
}

Test(executor, attempts_end_on_kill_and_cancel)
{
    atomic_store(&local_started, 0);
    open_fixture(FN_ENDLESS, NUMBERS);
    for (uint32_t i = 0; i < 3; i++) send_map(1, i, 7);
    cr_expect_eq(executor_unfinished_tasks(w.executors[0]), 3);
    wait_started(1); /* task 0; the others are queued */
    struct message kill = {.stage = MAP_STAGE, .task = 1, .attempt = 6};
    send_message(1, MSG_KILL, &kill); /* no such attempt: ignored */
    kill.attempt = 7;
    send_message(1, MSG_KILL, &kill); /* queued: removed at once */
    expect_interrupted(1);
    kill.task = 0;
    kill.id = KILL_IF_QUEUED;
    send_message(1, MSG_KILL, &kill); /* running: ignored */
    send_map(1, 3, 6);
    kill.task = 3;
    kill.attempt = 6;
    send_message(1, MSG_KILL, &kill);
    expect_interrupted(3);
    kill.task = 0;
    kill.attempt = 7;
    kill.id = KILL_ALWAYS;
    send_message(1, MSG_KILL, &kill);
    expect_interrupted(0);
    wait_started(2);
    send_map(1, 3, 7);
    send_message(1, MSG_CANCEL, &(struct message){.id = 1});
    expect_interrupted(2);
    expect_interrupted(3);
    send_message(1, MSG_CANCEL, &(struct message){.id = 0});
    send_map(1, 0, 8);
    wait_started(3); /* after CANCEL 0 tasks run again */
    executor_destroy(w.executors[0]);
    expect_interrupted(0);
    w.executors[0] = NULL;
    close_fixture();
}
