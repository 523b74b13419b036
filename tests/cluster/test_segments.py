"""Filters larger than the memory of any process, built and tested in segments by two executors.

COUNTS claims far more ids than there are rows, so the filters are large and the rows few. By default
everything is a hundredth of

    GLINT_SEGMENTS_SCALE=1 GLINT_SLOWDOWN=20 tests/cluster/run --verbose test_segments

which claims 1.0e9 ids, 1.2 GB of filters, and adds 20 M rows, with 256 MB per executor. It needs 10 GB
in $TMPDIR, and prints the peak memory of each process."""
import os
import unittest

from measured import MeasuredTest

SCALE = float(os.environ.get("GLINT_SEGMENTS_SCALE", "0.01"))
ROWS = int(20e6 * SCALE)
CLAIMED_PER_ROW = 50
SEGMENT_BITS = 1 << (24 if SCALE >= 1 else 20)
MEMORY_MIB = 256 if SCALE >= 1 else 32


class Segments(MeasuredTest):
    memory_mib = MEMORY_MIB
    executors = {name: {"slots": 1, "memory": f"{MEMORY_MIB}M"} for name in ("e1", "e2")}

    def table(self, seed, prefix=None):
        path = self.path(f"table-{seed}.tsv")
        code, _, err = self.run_glint("generate", "ratings", "--no-header", "--rows",
                                      str(ROWS if prefix is None else ROWS // 10), "--seed", str(seed), path)
        self.assertEqual(code, 0, err)
        if prefix is None:
            return path
        with open(path, encoding="ascii") as file, open(path + ".other", "w", encoding="ascii") as other:
            other.writelines(prefix + line[2:] for line in file)
        return path + ".other"

    def claim(self, counts):
        """Multiplies each count: (sum, path)."""
        total = 0
        with open(self.path("claimed"), "w", encoding="ascii") as claimed:
            for name in sorted(os.listdir(counts)):
                with open(os.path.join(counts, name), encoding="ascii") as part:
                    for key, count in (line.split() for line in part):
                        total += int(count) * CLAIMED_PER_ROW
                        claimed.write(f"{key}\t{int(count) * CLAIMED_PER_ROW}\n")
        return total, self.path("claimed")

    def sums(self, directory):
        """(hits, rows) of all keys."""
        hits = rows = 0
        for name in sorted(os.listdir(directory)):
            with open(os.path.join(directory, name), encoding="ascii") as part:
                for line in part:
                    words = line.replace("(", "").replace(")", "").split(", ")
                    hits, rows = hits + int(words[1]), rows + int(words[2])
        return hits, rows

    def test_filters_larger_than_memory_are_built_and_tested(self):
        rows, other = self.table(1), self.table(2, "uu")
        self.job("count-keys", rows, self.path("counts"))
        total, claimed = self.claim(self.path("counts"))
        self.assertEqual(total, ROWS * CLAIMED_PER_ROW)
        self.job("bloom-build", "--strategy", "segments", "--segment-size", str(SEGMENT_BITS), "--scheme",
                 "wide", "--partitions", "8", "0.01", rows, claimed, self.path("filters"))
        size = sum(os.path.getsize(os.path.join(self.path("filters"), name))
                   for name in os.listdir(self.path("filters")))
        self.assertGreater(size, total * 1.19)
        self.job("bloom-test", "0.01", rows, self.path("filters"), claimed, self.path("found"))
        self.assertEqual(self.sums(self.path("found")), (ROWS, ROWS))
        # A filter with a fiftieth of the ids that it is sized for admits (ln 2 / 50)^7 of others: none.
        self.job("bloom-test", "0.01", other, self.path("filters"), claimed, self.path("others"))
        self.assertEqual(self.sums(self.path("others")), (0, ROWS // 10))
        if SCALE < 1:
            self.same_as_in_one(rows, claimed)

    def same_as_in_one(self, rows, claimed):
        """The same bits as with another strategy in one process."""
        job = self.start("whole", "submit", "bloom-build", "--strategy", "partials", "--scheme", "wide",
                         "0.01", rows, claimed, self.path("whole"))
        self.assertEqual(job.wait(), 0, job.err)
        bits = {}
        for name in ("filters", "whole"):
            code, _, err = self.run_glint("filter", "export", self.path(name), "--output", self.path(name + ".bits"))
            self.assertEqual(code, 0, err)
            bits[name] = {}
            for key in os.listdir(self.path(name + ".bits")):
                with open(os.path.join(self.path(name + ".bits"), key), "rb") as file:
                    bits[name][key] = file.read()
        self.assertEqual(bits["filters"].keys(), bits["whole"].keys())
        self.assertTrue(bits["filters"] == bits["whole"])


if __name__ == "__main__":
    unittest.main()
