"""All reports about a job agree: its id, its numbered stages, and the numbers of stages, tasks and retries in
summary, --json, status, event log and history, also if an executor was killed."""
import json
import os
import re
import signal
import unittest

from cluster import JOBS, ClusterTest, until

WORDS = 4000


class JobMetrics(ClusterTest):
    """Word count with a sort: the sample skips nothing, the sort skips the stage that counted."""

    program = JOBS

    def setUp(self):
        super().setUp()
        self.hold = os.path.join(self.directory, "hold")
        self.words = os.path.join(self.directory, "words.txt")
        self.log = os.path.join(self.directory, "events")
        with open(self.words, "w", encoding="ascii") as file:
            file.writelines(f"w{i % 97} w{i % 89}\n" for i in range(WORDS))
        open(self.hold, "w", encoding="ascii").close()
        self.e1, self.e2 = self.executor("e1"), self.executor("e2")

    def begin(self, *options):
        return self.submit("job", "words", "--hold-counts", self.hold, self.words, "out", "--event-log", self.log,
                           "--executors", "2", "--split-size", "4K", "--partitions", "4", *options)

    def events(self, kind):
        try:
            with open(self.log, encoding="utf-8") as file:
                lines = file.read().split("\n")[:-1]
        except FileNotFoundError:
            return []
        return [e for e in map(json.loads, lines) if e["event"] == kind]

    def job_status(self, name):
        """The job in the daemon's status."""
        jobs = self.executor_status(name)["jobs"]
        return jobs[0] if jobs else None

    def until_held(self):
        """The stage that samples runs on both executors."""
        def held(name):
            job = self.job_status(name)
            return job and job["stage_number"] == 1 and job["tasks_running"] > 0 and job
        return [until(lambda n=name: held(n), f"{name} samples") for name in ("e1", "e2")]

    def lose_e1(self):
        pid = until(self.e1.children, "e1 runs an executor process")[0]
        os.kill(pid, signal.SIGKILL)
        until(lambda: (self.job_status("e2") or {}).get("retries", 0) > 0, "status shows retries")

    def history(self, *options):
        code, out, err = self.run_glint("history", *options, self.log)
        self.assertEqual(code, 0, err)
        return out

    def check_times(self):
        """An attempt that is queued at its executor, which has one slot, does not run."""
        attempts = self.events("task")
        for executor in {e["executor"] for e in attempts}:
            last = 0
            for e in sorted((e for e in attempts if e["executor"] == executor), key=lambda e: (e["start_ms"], e["end_ms"])):
                self.assertGreaterEqual(e["start_ms"], last, e)
                last = e["end_ms"]
                if e["outcome"] != "executor lost":
                    self.assertLess(last - e["start_ms"], e["run_ms"] + 0.002, e)

    def compare(self, job, summary):
        """`summary`: stages, skipped, tasks, retries."""
        self.check_times()
        end, = self.events("job_end")
        keys = ("stages", "stages_skipped", "tasks", "retries")
        self.assertEqual(summary, [end[key] for key in keys])
        stages = {e["stage"]: e for e in reversed(self.events("stage"))}
        self.assertEqual(sorted(stages), list(range(end["stages"])), "numbers have no holes")
        self.assertEqual(sum(e["tasks"] for e in stages.values()), end["tasks"])
        self.assertEqual(sum(len(e["skipped"]) for e in self.events("action")), end["stages_skipped"])
        self.assertEqual(len(self.events("retry")), end["retries"])
        for stage in stages.values():
            self.assertLessEqual(set(stage["parents"]), set(stages), "what it reads is a stage of the log")
        found = re.search(r"(\d+) stages \((\d+) skipped\), (\d+) tasks in \d+ attempts, (\d+) retr", self.history())
        self.assertEqual([int(number) for number in found.groups()], summary)
        reported = json.loads(self.history("--json"))
        self.assertEqual([reported[key] for key in ("stage_count", "stages_skipped", "tasks", "retry_count")], summary)
        self.assertEqual([(s["stage"], s["name"], s["tasks"]) for s in reported["stages"]],
                         [(n, stages[n]["name"], stages[n]["tasks"]) for n in sorted(stages)])
        self.assertEqual(job.wait(), 0)
        return stages, reported

    def test_all_sources_agree_after_executor_loss(self):
        job = self.begin("-v")
        before = self.until_held()
        self.lose_e1()
        os.unlink(self.hold)
        self.assertEqual(job.wait(), 0, job.err)
        found = re.search(r"; (\d+) stages \((\d+) skipped\), (\d+) tasks, (\d+) retried", job.err)
        summary = [int(number) for number in found.groups()]
        stages, reported = self.compare(job, summary)
        self.assertEqual(summary[:2], [4, 1])
        self.assertGreater(summary[3], 1, "a task that ran, and outputs that were lost")
        printed = re.findall(r"(?m)^stage (\d+) (\S+): (\d+) tasks?, ", job.err)
        self.assertEqual({(int(n), name, int(tasks)) for n, name, tasks in printed},
                         {(n, e["name"], e["tasks"]) for n, e in stages.items()})
        ids = set(re.findall(r"(?m)^words, job ([0-9a-f]{16}) on test$", job.err))
        ids |= set(re.findall(r"(?m)^words ([0-9a-f]{16}): ", job.err)) | {e["id"] for e in before}
        self.assertEqual(ids, {self.events("job")[0]["id"]})
        self.assertEqual(reported["job"]["id"], ids.pop())
        self.assertIn("sortByKey.sample", stages[1]["name"])
        for status in before:
            self.assertEqual((status["stage"], status["stage_number"], status["stage_tasks"]),
                             (stages[1]["name"], 1, stages[1]["tasks"]))
            self.assertEqual((status["stages"], status["tasks"], status["retries"]),
                             (2, stages[0]["tasks"] + stages[1]["tasks"], 0))

    def test_json_summary_agrees_with_event_log(self):
        job = self.begin("--json")
        self.until_held()
        self.lose_e1()
        retries = until(lambda: len(self.events("retry")), "the log has retries")
        until(lambda: self.job_status("e2")["retries"] >= retries, "status shows as many")
        os.unlink(self.hold)
        self.assertEqual(job.wait(), 0, job.err)
        reported = json.loads(job.out)
        stages, _ = self.compare(job, [len(reported["stages"]), *(reported[key] for key in ("stages_skipped", "tasks", "retries"))])
        self.assertEqual([(s["stage"], s["name"], s["tasks"]) for s in reported["stages"]],
                         [(n, e["name"], e["tasks"]) for n, e in sorted(stages.items())])
        self.assertEqual(reported["id"], self.events("job")[0]["id"])

    def test_history_shows_a_running_job(self):
        """It is not reported as truncated, and has the numbers so far."""
        job = self.begin()
        self.until_held()
        until(lambda: len(self.events("stage")) == 2, "the log has the stage of the sample")
        self.assertRegex(self.history(), r"incomplete: the job is running or was killed; .*; 2 stages, \d+ tasks in ")
        self.assertEqual(json.loads(self.history("--json"))["status"], "incomplete")
        os.unlink(self.hold)
        self.assertEqual(job.wait(), 0, job.err)

    def test_cancel_names_the_cancelled_job(self):
        for wanted in ("name", "id"):
            open(self.hold, "w", encoding="ascii").close()
            job = self.begin("--overwrite")
            job_id = self.until_held()[0]["id"]
            code, out, err = self.run_glint("cancel", "--cluster", self.config, "words" if wanted == "name" else job_id)
            os.unlink(self.hold)  # a running task would be waited for
            self.assertEqual((code, out), (0, f"cancelled words, job {job_id}, on e1, e2\n"), err)
            self.assertEqual(job.wait(), 1)
            self.assertIn("E0704", job.err)
            self.assertIn(f"words, job {job_id} on test\n", job.err)
            for name in ("e1", "e2"):
                self.until_state(name, "idle")

    def test_job_output_is_not_mixed_into_json(self):
        os.unlink(self.hold)
        code, out, err = self.run_glint("submit", "talk", "--json", self.words)
        self.assertEqual(code, 0, err)
        reported = json.loads(out)
        self.assertEqual((reported["job"], reported["status"]), ("talk", "ok"))
        self.assertIn("\nw96: ", err)
        self.assertRegex(err, r"(?m)^97 words$")


if __name__ == "__main__":
    unittest.main()
