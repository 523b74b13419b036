"""Events on one node: draining, a second daemon with the same id, clock changes, few descriptors, invalid files."""
import contextlib
import glob
import json
import os
import re
import resource
import signal
import socket
import unittest

from cluster import DEADLINE_S, SLOWDOWN, ClusterTest, free_port, until
from netns import CountingTest

SANITIZED = "GLINT_SANITIZED" in os.environ


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Draining(CountingTest):
    """An executor is drained while it has map outputs that the job needs."""

    def until_has_output(self, name):
        """One without outputs and tasks ends at once, and tasks that the slow cable still holds are sent again."""
        def done():
            with open(os.path.join(self.directory, "out.log"), encoding="utf-8") as file:
                events = [json.loads(line) for line in file.read().split("\n")[:-1]]
            numbers = [e["executor"] for e in events if e["event"] == "executor" and e.get("name") == name]
            return any(e["event"] == "task" and e["outcome"] == "done" and e["executor"] in numbers for e in events)
        until(done, f"{name} has a map output")

    def test_draining_executor_serves_its_map_outputs(self):
        self.write_cluster(drain="60s")
        job, e1, e2 = self.start_all()
        self.until_has_output("e1")
        e1.signal(signal.SIGTERM)
        e1.until_says("draining")
        until(lambda: self.executor_status("e1")["state"] == "draining", "its status says so")
        self.let_go()
        self.assert_done(job)
        self.assertEqual(e1.wait(), 0, e1.err)
        self.assertIn("drained", e1.err)
        self.assertEqual(self.events("retry"), [])
        self.assertNotIn("lost", job.err)
        self.assertIsNone(e2.popen.poll())

    def test_map_outputs_are_recomputed_after_drain_timeout(self):
        self.write_cluster(drain="500ms")
        job, e1, _ = self.start_all()
        e1.signal(signal.SIGTERM)
        self.assertEqual(e1.wait(), 0, e1.err)
        self.assertIsNone(job.popen.poll(), job.err)
        self.let_go()
        self.assert_done(job)
        self.assertNotIn("lost", job.err)

    def test_job_fails_when_all_executors_drain(self):
        self.write_cluster(drain="500ms", start="5s")
        job, *executors = self.start_all()
        for e in executors:
            e.signal(signal.SIGTERM)
        for e in executors:
            self.assertEqual(e.wait(), 0, e.err)
        self.assertEqual(job.wait(), 69, job.err)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "out")))


class DuplicateIds(ClusterTest):
    def join(self, process, port):
        return self.start(process, "executor", "--join", f"127.0.0.1:{port}", "--id", "n1", "--slots", "1")

    def test_second_executor_with_the_same_id_is_rejected(self):
        port = free_port()
        job = self.start("job", "submit", *self.held_job(), "--listen", f"127.0.0.1:{port}", "--executors", "1")
        first = self.join("first", port)
        first.until_says("serving driver")
        second = self.join("second", port)
        self.assertEqual(second.wait(), 78, second.err)
        self.assertIn("executor n1 is already connected from", second.err)
        self.assertIn("unique --id", second.err)
        first.signal(signal.SIGKILL)
        first.wait()
        self.join("third", port).until_says("serving driver")
        self.assertIsNone(job.popen.poll(), job.err)
        job.signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 143, job.err)


class RepeatedSignals(ClusterTest):
    """Any number of signals at any time: a process that stops cleans up first."""

    def storm(self, process):
        while process.popen.poll() is None:
            process.signal(signal.SIGTERM)
        self.assertEqual(process.popen.returncode, 0, process.err)

    def test_repeated_sigterm_ends_daemon_cleanly(self):
        for _ in range(5):
            self.storm(self.executor("e1"))

    def test_repeated_sigterm_ends_joined_executor_cleanly(self):
        for i in range(5):
            port = free_port()
            job = self.start(f"job-{i}", "submit", *self.held_job(), "--listen", f"127.0.0.1:{port}", "--executors", "1")
            node = self.start(f"n{i}", "executor", "--join", f"127.0.0.1:{port}", "--slots", "1")
            node.until_says("serving driver")
            job.signal(signal.SIGTERM)
            self.assertEqual(job.wait(), 143, job.err)
            self.storm(node)
            self.assertEqual(os.listdir(self.tmp), [])


class SteppedClock:
    """A process whose environment is `clock` reads the time plus what the last call of `step` says."""

    def setUp(self):
        super().setUp()
        found = sorted(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))
        if not found:
            self.skipTest("no libfaketime")
        if SANITIZED:
            self.skipTest("sanitizers want to be loaded first")
        self.step_file = os.path.join(self.directory, "clock")
        self.step("+0")
        self.clock = {"LD_PRELOAD": found[0], "FAKETIME_TIMESTAMP_FILE": self.step_file,
                      "FAKETIME_NO_CACHE": "1", "NO_FAKE_STAT": "1"}

    def step(self, by):
        with open(f"{self.step_file}.new", "w", encoding="ascii") as file:
            file.write(f"{by}\n")
        os.rename(f"{self.step_file}.new", self.step_file)


