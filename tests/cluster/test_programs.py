"""glint of one build submits jobs to daemons of another build, which fetch and run its program."""
import collections
import contextlib
import hashlib
import os
import re
import shutil
import signal
import stat
import tempfile
import unittest

import frames
from cluster import DEADLINE_S, GLINT, ClusterTest, until
from programs import FILES_MAX, ProgramTest, other_build, read, sha256

HINT = "allow_programs in their cluster.toml"


class OtherBuild(ProgramTest):
    """glint of another build submits jobs to daemons of this one."""

    executors = {"e1": {"slots": 2}}

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="glint-program-")
        cls.other = os.path.join(cls.place, "glint")
        other_build(cls.other)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.place)

    @contextlib.contextmanager
    def other_program(self):
        self.program = self.other
        try:
            yield
        finally:
            del self.program

    def submit_other(self, name, *words):
        with self.other_program():
            return self.submit(name, *words)

    def builds(self):
        """This one and the other."""
        def build():
            _, out, _ = self.run_glint("version")
            return re.search(r"[0-9a-f]{40}", out)[0]
        this = build()
        with self.other_program():
            return this, build()

    def count_keys(self, out):
        job = self.submit_other(out, "count-keys", self.ratings(), out)
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output(out), self.read_output("expected"))

    def assert_fails(self, code, *words):
        """A job of the other build fails with these words, and one of the daemon's own build succeeds afterwards."""
        job = self.submit_other("job", "empty-tasks")
        self.assertEqual(job.wait(), code, job.err)
        for word in words:
            self.assertIn(word, job.err)
        own = self.submit("own", "empty-tasks")
        self.assertEqual(own.wait(), 0, own.err)

    def test_job_of_another_build_runs(self):
        self.expected()
        e1 = self.executor("e1")
        this, other = self.builds()
        self.assertNotEqual(this, other)
        program = read(self.other)
        about = f"the driver's program: {len(program)} bytes, SHA-256 {sha256(program)}, build "
        for number, words in enumerate(("fetched", "found in the cache", "found in the cache")):
            self.count_keys(f"out-{number}")
            lines = re.findall(r"peer=127\.0\.0\.1:\d+: (.*) the driver's program: ", e1.err)
            self.assertEqual(lines, ["fetched"] + number * [words])
            self.assertEqual(self.cached(), [sha256(program)])
        self.assertEqual(len(re.findall(about + r"\S+-" + other + "$", e1.err, re.M)), 3)
        path = os.path.join(self.cache, sha256(program))
        self.assertEqual(read(path), program)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o500)
        self.assertEqual(stat.S_IMODE(os.stat(self.cache).st_mode), 0o700)

    def test_job_of_own_build_fetches_nothing(self):
        e1 = self.executor("e1")
        job = self.submit("job", "empty-tasks")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertNotIn("program", e1.err)
        self.assertFalse(os.path.exists(self.cache_home))

    def test_program_without_permission_is_rejected(self):
        code, _, err = self.run_glint("secret", "new", "secret")
        self.assertEqual(code, 0, err)
        for name, keys in (("e1", {"allow_programs": False}), ("e2", {"secret_file": "secret"})):
            with self.subTest(keys):
                self.write_cluster({name: {"slots": 1}}, **keys)
                daemon = self.executor(name)
                self.assert_fails(78, "error[E0904]", f"executor {name} runs build ", *self.builds(), HINT)
                for word in (*self.builds(), "E0904", HINT):
                    self.assertIn(word, daemon.err)
                self.assertFalse(os.path.exists(self.cache_home))
                self.stop(daemon)

    def test_secret_file_and_allow_programs_runs_it(self):
        self.expected()
        self.run_glint("secret", "new", "secret")
        self.write_cluster(secret_file="secret", allow_programs=True)
        self.executor("e1")
        self.count_keys("out")

    def test_two_drivers_fetch_at_the_same_time(self):
        self.expected()
        self.write_cluster(drivers_max=2)
        e1 = self.executor("e1")
        jobs = [self.submit_other(out, "count-keys", self.ratings(), out) for out in ("a", "b")]
        for job in jobs:
            self.assertEqual(job.wait(), 0, job.err)
            self.assertEqual(self.read_output(job.name), self.read_output("expected"))
        self.assertEqual(self.cached(), [sha256(read(self.other))])
        # A driver whose executor is lost asks again, and the program is then found in the cache.
        found = re.findall(r": (fetched|found in the cache) the driver's program: ", e1.err)
        self.assertGreaterEqual(len(found), 2, e1.err)
        self.assertIn(found.count("fetched"), (1, 2), e1.err)

    def test_damaged_file_is_replaced(self):
        self.expected()
        e1 = self.executor("e1")
        self.count_keys("first")
        program = read(self.other)
        path = os.path.join(self.cache, sha256(program))
        half = len(program) // 2
        damages = {"changed": program[:half] + bytes([program[half] ^ 1]) + program[half + 1:],
                   "truncated": program[:half], "empty": b"", "longer": program + b"\0"}
        for number, (name, data) in enumerate(damages.items(), 1):
            with self.subTest(name):
                until(lambda: not e1.children(), "the process has exited")
                os.chmod(path, 0o700)
                with open(path, "wb") as file:
                    file.write(data)
                self.count_keys(name)
                self.assertEqual(e1.err.count("fetched the driver's program"), 1 + number)
                self.assertEqual(self.cached(), [sha256(program)])
                self.assertEqual(read(path), program)
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o500)
        self.assertEqual(e1.err.count(f"removing {path}: its content does not match its SHA-256"), 1)

    def test_unusable_cache_directory_is_reported(self):
        self.write_cluster(start="5s")
        regular = os.path.join(self.directory, "regular")
        with open(regular, "w", encoding="ascii"):
            pass
        for mode, name in ((0o755, "readable"), (0o770, "of-a-group")):
            os.makedirs(os.path.join(self.directory, name, "glint"))
            os.mkdir(os.path.join(self.directory, name, "glint", "programs"))
            os.chmod(os.path.join(self.directory, name, "glint", "programs"), mode)
        os.makedirs(os.path.join(self.directory, "linked", "glint"))
        os.mkdir(os.path.join(self.directory, "private"), 0o700)
        os.symlink(os.path.join(self.directory, "private"), os.path.join(self.directory, "linked", "glint", "programs"))
        private = "/glint/programs must be a directory that only this user can access"
        for home, cause in ((regular, f"{regular}/glint"),
                            (os.path.join(self.directory, "readable"), f"readable{private}"),
                            (os.path.join(self.directory, "of-a-group"), f"of-a-group{private}"),
                            (os.path.join(self.directory, "linked"), f"linked{private}"),
                            ("", "no directory for programs: neither XDG_CACHE_HOME nor HOME is set"),
                            ("relative", "no directory for programs: neither XDG_CACHE_HOME nor HOME is set")):
            with self.subTest(home):
                e1 = self.start("e1", "executor", "--cluster", self.config, "--id", "e1",
                                env={"XDG_CACHE_HOME": home, "HOME": ""})
                e1.until_says("executor e1 ready on ")
                self.assert_fails(69, "error[E0907]", cause)
                self.assertIn(cause, e1.err)
                self.stop(e1)

    def test_xdg_cache_home_is_used(self):
        self.env["XDG_CACHE_HOME"] = os.path.join(self.directory, "xdg")
        self.executor("e1")
        job = self.submit_other("job", "empty-tasks")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.cached(), [])
        self.cache = os.path.join(self.directory, "xdg", "glint", "programs")
        self.assertEqual(self.cached(), [sha256(read(self.other))])

    def test_full_cache_ends_the_job_with_the_reason(self):
        self.write_cluster(start="5s")
        self.executor("e1")
        for path in self.fill_cache(*map(str, range(FILES_MAX))):
            self.lock(path)
        self.assert_fails(69, f"the program cache {self.cache} is full: all programs in it are in use")
        self.assertEqual(self.cached(), list(map(str, range(FILES_MAX))))

    def test_programs_and_plaintext_are_not_allowed_together(self):
        self.write_cluster(allow_programs=True, insecure_plaintext=True)
        daemon = self.executor("e1", ready=False)
        self.assertEqual(daemon.wait(), 78)
        self.assertIn("error[E0901]", daemon.err)
        self.assertIn("allow_programs and insecure_plaintext cannot both be true", daemon.err)

    def test_plaintext_alone_allows_no_programs(self):
        self.write_cluster(insecure_plaintext=True)
        self.executor("e1")
        self.assert_fails(78, "error[E0904]", *self.builds(), HINT)
        self.assertFalse(os.path.exists(self.cache_home))


