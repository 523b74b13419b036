"""Several drivers that each need several executors of one cluster: they never deadlock.

GLINT_ROUNDS is the number of rounds (2); use 20 for a longer test."""
import os
import shutil
import signal
import tempfile
import unittest

from cluster import SLOWDOWN, ClusterTest, until
from programs import other_build

ROUNDS = int(os.environ.get("GLINT_ROUNDS", "2"))
JOB = ("empty-tasks", "--tasks", "20")


class GangScheduling(ClusterTest):
    keys = {**ClusterTest.keys, "suspect": "5s", "dead": "10s", "start": "60s"}
    executors = {name: {"slots": 1} for name in ("e1", "e2", "e3")}

    def meet(self, drivers, count):
        for name in self.executors:
            self.executor(name)
        for i in range(ROUNDS):
            jobs = [self.submit(f"job-{i}-{d}", *JOB, "--executors", str(count)) for d in range(drivers)]
            for job in jobs:
                self.assertEqual(job.wait(), 0, job.err)  # others may be first

    def test_six_drivers_share_all_executors(self):
        self.meet(6, 3)

    def test_six_drivers_share_two_of_three_executors(self):
        self.meet(6, 2)

    def test_late_executor_causes_no_deadlock(self):
        """One has e1 and needs e2; the other waits for e1, and sees e2 first."""
        self.executor("e1")
        first = self.submit("first", *JOB, "--executors", "2")
        until(lambda: self.executor_status("e1").get("jobs"), "the first one has e1")
        second = self.submit("second", *JOB, "--executors", "2")
        second.until_says(r"executor e1 .* position 1 in its queue")
        first.signal(signal.SIGSTOP)
        self.executor("e2")
        longest_pause_ms = 1500 * SLOWDOWN  # until the second one has connected to it
        until(lambda: self.executor_status("e2").get("jobs") or
              self.executor_status("e2").get("uptime_ms", 0) > longest_pause_ms, "the second one has seen e2")
        first.signal(signal.SIGCONT)
        self.assertEqual(first.wait(), 0, first.err)
        self.assertEqual(second.wait(), 0, second.err)

    def test_start_timeout_lists_executor_states(self):
        for name in ("e2", "e3"):
            self.executor(name)
        job = self.submit("job", *JOB, "--executors", "3", "--start", "4s")
        self.assertEqual(job.wait(), 69, job.err)
        self.assertIn("error[E0907]", job.err)
        self.assertRegex(job.err, r"2 of 3 executors registered within \d+ ms: e1 \(\S+\): cannot connect: "
                         r"connection refused; e2 \(\S+\): connected; e3 \(\S+\): connected")


class OtherBuild(ClusterTest):
    """Drivers of another build: each daemon has a cache of its own, so some fetch the program and some have it."""

    keys = GangScheduling.keys
    executors = GangScheduling.executors

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="glint-program-")
        cls.other = os.path.join(cls.place, "glint")
        other_build(cls.other)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.place)

    def setUp(self):
        super().setUp()
        self.write_cluster({"e3": self.executors["e3"]})
        self.last_only = os.path.join(self.directory, "last.toml")
        os.rename(self.config, self.last_only)
        self.write_cluster()
        for name in self.executors:
            self.executor(name, env={"XDG_CACHE_HOME": self.cache(name)})

    def cache(self, name):
        return os.path.join(self.directory, f"cache-{name}")

    def forget_program(self):
        for name in ("e1", "e2"):
            shutil.rmtree(os.path.join(self.cache(name), "glint", "programs"), ignore_errors=True)

    def submit_other(self, name, *words):
        self.program = self.other
        try:
            return self.submit(name, *JOB, *words)
        finally:
            del self.program

    def test_queued_at_the_last_while_the_others_fetch(self):
        self.program = self.other
        self.assertEqual(self.run_glint("submit", *JOB, "--cluster", self.last_only)[0], 0)
        del self.program
        for i in range(3 * ROUNDS):
            blocking = self.start(f"blocking-{i}", "submit", *self.held_job(), "--cluster", self.last_only)
            until(lambda: self.executor_status("e3").get("jobs"), "e3 is busy")
            job = self.submit_other(f"job-{i}", "--executors", "2")
            self.assertEqual(job.wait(), 0, job.err)
            blocking.signal(signal.SIGINT)
            self.assertEqual(blocking.wait(), 130, blocking.err)
            self.forget_program()

    def test_six_drivers_share_two_of_three_executors(self):
        for i in range(ROUNDS):
            jobs = [self.submit_other(f"job-{i}-{d}", "--executors", "2") for d in range(6)]
            for job in jobs:
                self.assertEqual(job.wait(), 0, job.err)  # others may be first
            self.forget_program()


if __name__ == "__main__":
    unittest.main()
