"""Event logs that no single run gives: a job with retries, a lost executor and skew, halfway; many tasks; hostile names."""
import random

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
LOST = {"code": "E0908", "name": "EXECUTOR_LOST", "text": "executor lost", "cause": "executor e2 (10.0.0.2:7500) was killed by signal 9",
        "effect": "its tasks run again on other executors", "hint": None, "exit_status": 1}
FAILED = {"code": "E0405", "name": "WORK_DISK", "text": "cannot write to the work directory",
          "cause": "/tmp/glint-1a2b/run.17: No space left on device", "effect": "the task is tried again",
          "hint": "free space, or choose another --work-dir", "exit_status": 74}


class Log:
    """Collects events. Times are in ms, stages run one after the other."""

    def __init__(self, name, executors=1, slots=2, **job):
        self.events, self.ms, self.slots = [], 0.0, slots
        self.add("job", id="00c0ffee00c0ffee", name=name, version="0.1.0", build="0.1.0-test", master=f"local[{slots}]",
                 arguments=["glint", name], argument_count=2, options={"memory": "1073741824", "split-size": None, "overwrite": "true"},
                 **job)
        for number in range(executors):
            self.add("executor", executor=number, state="joined", name=f"e{number + 1}", host=f"10.0.0.{number + 1}:7500", slots=slots)

    def add(self, event, **fields):
        self.events.append({"schema": 1, "event": event, "ms": round(self.ms, 3), "time": "2026-11-26T02:01:39.815Z", **fields})

    def action(self, number, name, **fields):
        self.add("action", action=number, name=name, **{"output": None, "outputs": [], "skipped": [], **fields})

    def stage(self, number, name, tasks, parents=(), action=0, operators=()):
        self.add("stage", stage=number, action=action, name=name, tasks=tasks, parents=list(parents), operators=list(operators),
                 operator_count=len(operators))

    def task(self, stage, task, start, ms, executor=0, attempt=0, outcome="done", error=None, **counters):
        self.ms = max(self.ms, start + ms)
        return self.add("task", stage=stage, task=task, partition=task, attempt=attempt, executor=executor, speculative=False,
                        start_ms=round(start, 3), start="", end_ms=round(start + ms, 3), end="",
                        run_ms=None if outcome == "executor lost" else round(ms * 0.98, 3), outcome=outcome, error=error,
                        counters={name.replace("_", " "): value for name, value in counters.items()})

    def retry(self, stage, task, error):
        self.add("retry", stage=stage, task=task, attempt=0, executor=1, error=error)

    def finish(self, error=None, counters=None):
        self.add("job_end", events_left_out=0, error=error, elapsed_ms=round(self.ms, 3), stages=1, stages_skipped=0,
                 tasks=1, retries=0, counters=counters or {})


