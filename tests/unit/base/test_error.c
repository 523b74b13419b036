/* The table of error codes, and how errors are set. */
#include "engine/base/error.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static const struct row {
    int number;
    const char *name, *text;
    int exit, retry;
} rows[] = {
#define ROW(number, name, exit, retry, text) {number, #name, text, exit, retry},
    GLINT_CODES(ROW)
#undef ROW
};

enum { ROWS = sizeof rows / sizeof rows[0] };

Test(error, codes_are_unique_and_complete)
{
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];
        enum glint_code code = (enum glint_code) - r->number;
        cr_expect(r->number >= 100 && r->number <= 999);
        cr_expect(r->exit > 0 && r->exit <= 143);
        cr_expect(r->text[0] != '\0');
        cr_expect_str_eq(glint_code_text(code), r->text);
        cr_expect_str_eq(glint_code_name(code), r->name);
        cr_expect_eq(glint_code_exit_status(code), r->exit);
        cr_expect_eq(error_is_retryable(code), r->retry != 0);
        for (int j = 0; j < i; j++) {
            cr_expect_neq(rows[j].number, r->number);
            cr_expect_str_neq(rows[j].name, r->name);
            cr_expect_str_neq(rows[j].text, r->text);
        }
    }
    cr_expect_eq(glint_code_exit_status(GLINT_OK), 0);
    cr_expect_eq(glint_code_exit_status((enum glint_code) - 9999), 70);
    cr_expect_not(error_is_retryable((enum glint_code) - 9999));
}

Test(error, first_error_is_kept)
{
    struct glint_error e = {.code = GLINT_OK};
    cr_expect_eq(error_set(&e, GLINT_E_USAGE, "a hint", "cause %d", 1), GLINT_E_USAGE);
    cr_expect_eq(error_set(&e, GLINT_E_TIMEOUT, NULL, "cause %d", 2), GLINT_E_USAGE);
    cr_expect_str_eq(e.cause, "cause 1");
    cr_expect_str_eq(e.hint, "a hint");
    cr_expect_str_eq(e.effect, "");
}

Test(error, errno_maps_to_error_code)
{
    static const struct {
        enum glint_code asked;
        int error;
        enum glint_code got;
    } cases[] = {{GLINT_E_INPUT_IO, -EIO, GLINT_E_INPUT_IO},
                 {GLINT_E_INPUT_IO, -EMFILE, GLINT_E_SYSTEM},
                 {GLINT_E_INPUT_IO, -ENFILE, GLINT_E_SYSTEM},
                 {GLINT_E_INPUT_IO, -ENOMEM, GLINT_E_NO_MEMORY},
                 {GLINT_E_OUTPUT_IO, -ENOSPC, GLINT_E_OUTPUT_FULL},
                 {GLINT_E_OUTPUT_IO, -EDQUOT, GLINT_E_OUTPUT_FULL},
                 {GLINT_E_SPILL_IO, -ENOSPC, GLINT_E_SPILL_FULL},
                 {GLINT_E_WORK_DIR, -ENOSPC, GLINT_E_SPILL_FULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct glint_error e = {.code = GLINT_OK};
        cr_expect_eq(error_set_system(&e, cases[i].asked, cases[i].error, "read", "a/file"),
                     cases[i].got);
        cr_expect(e.code == GLINT_E_NO_MEMORY || strstr(e.cause, "a/file") != NULL);
    }
}

Test(error, full_disk_reports_bytes_needed)
{
    struct glint_error full = {.code = GLINT_OK}, broken = {.code = GLINT_OK};
    cr_expect_eq(error_set_write(&full, GLINT_E_SPILL_IO, -ENOSPC, "a/file", 4096, 100),
                 GLINT_E_SPILL_FULL);
    cr_expect_str_eq(full.cause, "cannot write a/file: No space left on device: 4096 bytes are "
                                 "written, 100 more are needed");
    cr_expect_eq(error_set_write(&full, GLINT_E_SPILL_IO, -EIO, "b", 1, 2), GLINT_E_SPILL_FULL);
    cr_expect_not_null(strstr(full.cause, "a/file"), "the first error is kept");
    cr_expect_eq(error_set_write(&broken, GLINT_E_OUTPUT_IO, -EIO, "b", 1, 2), GLINT_E_OUTPUT_IO);
    cr_expect_str_eq(broken.cause, "cannot write b: Input/output error");
}

Test(error, missing_file_hints_at_shared_storage)
{
    struct glint_error gone = {.code = GLINT_OK}, denied = {.code = GLINT_OK},
                       other = {.code = GLINT_OK};
    cr_expect_eq(error_set_shared_path(&gone, GLINT_E_INPUT_NOT_FOUND, -ENOENT, "open", "a/file"),
                 GLINT_E_INPUT_NOT_FOUND);
    cr_expect_not_null(strstr(gone.cause, "cannot open a/file"));
    cr_expect_not_null(strstr(gone.hint, "storage that all nodes share"));
    cr_expect_eq(error_set_shared_path(&gone, GLINT_E_OUTPUT_IO, -EIO, "open", "b"),
                 GLINT_E_INPUT_NOT_FOUND, "the first error is kept");
    error_set_shared_path(&denied, GLINT_E_INPUT_PERMISSION, -EACCES, "open", "a/file");
    cr_expect_not_null(strstr(denied.hint, "the executors' user needs access"));
    error_set_shared_path(&other, GLINT_E_OUTPUT_IO, -EIO, "open", "a/file");
    cr_expect_str_eq(other.hint, "");
}

Test(error, long_cause_is_truncated)
{
    char path[4000];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct glint_error e = {.code = GLINT_OK};
    error_set_system(&e, GLINT_E_INPUT_IO, -EIO, "read", path);
    cr_expect_lt(strlen(e.cause), sizeof e.cause);
}
