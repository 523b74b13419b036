/* What operators share that do nothing but call one function. */
#include "ops/ops.h"

int call_op_open(void *state, const struct op_open *o)
{
    struct call_state *s = state;
    return call_open(&s->call, o->task, o->function, o->args);
}

void call_op_close(void *state)
{
    call_close(&((struct call_state *)state)->call);
}
