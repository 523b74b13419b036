/* What is decoded of a peer, or of an event log, takes at most so many times its bytes in memory,
 * also when the peer writes what a library makes most of. Each document is decoded in a process of
 * its own, whose largest size is measured; the allocations of expat and jansson are not those of
 * base/mem.h. */
#include "engine/cli/cli_internal.h"
#include "engine/input/remote_list.h"
#include "engine/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define DECODED_TIMES  16u
#define LOG_TIMES      24u /* of an event log, whose smallest events have few bytes */
#define DOCUMENT_BYTES REMOTE_PAGE_BYTES_MAX
#define PART_BYTES_MAX 512

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static int skip_entry(void *arg, const struct listed_object *object)
{
    (void)arg;
    (void)object;
    return 0;
}

static void decode_s3(const uint8_t *text, uint64_t size)
{
    char token[S3_TOKEN_BYTES];
    s3_list_parse(text, size, token, skip_entry, NULL);
}

static void decode_hdfs(const uint8_t *text, uint64_t size)
{
    struct listed_object object;
    hdfs_list_parse(text, size, skip_entry, NULL);
    hdfs_status_parse(text, size, &object);
}

/* As a file that is not on disk. */
static void path_of(const uint8_t *text, uint64_t size, char path[32])
{
    const int file = memfd_create("log", MFD_CLOEXEC);
    if (file < 0 || write(file, text, size) != (ssize_t)size) _exit(1);
    snprintf(path, 32, "/proc/self/fd/%d", file);
}

/* Also prints it, as text and as JSON. */
static void decode_log(const uint8_t *text, uint64_t size)
{
    char path[32];
    struct job_model m;
    struct glint_error error = {.code = GLINT_OK};
    FILE *out = fopen("/dev/null", "w");
    path_of(text, size, path);
    if (out == NULL) _exit(1);
    if (job_model_read(&m, env_real(), path, &error) != 0) return;
    history_print(out, &m);
    if (!history_print_json(out, &m)) _exit(1);
}

static void decode_nothing(const uint8_t *text, uint64_t size)
{
    (void)text;
    (void)size;
}

/* A document is `begin`, and `part` until it is full; a # in it is a number. */
struct document {
    const char *name;
    void (*decode)(const uint8_t *text, uint64_t size);
    const char *begin, *part;
};

#define STATUSES "{\"FileStatuses\":{\"FileStatus\":["

#define EVENT "{\"schema\":1,\"ms\":1,\"time\":\"\",\"event\":"
#define JOB                                                                                        \
    EVENT "\"job\",\"id\":\"\",\"name\":\"\",\"version\":\"\",\"build\":\"\",\"master\":\"\","     \
          "\"arguments\":[],\"options\":{}}\n"
#define STAGE   EVENT "\"stage_end\",\"stage\":#,\"error\":null"
#define OBJECTS "\"x\":[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]"
#define TASK                                                                                       \
    EVENT "\"task\",\"stage\":0,\"task\":#,\"attempt\":0,\"executor\":0,\"speculative\":false,"    \
          "\"start_ms\":0,\"end_ms\":0,\"run_ms\":0,\"outcome\":\"done\",\"error\":null,"          \
          "\"counters\":{}}\n"

static const struct document documents[] = {
    {"event log, notes", decode_log, JOB, EVENT "\"note\",\"text\":\"\"}\n"},
    {"event log, stages", decode_log, JOB, STAGE "}\n"},
    {"event log, stages with objects", decode_log, JOB, STAGE ",\"x\":[{},{}]}\n"},
    {"event log, tasks", decode_log, JOB, TASK},
    {"event log, objects", decode_log, JOB, EVENT "\"note\",\"text\":\"\"," OBJECTS "}\n"},
    {"s3, keys", decode_s3, "<ListBucketResult>", "<Contents><Key>#</Key></Contents>"},
    {"s3, open elements", decode_s3, "<ListBucketResult>", "<a>"},
    {"s3, names of elements", decode_s3, "<ListBucketResult>", "<a#/>"},
    {"s3, attributes", decode_s3, "<ListBucketResult ", "a#='' "},
    {"s3, entities", decode_s3, "<!DOCTYPE a [", "<!ENTITY a# 'b'>"},
    {"s3, a long name", decode_s3, "<ListBucketResult><", "a"},
    {"hdfs, files", decode_hdfs, STATUSES, "{\"pathSuffix\":\"#\"},"},
    {"hdfs, objects", decode_hdfs, STATUSES, "{},"},
    {"hdfs, objects in an entry", decode_hdfs, STATUSES "{\"pathSuffix\":\"a\",\"x\":[", "{},"},
    {"hdfs, open arrays", decode_hdfs, STATUSES, "["},
    {"hdfs, a long name", decode_hdfs, STATUSES "{\"pathSuffix\":\"", "a"},
};
#define DOCUMENT_COUNT (sizeof documents / sizeof *documents)

static void fill(const struct document *d, char *out)
{
    size_t used = (size_t)snprintf(out, DOCUMENT_BYTES, "%s", d->begin);
    for (unsigned i = 0; used + PART_BYTES_MAX < DOCUMENT_BYTES; i++)
        for (const char *p = d->part; *p != '\0'; p++) {
            if (*p == '#')
                used += (size_t)snprintf(out + used, 16, "%u", i);
            else
                out[used++] = *p;
        }
    memset(out + used, ' ', DOCUMENT_BYTES - used);
}

/* Returns the largest size of a process that decodes the document, in KiB; 0: it failed. */
static long measure(const struct document *d, void (*decode)(const uint8_t *, uint64_t))
{
    struct rusage usage;
    int status = 1;
    const pid_t child = fork();
    if (child == 0) {
        char *text = malloc(DOCUMENT_BYTES);
        if (text == NULL) _exit(1);
        fill(d, text);
        decode((const uint8_t *)text, DOCUMENT_BYTES);
        _exit(0);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) return 0;
    return usage.ru_maxrss;
}

int main(void)
{
    unsigned failed = 0;
    for (size_t i = 0; i < DOCUMENT_COUNT; i++) {
        const struct document *d = &documents[i];
        const long before = measure(d, decode_nothing), after = measure(d, d->decode);
        const bool log = d->decode == decode_log;
        const unsigned times = log ? LOG_TIMES : DECODED_TIMES;
        const long most = (long)(times * DOCUMENT_BYTES / KIB);
        const bool ok = before > 0 && after > 0 && (SANITIZED || after - before <= most);
        printf("%s: %ld of %ld KiB%s\n", d->name, after - before, most, ok ? "" : ": FAILED");
        failed += !ok;
    }
    printf("%zu passed, %u failed\n", DOCUMENT_COUNT - failed, failed);
    return failed > 0;
}
