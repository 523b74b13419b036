/* Power loss at any moment: the outputs on disk contain what POSIX guarantees after fsync, and no
 * more.
 *
 * An env around the real one records what was synced: contents of files and names in directories.
 * Two simulated disks bound what a power loss may leave. On the lazy disk names and contents appear
 * only when they are synced, while removals take effect at once; on the eager disk all names appear
 * at once and contents only when synced, as on ext4 for a short time. After each call, on both
 * disks, an output must be the complete old one, the complete new one, or absent if there was none
 * before. After a job that succeeded it must be the new one. */
#include "engine/driver/driver.h"
#include "tests/support/local.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { NODES_MAX = 64, NAMES_MAX = 64, NAME_BYTES = 256, OUTPUTS = 2 };

/* A file or a directory as it is on the simulated disk. */
struct node {
    ino_t inode;    /* 0: unused */
    uint64_t bytes; /* digest of the contents; 0: never synced */
    unsigned count;
    struct {
        char name[NAME_BYTES];
        ino_t inode;
    } names[NAMES_MAX];
};

/* An output, and what it may contain. */
struct output {
    const char *directory, *path;
    uint64_t before, after; /* digests; 0: does not exist */
};

static struct {
    struct env env;
    pthread_mutex_t lock; /* protects nodes: slots sync their parts concurrently */
    struct node nodes[NODES_MAX];
    struct output outputs[OUTPUTS];
    bool watching;
    bool in_one_pass;        /* one action saves both outputs */
    unsigned syncs, skipped; /* skipped: the number of the sync that does nothing; 0: none */
} disk;

static char scratch[] = "/tmp/power-test-XXXXXX";

static struct node *find_node(ino_t inode)
{
    for (int i = 0; i < NODES_MAX; i++)
        if (disk.nodes[i].inode == inode) return &disk.nodes[i];
    return NULL;
}

static struct node *node_of(ino_t inode)
{
    struct node *n = find_node(inode);
    if (n == NULL) {
        n = find_node(0);
        cr_assert_not_null(n);
        memset(n, 0, sizeof *n);
        n->inode = inode;
    }
    return n;
}

static uint64_t digest_of_bytes(int file)
{
    static _Thread_local char bytes[1 << 20];
    ssize_t size = pread(file, bytes, sizeof bytes, 0);
    cr_assert(size >= 0 && size < (ssize_t)sizeof bytes);
    return XXH3_64bits(bytes, (size_t)size) | 1;
}

static void take_names(struct node *n, int directory)
{
    DIR *d = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    cr_assert_not_null(d);
    n->count = 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        cr_assert_lt(n->count, NAMES_MAX);
        snprintf(n->names[n->count].name, NAME_BYTES, "%s", e->d_name);
        n->names[n->count++].inode = e->d_ino;
    }
    closedir(d);
}

/* ---- Digests of an output after a power loss: a sum over names and contents. 0: does not exist */

static uint64_t entry_digest(const char *name, ino_t inode)
{
    const struct node *n = find_node(inode);
    return XXH3_64bits_withSeed(name, strlen(name), n != NULL ? n->bytes : 0);
}

static uint64_t names_digest(const struct node *n)
{
    uint64_t sum = 1;
    for (unsigned i = 0; i < n->count; i++)
        sum += entry_digest(n->names[i].name, n->names[i].inode);
    return sum;
}

static ino_t inode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

static uint64_t lazy_digest(const struct output *s)
{
    const struct node *root = node_of(inode_of(s->directory));
    for (unsigned i = 0; i < root->count; i++) {
        if (strcmp(root->names[i].name, s->path + strlen(s->directory) + 1) != 0) continue;
        const struct node *n = find_node(root->names[i].inode);
        return n != NULL ? names_digest(n) : 1;
    }
    return 0;
}

static uint64_t eager_digest(const struct output *s)
{
    static struct node n;
    int directory = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return 0;
    take_names(&n, directory);
    close(directory);
    return names_digest(&n);
}

static bool is_whole(const struct output *s, uint64_t digest)
{
    return digest == s->before || digest == s->after;
}

/* Whether each output is complete, old or new, on both disks. */
static bool outputs_are_whole(void)
{
    bool whole = true;
    for (int i = 0; i < OUTPUTS && disk.watching; i++) {
        const struct output *s = &disk.outputs[i];
        whole = whole && is_whole(s, lazy_digest(s)) && is_whole(s, eager_digest(s));
    }
    return whole;
}

