/* A scratch directory to work in, and helpers that create and check files in it. */
#ifndef GLINT_TESTS_DRIVER_SCRATCH_DIRS_H
#define GLINT_TESTS_DRIVER_SCRATCH_DIRS_H

#include "engine/base/env.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64];

static void scratch_enter(void)
{
    memcpy(scratch, "/tmp/commit-test-XXXXXX", sizeof "/tmp/commit-test-XXXXXX");
    cr_assert_not_null(mkdtemp(scratch));
    cr_assert_eq(chdir(scratch), 0);
}

static void scratch_leave(void)
{
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(env_remove_tree(env_real(), ENV_CWD, scratch, 8), 0);
}

static void write_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    cr_assert(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text), "%s", path);
    close(file);
}

static bool file_contains(const char *path, const char *text)
{
    char found[64] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t n = read(file, found, sizeof found - 1);
    close(file);
    return n == (ssize_t)strlen(text) && strcmp(found, text) == 0;
}

/* Number of entries of a directory, without . and .. */
static int entries(const char *path)
{
    int n = 0;
    DIR *directory = opendir(path);
    if (directory == NULL) return -1;
    while (readdir(directory) != NULL) n++;
    closedir(directory);
    return n - 2;
}

/* A complete output with one part. */
static void make_output(const char *path, const char *text)
{
    char file[300];
    cr_assert_eq(mkdir(path, 0777), 0);
    cr_assert_lt(snprintf(file, sizeof file, "%s/part-00000", path), (int)sizeof file);
    write_file(file, text);
    snprintf(file, sizeof file, "%s/_SUCCESS", path);
    write_file(file, "");
}

#endif
