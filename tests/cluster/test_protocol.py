"""Compares frames.py with docs/protocol.md and with glint: it decodes and rebuilds every frame of a job."""
import os
import re
import threading
import unittest

import frames
from cluster import DEADLINE_S, ClusterTest, free_port

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "protocol.md")

# The lists of fields in each chapter of the page, in order.
CHAPTERS = {
    "REJECT": ("REJECT",), "PING": ("PING",), "REGISTER": ("REGISTER",), "EXECUTOR_ADDED": ("EXECUTOR_ADDED",),
    "REQUEST_EXECUTOR": ("REQUEST_EXECUTOR",), "PROGRAM": ("PROGRAM",),
    "CANCEL": ("CANCEL",), "CANCELLED": ("CANCELLED job",),
    "PROGRESS": ("PROGRESS",), "EXECUTOR_EXITED": ("EXECUTOR_EXITED",),
    "STATUS_REPLY": ("STATUS_REPLY", "STATUS_REPLY job"),
    "GET": ("GET INDEX", "GET MAP_OUTPUT", "GET BROADCAST_BLOCK", "GET RESULT", "GET PROGRAM", "GET CACHED_BLOCK"),
    "BLOCK_REQUEST and BLOCK_ASSIGN": ("BLOCK_REQUEST", "BLOCK_ASSIGN"),
    "Errors": ("ERROR",), "Messages": ("MESSAGE", "JOB", "FAULT", "counter")}
LIST = re.compile(r"`\[(\w+(?:, \w+)+)\]`")


