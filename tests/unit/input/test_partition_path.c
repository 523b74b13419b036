/* input/partition_path.h: which directories give columns, and what they are. */
#include "engine/input/partition_path.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct arena arena;
static struct partition_column columns[PARTITION_COLUMNS_MAX];

/* The columns as name=value, each with a comma; null as name. */
static void expect(const char *path, const char *wanted)
{
    char found[500] = "";
    const int count = partition_columns_of(path, &arena, columns);
    size_t n = 0;
    for (int i = 0; i < count; i++)
        n += (size_t)snprintf(found + n, sizeof found - n, columns[i].null ? "%s," : "%s=%.*s,",
                              columns[i].name, (int)columns[i].value.size,
                              (const char *)columns[i].value.data);
    cr_expect_str_eq(found, wanted, "%s: %s", path, found);
    arena_fini(&arena);
}

Test(partition_path, directories_with_an_equals_sign_are_columns)
{
    expect("x.parquet", "");
    expect("dt=1.parquet", "");
    expect("a/dt=2026-01-01/x", "dt=2026-01-01,");
    expect("/a=1/b=2/c/x", "a=1,b=2,");
    expect("a=/x", "a=,");
    expect("=1/x", "");
    expect("b=x=y/x", "b=x=y,");
    expect("a=1/a=2/x", "a=2,");
    expect("dt=__HIVE_DEFAULT_PARTITION__/x", "dt,");
    expect("s3://bucket/k=v/x", "k=v,");
    expect("s3://bucket/k=a?b/c=1/x", "k=a?b,c=1,"); /* no query, as in a path */
    expect("k=a?b/c=1/x", "k=a?b,c=1,");
    expect("http://h/k=v/x?sign=a/b", "k=v,");
    expect("http://h/x?sign=a/b=c/d", "");
}

Test(partition_path, names_and_values_are_decoded)
{
    expect("a%20b=c%2Fd%3d/x", "a b=c/d=,");
    expect("a=100%/x", "a=100%,");
    expect("a=%4/x", "a=%4,");
    expect("a=%4g%41/x", "a=%4gA,");
    expect("a%00b=1/x", "");
    expect("a=%C3%BC/x", "a=\xc3\xbc,");
    const int count = partition_columns_of("a=x%00y/x", &arena, columns);
    cr_expect(count == 1 && columns[0].value.size == 3 &&
              memcmp(columns[0].value.data, "x\0y", 3) == 0);
    cr_expect_null(partition_column_find(columns, count, "b"));
    cr_expect_eq(partition_column_find(columns, count, "a"), columns);
    arena_fini(&arena);
}

Test(partition_path, many_directories_and_no_memory)
{
    char path[1000] = "";
    for (int i = 0; i < PARTITION_COLUMNS_MAX + 3; i++)
        snprintf(path + strlen(path), sizeof path - strlen(path), "c%d=%d/", i, i);
    cr_expect_eq(partition_columns_of(path, &arena, columns), PARTITION_COLUMNS_MAX);
    cr_expect_str_eq(columns[PARTITION_COLUMNS_MAX - 1].name, "c63");
    arena_fini(&arena);
    mem_fail_at(1, true);
    cr_expect_eq(partition_columns_of("a=1/x", &arena, columns), -1);
    mem_fail_at(0, false);
    arena_fini(&arena);
    cr_expect_eq(mem_live_blocks(), 0);
}
