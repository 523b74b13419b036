/* Payloads of the frames that are not messages: small msgpack arrays. Decoders validate everything,
 * since input may be malicious; ids are numbers, never paths. */
#ifndef GLINT_NET_WIRE_H
#define GLINT_NET_WIRE_H

#include "engine/glint.h"
#include "engine/net/hello.h"
#include "engine/net/payload.h"
#include "engine/net/secret.h"

#define HOST_BYTES_MAX 256u

/* PING, a heartbeat on the control channel. Both sides send it; there is no response. */
struct ping {
    uint64_t sent_ns;       /* monotonic clock of the sender */
    uint64_t memory_bytes;  /* of an executor: resident memory */
    uint32_t tasks_running; /* of an executor */
};

/* REGISTER: the executor's first frame on the control channel. */
struct executor_registration {
    uint16_t port; /* for connections of other executors; the host is known to the driver */
    uint32_t slots;
    uint64_t memory_bytes; /* of the process */
};

/* EXECUTOR_ADDED: where to connect to an executor. */
struct executor_address {
    uint32_t executor; /* number in the job, never reused */
    char node[NAME_BYTES_MAX];
    char host[HOST_BYTES_MAX];
    uint16_t port;
    uint8_t incarnation[INCARNATION_BYTES];
};

/* A job, in CANCEL and CANCELLED. CANCEL has only one of the two: job 0, or an empty name. */
struct job_identity {
    uint64_t job;
    char name[NAME_BYTES_MAX]; /* of the job, for `status` and `cancel` */
};

/* REQUEST_EXECUTOR: the daemon starts an executor process, which connects to the driver. */
struct executor_request {
    struct job_identity job;
    char driver_host[HOST_BYTES_MAX]; /* where the process connects to */
    uint16_t driver_port;
    uint8_t incarnation[INCARNATION_BYTES]; /* of the process, by which the driver knows it */
    struct secret key;                      /* of the job; zeros without TLS */
};

/* PROGRAM: the driver's executable. */
struct program_info {
    uint64_t size;
    uint8_t sha256[SHA256_BYTES];
};

/* CANCELLED: the jobs that are being cancelled; none: no such job. */
#define STATUS_JOBS_MAX 64u
struct cancelled_jobs {
    uint32_t job_count;
    struct job_identity jobs[STATUS_JOBS_MAX];
};

/* PROGRESS: progress of a driver's job, counted as in its summary. */
struct job_progress {
    uint32_t stages, tasks, retries;         /* of the job, up to now */
    char stage_name[NAME_BYTES_MAX];         /* of a running stage; "": none has started */
    uint32_t stage, stage_tasks, stage_done; /* of that stage: number, tasks, finished tasks */
    uint32_t tasks_running;                  /* on this daemon's executor */
    uint32_t cached_rdds, cached_blocks;     /* persisted RDDs, and their blocks on all executors */
    uint64_t cached_memory_bytes, cached_disk_bytes;
};

/* EXECUTOR_EXITED: how an executor process ended. */
struct executor_exited {
    int32_t wait_status;    /* as from waitpid */
    bool out_of_memory;     /* the cgroup counted an OOM kill while it ran */
    char log[1024];         /* path of its log on that node; "": none */
    struct glint_error why; /* what the process reported itself: cause and hint; OK: nothing */
};

/* STATUS_REPLY: a daemon, and its running and queued jobs. */
struct status_job {
    uint64_t job;
    char name[NAME_BYTES_MAX];
    struct job_progress progress; /* last one from its driver */
    bool running;                 /* else it is queued */
    uint64_t age_ns;              /* since its driver requested an executor */
    uint64_t heartbeat_age_ns;    /* since the last heartbeat of its driver */
    uint64_t memory_bytes;        /* of its executor: resident memory */
};
struct daemon_status {
    char node[NAME_BYTES_MAX], build[NAME_BYTES_MAX];
    uint32_t slots, drivers_max;
    uint64_t memory_bytes, uptime_ns;
    bool draining;
    uint32_t job_count;
    struct status_job jobs[STATUS_JOBS_MAX];
};

PAYLOAD_CODEC(ping, struct ping);
PAYLOAD_CODEC(executor_registration, struct executor_registration);
PAYLOAD_CODEC(executor_address, struct executor_address);
PAYLOAD_CODEC(job_identity, struct job_identity); /* CANCEL */
PAYLOAD_CODEC(executor_request, struct executor_request);
PAYLOAD_CODEC(program_info, struct program_info);
PAYLOAD_CODEC(cancelled_jobs, struct cancelled_jobs);
PAYLOAD_CODEC(job_progress, struct job_progress);
PAYLOAD_CODEC(executor_exited, struct executor_exited);
PAYLOAD_CODEC(daemon_status, struct daemon_status);
/* JOB_KEY: the key of the job, to an executor that connected with the cluster's secret. */
PAYLOAD_CODEC(job_key, struct secret);
/* FETCH_ERROR: why a GET failed. */
PAYLOAD_CODEC(fetch_error, struct glint_error);

/* ---- What an executor process tells its daemon about its end, as text on the pipe
 * PROCESS_PIPE_FD: a crash (the text of base/crash.h), or the error with which it exits:
 *
 *    E0601 CAUSE
 *    HINT
 *
 * End of file tells each side that the other has exited, however it exited. A job can run any code
 * in the process, so the daemon believes nothing of it. */

#define PROCESS_PIPE_FD       3
#define PROCESS_PROGRAM_FD    4 /* the program itself, if it is not the daemon's */
#define EXIT_REPORT_BYTES_MAX (32u * 1024)

/* What the daemon writes to the pipe before it starts the process: the key of the job is in no
 * argument, environment variable or file. */
struct process_credentials {
    uint8_t incarnation[INCARNATION_BYTES];
    struct secret key; /* zeros without TLS */
};
static_assert(sizeof(struct process_credentials) == INCARNATION_BYTES + SECRET_BYTES,
              "written and read as bytes");

/* Writes an error as a report. Returns its size. */
size_t exit_report_format(const struct glint_error *why, char *out, size_t capacity);
/* Sets *out to the report's error; EXECUTOR_LOST for a crash; OK if the report is empty. Returns
 * what remains of the report: the backtrace. */
struct glint_slice exit_report_parse(struct glint_slice report, struct glint_error *out);

#endif
