"""Shared by the tests of faults: a job with a known output, and hooks (hooks.c) that inject a fault at a given
point."""
import json
import os
import subprocess
import tempfile
import unittest

from cluster import ClusterTest, Process, children_of, is_zombie, open_files, until

HERE = os.path.dirname(os.path.abspath(__file__))


def build_hooks():
    """Compiles the library for LD_PRELOAD, once per process. Removed with this process's directory for it."""
    if not hasattr(build_hooks, "path"):
        build_hooks.directory = tempfile.TemporaryDirectory(prefix="glint-hooks-")
        build_hooks.path = os.path.join(build_hooks.directory.name, "hooks.so")
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", build_hooks.path,
                        os.path.join(HERE, "hooks.c")], check=True)
    return build_hooks.path


class Hook:
    """A rule that acts once. `hit` says that it did; a process that it pauses continues after `go`."""

    def __init__(self, test, call, what, number, action):
        test.hooks.append(self)
        self.marker = os.path.join(test.directory, f"hook-{len(test.hooks)}")
        self.rule = f"{call} {what} {number} {action} {self.marker}"

    @property
    def hit(self):
        return os.path.exists(self.marker)

    def until_hit(self):
        until(lambda: self.hit, f"{self.rule} has struck")

    def go(self):
        with open(self.marker + ".go", "w", encoding="ascii"):
            pass