class ClockJumps(SteppedClock, CountingTest):
    """The wall clock of one node changes by a day, and back, while a job runs: no timeout depends on it."""

    def setUp(self):
        super().setUp()
        self.clock["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"

    def test_executor_clock_jump_is_harmless(self):
        self.run_job(on_executor=self.clock)

    def test_driver_clock_jump_is_harmless(self):
        self.run_job(on_driver=self.clock)

    def run_job(self, on_executor=None, on_driver=None):
        e1 = self.start("e1", "executor", "--cluster", self.config, "--id", "e1", env=on_executor)
        e1.until_says("ready on")
        self.executor("e2")
        self.hold()
        job = self.start("job", "submit", *self.words, self.ratings(), "out", "--event-log", "out.log",
                         "--cluster", self.config, "--executors", "2", env=on_driver)
        for step in ("+1d", "-1d", "+0"):
            self.until_working("e1")
            self.step(step)
            age = self.executor_status("e1")["jobs"][0]["age_ms"]
            until(lambda a=age: self.executor_status("e1")["jobs"][0]["age_ms"] > a + 400, "400 ms have passed")
        self.let_go()
        self.assert_done(job)
        self.assertNotIn("lost", job.err)
        self.assertEqual(e1.err.count("serving driver"), 1, e1.err)
        if on_executor:
            self.step("+1d")
            self.stop(e1)
            days = set(re.findall(r"(?m)^\d{4}-\d\d-\d\d", e1.err))
            self.assertEqual(len(days), 2, "the clock has jumped")


class Plaintext(SteppedClock, ClusterTest):
    def warnings_at(self, executor, seconds):
        """How often the executor has warned when its clock has passed `seconds`."""
        self.step(f"+{seconds}s")
        for _ in range(2):  # the first request wakes its loop, and timers run before the second
            self.executor_status("e1")
        return executor.err.count("insecure_plaintext: any client")

    def test_plaintext_warning_is_logged_each_minute(self):
        for plain in (True, False):
            self.write_cluster(insecure_plaintext=plain, drain="1h")
            self.step("+0")
            e1 = self.start("e1", "executor", "--cluster", self.config, "--id", "e1", env=self.clock)
            e1.until_says("ready on")
            for seconds, warnings in ((0, 1), (30, 1), (61, 2), (91, 2), (122, 3)):
                with self.subTest(plain=plain, seconds=seconds):
                    self.assertEqual(self.warnings_at(e1, seconds), warnings * plain, e1.err)
            self.stop(e1)


class FewDescriptors(ClusterTest):
    keys = {**ClusterTest.keys, "connect": "1s"}

    def test_flood_with_few_descriptors_uses_little_cpu(self):
        e1 = self.executor("e1")
        resource.prlimit(e1.pid, resource.RLIMIT_NOFILE, (32, 32))
        with contextlib.ExitStack() as stack:
            before = cpu_seconds(e1.pid)
            for _ in range(200):
                stack.enter_context(socket.create_connection(("127.0.0.1", e1.port), DEADLINE_S))
            e1.until_says("raise the limit on open files")
            e1.until_says("waiting for a TLS handshake")
            self.assertLess(cpu_seconds(e1.pid) - before, 0.5 * SLOWDOWN)
            self.until_state("e1", "idle")
        job = self.submit("job", "count-keys", self.ratings(), "out")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.expected())


class StartupErrors(ClusterTest):
    """Conditions under which no process can start: each command reports them and exits at once."""

    def commands(self):
        cluster = ("--cluster", self.config)
        return (("executor", *cluster, "--id", "e1"), ("submit", "empty-tasks", "--tasks", "1", *cluster),
                ("status", *cluster), ("cancel", *cluster, "0123456789abcdef"))

    def assert_rejected(self, *words):
        for command in self.commands():
            with self.subTest(command=command[0]):
                code, _, err = self.run_glint(*command)
                self.assertEqual(code, 78, err)
                for word in words:
                    self.assertIn(word, err)

    def test_readable_secret_is_rejected(self):
        secret = os.path.join(self.directory, "secret")
        self.assertEqual(self.run_glint("secret", "new", secret)[0], 0)
        self.write_cluster(secret_file=secret)
        os.chmod(secret, 0o644)
        self.assert_rejected("error[E0902]", "secret", "chmod")

    def test_non_loopback_host_without_secret_is_rejected(self):
        self.write_cluster({"e1": {"host": "10.77.0.1"}})
        self.assert_rejected("error[E0901]", "glint secret new", "insecure_plaintext", "cluster.toml:")

    def test_unknown_config_key_is_rejected(self):
        self.write_cluster(hartbeat="1s")
        self.assert_rejected("error[E0901]", "did you mean heartbeat?", "cluster.toml:8:1")

    def test_deeply_nested_config_is_rejected(self):
        with open(self.config, "w", encoding="ascii") as file:
            file.write("a = " + "[" * 5000)
        self.assert_rejected("error[E0901]", "cluster.toml:1:21: brackets are nested too deeply")

    def test_wrong_secret_is_tried_three_times(self):
        self.write_cluster(start="300s")
        executors = [self.executor("e1"), self.executor("e2")]
        code, _, err = self.run_glint("submit", "empty-tasks", "--tasks", "1", "--cluster", self.config,
                                      env={"XDG_STATE_HOME": os.path.join(self.directory, "other")})
        self.assertEqual(code, 77, err)
        self.assertIn("error[E0903]", err)
        for e in executors:
            until(lambda e=e: e.err.count("rejected connection") == 3, f"{e.name} logged three")
            self.assertEqual(self.executor_status(e.name)["state"], "idle")


if __name__ == "__main__":
    unittest.main()