static bool broken; /* an output was incomplete at some moment */

static void check_outputs(void)
{
    if (!outputs_are_whole()) broken = true;
}

/* ---- Calls */

static bool is_skipped(void)
{
    return ++disk.syncs == disk.skipped;
}

static int sync_file(struct env *env, int file)
{
    struct stat st;
    (void)env;
    pthread_mutex_lock(&disk.lock);
    cr_assert_eq(fstat(file, &st), 0);
    if (!is_skipped()) node_of(st.st_ino)->bytes = digest_of_bytes(file);
    check_outputs();
    pthread_mutex_unlock(&disk.lock);
    return 0;
}

static int sync_dir(struct env *env, int directory)
{
    struct stat st;
    (void)env;
    pthread_mutex_lock(&disk.lock);
    cr_assert_eq(fstat(directory, &st), 0);
    if (!is_skipped()) take_names(node_of(st.st_ino), directory);
    check_outputs();
    pthread_mutex_unlock(&disk.lock);
    return 0;
}

/* Returns the inode of the directory that contains `name`. */
static ino_t dir_of(int dir, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s", name);
    char *slash = strrchr(path, '/');
    if (slash != NULL)
        *slash = '\0';
    else
        snprintf(path, sizeof path, ".");
    return fstatat(dir, path, &st, 0) == 0 ? st.st_ino : 0;
}

static int remove_at_once(struct env *env, int dir, const char *name, bool directory)
{
    struct stat st;
    const char *slash = strrchr(name, '/'), *last = slash != NULL ? slash + 1 : name;
    pthread_mutex_lock(&disk.lock);
    bool known = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    int r = env_real()->remove(env, dir, name, directory);
    if (r == 0 && known) {
        struct node *n = find_node(dir_of(dir, name)), *gone = find_node(st.st_ino);
        for (unsigned i = 0; n != NULL && i < n->count; i++)
            if (strcmp(n->names[i].name, last) == 0 && n->names[i].inode == st.st_ino)
                n->names[i--] = n->names[--n->count];
        if (gone != NULL) gone->inode = 0;
    }
    check_outputs();
    pthread_mutex_unlock(&disk.lock);
    return r;
}

static int rename_eagerly(struct env *env, int from_dir, const char *from, int to_dir,
                          const char *to, enum env_rename_mode mode)
{
    pthread_mutex_lock(&disk.lock);
    int r = env_real()->rename(env, from_dir, from, to_dir, to, mode);
    check_outputs();
    pthread_mutex_unlock(&disk.lock);
    return r;
}

/* ---- Jobs */

static void remember(const char *path)
{
    struct stat st;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert(file >= 0 && fstat(file, &st) == 0, "%s", path);
    if (S_ISDIR(st.st_mode))
        take_names(node_of(st.st_ino), file);
    else
        node_of(st.st_ino)->bytes = digest_of_bytes(file);
    close(file);
}

/* Marks everything that exists as synced. */
static void mark_all_synced(void)
{
    char path[300];
    memset(disk.nodes, 0, sizeof disk.nodes);
    for (int i = 0; i < OUTPUTS; i++) {
        const char *name = disk.outputs[i].path;
        DIR *d = opendir(name);
        remember(disk.outputs[i].directory);
        if (d == NULL) continue;
        remember(name);
        for (const struct dirent *e; (e = readdir(d)) != NULL;) {
            if (e->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "%s/%s", name, e->d_name);
            remember(path);
        }
        closedir(d);
    }
}

/* A job with two outputs. */
static void run(uint32_t slots, int64_t rows, bool no_sync)
{
    struct glint_error error;
    struct context_config config = local_config(slots, slots > 1);
    config.env = &disk.env;
    config.overwrite = true;
    config.no_sync = no_sync;
    struct glint *g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    struct glint_rdd *pairs = glint_map(local_numbers(g, (uint64_t)rows, 3), FN_MAP, NULL);
    const char *const paths[] = {disk.outputs[0].path, disk.outputs[1].path};
    const double weights[] = {1, 1};
    if (disk.in_one_pass) {
        struct glint_rdd *numbers = local_numbers(g, (uint64_t)rows, 3);
        glint_save_as_text_files(glint_key_by_random_split(numbers, weights, 2, 1), paths, 2);
    } else {
        glint_save_as_text_file(pairs, paths[0]);
        glint_save_as_msgpack_file(local_counts(pairs), paths[1]);
    }
    cr_expect_eq(glint_finish(g), 0, "%s", glint_error(g)->cause);
    glint_destroy(g);
}

