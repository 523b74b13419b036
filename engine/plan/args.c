/* Named arguments of functions: the job packs them as a msgpack map, and a task looks them up by
 * name when it opens the function. */
#include "engine/data/msgpack_validate.h"
#include "engine/data/pack.h"
#include "engine/data/task.h"
#include "engine/plan/context.h"

#include <assert.h>
#include <string.h>

#define EXT_BROADCAST 1

const struct glint_function *registry_find_function(const struct glint_config *config,
                                                    const char *name)
{
    if (name == NULL) return NULL;
    for (const struct glint_module *const *m = config->modules; *m != NULL; m++) {
        for (const struct glint_function *const *f = (*m)->functions; *f != NULL; f++)
            if (strcmp((*f)->name, name) == 0) return *f;
    }
    return NULL;
}

const struct op *registry_find_op(const struct glint_config *config, const char *name)
{
    for (const struct op *const *op = config->ops; *op != NULL; op++)
        if (strcmp((*op)->name, name) == 0) return *op;
    return NULL;
}

struct glint_args *glint_args(struct glint *g)
{
    struct glint_args *args = context_alloc(g, sizeof *args);
    if (args == NULL) return NULL;
    args->g = g;
    args->next = g->args;
    g->args = args;
    return args;
}

/* Starts a pair. The packer takes over the buffer of the pairs so far; end_argument returns it.
 * False if the context already has an error: arguments are then ignored. */
static bool begin_argument(struct packer *p, struct glint_args *args, const char *name)
{
    if (args == NULL || context_failed(args->g)) return false;
    packer_init(p);
    p->out = args->pairs;
    pack_text(p, name);
    return true;
}

static void args_too_large(struct glint_args *args)
{
    error_set(&args->g->error, GLINT_E_PLAN_LIMIT, "broadcast large values",
              "the arguments of a function exceed %u bytes", (unsigned)ARGS_BYTES_MAX);
}

static void end_argument(struct packer *p, struct glint_args *args)
{
    assert(p->out.size >= args->pairs.size);
    args->pairs = p->out;
    args->count++;
    if (p->failed) error_no_memory(&args->g->error);
    if (args->pairs.size > ARGS_BYTES_MAX) args_too_large(args);
}

void glint_args_i64(struct glint_args *args, const char *name, int64_t value)
{
    struct packer p;
    if (!begin_argument(&p, args, name)) return;
    pack_i64(&p, value);
    end_argument(&p, args);
}

void glint_args_f64(struct glint_args *args, const char *name, double value)
{
    struct packer p;
    if (!begin_argument(&p, args, name)) return;
    pack_f64(&p, value);
    end_argument(&p, args);
}

void glint_args_bytes(struct glint_args *args, const char *name, const void *data, uint64_t size)
{
    struct packer p;
    if (args != NULL && size > ARGS_BYTES_MAX) args_too_large(args);
    if (!begin_argument(&p, args, name)) return;
    pack_bytes(&p, (struct glint_slice){data, size});
    end_argument(&p, args);
}

void glint_args_text(struct glint_args *args, const char *name, const char *text)
{
    glint_args_bytes(args, name, text, strlen(text));
}

void glint_args_broadcast(struct glint_args *args, const char *name, struct glint_broadcast *b)
{
    struct packer p;
    static_assert(sizeof b->id == 8, "a broadcast id is an ext of 8 bytes");
    if (b == NULL || !begin_argument(&p, args, name)) return;
    msgpack_pack_ext(&p.pk, sizeof b->id, EXT_BROADCAST);
    uint64_t id = __builtin_bswap64(b->id);
    msgpack_pack_ext_body(&p.pk, &id, sizeof id);
    end_argument(&p, args);
}

struct glint_slice args_encode(struct glint *g, const struct glint_args *args)
{
    struct packer p;
    packer_init(&p);
    msgpack_pack_map(&p.pk, args != NULL ? args->count : 0);
    if (args != NULL && !buffer_append(&p.out, args->pairs.data, args->pairs.size)) p.failed = true;
    struct glint_slice s = {NULL, 0};
    if (p.failed)
        error_no_memory(&g->error);
    else
        s = context_copy_slice(g, (struct glint_slice){p.out.data, p.out.size});
    packer_fini(&p);
    return s;
}

/* ---- Executor side. Each lookup parses the map again, which is fast enough because only `open`
 * looks arguments up. */

