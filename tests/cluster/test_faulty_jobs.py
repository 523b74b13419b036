"""Jobs that crash, or never return, in one process and on a cluster: messages and clean-up.

The program is tests/mistakes/main.c, a complete glint with one job."""
import os
import re
import signal
import subprocess
import unittest

from cluster import GLINT, SLOWDOWN, ClusterTest, free_port, until

MISTAKES = os.path.join(os.path.dirname(os.path.abspath(GLINT)), "tests", "mistakes")
SANITIZED = os.environ.get("GLINT_SANITIZED")
CRASHES = {"segv": signal.SIGSEGV, "bus": signal.SIGBUS, "fpe": signal.SIGFPE, "ill": signal.SIGILL,
           "abort": signal.SIGABRT}
LINES = 50000
FRAME = r"\((make_mistake[.a-z0-9]*|map_each)\+0x[0-9a-f]+\)\[0x[0-9a-f]+\]\s"  # static functions


class FaultyJobTest(ClusterTest):
    program = MISTAKES

    def setUp(self):
        super().setUp()
        self.input = os.path.join(self.directory, "in.txt")
        with open(self.input, "w", encoding="ascii") as file:
            file.write("".join(f"line {i}\n" for i in range(LINES)) + "! here\nline 1\n")

    def words(self, what, *options):
        return ("submit", "mistake", what, self.input, "out", *options)

    def left(self):
        """The files that the job left, without its input and the files of the test."""
        mine = re.compile(r"in\.txt|tmp|cluster\.toml|state|.*\.(out|err)|core.*")
        return [name for name in os.listdir(self.directory) if not mine.fullmatch(name)] + os.listdir(self.tmp)

    def offset_of(self, text):
        """The offset of the input of the task, according to the message."""
        found = re.search(rf"reading {re.escape(self.input)} from byte (\d+)", text)
        self.assertIsNotNone(found, text)
        return int(found[1])

    def touch(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii"):
            pass

    def assert_tells(self, text, number, function="mistake.map"):
        self.assertRegex(text, rf"crashed: signal {int(number)} \(.*task 0 \(attempt \d\) of stage "
                         rf"textFile\.\.reduceByKey, in function {re.escape(function)}")
        self.assertLess(self.offset_of(text), os.path.getsize(self.input))


class Crashes(FaultyJobTest):
    def setUp(self):
        if SANITIZED:
            self.skipTest("sanitizers have handlers of their own")
        super().setUp()

    def test_local_crash_names_task_and_input(self):
        for what, number in CRASHES.items():
            with self.subTest(what=what):
                job = self.start("job", *self.words(what))
                self.assertEqual(job.wait(), -number, job.err)
                self.assertRegex(job.err, "^mistake crashed: ")
                self.assert_tells(job.err, number)
                self.assertRegex(job.err, FRAME)
                self.assertEqual(self.left(), [])

    def test_control_characters_in_input_path_are_escaped(self):
        self.input = os.path.join(self.directory, "state", "in\x1b[2J\n\u009b\u202e.txt")
        self.touch(self.input)
        with open(self.input, "w", encoding="ascii") as file:
            file.write("! here\n")
        job = self.start("job", *self.words("segv"))
        self.assertEqual(job.wait(), -signal.SIGSEGV, job.err)
        shown = r"/state/in\x1b[2J\x0a\xc2\x9b\xe2\x80\xae.txt from byte 0"
        self.assertTrue(job.err.splitlines()[0].endswith(shown), job.err)
        self.assertEqual(self.left(), [])

    def test_stack_overflow_is_reported(self):
        job = self.start("job", *self.words("overflow"))
        self.assertEqual(job.wait(), -signal.SIGSEGV, job.err)
        self.assert_tells(job.err, signal.SIGSEGV)
        self.assertEqual(self.left(), [])

    def test_crash_in_combine_function_is_named(self):
        with open(self.input, "w", encoding="ascii") as file:
            file.write("line\n" * LINES)  # keys that repeat are combined by the map task
        job = self.start("job", *self.words("add-segv"))
        self.assertEqual(job.wait(), -signal.SIGSEGV, job.err)
        self.assert_tells(job.err, signal.SIGSEGV, "mistake.add")
        self.assertEqual(self.left(), [])

    def test_crash_outside_a_task_is_reported(self):
        job = self.start("job", *self.words("job-segv"))
        self.assertEqual(job.wait(), -signal.SIGSEGV, job.err)
        self.assertRegex(job.err, r"mistake crashed: signal 11 \(.*\) at address 0x0, not in a task\n")
        self.assertRegex(job.err, r"mistakes\(run\+0x[0-9a-f]+\)\[0x[0-9a-f]+\]\n")
        self.assertEqual(self.left(), [])

    def test_crash_of_a_driver_has_a_backtrace(self):
        self.executor("e1")
        job = self.start("job", *self.words("job-segv", "--cluster", self.config))
        self.assertEqual(job.wait(), -signal.SIGSEGV, job.err)
        self.assertRegex(job.err, r"mistakes\(run\+0x[0-9a-f]+\)\[0x[0-9a-f]+\]\n")

    def test_addresses_of_a_backtrace_are_those_of_addr2line(self):
        job = self.start("job", *self.words("segv"))
        self.assertEqual(job.wait(), -signal.SIGSEGV, job.err)
        found = re.search(r"mistakes\(map_each\+0x[0-9a-f]+\)\[(0x[0-9a-f]+)\]\n", job.err)
        done = subprocess.run(["addr2line", "-fie", self.program, found[1]], capture_output=True, text=True, check=True)
        self.assertIn("map_each", done.stdout)

    def test_signal_from_another_process_is_named(self):
        job = self.start("job", *self.words(f"wait:{self.directory}/go"))
        until(lambda: os.path.exists(os.path.join(self.directory, "go.started")), "its task runs")
        os.unlink(os.path.join(self.directory, "go.started"))
        job.signal(signal.SIGSEGV)
        self.assertEqual(job.wait(), -signal.SIGSEGV, job.err)
        self.assertIn(f"crashed: signal 11 (Segmentation fault) from process {os.getpid()}\n", job.err)
        self.assertEqual(self.left(), [])

    def test_crash_keeps_the_previous_output(self):
        code, _, err = self.run_glint(*self.words("none"))
        self.assertEqual(code, 0, err)
        before = self.read_output("out")
        job = self.start("job", *self.words("segv", "--overwrite"))
        self.assertEqual(job.wait(), -signal.SIGSEGV, job.err)
        self.assertEqual(self.left(), ["out"])
        self.assertEqual(self.read_output("out"), before)

    def test_cluster_crash_is_reported_and_logged(self):
        executors = [self.executor(name) for name in ("e1", "e2")]
        job = self.start("job", *self.words("segv", "--cluster", self.config, "--executors", "2"))
        self.assertEqual(job.wait(), 1, job.err)
        self.assertIn("error[E0908]", job.err)
        self.assert_tells(job.err, signal.SIGSEGV)
        self.assertIn(" of task 0 of stage 0", job.err)
        until(lambda: not any(e.children() for e in executors), "processes of the job have ended")
        logs = "".join(e.err for e in executors)
        self.assert_tells(logs, signal.SIGSEGV)
        self.assertRegex(logs, r"job=[0-9a-f]+: backtrace: .*" + FRAME)
        self.assertEqual(self.left(), [])

    def test_crash_of_joined_executor_is_reported(self):
        port = free_port()
        job = self.start("job", *self.words("segv", "--listen", f"127.0.0.1:{port}"))
        node = self.start("n1", "executor", "--join", f"127.0.0.1:{port}", "--id", "n1")
        self.assertEqual(node.wait(), -signal.SIGSEGV, node.err)
        self.assertRegex(node.err, "(?m)^n1 crashed: ")
        self.assert_tells(node.err, signal.SIGSEGV)
        job.signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 143, job.err)
        self.assertEqual(self.left(), [])


