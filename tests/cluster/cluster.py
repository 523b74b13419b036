"""A cluster of real processes in a temporary directory, for tests.

Every test finally checks that no processes, temporary files or listening ports are left. No test sleeps for a
fixed time: `until` polls, with a generous deadline."""
import contextlib
import ctypes
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

GLINT = os.environ.get("GLINT", "build/release/glint")
JOBS = os.path.join(os.path.dirname(GLINT), "tests", "jobs")  # tests/jobs/main.c
SLOWDOWN = float(os.environ.get("GLINT_SLOWDOWN", "1"))
DEADLINE_S = 180 * SLOWDOWN  # far more than anything takes, also if the machine stops for some seconds
PR_SET_CHILD_SUBREAPER = 36

# glint rejects a cluster file that others can write.
os.umask(0o022)

# A shell's background commands ignore it, and all processes of a test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Orphans become children of this process, so that they can be found.
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def until(condition, what):
    """Waits until the condition is true, and returns its value. `what`: a text, or a function that returns it."""
    end = time.monotonic() + DEADLINE_S
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {DEADLINE_S:.0f} s: {what() if callable(what) else what}")
        time.sleep(0.01)


PORTS = range(10000, 32768)  # below those that the kernel assigns
CLAIMS = []                  # a bound name for each port assigned here, until this process exits


def free_port():
    """A port that is not assigned to another process of these tests, also in other runs at the same time."""
    while True:
        port = random.choice(PORTS)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0glint-test-port-{port}")
            with socket.socket() as s:
                s.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        CLAIMS.append(claim)
        return port


