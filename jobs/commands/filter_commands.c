/* Replies are those of RedisBloom 2.8.2 in Valkey 9.1.2, so that clients need no change: a filter
 * that does not exist has no member, BF.INFO of it is an error. */
#include "jobs/commands/filter_commands.h"

#include "jobs/bloom/id_type.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct request {
    struct filter_service *service;
    struct filter_client *client;
    const uint8_t *data;
    const struct resp_word *words;
    uint32_t count;
    struct resp_reply *reply;
};

struct command {
    const char *name; /* lower case */
    uint32_t words_min, words_max;
    bool before_password; /* may be sent before the password */
    bool has_key;
    void (*run)(const struct request *q);
};

static const struct command commands[];

static struct glint_slice word(const struct request *q, uint32_t i)
{
    assert(i < q->count);
    return (struct glint_slice){q->data + q->words[i].offset, q->words[i].size};
}

/* Whatever the case of its letters. */
static bool is_request_word(const struct request *q, uint32_t i, const char *text)
{
    const struct glint_slice w = word(q, i);
    return w.size == strlen(text) && strncasecmp((const char *)w.data, text, w.size) == 0;
}

static void reply_error(const struct request *q, const char *text)
{
    q->service->counts.errors++;
    resp_error(q->reply, "%s", text);
}

static void reply_bad_word_error(const struct request *q, const char *what, uint32_t i)
{
    const struct glint_slice w = word(q, i);
    q->service->counts.errors++;
    resp_error(q->reply, "ERR %s '%.*s'", what, (int)(w.size < 128 ? w.size : 128),
               (const char *)w.data);
}

/* ---- The password */

/* In a time that does not depend on where they differ. */
static bool is_password(const char *password, struct glint_slice given)
{
    const size_t size = strlen(password);
    unsigned char difference = given.size != size;
    for (size_t i = 0; i < size; i++)
        difference |=
            (unsigned char)(password[i] ^ given.data[given.size > 0 ? i % given.size : 0]);
    return difference == 0;
}

/* The words at `user` and after it: default, the only user, and the password. */
static bool authenticate(const struct request *q, uint32_t user, uint32_t password)
{
    const char *wanted = q->service->password;
    const bool right = (user == 0 || is_request_word(q, user, "default")) &&
                       (wanted == NULL || is_password(wanted, word(q, password)));
    if (!right)
        reply_error(q, "WRONGPASS invalid username-password pair or user is disabled.");
    else
        q->client->authenticated = true;
    return right;
}

static void run_auth(const struct request *q)
{
    if (q->count == 2 && q->service->password == NULL)
        reply_error(q, "ERR this server has no password");
    else if (authenticate(q, q->count == 3 ? 1 : 0, q->count - 1))
        resp_status(q->reply, "OK");
}

/* ---- The connection */

static bool set_name(const struct request *q, uint32_t i)
{
    const struct glint_slice w = word(q, i);
    bool valid = w.size < CLIENT_NAME_MAX;
    for (uint64_t at = 0; at < w.size && valid; at++) valid = w.data[at] > ' ' && w.data[at] < 127;
    if (!valid) {
        reply_error(q, "ERR a name of a client has at most 63 characters, and no spaces");
        return false;
    }
    memcpy(q->client->name, w.data, w.size);
    q->client->name[w.size] = '\0';
    return true;
}

static void put_hello(const struct request *q)
{
    struct resp_reply *r = q->reply;
    r->version = q->client->version;
    resp_map(r, 7);
    resp_text(r, "server");
    resp_text(r, "glint");
    resp_text(r, "version");
    resp_text(r, GLINT_VERSION);
    resp_text(r, "proto");
    resp_number(r, q->client->version);
    resp_text(r, "id");
    resp_number(r, (int64_t)q->client->id);
    resp_text(r, "mode");
    resp_text(r, "standalone");
    resp_text(r, "role");
    resp_text(r, "master");
    resp_text(r, "modules");
    resp_array(r, 0);
}

