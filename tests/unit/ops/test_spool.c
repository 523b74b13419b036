/* The spool of a join, which stores the values of one key: read repeatedly, from memory and from
 * disk. */
#include "ops/spool.h"
#include "tests/support/test_task.h"

#include <criterion/criterion.h>

TestSuite(spool);

static void fill_spool(struct spool *h, uint8_t *value, uint64_t size, int count)
{
    for (int i = 0; i < count; i++) {
        value[0] = (uint8_t)i;
        cr_assert_eq(spool_add(h, (struct glint_slice){value, size}), 0);
    }
}

/* All values are returned in order, any number of times; after spool_clear it is reused. */
Test(spool, values_can_be_read_repeatedly)
{
    struct test_task t;
    struct spool h;
    uint8_t *value = mem_zalloc(MIB);
    test_task_init(&t, SLOT_MEMORY_BYTES_MIN);
    spool_init(&h, &t.task);
    for (int round = 0; round < 6; round++) {
        const int count = round * 40;
        const uint64_t size = round % 2 == 0 ? 1000 : 50000;
        struct glint_slice v;
        fill_spool(&h, value, size, count);
        for (int again = 0; again < 3; again++) {
            cr_assert_eq(spool_rewind(&h), 0);
            for (int i = 0; i < count; i++)
                cr_assert(spool_next(&h, &v) == 1 && v.size == size && v.data[0] == (uint8_t)i);
            cr_assert_eq(spool_next(&h, &v), 0);
        }
        cr_expect_eq(h.count, (uint64_t)count);
        spool_clear(&h);
    }
    cr_expect_eq(t.task.counters.values[COUNT_SPILLS], 3);
    spool_fini(&h);
    mem_free(value);
    cr_expect(test_task_fini(&t));
    cr_expect_eq(mem_live_blocks(), 0);
}

/* The n-th disk call fails, for every n. */
Test(spool, every_failed_disk_call_is_reported)
{
    bool reached = true;
    for (uint64_t n = 1; reached; n++) {
        struct test_task t;
        struct spool h;
        struct glint_slice v = {NULL, 0};
        uint8_t *value = mem_zalloc(MIB);
        int r = 0;
        test_task_init(&t, SLOT_MEMORY_BYTES_MIN);
        t.fail_at = n;
        spool_init(&h, &t.task);
        for (int i = 0; i < 8 && r == 0; i++)
            r = spool_add(&h, (struct glint_slice){value, 900000});
        if (r == 0) r = spool_rewind(&h);
        for (int i = 0; i < 8 && r >= 0; i++) r = spool_next(&h, &v);
        reached = t.calls >= n;
        cr_expect(reached ? r < 0 || t.task.error.code == GLINT_OK : r == 1);
        if (r < 0) cr_expect_eq(t.task.error.code, GLINT_E_SPILL_IO);
        spool_fini(&h);
        mem_free(value);
        cr_expect(test_task_fini(&t));
        cr_expect_eq(mem_live_blocks(), 0);
    }
}
