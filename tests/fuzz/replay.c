/* The main function of a fuzz target without libFuzzer: runs it on every file of the directories or
 * files given as arguments, and on the empty input. A corpus directory that does not exist is no
 * error, so a new target works before it has seeds. Each input is copied to a buffer of exactly its
 * size, so that the address sanitizer detects reads past its end. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned inputs;

static void fail(const char *path)
{
    perror(path);
    exit(1);
}

static void replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (file == NULL || data == NULL || fread(data, 1, size, file) != size) fail(path);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    inputs++;
}

static void replay_dir(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL) fail(path);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char file[4096];
        struct stat st;
        int length = snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof file) fail(path);
        if (stat(file, &st) != 0) fail(file);
        if (S_ISREG(st.st_mode)) replay_file(file, (size_t)st.st_size);
    }
    closedir(dir);
}

int main(int argc, char **argv)
{
    static const uint8_t nothing[1];
    LLVMFuzzerTestOneInput(nothing, 0);
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) != 0) {
            if (errno != ENOENT) fail(argv[i]);
        } else if (S_ISDIR(st.st_mode)) {
            replay_dir(argv[i]);
        } else {
            replay_file(argv[i], (size_t)st.st_size);
        }
    }
    printf("replayed %u inputs\n", inputs);
    return 0;
}
