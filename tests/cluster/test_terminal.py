"""The output of a job at a terminal: the progress lines, also in stages that a sort runs internally, and what the job
prints between its actions."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import unittest

from cluster import DEADLINE_S, JOBS, ClusterTest, until

CLEAR = "\r\033[J"


def screen(text, columns):
    """What a terminal of this width shows in the end, as lines; it knows only what glint sends."""
    lines, row, column = [[]], 0, 0
    for piece in re.findall(r"\x1b\[\d*[A-Za-z]|.", text, re.DOTALL):
        if piece == "\r":
            column = 0
        elif piece == "\n":
            row += 1
        elif piece == "\x1b[J":
            del lines[row + 1:]
            del lines[row][column:]
        elif piece == "\x1b[K":
            del lines[row][column:]
        elif piece.startswith("\x1b["):
            assert piece.endswith("A"), piece
            row -= int(piece[2:-1])
        else:
            if column == columns:
                row, column = row + 1, 0
            lines.extend([] for _ in range(row + 1 - len(lines)))
            lines[row].extend(" " * (column - len(lines[row])))
            lines[row][column:column + 1] = piece
            column += 1
        lines.extend([] for _ in range(row + 1 - len(lines)))
    return ["".join(line).rstrip() for line in lines]


class Terminal:
    """A glint process in a new terminal; `text` is what it has printed so far."""

    def __init__(self, test, *words, columns=0, env=None):
        ours, theirs = pty.openpty()
        self.bytes, self.file = b"", ours
        self.resize(columns)
        self.popen = subprocess.Popen([test.program, *words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                                      cwd=test.directory, env={**test.env, "TERM": "xterm", **(env or {})})
        os.close(theirs)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    @property
    def text(self):
        return self.bytes.decode("utf-8", "replace")

    def resize(self, columns):
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read(self):
        try:
            while data := os.read(self.file, 65536):
                self.bytes += data
        except OSError:  # the other side is closed
            pass

    def until_shows(self, pattern):
        def shows():
            if self.popen.poll() is not None:
                raise AssertionError(f"it has ended: {self.text!r}")
            return re.search(pattern, self.text)
        until(shows, f"{pattern} is shown: {self.text!r}")

    def wait(self):
        code = self.popen.wait(DEADLINE_S)
        self.reader.join()
        os.close(self.file)
        return code


class Progress(ClusterTest):
    program = JOBS

    def setUp(self):
        super().setUp()
        self.hold, self.words = os.path.join(self.directory, "hold"), os.path.join(self.directory, "words.txt")
        with open(self.words, "w", encoding="ascii") as file:
            file.writelines(f"w{i % 97}\n" for i in range(1000))
        open(self.hold, "w", encoding="ascii").close()

    def start_held(self, *words, hold="--hold-counts", **options):
        job = Terminal(self, "submit", words[0], hold, self.hold, self.words, *words[1:], **options)
        self.addCleanup(job.popen.kill)
        return job

    def release(self, job):
        os.unlink(self.hold)
        return self.wait_for(job)

    def wait_for(self, job):
        """All output of the job."""
        self.assertEqual(job.wait(), 0, job.text)
        return job.text

    def run_held(self, stage, *words):
        """All output; the job continued once its progress line had named this stage."""
        job = self.start_held(*words)
        job.until_shows(rf"\r{stage} .*0/1 tasks  1 running\r")
        return self.release(job)

    def test_progress_shows_the_sort_sample(self):
        text = self.run_held(r"stage 1 reduceByKey\.\.sortByKey\.sample", "words", "out")
        self.assertEqual(len(self.read_output("out").splitlines()), 97)
        self.assertNotIn("running", "\n".join(screen(text, 80)))

    def test_line_has_the_width_of_the_terminal(self):
        job = self.start_held("words", "out", columns=120)
        job.until_shows(r"\rstage 1 reduceByKey\.\.sortByKey\.sample \[>  .*\] 0/1 tasks  1 running\r")
        job.resize(20)
        job.until_shows(r"\x1b\[Jstage 1 0/1 tasks\r")
        job.resize(120)
        job.until_shows(r"0/1 tasks\r.*\x1b\[Jstage 1 reduceByKey.* 1 running\r")
        self.assertNotIn("running", "\n".join(screen(self.release(job), 120)))

    def test_narrow_terminal(self):
        job = self.start_held("words", "out", columns=20)
        job.until_shows(r"\rstage 1 0/1 tasks\r")
        drawn = self.release(job).split("words ", 1)[0]
        self.assertLess(max(map(len, re.split(r"\r|\x1b\[J", drawn))), 20)

    def test_error_begins_on_a_clean_line(self):
        job = self.start_held("words", "out", env={"NO_COLOR": "1"})
        job.until_shows(r"1 running\r")
        os.kill(job.popen.pid, signal.SIGINT)
        os.unlink(self.hold)
        self.assertEqual(job.wait(), 130, job.text)
        self.assertIn(CLEAR + "error[E0702]: interrupted", job.text)
        self.assertEqual(screen(job.text, 80)[0], "error[E0702]: interrupted")

    def test_exit_at_once_clears_the_line(self):
        job = self.start_held("words", "out")
        job.until_shows(r"1 running\r")
        os.kill(job.popen.pid, signal.SIGINT)
        os.kill(job.popen.pid, signal.SIGTERM)
        self.assertEqual(job.wait(), 143, job.text)
        self.assertRegex(screen(job.text, 200)[0], "^glint: stopped at once")

    def test_stages_that_run_at_once_have_a_line_each(self):
        with open(os.path.join(self.directory, "b.txt"), "w", encoding="ascii") as file:
            file.write("w1\n")
        job = self.start_held("both", "b.txt", hold="--hold-lines", env={"NO_COLOR": "1"})
        job.until_shows(r"stage 0 .* 0/1 tasks.*\r\nstage 1 .* 0/1 tasks.*\x1b\[1A\r")
        text = self.release(job)
        self.assertEqual(screen(text, 80)[0], "98 words")
        self.assertNotRegex(text, r"\x1b\[[\d;]*m")

    def test_nothing_without_a_terminal(self):
        plain = self.start("plain", "submit", "words", "--hold-counts", self.hold, self.words, "saved",
                           env={"TERM": "xterm"})
        others = [self.start_held("words", "dumb", env={"TERM": "dumb"}), self.start_held("words", "quiet", "--quiet"),
                  self.start_held("words", "json", "--json")]
        job = self.start_held("words", "shown")  # the last to start: once its line is shown, they would have shown theirs
        job.until_shows(r"1 running\r")
        os.unlink(self.hold)
        self.assertEqual(plain.wait(), 0, plain.err)
        for text in [plain.err + plain.out, *(self.wait_for(other) for other in others)]:
            self.assertNotRegex(text, r"running|\x1b|stage 1 ")
        self.wait_for(job)

    def test_job_output_has_its_own_lines(self):
        text = self.run_held(r"stage 1 reduceByKey\.\.count", "talk")
        self.assertIn(CLEAR + "97 words\r\n", text)
        self.assertRegex(text, r"(\n|\x1b\[J)w96: 10\r\n")


class StatusWatch(ClusterTest):
    """glint status --watch: until the jobs have ended, or a signal."""
    program = JOBS
    executors = {"e1": {"slots": 1}}

    def setUp(self):
        super().setUp()
        self.hold, self.words = os.path.join(self.directory, "hold"), os.path.join(self.directory, "words.txt")
        with open(self.words, "w", encoding="ascii") as file:
            file.writelines(f"w{i % 97}\n" for i in range(1000))
        open(self.hold, "w", encoding="ascii").close()
        self.executor("e1")
        self.job = self.submit("job", "words", "--hold-counts", self.hold, self.words, "out")
        until(lambda: self.executor_status("e1")["jobs"], lambda: f"the job is listed: {self.job.err}")

    def end_job(self):
        os.unlink(self.hold)
        self.assertEqual(self.job.wait(), 0, self.job.err)

    def test_a_line_for_each_change(self):
        watch = self.start("watch", "status", "--watch", "--cluster", self.config)
        until(lambda: re.search(r"^e1 busy, [0-9a-f]{16} words stage 1 0/1 tasks$", watch.out, re.M), "the stage is shown")
        self.end_job()
        self.assertEqual(watch.wait(), 0, watch.err)
        lines = watch.out.splitlines()
        self.assertEqual(lines[-1], "e1 idle")
        self.assertTrue(all(a != b for a, b in zip(lines, lines[1:])), lines)
        self.assertNotIn("\x1b", watch.out)

    def test_objects(self):
        watch = self.start("watch", "status", "--watch", "--json", "--cluster", self.config)
        until(lambda: watch.out.count("\n") >= 2, "two objects are printed")
        self.end_job()
        self.assertEqual(watch.wait(), 0, watch.err)
        objects = [json.loads(line) for line in watch.out.splitlines()]
        self.assertEqual([bool(o["executors"][0]["jobs"]) for o in objects], [True] * (len(objects) - 1) + [False])

    def test_table_on_a_terminal(self):
        watch = Terminal(self, "status", "--watch", "--cluster", self.config, columns=60)
        self.addCleanup(watch.popen.kill)
        watch.until_shows(r"\x1b\[HEXECUTOR .*(\r\n.*)*e1 .* busy")
        self.end_job()
        self.assertEqual(watch.wait(), 0, watch.text)
        last = watch.text.split("\x1b[H")[-1]
        self.assertRegex(last, r"e1 .* idle")
        self.assertLess(max(map(len, last.replace("\x1b[K", "").split("\r\n"))), 60)

    def test_ends_with_a_signal_or_without_executors(self):
        watch = self.start("watch", "status", "--watch", "--cluster", self.config)
        until(lambda: watch.out, "a line is printed")
        watch.signal(signal.SIGINT)
        self.assertEqual(watch.wait(), -signal.SIGINT)
        self.end_job()
        self.stop(self.processes[0])
        code, _, err = self.run_glint("status", "--watch", "--cluster", self.config)
        self.assertEqual(code, 69)
        self.assertIn("none of 1 executors responds", err)


if __name__ == "__main__":
    unittest.main()
