/* See commit.h. Every step may be repeated: an upload that was completed before is one that
 * does not exist any more, while its object does. */
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/driver/commit.h"
#include "engine/input/remote_store.h"
#include "engine/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

/* ---- The commit record: JSON, so that people and other programs can read it where it is. */

#define COMMIT_RECORD_VERSION 1

void commit_record_fini(struct commit_record *r)
{
    for (uint64_t i = 0; i < r->part_count; i++) mem_free(r->parts[i].upload.parts);
    mem_free(r->parts);
    mem_free(r->replaced);
    memset(r, 0, sizeof *r);
}

bool commit_name_is_part(const char *name, const char *job)
{
    static const char *const suffixes[] = {"", ".gz", ".zst", ".parquet", ".arrow"};
    const char *found, *suffix;
    if (remote_part_parse(name, &found, &suffix) == 0) return false;
    if (job != NULL && (found == NULL || strncmp(found, job, REMOTE_JOB_DIGITS) != 0)) return false;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(suffix, suffixes[i]) == 0) return true;
    return false;
}

/* Adds a part, whose upload is moved to the record, unless it returns NO_MEMORY. */
static int commit_record_add_part(struct commit_record *r, const char *name,
                                  struct remote_upload *upload, struct glint_error *error)
{
    assert(commit_name_is_part(name, r->job) && upload->part_count > 0);
    if (!array_reserve(&r->parts, &r->part_capacity, r->part_count + 1, sizeof *r->parts))
        return error_no_memory(error);
    struct commit_part *part = &r->parts[r->part_count++];
    text_format(part->name, sizeof part->name, "%s", name);
    part->upload = *upload;
    upload->parts = NULL;
    return 0;
}

static int commit_record_add_replaced(struct commit_record *r, const char *name,
                                      struct glint_error *error)
{
    assert(commit_name_is_part(name, NULL) && !commit_name_is_part(name, r->job));
    if (!array_reserve(&r->replaced, &r->replaced_capacity, r->replaced_count + 1,
                       sizeof *r->replaced))
        return error_no_memory(error);
    text_format(r->replaced[r->replaced_count++], sizeof *r->replaced, "%s", name);
    return 0;
}

/* ---- Encoding */

static void encode_part(struct json *j, const struct commit_part *part)
{
    json_begin(j, NULL, '{');
    json_cstring(j, "name", part->name);
    json_cstring(j, "upload", part->upload.id);
    json_u64(j, "size", part->upload.size);
    json_begin(j, "etags", '[');
    for (uint32_t i = 0; i < part->upload.part_count; i++)
        json_cstring(j, NULL, part->upload.parts[i].etag);
    json_end(j, ']');
    json_end(j, '}');
}

int commit_record_encode(const struct commit_record *r, struct buffer *out,
                         struct glint_error *error)
{
    struct json j = {.failed = false};
    assert(strlen(r->job) == REMOTE_JOB_DIGITS);
    json_begin(&j, NULL, '{');
    json_u64(&j, "glint commit", COMMIT_RECORD_VERSION);
    json_cstring(&j, "job", r->job);
    json_begin(&j, "parts", '[');
    for (uint64_t i = 0; i < r->part_count; i++) encode_part(&j, &r->parts[i]);
    json_end(&j, ']');
    json_begin(&j, "replaced", '[');
    for (uint64_t i = 0; i < r->replaced_count; i++) json_cstring(&j, NULL, r->replaced[i]);
    json_end(&j, ']');
    json_end(&j, '}');
    const bool ok = !j.failed && buffer_append(out, j.out.data, j.out.size);
    json_fini(&j);
    return ok ? 0 : error_no_memory(error);
}

/* ---- Decoding */

/* Copies a member of the object that is a printable text. Returns false if it is none. */
static bool copy_printable_json_text(const json_t *value, char *out, size_t capacity)
{
    const char *text = json_string_value(value);
    return text != NULL && strlen(text) == json_string_length(value) && text[0] != '\0' &&
           text_format(out, capacity, "%s", text) && text_is_printable(out);
}

