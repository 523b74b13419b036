"""The steps of docs/operations.md for three machines, and for a change of their secret, as they are written there."""
import os
import re
import subprocess
import unittest

from cluster import DEADLINE_S, GLINT
from netns import NetworkTest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MACHINES = ("n1", "n2", "n3")


class Steps(NetworkTest):
    executors = {}  # those of the page

    def setUp(self):
        super().setUp()
        self.env["PATH"] = f"{os.path.dirname(os.path.abspath(GLINT))}:{self.env['PATH']}"
        with open(os.path.join(ROOT, "docs", "operations.md"), encoding="utf-8") as file:
            self.page = file.read()

    def block(self, line):
        """The indented block of the page that begins with this line."""
        found = re.search(r"^    " + re.escape(line) + r".*\n(?:(?:    .*)?\n)*", self.page, re.MULTILINE)
        self.assertIsNotNone(found, line)
        return re.sub(r"(?m)^    ", "", found[0]).replace("/shared", self.directory)

    def shell(self, machine, script):
        with self.node(machine).inside():
            done = subprocess.run(["bash", "-ec", script], cwd=self.directory, env=self.env, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}{done.stderr}")
        return done.stdout

    def start_executors(self):
        config = self.block("secret_file = ")
        for name in MACHINES:
            config = config.replace(f'host = "{name}"', f'host = "{self.node(name).address}"')
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(config)
        words = self.block("glint executor --cluster /shared").split()
        executors = [self.start(machine, *words[1:-1], f"e{machine[1:]}") for machine in MACHINES]
        for executor in executors:
            executor.until_says(f"executor e{executor.name[1:]} ready on ")
        return executors

    def test_steps(self):
        os.remove(os.path.join(self.directory, "secret"))
        self.shell("n1", self.block("cd /shared"))
        executors = self.start_executors()
        printed = self.shell("n3", self.block("glint status --cluster cluster.toml\n    glint submit"))
        self.assertEqual(printed.count(" idle "), 3, printed)
        self.assertEqual(sum(int(line.split("\t")[1]) for line in printed.splitlines() if "\t" in line), 1_250_000)
        create, umask, keep, *steps = self.block("glint secret new new.secret").splitlines()
        self.shell("n1", "\n".join((create, umask, keep)))
        for number, step in enumerate(steps, 1):
            self.shell("n1", f"{umask}\n{step}")
            self.shell("n2", "glint submit --cluster cluster.toml -q --overwrite count-keys --header ratings.tsv counts")
            for executor in executors:  # which reads the file at the next connection
                read = re.findall(r"(\d) secrets? read from", executor.err)
                self.assertEqual(read, ["2", "2", "1"][:number], executor.err)
        for executor in executors:
            self.stop(executor)


if __name__ == "__main__":
    unittest.main()
