"""Jobs of very many tasks and of very many iterations hold little memory and disk.

By default 1,000 partitions of 100 map tasks, and 60 iterations. 10,000 partitions of 1,000 map tasks, and 100
iterations over 500,000 edges:

    GLINT_LARGE_JOBS_SCALE=1 GLINT_SLOWDOWN=20 tests/cluster/run --verbose test_large_jobs"""
import os
import random
import unittest

from cluster import GLINT, ClusterTest, until
from measured import BESIDE_MIB, MeasuredTest

LARGE = os.environ.get("GLINT_LARGE_JOBS_SCALE") == "1"
PROGRAMS = os.path.join(os.path.dirname(GLINT), "tests")
LINE_BYTES = 100


def own_program(test, name):
    """A program of examples/programs."""
    path = os.path.join(PROGRAMS, name)
    if not os.path.exists(path):
        test.skipTest("libglint.a is not built with sanitizers")
    return path


class ManyTasks(MeasuredTest):
    """Every map task has a block of every partition."""

    partitions, map_tasks, words = (10000, 1000, 20_000_000) if LARGE else (1000, 100, 200_000)
    memory_mib = 512
    executors = {name: {"slots": 1, "memory": "512M"} for name in ("e1", "e2")}

    def text(self):
        """Words in lines of 100 bytes, a few of them often and most of them once."""
        rng, words = random.Random(11), 0
        with open(self.path("text"), "w", encoding="ascii") as file:
            while words < self.words:
                line = [f"{int(2 ** (rng.random() * 24)):x}" for _ in range(10)]
                file.write(f"{' '.join(line):{LINE_BYTES - 1}}\n")
                words += len(line)
        return self.path("text")

    def test_memory_does_not_grow_with_blocks(self):
        self.program = own_program(self, "wordcount")
        text = self.text()
        words = ("wordcount", "--partitions", str(self.partitions), "--split-size",
                 str(os.path.getsize(text) // self.map_tasks), text)
        job = self.start("alone", *words, self.path("alone"), "--master", "local[2]")
        until(lambda: job.popen.poll() is not None, job.err)
        self.assertEqual(job.wait(), 0, job.err)
        self.job(*words, self.path("out"), "--cluster", self.config, "--executors", "2")
        self.assertLess(self.peaks_mib["submit"], BESIDE_MIB)
        self.assertEqual(len(os.listdir(self.path("out"))), self.partitions + 1)
        self.assertTrue(self.read_output("out") == self.read_output("alone"))
        counts = [int(line.split(b"\t")[1]) for line in self.read_output("out").splitlines()]
        self.assertEqual(sum(counts), self.words)


class ManyIterations(ClusterTest):
    """The example pagerank, whose plan grows by an iteration each time, and whose map outputs are freed."""

    executors = {}
    pages, edges, iterations = (50_000, 500_000, 100) if LARGE else (5000, 50_000, 60)
    checkpoint_iterations = 10  # of the example

    def sample(self, job):
        """Bytes of memory, and of work files, now."""
        files = [os.path.join(at, name) for at, _, names in os.walk(self.tmp) for name in names]
        used = 0
        for path in files:
            try:
                used += os.stat(path).st_blocks * 512
            except FileNotFoundError:
                pass
        with open(f"/proc/{job.popen.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE"), used

    def test_memory_and_disk_do_not_grow_with_iterations(self):
        self.program = own_program(self, "pagerank")
        rng, edges = random.Random(7), os.path.join(self.directory, "edges")
        with open(edges, "w", encoding="ascii") as file:
            file.writelines(f"{rng.randrange(self.pages)} {rng.randrange(self.pages)}\n" for _ in range(self.edges))
        saved = os.path.join(self.directory, "saved")
        os.mkdir(saved)
        job = self.start("alone", "pagerank", "--iterations", str(self.iterations), "--checkpoint", saved, edges,
                         os.path.join(self.directory, "out"), "--master", "local[2]", "--memory", "32M")
        peaks = {}  # by the number of checkpoints: of memory, and of disk

        def ended():
            done = job.popen.poll() is not None
            if not done:
                ranks = sum(name.isdigit() for name in os.listdir(saved))  # not those being written
                peaks[ranks] = tuple(map(max, zip(peaks.get(ranks, (0, 0)), self.sample(job))))
            return done
        until(ended, job.err)
        self.assertEqual(job.wait(), 0, job.err)
        print("\n" + "; ".join(f"{ranks * self.checkpoint_iterations} iterations: {memory >> 20} MiB, disk {disk >> 10} KiB"
                               for ranks, (memory, disk) in sorted(peaks.items())), flush=True)
        checkpoints = self.iterations // self.checkpoint_iterations
        self.assertEqual(len(os.listdir(saved)), checkpoints)
        early, late = ([peak for ranks, peak in peaks.items() if begin <= ranks < end]
                       for begin, end in ((1, checkpoints // 2), (checkpoints // 2, checkpoints)))
        self.assertTrue(early and late, peaks)
        for a, b in zip(map(max, zip(*early)), map(max, zip(*late))):
            self.assertLess(b, 1.25 * a + (1 << 20), (early, late))


if __name__ == "__main__":
    unittest.main()