static const char *decode_recorded_upload(const json_t *value, struct remote_upload *out,
                                          bool *out_of_memory)
{
    const json_t *size = json_object_get(value, "size"), *etags = json_object_get(value, "etags");
    const size_t count = json_array_size(etags);
    if (!copy_printable_json_text(json_object_get(value, "upload"), out->id, sizeof out->id))
        return "an upload has no id";
    if (!json_is_integer(size) || json_integer_value(size) < 0) return "a part has no size";
    if (count == 0 || count > S3_PARTS_MAX) return "a part has no etags, or too many";
    out->size = (uint64_t)json_integer_value(size);
    out->parts = mem_alloc(count * sizeof *out->parts);
    *out_of_memory = out->parts == NULL;
    if (*out_of_memory) return "";
    for (; out->part_count < count; out->part_count++) {
        char *etag = out->parts[out->part_count].etag;
        if (!copy_printable_json_text(json_array_get(etags, out->part_count), etag,
                                      sizeof out->parts->etag))
            return "an etag is no text";
    }
    return NULL;
}

static const char *decode_recorded_part(const json_t *value, struct commit_record *out,
                                        bool *out_of_memory)
{
    char name[COMMIT_NAME_BYTES];
    struct remote_upload upload = {.size = 0};
    struct glint_error error = {.code = GLINT_OK};
    if (!copy_printable_json_text(json_object_get(value, "name"), name, sizeof name) ||
        !commit_name_is_part(name, out->job))
        return "a part has not the name of one of this job";
    const char *problem = decode_recorded_upload(value, &upload, out_of_memory);
    if (problem == NULL && commit_record_add_part(out, name, &upload, &error) != 0) {
        *out_of_memory = true;
        problem = "";
    }
    mem_free(upload.parts);
    return problem;
}

static const char *decode_commit_record_members(const json_t *record, struct commit_record *out,
                                                bool *out_of_memory)
{
    const json_t *parts = json_object_get(record, "parts");
    const json_t *replaced = json_object_get(record, "replaced");
    const json_t *version = json_object_get(record, "glint commit");
    struct glint_error error = {.code = GLINT_OK};
    char name[COMMIT_NAME_BYTES];
    if (!json_is_integer(version)) return "it is no commit record";
    if (json_integer_value(version) != COMMIT_RECORD_VERSION) return "a newer glint wrote it";
    if (!copy_printable_json_text(json_object_get(record, "job"), out->job, sizeof out->job) ||
        strspn(out->job, "0123456789abcdef") != REMOTE_JOB_DIGITS)
        return "it has no job";
    if (!json_is_array(parts) || !json_is_array(replaced)) return "a list is missing";
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const char *problem = decode_recorded_part(json_array_get(parts, i), out, out_of_memory);
        if (problem != NULL) return problem;
    }
    for (size_t i = 0; i < json_array_size(replaced); i++) {
        if (!copy_printable_json_text(json_array_get(replaced, i), name, sizeof name) ||
            !commit_name_is_part(name, NULL) || commit_name_is_part(name, out->job))
            return "it would replace what is no part of an older job";
        *out_of_memory = commit_record_add_replaced(out, name, &error) != 0;
        if (*out_of_memory) return "";
    }
    return NULL;
}

int commit_record_decode(struct glint_slice text, const char *name, struct commit_record *out,
                         struct glint_error *error)
{
    json_error_t where;
    bool out_of_memory = false;
    memset(out, 0, sizeof *out);
    json_t *record = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &where);
    const char *problem = record != NULL ? decode_commit_record_members(record, out, &out_of_memory)
                                         : "it is no JSON";
    json_decref(record);
    if (problem == NULL) return 0;
    if (out_of_memory) return error_no_memory(error);
    return error_set(error, GLINT_E_OUTPUT_EXISTS, "remove it if no job of glint wrote it",
                     "%s: %s", name, problem);
}

#define PART_PREFIX "part-"
/* Uploads of other jobs may be of one that runs: they are kept this long. */
#define UPLOADS_KEPT_NS (86400 * (int64_t)SECOND_NS)
#define FINISH_ROUNDS   8u /* of listing and finishing what other jobs began */

