/* Writes and reads stage files. */
#include "engine/foreign/stage_file.h"

#include "engine/base/endian.h"
#include "engine/base/text.h"
#include "engine/net/hello.h"
#include "engine/records/pack.h"
#include "engine/transfer/message.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static const char magic[] = "glint stage 1\n";
#define MAGIC_BYTES (sizeof magic - 1)
#define HEAD_BYTES  (MAGIC_BYTES + 8)
#define WORDS_MAX   4096u
#define EARLIER_MAX 4096u

/* ---- Writing */

void stage_file_pack_stage(struct packer *p, const struct packed_stage *stage)
{
    pack_array(p, 6);
    pack_text(p, stage->name);
    pack_bytes(p, stage->plan);
    pack_u64(p, stage->shuffle);
    pack_u64(p, stage->outputs);
    pack_array(p, stage->parent_count);
    for (uint32_t i = 0; i < stage->parent_count; i++) pack_u64(p, stage->parents[i]);
    pack_array(p, stage->task_count);
    for (uint32_t i = 0; i < stage->task_count; i++) {
        pack_array(p, 2);
        pack_u64(p, stage->tasks[i].partition);
        pack_bytes(p, stage->tasks[i].splits);
    }
}

static struct glint_slice slice_of_text(const char *text)
{
    return (struct glint_slice){(const uint8_t *)text, strlen(text)};
}

static int encode_stage_file(const struct stage_file_head *head, struct glint_slice action,
                             struct buffer *out, struct glint_error *error)
{
    struct packer p = {.failed = false};
    struct buffer options = {NULL, 0, 0};
    if (job_options_encode(head->options, &options, error) != 0) return error->code;
    pack_array(&p, 10);
    pack_text(&p, build_id());
    pack_u64(&p, head->id);
    pack_array(&p, head->word_count);
    for (uint32_t i = 0; i < head->word_count; i++) pack_bytes(&p, slice_of_text(head->words[i]));
    pack_u64(&p, head->slots);
    pack_u64(&p, head->stdin_tasks);
    pack_u64(&p, head->memory_bytes);
    pack_u64(&p, head->options->memory_bytes);
    pack_bytes(&p, (struct glint_slice){options.data, options.size});
    pack_array(&p, head->earlier_count);
    for (uint32_t i = 0; i < head->earlier_count; i++) pack_bytes(&p, head->earlier[i]);
    if (!p.failed && !buffer_append(&p.out, action.data, action.size)) p.failed = true;
    buffer_fini(&options);
    return packer_finish(&p, out, error);
}

static int write_stage_bytes(struct env *env, int file, const char *path, struct glint_slice body,
                             struct glint_error *error)
{
    uint8_t checksum[8];
    put_le64(checksum, XXH3_64bits(body.data, body.size));
    int r = env_write_all(env, file, magic, MAGIC_BYTES);
    if (r == 0) r = env_write_all(env, file, checksum, sizeof checksum);
    if (r == 0) r = env_write_all(env, file, body.data, body.size);
    if (r == 0) r = env->sync_file(env, file);
    if (r != 0) error_set_write(error, GLINT_E_OUTPUT_IO, r, path, 0, body.size + HEAD_BYTES);
    return error->code;
}

static int write_stage_file(struct env *env, const char *path, uint64_t id, struct glint_slice body,
                            struct glint_error *error)
{
    char attempt[PATH_MAX];
    if (!text_format(attempt, sizeof attempt, "%s.attempt-%016llx", path, (unsigned long long)id))
        return error_set(error, GLINT_E_OUTPUT_CREATE, "use a shorter path",
                         "the path is too long: %s", path);
    /* Engines run tasks as other users, who may read it, but never write it. */
    const mode_t before = umask(S_IWGRP | S_IWOTH);
    umask(before | S_IWGRP | S_IWOTH);
    int file = env->open(env, ENV_CWD, attempt, ENV_CREATE_PUBLIC);
    umask(before);
    if (file < 0) return error_set_system(error, GLINT_E_OUTPUT_CREATE, file, "create", attempt);
    int r = write_stage_bytes(env, file, path, body, error);
    env->close(env, file);
    if (r == 0) {
        r = env->rename(env, ENV_CWD, attempt, ENV_CWD, path, ENV_RENAME_REPLACE);
        if (r != 0) error_set_system(error, GLINT_E_OUTPUT_CREATE, r, "rename", path);
    }
    if (r != 0) env->remove(env, ENV_CWD, attempt, false);
    return error->code;
}

