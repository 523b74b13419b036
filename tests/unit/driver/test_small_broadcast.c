/* Small broadcasts come from the driver itself, a few times. */
#include "engine/transfer/broadcast.h"

#include <criterion/criterion.h>

/* A small value is sent four times: fetching it from each other would take the executors longer. */
Test(broadcast_tracker, small_broadcasts_come_from_the_driver)
{
    for (uint32_t blocks = 2; blocks <= 4; blocks += 2) {
        struct tracker *t = broadcast_tracker_create(blocks);
        for (uint32_t e = 0; e < 6; e++) {
            struct block_request in = {.blocks_max = 2};
            struct block_assignment out;
            for (uint32_t n = 0; n < blocks; n += 2) { /* two at a time */
                cr_assert(broadcast_tracker_on_block_request(t, e, &in, &out));
                cr_assert_eq(out.count, 2);
                for (uint32_t i = 0; i < 2; i++)
                    cr_expect_eq(out.blocks[i].from == EXECUTOR_ID_DRIVER, e < 4, "executor %u", e);
                in.received_count = 2;
                in.received[0] = out.blocks[0].block;
                in.received[1] = out.blocks[1].block;
            }
            in.blocks_max = 0;
            cr_assert(broadcast_tracker_on_block_request(t, e, &in, &out));
        }
        cr_expect_eq(broadcast_tracker_blocks_sent_by_driver(t), 4 * blocks);
        broadcast_tracker_destroy(t);
    }
}
