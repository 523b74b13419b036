/* Reads a file's first line before tasks read its lines. Errors are ignored: the tasks report
 * them. */
#include "engine/data/csv.h"
#include "engine/data/line_reader.h"

#include <assert.h>
#include <string.h>

static const uint8_t *find_end(uint8_t csv, const uint8_t *text, uint64_t size)
{
    bool open = false;
    if (size == 0) return NULL;
    return csv != 0 ? csv_find_row_end(text, text + size, &open) : memchr(text, '\n', size);
}

uint64_t read_first_line(struct env *env, const struct input_file *file, uint8_t csv, uint8_t *out,
                         uint64_t capacity)
{
    const struct split_piece whole = split_whole_file(file);
    struct glint_error ignored = {.code = GLINT_OK};
    struct input_stream s;
    assert(capacity > BYTE_ORDER_MARK_SIZE);
    int64_t n = input_stream_open(&s, env, &whole, 0, &ignored);
    if (n == 0) n = input_stream_read(&s, out, capacity);
    input_stream_close(&s);
    uint64_t size = n > 0 ? (uint64_t)n : 0;
    if (size >= BYTE_ORDER_MARK_SIZE && memcmp(out, BYTE_ORDER_MARK, BYTE_ORDER_MARK_SIZE) == 0) {
        size -= BYTE_ORDER_MARK_SIZE;
        memmove(out, out + BYTE_ORDER_MARK_SIZE, size);
    }
    const uint8_t *lf = find_end(csv, out, size);
    if (lf != NULL) size = (uint64_t)(lf - out);
    if (lf != NULL && size > 0 && out[size - 1] == '\r') size--;
    if (csv != 0 && csv != CSV_RECORDS && csv_to_plain(out, size, csv, out, &size) != NULL)
        return 0;
    return size;
}