enum objects_state { OBJECTS_OPEN, OBJECTS_STARTED, OBJECTS_FINISHED };

struct commit_objects {
    enum objects_state state;
    struct remote_store store;
    bool overwrite;
    char url[PATH_MAX];
    const char *path; /* of the output in the bucket, in `url` */
    struct commit_record record;
};

/* The key of a name in the output. The URL is short enough for that. */
static const char *format_output_object_key(const struct commit_objects *o, const char *name,
                                            char out[S3_KEY_BYTES])
{
    const bool fits = text_format(out, S3_KEY_BYTES, "%s/%s", o->path, name);
    assert(fits);
    return out;
}

static const char *format_record_key(const struct commit_objects *o, const char *job,
                                     char out[S3_KEY_BYTES])
{
    char name[COMMIT_NAME_BYTES];
    text_format(name, sizeof name, REMOTE_COMMIT_PREFIX "%s", job);
    return format_output_object_key(o, name, out);
}

/* ---- Steps for each part: a store takes its time for one, and many at once */

#define STEPS_OF_THREAD_MIN 8u
#define STEP_THREADS_MAX    16u

/* Any thread, with a store of its own. */
typedef int store_step(struct commit_objects *o, struct remote_store *store, uint64_t i,
                       struct glint_error *error);

struct step_run {
    struct commit_objects *o;
    store_step *step;
    uint64_t count;
    atomic_uint_fast64_t next;
    atomic_bool failed;
    pthread_mutex_t lock;
    struct glint_error problem; /* the first one */
};

static void *run_commit_steps(void *arg)
{
    struct step_run *r = arg;
    struct remote_store store;
    struct glint_error problem = {.code = GLINT_OK};
    int code = remote_store_init(&store, r->o->store.env, r->o->url, 0, &problem);
    while (code == 0 && !atomic_load(&r->failed)) {
        const uint64_t i = atomic_fetch_add(&r->next, 1);
        if (i >= r->count) break;
        code = r->step(r->o, &store, i, &problem);
    }
    if (code == 0) return NULL;
    assert(problem.code != GLINT_OK);
    pthread_mutex_lock(&r->lock);
    if (r->problem.code == GLINT_OK) r->problem = problem;
    pthread_mutex_unlock(&r->lock);
    atomic_store(&r->failed, true);
    return NULL;
}

