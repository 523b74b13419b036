"""A loop that frees what its iterations make: the driver and the executors hold in its middle what they hold at the end."""
import os
import re
import unittest

from cluster import JOBS, ClusterTest, until


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"^VmRSS:\s+(\d+) kB", file.read(), re.MULTILINE)[1]) * 1024


class Loops(ClusterTest):
    program = JOBS
    broadcast = 2000000  # fetched in blocks, also by executors from each other
    half = 20

    def files(self):
        return sorted(name for _, _, names in os.walk(self.tmp) for name in names)

    def held(self):
        """Bytes of memory of each process, once the executors have freed the blocks and map outputs of every iteration."""
        until(lambda: self.files() == [".glint-lock"] * 2, lambda: f"work directories without blocks: {self.files()}")
        executors = [until(process.children, "an executor process")[0] for process in self.processes[:2]]
        return [resident(pid) for pid in executors + [self.processes[2].popen.pid]]

    def test_a_loop_holds_no_more_at_its_end(self):
        hold = os.path.join(self.directory, "hold")
        open(hold, "w", encoding="ascii").close()
        for name in self.executors:
            self.executor(name)
        job = self.submit("job", "loop", "--iterations", str(2 * self.half), "--broadcast-bytes", str(self.broadcast),
                          "--hold", hold, "--executors", "2")
        until(lambda: "half: " in job.out, "half of the iterations")
        memory = self.held()
        os.unlink(hold)
        until(lambda: "end: " in job.out, "the other half")
        memory_after = self.held()
        open(hold, "w", encoding="ascii").close()
        self.assertEqual(job.wait(), 0, job.err)
        half, end = map(int, re.findall(r": (\d+) blocks", job.out))
        self.assertLessEqual(end, half + self.half // 2, "blocks of the driver: less than one more in each iteration")
        for before, after in zip(memory, memory_after) if "GLINT_SANITIZED" not in os.environ else ():
            self.assertLess(after - before, self.half * self.broadcast / 4, (memory, memory_after))


if __name__ == "__main__":
    unittest.main()
