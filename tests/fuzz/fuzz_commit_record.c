/* Arbitrary bytes as the commit record of an output in a store. What is accepted names only objects
 * that jobs write, and is the same when it is written and read again. */
#include "engine/base/mem.h"
#include "engine/driver/commit.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_names(const struct commit_record *r)
{
    for (uint64_t i = 0; i < r->part_count; i++) {
        const struct remote_upload *u = &r->parts[i].upload;
        if (!commit_name_is_part(r->parts[i].name, r->job) || strchr(r->parts[i].name, '/') ||
            u->part_count == 0 || u->part_count > S3_PARTS_MAX || u->id[0] == '\0')
            abort();
    }
    for (uint64_t i = 0; i < r->replaced_count; i++)
        if (!commit_name_is_part(r->replaced[i], NULL) || strchr(r->replaced[i], '/') ||
            commit_name_is_part(r->replaced[i], r->job))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct commit_record record, again;
    struct glint_error error = {.code = GLINT_OK};
    struct buffer text = {NULL, 0, 0};
    if (commit_record_decode((struct glint_slice){data, size}, "record", &record, &error) == 0) {
        check_names(&record);
        if (commit_record_encode(&record, &text, &error) != 0 ||
            commit_record_decode((struct glint_slice){text.data, text.size}, "again", &again,
                                 &error) != 0 ||
            again.part_count != record.part_count ||
            again.replaced_count != record.replaced_count || strcmp(again.job, record.job) != 0)
            abort();
        commit_record_fini(&again);
    } else if (error.code != GLINT_E_OUTPUT_EXISTS) {
        abort();
    }
    buffer_fini(&text);
    commit_record_fini(&record);
    if (mem_live_blocks() != 0) abort();
    return 0;
}