static int set_argument_missing(struct glint_task *task, const char *name, const char *wanted)
{
    return error_set(&task->error, GLINT_E_PLAN_ARGUMENT, NULL,
                     "argument \"%s\" (%s) is missing or has another type", name, wanted);
}

/* Returns false if the argument is missing. On true the caller must call
 * msgpack_unpacked_destroy. */
static bool find_argument(struct glint_task *task, const char *name, msgpack_unpacked *unpacked,
                          msgpack_object *out)
{
    uint64_t size = 0;
    msgpack_unpacked_init(unpacked);
    size_t at = 0;
    if (!msgpack_validate(task->args.data, task->args.size, &size) || size != task->args.size ||
        msgpack_unpack_next(unpacked, (const char *)task->args.data, task->args.size, &at) !=
            MSGPACK_UNPACK_SUCCESS ||
        unpacked->data.type != MSGPACK_OBJECT_MAP)
        goto missing;
    const msgpack_object_map *map = &unpacked->data.via.map;
    for (uint32_t i = 0; i < map->size; i++) {
        const msgpack_object *key = &map->ptr[i].key;
        if (key->type != MSGPACK_OBJECT_STR || key->via.str.size != strlen(name) ||
            memcmp(key->via.str.ptr, name, key->via.str.size) != 0)
            continue;
        *out = map->ptr[i].val;
        return true;
    }
missing:
    msgpack_unpacked_destroy(unpacked);
    return false;
}

int glint_arg_i64(struct glint_task *task, const char *name, int64_t *out)
{
    msgpack_unpacked unpacked;
    msgpack_object o;
    if (!find_argument(task, name, &unpacked, &o))
        return set_argument_missing(task, name, "an integer");
    bool fits = o.type == MSGPACK_OBJECT_NEGATIVE_INTEGER ||
                (o.type == MSGPACK_OBJECT_POSITIVE_INTEGER && o.via.u64 <= INT64_MAX);
    if (fits) *out = o.via.i64;
    msgpack_unpacked_destroy(&unpacked);
    return fits ? 0 : set_argument_missing(task, name, "an integer");
}

int glint_arg_f64(struct glint_task *task, const char *name, double *out)
{
    msgpack_unpacked unpacked;
    msgpack_object o;
    if (!find_argument(task, name, &unpacked, &o))
        return set_argument_missing(task, name, "a double");
    bool fits = o.type == MSGPACK_OBJECT_FLOAT64;
    if (fits) *out = o.via.f64;
    msgpack_unpacked_destroy(&unpacked);
    return fits ? 0 : set_argument_missing(task, name, "a double");
}

int glint_arg_slice(struct glint_task *task, const char *name, struct glint_slice *out)
{
    msgpack_unpacked unpacked;
    msgpack_object o;
    if (!find_argument(task, name, &unpacked, &o)) return set_argument_missing(task, name, "bytes");
    bool fits = o.type == MSGPACK_OBJECT_BIN;
    /* `unpacked` may own the object's bytes and frees them below: copy them into the task's
     * arena. */
    uint8_t *copy = fits ? task_alloc(task, o.via.bin.size + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, o.via.bin.ptr, o.via.bin.size);
        *out = (struct glint_slice){copy, o.via.bin.size};
    }
    msgpack_unpacked_destroy(&unpacked);
    if (!fits) return set_argument_missing(task, name, "bytes");
    return copy != NULL ? 0 : task->error.code;
}

int glint_arg_broadcast(struct glint_task *task, const char *name, struct glint_slice *out)
{
    msgpack_unpacked unpacked;
    msgpack_object o;
    if (!find_argument(task, name, &unpacked, &o))
        return set_argument_missing(task, name, "a broadcast");
    uint64_t id = 0;
    bool fits = o.type == MSGPACK_OBJECT_EXT && o.via.ext.type == EXT_BROADCAST &&
                o.via.ext.size == sizeof id;
    if (fits) memcpy(&id, o.via.ext.ptr, sizeof id);
    msgpack_unpacked_destroy(&unpacked);
    if (!fits) return set_argument_missing(task, name, "a broadcast");
    return task->broadcast(task->broadcast_arg, __builtin_bswap64(id), out) == 0
               ? 0
               : set_argument_missing(task, name, "a broadcast that was sent");
}