int stage_file_write(struct env *env, const char *path, const struct stage_file_head *head,
                     struct glint_slice action, struct glint_error *error)
{
    struct buffer body = {NULL, 0, 0};
    int r = encode_stage_file(head, action, &body, error);
    if (r == 0)
        r = write_stage_file(env, path, head->id, (struct glint_slice){body.data, body.size},
                             error);
    buffer_fini(&body);
    return r;
}

/* ---- Reading */

static int set_invalid_stage_file(const char *path, const char *what, struct glint_error *error)
{
    return error_set(error, GLINT_E_STAGE_FILE, "pack the job again: glint stage pack", "%s: %s",
                     path, what);
}

static void *alloc_decoded_items(struct stage_file *f, uint64_t count, uint64_t size, bool *failed)
{
    void *items = arena_alloc(&f->memory, count * size + 1);
    if (items == NULL) *failed = true;
    if (items != NULL) memset(items, 0, count * size);
    return items;
}

static void decode_job_arguments(struct stage_file *f, struct unpacker *u, bool *failed)
{
    struct unpacker words = unpack_array(u);
    if (words.count == 0 || words.count > WORDS_MAX) u->failed = true;
    if (u->failed) return;
    f->words = alloc_decoded_items(f, words.count + 1, sizeof *f->words, failed);
    for (uint64_t i = 0; i < words.count && !*failed; i++) {
        const struct glint_slice word = unpack_bytes(&words);
        f->words[i] = alloc_decoded_items(f, word.size + 1, 1, failed);
        if (f->words[i] != NULL && word.size > 0) memcpy(f->words[i], word.data, word.size);
        f->word_count++;
    }
    if (words.failed) u->failed = true;
}

static void decode_earlier_results(struct stage_file *f, struct unpacker *u, bool *failed)
{
    struct unpacker results = unpack_array(u);
    if (results.count > EARLIER_MAX) u->failed = true;
    if (u->failed) return;
    f->earlier = alloc_decoded_items(f, results.count, sizeof *f->earlier, failed);
    for (uint64_t i = 0; i < results.count && !*failed; i++)
        f->earlier[f->earlier_count++] = unpack_bytes(&results);
    if (results.failed) u->failed = true;
}

static void decode_broadcasts(struct stage_file *f, struct unpacker *u, bool *failed)
{
    struct unpacker all = unpack_array(u);
    if (u->failed || (uint64_t)(all.end - all.at) < all.count) {
        u->failed = true;
        return;
    }
    f->broadcasts = alloc_decoded_items(f, all.count, sizeof *f->broadcasts, failed);
    for (uint64_t i = 0; i < all.count && !*failed && !u->failed; i++) {
        struct unpacker one = unpack_array(&all);
        struct packed_broadcast *b = &f->broadcasts[f->broadcast_count++];
        b->id = unpack_u64(&one, UINT64_MAX);
        b->bytes = unpack_bytes(&one);
        if (!unpack_is_complete(&one)) u->failed = true;
    }
}

static void decode_stage_tasks(struct stage_file *f, struct packed_stage *stage, struct unpacker *u,
                               bool *failed)
{
    struct unpacker tasks = unpack_array(u);
    if (u->failed || (uint64_t)(tasks.end - tasks.at) < tasks.count || tasks.count > UINT32_MAX) {
        u->failed = true;
        return;
    }
    stage->tasks = alloc_decoded_items(f, tasks.count, sizeof *stage->tasks, failed);
    for (uint64_t i = 0; i < tasks.count && !*failed && !u->failed; i++) {
        struct unpacker one = unpack_array(&tasks);
        struct packed_task *task = &stage->tasks[stage->task_count++];
        task->partition = (uint32_t)unpack_u64(&one, UINT32_MAX);
        task->splits = unpack_bytes(&one);
        if (!unpack_is_complete(&one)) u->failed = true;
    }
}

static void decode_stage(struct stage_file *f, struct unpacker *u, bool *failed)
{
    struct packed_stage *stage = &f->stages[f->stage_count];
    unpack_text(u, stage->name, sizeof stage->name);
    stage->plan = unpack_bytes(u);
    stage->shuffle = unpack_u64(u, UINT64_MAX);
    stage->outputs = (uint32_t)unpack_u64(u, ACTION_OUTPUTS_MAX);
    struct unpacker parents = unpack_array(u);
    if (u->failed || parents.count > f->stage_count) {
        u->failed = true;
        return;
    }
    stage->parents = alloc_decoded_items(f, parents.count, sizeof *stage->parents, failed);
    for (uint64_t i = 0; i < parents.count && !*failed; i++)
        stage->parents[stage->parent_count++] = (uint32_t)unpack_u64(&parents, f->stage_count - 1u);
    if (parents.failed) u->failed = true;
    decode_stage_tasks(f, stage, u, failed);
    f->stage_count++;
}

