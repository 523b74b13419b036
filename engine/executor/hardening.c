/* /proc/self/oom_score_adj is inherited, so the executor adds to the value that an administrator
 * chose for the daemon; raising it needs no privilege. A step of 200 weighs as much as a fifth of
 * the available memory, and a daemon uses a few MiB. */
#include "engine/executor/hardening.h"

#include "engine/base/log.h"
#include "engine/base/text.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#define OOM_FILE  "/proc/self/oom_score_adj"
#define OOM_RAISE 200
#define OOM_MAX   1000

void set_no_new_privileges(void)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0)
        log_line(LOG_WARN, NULL, "cannot set no_new_privs: %s", strerror(errno));
}

static int oom_score_raise(struct env *env)
{
    char text[TEXT_NUMBER_MAX];
    int64_t adjust, n;
    int file = env->open(env, ENV_CWD, OOM_FILE, ENV_READ);
    if (file < 0) return file;
    n = env_read_full(env, file, text, sizeof text - 1, 0);
    env->close(env, file);
    if (n < 0) return (int)n;
    text[n] = '\0';
    if (!text_parse_i64((const uint8_t *)text, strcspn(text, "\n"), &adjust)) return -EINVAL;
    adjust = adjust + OOM_RAISE < OOM_MAX ? adjust + OOM_RAISE : OOM_MAX;
    file = env->open(env, ENV_CWD, OOM_FILE, ENV_APPEND);
    if (file < 0) return file;
    int r = env_write_all(env, file, text, text_format_i64(text, adjust));
    env->close(env, file);
    return r;
}

void raise_oom_score(struct env *env)
{
    int r = oom_score_raise(env);
    if (r != 0) log_line(LOG_WARN, NULL, "cannot raise %s: %s", OOM_FILE, strerror(-r));
}
