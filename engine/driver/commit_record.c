/* See commit_record.h. JSON, so that people and other programs can read it where it is. */
#include "engine/driver/commit_record.h"

#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

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

int commit_record_add_part(struct commit_record *r, const char *name, struct remote_upload *upload,
                           struct glint_error *error)
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

int commit_record_add_replaced(struct commit_record *r, const char *name, struct glint_error *error)
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
static bool read_text(const json_t *value, char *out, size_t capacity)
{
    const char *text = json_string_value(value);
    return text != NULL && strlen(text) == json_string_length(value) && text[0] != '\0' &&
           text_format(out, capacity, "%s", text) && text_is_printable(out);
}

static const char *read_upload(const json_t *value, struct remote_upload *out, bool *out_of_memory)
{
    const json_t *size = json_object_get(value, "size"), *etags = json_object_get(value, "etags");
    const size_t count = json_array_size(etags);
    if (!read_text(json_object_get(value, "upload"), out->id, sizeof out->id))
        return "an upload has no id";
    if (!json_is_integer(size) || json_integer_value(size) < 0) return "a part has no size";
    if (count == 0 || count > S3_PARTS_MAX) return "a part has no etags, or too many";
    out->size = (uint64_t)json_integer_value(size);
    out->parts = mem_alloc(count * sizeof *out->parts);
    *out_of_memory = out->parts == NULL;
    if (*out_of_memory) return "";
    for (; out->part_count < count; out->part_count++) {
        char *etag = out->parts[out->part_count].etag;
        if (!read_text(json_array_get(etags, out->part_count), etag, sizeof out->parts->etag))
            return "an etag is no text";
    }
    return NULL;
}

static const char *read_part(const json_t *value, struct commit_record *out, bool *out_of_memory)
{
    char name[COMMIT_NAME_BYTES];
    struct remote_upload upload = {.size = 0};
    struct glint_error error = {.code = GLINT_OK};
    if (!read_text(json_object_get(value, "name"), name, sizeof name) ||
        !commit_name_is_part(name, out->job))
        return "a part has not the name of one of this job";
    const char *problem = read_upload(value, &upload, out_of_memory);
    if (problem == NULL && commit_record_add_part(out, name, &upload, &error) != 0) {
        *out_of_memory = true;
        problem = "";
    }
    mem_free(upload.parts);
    return problem;
}

static const char *read_members(const json_t *record, struct commit_record *out,
                                bool *out_of_memory)
{
    const json_t *parts = json_object_get(record, "parts");
    const json_t *replaced = json_object_get(record, "replaced");
    const json_t *version = json_object_get(record, "glint commit");
    struct glint_error error = {.code = GLINT_OK};
    char name[COMMIT_NAME_BYTES];
    if (!json_is_integer(version)) return "it is no commit record";
    if (json_integer_value(version) != COMMIT_RECORD_VERSION) return "a newer glint wrote it";
    if (!read_text(json_object_get(record, "job"), out->job, sizeof out->job) ||
        strspn(out->job, "0123456789abcdef") != REMOTE_JOB_DIGITS)
        return "it has no job";
    if (!json_is_array(parts) || !json_is_array(replaced)) return "a list is missing";
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const char *problem = read_part(json_array_get(parts, i), out, out_of_memory);
        if (problem != NULL) return problem;
    }
    for (size_t i = 0; i < json_array_size(replaced); i++) {
        if (!read_text(json_array_get(replaced, i), name, sizeof name) ||
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
    const char *problem =
        record != NULL ? read_members(record, out, &out_of_memory) : "it is no JSON";
    json_decref(record);
    if (problem == NULL) return 0;
    if (out_of_memory) return error_no_memory(error);
    return error_set(error, GLINT_E_OUTPUT_EXISTS, "remove it if no job of glint wrote it",
                     "%s: %s", name, problem);
}
