/* Names of parts in stores, and uploads as tasks send them to the driver. */
#include "engine/input/remote_store.h"

#include "engine/base/mem.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

Test(remote_writer, names_of_parts)
{
    static const struct {
        const char *name;
        size_t digits;
        bool job;
        const char *suffix;
    } cases[] = {
        {"part-00007", 10, false, ""},
        {"part-00007.gz", 10, false, ".gz"},
        {"part-123456-0123456789abcdef.parquet", 11, true, ".parquet"},
        {"part-00007-0123456789abcde", 10, false, "-0123456789abcde"},
        {"part-00007-0123456789abcdef0", 10, false, "-0123456789abcdef0"},
        {"part-00007-0123456789ABCDEF", 10, false, "-0123456789ABCDEF"},
        {"part-0007", 0, false, "part-0007"},
        {"path-00007", 0, false, "path-00007"},
        {"", 0, false, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *job, *suffix;
        cr_expect_eq(remote_part_parse(cases[i].name, &job, &suffix), cases[i].digits, "%s",
                     cases[i].name);
        cr_expect_eq(job != NULL, cases[i].job, "%s", cases[i].name);
        cr_expect_str_eq(suffix, cases[i].suffix);
    }
}

Test(remote_writer, a_part_of_an_output_has_the_job_in_its_name)
{
    char url[64], small[20];
    cr_assert(
        remote_format_part_url("s3://b/out/0123456789abcdef", "part-00007.gz", url, sizeof url));
    cr_expect_str_eq(url, "s3://b/out/part-00007-0123456789abcdef.gz");
    cr_expect_not(remote_format_part_url("s3://b/out/0123456789abcdef", "x", url, sizeof url));
    cr_expect_not(remote_format_part_url("s3://b/out", "part-00007", url, sizeof url));
    cr_expect_not(
        remote_format_part_url("s3://b/out/0123456789abcdef", "part-00007", small, sizeof small));
    cr_expect_not(remote_format_part_url("s3://b/out/0123456789abcdef",
                                         "part-00007-0123456789abcdef", url, sizeof url));
}

Test(remote_writer, records_of_commits_have_names_of_their_own)
{
    cr_expect(remote_name_is_commit("_glint-commit-0123456789abcdef"));
    cr_expect_not(remote_name_is_commit("_glint-commit-0123456789abcdef0"));
    cr_expect_not(remote_name_is_commit("_glint-commit-0123456789abcde"));
    cr_expect_not(remote_name_is_commit("glint-commit-0123456789abcdef"));
}

static int unpack(struct packer *p, struct remote_upload *out)
{
    struct glint_error error = {.code = GLINT_OK};
    struct unpacker u = unpack_begin((struct glint_slice){p->out.data, p->out.size});
    const int r = remote_upload_unpack(&u, out, &error);
    packer_fini(p);
    return r;
}

Test(remote_writer, an_upload_is_unpacked_or_rejected)
{
    struct remote_upload upload;
    struct packer p = {.failed = false};
    pack_array(&p, 1);
    pack_array(&p, 4);
    pack_text(&p, "id");
    pack_u64(&p, 42);
    pack_text(&p, "\"a\"");
    pack_text(&p, "\"b\"");
    cr_assert_eq(unpack(&p, &upload), 0);
    cr_expect_str_eq(upload.id, "id");
    cr_expect_eq(upload.size, 42);
    cr_expect_eq(upload.part_count, 2);
    cr_expect_str_eq(upload.parts[1].etag, "\"b\"");
    mem_free(upload.parts);
    static const char *const wrong[][2] = {{"", "e"}, {"id", ""}, {"i\nd", "e"}, {"id", "e\n"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        p = (struct packer){.failed = false};
        pack_array(&p, 1);
        pack_array(&p, 3);
        pack_text(&p, wrong[i][0]);
        pack_u64(&p, 1);
        pack_text(&p, wrong[i][1]);
        cr_expect_eq(unpack(&p, &upload), GLINT_E_PROTOCOL);
        cr_expect_null(upload.parts);
    }
    p = (struct packer){.failed = false};
    pack_array(&p, 1);
    pack_array(&p, 2); /* no parts */
    pack_text(&p, "id");
    pack_u64(&p, 1);
    cr_expect_eq(unpack(&p, &upload), GLINT_E_PROTOCOL);
}
