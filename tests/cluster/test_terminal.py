"""The output of a job at a terminal: the progress line, also in stages that a sort runs internally, and what the job
prints between its actions."""
import os
import pty
import re
import subprocess
import threading
import unittest

from cluster import DEADLINE_S, JOBS, ClusterTest, until

CLEAR = "\r\033[K"


class Terminal:
    """A glint process in a new terminal; `text` is what it has printed so far."""

    def __init__(self, test, *words):
        ours, theirs = pty.openpty()
        self.popen = subprocess.Popen([test.program, *words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                                      cwd=test.directory, env={**test.env, "TERM": "xterm"})
        os.close(theirs)
        self.bytes, self.file = b"", ours
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    @property
    def text(self):
        return self.bytes.decode("utf-8", "replace")

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

    def run_held(self, stage, *words):
        """All output; the job continued once its progress line had named this stage."""
        job = Terminal(self, "submit", words[0], "--hold-counts", self.hold, self.words, *words[1:])
        self.addCleanup(job.popen.kill)
        try:
            job.until_shows(rf"\r{stage} .*0/1 tasks  1 running\x1b\[K")
        finally:
            os.unlink(self.hold)
        self.assertEqual(job.wait(), 0, job.text)
        return job.text

    def test_progress_shows_the_sort_sample(self):
        self.run_held(r"stage 1 reduceByKey\.\.sortByKey\.sample", "words", "out")
        self.assertEqual(len(self.read_output("out").splitlines()), 97)

    def test_job_output_has_its_own_lines(self):
        text = self.run_held(r"stage 1 reduceByKey\.\.count", "talk")
        self.assertIn(CLEAR + "97 words\r\n", text)
        self.assertRegex(text, r"(\n|\x1b\[K)w96: 10\r\n")


if __name__ == "__main__":
    unittest.main()