class FakeDaemon(ClusterTest):
    """A daemon of another build."""

    keys = {**ClusterTest.keys, "suspect": "20s", "dead": "30s"}  # send no heartbeats
    executors = {"e1": {"slots": 1}}

    def setUp(self):
        super().setUp()
        self.write_cluster(insecure_plaintext=True)
        self.listener = frames.Listener(DEADLINE_S, port=self.ports["e1"])
        self.addCleanup(self.listener.close)
        self.begin("job")

    def begin(self, name):
        self.driver = self.submit(name, "empty-tasks")
        self.daemon = self.accept()

    def accept(self):
        """The connection of a driver that has requested an executor."""
        daemon = self.listener.accept()
        self.assertEqual(daemon.wait_frame(frames.HELLO)[0], frames.HELLO)
        daemon.send(frames.hello("0.0.9-aa", role=frames.DAEMON, node="e1"))
        self.assertEqual(daemon.wait_frame(frames.REQUEST_EXECUTOR)[0], frames.REQUEST_EXECUTOR)
        return daemon

    def tearDown(self):
        self.listener.close()
        if self.driver.popen.poll() is None:
            self.driver.signal(signal.SIGINT)
            self.driver.wait()
        super().tearDown()


class OwnProgram(ProgramTest):
    """A program with a job of its own, examples/programs/wordcount.c, on daemons that know nothing of it."""

    executors = {"e1": {"slots": 1}, "e2": {"slots": 1}}
    wordcount = os.path.join(os.path.dirname(GLINT), "tests", "wordcount")

    def setUp(self):
        super().setUp()
        if not os.path.exists(self.wordcount):
            self.skipTest("libglint.a is not built with sanitizers")

    def test_job_runs_on_daemons_of_glint(self):
        text = [f"{n % 7} word{n * n % 1000}  {n % 3}" for n in range(50000)]
        with open(os.path.join(self.directory, "text"), "w", encoding="ascii") as file:
            file.write("\n".join(text) + "\n")
        counts = collections.Counter(word for line in text for word in line.split())
        daemons = [self.executor("e1"), self.executor("e2")]
        self.program = self.wordcount
        for words in ((), ("--cluster", self.config, "--executors", "2", "--split-size", "100K")):
            out = f"out-{len(words)}"
            code, _, err = self.run_glint("wordcount", *words, "text", out)
            self.assertEqual(code, 0, err)
            rows = self.read_output(out).decode().split("\n")[:-1]
            self.assertEqual(dict(row.split("\t") for row in rows), {w: str(n) for w, n in counts.items()})
        self.assertEqual(self.cached(), [sha256(read(self.wordcount))])
        for daemon in daemons:
            self.assertIn("the driver's program", daemon.err)