static void decode_stages(struct stage_file *f, struct unpacker *u, bool *failed)
{
    struct unpacker stages = unpack_array(u);
    if (stages.count == 0 || stages.count > PLAN_NODES_MAX) u->failed = true;
    if (u->failed) return;
    f->stages = alloc_decoded_items(f, stages.count, sizeof *f->stages, failed);
    for (uint64_t i = 0; i < stages.count && !*failed && !u->failed; i++) {
        struct unpacker one = unpack_array(&stages);
        decode_stage(f, &one, failed);
        if (!unpack_is_complete(&one)) u->failed = true;
    }
}

int stage_file_decode(struct stage_file *f, struct glint_slice body, const char *path,
                      const char *build, struct glint_error *error)
{
    char packed_by[NAME_BYTES_MAX];
    bool failed = false; /* out of memory */
    struct unpacker u = unpack_begin(body);
    unpack_text(&u, packed_by, sizeof packed_by);
    if (!u.failed && strcmp(build, packed_by) != 0)
        return error_set(error, GLINT_E_STAGE_FILE, "pack and run with the same program",
                         "%s was packed by build %s, and this is %s", path, packed_by, build);
    f->id = unpack_u64(&u, UINT64_MAX);
    decode_job_arguments(f, &u, &failed);
    f->slots = (uint32_t)unpack_u64(&u, SLOTS_MAX);
    f->stdin_tasks = (uint32_t)unpack_u64(&u, STAGE_STDIN_TASKS_MAX);
    f->memory_bytes = unpack_u64(&u, UINT64_MAX);
    f->options.memory_bytes = unpack_u64(&u, UINT64_MAX);
    const struct glint_slice options = unpack_bytes(&u);
    if (!u.failed && job_options_decode(options, &f->options, error) != 0) return error->code;
    if (!failed) decode_earlier_results(f, &u, &failed);
    f->action.data = u.at;
    struct unpacker action = unpack_array(&u);
    f->action.size = (uint64_t)(u.at - f->action.data);
    if (!failed && !u.failed) decode_broadcasts(f, &action, &failed);
    if (!failed && !action.failed) decode_stages(f, &action, &failed);
    if (failed) return error_no_memory(error);
    if (unpack_is_complete(&action) && unpack_is_complete(&u)) return 0;
    return set_invalid_stage_file(path, "its content is not valid", error);
}

static int read_stage_bytes(struct env *env, const char *path, struct buffer *out,
                            struct glint_error *error)
{
    struct env_stat stat;
    int file = env->open(env, ENV_CWD, path, ENV_READ);
    if (file < 0) return error_set_shared_path(error, GLINT_E_INPUT_IO, file, "open", path);
    int r = env->stat_open(env, file, &stat);
    int64_t n = 0;
    if (r == 0 && stat.kind != ENV_FILE)
        set_invalid_stage_file(path, "it is not a regular file", error);
    else if (r == 0 && (stat.mode & (S_IWGRP | S_IWOTH)) != 0)
        error_set(error, GLINT_E_STAGE_FILE,
                  "chmod go-w FILE, after a look at who could write it (glint stage show)",
                  "%s: a stage file is code, and users other than its owner may write this one "
                  "(mode %04o)",
                  path, (unsigned)stat.mode);
    else if (r == 0 && !buffer_reserve(out, stat.size))
        error_no_memory(error);
    else if (r == 0)
        n = env_read_full(env, file, out->data, stat.size, 0);
    env->close(env, file);
    if (r != 0 || n < 0)
        return error_set_system(error, GLINT_E_INPUT_IO, r != 0 ? r : (int)n, "read", path);
    out->size = (uint64_t)n;
    return error->code;
}

