"""One key with nine tenths of all rows: a join and a grouping in little memory give the bytes of one process, and the
key's rows are not collected in memory.

By default 300,000 rows. Three million, and the memory of each process:

    GLINT_SKEW_SCALE=10 GLINT_SLOWDOWN=20 tests/cluster/run --verbose test_skew"""
import json
import os
import random
import unittest

from cluster import GLINT, JOBS
from measured import MeasuredTest

ROWS = int(float(os.environ.get("GLINT_SKEW_SCALE", "1")) * 300_000)
KEYS, FREQUENT = 5000, 2500
MEMORY_MIB = 32


class SkewTest(MeasuredTest):
    memory_mib = MEMORY_MIB
    executors = {name: {"slots": 1, "memory": f"{MEMORY_MIB}M"} for name in ("e1", "e2")}
    measured = ("submit", "e1", "e2")

    def table(self, name, share):
        """`share` of the rows have one key."""
        rng = random.Random(5)
        with open(self.path(name), "w", encoding="ascii") as file:
            file.writelines(f"key{FREQUENT if rng.random() < share else rng.randrange(KEYS)}\tvalue{i:050}\n"
                            for i in range(ROWS))
        return self.path(name)

    def spilled(self, log):
        """Bytes that the reduce tasks wrote to disk."""
        with open(self.path(log), encoding="utf-8") as file:
            tasks = [e for e in map(json.loads, file) if e["event"] == "task" and e["stage"] == 1]
        self.assertGreater(len(tasks), 0)
        return sum(e["counters"].get("spill bytes", 0) for e in tasks)

    def check(self, *words):
        """The same bytes in one process and on the cluster. Returns what one process spilled."""
        code, _, err = self.run_glint("submit", *words, self.path("alone"), "--master", "local[1]", "--memory",
                                      f"{MEMORY_MIB}M", "--overwrite", "--event-log", "events")
        self.assertEqual(code, 0, err)
        self.job(*words, self.path("out"), "--overwrite")
        self.assertEqual(self.read_output("out"), self.read_output("alone"))
        return self.spilled("events")


class Grouping(SkewTest):
    program = JOBS

    def test_values_of_a_frequent_key_need_no_memory(self):
        spilled = self.check("grouped", self.table("skewed", 0.9))
        counts = dict(line.split("\t")[:2] for line in self.read_output("out").decode().splitlines())
        self.assertEqual(sum(map(int, counts.values())), ROWS)
        self.assertGreater(len(counts), KEYS * 0.99)
        self.assertGreater(int(counts[f"key{FREQUENT}"]), ROWS * 0.89)
        # Half of the memory of the one slot is enough for the other keys.
        self.assertEqual(spilled, 0)


class Join(SkewTest):
    program = GLINT

    def test_join_on_a_frequent_key(self):
        with open(self.path("right"), "w", encoding="ascii") as file:
            file.writelines(f"key{i}\tright{i}\n" for i in range(KEYS))
        words = ("join", "--method", "shuffle", "--partitions", "3")
        self.assertEqual(self.check(*words, self.table("skewed", 0.9), self.path("right")), 0)
        self.assertEqual(self.read_output("out").count(b"\n"), ROWS)
        # The larger side is on the right.
        self.check(*words, self.path("right"), self.path("skewed"))
        self.assertEqual(self.read_output("out").count(b"\n"), ROWS)


if __name__ == "__main__":
    unittest.main()