class Disk:
    """A file system of this size, in a new mount namespace; `prefix` starts a command there.

    This process sees it at `seen`. Closing it ends the namespace."""

    def __init__(self, test, name, size):
        self.path = os.path.join(test.directory, name)
        os.mkdir(self.path)
        self.holder = subprocess.Popen(
            ["unshare", "-Urm", "sh", "-c", f"mount -t tmpfs -o size={size} none '{self.path}' && echo ready "
             "&& exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        test.holders.append(self.holder)
        test.addCleanup(self.close)
        if self.holder.stdout.readline() != b"ready\n":
            raise unittest.SkipTest("no mount namespaces")
        self.prefix = ["nsenter", "-t", str(self.holder.pid), "-U", "-m", "--preserve-credentials",
                       f"--wdns={test.directory}"]
        self.seen = f"/proc/{self.holder.pid}/root{self.path}"

    def close(self):
        self.holder.communicate()


class Event(dict):
    """A line of an event log; its fields are attributes."""

    __getattr__ = dict.get


class FaultTest(ClusterTest):
    """Jobs of a few hundred milliseconds on e1 and e2, with one slot each."""

    rows = 200000
    split = "500K"  # 8 map tasks
    maps = 8
    spilling = {"slots": 1, "memory": "16M"}  # map outputs go to files

    def setUp(self):
        self.hooks, self.holders = [], []
        super().setUp()
        self.addCleanup(lambda: [hook.go() for hook in self.hooks if os.path.isdir(self.directory)])

    def tearDown(self):
        for hook in self.hooks:
            hook.go()
        super().tearDown()

    # ---- Processes

    def hooked(self, *hooks, env=None):
        """The environment of a process with these hooks, or rules."""
        rules = "\n".join(getattr(hook, "rule", hook) for hook in hooks)
        options = self.env.get("ASAN_OPTIONS", "")
        return {"GLINT_HOOKS": rules, "LD_PRELOAD": build_hooks(), **(env or {}),
                "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0:handle_segv=0".lstrip(":")}

    def executor(self, name, *options, ready=True, hooks=(), env=None, disk=None):
        process = self.start(name, "executor", "--cluster", self.config, "--id", name, *options,
                             env=self.hooked(*hooks, env=env) if hooks else env, disk=disk)
        process.port = self.ports[name]
        if ready:
            process.until_says(f"executor {name} ready on ")
            process.files = open_files(process.pid)
        return process

    def hook(self, call, what, number, action):
        return Hook(self, call, what, number, action)

    def in_map(self, number=1):
        """Pauses a map task when it opens its input."""
        return self.hook("open", "ratings-", number, "hold")

    def start(self, name, *words, env=None, disk=None, closed=False):
        """`disk`: is mounted at its directory."""
        process = Process(self, name, words, env, disk.prefix if disk else [], closed)
        self.processes.append(process)
        return process

    def left_processes(self):
        held = {holder.pid for holder in self.holders}
        return [pid for pid in super().left_processes() if pid not in held]

    # ---- Jobs

    def counts(self):
        if not os.path.isdir(os.path.join(self.directory, "counts")):
            code, _, err = self.run_glint("submit", "count-keys", self.ratings(self.rows), "counts",
                                          "--master", "local[2]", "-q")
            self.assertEqual(code, 0, err)
        return os.path.join(self.directory, "counts")

    def words(self, out):
        """A job that shuffles as much as it reads, to four reducers."""
        return ("bloom-build", "--strategy", "indexes", "--partitions", "4", "--split-size", self.split,
                "0.01", self.ratings(self.rows), self.counts(), out)

    def expected(self, rows=None):
        if not hasattr(self, "expected_bytes"):
            words = self.words("expected")
            code, _, err = self.run_glint("submit", *words, "--master", "local[2]", "-q")
            self.assertEqual(code, 0, err)
            self.expected_bytes = self.read_output("expected")
            self.assertGreater(len(self.expected_bytes), 500)
        return self.expected_bytes

    def begin(self, *options, out="out", name="job", **how):
        """Starts the job on all executors."""
        return self.start(name, "submit", *self.words(out), "--cluster", self.config, "--executors",
                          str(len(self.ports)), "--event-log", "events", *options, **how)

    def ends_well(self, job):
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.expected())
        self.assertEqual(sorted(n for n in os.listdir(self.directory) if n.startswith(".")), [])

    def ends_badly(self, job, status, *texts):
        """And leaves no output."""
        self.assertEqual(job.wait(), status, job.err)
        for text in texts:
            self.assertIn(text, job.err)
        self.assertEqual([n for n in os.listdir(self.directory) if n == "out" or n.startswith(".")], [])

    def serves_the_next(self):
        """All executors work as before."""
        for name in self.ports:
            self.until_state(name, "idle")
        job = self.begin(out="next-out", name="next")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("next-out"), self.expected())
        for process in self.processes:
            if process.port is not None and process.popen.poll() is None:
                until(lambda p=process: not p.children(), "no executor process is left")
                until(lambda p=process: open_files(p.pid) <= p.files, "no descriptor is left")

    def executor_pid(self, daemon):
        """The process that the daemon runs for a job."""
        return until(daemon.children, f"{daemon.name} runs an executor process")[0]

    def until_gone(self, pid):
        until(lambda: is_zombie(pid), f"process {pid} has ended")

    def until_passed(self, ms, name):
        """The duration of a fault, by the clock of an executor."""
        started = self.executor_status(name)["uptime_ms"]
        until(lambda: self.executor_status(name)["uptime_ms"] >= started + ms, f"{ms} ms have passed for {name}")

    # ---- The event log

    def events(self, kind=None):
        """All events, or those of a kind; without a line that is still being written."""
        try:
            with open(os.path.join(self.directory, "events"), encoding="utf-8") as file:
                lines = file.read().split("\n")[:-1]
        except FileNotFoundError:
            lines = []
        found = [Event(json.loads(line)) for line in lines]
        return [e for e in found if kind in (None, e.event)]

    def map_stage(self):
        """The number of the stage that reads the ratings."""
        stages = [e for e in self.events("stage") if e.tasks == self.maps]
        return stages[0].stage if stages else None

    def map_attempts(self, outcome=None):
        stage = self.map_stage()
        return [e for e in self.events("task")
                if e.stage == stage and stage is not None and outcome in (None, e.outcome)]

    def until_maps_done(self, count):
        until(lambda: len(self.map_attempts("done")) >= count, f"{count} map tasks are done")

    def executor_numbers(self, name):
        return {e.executor for e in self.events("executor") if e.state == "joined" and e.name == name}

    def retries(self):
        return len(self.events("retry"))
