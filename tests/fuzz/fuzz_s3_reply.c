/* Arbitrary bytes as responses of S3 to requests that write: the first byte says which. */
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/input/s3_reply.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_upload(void *arg, const struct s3_upload *u)
{
    if (u->key[0] == '\0' || u->upload_id[0] == '\0' || strlen(u->key) >= sizeof u->key ||
        !text_is_printable(u->key) || !text_is_printable(u->upload_id) ||
        !text_is_printable(u->initiated))
        abort();
    return ++*(int *)arg == 3 ? 7 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct s3_reply reply;
    struct s3_uploads_marker next;
    int seen = 0;
    if (size == 0) return 0;
    const uint8_t which = data[0] % 2;
    if (which == 0) {
        s3_reply_parse(data + 1, size - 1, &reply);
        if (reply.kind == S3_UPLOAD_CREATED && reply.upload_id[0] == '\0') abort();
        if (!text_is_printable(reply.upload_id) || !text_is_printable(reply.code) ||
            !text_is_printable(reply.message))
            abort();
    } else if (s3_uploads_parse(data + 1, size - 1, &next, check_upload, &seen) == 0 &&
               next.key[0] == '\0' && next.upload_id[0] != '\0') {
        abort();
    }
    if (mem_live_blocks() != 0) abort();
    return 0;
}
