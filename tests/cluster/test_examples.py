"""The examples, run like a user does: in a copy of their directory, with the program under test."""
import fcntl
import os
import re
import shutil
import signal
import subprocess
import unittest

from cluster import DEADLINE_S, GLINT, ClusterTest, until

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROWS = "1000000"


class ExampleTest(ClusterTest):
    executors = {}  # the examples set their own

    def setUp(self):
        super().setUp()
        self.tree = self.copy("tree")
        self.env["GLINT"] = os.path.abspath(GLINT)

    def copy(self, name):
        tree = os.path.join(self.directory, name)
        for directory in ("examples", ".ci"):
            shutil.copytree(os.path.join(ROOT, directory), os.path.join(tree, directory))
        return tree

    def example(self, *words, tree=None):
        """Runs it in a separate process group, as at a terminal."""
        tree = tree or self.tree
        with open(f"{tree}.out", "wb") as out:
            example = subprocess.Popen(
                [os.path.join(tree, "examples", words[0]), *words[1:]], stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, cwd=self.directory, env=self.env,
                start_new_session=True)
        self.addCleanup(self.end, example)
        return example, out.name

    def end(self, example):
        if example.poll() is None:
            example.terminate()
            example.wait(DEADLINE_S)

    def printed(self, path):
        """Opens the file again: a seek in the file of the example would move its next write."""
        with open(path, encoding="utf-8") as file:
            return file.read()

    def run_example(self, *words, expected=0):
        example, out = self.example(*words)
        code = example.wait(DEADLINE_S)
        self.assertEqual(code, expected, self.printed(out))
        return self.printed(out)

    def readme(self, begin):
        """The block of README.md that contains this line."""
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            blocks = re.findall(r"^```\w*\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
        return next(b for b in blocks if begin in b)


class Quickstart(ExampleTest):
    def test_output_equals_the_readme(self):
        text = self.run_example("quickstart")
        table = self.readme("one Bloom filter per rating")
        self.assertIn(table[table.index("one Bloom filter per rating"):], text)

    def test_own_table_is_accepted(self):
        with open(os.path.join(self.directory, "mine.tsv"), "w", encoding="ascii") as file:
            file.write("id\trating\n")
            file.writelines(f"x{i}\t{i % 10 + 1}.0\n" for i in range(5000))
            file.write("bad row\n")
        text = self.run_example("quickstart", "mine.tsv")
        self.assertRegex(text, r"count-keys skipped: a column is missing +1")
        self.assertRegex(text, r"(?m)^ +10 +\d+ +\d+ +7 ")

    def test_wrong_arguments_are_rejected(self):
        self.assertIn("examples/quickstart RATINGS", self.run_example("quickstart", "--what", expected=64))
        self.assertIn("cannot read", self.run_example("quickstart", "nowhere", expected=66))
        self.assertEqual(sorted(os.listdir(self.tree)), [".ci", "examples"])


class ClusterExample(ExampleTest):
    def test_outputs_are_the_same_after_executor_kill(self):
        text = self.run_example("cluster", ROWS)
        self.assertEqual(len(re.findall(r"(?m)^  \w+ +([0-9a-f]{16})  \1  same$", text)), 5, text)
        self.assertNotIn("DIFFERENT", text)
        self.assertRegex(text, r"(?m)^e2 .* unreachable ")
        self.assertRegex(text, r"(?m)^note: executor e2 .* lost: ")
        self.assertFalse(os.path.exists(os.path.join(self.tree, "build", "cluster", "work")))
        again = self.run_example("cluster", ROWS)
        self.assertIn("same", again)

    def test_two_examples_run_concurrently(self):
        """Several runs in separate directories do not conflict, whichever ports they use."""
        both = [self.example("cluster", ROWS, tree=self.copy(name)) for name in ("one", "other")]
        hosts = set()
        for example, out in both:
            self.assertEqual(example.wait(DEADLINE_S), 0, self.printed(out))
            hosts.update(re.findall(r"(?m)^e\d +(127[\d.]+):", self.printed(out)))
        self.assertEqual(len(hosts), 2, "each has another address")

    def test_interrupt_ends_all_processes(self):
        """Interrupts it at any point."""
        for moment in (r"the four jobs in one process", r"start three executors", r"submit count-keys"):
            with self.subTest(moment):
                example, out = self.example("cluster", ROWS)
                until(lambda o=out, m=moment: re.search(m, self.printed(o)),
                      lambda o=out, m=moment: f"it says {m}, not {self.printed(o)!r}")
                os.killpg(example.pid, signal.SIGINT)
                self.assertEqual(example.wait(DEADLINE_S), 130, self.printed(out))
                until(lambda: not self.left_processes(),
                      lambda: f"no process is left: {self.describe_left_processes()}")
                self.assertFalse(os.path.exists(os.path.join(self.tree, "build", "cluster", "work")))

    def test_second_run_in_the_same_dir_is_rejected(self):
        os.makedirs(os.path.join(self.tree, "build", "cluster"))
        with open(os.path.join(self.tree, "build", "cluster", "lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("another examples/cluster is running",
                          self.run_example("cluster", ROWS, expected=75))

    def test_wrong_arguments_are_rejected(self):
        for words in (("--what",), ("10",), ("1000000", "2")):
            self.assertIn("examples/cluster ROWS", self.run_example("cluster", *words, expected=64))


if __name__ == "__main__":
    unittest.main()