def busy(seed=7):
    """Returns (events, running) of a cluster job halfway: 4 executors of 4 slots, one lost."""
    rng, log = random.Random(seed), Log("bloom-build", executors=4, slots=4)
    log.events[0].update(master="lab", arguments="glint bloom-build --cluster lab.toml 0.01 ratings.tsv counts filters".split())
    log.ms = 40.0
    log.action(0, "collect")
    log.stage(0, "textFile..collect", 1)
    log.task(0, 0, 41, 12, rows_read=10, bytes_read=149)
    log.add("stage_end", stage=0, error=None)
    log.add("action_end", action=0, error=None)
    log.action(1, "saveAsMsgpackFile", output="filters", outputs=["filters"])
    log.stage(1, "textFile..reduceByKey", 64, action=1, operators=["textFile", "map bloom.parse", "reduceByKey (write) glint.sum_i64"])
    log.stage(2, "msgpackFile..join", 24, action=1)
    free = {(e, s): 60.0 for e in range(4) for s in range(4)}

    def run(stage, task, ms, **counters):
        (executor, slot), start = min(free.items(), key=lambda item: item[1])
        attempt = 0
        if (stage, task) in ((1, 17), (2, 5)):
            log.task(stage, task, start, ms * 0.6, executor, outcome="failed", error=FAILED)
            log.retry(stage, task, FAILED)
            start, attempt = start + ms * 0.6, 1
        if executor == 1 and start > 900:
            log.task(stage, task, start, 130, executor, outcome="executor lost", error=LOST)
            log.retry(stage, task, LOST)
            for lost in range(4):
                free.pop((1, lost), None)
            if not any(e["event"] == "executor" and e["state"] == "lost" for e in log.events):
                log.add("executor", executor=1, state="lost", error=LOST)
            (executor, slot), start = min(free.items(), key=lambda item: item[1])
            attempt += 1
        log.task(stage, task, start, ms, executor, attempt, **counters)
        free[executor, slot] = start + ms

    for task in range(64):
        run(1, task, rng.uniform(90, 160), rows_read=rng.randint(55000, 60000), bytes_read=4 << 20, map_output_records=10,
            map_output_bytes=rng.randint(70000, 74000))
    for task in range(24):
        run(2, task, rng.uniform(60, 90) * (7 if task == 11 else 1), rows_read=rng.randint(900, 1000), bytes_read=rng.randint(2 << 18, 2 << 19),
            map_output_records=rng.randint(900, 1000), map_output_bytes=rng.randint(1 << 20, 2 << 20) * (9 if task == 11 else 1),
            spills=2, spill_bytes=8 << 20)
    for stage in (1, 2):
        log.add("stage_end", stage=stage, error=None)
    log.stage(3, "join..saveAsMsgpackFile", 32, [1, 2], action=1,
              operators=["join (read) from stage 1", *(f"map step.{i}" for i in range(6)), "saveAsMsgpackFile"])
    begin = log.ms
    free = dict.fromkeys(free, begin)
    for task in range(13):
        run(3, task, rng.uniform(80, 120), rows_written=1, bytes_written=rng.randint(6000, 8000), fetch_wait_us=1500 + task)
    now = log.ms + 5
    running = [{"stage": 3, "task": 13 + i, "partition": 13 + i, "attempt": 0, "executor": place[0], "speculative": False,
                "start_ms": start, "end_ms": None, "run_ms": None, "outcome": None, "error": None}
               for i, (place, start) in enumerate(sorted(free.items())) if start < now]
    log.ms = now
    log.add("note", text="executor e2 was lost; its tasks run again")
    return log.events, running


def many(tasks=10000, executors=8, slots=4):
    log = Log("many-tasks", executors=executors, slots=slots)
    log.action(0, "foreach")
    log.stage(0, "parallelize..foreach", tasks)
    for task in range(tasks):
        log.task(0, task, task // (executors * slots) * 10 + 1, 9.5, task % executors, rows_read=task)
    log.add("stage_end", stage=0, error=None)
    log.add("action_end", action=0, error=None)
    log.finish(counters={"rows read": sum(range(tasks))})
    return log.events


def hostile():
    """Every text that a user can choose is markup."""
    log = Log(HOSTILE)
    error = {**FAILED, "cause": HOSTILE, "hint": HOSTILE, "effect": HOSTILE, "text": HOSTILE}
    log.events[0]["arguments"] = ["glint", HOSTILE]
    log.events[0]["options"] = {HOSTILE: HOSTILE}
    log.events[1].update(name=HOSTILE, host=HOSTILE)
    log.action(0, HOSTILE, output=HOSTILE, outputs=[HOSTILE])
    log.stage(0, HOSTILE, 2, operators=[HOSTILE])
    log.task(0, 0, 1, 2, outcome="failed", error=error)
    log.task(0, 1, 1, 2, **{HOSTILE: 1})
    log.add("note", text=HOSTILE)
    log.add("output", path=HOSTILE)
    log.add("storage", rdds=[{"id": 3, "name": HOSTILE, "numPartitions": 2, "numCachedPartitions": 1, "storageLevel": "memory",
                              "memoryUsed": 2048, "diskUsed": 0}])
    log.add("filter", **{"key": HOSTILE, "n": 1, "m": 10, "k": 1, "scheme": HOSTILE, "layout": HOSTILE, "bitsSet": 1,
                         "fill": 0.1, "expectedRate": 0.1})
    log.finish(error, {HOSTILE: 1})
    log.events[-1]["accumulators"] = {HOSTILE: HOSTILE}
    return log.events