/* Runs the job with that many rows and sets `out` to the digests of its outputs. */
static void get_digests(int64_t rows, uint64_t out[OUTPUTS])
{
    disk.watching = false;
    run(1, rows, false);
    mark_all_synced();
    for (int i = 0; i < OUTPUTS; i++) out[i] = eager_digest(&disk.outputs[i]);
}

/* Replaces the outputs (or, if `fresh`, creates new ones). Returns whether they were always
 * complete, and are the new ones at the end. */
static bool survives(uint32_t slots, bool fresh, unsigned skipped, bool no_sync)
{
    uint64_t old[OUTPUTS], new[OUTPUTS];
    get_digests(70, new);
    get_digests(50, old);
    for (int i = 0; i < OUTPUTS; i++) {
        cr_assert(old[i] != new[i] && old[i] > 1 && new[i] > 1);
        if (fresh) env_remove_tree(env_real(), ENV_CWD, disk.outputs[i].path, 1);
        disk.outputs[i].before = fresh ? 0 : old[i];
        disk.outputs[i].after = new[i];
    }
    mark_all_synced();
    disk.watching = true;
    disk.syncs = 0;
    disk.skipped = skipped;
    broken = false;
    run(slots, 70, no_sync);
    bool is_new = true;
    for (int i = 0; i < OUTPUTS; i++)
        is_new = is_new && lazy_digest(&disk.outputs[i]) == new[i] &&
                 eager_digest(&disk.outputs[i]) == new[i];
    return is_new && !broken;
}

static void setup_disk(void)
{
    cr_assert(mkdtemp(scratch) != NULL && chdir(scratch) == 0);
    pthread_mutex_init(&disk.lock, NULL);
    disk.env = *env_real();
    disk.env.sync_file = sync_file;
    disk.env.sync_dir = sync_dir;
    disk.env.remove = remove_at_once;
    disk.env.rename = rename_eagerly;
    disk.outputs[0] = (struct output){.directory = "left", .path = "left/out"};
    disk.outputs[1] = (struct output){.directory = "right", .path = "right/out"};
    cr_assert(mkdir("left", 0777) == 0 && mkdir("right", 0777) == 0);
}

static void teardown_disk(void)
{
    cr_assert_eq(chdir("/"), 0);
    cr_expect_eq(env_remove_tree(env_real(), ENV_CWD, scratch, 8), 0);
}

TestSuite(power_loss, .init = setup_disk, .fini = teardown_disk);

Test(power_loss, outputs_survive)
{
    for (uint32_t slots = 1; slots <= 2; slots++) {
        cr_expect(survives(slots, true, 0, false), "%u slots, new outputs", slots);
        cr_expect(survives(slots, false, 0, false), "%u slots, replaced outputs", slots);
    }
}

Test(power_loss, single_pass_outputs_survive)
{
    disk.in_one_pass = true;
    for (uint32_t slots = 1; slots <= 2; slots++) {
        cr_expect(survives(slots, true, 0, false), "%u slots, new outputs", slots);
        cr_expect(survives(slots, false, 0, false), "%u slots, replaced outputs", slots);
    }
}

/* No sync may be left out, except that of the hidden directory: its names have been moved to its
 * parent by the time it matters. */
static void expect_each_wait_needed(void)
{
    cr_assert(survives(1, false, 0, false));
    unsigned syncs = disk.syncs, needless = 0;
    cr_assert_eq(syncs, 6 + 2 * 4, "%u", syncs); /* 3 parts each; _SUCCESS and three directories */
    for (unsigned n = 1; n <= syncs; n++) needless += survives(1, false, n, false);
    cr_expect_eq(needless, OUTPUTS, "%u", needless);
}

Test(power_loss, every_fsync_is_needed)
{
    expect_each_wait_needed();
}

Test(power_loss, every_fsync_is_needed_in_a_single_pass)
{
    disk.in_one_pass = true;
    expect_each_wait_needed();
}

Test(power_loss, no_sync_guarantees_nothing)
{
    cr_expect_not(survives(1, true, 0, true));
    cr_expect_eq(disk.syncs, 0);
}
