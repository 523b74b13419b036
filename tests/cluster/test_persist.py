"""Persisted RDDs on a cluster: the second action reads blocks; after an executor was killed, the same output."""
import json
import os
import re
import signal
import unittest

from cluster import JOBS, ClusterTest, until


class Persist(ClusterTest):
    program = JOBS
    rows = 3000

    def setUp(self):
        super().setUp()
        with open(os.path.join(self.directory, "input"), "w", encoding="ascii") as file:
            for i in range(self.rows):
                file.write(" ".join(f"w{i * k % 977}" for k in range(1, 12)) + "\n")
        open(os.path.join(self.directory, "hold"), "w", encoding="ascii").close()
        code, _, err = self.run_glint("submit", "kept", "--split-size", "8K", "input", "want", "--master", "local[1]")
        self.assertEqual(code, 0, err)
        self.want = self.read_output("want")

    def release(self):
        os.unlink(os.path.join(self.directory, "hold"))

    def start_job(self, *options):
        for name in self.executors:
            self.executor(name)
        job = self.submit("job", "kept", "--split-size", "8K", "--hold-counts", "hold", "input", "out", "--executors", "2", *options)
        until(lambda: "words\n" in job.out, "the first action has ended")
        return job

    def finish(self, job):
        self.release()
        self.assertEqual(job.wait(), 0, job.err)
        self.assertEqual(self.read_output("out"), self.want)
        return {name: int(count) for name, count in re.findall(r"(hits|misses): (\d+)", job.out)}

    def test_second_action_reads_blocks(self):
        for options in ((), ("--level", "disk"), ("--level", "both")):
            with self.subTest(options=options):
                counts = self.finish(self.start_job(*options))
                self.assertGreaterEqual(counts["misses"], 10)
                self.assertGreater(counts["hits"], 0)
                for process in self.processes:
                    if process.popen.poll() is None:
                        self.stop(process)
                os.rename(os.path.join(self.directory, "out"), os.path.join(self.directory, f"out{len(options)}{''.join(options)}"))
                open(os.path.join(self.directory, "hold"), "w", encoding="ascii").close()

    def test_status_shows_cached_blocks(self):
        """And the same sums as the event log, whose blocks of both executors are in one event."""
        job = self.start_job("--event-log", "log")

        def cached():
            jobs = self.executor_status("e1")["jobs"]
            return jobs and jobs[0]["cached_blocks"] >= 10 and jobs[0]
        shown = until(cached, "status shows the blocks")
        self.assertEqual((shown["cached_rdds"], shown["cached_disk_bytes"]), (1, 0))
        self.assertGreater(shown["cached_memory_bytes"], self.rows)
        code, text, err = self.run_glint("status", "--cluster", self.config)
        self.assertEqual(code, 0, err)
        self.assertRegex(text, r", 1 cached RDD: \d+ blocks, [\d.]+ [KM]iB in memory, 0 B on disk")
        self.finish(job)
        with open(os.path.join(self.directory, "log"), encoding="utf-8") as file:
            stored = [e["rdds"] for e in map(json.loads, file) if e["event"] == "storage"]
        self.assertEqual((stored[0][0]["blocks"], stored[0][0]["memory_bytes"]), (shown["cached_blocks"], shown["cached_memory_bytes"]))
        self.assertEqual(stored[-1], [], "the job has unpersisted it")

    def test_checkpoint(self):
        """An executor is killed after it; the input is gone then, so nothing is computed from it. A job that fails leaves it."""
        job = self.start_job("--checkpoint", "saved")
        os.rename(os.path.join(self.directory, "input"), os.path.join(self.directory, "gone"))
        victim = self.processes[0]
        os.kill(until(victim.children, "e1 runs an executor process")[0], signal.SIGKILL)
        job.until_says("lost")
        self.finish(job)
        os.rename(os.path.join(self.directory, "gone"), os.path.join(self.directory, "input"))
        open(os.path.join(self.directory, "hold"), "w", encoding="ascii").close()
        job = self.submit("failing", "kept", "--split-size", "8K", "--hold-counts", "hold", "input", "out2", "--checkpoint", "saved2",
                          "--executors", "1")
        until(lambda: "words\n" in job.out, "the first action has ended")
        job.popen.send_signal(signal.SIGINT)
        self.assertEqual(job.wait(), 130)
        self.assertIn("no output was published; existing outputs are unchanged; 1 checkpoint is left", job.err)
        self.assertEqual(sorted(os.listdir(os.path.join(self.directory, "saved2"))), sorted(os.listdir(os.path.join(self.directory, "saved"))))
        self.assertFalse(os.path.exists(os.path.join(self.directory, "out2")))
        self.assertEqual([name for name in os.listdir(self.directory) if name.startswith(".")], [])

    def test_killed_executor_between_actions(self):
        job = self.start_job()
        victim = self.processes[0]
        os.kill(until(victim.children, "e1 runs an executor process")[0], signal.SIGKILL)
        job.until_says("lost")
        counts = self.finish(job)
        self.assertGreater(counts["hits"], 0)


class Chain(ClusterTest):
    """Each iteration reads the blocks of the one before: its plan is as short as the first one's, on whatever executor a task runs."""
    program = JOBS
    iterations = 44

    def run_chain(self, *options):
        for name in self.executors:
            os.makedirs(self.work_directory(name), exist_ok=True)
            self.executor(name, env={"TMPDIR": self.work_directory(name)})
        return self.submit("job", "chain", "--iterations", str(self.iterations), "--event-log", "log", "--executors", "2", *options)

    def work_directory(self, name):
        return os.path.join(self.directory, f"work-{name}")

    def has_blocks(self, name):
        return any(file.startswith("block-") for _, _, files in os.walk(self.work_directory(name)) for file in files)

    def check(self, job):
        self.assertEqual(job.wait(), 0, job.err)
        with open(os.path.join(self.directory, "log"), encoding="utf-8") as file:
            stages = [e for e in map(json.loads, file) if e["event"] == "stage"]
        self.assertEqual(len(stages), self.iterations)
        return [len(stage["operators"]) for stage in stages], {
            name: int(count) for name, count in re.findall(r"(hits|misses): (\d+)", job.out)}

    def test_plans_stay_short_and_blocks_are_read_from_other_executors(self):
        for options in ((), ("--level", "disk")):
            with self.subTest(options=options):
                operators, counts = self.check(self.run_chain(*options))
                self.assertLessEqual(max(operators), 5)
                self.assertEqual(counts["misses"], 6 * self.iterations, "each partition is computed once")
                for process in self.processes:
                    if process.popen.poll() is None:
                        self.stop(process)
                os.unlink(os.path.join(self.directory, "log"))

    def test_lost_blocks_are_computed_again(self):
        hold = os.path.join(self.directory, "hold")
        open(hold, "w", encoding="ascii").close()
        job = self.run_chain("--level", "disk", "--hold", hold)
        until(lambda: "half\n" in job.out, "half of the iterations")
        victim = next(process for process in self.processes[:2] if self.has_blocks(process.name))
        os.kill(victim.children()[0], signal.SIGKILL)
        os.unlink(hold)
        operators, counts = self.check(job)
        self.assertLessEqual(max(operators), 5)
        self.assertGreater(counts["misses"], 6 * self.iterations, "those of the victim are computed twice")


if __name__ == "__main__":
    unittest.main()
