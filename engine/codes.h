/* All error codes, in one table.
 *
 * Rank 0: included by the public header. Codes are sent over the wire and printed as E%04d, so a
 * number is never reused. `exit` is the process's exit status if the code ends a job (from sysexits
 * where one fits, see docs/errors.md). `retry` is 1 if another attempt of the same task may
 * succeed. */
#ifndef GLINT_CODES_H
#define GLINT_CODES_H

/* clang-format off */
/*  number, name,                  exit, retry, text */
#define GLINT_CODES(X)                                                                             \
    X(101, USAGE,                       64, 0, "bad command line")                                 \
    X(102, UNKNOWN_OPTION,              64, 0, "unknown option")                                   \
    X(103, UNKNOWN_JOB,                 64, 0, "unknown job")                                      \
    X(104, BAD_VALUE,                   64, 0, "value out of range")                               \
    X(201, INPUT_NOT_FOUND,             66, 0, "input not found")                                  \
    X(202, INPUT_PERMISSION,            77, 0, "input cannot be read")                             \
    X(203, INPUT_KIND,                  66, 0, "input is not a regular file")                      \
    X(204, INPUT_CHANGED,               65, 0, "input changed while it was read")                  \
    X(205, INPUT_IO,                    74, 1, "reading the input failed")                         \
    X(206, LINE_TOO_LONG,               65, 0, "line longer than the limit")                       \
    X(207, COMPRESSED_TRUNCATED,        65, 0, "compressed data ends early")                       \
    X(208, COMPRESSED_CORRUPT,          65, 0, "compressed data is damaged")                       \
    X(209, MSGPACK_CORRUPT,             65, 0, "msgpack data is damaged")                          \
    X(210, BAD_ROW,                     65, 0, "bad row")                                          \
    X(211, TOO_MANY_BAD_ROWS,           65, 0, "more bad rows than allowed")                       \
    X(212, EVENT_LOG_INVALID,           65, 0, "the event log is not valid")                       \
    X(213, INPUT_FORMAT,                65, 0, "unsupported input format")                         \
    X(214, INPUT_URL,                   66, 0, "URL cannot be read")                               \
    X(215, INPUT_LIBRARY,               69, 0, "no library for this input format")                 \
    X(216, INPUT_DAMAGED,               65, 0, "a file of columns is damaged")                     \
    X(217, INPUT_PENDING,               75, 0, "an output that is input is not committed")         \
    X(301, OUTPUT_EXISTS,               73, 0, "output exists")                                    \
    X(302, OUTPUT_CREATE,               73, 0, "output cannot be created")                         \
    X(303, OUTPUT_IO,                   74, 1, "writing the output failed")                        \
    X(304, OUTPUT_FULL,                 74, 0, "no space left for the output")                     \
    X(305, STDOUT_IO,                   74, 0, "writing to standard output failed")                \
    X(401, PLAN_TYPE,                   70, 0, "type mismatch in the plan")                        \
    X(402, PLAN_FUNCTION,               70, 0, "unknown or unsuitable function")                   \
    X(403, PLAN_ARGUMENT,               70, 0, "missing or wrong function argument")               \
    X(404, PLAN_LIMIT,                  70, 0, "the plan exceeds a limit")                         \
    X(405, FUNCTION_FAILED,              1, 0, "a function of the job failed")                     \
    X(406, PLAN_RDD,                    70, 0, "an RDD is NULL")                                   \
    X(407, COMMAND_FAILED,               1, 0, "a command failed")                                 \
    X(408, COMMAND_KILLED,               1, 1, "a command was killed")                             \
    X(501, NO_MEMORY,                   71, 1, "out of memory")                                    \
    X(502, MEMORY_LIMIT,                78, 0, "memory limit too small")                           \
    X(503, RESULT_LIMIT,                 1, 0, "result larger than the limit")                     \
    X(504, VALUE_LIMIT,                 65, 0, "value larger than the limit")                      \
    X(505, EMPTY_COLLECTION,             1, 0, "empty collection")                                 \
    X(601, WORK_DIR,                    73, 0, "work directory cannot be used")                    \
    X(602, SPILL_IO,                    74, 1, "spilling to disk failed")                          \
    X(603, SPILL_FULL,                  74, 1, "no space left for spilling")                       \
    X(604, SHUFFLE_CORRUPT,             74, 1, "shuffle data is damaged")                          \
    X(605, SYSTEM,                      71, 1, "insufficient system resources")                    \
    X(606, PROTOCOL,                    70, 0, "malformed message")                                \
    X(701, TIMEOUT,                     75, 0, "the job timed out")                                \
    X(702, INTERRUPTED,                130, 0, "interrupted")                                      \
    X(703, TERMINATED,                 143, 0, "terminated")                                       \
    X(704, CANCELLED,                    1, 0, "cancelled with glint cancel")                      \
    X(801, COUNTS_INVALID,              65, 0, "the counts file is not valid")                     \
    X(802, COUNT_NOT_FOUND,             65, 0, "a key has no count")                               \
    X(803, FILTER_INVALID,              65, 0, "a filter is not valid")                            \
    X(804, FILTER_MISMATCH,             65, 0, "filters do not match the arguments")               \
    X(805, FILTER_LIMIT,                64, 0, "filter parameters out of bounds")                  \
    X(806, PARAMS_INVALID,              65, 0, "the params file is not valid")                     \
    X(901, CONFIG,                      78, 0, "the cluster's configuration is not valid")         \
    X(902, SECRET,                      78, 0, "the secret cannot be used")                        \
    X(903, AUTH,                        77, 0, "authentication failed")                            \
    X(904, PEER_MISMATCH,               78, 0, "peer does not match")                              \
    X(905, ADDRESS,                     78, 0, "address cannot be used")                           \
    X(906, CONNECTION,                  69, 1, "connection lost")                                  \
    X(907, NO_EXECUTORS,                69, 0, "not enough executors")                             \
    X(908, EXECUTOR_LOST,                1, 1, "executor lost")                                    \
    X(909, FETCH_FAILED,                 1, 1, "a map output cannot be fetched")                   \
    X(910, TOO_MANY_EXECUTOR_FAILURES,   1, 0, "too many executors were lost")                     \
    X(911, PATH_NOT_SHARED,             73, 0, "a path is not shared by all nodes")                \
    X(912, JOB_NOT_FOUND,               66, 0, "no such job is running")                           \
    X(913, NOT_PERMITTED,               77, 0, "not permitted with this secret")                   \
    X(914, COMMAND_NOT_ALLOWED,         77, 0, "commands are not allowed here")                    \
    X(915, STAGE_FILE,                  65, 0, "the stage file cannot be used")                    \
    X(916, STAGE_LINES,                 65, 0, "the lines of a stage are not complete")            \
    X(917, STAGE_ACTION,                70, 0, "an action cannot run in another engine")           \
    X(918, WEB_LIBRARY,                 69, 0, "the web page needs libmicrohttpd")
/* clang-format on */

/* 0 is success; errors are the negative numbers of the table. */
enum glint_code {
    GLINT_OK = 0,
#define GLINT_CODE_ENUM(number, name, exit, retry, text) GLINT_E_##name = -(number),
    GLINT_CODES(GLINT_CODE_ENUM)
#undef GLINT_CODE_ENUM
};

#endif
