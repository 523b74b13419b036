/* What is parsed of URLs, headers and lists. */
#include "engine/input/remote_transfer.h"
#include "engine/input/remote_url.h"
#include "engine/input/remote_list.h"

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
    cr_expect(!response.ended && add("\r\n") && response.ended);
    cr_expect(add("HTTP/1.1 200 OK\r\n") && !response.ended);
    cr_expect(!response.has_range && response.version[0] == '\0');
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

static struct listed_object last_known;

static int append(void *arg, const struct listed_object *object)
{
    const size_t used = strlen(arg);
    snprintf((char *)arg + used, 100 - used, "%s%s", object->name,
             object->is_directory ? "/ " : " ");
    if (object->known) last_known = *object;
    return strcmp(object->name, "stop") == 0 ? 5 : 0;
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

/* Only IsTruncated says whether there are more pages. */
Test(s3_list, tokens_of_the_last_page_are_ignored)
{
    static const char *const ends[] = {
        "<NextContinuationToken></NextContinuationToken>", "<NextContinuationToken/>",
        "<IsTruncated>false</IsTruncated><NextContinuationToken>t</NextContinuationToken>",
        "<NextContinuationToken>t</NextContinuationToken><IsTruncated>false</IsTruncated>"};
    char token[S3_TOKEN_BYTES], text[400];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(text, sizeof text, "<ListBucketResult>" ENTRIES "%s</ListBucketResult>", ends[i]);
        cr_expect_eq(list(text, token), 0, "%s", ends[i]);
        cr_expect_str_eq(token, "", "%s", ends[i]);
    }
}

static const char *version_in_list(const char *fields)
{
    char token[S3_TOKEN_BYTES], names[100] = "", text[500];
    last_known = (struct listed_object){.name = NULL};
    snprintf(text, sizeof text,
             "<ListBucketResult><Contents>%s<Key>k</Key></Contents></ListBucketResult>", fields);
    cr_assert_eq(s3_list_parse((const uint8_t *)text, strlen(text), token, append, names), 0);
    return last_known.known ? last_known.identity.version : "unknown";
}

Test(s3_list, sizes_and_versions)
{
    cr_expect_str_eq(version_in_list("<Size>12</Size><ETag>&quot;ab&quot;</ETag>"), "\"ab\"");
    cr_expect_eq(last_known.identity.size, 12);
    cr_expect(last_known.identity.ranges);
    cr_expect_str_eq(version_in_list("<ETag>ab</ETag><Size>0</Size>"), "\"ab\"",
                     "as the header of a response has it");
    cr_expect_str_eq(version_in_list("<ETag>W/&quot;ab&quot;</ETag><Size>0</Size>"), "W/\"ab\"");
    cr_expect_str_eq(version_in_list("<ETag>&quot;ab&quot;</ETag>"), "unknown");
    cr_expect_str_eq(version_in_list("<Size>12</Size>"), "unknown");
    cr_expect_str_eq(version_in_list("<Size>-1</Size><ETag>a</ETag>"), "unknown");
    cr_expect_str_eq(version_in_list("<Size>1</Size><ETag>a\nb</ETag>"), "unknown");
}

Test(s3_list, other_documents_end_early)
{
    char token[S3_TOKEN_BYTES];
    cr_expect_eq(list("<ListBucketResult><a><a><a><a><a><a><a><a/>", token), -1, "the depth");
    cr_expect_eq(list("<!DOCTYPE x [<!ENTITY a 'b'>]><ListBucketResult>" ENTRIES
                      "</ListBucketResult>",
                      token),
                 -1, "no list has a document type");
    cr_expect_eq(list("<ListBucketResult>" ENTRIES "<a><a><a><a><a><a/></a></a></a></a></a>"
                      "</ListBucketResult>",
                      token),
                 0);
}

Test(hdfs_status, files_and_names)
{
    struct listed_object status;
    char names[100] = "";
    static const char file[] = "{\"FileStatus\":{\"type\":\"FILE\",\"length\":5,"
                               "\"modificationTime\":7}}";
    static const char entries[] =
        "{\"FileStatuses\":{\"FileStatus\":[{\"pathSuffix\":\"a\","
        "\"type\":\"FILE\"},{\"pathSuffix\":\"b\",\"type\":\"DIRECTORY\"},"
        "{\"pathSuffix\":\"../c\",\"type\":\"FILE\"}]}}";
    cr_expect(hdfs_status_parse((const uint8_t *)file, sizeof file - 1, &status));
    cr_expect(status.identity.size == 5 && !status.is_directory);
    cr_expect_str_eq(status.identity.version, "file at 7");
    cr_expect(!hdfs_status_parse((const uint8_t *)file, sizeof file - 2, &status));
    cr_expect_eq(hdfs_list_parse((const uint8_t *)entries, sizeof entries - 1, append, names), -1,
                 "a name leads elsewhere");
    cr_expect_str_eq(names, "a b/ ");
}

static int list_files(const char *json)
{
    char names[100] = "";
    const int r = hdfs_list_parse((const uint8_t *)json, strlen(json), append, names);
    return r == 0 && strcmp(names, "a b/ ") != 0 ? -2 : r;
}

#define FILES "{\"pathSuffix\":\"a\",\"x\":[{}]} , {\"pathSuffix\":\"b\",\"type\":\"DIRECTORY\"}"

Test(hdfs_status, lists_and_other_documents)
{
    cr_expect_eq(list_files(" {\"FileStatuses\": {\n\"FileStatus\" :[" FILES "\n]} }\n"), 0);
    cr_expect_eq(list_files("{\"FileStatuses\":{\"FileStatus\":[]}}"), -2, "it is empty");
    static const char *const bad[] = {"",
                                      "{}",
                                      "[" FILES "]",
                                      "{\"FileStatuses\":{\"FileStatus\":[" FILES "]}",
                                      "{\"FileStatuses\":{\"FileStatus\":[" FILES ",]}}",
                                      "{\"FileStatuses\":{\"FileStatus\":[" FILES FILES "]}}",
                                      "{\"FileStatuses\":{\"FileStatus\":[" FILES "]}} x",
                                      "{\"FileStatuses\":{\"FileStatus\":[" FILES ",{}]}}",
                                      "{\"FileStatuses\":{\"FileStatus\":[" FILES ",7]}}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(list_files(bad[i]), -1, "%s", bad[i]);
}