def chapters():
    with open(PAGE, encoding="utf-8") as file:
        parts = re.split(r"^##+ (.*)$", file.read(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def rows(text, columns):
    """The first cells of each row of a table that begins with a number."""
    pattern = r"^\| (\d+) " + r"\| ([^|]*?) " * (columns - 1) + r"\|"
    return [(int(row[0]), *row[1:]) for row in re.findall(pattern, text, re.MULTILINE)]


class Documentation(unittest.TestCase):
    def test_documented_fields_equal_the_builder(self):
        found = {"HELLO": [name for _, name in rows(chapters()["3 Hello"], 2)],
                 "JOB_KEY": re.findall(r"\| JOB_KEY \| `\[(\w+)\]`", chapters()["2 Frames"])}
        for chapter, names in CHAPTERS.items():
            lists = [fields.split(", ") for fields in LIST.findall(chapters()[chapter])]
            self.assertEqual(len(lists), len(names), (chapter, lists))
            found.update(zip(names, lists))
        self.assertEqual(found, {name: list(fields) for name, fields in frames.PAYLOADS.items()})

    def test_documented_types_equal_the_builder(self):
        self.assertEqual(rows(chapters()["2 Frames"], 2), list(enumerate(frames.FRAMES, 1)))
        self.assertEqual(rows(chapters()["Messages"], 2), list(enumerate(frames.MESSAGES, 1)))

    def test_documented_bytes_equal_the_builder(self):
        """The bytes of the examples: a PING, a GET, the header of its DATA."""
        text = chapters()["2 Frames"] + chapters()["GET"]
        ping = bytes.fromhex("93ce3b9aca00ce12c0000002")
        get = bytes.fromhex("96020311 28 ce00010000 ce00040000")
        data = frames.frame(frames.DATA, bytes(262144), head=0, request=7)[:frames.HEADER_BYTES]
        for frame in (frames.frame(frames.PING, ping), frames.frame(frames.GET, get, request=7), data):
            self.assertIn(frame.hex(), re.sub(r"(?m)^ {4}(?: *\d+  )?|   .*$|\s", "", text))


def rebuilt(kind, request, payload, change=None):
    """The frame, with a payload that was decoded and encoded again; `change` makes another result of a DONE."""
    name = frames.FRAMES[kind - 1]
    if name == "GET":
        name = [n for n in frames.PAYLOADS if n.startswith("GET ")][payload[1] - 1]
    if name not in frames.PAYLOADS:
        return frames.frame(kind, payload, request, head=0 if kind == frames.DATA else None)
    fields = frames.decode(name, payload)
    inside = {("MESSAGE", frames.MSG_JOB): "JOB"}.get((name, fields.get("type")))
    if change and (name, fields.get("type")) == ("MESSAGE", frames.MSG_DONE):
        fields["body"] = change(fields["body"])
    if inside:
        fields["body"] = frames.encode(inside, **frames.decode(inside, fields["body"]))
    return frames.frame(kind, frames.encode(name, **fields), request)


class FrameProxy(ClusterTest):
    """The test process is a proxy between driver and executor, and rebuilds each frame."""

    executors = {"e1": {"slots": 2}}

    def setUp(self):
        super().setUp()
        self.write_cluster(insecure_plaintext=True, suspect="20s", dead="30s")  # no heartbeats are sent to the daemon
        self.seen = set()
        self.change = None  # of the result of each DONE

    def dial(self, port, build, **hello):
        peer = frames.Plain(port, DEADLINE_S)
        self.peers.append(peer)
        peer.send(frames.hello(build, **hello))
        self.assertEqual(peer.receive_frame()[0], frames.HELLO)
        return peer

    def dial_both(self, port, build, **hello):
        me = os.urandom(16)
        return [self.dial(port, build, channel=channel, incarnation=me, **hello)
                for channel in (frames.CONTROL_CHANNEL, frames.DATA_CHANNEL)]

    def accept_both(self, daemon, build):
        """The control and the data connection of the process that the daemon starts."""
        listener = frames.Listener(DEADLINE_S)
        self.peers.append(listener)
        daemon.send(frames.frame(frames.REQUEST_EXECUTOR, frames.encode("REQUEST_EXECUTOR", name="carried",
                                                                        driver_port=listener.port)))
        control, data, hello = listener.accept_executor(build)
        self.assertEqual(hello["incarnation"], frames.PAYLOADS["REQUEST_EXECUTOR"]["incarnation"])
        self.assertIsNotNone(daemon.wait_frame(frames.EXECUTOR_STARTED))
        return control, data

    def carry(self, source, target):
        """Forwards all frames from one to the other, until one of them closes."""
        try:
            while (found := source.receive_frame()) is not None:
                kind, payload = found
                self.seen.add(frames.FRAMES[kind - 1])
                if kind == frames.MESSAGE:
                    self.seen.add(frames.MESSAGES[frames.decode("MESSAGE", payload)["type"] - 1])
                if not target.send(rebuilt(kind, source.request, payload, self.change)):
                    break
        finally:
            target.shutdown()

    def run_job(self, *words, expected=0):
        e1 = self.executor("e1")
        build = self.executor_status("e1")["version"]
        port = free_port()
        job = self.start("job", "submit", *words, "--listen", f"127.0.0.1:{port}", "--executors", "1",
                         "--insecure-plaintext")
        job.until_says("waiting for 1 executor on ")
        daemon = self.dial(e1.port, build, role=frames.DRIVER, node="driver")
        process = self.accept_both(daemon, build)
        driver = self.dial_both(port, build, role=frames.EXECUTOR, node="e1", cluster="glint")
        threads = [threading.Thread(target=self.carry, args=pair)
                   for a, b in zip(driver, process) for pair in ((a, b), (b, a))]
        for thread in threads:
            thread.start()
        status = job.wait()
        if expected is not None:
            self.assertEqual(status, expected, job.err)
        for thread in threads:
            thread.join()
        daemon.close()
        return job

    def test_rebuilt_frames_run_a_shuffle(self):
        self.run_job("count-keys", self.ratings(), "out")
        self.assertEqual(self.read_output("out"), self.expected())
        self.assertLessEqual({"REGISTER", "JOB", "STAGE", "MAP_OUTPUTS", "TASK", "DONE", "RELEASE"}, self.seen)

    def test_rebuilt_frames_carry_broadcasts_and_results(self):
        """Large broadcasts, which are fetched in blocks."""
        for words in (("count-keys", self.ratings(), "counts"),
                      ("bloom-build", "0.01", self.ratings(), "counts", "filters"),
                      ("bloom-test", "0.01", self.ratings(), "filters", "counts", "expected")):
            code, _, err = self.run_glint("submit", *words)
            self.assertEqual(code, 0, err)
        self.run_job("bloom-test", "0.01", self.ratings(), "filters", "counts", "out")
        self.assertEqual(self.read_output("out"), self.read_output("expected"))
        self.assertLessEqual({"BROADCAST", "BLOCK_REQUEST", "BLOCK_ASSIGN", "GET", "DATA"}, self.seen)

    def test_rebuilt_frames_carry_a_failure(self):
        path = os.path.join(self.directory, "bad.tsv")
        with open(path, "w", encoding="ascii") as file:
            file.write("a row without columns\n")
        job = self.run_job("count-keys", path, "out", expected=65)
        self.assertIn("error[E0210]", job.err)
        self.assertIn("FAILED", self.seen)

    def run_changed(self, change, *words):
        """A job with such results of tasks; they must not crash the driver."""
        self.change = change
        job = self.run_job(*words, expected=None)
        self.stop(self.processes[0])
        self.processes.clear()
        self.assertNotRegex(job.err, "crashed|Assertion")
        self.assertGreaterEqual(job.popen.returncode, 0, job.err)
        return job

    def test_results_of_tasks_are_checked(self):
        rows = self.ratings(2000)
        code, _, err = self.run_glint("submit", "count-keys", rows, "counts")
        self.assertEqual(code, 0, err)
        code, _, err = self.run_glint("submit", "bloom-build", "0.01", rows, "counts", "filters")
        self.assertEqual(code, 0, err)
        jobs = {"bloom-build": ("0.01", rows, "counts", "out"),
                "fpr-table": (rows, rows, "out"), "membership": (rows, "filters", "out"),
                "admit": (rows, rows, "out")}
        for name, words in jobs.items():
            for byte in (b"\0", b"\xff"):
                for end in (8, 24):
                    with self.subTest(job=name, byte=byte, end=end):
                        self.run_changed(lambda body: body[:-end] + byte * min(end, len(body)), name, *words,
                                         "--overwrite")
        job = self.run_changed(lambda body: body[:-24] + bytes(24) if len(body) > 24 else body, "bloom-build",
                               *jobs["bloom-build"], "--overwrite")
        self.assertIn("error[E0606]", job.err)
        self.assertIn("a task returned an invalid line of sizes", job.err)


if __name__ == "__main__":
    unittest.main()
