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
    for (uint32_t i = 0; i < head->word_count; i++) {
        const char *word = head->words[i];
        pack_bytes(&p, (struct glint_slice){(const uint8_t *)word, strlen(word)});
    }
    pack_u64(&p, head->slots);
    pack_u64(&p, head->stdin_tasks);
    pack_u64(&p, head->memory_bytes);
    pack_u64(&p, head->options->memory_bytes);
    pack_bytes(&p, buffer_slice(&options));
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
    if (r == 0) r = write_stage_file(env, path, head->id, buffer_slice(&body), error);
    buffer_fini(&body);
    return r;
}

/* ---- Reading */

static int set_invalid_stage_file_error(const char *path, const char *what,
                                        struct glint_error *error)
{
    return error_set(error, GLINT_E_STAGE_FILE, "pack the job again: glint stage pack", "%s: %s",
                     path, what);
}

/* Begins a list of up to `max` items of `size` bytes; *out is zeroed memory for them. After a
 * failure the list is empty, and u->failed set. */
static struct unpacker begin_decoded_list(struct stage_file *f, struct unpacker *u, uint64_t max,
                                          uint64_t size, void *out)
{
    struct unpacker list = unpack_array(u);
    void *items = NULL;
    if (list.failed || list.count > max) {
        u->failed = true;
        return (struct unpacker){.failed = true};
    }
    items = arena_alloc(&f->memory, (list.count + 1) * size);
    if (items == NULL) {
        f->no_memory = u->failed = true;
        return (struct unpacker){.failed = true};
    }
    memset(items, 0, (list.count + 1) * size);
    memcpy(out, &items, sizeof items); /* a pointer of any type */
    return list;
}

static void decode_job_arguments(struct stage_file *f, struct unpacker *u)
{
    struct unpacker words = begin_decoded_list(f, u, STAGE_WORDS_MAX, sizeof *f->words, &f->words);
    if (words.count == 0) u->failed = true;
    for (uint64_t i = 0; i < words.count && !u->failed; i++) {
        const struct glint_slice word = unpack_bytes(&words);
        f->words[i] = arena_copy(&f->memory, word.data, word.size);
        f->no_memory |= f->words[i] == NULL;
        u->failed |= words.failed || f->no_memory;
        f->word_count++;
    }
}

static void decode_results_of_earlier_actions(struct stage_file *f, struct unpacker *u)
{
    struct unpacker results =
        begin_decoded_list(f, u, EARLIER_MAX, sizeof *f->earlier, &f->earlier);
    for (uint64_t i = 0; i < results.count; i++)
        f->earlier[f->earlier_count++] = unpack_bytes(&results);
    u->failed |= results.failed;
}

static void decode_broadcasts(struct stage_file *f, struct unpacker *u)
{
    struct unpacker all =
        begin_decoded_list(f, u, UINT32_MAX, sizeof *f->broadcasts, &f->broadcasts);
    for (uint64_t i = 0; i < all.count && !u->failed; i++) {
        struct unpacker one = unpack_array(&all);
        struct packed_broadcast *b = &f->broadcasts[f->broadcast_count++];
        b->id = unpack_u64(&one, UINT64_MAX);
        b->bytes = unpack_bytes(&one);
        u->failed |= !unpack_is_complete(&one);
    }
}

static void decode_stage_tasks(struct stage_file *f, struct packed_stage *stage, struct unpacker *u)
{
    struct unpacker tasks =
        begin_decoded_list(f, u, UINT32_MAX, sizeof *stage->tasks, &stage->tasks);
    for (uint64_t i = 0; i < tasks.count && !u->failed; i++) {
        struct unpacker one = unpack_array(&tasks);
        struct packed_task *task = &stage->tasks[stage->task_count++];
        task->partition = (uint32_t)unpack_u64(&one, UINT32_MAX);
        task->splits = unpack_bytes(&one);
        u->failed |= !unpack_is_complete(&one);
    }
}

static void decode_stage(struct stage_file *f, struct unpacker *u)
{
    struct packed_stage *stage = &f->stages[f->stage_count];
    unpack_text(u, stage->name, sizeof stage->name);
    stage->plan = unpack_bytes(u);
    stage->shuffle = unpack_u64(u, UINT64_MAX);
    stage->outputs = (uint32_t)unpack_u64(u, ACTION_OUTPUTS_MAX);
    struct unpacker parents =
        begin_decoded_list(f, u, f->stage_count, sizeof *stage->parents, &stage->parents);
    for (uint64_t i = 0; i < parents.count; i++)
        stage->parents[stage->parent_count++] = (uint32_t)unpack_u64(&parents, f->stage_count - 1u);
    u->failed |= parents.failed;
    decode_stage_tasks(f, stage, u);
    f->stage_count++;
}

