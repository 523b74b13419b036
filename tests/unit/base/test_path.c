/* File URLs, and the explanations for paths that do not exist. */
#include "engine/base/path.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(path, file_urls_become_paths)
{
    static const char *const same[][2] = {
        {"file:///a/b", "/a/b"},
        {"file:/a/b", "/a/b"},
        {"FILE:///a", "/a"},
        {"file://localhost/a", "/a"},
        {"file:////a", "//a"},
        {"file:///a%20b,c*", "/a%20b,c*"},
        /* Not file URLs of this host: unchanged. */
        {"/a", "/a"},
        {"", ""},
        {"file:a", "file:a"},
        {"file:", "file:"},
        {"file://host/a", "file://host/a"},
        {"file://host", "file://host"},
        {"files:///a", "files:///a"},
        {"s3://b/a", "s3://b/a"},
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        cr_expect_str_eq(path_from_file_url(same[i][0]), same[i][1], "%s", same[i][0]);
}

static void expect_explanation(const char *text, const char *reason, const char *advice)
{
    char hint[PATH_HINT_BYTES] = "";
    const char *got = path_explain_missing(text, hint);
    if (reason == NULL) {
        cr_expect_null(got, "%s: %s", text, got);
        return;
    }
    cr_expect(got != NULL && strstr(got, reason) != NULL, "%s: %s", text, got ? got : "nothing");
    cr_expect(strstr(hint, advice) != NULL, "%s: %s", text, hint);
}

Test(path, unsupported_urls_and_tildes_are_explained)
{
    static const char *const schemes[] = {"http",    "https", "ftp",  "s3",    "s3a",    "hdfs",
                                          "webhdfs", "gs",    "abfs", "abfss", "x+y-z.1"};
    char url[64], named[64];
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        snprintf(url, sizeof url, "%s://host/a", schemes[i]);
        snprintf(named, sizeof named, "%s:// is not supported", schemes[i]);
        expect_explanation(url, "a URL", named);
    }
    expect_explanation("~/a", "No such file", "$HOME");
    expect_explanation("~me/a", "No such file", "$HOME");
    expect_explanation("file://host/a", "on this host", "file:///");
    expect_explanation("file:a", "absolute path", "file:///");
    expect_explanation("file:///a%20b", "No such file", "percent");
    expect_explanation("file:///a", NULL, NULL);
    expect_explanation("/a%20b", NULL, NULL);
    expect_explanation("a~", NULL, NULL);
    expect_explanation("", NULL, NULL);
    expect_explanation("://a", NULL, NULL);
    expect_explanation("1://a", NULL, NULL);
    expect_explanation("s3:/a", NULL, NULL);
    expect_explanation("a/http://b", NULL, NULL);
}