static void run_hello(const struct request *q)
{
    unsigned version = q->client->version;
    uint32_t at = 1, name = 0;
    if (q->count > 1) {
        if (!is_request_word(q, 1, "2") && !is_request_word(q, 1, "3")) {
            reply_error(q, "NOPROTO this server speaks versions 2 and 3 of the protocol");
            return;
        }
        version = word(q, 1).data[0] == '3' ? 3 : 2;
        at = 2;
    }
    while (at < q->count) {
        if (is_request_word(q, at, "auth") && at + 2 < q->count) {
            if (!authenticate(q, at + 1, at + 2)) return;
            at += 3;
        } else if (is_request_word(q, at, "setname") && at + 1 < q->count) {
            name = at + 1;
            at += 2;
        } else {
            reply_bad_word_error(q, "HELLO has no such option, or not so many words:", at);
            return;
        }
    }
    if (!q->client->authenticated) {
        reply_error(q, "NOAUTH send the password: HELLO 3 AUTH default PASSWORD");
        return;
    }
    if (name > 0 && !set_name(q, name)) return;
    q->client->version = version;
    put_hello(q);
}

static void run_ping(const struct request *q)
{
    const struct glint_slice w = word(q, q->count - 1);
    if (q->count == 1)
        resp_status(q->reply, "PONG");
    else
        resp_bulk(q->reply, w.data, w.size);
}

static void run_quit(const struct request *q)
{
    q->client->quits = true;
    resp_status(q->reply, "OK");
}

static void run_reset(const struct request *q)
{
    q->client->version = q->reply->version = 2;
    q->client->name[0] = '\0';
    q->client->authenticated = q->service->password == NULL;
    resp_status(q->reply, "RESET");
}

static void run_select(const struct request *q)
{
    if (is_request_word(q, 1, "0"))
        resp_status(q->reply, "OK");
    else
        reply_error(q, "ERR DB index is out of range: there is only 0");
}

static void run_client(const struct request *q)
{
    if (is_request_word(q, 1, "setname") && q->count == 3) {
        if (set_name(q, 2)) resp_status(q->reply, "OK");
    } else if (is_request_word(q, 1, "getname") && q->count == 2) {
        if (q->client->name[0] == '\0')
            resp_null(q->reply);
        else
            resp_text(q->reply, q->client->name);
    } else if (is_request_word(q, 1, "id") && q->count == 2) {
        resp_number(q->reply, (int64_t)q->client->id);
    } else if (is_request_word(q, 1, "setinfo") && q->count == 4) {
        resp_status(q->reply, "OK"); /* the client's library and its version */
    } else {
        reply_bad_word_error(q, "CLIENT has no such subcommand, or not so many words:", 1);
    }
}

/* ---- Filters */

static const struct table_filter *find_filter_of_request(const struct request *q)
{
    const struct glint_slice key = word(q, 1);
    return filter_table_find(q->service->table, key.data, key.size);
}

/* Returns 1, 0, or -1 after an error. */
static int look_up_typed_value(const struct request *q, const struct table_filter *f, uint32_t i)
{
    const struct glint_slice text = word(q, i);
    const char *wrong;
    char name[BLOOM_ID_NAME_MAX];
    const int hit = filter_table_contains_text(f, text, &wrong);
    if (hit >= 0) return hit;
    if (wrong == NULL) {
        reply_error(q, "ERR out of memory");
        return -1;
    }
    bloom_id_type_name(f->filter.params.id_type, name);
    q->service->counts.errors++;
    resp_error(q->reply, "ERR the id '%.*s' is no %s: %s", (int)(text.size < 128 ? text.size : 128),
               (const char *)text.data, name, wrong);
    return -1;
}

/* Looks up at most TABLE_IDS_MAX words. Returns false after an error. */
static bool look_up_words(const struct request *q, const struct table_filter *f, uint32_t first,
                          uint32_t count, uint8_t *out_hit)
{
    uint32_t start[TABLE_IDS_MAX], end[TABLE_IDS_MAX];
    assert(count <= TABLE_IDS_MAX);
    memset(out_hit, 0, count);
    if (f == NULL) return true;
    for (uint32_t i = 0; i < count && f->filter.params.id_type != 0; i++) {
        const int hit = look_up_typed_value(q, f, first + i);
        if (hit < 0) return false;
        out_hit[i] = (uint8_t)hit;
    }
    if (f->filter.params.id_type != 0) return true;
    for (uint32_t i = 0; i < count; i++) {
        start[i] = (uint32_t)q->words[first + i].offset;
        end[i] = start[i] + (uint32_t)q->words[first + i].size;
    }
    filter_table_contains_many(f, q->data, start, end, count, out_hit);
    return true;
}

/* Looks up the words from the third on; a key without a filter has no ids. An id that is none makes
 * the whole reply an error. */