class WrongArguments(FaultyJobTest):
    def test_options_and_paths_that_are_not_there_are_errors_of_the_job(self):
        undeclared = 'the job of "mistakes submit mistake" reads the option --nowhere, which it does not have'
        for what, cause in {"read-option": undeclared, "read-number": undeclared, "read-double": undeclared,
                            "read-unset": "the job reads --then as a number; it is not set, and has no default",
                            "read-input": "textFile: the path is NULL", "read-save": "saveAsTextFile: the path is NULL",
                            "read-msgpack": "saveAsMsgpackFile: the path is NULL",
                            "read-checkpoint": "checkpoint: the path is NULL",
                            "read-reserve": "reserveOutput: the path is NULL"}.items():
            with self.subTest(what=what):
                code, _, err = self.run_glint(*self.words(what))
                self.assertEqual(code, 70, err)
                self.assertIn("error[E0403]", err)
                self.assertIn(cause, err)
                self.assertEqual(self.left(), [])


class EndlessTasks(FaultyJobTest):
    """Functions that do not return: tasks have 5 s to stop, the job's own code 10 s."""

    waits = (r"(?m)^waiting for task \d of stage 0 \(textFile\.\.reduceByKey; functions mistake\.map, mistake\.add\)"
             r"{} to end, at most [1-5] s; a second signal ends the job at once$")
    here, there = "", r" on e1 \(127\.0\.0\.1\)"

    def setUp(self):
        super().setUp()
        with open(self.input, "w", encoding="ascii") as file:
            file.write("! here\n" + "".join(f"line {i}\n" for i in range(LINES)))
        self.started, self.go = (os.path.join(self.directory, "state", name) for name in ("started", "go"))
        self.touch(os.path.join(self.directory, "state", "is-there"))

    def assert_gave_up(self, job, code, where):
        self.assertEqual(job.wait(), code, job.err)
        self.assertRegex(job.err, self.waits.format(where))
        self.assertRegex(job.err, rf"effect: task 0 of stage 0 \(.*\){where} did not stop within 5 s; no output was")

    def until_started(self, path):
        until(lambda: os.path.exists(path), f"there is {path}")

    def test_local_endless_task_is_abandoned(self):
        codes = {signal.SIGINT: 130, signal.SIGTERM: 143}
        jobs = {n: self.start(f"job-{n}", "submit", "mistake", f"once:{self.started}-{n}", self.input, f"out-{n}")
                for n in codes}
        timed = self.start("timed", *self.words("loop", "--timeout", "2s"))
        for number, job in jobs.items():
            self.until_started(f"{self.started}-{number}")
            job.signal(number)
        for number, job in jobs.items():
            self.assert_gave_up(job, codes[number], self.here)
        self.assert_gave_up(timed, 75, self.here)
        self.assertEqual(self.left(), [])

    def test_second_signal_ends_the_job_at_once(self):
        job = self.start("job", *self.words(f"once:{self.started}"))
        self.until_started(self.started)
        job.signal(signal.SIGINT)
        job.until_says("waiting for task 0")
        job.signal(signal.SIGINT)
        self.assertEqual(job.wait(), 130, job.err)
        self.assertIn("stopped at once: a second signal; its output is removed\n", job.err)
        self.assertNotIn("did not stop", job.err)
        self.assertEqual(self.left(), [])

    def test_late_task_is_waited_for(self):
        job = self.start("job", *self.words(f"wait:{self.go}"))
        self.until_started(f"{self.go}.started")
        job.signal(signal.SIGTERM)
        job.until_says("waiting for task 0")
        self.touch(self.go)
        self.assertEqual(job.wait(), 143, job.err)
        self.assertNotIn("did not stop", job.err)
        self.assertEqual(self.left(), [])

    def test_endless_job_code_is_abandoned(self):
        jobs = [self.start("timeout", *self.words("job-loop", "--timeout", "500ms")),
                self.start("signal", "submit", "mistake", f"job-once:{self.started}", self.input, "out-2")]
        self.until_started(self.started)
        jobs[1].signal(signal.SIGTERM)
        for job, code in zip(jobs, (75, 143)):
            self.assertEqual(job.wait(), code, job.err)
            self.assertIn("stopped at once: the job's own code did not return; its output is removed",
                          job.err)
        self.assertEqual(self.left(), [])

    def test_cluster_endless_task_is_abandoned(self):
        e1 = self.executor("e1")
        job = self.start("job", *self.words(f"once:{self.started}", "--cluster", self.config))
        self.until_started(self.started)
        job.signal(signal.SIGINT)
        self.assert_gave_up(job, 130, self.there)
        until(lambda: not e1.children(), "its process has ended")
        self.assertEqual(self.left(), [])
        self.assertIn("exiting with 1 task still running: task 0 (attempt 0), in function mistake.map\n", e1.err)
        job = self.start("next", *self.words("none", "--cluster", self.config))
        self.assertEqual(job.wait(), 0, job.err)

    def test_superseded_endless_task_does_not_fail_the_job(self):
        """A speculative copy was faster; after six times `dead` its process is killed, and the job continues."""
        self.write_cluster(dead="1500ms")
        executors = [self.executor(name) for name in ("e1", "e2")]
        job = self.start("job", *self.words(f"once:{self.started}", "--then", f"wait:{self.go}", "--split-size", "64K",
                                            "--cluster", self.config, "--executors", "2", "--speculate"))
        until(lambda: any("did not stop within" in e.err for e in executors), "one has given up")
        self.touch(self.go)
        self.assertEqual(job.wait(), 0, job.err)
        stuck = next(e for e in executors if "did not stop within" in e.err)
        self.assertRegex(stuck.err, r"E0701 task \d+ \(attempt \d\), in function mistake\.map was cancelled and "
                                    r"did not stop within")
        self.assertRegex(job.err, r"executor e[12] \S+ lost: task \d+ \(attempt \d\), in function mistake\.map was "
                                  rf"cancelled and did not stop within {9000 * SLOWDOWN:.0f} ms")


class DaemonPipe(FaultyJobTest):
    def test_false_report_kills_the_executor_process(self):
        """A function writes 128 KiB to the pipe between its process and the daemon, and closes it."""
        self.write_cluster()
        e1 = self.executor("e1")
        os.makedirs(os.path.join(self.directory, "state"), exist_ok=True)
        started = os.path.join(self.directory, "state", "started")
        job = self.start("job", *self.words(f"pipe:{started}", "--cluster", self.config, "--executors", "1"))
        self.assertEqual(job.wait(), 0, job.err)
        self.assertTrue(os.path.exists(started))
        self.assertEqual(len(re.findall("executor e1 .* lost", job.err)), 1, job.err)
        self.assertRegex(e1.err, r"killing process \d+: it did not exit in time")
        self.assertLess(len(e1.err), 100 << 10)
        self.assertNotIn("\033", e1.err + job.err)
        self.assertEqual(self.executor_status("e1")["state"], "idle")


if __name__ == "__main__":
    unittest.main()
