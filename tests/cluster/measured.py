"""Jobs on two executors whose processes must not exceed a memory limit."""
import os
import time

from cluster import ClusterTest, children_of, until

BESIDE_MIB = 48  # memory of a process beside its tasks: its program, its connections


def family(pid):
    """A process and its descendants, while it exists."""
    try:
        return [pid] + children_of(pid)
    except OSError:
        return []


def peak_mib(pid):
    """Peak memory of a process; 0 if it has exited."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return max([int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM")], default=0)
    except OSError:
        return 0


class MeasuredTest(ClusterTest):
    """A class of tests has memory_mib and executors."""
    keys = {**ClusterTest.keys, "suspect": "5s", "dead": "10s", "start": "30s"}
    measured = ("e1", "e2")

    def setUp(self):
        super().setUp()
        self.nodes = [self.executor(name) for name in self.executors]

    def job(self, *words):
        """Runs it, and prints how long it took and the peak memory of the largest process."""
        peaks, began = {}, time.monotonic()
        self.peaks_mib = peaks
        job = self.submit(words[0], *words)

        def ended():
            done = job.popen.poll() is not None
            for name, process in [("submit", job)] + list(zip(self.executors, self.nodes)):
                for pid in family(process.pid):
                    peaks[name] = max(peaks.get(name, 0), peak_mib(pid))
            return done
        until(ended, job.err)
        self.assertEqual(job.wait(), 0, job.err)
        print(f"\n{words[0]}: {time.monotonic() - began:.1f} s;",
              ", ".join(f"{name} {mib:.0f} MiB" for name, mib in peaks.items()), f"\n{job.err}", flush=True)
        if "GLINT_SANITIZED" not in os.environ:
            for name in self.measured:
                self.assertLess(peaks[name], self.memory_mib + BESIDE_MIB, name)
        return job

    def path(self, name):
        return os.path.join(self.directory, name)
