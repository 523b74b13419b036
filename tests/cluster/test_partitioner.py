"""A job's own partitioner: the same parts in one process and on a cluster, as Python computes them."""
import collections
import os
import random
import unittest

from cluster import JOBS, ClusterTest

PARTITIONS = 4


class Partitioner(ClusterTest):
    program = JOBS

    def setUp(self):
        super().setUp()
        rng = random.Random(7)
        words = [letter + "".join(rng.choices("xyz", k=rng.randrange(6))) for letter in "abcdefghijklm" for _ in range(40)]
        self.lines = [" ".join(rng.choices(words, k=rng.randrange(12))) for _ in range(4000)]
        with open(os.path.join(self.directory, "input"), "w", encoding="ascii") as file:
            file.writelines(line + "\n" for line in self.lines)
        for name in self.executors:
            self.executor(name)

    def run_both(self, out, *options):
        """The output of the job and what it returned: in one process, and on a cluster."""
        words = ("submit", "letters", "--split-size", "8K", *options, "input")
        for number, way in enumerate((("--master", "local[2]"), ("--cluster", self.config, "--executors", "2"))):
            yield f"{out}-{number}", self.run_glint(*words, f"{out}-{number}", *way)

    def test_parts_are_those_of_python(self):
        counts = collections.Counter(word for line in self.lines for word in line.split())
        for out, (code, _, err) in self.run_both("out"):
            self.assertEqual(code, 0, err)
            for part in range(PARTITIONS):
                words = sorted(word for word in counts if ord(word[0]) % PARTITIONS == part)
                self.assertGreater(len(words), 50)
                with open(os.path.join(self.directory, out, f"part-{part:05}"), encoding="ascii") as file:
                    self.assertEqual(file.read(), "".join(f"{word}\t{counts[word]}\n" for word in words))

    def test_index_out_of_range_names_the_function(self):
        for out, (code, _, err) in self.run_both("out", "--outside", "k"):
            self.assertEqual(code, 1, err)
            self.assertIn("words.by_letter returned partition 4 of 4", err)
            self.assertIn("error[E0405]", err)
            self.assertFalse(os.path.exists(os.path.join(self.directory, out)))
        for _, (code, _, err) in self.run_both("fine", "--outside", "z"):
            self.assertEqual(code, 0, err)

    def test_explain_shows_the_partitioner(self):
        code, out, err = self.run_glint("explain", "letters", "input", "out")
        self.assertEqual(code, 0, err)
        self.assertIn("  reduceByKey (write) glint.sum_i64 into 4 partitions by words.by_letter", out.splitlines())


if __name__ == "__main__":
    unittest.main()
