"""Jobs that run commands (stream): where it is allowed, the same output everywhere, and no process is left."""
import os
import signal
import unittest

from cluster import ClusterTest, free_port, is_zombie, until

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "streaming")
MAPPER, REDUCER = (os.path.join(EXAMPLES, name) for name in ("mapper.py", "reducer.py"))


class CommandTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.input = os.path.join(self.directory, "in.txt")
        with open(self.input, "w", encoding="ascii") as file:
            file.write("".join(f"word{i % 701} w{i * i % 97}\n" for i in range(20000)))

    def words(self, out, *options):
        return ("stream", "--map", MAPPER, "--reduce", f"python3 {REDUCER}", "--partitions", "3",
                "--split-size", "50K", *options, self.input, out)

    def local(self, out, slots=1, *options):
        code, _, err = self.run_glint("submit", *self.words(out, *options), "--master", f"local[{slots}]")
        self.assertEqual(code, 0, err)
        return self.read_output(out)

    def assert_runs(self, name="allowed"):
        job = self.submit(name, *self.words(name))
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output(name), self.local(f"{name}-expected"))

    def assert_not_allowed(self, job):
        self.assertEqual(job.wait(), 77, job.err)
        self.assertIn("error[E0914]: commands are not allowed here", job.err)
        self.assertIn(f"this executor may not run {MAPPER}", job.err)
        self.assertIn("set allow_commands = true", job.err)

    def secret(self):
        code, _, err = self.run_glint("secret", "new", "secret")
        self.assertEqual(code, 0, err)
        return os.path.join(self.directory, "secret")


class Output(CommandTest):
    def test_same_bytes_with_any_number_of_slots_and_on_a_cluster(self):
        self.executor("e1")
        self.executor("e2")
        for options in ((), ("--combine", REDUCER)):
            expected = self.local(f"one{len(options)}", 1, *options)
            self.assertEqual(self.local(f"four{len(options)}", 4, *options), expected)
            job = self.submit(f"cluster{len(options)}", *self.words(f"cluster{len(options)}", *options),
                              "--executors", "2")
            self.assertEqual(job.wait(), 0, job.err)
            self.assertEqual(self.read_output(f"cluster{len(options)}"), expected)
            self.assertIn("words: mappers", job.err)

    def test_failed_command_is_reported_and_the_executor_continues(self):
        executor = self.executor("e1")
        for words, status, texts in (
                ("python3 -c 'raise ValueError(17)'", 1, ("error[E0407]", "exited with status 1", "ValueError: 17")),
                ("absent", 1, ("error[E0407]", "absent was not found in $PATH")),
                ("sh -c 'kill -9 $$'", 1, ("error[E0408]", "killed by signal 9 (KILL)"))):
            with self.subTest(words):
                job = self.submit("job", "stream", "--map", words, self.input, "out")
                self.assertEqual(job.wait(), status, job.err)
                for text in texts:
                    self.assertIn(text, job.err)
        self.assert_runs()
        self.assertIsNone(executor.popen.poll())


class Permission(CommandTest):
    def test_commands_need_permission(self):
        self.secret()
        for name, keys in (("e1", {"allow_commands": False}), ("e2", {"secret_file": "secret"}),
                           ("e3", {"insecure_plaintext": True}), ("e4", {"allow_commands": False, "drivers_max": 2})):
            with self.subTest(keys):
                self.write_cluster({name: {"slots": 2}}, **keys)
                daemon = self.executor(name)
                self.assert_not_allowed(self.submit("job", *self.words("out")))
                self.assertFalse(os.path.exists(os.path.join(self.directory, "out")))
                other = self.submit("other", "count-keys", self.ratings(), "other")
                self.assertEqual(other.wait(), 0, other.err)
                os.rename(os.path.join(self.directory, "other"), os.path.join(self.directory, f"other-{name}"))
                self.stop(daemon)

    def test_file_of_the_executor_counts(self):
        daemon = self.executor("e1")
        self.write_cluster(allow_commands=False)
        self.assert_runs("driver-without")
        self.stop(daemon)
        self.executor("e1")
        self.write_cluster(allow_commands=True)
        self.assert_not_allowed(self.submit("job", *self.words("out")))

    def test_secret_file_and_allow_commands_runs_them(self):
        self.secret()
        self.write_cluster(secret_file="secret", allow_commands=True)
        self.executor("e1")
        self.assert_runs()

    def test_join_takes_it_as_an_option(self):
        secret = self.secret()
        for options, allowed in (((), True), (("--secret-file", secret), False),
                                 (("--secret-file", secret, "--allow-commands"), True)):
            with self.subTest(options):
                out = f"out{len(options)}"
                address = f"127.0.0.1:{free_port()}"
                driver = self.start("driver", "submit", *self.words(out), "--listen", address, *options[:2])
                executor = self.start("executor", "executor", "--join", address, "--slots", "2", *options)
                if allowed:
                    self.assertEqual(driver.wait(), 0, driver.err)
                    self.assertEqual(self.read_output(out), self.local(f"{out}-expected"))
                else:
                    self.assert_not_allowed(driver)
                self.assertEqual(executor.wait(), 0, executor.err)


class NoProcessIsLeft(CommandTest):
    """tearDown finds a process that is left."""

    executors = {"e1": {"slots": 2}}

    def begin(self, *options):
        """A job whose commands, and what they have started, never end."""
        self.daemon = self.executor("e1")
        command = f"sh -c 'sleep 1000 & : > {self.directory}/pid-$!; : > {self.directory}/pid-$$; sleep 1000'"
        job = self.submit("job", "stream", "--map", command, "--split-size", "100K", *options, self.input, "out")
        until(lambda: len(self.pids()) == 4, "both commands run, and what they have started")
        return job

    def pids(self):
        return [int(name[4:]) for name in os.listdir(self.directory) if name.startswith("pid-")]

    def until_gone(self, pids=None):
        pids = pids or self.pids()
        until(lambda: all(is_zombie(pid) or not os.path.exists(f"/proc/{pid}") for pid in pids),
              "the commands have ended")

    def test_cancelled_job(self):
        job = self.begin()
        code, _, err = self.run_glint("cancel", "--cluster", self.config, "stream")
        self.assertEqual(code, 0, err)
        self.assertEqual(job.wait(), 1, job.err)
        self.until_gone()
        self.assert_runs()

    def test_job_that_times_out(self):
        job = self.begin("--timeout", "3")
        self.assertEqual(job.wait(), 75, job.err)
        self.until_gone()
        self.assert_runs()

    def test_killed_driver(self):
        job = self.begin()
        job.signal(signal.SIGKILL)
        job.wait()
        self.until_gone()
        self.assert_runs()

    def executor_dies_of(self, number):
        job = self.begin()
        first = self.pids()
        for pid in self.daemon.children():
            os.kill(pid, number)
        self.until_gone(first)
        job.signal(signal.SIGINT)
        self.assertEqual(job.wait(), 130, job.err)
        self.until_gone()

    def test_killed_executor_process(self):
        """The kernel kills the commands; the daemon kills what they have started."""
        self.executor_dies_of(signal.SIGKILL)

    def test_crashed_executor_process(self):
        self.executor_dies_of(signal.SIGSEGV)


if __name__ == "__main__":
    unittest.main()
