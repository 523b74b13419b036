"""Spark's guarantees for clusters that repeatedly lose nodes (the table of all guarantees:
tests/unit/driver/test_guarantees.c)."""
import os
import signal

from cluster import until
from faults import FaultTest


class TaskExits(FaultTest):
    def test_exiting_task_fails_the_job_at_the_loss_limit(self):
        """An exit status is not blamed on a task, so the limit of executor losses ends the job: soon, not never."""
        for name in ("e1", "e2"):
            self.executor(name, hooks=["read tt0000777 0 exit -"])
        job = self.begin()
        self.assertEqual(job.wait(), 1, job.err)
        self.assertIn("error[E0910]", job.err)
        self.assertIn("exited with status 42", job.err)
        self.assertEqual(len([e for e in self.events("executor") if e.state == "lost"]), 17)
        for name in self.executors:
            self.until_state(name, "idle")


class RepeatedKills(FaultTest):
    """Three times, the process that runs a task is killed from outside, and each time a new one registers."""

    def in_each_round(self, call, what):
        """Kills each new process of e1 in the first such call. e2 is stopped in one all the time, so that there are
        tasks left to run."""
        hooks = [self.hook(call, what, 1, "hold") for _ in range(3)]
        held = self.hook(call, what, 1, "hold")
        e1 = self.executor("e1", hooks=hooks)
        self.executor("e2", hooks=[held])
        job = self.begin()
        held.until_hit()
        for hook in hooks:
            hook.until_hit()
            pid = self.executor_pid(e1)
            os.kill(pid, signal.SIGKILL)
            self.until_gone(pid)
            hook.go()
        held.go()
        self.ends_well(job)
        until(lambda: len([e for e in self.events("executor") if e.state == "lost"]) == 3, "three losses")
        self.assertEqual(job.err.count("killed by signal 9"), 3, job.err)
        return job

    def test_three_kills_in_map_stage_are_survived(self):
        self.in_each_round("open", "ratings-")
        lost = self.map_attempts("executor lost")
        self.assertGreaterEqual(len(lost), 3)
        self.assertEqual({attempt.run_ms for attempt in lost}, {None})
        self.serves_the_next()

    def test_three_kills_in_result_stage_are_survived(self):
        self.in_each_round("change", ".attempt-")
        self.serves_the_next()
