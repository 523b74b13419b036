/* sessions INPUT OUTPUT: the sessions of each user in a log of lines "USER TAB SECONDS TAB URL". A
 * session ends where the user's next event is more than --gap seconds later. Lines of the output
 * are USER TAB FIRST TAB LAST TAB EVENTS; those of a user are in order.
 *
 *     cc -O2 sessions.c $(pkg-config --cflags --libs glint) -o sessions
 *     ./sessions sessions --gap 1800 INPUT OUTPUT */
#include <glint/glint.h>

#include <inttypes.h>
#include <stdio.h>

static int parse_line(struct glint_task *task, void *state, const struct glint_record *line,
                      struct glint_emitter *out)
{
    struct glint_slice rest = line->value.bytes, user, seconds, url;
    int64_t time;
    if (!glint_next_field(&rest, '\t', &user) || !glint_next_field(&rest, '\t', &seconds) ||
        !glint_next_field(&rest, '\t', &url) || !glint_parse_i64(seconds, &time) || time < 0)
        return glint_bad_row(task, line->value.bytes, "not USER TAB SECONDS TAB URL");
    glint_emit_i64(out, user, time);
    return 0;
}
static const struct glint_function parse = GLINT_MAP(
    "sessions.parse", GLINT_ELEMENTS(GLINT_TEXT), GLINT_PAIRS(GLINT_TEXT, GLINT_I64), parse_line);

static int emit_time(struct glint_task *task, void *state, const struct glint_record *event,
                     struct glint_emitter *out)
{
    glint_emit(out, &(struct glint_record){.key = event->value});
    return 0;
}
static const struct glint_function by_time =
    GLINT_MAP("sessions.by_time", GLINT_PAIRS(GLINT_TEXT, GLINT_I64),
              GLINT_PAIRS(GLINT_I64, GLINT_NONE), emit_time);

struct session {
    int64_t gap; /* bound */
    int64_t first, last, events;
};

static int end_session(struct glint_task *task, void *state, const union glint_value *user,
                       struct glint_emitter *out)
{
    const struct session *s = state;
    char text[3 * 21];
    const int size = snprintf(text, sizeof text, "%" PRId64 "\t%" PRId64 "\t%" PRId64, s->first,
                              s->last, s->events);
    glint_emit(out, &(struct glint_record){.key = *user,
                                           .value.bytes = {(const uint8_t *)text, (uint64_t)size}});
    return 0;
}

static int begin_user(struct glint_task *task, void *state, const union glint_value *user)
{
    ((struct session *)state)->events = 0;
    return 0;
}

static int add_event(struct glint_task *task, void *state, const struct glint_record *event,
                     struct glint_emitter *out)
{
    struct session *s = state;
    const int64_t time = event->value.i64;
    if (s->events > 0 && time - s->last > s->gap) {
        end_session(task, state, &event->key, out);
        s->events = 0;
    }
    if (s->events++ == 0) s->first = time;
    s->last = time;
    return 0;
}
static const struct glint_function split =
    GLINT_GROUP("sessions.split", GLINT_PAIRS(GLINT_TEXT, GLINT_I64),
                GLINT_PAIRS(GLINT_TEXT, GLINT_TEXT), .begin_group = begin_user, .each = add_event,
                .end_group = end_session, .state_size = sizeof(struct session));

static int run(struct glint *g, const struct glint_job_args *args)
{
    const int64_t gap = glint_job_i64(g, args, "gap", 0, INT64_MAX);
    struct glint_rdd *events = glint_map(glint_text_file(g, args->positional[0]), &parse, NULL);
    /* The values of a group come in the order of the sort, one by one: a user can have any number
     * of events. */
    struct glint_rdd *users = glint_group_by_key(glint_sort_by(events, &by_time, NULL, true));
    struct glint_rdd *sessions =
        glint_flat_map_values(users, &split, glint_bind(g, &gap, sizeof gap));
    return glint_save_as_text_file(sessions, args->positional[1]);
}

static const struct glint_job_option options[] = {
    {"gap", "SECONDS", "1800", "longest time between two events of a session"}, {.name = NULL}};
GLINT_JOB(sessions, .summary = "find the sessions in a log", .positional = {"INPUT", "OUTPUT"},
          .outputs = {"OUTPUT"}, .options = options, .functions = {&parse, &by_time, &split},
          .run = run);

int main(int argc, char **argv)
{
    return glint_main(argc, argv, &sessions);
}
