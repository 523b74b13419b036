/* Open and close for operators whose whole state is one function call. */
#include "ops/ops.h"

int function_op_open(void *state, const struct op_open *o)
{
    struct function_op_state *s = state;
    return function_call_open(&s->call, o->task, o->function, o->args);
}

void function_op_close(void *state)
{
    function_call_close(&((struct function_op_state *)state)->call);
}