int stage_file_read(struct env *env, const char *path, struct stage_file *out,
                    struct glint_error *error)
{
    const struct buffer *b = &out->bytes;
    if (read_stage_bytes(env, path, &out->bytes, error) != 0) return error->code;
    if (b->size <= HEAD_BYTES || memcmp(b->data, magic, MAGIC_BYTES) != 0)
        return set_invalid_stage_file(path, "it is not a stage file of this version", error);
    if (get_le64(b->data + MAGIC_BYTES) != XXH3_64bits(b->data + HEAD_BYTES, b->size - HEAD_BYTES))
        return set_invalid_stage_file(path, "the file is damaged", error);
    const struct glint_slice body = {b->data + HEAD_BYTES, b->size - HEAD_BYTES};
    return stage_file_decode(out, body, path, build_id(), error);
}

void stage_file_fini(struct stage_file *f)
{
    buffer_fini(&f->bytes);
    arena_fini(&f->memory);
    memset(f, 0, sizeof *f);
}

/* ---- Inputs: walks the plan of a stage from its root to the shuffles that one partition reads. */

struct visit {
    uint32_t node, first, end; /* partitions of the node still to visit */
};

struct visits {
    struct visit *items;
    uint64_t count, capacity;
};

static bool push_node_visit(struct visits *v, uint32_t node, uint32_t first, uint32_t end)
{
    if (!array_reserve(&v->items, &v->capacity, v->count + 1, sizeof *v->items)) return false;
    v->items[v->count++] = (struct visit){node, first, end};
    return true;
}

static bool add_stage_input(struct stage_inputs *out, uint32_t shuffle, uint32_t partition)
{
    if (!array_reserve(&out->items, &out->capacity, out->count + 1u, sizeof *out->items))
        return false;
    out->items[out->count++] = (struct stage_input){shuffle, partition};
    return true;
}

static bool visit_both_parents(const struct stage_plan *plan, const struct stage_node *n,
                               uint32_t partition, struct visits *v)
{
    uint32_t left = partition, right = partition;
    if (n->op->kind == OP_CARTESIAN) {
        left /= plan->nodes[n->parents[1]].partitions;
        right %= plan->nodes[n->parents[1]].partitions;
    }
    return push_node_visit(v, n->parents[0], left, left + 1) &&
           push_node_visit(v, n->parents[1], right, right + 1);
}

static bool visit_parents(const struct stage_plan *plan, const struct stage_node *n,
                          uint32_t partition, struct visits *v)
{
    if (n->op->kind == OP_ZIP || n->op->kind == OP_CARTESIAN ||
        (n->op->kind == OP_UNION && n->narrow))
        return visit_both_parents(plan, n, partition, v);
    uint32_t parent = n->parents[0], first = partition, end = partition + 1;
    const uint32_t left = plan->nodes[parent].partitions;
    if (n->op->kind == OP_UNION && partition >= left) {
        parent = n->parents[1];
        first -= left;
        end -= left;
    }
    if (n->op->kind == OP_COALESCE)
        rdd_coalesce_range(left, n->partitions, partition, &first, &end);
    return push_node_visit(v, parent, first, end);
}

static bool visit_next_node(const struct stage_plan *plan, struct visits *v,
                            struct stage_inputs *out)
{
    struct visit *top = &v->items[v->count - 1];
    if (top->first == top->end) {
        v->count--;
        return true;
    }
    const struct stage_node *n = &plan->nodes[top->node];
    const uint32_t partition = top->first++;
    if (n->parents[0] != STAGE_NO_PARENT) return visit_parents(plan, n, partition, v);
    if (stage_node_is_shuffle(n)) return add_stage_input(out, n->rdd, partition);
    return true; /* a source of files */
}

int stage_inputs_find(const struct stage_plan *plan, uint32_t partition, struct stage_inputs *out,
                      struct glint_error *error)
{
    struct visits v = {NULL, 0, 0};
    uint32_t root = plan->node_count - 1;
    out->count = 0;
    if (stage_node_is_shuffle(&plan->nodes[root]) &&
        plan->nodes[root].parents[0] != STAGE_NO_PARENT)
        root = plan->nodes[root].parents[0]; /* the tasks are those of the map side */
    bool memory = push_node_visit(&v, root, partition, partition + 1);
    while (memory && v.count > 0) memory = visit_next_node(plan, &v, out);
    mem_free(v.items);
    return memory ? 0 : error_no_memory(error);
}

bool stage_inputs_get_lines(const struct stage_inputs *inputs, uint32_t parent, uint64_t shuffle)
{
    for (uint32_t i = 0; i < inputs->count; i++)
        if (inputs->items[i].shuffle == shuffle) return true;
    return inputs->count == 0 && parent == 0;
}
