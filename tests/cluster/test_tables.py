"""The jobs for tables and text: the same bytes with one slot, with four, and on two executors."""
import os
import random
import unittest

from cluster import ClusterTest

ROWS = 20000
JOBS = {
    "grep": ("grep", "--regex", "7+\\t"),
    "sort": ("sort", "--by", "number:nr,key"),
    "sort-unique": ("sort", "--by", "text", "--unique"),
    "agg": ("agg", "--by", "key", "--sum", "wild,number", "--mean", "wild", "--min", "4", "--count", "--distinct", "text"),
    "agg-all": ("agg", "--sum", "wild", "--count"),
    "agg-statistics": ("agg", "--by", "key", "--median", "wild,number", "--quantile", "wild", "--at", "0.1,0.9", "--stddev",
                       "wild,number", "--first", "text", "--last", "number", "--max", "text:t"),
    "agg-where": ("agg", "--where", "number > 50 AND text <> 't7'", "--by", "key", "--sum", "number", "--count"),
    "select": ("select", "--where", "wild > 0 OR number IN (1, 2)", "--columns", "key, number * 2, wild / 3, text LIKE 't1%'"),
    "top-per": ("top", "--per", "key", "--by", "wild", "3"),
    "top": ("top", "--by", "number", "100"),
    "dedup": ("dedup", "--by", "text,key"),
    "dedup-bloom": ("dedup", "--by", "key", "--bloom", "0.01"),
    "filter-rows": ("filter-rows", "--with", "filters", "--drop"),
}


class TablesTest(ClusterTest):
    def setUp(self):
        super().setUp()
        rng = random.Random(1)
        with open(os.path.join(self.directory, "in"), "w", encoding="utf-8") as file:
            file.write("key\tnumber\ttext\twild\n")
            for _ in range(ROWS):
                file.write(f"k{rng.randrange(700)}\t{rng.choice(('', rng.randrange(99)))}\tt{rng.randrange(50)}\t{rng.gauss(0, 1e30):e}\n")
        with open(os.path.join(self.directory, "members"), "w", encoding="utf-8") as file:
            file.writelines(f"k{i}\n" for i in range(100))
        self.run_or_fail("union", "--p", "0.01", "members", "filters")

    def run_or_fail(self, *words):
        code, _, err = self.run_glint("submit", *words)
        self.assertEqual(code, 0, err)

    def test_same_bytes_in_every_shape(self):
        for name in self.executors:
            self.executor(name)
        for name, (job, *words) in JOBS.items():
            words = (job, "--header", "--split-size", "30K", "--partitions", "3", *words, "in")
            self.run_or_fail(*words, f"{name}-1", "--master", "local[1]")
            self.run_or_fail(*words, f"{name}-4", "--master", "local[4]")
            self.run_or_fail(*words, f"{name}-c", "--cluster", self.config, "--executors", "2")
            expected = self.read_output(f"{name}-1")
            self.assertNotEqual(expected, b"", name)
            self.assertEqual(self.read_output(f"{name}-4"), expected, name)
            self.assertEqual(self.read_output(f"{name}-c"), expected, name)


if __name__ == "__main__":
    unittest.main()
