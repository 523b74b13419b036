/* The name of a task's part file comes from the executor: a name that is not the task's fails the
 * job, and nothing is published. */
#include "tests/unit/driver/driver_fixture.h"

#include <unistd.h>

static const char *part_name;

static void on_task(struct driver_fixture *w, const struct task *t)
{
    done(w, t, part_name, 0);
}

static void expect_rejected(const char *name)
{
    struct driver_fixture w;
    char dir[] = "/tmp/glint-part-names-XXXXXX";
    cr_assert(mkdtemp(dir) != NULL && chdir(dir) == 0);
    part_name = name;
    fixture_open_logged(&w, on_task, NULL);
    cr_expect_eq(act(local_numbers(w.g, 1, 1), "out"), GLINT_E_PROTOCOL, "%s", name);
    cr_expect_not_null(strstr(glint_error(w.g)->cause, "a task returned an invalid part file name"),
                       "%s: %s", name, glint_error(w.g)->cause);
    fixture_close(&w);
    cr_expect(chdir("/") == 0 && rmdir(dir) == 0, "%s: leftover files", name);
}

Test(part_names, of_another_task_are_rejected)
{
    static const char *const names[] = {"",
                                        "part-00000",
                                        "part-00001.attempt-1",
                                        "art-00000.attempt-1",
                                        ".attempt-1",
                                        "../part-00000.attempt-1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) expect_rejected(names[i]);
}

/* File systems allow names of at most 255 bytes. */
Test(part_names, of_256_bytes_are_rejected)
{
    char name[256 + 1] = "part-00000.attempt-";
    memset(name + strlen(name), '1', 256 - strlen(name));
    expect_rejected(name);
}