class ProgramThatDoesNotStart(ProgramTest):
    """tests/mistakes/starts.c, whose driver has the library that it needs beside it."""

    keys = {**ProgramTest.keys, "start": "5s"}
    executors = {"e1": {"slots": 1}}
    starts = os.path.join(os.path.dirname(GLINT), "tests", "starts")

    def setUp(self):
        super().setUp()
        if not os.path.exists(self.starts):
            self.skipTest("libglint.a is not built with sanitizers")
        with open(os.path.join(self.directory, "in.txt"), "w", encoding="ascii") as file:
            file.write("line\n" * 7)

    def run_lines(self, **env):
        """On a daemon with this environment, which runs a job of its own build afterwards."""
        daemon = self.start("e1", "executor", "--cluster", self.config, "--id", "e1", env=env)
        daemon.until_says("executor e1 ready on ")
        self.program = self.starts
        job = self.submit("job", "lines", "in.txt")
        job.wait()
        del self.program
        own = self.submit("own", "empty-tasks")
        self.assertEqual(own.wait(), 0, own.err)
        self.stop(daemon)
        return job, daemon

    def assert_fails(self, cause, **env):
        job, daemon = self.run_lines(**env)
        self.assertEqual(job.popen.returncode, 69, job.err)
        self.assertIn("error[E0907]", job.err)
        self.assertRegex(job.err, rf"cause: e1 \(127\.0\.0\.1:\d+\): {cause}\n")
        return job, daemon

    def test_reason_is_reported_and_the_daemon_continues(self):
        job, daemon = self.assert_fails("its process exited with status 127: a library that the program needs is missing")
        self.assertIn("hint: install it there: the node's log has its name", job.err)
        self.assertIn("libbeside.so: cannot open shared object file", daemon.err)
        beside = {"LD_LIBRARY_PATH": os.path.dirname(self.starts)}
        self.assert_fails(r"killed by signal 6 \(Aborted\)", MISTAKE="start", **beside)
        self.assert_fails(r"killed by signal 11 \(Segmentation fault\)", MISTAKE="main", **beside)
        self.assert_fails("its process exited with status 3", MISTAKE="exit", **beside)
        job, _ = self.run_lines(**beside)
        self.assertEqual((job.popen.returncode, job.out), (0, "lines\t7\n"), job.err)


