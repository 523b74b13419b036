/* Arbitrary bytes as a file of filters with keys, through <glint/bloom.h>: either rejected, or a
 * file whose entries are usable, and equal whether the file was read or mapped. */
#include "jobs/bloom/glint/bloom.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static glint_bloom_file *opened(const uint8_t *data, size_t size, enum glint_bloom_open_mode mode)
{
    char path[] = "/tmp/glint-fuzz-XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || write(file, data, size) != (ssize_t)size) abort();
    close(file);
    glint_bloom_file *got = NULL;
    int result = glint_bloom_open(path, mode, &got);
    if ((result == 0) != (got != NULL)) abort();
    unlink(path);
    return got;
}

static void compare(const glint_bloom_file *a, const glint_bloom_file *b)
{
    if (glint_bloom_entries(a) != glint_bloom_entries(b)) abort();
    for (size_t i = 0; i < glint_bloom_entries(a); i++) {
        struct glint_bloom_entry x = glint_bloom_entry_at(a, i), y = glint_bloom_entry_at(b, i);
        if (x.kind != y.kind || x.number != y.number || x.text_size != y.text_size) abort();
        if (x.text_size > 0 && memcmp(x.text, y.text, x.text_size) != 0) abort();
        if (glint_bloom_bits_set(x.filter) != glint_bloom_bits_set(y.filter)) abort();
        if (glint_bloom_contains(x.filter, "id", 2) != glint_bloom_contains(y.filter, "id", 2))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    glint_bloom_file *read = opened(data, size, GLINT_BLOOM_READ);
    glint_bloom_file *mapped = opened(data, size, GLINT_BLOOM_MAP);
    if ((read == NULL) != (mapped == NULL)) abort();
    if (read != NULL) compare(read, mapped);
    glint_bloom_close(read);
    glint_bloom_close(mapped);
    return 0;
}
