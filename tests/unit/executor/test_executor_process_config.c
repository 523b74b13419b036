/* Encoding for the control pipe: complete, truncated, and with each byte changed. */
#include "engine/executor/executor_process_config.h"

#include <criterion/criterion.h>
#include <string.h>

static struct received_config received;

static struct executor_process_config example(void)
{
    return (struct executor_process_config){.cluster = "test",
                                            .node = "e1",
                                            .secret_file = "/etc/glint/secret",
                                            .insecure_plaintext = true,
                                            .host = "::1",
                                            .slots = 3,
                                            .memory_bytes = 5 * GIB,
                                            .work_dir = "/var/tmp",
                                            .heartbeat = {1, 2, 3},
                                            .connect_ms = 4,
                                            .fetch_ms = 5,
                                            .drain_ms = 6,
                                            .start_ms = 7,
                                            .ports = {7500, 7599},
                                            .log_json = true,
                                            .log_bytes_max = 77};
}

static struct buffer encoded(const struct executor_process_config *c)
{
    struct glint_error error = {.code = GLINT_OK};
    struct buffer out = {NULL, 0, 0};
    cr_assert_eq(executor_process_config_encode(c, &out, &error), 0);
    return out;
}

static int decode(const uint8_t *data, uint64_t size)
{
    struct glint_error error = {.code = GLINT_OK};
    int r = executor_process_config_decode((struct glint_slice){data, size}, &received, &error);
    cr_assert_eq(r, (int)error.code);
    return r;
}

Test(executor_process_config, round_trips)
{
    struct executor_process_config c = example();
    struct buffer b = encoded(&c);
    cr_assert_eq(decode(b.data, b.size), 0);
    const struct executor_process_config *got = &received.config;
    cr_expect_str_eq(got->cluster, c.cluster);
    cr_expect_str_eq(got->node, c.node);
    cr_expect_str_eq(got->secret_file, c.secret_file);
    cr_expect_str_eq(got->host, c.host);
    cr_expect_str_eq(got->work_dir, c.work_dir);
    cr_expect_eq(got->log_bytes_max, 77);
    cr_expect(got->insecure_plaintext && got->log_json && got->slots == 3);
    cr_expect_eq(got->memory_bytes, 5 * GIB);
    cr_expect_eq(memcmp(&got->heartbeat, &c.heartbeat, sizeof c.heartbeat), 0);
    cr_expect(got->connect_ms == 4 && got->fetch_ms == 5 && got->drain_ms == 6);
    cr_expect(got->ports.first == 7500 && got->ports.last == 7599);
    cr_expect(got->start_ms == 7 && got->join_host == NULL && got->port == 0);
    buffer_fini(&b);
}

Test(executor_process_config, absent_strings_stay_absent)
{
    struct executor_process_config c = example();
    c.secret_file = c.work_dir = NULL;
    struct buffer b = encoded(&c);
    cr_assert_eq(decode(b.data, b.size), 0);
    cr_expect_null(received.config.secret_file);
    cr_expect_null(received.config.work_dir);
    buffer_fini(&b);
}

Test(executor_process_config, damaged_bytes_are_rejected_or_valid)
{
    struct executor_process_config c = example();
    struct buffer b = encoded(&c);
    for (uint64_t size = 0; size < b.size; size++)
        cr_expect_eq(decode(b.data, size), GLINT_E_PROTOCOL, "of %d bytes", (int)size);
    for (uint64_t i = 0; i < b.size; i++) {
        for (unsigned v = 0; v < 256; v++) {
            uint8_t was = b.data[i];
            b.data[i] = (uint8_t)v;
            int r = decode(b.data, b.size);
            cr_expect(r == 0 || r == GLINT_E_PROTOCOL);
            cr_expect(r != 0 || (received.config.slots > 0 && received.config.connect_ms > 0));
            b.data[i] = was;
        }
    }
    buffer_fini(&b);
}

Test(executor_process_config, invalid_values_are_rejected)
{
    struct executor_process_config c = example();
    c.heartbeat.suspect_ns = c.heartbeat.heartbeat_ns;
    struct buffer b = encoded(&c);
    cr_expect_eq(decode(b.data, b.size), GLINT_E_PROTOCOL);
    buffer_fini(&b);
    c = example();
    c.slots = SLOTS_MAX + 1;
    b = encoded(&c);
    cr_expect_eq(decode(b.data, b.size), GLINT_E_PROTOCOL);
    buffer_fini(&b);
}

Test(executor_process_config, state_round_trips)
{
    struct glint_error error = {.code = GLINT_OK};
    struct executor_metrics s = {3, 7 * MIB}, got;
    struct buffer b = {NULL, 0, 0};
    cr_assert_eq(executor_metrics_encode(&s, &b, &error), 0);
    cr_assert_eq(executor_metrics_decode((struct glint_slice){b.data, b.size}, &got, &error), 0);
    cr_expect(got.tasks_running == 3 && got.memory_bytes == 7 * MIB);
    for (uint64_t size = 0; size < b.size; size++) {
        error.code = GLINT_OK;
        cr_expect_eq(executor_metrics_decode((struct glint_slice){b.data, size}, &got, &error),
                     GLINT_E_PROTOCOL);
    }
    buffer_fini(&b);
}
