#include "engine/glint.h"

static int take_count(void *arg, const struct glint_record *record)
{
    assert(record->value.i64 > 0);
    return 0;
}
