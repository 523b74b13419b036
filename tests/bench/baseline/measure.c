/* measure CPUS COMMAND [ARG]... [--- CPUS COMMAND [ARG]...]...: starts all commands at the same
 * time, each bound to its CPUS ("0", "0,1", or "-" for any), and prints for each, when all have
 * exited,
 *
 *     seconds from the common start to its exit, peak memory in KiB, exit status (128 + signal)
 *
 * This is a separate small program because both numbers depend on the parent: starting a process
 * from a large interpreter takes longer, and its memory counts as the child's peak. */
#include "die.h"

#include <assert.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMMANDS_MAX = 16 };

struct command {
    char **argv; /* CPUS, then the command's arguments */
    pid_t pid;
    double seconds;
    long peak_kib;
    int status;
};

static double now(void)
{
    struct timespec time;
    int result = clock_gettime(CLOCK_MONOTONIC, &time);
    assert(result == 0);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void bind_to(const char *cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (strcmp(cpus, "-") == 0) return;
    for (const char *at = cpus; *at != '\0';) {
        char *end;
        CPU_SET(strtoul(at, &end, 10), &set);
        if (end == at) die("bad list of CPUs: %s", cpus);
        at = *end == ',' ? end + 1 : end;
    }
    if (sched_setaffinity(0, sizeof set, &set) != 0) die_errno(cpus);
}

static void start(struct command *command)
{
    command->pid = fork();
    if (command->pid < 0) die_errno("fork");
    if (command->pid > 0) return;
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        die_errno("/dev/null");
    bind_to(command->argv[0]);
    execvp(command->argv[1], command->argv + 1);
    die_errno(command->argv[1]);
}

static void wait_for_all(struct command *commands, int count, double begin)
{
    for (int ended = 0; ended < count; ended++) {
        struct rusage usage;
        int status;
        pid_t pid = wait4(-1, &status, 0, &usage);
        if (pid < 0) die_errno("wait");
        double seconds = now() - begin;
        for (int i = 0; i < count; i++) {
            if (commands[i].pid != pid) continue;
            commands[i].seconds = seconds;
            commands[i].peak_kib = usage.ru_maxrss;
            commands[i].status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
}

int main(int argc, char **argv)
{
    struct command commands[COMMANDS_MAX] = {{.argv = argv + 1}};
    int count = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "---") != 0) continue;
        if (count == COMMANDS_MAX) die("too many commands");
        argv[i] = NULL;
        commands[count++].argv = argv + i + 1;
    }
    for (int i = 0; i < count; i++)
        if (commands[i].argv[0] == NULL || commands[i].argv[1] == NULL)
            die("usage: measure CPUS COMMAND [ARG]... [--- CPUS COMMAND [ARG]...]...");
    double begin = now();
    assert(count >= 1 && count <= COMMANDS_MAX);
    for (int i = 0; i < count; i++) start(&commands[i]);
    wait_for_all(commands, count, begin);
    for (int i = 0; i < count; i++)
        printf("%.9f %ld %d\n", commands[i].seconds, commands[i].peak_kib, commands[i].status);
    return 0;
}
