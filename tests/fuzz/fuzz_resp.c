/* Arbitrary bytes as requests of a client of filters. The first byte is the size of the pieces in
 * which the rest arrives: words and replies are the same as when all of it is there at once. */
#include "jobs/commands/filter_commands.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct resp_limits limits = {.words = 20, .bytes = 300};
static const struct filter_table no_filters;

static void check_words(const struct resp_parser *p)
{
    if (p->count > limits.words || p->at > limits.bytes + 32 || p->count < p->expected) abort();
    for (uint32_t i = 0; i < p->count; i++)
        if (p->words[i].offset > p->at || p->words[i].size > p->at - p->words[i].offset) abort();
}

/* Answers all requests, with `piece` more bytes at each call of the parser. */
static void answer(const uint8_t *data, size_t size, size_t piece, struct resp_reply *out)
{
    struct filter_service service = {.table = &no_filters, .password = "word"};
    struct filter_client client = {.version = 2};
    struct resp_parser parser = {.words = NULL};
    const char *why = NULL;
    size_t at = 0, have = 0;
    enum resp_result result = RESP_PARTIAL;
    while (have < size && result != RESP_INVALID && !client.quits) {
        have = size - have < piece ? size : have + piece;
        do {
            result = resp_parse(&parser, data + at, have - at, &limits, &why);
            if (result == RESP_NO_MEMORY) abort();
            if (result == RESP_INVALID) resp_error(out, "ERR %s", why);
            if (result != RESP_COMPLETE) break;
            check_words(&parser);
            if (parser.count > 0)
                filter_command_run(&service, &client, data + at, &parser, out);
            at += parser.at;
            resp_next(&parser);
        } while (at < have && !client.quits);
    }
    resp_parser_fini(&parser);
    if (out->failed || client.version < 2 || client.version > 3) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct resp_reply whole = {.version = 2}, pieces = {.version = 2};
    if (size < 2) return 0;
    const size_t piece = 1 + data[0] % 16;
    /* Its own block, so that the sanitizer sees a byte too far. */
    uint8_t *copy = malloc(size - 1);
    if (copy == NULL) return 0;
    memcpy(copy, data + 1, size - 1);
    answer(copy, size - 1, size - 1, &whole);
    answer(copy, size - 1, piece, &pieces);
    if (whole.out.size != pieces.out.size ||
        (whole.out.size > 0 && memcmp(whole.out.data, pieces.out.data, whole.out.size) != 0))
        abort();
    buffer_fini(&whole.out);
    buffer_fini(&pieces.out);
    free(copy);
    if (mem_live_blocks() != 0) abort();
    return 0;
}