class RejectedRequests(FakeDaemon):
    keys = {**FakeDaemon.keys, "start": "5s"}

    def test_reason_of_a_rejection_is_reported_while_another_request_waits(self):
        self.daemon.send(frames.frame(frames.REJECT, frames.encode("REJECT", code=-601, cause="the cache is full",
                                                                   hint="remove something")))
        self.accept()
        self.assertEqual(self.driver.wait(), 69)
        self.assertRegex(self.driver.err, r"cause: e1 \(127\.0\.0\.1:\d+\): the cache is full")
        self.assertIn("hint: remove something", self.driver.err)


class DriversProgram(FakeDaemon):
    """The daemon requests the driver's program."""

    def get(self, request=1, **fields):
        self.daemon.send(frames.frame(frames.GET, frames.encode("GET PROGRAM", **fields), request))
        kind, payload = self.daemon.wait_frame(frames.DATA, frames.FETCH_ERROR)
        self.assertEqual(self.daemon.request, request)
        return kind, payload

    def request_program(self):
        self.daemon.send(frames.frame(frames.PROGRAM_REQUEST))
        return frames.decode("PROGRAM", self.daemon.wait_frame(frames.PROGRAM)[1])

    def assert_no_bytes(self, cause, **fields):
        kind, payload = self.get(**fields)
        self.assertEqual(kind, frames.FETCH_ERROR)
        self.assertIn(cause, frames.unpack(payload)[0][0][1])

    def test_driver_sends_its_own_program(self):
        program = read(GLINT)
        for _ in range(2):
            self.assertEqual(self.request_program(),
                             {"size": len(program), "sha256": hashlib.sha256(program).digest()})
        for offset in range(0, len(program), frames.PROGRAM_CHUNK_BYTES):
            size = min(frames.PROGRAM_CHUNK_BYTES, len(program) - offset)
            kind, payload = self.get(offset=offset, size=size, request=100 + offset)
            self.assertEqual(kind, frames.DATA)
            self.assertEqual(payload, program[offset:offset + size])
        for offset, size in ((len(program), 1), (len(program) - 1, 2), (1 << 62, 1), (0, frames.PROGRAM_CHUNK_BYTES + 1)):
            self.assert_no_bytes("requested range is outside the data", offset=offset, size=size)

    def test_driver_sends_nothing_before_the_request(self):
        self.assert_no_bytes("the driver's program was not requested")
        self.request_program()
        self.assertEqual(self.get()[0], frames.DATA)

    def test_driver_sends_its_program_after_its_path_was_replaced(self):
        self.driver.signal(signal.SIGINT)
        self.driver.wait()
        self.daemon.until_closed()
        self.program = os.path.join(self.directory, "glint")
        shutil.copy(GLINT, self.program)
        digest = hashlib.sha256(read(self.program)).digest()
        self.begin("again")
        os.remove(self.program)
        with open(self.program, "wb") as file:
            file.write(b"another")
        self.assertEqual(self.request_program()["sha256"], digest)
        self.assertEqual(self.get(size=1000), (frames.DATA, read(GLINT)[:1000]))


if __name__ == "__main__":
    unittest.main()
