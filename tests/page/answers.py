"""The answers of /api/v1, made from an event log by other code than glint's: the page's tests serve them, with logs
that no real run gives, and compare the page of a real run with `glint history --json`."""
import collections
import json
import math

STATUS = {"done": "SUCCESS", "failed": "FAILED", "killed": "KILLED", "executor lost": "LOST"}
METRICS = {"inputMetrics": (("bytesRead", "bytes read"), ("recordsRead", "rows read")),
           "outputMetrics": (("bytesWritten", "bytes written"), ("recordsWritten", "rows written")),
           "shuffleWriteMetrics": (("bytesWritten", "map output bytes"), ("recordsWritten", "map output records"))}


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def quantiles(values, at=(0, 0.5, 1)):
    """By nearest rank; None without values."""
    values = sorted(values)
    return [values[max(math.ceil(q * len(values)), 1) - 1] for q in at] if values else None


def of_kind(events, kind):
    return [e for e in events if e["event"] == kind]


def first(events, kind):
    return next((e for e in events if e["event"] == kind), None)


class Answers:
    """`live`: the log grows, and `running` are attempts that have not ended: task events without an outcome."""

    def __init__(self, events, live=False, running=(), file="events.jsonl"):
        self.events, self.live, self.running, self.file = events, live, list(running), file
        self.job, self.end = first(events, "job"), first(events, "job_end")
        self.tasks = of_kind(events, "task")
        self.by_stage = collections.defaultdict(list)
        for task in self.tasks:
            self.by_stage[task["stage"]].append(task)

    def count(self, outcome):
        return sum(t["outcome"] == outcome for t in self.tasks)

    def stages_started(self):
        seen = {}
        for event in of_kind(self.events, "stage"):
            seen.setdefault(event["stage"], event)
        return list(seen.values())

    def counters(self, tasks):
        total = collections.Counter()
        for task in tasks:
            if task["outcome"] == "done":
                total.update(task["counters"])
        return dict(total)

    def overview(self):
        status = ("UNKNOWN" if not self.live else "RUNNING") if not self.end else "FAILED" if self.end["error"] else "SUCCEEDED"
        return {"id": self.job["id"], "name": self.job["name"], "status": status, "file": self.file,
                "attempts": [{"startTime": self.job["time"], "endTime": self.end and self.end["time"],
                              "duration": self.events[-1]["ms"], "completed": bool(self.end)}],
                "numTasks": sum(s["tasks"] for s in self.stages_started()),
                "numCompletedTasks": len({(t["stage"], t["task"]) for t in self.tasks if t["outcome"] == "done"}),
                "numFailedTasks": self.count("failed"), "numLostTasks": self.count("executor lost")}

    def application(self):
        job, end, overview = self.job, self.end, self.overview()
        executors = of_kind(self.events, "executor")
        waiting = overview["numTasks"] - overview["numCompletedTasks"] - len(self.running)
        return {**overview, "version": job["version"], "build": job["build"], "master": job["master"], "live": self.live,
                "lastMs": self.events[-1]["ms"], "error": end and end["error"], "arguments": job["arguments"],
                "argumentCount": job["argument_count"], "numStages": len(self.stages_started()),
                "numSkippedStages": sum(len(a["skipped"]) for a in of_kind(self.events, "action")),
                "numActiveTasks": len(self.running), "numPendingTasks": 0 if end else waiting,
                "numKilledTasks": self.count("killed"),
                "numAttempts": len(self.tasks), "numRetries": len(of_kind(self.events, "retry")),
                "numLostExecutors": sum(e["state"] == "lost" for e in executors),
                "counters": end["counters"] if end else self.counters(self.tasks),
                "accumulators": (end or {}).get("accumulators", {}),
                "outputs": [e["path"] for e in of_kind(self.events, "output")],
                "notes": [e["text"] for e in of_kind(self.events, "note")], "truncatedLine": False,
                "sizeLimited": bool(of_kind(self.events, "full")), "eventsLeftOut": end["events_left_out"] if end else 0}

    def jobs(self):
        ended = {e["action"]: e for e in of_kind(self.events, "action_end")}
        for a in of_kind(self.events, "action"):
            end = ended.get(a["action"])
            yield {"jobId": a["action"], "name": a["name"], "outputs": a["outputs"],
                   "status": "RUNNING" if not end else "FAILED" if end["error"] else "SUCCEEDED",
                   "stageIds": [s["stage"] for s in self.stages_started() if s["action"] == a["action"]],
                   "skippedStageIds": a["skipped"], "submissionMs": a["ms"], "completionMs": end and end["ms"],
                   "error": end and end["error"]}

    def distribution(self, done, name):
        if not any(name in t["counters"] for t in done):
            return None
        return quantiles([t["counters"].get(name, 0) for t in done])

    def fetch_wait(self, done):
        """In ms."""
        values = self.distribution(done, "fetch wait us")
        return values and [value / 1000 for value in values]

    def stages(self):
        ended = {e["stage"]: e for e in of_kind(self.events, "stage_end")}
        for s in self.stages_started():
            tasks, end = self.by_stage[s["stage"]], ended.get(s["stage"])
            done = [t for t in tasks if t["outcome"] == "done"]
            metrics = {name: {key: self.distribution(done, counter) for key, counter in keys} for name, keys in METRICS.items()}
            yield {"stageId": s["stage"], "jobId": s["action"], "name": s["name"], "parentIds": s["parents"],
                   "status": "ACTIVE" if not end else "FAILED" if end["error"] else "COMPLETE", "numTasks": s["tasks"],
                   "numActiveTasks": sum(t["stage"] == s["stage"] for t in self.running),
                   "numCompleteTasks": len(done), "numCompletedIndices": len({t["task"] for t in done}),
                   "numFailedTasks": sum(t["outcome"] == "failed" for t in tasks),
                   "numKilledTasks": sum(t["outcome"] == "killed" for t in tasks),
                   "numLostTasks": sum(t["outcome"] == "executor lost" for t in tasks),
                   "numSpeculativeTasks": sum(t["speculative"] for t in tasks),
                   "numRetries": sum(e["stage"] == s["stage"] for e in of_kind(self.events, "retry")),
                   "submissionMs": s["ms"], "completionMs": end and end["ms"], "error": end and end["error"], "details": s.get("operators", []),
                   "numOperators": s.get("operator_count", 0),
                   "counters": self.counters(tasks),
                   "taskMetricsDistributions": {"quantiles": [0, 0.5, 1], "executorRunTime": quantiles([t["run_ms"] for t in done]),
                                                **metrics, "shuffleReadMetrics": {"fetchWaitTime": self.fetch_wait(done)},
                                                "diskBytesSpilled": self.distribution(done, "spill bytes")}}

    @staticmethod
    def attempt(task):
        return {"stageId": task["stage"], "index": task["task"], "attempt": task["attempt"], "partitionId": task["partition"],
                "executorId": task["executor"], "speculative": task["speculative"], "startMs": task["start_ms"],
                "endMs": task["end_ms"], "runMs": task["run_ms"], "status": STATUS.get(task["outcome"], "RUNNING"),
                "error": task["error"]}

    def attempts(self, offset, length):
        return {"offset": offset, "total": len(self.tasks), "tasks": [self.attempt(t) for t in self.tasks[offset:offset + length]],
                "running": [self.attempt(t) for t in self.running]}

    def failures(self):
        return [self.attempt(t) for t in self.tasks if t["outcome"] in ("failed", "executor lost")][-1000:]

    def executors(self):
        latest = {}
        for e in of_kind(self.events, "executor"):
            latest[e["executor"]] = {**latest.get(e["executor"], {}), **e}
        for number, e in sorted(latest.items()):
            mine = [t for t in self.tasks if t["executor"] == number]
            yield {"id": number, "name": e.get("name", ""), "hostPort": e.get("host", ""), "state": e["state"],
                   "totalCores": e.get("slots", 0), "activeTasks": sum(t["executor"] == number for t in self.running) if self.live else None,
                   "completedTasks": sum(t["outcome"] == "done" for t in mine),
                   "failedTasks": sum(t["outcome"] == "failed" for t in mine), "memoryUsed": None, "maxMemory": None,
                   "heartbeatAgeMs": 312.5 if self.live else None, "error": e.get("error")}

    def environment(self):
        return {"options": [{"name": k, "value": v, "origin": None} for k, v in self.job["options"].items()]}

    def get(self, what, query):
        """The answer to /api/v1/applications/ID/WHAT; None: there is no such answer."""
        if what == "tasks":
            return self.attempts(int(query.get("offset", "0")), int(query.get("length", "1000")))
        makers = {"": self.application, "jobs": self.jobs, "stages": self.stages, "failures": self.failures,
                  "executors": self.executors, "environment": self.environment, "filters": lambda: of_kind(self.events, "filter"),
                  "storage/rdd": lambda: (of_kind(self.events, "storage") or [{"rdds": []}])[-1]["rdds"]}
        answer = makers[what]() if what in makers else None
        return answer if answer is None or isinstance(answer, (dict, list)) else list(answer)
