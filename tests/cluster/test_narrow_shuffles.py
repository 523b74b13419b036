"""Joins of RDDs that are partitioned alike: fewer stages, and the bytes of a shuffle of everything, in one process, on a
cluster, and after an executor died."""
import os
import random
import signal
import unittest

from cluster import JOBS
from faults import FaultTest


class NarrowShuffles(FaultTest):
    program = JOBS

    def setUp(self):
        super().setUp()
        rng = random.Random(11)
        words = ["".join(rng.choices("abcdefgh", k=rng.randrange(1, 5))) for _ in range(900)]
        with open(os.path.join(self.directory, "ratings-words"), "w", encoding="ascii") as file:
            file.writelines(" ".join(rng.choices(words, k=rng.randrange(9))) + "\n" for _ in range(6000))

    def words(self, out):
        return ("joined", "--split-size", "8K", *self.options, "ratings-words", out)

    def expected(self, rows=None):
        """All inputs are shuffled."""
        name = "expected" + "".join(self.options)
        if not os.path.isdir(os.path.join(self.directory, name)):
            code, _, err = self.run_glint("submit", *self.words(name), "--forget", "--master", "local[2]", "-q")
            self.assertEqual(code, 0, err)
            self.assertGreater(len(self.read_output(name)), 5000)
        return self.read_output(name)

    def plan(self, *more):
        code, out, err = self.run_glint("explain", *self.words("out"), *more)
        self.assertEqual(code, 0, err)
        return [line.strip() for line in out.splitlines()]

    def test_only_the_unpartitioned_side_is_shuffled(self):
        for options, exchanges in (((), 1), (("--again",), 0)):
            self.options = options
            plan, all_shuffled = self.plan(), self.plan("--forget")
            self.assertIn("fullOuterJoin (no shuffle)", plan)
            self.assertEqual(plan.count("partitionBy (write) into 4 partitions"), exchanges)
            self.assertIn("fullOuterJoin (write) into 4 partitions", all_shuffled)
            self.assertNotIn("fullOuterJoin (no shuffle)", all_shuffled)

    def test_name_is_shown(self):
        self.options = ("--name", "caf\u00e9 totals")
        self.assertIn('fullOuterJoin "caf\u00e9 totals" (no shuffle)', self.plan())
        self.assertIn('fullOuterJoin "caf\u00e9 totals" (write) into 4 partitions', self.plan("--forget"))
        code, _, err = self.run_glint("submit", *self.words("out"), "--master", "local[2]", "--event-log", "events", "-v")
        self.assertEqual(code, 0, err)
        self.assertIn("reduceByKey..caf\u00e9 totals..saveAsTextFile", err)
        stages = [e.name for e in self.events("stage")]
        self.assertIn("reduceByKey..caf\u00e9 totals..saveAsTextFile", stages)
        for name in ("", "a\nb", "x" * 128):
            self.options = ("--name", name)
            code, _, err = self.run_glint("explain", *self.words("out"))
            self.assertNotEqual(code, 0)
            self.assertIn("a name must have 1 to 127 bytes of UTF-8, without control characters", err)

    def same_after_a_kill(self, *options):
        self.options = options
        hook = self.hook("open", "ratings-words", 1, "hold")
        e1, _ = self.executor("e1", hooks=[hook]), self.executor("e2")
        job = self.begin()
        hook.until_hit()
        pid = self.executor_pid(e1)
        os.kill(pid, signal.SIGKILL)
        self.until_gone(pid)
        self.ends_well(job)
        self.assertIn("executor e1 (127.0.0.1) lost", job.err)

    def test_one_side_shuffled_same_bytes_after_a_kill(self):
        self.same_after_a_kill()

    def test_no_side_shuffled_same_bytes_after_a_kill(self):
        self.same_after_a_kill("--again")


if __name__ == "__main__":
    unittest.main()
