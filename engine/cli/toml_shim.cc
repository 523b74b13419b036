/* toml++ behind plain C. The library's code is compiled here, into this one object: its shared
 * library would cost every start of the program 0.6 ms for symbols that only a cluster's file
 * needs. */
#include "engine/cli/toml_shim.h"

#define TOML_HEADER_ONLY       1
#define TOML_EXCEPTIONS        1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

extern "C" {
#include "engine/base/mem.h"
}

namespace {

/* What the file may not hold although it is TOML. */
struct refusal {
    toml_place at;
    const char *reason;
};

toml_place place_of(const toml::source_region &source)
{
    return {source.begin.line, source.begin.column};
}

void *allocate(arena *memory, uint64_t size)
{
    void *block = arena_alloc(memory, size);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

const char *keep_text(arena *memory, std::string_view text, toml_place at)
{
    if (text.find('\0') != text.npos) throw refusal{at, "a text may not hold the character 0"};
    char *copy = static_cast<char *>(allocate(memory, text.size() + 1));
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    return copy;
}

toml_value *make_items(arena *memory, size_t count)
{
    if (count == 0) return nullptr;
    void *block = allocate(memory, count * sizeof(toml_value));
    std::memset(block, 0, count * sizeof(toml_value));
    return static_cast<toml_value *>(block);
}

bool stands_before(const toml_value &a, const toml_value &b)
{
    if (a.key_at.line != b.key_at.line) return a.key_at.line < b.key_at.line;
    return a.key_at.column < b.key_at.column;
}

/* Calls itself at most TOML_DEPTH_MAX deep. */
void convert(arena *memory, const toml::node &node, unsigned depth, toml_value *out)
{
    out->at = place_of(node.source());
    if (const toml::value<std::string> *text = node.as_string()) {
        out->kind = TOML_TEXT;
        out->text = keep_text(memory, text->get(), out->at);
    } else if (const toml::value<int64_t> *integer = node.as_integer()) {
        out->kind = TOML_INTEGER;
        out->integer = integer->get();
    } else if (const toml::value<bool> *truth = node.as_boolean()) {
        out->kind = TOML_BOOL;
        out->truth = truth->get();
    } else if (const toml::array *array = node.as_array()) {
        out->kind = TOML_ARRAY;
        if (depth == TOML_DEPTH_MAX) return;
        out->items = make_items(memory, array->size());
        for (const toml::node &item : *array)
            convert(memory, item, depth + 1, &out->items[out->count++]);
    } else if (const toml::table *table = node.as_table()) {
        out->kind = TOML_TABLE;
        if (depth == TOML_DEPTH_MAX) return;
        out->items = make_items(memory, table->size());
        for (auto &&[key, item] : *table) {
            toml_value *value = &out->items[out->count++];
            value->key_at = place_of(key.source());
            value->key = keep_text(memory, key.str(), value->key_at);
            convert(memory, item, depth + 1, value);
        }
        std::sort(out->items, out->items + out->count, stands_before);
    } else {
        out->kind = node.is_floating_point() ? TOML_REAL : TOML_DATE;
    }
}

/* The library's sentences without their opening, "Error while parsing key-value pair: ". */
std::string_view reason_of(const toml::parse_error &error)
{
    constexpr std::string_view opening = "Error while parsing ", between = ": ";
    std::string_view reason = error.description();
    size_t at = reason.find(between);
    bool opens = reason.substr(0, opening.size()) == opening && at != reason.npos;
    return opens ? reason.substr(at + between.size()) : reason;
}

void describe(toml_failure *failure, toml_place at, std::string_view reason)
{
    failure->at = at;
    std::snprintf(failure->reason, sizeof failure->reason, "%.*s", static_cast<int>(reason.size()),
                  reason.data());
}

} // namespace

bool toml_read(arena *memory, const uint8_t *data, uint64_t size, toml_value *out,
               toml_failure *failure)
{
    if (!toml_scan(data, size, failure)) return false;
    try {
        std::memset(out, 0, sizeof *out);
        std::string_view text(reinterpret_cast<const char *>(data), size);
        toml::table table = toml::parse(text);
        convert(memory, table, 0, out);
        return true;
    } catch (const toml::parse_error &error) {
        describe(failure, place_of(error.source()), reason_of(error));
    } catch (const refusal &refused) {
        describe(failure, refused.at, refused.reason);
    } catch (const std::bad_alloc &) {
        failure->no_memory = true;
    } catch (const std::exception &error) {
        describe(failure, {0, 0}, error.what());
    } catch (...) {
        describe(failure, {0, 0}, "the parser gave up");
    }
    return false;
}
