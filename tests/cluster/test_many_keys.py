"""Filters of far more keys than can be broadcast: no process has the sizes or the filters of all in memory.

By default 20,000 keys of 3 rows. A million keys of 20 rows each, in executors with 256 MB, and the memory of
each process:

    GLINT_KEYS_SCALE=1 GLINT_SLOWDOWN=20 tests/cluster/run --verbose test_many_keys"""
import os
import unittest

from measured import MeasuredTest

SCALE = float(os.environ.get("GLINT_KEYS_SCALE", "0.02"))
KEYS = int(1e6 * SCALE)
ROWS_PER_KEY = 20 if SCALE >= 1 else 3
MEMORY_MIB = 256 if SCALE >= 1 else 32


class ManyKeys(MeasuredTest):
    memory_mib = MEMORY_MIB
    executors = {name: {"slots": 1, "memory": f"{MEMORY_MIB}M"} for name in ("e1", "e2")}
    measured = ("submit", "e1", "e2")

    def table(self, name, rows_per_key):
        """Rows of all keys, mixed: 7,919 is coprime to their number."""
        with open(self.path(name), "w", encoding="ascii") as file:
            for begin in range(0, KEYS * rows_per_key, 10000):
                file.writelines(f"{name}{i}\t{i * 7919 % KEYS}\n"
                                for i in range(begin, min(begin + 10000, KEYS * rows_per_key)))
        return self.path(name)

    def parts(self, name):
        """Each part's bytes, in order."""
        for part in sorted(os.listdir(self.path(name))):
            with open(os.path.join(self.path(name), part), "rb") as file:
                yield part, file.read()

    def sums(self, name):
        """(hits, rows, keys) of a report."""
        hits = rows = keys = 0
        for _, data in self.parts(name):
            for line in data.decode().splitlines():
                words = line.replace("(", "").replace(")", "").split(", ")
                hits, rows, keys = hits + int(words[1]), rows + int(words[2]), keys + 1
        return hits, rows, keys

    def alone(self, name, *words):
        """The same in one process, into NAME."""
        code, _, err = self.run_glint("submit", *words, self.path(name), "--master", "local[2]", "--memory",
                                      f"{max(2 * MEMORY_MIB, 64)}M")
        self.assertEqual(code, 0, err)

    def test_many_keys_use_bounded_memory(self):
        rows, unseen, number = self.table("in", ROWS_PER_KEY), self.table("un", 2), ("--key", "int")
        options = (*number, "--partitions", "5")
        self.job("count-keys", *number, rows, self.path("counts"))
        self.job("params", *number, rows, self.path("params"))
        build = ("0.01", rows, self.path("counts"))
        self.job("bloom-build", *options, *build, self.path("filters"))
        self.job("bloom-build", *options, "--params", self.path("params"), rows, self.path("sized"))
        self.alone("alone", "bloom-build", *options, *build)
        for name in ("sized", "alone"):
            self.assertTrue(list(self.parts("filters")) == list(self.parts(name)), name)

        test = (*options, "0.01")
        self.job("bloom-test", *test, rows, self.path("filters"), self.path("counts"), self.path("found"))
        self.assertEqual(self.sums("found"), (KEYS * ROWS_PER_KEY, KEYS * ROWS_PER_KEY, KEYS))
        self.job("bloom-test", *test, unseen, self.path("filters"), self.path("counts"), self.path("rates"))
        self.alone("rates-alone", "bloom-test", *test, unseen, self.path("filters"), self.path("counts"))
        self.assertTrue(list(self.parts("rates")) == list(self.parts("rates-alone")))
        hits, asked, keys = self.sums("rates")
        self.assertEqual((asked, keys), (2 * KEYS, KEYS))
        self.assertLess(hits / asked, 0.03)
        self.assertGreater(hits, 0)

        code, out, err = self.run_glint("filter", "info", self.path("filters"))
        self.assertEqual((code, out.count("\n")), (0, KEYS + 1), err)
        code, out, err = self.run_glint("filter", "query", self.path("filters"), "in1")
        self.assertEqual(code, 0, err)
        self.assertIn("7919", out.strip().split("\t")[1].split(","))


if __name__ == "__main__":
    unittest.main()