/* Returns 0, or the code of the first step that failed; then others may not have been done. */
static int run_commit_steps_in_threads(struct commit_objects *o, store_step *step, uint64_t count,
                                       struct glint_error *error)
{
    struct step_run run = {.o = o, .step = step, .count = count, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct glint_error ignored = {.code = GLINT_OK};
    pthread_t threads[STEP_THREADS_MAX];
    uint64_t wanted = count / STEPS_OF_THREAD_MIN;
    unsigned started = 0;
    if (count == 0) return 0;
    if (wanted > STEP_THREADS_MAX) wanted = STEP_THREADS_MAX;
    while (started + 1 < wanted &&
           thread_start(&threads[started], run_commit_steps, &run, &ignored) == 0)
        started++;
    run_commit_steps(&run);
    for (unsigned i = 0; i < started; i++) pthread_join(threads[i], NULL);
    if (run.problem.code == GLINT_OK) return 0;
    if (error->code == GLINT_OK) *error = run.problem;
    return run.problem.code;
}

/* ---- What is there */

#define HINT "name another output, or move it away: --overwrite replaces only outputs of glint jobs"

typedef char job_text[REMOTE_JOB_DIGITS + 1];

struct contents {
    struct commit_objects *o;
    bool collect; /* the parts are what the output replaces */
    struct commit_found found;
    job_text *pending; /* jobs whose commit was started */
    uint64_t pending_count, pending_capacity;
    struct glint_error *error;
};

static int add_unfinished_commit(struct contents *c, const char *name)
{
    if (!array_reserve(&c->pending, &c->pending_capacity, c->pending_count + 1, sizeof *c->pending))
        return error_no_memory(c->error);
    text_format(c->pending[c->pending_count++], sizeof *c->pending, "%s",
                name + sizeof REMOTE_COMMIT_PREFIX - 1);
    return 0;
}

static int classify_listed_output_object(void *arg, const struct listed_object *object)
{
    struct contents *c = arg;
    const char *name = object->name;
    if (!object->is_directory && remote_name_is_commit(name)) return add_unfinished_commit(c, name);
    if (!object->is_directory && strcmp(name, COMMIT_SUCCESS) == 0) {
        c->found.success = true;
    } else if (!object->is_directory && strlen(name) < COMMIT_NAME_BYTES &&
               commit_name_is_part(name, NULL)) {
        c->found.parts++;
        if (c->collect && !commit_name_is_part(name, c->o->record.job))
            return commit_record_add_replaced(&c->o->record, name, c->error);
    } else if (c->found.foreign[0] == '\0') {
        text_format(c->found.foreign, sizeof c->found.foreign, "%s", name);
    }
    return 0;
}

static void output_contents_fini(struct contents *c)
{
    mem_free(c->pending);
    c->pending = NULL;
}

/* Call output_contents_fini in any case. */
static int list_output_objects(struct commit_objects *o, bool collect, struct contents *out,
                               struct glint_error *error)
{
    char prefix[S3_KEY_BYTES];
    *out = (struct contents){.o = o, .collect = collect, .error = error};
    o->record.replaced_count = 0;
    return remote_store_list(&o->store, format_output_object_key(o, "", prefix),
                             classify_listed_output_object, out, error);
}

int commit_reject_foreign(const struct commit_found *found, const char *shown, const char *hint,
                          struct glint_error *error)
{
    if (found->foreign[0] != '\0')
        return error_set(error, GLINT_E_OUTPUT_EXISTS, hint,
                         "%s contains %s, which was not written by glint", shown, found->foreign);
    if (found->parts > 0 && !found->success)
        return error_set(error, GLINT_E_OUTPUT_EXISTS, hint,
                         "%s contains parts but no " COMMIT_SUCCESS ": no glint job completed it",
                         shown);
    return 0;
}

/* Whether a job may write there; `when` says when it was found out. */
static int check_output_may_be_written(const struct contents *c, const char *when,
                                       struct glint_error *error)
{
    const char *url = c->o->url;
    const struct commit_found *f = &c->found;
    if (f->parts == 0 && !f->success && f->foreign[0] == '\0') return 0;
    if (!c->o->overwrite)
        return error_set(error, GLINT_E_OUTPUT_EXISTS,
                         "name another output, or pass --overwrite to replace it", "%s %s", url,
                         when);
    return commit_reject_foreign(f, url, HINT, error);
}

/* ---- Finishing a commit that was started */

struct sought_object {
    const char *name;
    uint64_t size;
    bool found;
};

static int match_sought_object(void *arg, const struct listed_object *object)
{
    struct sought_object *s = arg;
    if (strcmp(object->name, s->name) == 0)
        s->found = object->known && object->identity.size == s->size;
    return 0;
}

/* Whether the part is an object: its upload was completed before. */
static int check_part_was_uploaded(struct commit_objects *o, struct remote_store *store,
                                   const struct commit_part *part, struct glint_error *error)
{
    char prefix[S3_KEY_BYTES];
    const char *job, *suffix;
    const size_t digits = remote_part_parse(part->name, &job, &suffix);
    char number[COMMIT_NAME_BYTES];
    struct sought_object sought = {.name = part->name + digits, .size = part->upload.size};
    text_format(number, sizeof number, "%.*s", (int)digits, part->name);
    const int r = remote_store_list(store, format_output_object_key(o, number, prefix),
                                    match_sought_object, &sought, error);
    if (r != 0 || sought.found) return r;
    return error_set(error, GLINT_E_OUTPUT_IO, "remove what is left with: glint clean URL",
                     "%s: the upload of %s is neither there nor completed; perhaps a rule of the "
                     "bucket aborted it",
                     o->url, part->name);
}

static int complete_part_upload(struct commit_objects *o, struct remote_store *store, uint64_t i,
                                struct glint_error *error)
{
    char key[S3_KEY_BYTES];
    const struct commit_part *part = &o->record.parts[i];
    const int r = remote_store_complete_upload(store, format_output_object_key(o, part->name, key),
                                               part->upload.id, part->upload.parts,
                                               part->upload.part_count, error);
    return r == GLINT_E_INPUT_NOT_FOUND ? check_part_was_uploaded(o, store, part, error) : r;
}

static int delete_replaced_object(struct commit_objects *o, struct remote_store *store, uint64_t i,
                                  struct glint_error *error)
{
    char key[S3_KEY_BYTES];
    return remote_store_delete(store, format_output_object_key(o, o->record.replaced[i], key),
                               error);
}

static int abort_part_upload(struct commit_objects *o, struct remote_store *store, uint64_t i,
                             struct glint_error *error)
{
    char key[S3_KEY_BYTES];
    const struct commit_part *part = &o->record.parts[i];
    return remote_store_abort_upload(store, format_output_object_key(o, part->name, key),
                                     part->upload.id, error);
}

/* Of a commit that was started: it may have been completed. */
static int abort_or_delete_part(struct commit_objects *o, struct remote_store *store, uint64_t i,
                                struct glint_error *error)
{
    char key[S3_KEY_BYTES];
    const int r = abort_part_upload(o, store, i, error);
    return r == 0 ? remote_store_delete(
                        store, format_output_object_key(o, o->record.parts[i].name, key), error)
                  : r;
}

/* What _SUCCESS contains. */
static void format_success_file(const char *job, char *out, size_t capacity)
{
    text_format(out, capacity, "{\"glint job\": \"%s\"}\n", job);
}

static int delete_commit_record(struct commit_objects *o, struct glint_error *error)
{
    char key[S3_KEY_BYTES];
    return remote_store_delete(&o->store, format_record_key(o, o->record.job, key), error);
}

static int finish_recorded_commit(struct commit_objects *o, struct glint_error *error)
{
    char key[S3_KEY_BYTES], success[64];
    const struct commit_record *record = &o->record;
    int r = run_commit_steps_in_threads(o, complete_part_upload, record->part_count, error);
    format_success_file(record->job, success, sizeof success);
    if (r == 0)
        r = remote_store_put(&o->store, format_output_object_key(o, COMMIT_SUCCESS, key),
                             (struct glint_slice){(const uint8_t *)success, strlen(success)},
                             error);
    if (r == 0)
        r = run_commit_steps_in_threads(o, delete_replaced_object, record->replaced_count, error);
    return r == 0 ? delete_commit_record(o, error) : r;
}

/* Reads the record of a job. Returns INPUT_NOT_FOUND without an error if it has gone. */
static int load_commit_record(struct commit_objects *o, const char *job, struct glint_error *error)
{
    char key[S3_KEY_BYTES], name[PATH_MAX + S3_KEY_BYTES];
    struct buffer text = {NULL, 0, 0};
    commit_record_fini(&o->record);
    format_record_key(o, job, key);
    text_format(name, sizeof name, "%s%s", o->url, key + strlen(o->path));
    int r = remote_store_get(&o->store, key, COMMIT_RECORD_BYTES_MAX, &text, error);
    if (r == 0) r = commit_record_decode(buffer_slice(&text), name, &o->record, error);
    if (r == 0 && strcmp(o->record.job, job) != 0)
        r = error_set(error, GLINT_E_OUTPUT_EXISTS, NULL, "%s: it is the record of another job",
                      name);
    buffer_fini(&text);
    return r;
}

static int finish_listed_commits(struct commit_objects *o, const struct contents *c,
                                 uint64_t *out_count, struct glint_error *error)
{
    int r = 0;
    for (uint64_t i = 0; i < c->pending_count && r == 0; i++) {
        r = load_commit_record(o, c->pending[i], error);
        if (r == 0) r = finish_recorded_commit(o, error);
        if (r == 0) ++*out_count;
        if (r == GLINT_E_INPUT_NOT_FOUND) r = 0; /* another process has finished it */
    }
    commit_record_fini(&o->record);
    return r;
}

/* ---- Uploads that no commit will complete */

struct upload_sweep {
    struct commit_objects *o;
    const char *job;                   /* of uploads to abort; NULL: of all jobs */
    char initiated_max[S3_TIME_BYTES]; /* ... that started at this time or before; "": any */
    bool keep_recorded;                /* not those of the record */
    uint64_t aborted;
    struct glint_error *error;
};

static bool is_upload_recorded(const struct commit_record *record, const char *name, const char *id)
{
    const size_t digits = strspn(name + sizeof PART_PREFIX - 1, "0123456789");
    int64_t number;
    return text_parse_i64((const uint8_t *)name + sizeof PART_PREFIX - 1, digits, &number) &&
           number >= 0 && (uint64_t)number < record->part_count &&
           strcmp(record->parts[number].name, name) == 0 &&
           strcmp(record->parts[number].upload.id, id) == 0;
}

static int abort_leftover_upload(void *arg, const struct s3_upload *u)
{
    struct upload_sweep *s = arg;
    const size_t before = strlen(s->o->path) + 1;
    const char *name = strlen(u->key) > before ? u->key + before : "", *job, *suffix;
    if (!commit_name_is_part(name, s->job) || remote_part_parse(name, &job, &suffix) == 0 ||
        job == NULL || (s->keep_recorded && is_upload_recorded(&s->o->record, name, u->upload_id)))
        return 0;
    if (s->initiated_max[0] != '\0' &&
        (u->initiated[0] == '\0' || strcmp(u->initiated, s->initiated_max) > 0))
        return 0;
    const int r = remote_store_abort_upload(&s->o->store, u->key, u->upload_id, s->error);
    s->aborted += r == 0;
    return r;
}

static int abort_leftover_uploads(struct upload_sweep *s)
{
    char prefix[S3_KEY_BYTES];
    return remote_store_list_uploads(&s->o->store,
                                     format_output_object_key(s->o, PART_PREFIX, prefix),
                                     abort_leftover_upload, s, s->error);
}

/* Of jobs that died. They are not visible, and a store may not list them: no reason to fail. */
static void abort_old_uploads(struct commit_objects *o)
{
    struct glint_error ignored = {.code = GLINT_OK};
    struct upload_sweep sweep = {.o = o, .error = &ignored};
    text_format_time(sweep.initiated_max, o->store.env->wall_ns(o->store.env) - UPLOADS_KEPT_NS);
    abort_leftover_uploads(&sweep);
}

/* ---- The steps of a job's output */

static int create_object_commit(struct commit_objects **out, struct env *env, const char *url,
                                struct glint_error *error)
{
    struct commit_objects *o = *out = mem_zalloc(sizeof *o);
    if (o == NULL) return error_no_memory(error);
    size_t size = strlen(url);
    while (size > 0 && url[size - 1] == '/') size--;
    bool fits = text_format(o->url, sizeof o->url, "%.*s", (int)size, url);
    o->path = fits ? remote_url_split(o->url).path : "";
    if (*o->path == '/') o->path++;
    fits = fits && strlen(o->path) + 1 + COMMIT_NAME_BYTES < S3_KEY_BYTES / 2;
    if (!fits || *o->path == '\0')
        return error_set(error, GLINT_E_OUTPUT_CREATE,
                         fits ? "name a directory in the bucket" : "use a shorter path",
                         "%s cannot be an output", url);
    return remote_store_init(&o->store, env, o->url, 0, error);
}

static void free_object_commit(struct commit_objects *o)
{
    commit_record_fini(&o->record);
    mem_free(o);
}

/* Finishes the commits of other jobs. Each round meets those that were started in the one before;
 * a record that is listed in all of them, and cannot be read, is the listing's fault. */
static int finish_pending_and_check_output(struct commit_objects *o, struct glint_error *error)
{
    struct contents c;
    uint64_t finished = 0;
    int r = list_output_objects(o, false, &c, error);
    for (unsigned i = 0; r == 0 && c.pending_count > 0 && i < FINISH_ROUNDS; i++) {
        r = finish_listed_commits(o, &c, &finished, error);
        output_contents_fini(&c);
        if (r == 0) r = list_output_objects(o, false, &c, error);
    }
    if (r == 0 && c.pending_count > 0)
        r = error_set(error, GLINT_E_INPUT_PENDING,
                      "run the job again when no other job writes there",
                      "%s: commits of other jobs are listed there, after %u that were finished",
                      o->url, (unsigned)finished);
    if (r == 0)
        r = check_output_may_be_written(
            &c, finished > 0 ? "exists: an earlier job's commit was finished now" : "exists",
            error);
    output_contents_fini(&c);
    return r;
}

int commit_objects_open(struct commit_objects **out, struct env *env, const char *url,
                        bool overwrite, uint64_t job, char *attempts, size_t attempts_capacity,
                        struct glint_error *error)
{
    int r = create_object_commit(out, env, url, error);
    struct commit_objects *o = *out;
    *out = NULL;
    if (o == NULL) return r;
    o->overwrite = overwrite;
    if (r == 0) r = finish_pending_and_check_output(o, error);
    if (r == 0) {
        abort_old_uploads(o);
        text_format(o->record.job, sizeof o->record.job, "%016" PRIx64, job);
        if (!text_format(attempts, attempts_capacity, "%s/%s", o->url, o->record.job))
            r = error_set(error, GLINT_E_OUTPUT_CREATE, "use a shorter path", "%s is too long",
                          url);
    }
    if (r == 0)
        *out = o;
    else
        free_object_commit(o);
    return r;
}

int commit_objects_add_part(struct commit_objects *o, const char *part, struct unpacker *uploads,
                            struct glint_error *error)
{
    char attempts[PATH_MAX], url[PATH_MAX];
    struct remote_upload unpacked;
    assert(o->state == OBJECTS_OPEN);
    const char *name = NULL;
    if (text_format(attempts, sizeof attempts, "%s/%s", o->url, o->record.job) &&
        remote_format_part_url(attempts, part, url, sizeof url))
        name = url + strlen(o->url) + 1;
    if (name == NULL || !commit_name_is_part(name, o->record.job))
        return error_set(error, GLINT_E_PROTOCOL, NULL, "a task returned an invalid part name");
    int r = remote_upload_unpack(uploads, &unpacked, error);
    if (r != 0) return r;
    r = commit_record_add_part(&o->record, name, &unpacked, error);
    mem_free(unpacked.parts);
    return r;
}

void commit_objects_complete(struct commit_objects *o)
{
    struct glint_error ignored = {.code = GLINT_OK};
    struct upload_sweep sweep = {
        .o = o, .job = o->record.job, .keep_recorded = true, .error = &ignored};
    assert(o->state == OBJECTS_OPEN);
    abort_leftover_uploads(&sweep);
}

/* Returns 0 if another process has not written there meanwhile. */
static int recheck_output(struct commit_objects *o, struct glint_error *error)
{
    struct contents c;
    int r = list_output_objects(o, o->overwrite, &c, error);
    if (r == 0 && c.pending_count > 0)
        r = error_set(error, GLINT_E_OUTPUT_EXISTS, "run one job at a time for an output",
                      "%s: another job commits its output there", o->url);
    if (r == 0) r = check_output_may_be_written(&c, "appeared while the job ran", error);
    output_contents_fini(&c);
    return r;
}

int commit_objects_start(struct commit_objects *o, struct glint_error *error)
{
    char key[S3_KEY_BYTES];
    struct buffer text = {NULL, 0, 0};
    assert(o->state == OBJECTS_OPEN);
    int r = recheck_output(o, error);
    if (r == 0) r = commit_record_encode(&o->record, &text, error);
    if (r == 0 && text.size > COMMIT_RECORD_BYTES_MAX)
        r = error_set(error, GLINT_E_OUTPUT_CREATE, "use fewer partitions",
                      "%s: the commit record has more than %" PRIu64 " bytes", o->url,
                      COMMIT_RECORD_BYTES_MAX);
    if (r == 0) {
        o->state = OBJECTS_STARTED; /* also if it fails: the store may have written it */
        r = remote_store_put(&o->store, format_record_key(o, o->record.job, key),
                             buffer_slice(&text), error);
    }
    buffer_fini(&text);
    if (r != 0 && o->state == OBJECTS_STARTED) commit_objects_roll_back(o);
    return r;
}

bool commit_objects_roll_back(struct commit_objects *o)
{
    struct glint_error ignored = {.code = GLINT_OK};
    assert(o->state == OBJECTS_STARTED);
    if (delete_commit_record(o, &ignored) != 0) return false;
    o->state = OBJECTS_OPEN;
    return true;
}

int commit_objects_finish(struct commit_objects *o, struct glint_error *error)
{
    struct glint_error problem = {.code = GLINT_OK};
    assert(o->state == OBJECTS_STARTED);
    if (finish_recorded_commit(o, &problem) == 0) {
        o->state = OBJECTS_FINISHED;
        return 0;
    }
    char hint[sizeof problem.hint];
    if (!text_format(hint, sizeof hint, "finish it with: glint clean --finish %s", o->url) ||
        problem.hint[0] != '\0')
        memcpy(hint, problem.hint, sizeof hint);
    return error_set(error, problem.code, hint, "%s", problem.cause);
}

bool commit_objects_destroy(struct commit_objects *o)
{
    struct glint_error problem = {.code = GLINT_OK};
    if (o == NULL) return true;
    int r = o->state == OBJECTS_STARTED ? GLINT_E_OUTPUT_IO : 0;
    if (o->state == OBJECTS_OPEN) {
        struct upload_sweep sweep = {.o = o, .job = o->record.job, .error = &problem};
        r = run_commit_steps_in_threads(o, abort_part_upload, o->record.part_count, &problem);
        if (r == 0) r = abort_leftover_uploads(&sweep);
    }
    free_object_commit(o);
    return r == 0;
}

/* ---- glint clean */

/* Whether _SUCCESS says that the output of the record's job is complete. */
static int read_success_of_job(struct commit_objects *o, bool *out, struct glint_error *error)
{
    char key[S3_KEY_BYTES], success[64];
    struct buffer text = {NULL, 0, 0};
    const int r = remote_store_get(&o->store, format_output_object_key(o, COMMIT_SUCCESS, key),
                                   COMMIT_RECORD_BYTES_MAX, &text, error);
    format_success_file(o->record.job, success, sizeof success);
    *out = r == 0 && text.size == strlen(success) && memcmp(text.data, success, text.size) == 0;
    buffer_fini(&text);
    return r == GLINT_E_INPUT_NOT_FOUND ? 0 : r;
}

/* Removes what the record's job has written. */
static int undo_recorded_commit(struct commit_objects *o, struct glint_error *error)
{
    const int r = run_commit_steps_in_threads(o, abort_or_delete_part, o->record.part_count, error);
    return r == 0 ? delete_commit_record(o, error) : r;
}

static int finish_or_undo_commit(struct commit_objects *o, const char *job, bool finish,
                                 struct commit_objects_left *out, struct glint_error *error)
{
    int r = load_commit_record(o, job, error);
    if (r == GLINT_E_INPUT_NOT_FOUND) return 0;
    if (r == 0 && !finish) r = read_success_of_job(o, &finish, error);
    if (r != 0) return r;
    r = finish ? finish_recorded_commit(o, error) : undo_recorded_commit(o, error);
    if (r == 0) ++*(finish ? &out->finished : &out->removed);
    return r;
}

int commit_objects_clean(struct env *env, const char *url, bool finish,
                         struct commit_objects_left *out, struct glint_error *error)
{
    struct commit_objects *o;
    struct contents c = {.pending = NULL};
    memset(out, 0, sizeof *out);
    int r = create_object_commit(&o, env, url, error);
    if (o == NULL) return r;
    if (r == 0) r = list_output_objects(o, false, &c, error);
    for (uint64_t i = 0; i < c.pending_count && r == 0; i++)
        r = finish_or_undo_commit(o, c.pending[i], finish, out, error);
    struct upload_sweep sweep = {.o = o, .error = error};
    if (r == 0) r = abort_leftover_uploads(&sweep);
    out->aborted = sweep.aborted;
    output_contents_fini(&c);
    free_object_commit(o);
    return r;
}
