/* What is parsed of URLs, headers and lists. */
#include "engine/remote/hdfs_status.h"
#include "engine/remote/remote_response.h"
#include "engine/remote/remote_url.h"
#include "engine/remote/s3_list.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct remote_response response;

static bool add(const char *line)
{
    remote_response_add_line(&response, line, strlen(line));
    return !response.malformed;
}

static bool fails(const char *line)
{
    response = (struct remote_response){.length = 0};
    return !add(line);
}

Test(remote_response, ranges_lengths_and_versions)
{
    response = (struct remote_response){.length = 0};
    cr_expect(add("content-range:  bytes 5-14/100 \r\n") && add("Content-Length: 10\r\n"));
    cr_expect(response.from == 5 && response.to == 15 && response.total == 100);
    cr_expect(response.has_total && response.has_length && response.length == 10);
    cr_expect(add("Last-Modified: then") && add("ETag: W/\"x\"") && add("Last-Modified: now"));
    cr_expect_str_eq(response.version, "W/\"x\"");
    cr_expect(add("HTTP/1.1 200 OK\r\n") && !response.has_range && response.version[0] == '\0');
    cr_expect(add("Content-Range: bytes */7") && response.total == 7 && response.to == 0);
}

Test(remote_response, contradictions_are_malformed)
{
    cr_expect(fails("Content-Length: -1") && fails("Content-Length: 1x"));
    cr_expect(fails("Content-Length: 9223372036854775808"));
    cr_expect(!fails("Content-Length: 9223372036854775807") && !add("Content-Length: 1"));
    cr_expect(fails("Content-Range: bytes 5-4/9") && fails("Content-Range: bytes 0-9/9"));
    cr_expect(fails("Content-Range: lines 0-1/9") && fails("Content-Range: bytes 0-1"));
    cr_expect(!fails("Content-Range: bytes 0-1/9") && !add("Content-Range: bytes 0-1/9"));
}

static void expect_shown(const char *url, const char *wanted)
{
    char shown[200];
    cr_expect(remote_text_redact(url, shown, sizeof shown));
    cr_expect_str_eq(shown, wanted);
}

Test(remote_url, secrets_are_not_shown)
{
    expect_shown("https://h/a?X-Amz-Signature=12&b&c=", "https://h/a?X-Amz-Signature=***&b&c=***");
    expect_shown("HTTP://u:p@w@h/a", "HTTP://***@h/a");
    expect_shown("--input=http://h/?k=v,b?k=v,s3://b/k?x=1",
                 "--input=http://h/?k=***,b?k=v,s3://b/k?x=1");
    char small[12];
    cr_expect(!remote_text_redact("http://host/a", small, sizeof small));
}

static int append(void *arg, const char *name, bool is_directory)
{
    const size_t used = strlen(arg);
    snprintf((char *)arg + used, 100 - used, "%s%s", name, is_directory ? "/ " : " ");
    return strcmp(name, "stop") == 0 ? 5 : 0;
}

static int list(const char *xml, char *token)
{
    char names[200] = "";
    int r = s3_list_parse((const uint8_t *)xml, strlen(xml), token, append, names);
    return r == 0 && strcmp(names, "d/a&b d/c// ") != 0 ? -2 : r;
}

#define ENTRIES                                                                                    \
    "<Contents><Key>d/a&amp;b</Key><Owner><Key>no</Key></Owner></Contents>"                        \
    "<CommonPrefixes><Prefix>d/c/</Prefix></CommonPrefixes>"

Test(s3_list, pages_and_other_documents)
{
    char token[S3_TOKEN_BYTES];
    cr_expect_eq(list("<ListBucketResult>" ENTRIES "</ListBucketResult>", token), 0);
    cr_expect_str_eq(token, "");
    cr_expect_eq(list("<ListBucketResult>" ENTRIES "<IsTruncated>true</IsTruncated>"
                      "<NextContinuationToken>t</NextContinuationToken></ListBucketResult>",
                      token),
                 0);
    cr_expect_str_eq(token, "t");
    cr_expect_eq(
        list("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", token), -1,
        "more pages, but no token");
    cr_expect_eq(list("<Error>" ENTRIES "</Error>", token), -1);
    cr_expect_eq(
        list("<ListBucketResult><Contents><Key></Key></Contents></ListBucketResult>", token), -1);
    cr_expect_eq(list("<ListBucketResult><Contents><Key>stop</Key></Contents>", token), 5);
    cr_expect_eq(list("<ListBucketResult>", token), -1);
}

Test(hdfs_status, files_and_names)
{
    struct hdfs_status status;
    char names[100] = "";
    static const char file[] = "{\"FileStatus\":{\"type\":\"FILE\",\"length\":5,"
                               "\"modificationTime\":7}}";
    static const char entries[] =
        "{\"FileStatuses\":{\"FileStatus\":[{\"pathSuffix\":\"a\","
        "\"type\":\"FILE\"},{\"pathSuffix\":\"b\",\"type\":\"DIRECTORY\"},"
        "{\"pathSuffix\":\"../c\",\"type\":\"FILE\"}]}}";
    cr_expect(hdfs_status_parse((const uint8_t *)file, sizeof file - 1, &status));
    cr_expect(status.size == 5 && status.mtime_ms == 7 && !status.is_directory);
    cr_expect(!hdfs_status_parse((const uint8_t *)file, sizeof file - 2, &status));
    cr_expect_eq(hdfs_list_parse((const uint8_t *)entries, sizeof entries - 1, append, names), -1,
                 "a name leads elsewhere");
    cr_expect_str_eq(names, "a b/ ");
}