static void reply_with_look_ups(const struct request *q, bool array)
{
    const struct table_filter *f = find_filter_of_request(q);
    const uint64_t before = q->reply->out.size;
    uint8_t hit[TABLE_IDS_MAX];
    if (array) resp_array(q->reply, q->count - 2);
    for (uint32_t count, at = 2; at < q->count; at += count) {
        count = q->count - at < TABLE_IDS_MAX ? q->count - at : TABLE_IDS_MAX;
        const uint64_t so_far = q->reply->out.size;
        if (!look_up_words(q, f, at, count, hit)) {
            struct buffer *out = &q->reply->out;
            memmove(out->data + before, out->data + so_far, out->size - so_far);
            out->size -= so_far - before;
            return;
        }
        q->service->counts.lookups += count;
        for (uint32_t i = 0; i < count; i++) q->service->counts.hits += hit[i];
        resp_bools(q->reply, hit, count);
    }
}

static void run_exists(const struct request *q)
{
    reply_with_look_ups(q, false);
}

static void run_many_exist(const struct request *q)
{
    reply_with_look_ups(q, true);
}

/* How many ids it has, by its bits. */
static int64_t count_ids(const struct table_filter *f)
{
    const double n = bloom_ids_estimate(&f->filter.params, f->bits_set);
    return isfinite(n) && n < 9e18 ? (int64_t)(n + 0.5) : INT64_MAX;
}

static void run_card(const struct request *q)
{
    const struct table_filter *f = find_filter_of_request(q);
    resp_number(q->reply, f == NULL ? 0 : count_ids(f));
}

static void reply_with_filter_property(struct resp_reply *r, const struct table_filter *f,
                                       unsigned i)
{
    switch (i) {
    case 0: resp_number(r, (int64_t)f->filter.params.n); break;
    case 1: resp_number(r, (int64_t)bloom_bytes(f->filter.params.m)); break;
    case 2: resp_number(r, 1); break;
    case 3: resp_number(r, count_ids(f)); break;
    default: resp_null(r); break; /* it does not expand */
    }
}

static void run_info_of_filter(const struct request *q)
{
    static const struct {
        const char *word, *name;
    } fields[] = {{"capacity", "Capacity"},
                  {"size", "Size"},
                  {"filters", "Number of filters"},
                  {"items", "Number of items inserted"},
                  {"expansion", "Expansion rate"}};
    const struct table_filter *f = find_filter_of_request(q);
    const unsigned count = sizeof fields / sizeof fields[0];
    unsigned one = 0;
    while (q->count == 3 && one < count && !is_request_word(q, 2, fields[one].word)) one++;
    if (f == NULL || one == count) {
        reply_error(q, f == NULL ? "ERR not found" : "ERR there is no such information");
        return;
    }
    if (q->count == 2) {
        resp_map(q->reply, count);
    } else if (q->reply->version == 3) {
        resp_map(q->reply, 1);
    } else {
        resp_array(q->reply, 1);
        reply_with_filter_property(q->reply, f, one);
        return;
    }
    for (unsigned i = q->count == 3 ? one : 0; i < (q->count == 3 ? one + 1 : count); i++) {
        resp_status(q->reply, fields[i].name);
        reply_with_filter_property(q->reply, f, i);
    }
}

static void refuse_write(const struct request *q)
{
    reply_error(
        q, "READONLY the filters are only read: build new ones, and send SIGHUP to the server");
}

/* ---- The server */

static void run_info(const struct request *q)
{
    const struct filter_service *s = q->service;
    const struct filter_counts *n = &s->counts;
    char text[2048];
    const int size = snprintf(
        text, sizeof text,
        "# Server\r\nglint_version:" GLINT_VERSION "\r\nuptime_in_seconds:%" PRIu64
        "\r\n\r\n# Clients\r\nconnected_clients:%" PRIu32
        "\r\n\r\n# Stats\r\ntotal_connections_received:%" PRIu64 "\r\nrejected_connections:%" PRIu64
        "\r\nfailed_tls_handshakes:%" PRIu64 "\r\ntotal_commands_processed:%" PRIu64
        "\r\ntotal_error_replies:%" PRIu64 "\r\nlookups:%" PRIu64 "\r\nhits:%" PRIu64
        "\r\n\r\n# Filters\r\nfilters:%" PRIu64 "\r\nbytes:%" PRIu64 "\r\nloaded_unix_time:%" PRId64
        "\r\nswaps:%" PRIu64 "\r\nfailed_swaps:%" PRIu64 "\r\n",
        s->uptime_s, n->clients, n->connections, n->rejected, n->handshakes_failed, n->requests,
        n->errors, n->lookups, n->hits, s->table->count, s->table->maps.bytes, s->loaded_s,
        n->swaps, n->failed_swaps);
    assert(size > 0 && (size_t)size < sizeof text);
    resp_bulk(q->reply, text, (uint64_t)size);
}

