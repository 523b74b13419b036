/* See match_filter.h. With sixteen bits per key about one key in fifty passes by chance. */
#include "engine/shuffle/match_filter.h"

#define KEYS_PER_WORD 4

bool match_filter_build(struct match_filter *f, const struct record_buffer *records)
{
    const struct sort_entry *at = record_buffer_entries(records);
    const uint64_t keys = record_buffer_count(records), words = keys / KEYS_PER_WORD + 1;
    assert(f->words == NULL);
    if (words > UINT32_MAX) return true; /* all keys may match */
    f->words = mem_zalloc(words * sizeof *f->words);
    if (f->words == NULL) return false;
    f->count = (uint32_t)words;
    for (const struct sort_entry *end = at + keys; at < end; at++) {
        const struct buffered_record record =
            record_buffer_get(records, sort_entry_reference(at));
        uint64_t bits, *word = match_filter_find(f, record.key, &bits);
        *word |= bits;
    }
    return true;
}

void match_filter_fini(struct match_filter *f)
{
    mem_free(f->words);
    f->words = NULL;
}

void match_filter_check_use(struct match_filter *f)
{
    if (f->passed > f->asked / 8 * 7) match_filter_fini(f);
}
