/* Results are small compared with the table, so stdio and glob are fast enough. */
#include "files.h"
#include "die.h"
#include "rows.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void join(char *out, const char *dir, const char *name)
{
    int length = snprintf(out, PATH_MAX, "%s/%s", dir, name);
    if (length < 0 || length >= PATH_MAX) die("%s: path too long", dir);
}

FILE *output_create(const char *path)
{
    char name[PATH_MAX];
    if (mkdir(path, 0777) != 0) die_errno(path);
    join(name, path, "part-00000");
    FILE *part = fopen(name, "wb");
    if (part == NULL) die_errno(name);
    return part;
}

void output_finish(FILE *part, const char *path)
{
    char name[PATH_MAX];
    if (fclose(part) != 0) die_errno(path);
    join(name, path, "_SUCCESS");
    FILE *done = fopen(name, "wb");
    if (done == NULL || fclose(done) != 0) die_errno(name);
}

static uint8_t *append_file(const char *path, uint8_t *bytes, size_t *length)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    if (file == NULL || fstat(fileno(file), &status) != 0) die_errno(path);
    size_t size = (size_t)status.st_size;
    bytes = realloc(bytes, *length + size + 1);
    if (bytes == NULL) die("out of memory");
    setvbuf(file, NULL, _IONBF, 0);
    if (fread(bytes + *length, 1, size, file) != size) die_errno(path);
    fclose(file);
    *length += size;
    bytes[*length] = '\0';
    return bytes;
}

uint8_t *input_read(const char *path, size_t *out_length)
{
    struct stat status;
    *out_length = 0;
    if (stat(path, &status) != 0) die_errno(path);
    if (!S_ISDIR(status.st_mode)) return append_file(path, NULL, out_length);
    char pattern[PATH_MAX];
    join(pattern, path, "part-*");
    glob_t parts;
    if (glob(pattern, 0, NULL, &parts) != 0) die("%s: no parts", path);
    uint8_t *bytes = NULL;
    for (size_t i = 0; i < parts.gl_pathc; i++)
        bytes = append_file(parts.gl_pathv[i], bytes, out_length);
    globfree(&parts);
    return bytes;
}

void counts_read(const char *path, uint64_t *counts)
{
    size_t length;
    uint8_t *text = input_read(path, &length);
    memset(counts, 0, KEYS_MAX * sizeof *counts);
    const char *line = (const char *)text;
    while (*line != '\0') {
        uint64_t key, count;
        int used = 0;
        if (sscanf(line, "%" SCNu64 "\t%" SCNu64 "%n", &key, &count, &used) != 2 ||
            line[used] != '\n' || key >= KEYS_MAX)
            die("%s: bad line: %.40s", path, line);
        counts[key] = count;
        line += used + 1;
    }
    free(text);
}