static void reply_with_command_spec(struct resp_reply *r, const struct command *c)
{
    const int key = c->has_key;
    const int64_t least = c->words_min;
    resp_array(r, 10);
    resp_text(r, c->name);
    resp_number(r, c->words_min == c->words_max ? least : -least);
    resp_set(r, 2);
    resp_status(r, c->run == refuse_write ? "write" : "readonly");
    resp_status(r, "fast");
    for (int i = 0; i < 3; i++) resp_number(r, key); /* the first, the last, and each of them */
    resp_set(r, 0);                                  /* no categories of access */
    resp_array(r, 0);                                /* no hints */
    resp_set(r, 0);                                  /* no other specification of its keys */
    resp_array(r, 0);                                /* no subcommands */
}

static const struct command *find_command(const struct request *q, uint32_t i)
{
    const struct command *c = commands;
    while (c->name != NULL && !is_request_word(q, i, c->name)) c++;
    return c->name == NULL ? NULL : c;
}

static uint64_t count_commands(void)
{
    uint64_t count = 0;
    while (commands[count].name != NULL) count++;
    return count;
}

static void run_command(const struct request *q)
{
    const bool info = q->count > 2 && is_request_word(q, 1, "info");
    if (q->count == 2 && is_request_word(q, 1, "count")) {
        resp_number(q->reply, (int64_t)count_commands());
    } else if (q->count > 1 && is_request_word(q, 1, "docs")) {
        resp_map(q->reply, 0);
    } else if (q->count == 1 || info || (q->count == 2 && is_request_word(q, 1, "info"))) {
        resp_array(q->reply, info ? q->count - 2 : count_commands());
        for (const struct command *c = commands; c->name != NULL && !info; c++)
            reply_with_command_spec(q->reply, c);
        for (uint32_t i = 2; i < q->count && info; i++) {
            const struct command *c = find_command(q, i);
            if (c == NULL)
                resp_null(q->reply);
            else
                reply_with_command_spec(q->reply, c);
        }
    } else {
        reply_bad_word_error(q, "COMMAND has no such subcommand, or not so many words:", 1);
    }
}

static const struct command commands[] = {
    {"bf.exists", 3, 3, false, true, run_exists},
    {"bf.mexists", 3, UINT32_MAX, false, true, run_many_exist},
    {"bf.info", 2, 3, false, true, run_info_of_filter},
    {"bf.card", 2, 2, false, true, run_card},
    {"bf.add", 3, 3, false, true, refuse_write},
    {"bf.madd", 3, UINT32_MAX, false, true, refuse_write},
    {"bf.insert", 3, UINT32_MAX, false, true, refuse_write},
    {"bf.reserve", 4, UINT32_MAX, false, true, refuse_write},
    {"bf.loadchunk", 4, 4, false, true, refuse_write},
    {"ping", 1, 2, false, false, run_ping},
    {"echo", 2, 2, false, false, run_ping},
    {"hello", 1, UINT32_MAX, true, false, run_hello},
    {"auth", 2, 3, true, false, run_auth},
    {"select", 2, 2, false, false, run_select},
    {"client", 2, UINT32_MAX, false, false, run_client},
    {"command", 1, UINT32_MAX, false, false, run_command},
    {"info", 1, UINT32_MAX, false, false, run_info},
    {"reset", 1, 1, true, false, run_reset},
    {"quit", 1, UINT32_MAX, true, false, run_quit},
    {NULL, 0, 0, false, false, NULL}};

void filter_command_run(struct filter_service *s, struct filter_client *c, const uint8_t *data,
                        const struct resp_parser *request, struct resp_reply *reply)
{
    const struct request q = {s, c, data, request->words, request->count, reply};
    assert(request->count > 0 && (c->version == 2 || c->version == 3));
    reply->version = c->version;
    s->counts.requests++;
    const struct command *command = find_command(&q, 0);
    assert(c->authenticated || s->password != NULL);
    if (!c->authenticated && (command == NULL || !command->before_password))
        reply_error(&q, "NOAUTH Authentication required.");
    else if (command == NULL)
        reply_bad_word_error(&q, "unknown command", 0);
    else if (q.count < command->words_min || q.count > command->words_max)
        reply_bad_word_error(&q, "wrong number of arguments for command", 0);
    else
        command->run(&q);
}