static void decode_stages(struct stage_file *f, struct unpacker *u)
{
    struct unpacker stages =
        begin_decoded_list(f, u, PLAN_NODES_MAX, sizeof *f->stages, &f->stages);
    if (stages.count == 0) u->failed = true;
    for (uint64_t i = 0; i < stages.count && !u->failed; i++) {
        struct unpacker one = unpack_array(&stages);
        decode_stage(f, &one);
        u->failed |= !unpack_is_complete(&one);
    }
}

int stage_file_decode(struct stage_file *f, struct glint_slice body, const char *path,
                      const char *build, struct glint_error *error)
{
    char packed_by[NAME_BYTES_MAX];
    struct unpacker u = unpack_begin(body);
    unpack_text(&u, packed_by, sizeof packed_by);
    if (!u.failed && strcmp(build, packed_by) != 0)
        return error_set(error, GLINT_E_STAGE_FILE, "pack and run with the same program",
                         "%s was packed by build %s, and this is %s", path, packed_by, build);
    f->id = unpack_u64(&u, UINT64_MAX);
    decode_job_arguments(f, &u);
    f->slots = (uint32_t)unpack_u64(&u, SLOTS_MAX);
    f->stdin_tasks = (uint32_t)unpack_u64(&u, STAGE_STDIN_TASKS_MAX);
    f->memory_bytes = unpack_u64(&u, UINT64_MAX);
    f->options.memory_bytes = unpack_u64(&u, UINT64_MAX);
    const struct glint_slice options = unpack_bytes(&u);
    if (!u.failed && job_options_decode(options, &f->options, error) != 0) return error->code;
    decode_results_of_earlier_actions(f, &u);
    f->action.data = u.at;
    struct unpacker action = unpack_array(&u);
    f->action.size = (uint64_t)(u.at - f->action.data);
    decode_broadcasts(f, &action);
    decode_stages(f, &action);
    if (f->no_memory) return error_no_memory(error);
    if (unpack_is_complete(&action) && unpack_is_complete(&u)) return 0;
    return set_invalid_stage_file_error(path, "its content is not valid", error);
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
        set_invalid_stage_file_error(path, "it is not a regular file", error);
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
        return set_invalid_stage_file_error(path, "it is not a stage file of this version", error);
    if (get_le64(b->data + MAGIC_BYTES) != XXH3_64bits(b->data + HEAD_BYTES, b->size - HEAD_BYTES))
        return set_invalid_stage_file_error(path, "the file is damaged", error);
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

static bool add_stage_input(struct stage_inputs *out, uint32_t shuffle, uint32_t partition)
{
    if (!array_reserve(&out->items, &out->capacity, out->count + 1u, sizeof *out->items))
        return false;
    out->items[out->count++] = (struct stage_input){shuffle, partition};
    return true;
}

static bool visit_stage_node(struct partition_walk *w, const struct stage_plan *plan,
                             const struct stage_node *n, uint32_t partition,
                             struct stage_inputs *out)
{
    const bool left = n->parents[0] != STAGE_NO_PARENT, right = n->parents[1] != STAGE_NO_PARENT;
    const struct op_partitions of = {.op = n->op,
                                     .narrow = n->narrow,
                                     .own = n->partitions,
                                     .left = left ? plan->nodes[n->parents[0]].partitions : 0,
                                     .right = right ? plan->nodes[n->parents[1]].partitions : 0};
    struct parent_partitions reads[2];
    if (stage_node_reads_blocks(n)) return true; /* its tasks fail: no other process has blocks */
    bool ok = !stage_node_is_shuffle(n) || add_stage_input(out, n->rdd, partition);
    for (uint32_t i = op_find_parent_partitions(&of, partition, reads); ok && i-- > 0;)
        ok = partition_walk_add(w, &plan->nodes[n->parents[reads[i].parent]], reads[i].first,
                                reads[i].end);
    return ok;
}

int stage_inputs_find(const struct stage_plan *plan, uint32_t partition, struct stage_inputs *out,
                      struct glint_error *error)
{
    struct partition_walk w = {NULL, 0, 0};
    uint32_t root = plan->node_count - 1;
    const void *node;
    out->count = 0;
    if (stage_node_is_shuffle(&plan->nodes[root]) &&
        plan->nodes[root].parents[0] != STAGE_NO_PARENT)
        root = plan->nodes[root].parents[0]; /* the tasks are those of the map side */
    bool memory = partition_walk_add(&w, &plan->nodes[root], partition, partition + 1);
    while (memory && partition_walk_next(&w, &node, &partition))
        memory = visit_stage_node(&w, plan, node, partition, out);
    mem_free(w.items);
    return memory ? 0 : error_no_memory(error);
}

bool stage_inputs_get_lines(const struct stage_inputs *inputs, uint32_t parent, uint64_t shuffle)
{
    for (uint32_t i = 0; i < inputs->count; i++)
        if (inputs->items[i].shuffle == shuffle) return true;
    return inputs->count == 0 && parent == 0;
}
