/* Who may read the page: every way to send a token, other names, pages of other sites. */
#include "engine/web/web_http.h"

#include <criterion/criterion.h>
#include <string.h>

#define TOKEN "0123456789abcdef0123456789abcdef"
#define HOST  "127.0.0.1:4040"

static const struct web_access loopback = {.token = TOKEN,
                                           .cookie = "glint-ui-4040",
                                           .address = "127.0.0.1",
                                           .port = 4040,
                                           .loopback = true};

struct access_case {
    struct web_credentials c; /* host, origin, authorization, cookie, query_token */
    enum web_denial want;
    bool by_query;
};

static void expect(const struct web_access *a, const struct access_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool by_query;
        cr_expect_eq(web_access_check(a, &cases[i].c, &by_query), cases[i].want, "case %zu", i);
        cr_expect_eq(by_query, cases[i].by_query, "case %zu", i);
    }
}

Test(web_access, tokens)
{
    const struct access_case cases[] = {
        {{HOST, NULL, NULL, NULL, NULL}, WEB_NO_TOKEN, false},
        {{HOST, NULL, "Bearer " TOKEN, NULL, NULL}, WEB_ALLOWED, false},
        {{HOST, NULL, "bearer " TOKEN, NULL, NULL}, WEB_ALLOWED, false},
        {{HOST, NULL, "Bearer", NULL, NULL}, WEB_NO_TOKEN, false},
        {{HOST, NULL, "Bearer ", NULL, NULL}, WEB_NO_TOKEN, false},
        {{HOST, NULL, "Bearer  " TOKEN, NULL, NULL}, WEB_NO_TOKEN, false},
        {{HOST, NULL, "Basic " TOKEN, NULL, NULL}, WEB_NO_TOKEN, false},
        {{HOST, NULL, NULL, TOKEN, NULL}, WEB_ALLOWED, false},
        {{HOST, NULL, NULL, "", NULL}, WEB_NO_TOKEN, false},
        {{HOST, NULL, NULL, NULL, TOKEN}, WEB_ALLOWED, true},
        {{HOST, NULL, NULL, TOKEN, TOKEN}, WEB_ALLOWED, false},
        {{HOST, NULL, NULL, "old", TOKEN}, WEB_ALLOWED, true},
        {{HOST, NULL, NULL, NULL, TOKEN "0"}, WEB_NO_TOKEN, false},
        /* A wrong Bearer is not made good by a cookie. */
        {{HOST, NULL, "Bearer x", TOKEN, TOKEN}, WEB_NO_TOKEN, false}};
    expect(&loopback, cases, sizeof cases / sizeof cases[0]);
}

Test(web_access, names_and_origins)
{
    const struct access_case cases[] = {
        {{NULL, NULL, NULL, TOKEN, NULL}, WEB_WRONG_HOST, false},
        {{"", NULL, NULL, TOKEN, NULL}, WEB_WRONG_HOST, false},
        {{"localhost:4040", NULL, NULL, TOKEN, NULL}, WEB_ALLOWED, false},
        {{"LOCALHOST:4040", NULL, NULL, TOKEN, NULL}, WEB_ALLOWED, false},
        {{"127.0.0.1", NULL, NULL, TOKEN, NULL}, WEB_WRONG_HOST, false},
        {{"127.0.0.1:40400", NULL, NULL, TOKEN, NULL}, WEB_WRONG_HOST, false},
        {{"evil.example:4040", NULL, NULL, TOKEN, NULL}, WEB_WRONG_HOST, false},
        {{"127.0.0.1:4040.evil.example", NULL, NULL, TOKEN, NULL}, WEB_WRONG_HOST, false},
        {{HOST, "http://" HOST, NULL, TOKEN, NULL}, WEB_ALLOWED, false},
        {{HOST, "https://" HOST, NULL, TOKEN, NULL}, WEB_ALLOWED, false},
        {{HOST, "http://localhost:4040", NULL, TOKEN, NULL}, WEB_WRONG_ORIGIN, false},
        {{HOST, "http://127.0.0.1:8080", NULL, TOKEN, NULL}, WEB_WRONG_ORIGIN, false},
        {{HOST, "null", NULL, TOKEN, NULL}, WEB_WRONG_ORIGIN, false},
        {{HOST, "", NULL, TOKEN, NULL}, WEB_WRONG_ORIGIN, false}};
    expect(&loopback, cases, sizeof cases / sizeof cases[0]);
}

/* Beyond loopback any name may lead here, but not the page of another site. */
Test(web_access, beyond_loopback)
{
    struct web_access a = loopback;
    a.loopback = false;
    const struct access_case cases[] = {
        {{"node7.example", NULL, NULL, TOKEN, NULL}, WEB_ALLOWED, false},
        {{"node7.example", NULL, NULL, NULL, NULL}, WEB_NO_TOKEN, false},
        {{NULL, NULL, NULL, TOKEN, NULL}, WEB_WRONG_HOST, false},
        {{"node7.example", "https://node7.example", NULL, TOKEN, NULL}, WEB_ALLOWED, false},
        {{"node7.example", "https://other.example", NULL, TOKEN, NULL}, WEB_WRONG_ORIGIN, false}};
    expect(&a, cases, sizeof cases / sizeof cases[0]);
}

/* Without a token nothing is allowed, rather than everything. */
Test(web_access, no_token_is_set)
{
    const struct web_access a = {.address = "127.0.0.1", .port = 4040, .loopback = true};
    const struct access_case cases[] = {{{HOST, NULL, "Bearer ", "", ""}, WEB_NO_TOKEN, false},
                                        {{HOST, NULL, NULL, "", ""}, WEB_NO_TOKEN, false}};
    expect(&a, cases, sizeof cases / sizeof cases[0]);
}

Test(web_access, valid_tokens)
{
    char text[WEB_TOKEN_MAX + 1];
    cr_expect(web_token_is_valid("0123456789abcdef"));
    cr_expect(web_token_is_valid("ABCDEFGHIJ-_.~xyz"));
    cr_expect(!web_token_is_valid("0123456789abcde"));
    cr_expect(!web_token_is_valid("0123456789abcdef;"));
    cr_expect(!web_token_is_valid("0123456789abcdef\n"));
    memset(text, 'x', sizeof text);
    text[WEB_TOKEN_MAX] = '\0';
    cr_expect(!web_token_is_valid(text));
    text[WEB_TOKEN_MAX - 1] = '\0';
    cr_expect(web_token_is_valid(text));
}
