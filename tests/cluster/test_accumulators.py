"""Accumulators on a cluster: bit by bit those of one process, also if attempts were lost or ran twice."""
import json
import os
import random
import signal
import unittest

from cluster import JOBS
from faults import FaultTest


class Accumulators(FaultTest):
    program = JOBS

    def setUp(self):
        super().setUp()
        rng = random.Random(3)
        with open(os.path.join(self.directory, "ratings-rows"), "w", encoding="ascii") as file:
            file.writelines(f"k{rng.randrange(50)}\t{'v' * rng.randrange(90)}{i}\n" for i in range(9000))

    def words(self, out):
        return ("grouped", "--split-size", "8K", "--json", "ratings-rows", out)

    def expected(self, rows=None):
        if not os.path.isdir(os.path.join(self.directory, "expected")):
            code, out, err = self.run_glint("submit", *self.words("expected"), "--master", "local[1]")
            self.assertEqual(code, 0, err)
            self.alone = json.loads(out)["accumulators"]
            self.assertEqual(list(self.alone), ["least", "longest", "tenths"])
        return self.read_output("expected")

    def test_same_values_after_a_kill(self):
        hook = self.hook("open", "ratings-rows", 1, "hold")
        e1, _ = self.executor("e1", hooks=[hook]), self.executor("e2")
        job = self.begin()
        hook.until_hit()
        pid = self.executor_pid(e1)
        os.kill(pid, signal.SIGKILL)
        self.until_gone(pid)
        self.ends_well(job)
        report = json.loads(job.out)
        self.assertGreater(report["retries"], 0)
        self.assertEqual(report["accumulators"], self.alone)
        self.assertEqual(self.events("job_end")[0].accumulators, self.alone)
        maps = [e for e in self.events("task") if e.outcome == "done" and e.accumulators]
        self.assertEqual(max(e.accumulators["longest"] for e in maps), self.alone["longest"])


if __name__ == "__main__":
    unittest.main()
