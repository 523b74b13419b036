/* Open and close for operators whose whole state is one function call, and checks of operators. */
#include "engine/records/pack.h"
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

bool rdd_has_keys(struct glint_rdd *rdd, const char *call)
{
    if (rdd == NULL) return rdd_fail_null(call) != NULL;
    return rdd_is_pair(rdd) || rdd_fail(rdd, GLINT_E_PLAN_TYPE, "%s needs keys", call) != NULL;
}

bool rdd_has_single_elements(struct glint_rdd *rdd, const char *call)
{
    if (rdd == NULL) return rdd_fail_null(call) != NULL;
    return !rdd_is_pair(rdd) ||
           rdd_fail(rdd, GLINT_E_PLAN_TYPE, "%s needs single elements, not pairs", call) != NULL;
}

int op_check_params(const struct op_open *o, bool valid, const char *what)
{
    if (valid) return 0;
    return error_set(&o->task->error, GLINT_E_PROTOCOL, NULL, "cannot decode %s", what);
}

int run_packed_action(struct action *a, struct packer *params)
{
    a->params = buffer_slice(&params->out);
    const int r = params->failed ? error_no_memory(&a->rdd->g->error) : run_action_of_rdd(a);
    packer_fini(params);
    return r;
}