def children_of(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            continue
    return found


def listening_port(pid):
    """The port where the process listens; None: it does not listen."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [row.split() for row in file.readlines()[1:]]
    mine = {os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")}
    ports = [int(row[1].split(":")[1], 16) for row in rows
             if row[3] == "0A" and f"socket:[{row[9]}]" in mine]
    return ports[0] if ports else None


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def make_leftover(path):
    """A work directory like one left by a run of this node that was killed, with a file in it."""
    os.mkdir(path, 0o700)
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        holder = f"{socket.gethostname()}\n{file.read().strip()}\n{int(time.time())}\n"
    for name, text in ((".glint-lock", holder), ("precious", "precious\n")):
        with open(os.path.join(path, name), "w", encoding="utf-8") as file:
            file.write(text)


def open_files(pid):
    """Their number; 0 if only root may read it, because glint protects its memory from other processes of its user."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        return 0


class Process:
    """One glint process; its output goes to files."""

    def __init__(self, test, name, words, env=None, prefix=(), closed=False):
        """`prefix`: a command that executes its arguments. `closed`: the reader of its output has closed it."""
        self.test, self.name, self.port = test, name, None
        self.out_path = os.path.join(test.directory, f"{name}.out")
        self.err_path = os.path.join(test.directory, f"{name}.err")
        with self.open_out(closed) as out, open(self.err_path, "wb") as err:
            self.popen = subprocess.Popen([*prefix, test.program, *words], stdin=subprocess.DEVNULL, stdout=out,
                                          stderr=err, cwd=test.directory, env={**test.env, **(env or {})},
                                          start_new_session=True)
        self.pid = self.popen.pid

    def open_out(self, closed):
        if not closed:
            return open(self.out_path, "wb")
        reads, writes = os.pipe()
        os.close(reads)
        return os.fdopen(writes, "wb")

    @property
    def err(self):
        with open(self.err_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    @property
    def out(self):
        with open(self.out_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def signal(self, number):
        os.kill(self.pid, number)

    def children(self):
        return [pid for pid in children_of(self.pid) if not is_zombie(pid)]

    def wait(self):
        """The exit status; for a signal its negative number."""
        try:
            return self.popen.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {DEADLINE_S:.0f} s: {self.err}") from None

    def until_says(self, pattern):
        def says():
            if self.popen.poll() is not None and not re.search(pattern, self.err):
                raise AssertionError(f"{self.name} ended with {self.popen.returncode}: {self.err}")
            return re.search(pattern, self.err)
        return until(says, f"{self.name} says {pattern}: {self.err}")


class ClusterTest(unittest.TestCase):
    """Set `keys` in a class, or call write_cluster, for another cluster.toml; `program` for another glint."""

    program = GLINT
    keys = {"heartbeat": "200ms", "suspect": "1s", "dead": "2s", "connect": "10s", "start": "10s",
            "drain": "10s"}
    executors = {"e1": {"slots": 1}, "e2": {"slots": 1}}

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="glint-cluster-")
        self.tmp = os.path.join(self.directory, "tmp")
        self.config = os.path.join(self.directory, "cluster.toml")
        os.mkdir(self.tmp)
        self.env = {"PATH": os.environ["PATH"], "HOME": self.directory, "TMPDIR": self.tmp,
                    "XDG_STATE_HOME": os.path.join(self.directory, "state"), "LC_ALL": "C.UTF-8"}
        self.env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        self.processes, self.ports = [], {}
        self.peers = []  # connections of the test process, to be closed before the processes are stopped
        self.write_cluster()

    def write_cluster(self, executors=None, **keys):
        """Times are those of the class, multiplied on slow machines."""
        lines = ["cluster = \"test\""]
        for key, value in {**self.keys, **keys}.items():
            found = re.fullmatch(r"(\d+)(ms|s)", value) if isinstance(value, str) else None
            if found:
                value = f"{int(int(found[1]) * SLOWDOWN)}{found[2]}"
            lines.append(f"{key} = {json.dumps(value)}")
        for name, values in (executors or self.executors).items():
            self.ports.setdefault(name, free_port())
            lines += ["[[executor]]", f"id = \"{name}\"", f"port = {self.ports[name]}"]
            lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    # ---- Processes

    def start(self, name, *words, env=None):
        process = Process(self, name, words, env)
        self.processes.append(process)
        return process

    def executor(self, name, *options, ready=True, env=None):
        process = self.start(name, "executor", "--cluster", self.config, "--id", name, *options, env=env)
        process.port = self.ports[name]
        if ready:
            process.until_says(f"executor {name} ready on ")
        return process

    def submit(self, name, *words):
        return self.start(name, "submit", *words, "--cluster", self.config)

    def run_glint(self, *words, env=None):
        """(exit status, standard output, standard error)"""
        done = subprocess.run([self.program, *words], stdin=subprocess.DEVNULL, capture_output=True,
                              cwd=self.directory, env={**self.env, **(env or {})}, timeout=DEADLINE_S,
                              check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def status(self):
        code, out, err = self.run_glint("status", "--cluster", self.config, "--json")
        self.assertIn(code, (0, 69), err)
        return json.loads(out)

    def executor_status(self, name):
        return next(e for e in self.status()["executors"] if e["id"] == name)

    def until_state(self, name, state):
        return until(lambda: self.executor_status(name)["state"] == state, f"{name} is {state}")

    # ---- Data

    def ratings(self, rows=200000):
        path = os.path.join(self.directory, f"ratings-{rows}.tsv")
        if not os.path.exists(path):
            code, _, err = self.run_glint("generate", "ratings", "--no-header", "--rows", str(rows), path)
            self.assertEqual(code, 0, err)
        return path

    def read_output(self, name):
        directory = os.path.join(self.directory, name)
        parts = sorted(p for p in os.listdir(directory) if p.startswith("part-"))
        return b"".join(open(os.path.join(directory, p), "rb").read() for p in parts)

    def held_job(self):
        """The words of a job of eight tasks, each of which waits until release_job()."""
        pipe, rows = os.path.join(self.directory, "held"), os.path.join(self.directory, "rows")
        if not os.path.exists(pipe):
            os.mkfifo(pipe)
            self.held = os.open(pipe, os.O_RDWR)  # open at both ends, so that a reader waits for a byte
            self.addCleanup(os.close, self.held)
            with open(rows, "w", encoding="ascii") as file:
                file.writelines(f"{i:099}\n" for i in range(8))
        return ("stream", "--map", f"head -c 1 {pipe}", "--split-size", "100", rows, "held-out")

    def release_job(self):
        """Also tasks that run again: there are more bytes than attempts."""
        os.write(self.held, bytes(1000))

    def expected(self, rows=200000):
        code, _, err = self.run_glint("submit", "count-keys", self.ratings(rows), "expected",
                                      "--master", "local[2]", "--overwrite")
        self.assertEqual(code, 0, err)
        return self.read_output("expected")

    # ---- The end

    def stop(self, process, expected=0):
        process.signal(signal.SIGTERM)
        self.assertEqual(process.wait(), expected, process.err)

    def left_processes(self):
        mine = {p.pid for p in self.processes if p.popen.poll() is None}
        for pid in children_of("self"):
            if is_zombie(pid) and pid not in mine:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass
        return [pid for pid in children_of("self") if pid not in mine and not is_zombie(pid)]

    def describe_left_processes(self):
        found = {}
        for pid in self.left_processes():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                found[pid] = file.read().replace(b"\0", b" ").decode("utf-8", "backslashreplace")
        return found

    def assert_nothing_left(self):
        """Called after all processes of the test have exited."""
        until(lambda: not self.left_processes(), lambda: f"no process is left: {self.describe_left_processes()}")
        self.assertEqual(os.listdir(self.tmp), [], "files are left")
        for name, port in self.ports.items():
            with socket.socket() as s:
                self.assertNotEqual(s.connect_ex(("127.0.0.1", port)), 0, f"{name} still listens")

    def tearDown(self):
        wrong = self._outcome.result.failures + self._outcome.result.errors
        failed = any(getattr(test, "test_case", test) is self for test, _ in wrong)
        try:
            for peer in self.peers:
                peer.close()
            for process in self.processes:
                if process.popen.poll() is None:
                    process.signal(signal.SIGCONT)
                    process.signal(signal.SIGTERM)
            for process in self.processes:
                process.wait()
            for process in self.processes:
                self.assertNotRegex(process.err, "Sanitizer|runtime error|Assertion")
            if not failed:
                self.assert_nothing_left()
        finally:
            for process in self.processes:
                if process.popen.poll() is None:
                    process.popen.kill()
                    process.popen.wait()
                if failed:
                    print(f"--- {process.name}\n{process.err}")
            shutil.rmtree(self.directory, ignore_errors=True)
