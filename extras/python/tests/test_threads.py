"""Threads that share a context: jobs take turns, and are cancelled and watched from other threads.
"""

from __future__ import annotations

import operator
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

from fifo import Fifo
from glint._turns import Turns
from glint.pyspark import InheritableThread, SparkContext, TaskContext, inheritable_thread_target
from glint.pyspark.errors import JobCancelledError
from glint.pyspark.py4j.protocol import Py4JJavaError

SECONDS = 60


def until_it_waits(thread: threading.Thread) -> None:
    """For its turn."""
    def frame() -> Any:
        return sys._current_frames().get(thread.ident or 0)

    while thread.is_alive() and getattr(frame(), "f_code", None) is not Turns.__enter__.__code__:
        thread.join(0.01)


class Threads(unittest.TestCase):
    def setUp(self) -> None:
        self.sc = SparkContext("local[2]", "threads")
        self.addCleanup(self.sc.stop)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.started = Fifo(self, os.path.join(directory.name, "started"))
        self.program = os.path.join(directory.name, "program.py")

    def wait_in_worker(self) -> Callable[[int], None]:
        """A function that says that it runs, and never ends."""
        path = self.started.path

        def wait(_: int) -> None:
            with open(path, "w", encoding="utf-8") as file:
                print(os.getpid(), file=file)
            signal.pause()

        return wait

    def test_jobs_of_a_pool(self) -> None:
        shared = self.sc.parallelize(range(12), 3).map(lambda x: (x % 3, x)) \
            .reduceByKey(operator.add)
        added = self.sc.accumulator(0)

        def job(i: int) -> Any:
            rdd = self.sc.parallelize(range(i + 1), 2)
            rdd.foreach(lambda _: added.add(1))
            return (rdd.map(lambda x: x * i).sum(), sorted(shared.collect()),
                    rdd.sortBy(lambda x: -x).zipWithIndex().collect()[-1],
                    list(rdd.map(str).toLocalIterator()))

        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(job, range(8)))
        self.assertEqual(found, [(i * i * (i + 1) // 2, [(0, 18), (1, 22), (2, 26)], (0, i),
                                  [str(x) for x in range(i + 1)]) for i in range(8)])
        self.assertEqual(added.value, sum(range(1, 9)))

    def test_a_pool_keeps_its_order_after_errors(self) -> None:
        def job(i: int) -> Any:
            try:
                return self.sc.parallelize([i], 1).map(lambda x: 6 // x).first()
            except Py4JJavaError as error:
                return "ZeroDivisionError" in str(error.java_exception.getMessage())

        with ThreadPoolExecutor(3) as pool:
            self.assertEqual(list(pool.map(job, [0, 1, 0, 2, 3, 0])), [True, 6, True, 3, 2, True])

    def cancelled(self, prepare: Callable[[], None], cancel: Callable[[], None], why: str) -> None:
        """One job runs, and another one waits for its turn; both are cancelled, a third is not."""
        wait, raised = self.wait_in_worker(), []

        def job() -> None:
            prepare()
            try:
                self.sc.parallelize([1], 1).map(wait).collect()
            except JobCancelledError as error:
                raised.append(str(error))

        threads = [threading.Thread(target=job) for _ in range(2)]
        threads[0].start()
        self.started.read()
        threads[1].start()
        until_it_waits(threads[1])
        tracker = self.sc.statusTracker()
        (running,) = tracker.getActiveJobsIds()
        self.sc.cancelJobGroup("other")
        self.sc.cancelJobsWithTag("other")
        self.assertEqual(tracker.getJobInfo(running).status, "RUNNING")
        cancel()
        for thread in threads:
            thread.join(SECONDS)
        self.assertEqual(len(raised), 2, raised)
        for text in raised:
            self.assertRegex(text, rf"Job \d+ cancelled {why}")
        self.assertEqual((tracker.getJobInfo(running).status, tracker.getActiveJobsIds()),
                         ("FAILED", []))
        prepare()
        self.assertEqual(self.sc.parallelize([1, 2], 2).map(abs).sum(), 3)

    def test_cancel_a_group(self) -> None:
        self.cancelled(lambda: self.sc.setJobGroup("g", "some"),
                       lambda: self.sc.cancelJobGroup("g"), "part of cancelled job group g")

    def test_cancel_a_tag(self) -> None:
        self.cancelled(lambda: self.sc.addJobTag("t"), lambda: self.sc.cancelJobsWithTag("t"),
                       "part of cancelled job tag t")

    def test_cancel_all(self) -> None:
        self.cancelled(lambda: None, self.sc.cancelAllJobs, "as part of cancellation of all jobs")

    def test_stop_while_a_job_runs(self) -> None:
        wait, raised = self.wait_in_worker(), []

        def job() -> None:
            try:
                self.sc.parallelize([1], 1).map(wait).collect()
            except JobCancelledError as error:
                raised.append(error)

        thread = threading.Thread(target=job)
        thread.start()
        self.started.read()
        self.sc.stop()
        thread.join(SECONDS)
        self.assertEqual(len(raised), 1)

    def test_a_forgotten_context_of_a_thread(self) -> None:
        """A program ends while a daemon thread runs a job."""
        program = textwrap.dedent(f"""
            import os, signal, threading
            from glint.pyspark import SparkContext
            sc = SparkContext("local[1]")
            def wait(x):
                with open({self.started.path!r}, "w") as file:
                    print(os.getpid(), file=file)
                signal.pause()
            def job():
                sc.parallelize([1], 1).map(wait).collect()
            threading.Thread(target=job, daemon=True).start()
            input()
            """)
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(program)
        with subprocess.Popen([sys.executable, self.program], stdin=subprocess.PIPE) as python:
            worker = int(self.started.read())
            python.communicate(b"end\n", timeout=SECONDS)
        self.assertEqual(python.returncode, 0)
        with self.assertRaises(ProcessLookupError):
            os.kill(worker, 0)

    def test_what_the_tracker_says(self) -> None:
        tracker = self.sc.statusTracker()
        self.sc.setJobGroup("g", "some")
        pairs = self.sc.parallelize([(i % 2, i) for i in range(8)], 4)
        pairs.reduceByKey(operator.add, 3).count()
        (job,) = tracker.getJobIdsForGroup("g")
        info = tracker.getJobInfo(job)
        stages = [tracker.getStageInfo(number) for number in info.stageIds]
        self.assertEqual((info.jobId, info.status), (job, "SUCCEEDED"))
        self.assertEqual([(s.numTasks, s.numCompletedTasks, s.numActiveTasks, s.numFailedTasks)
                          for s in stages], [(4, 4, 0, 0), (3, 3, 0, 0)])
        self.assertEqual((tracker.getJobInfo(99), tracker.getStageInfo(99),
                          tracker.getJobIdsForGroup(), tracker.getJobIdsForGroup("h")),
                         (None, None, [], []))
        self.assertEqual(len(tracker.getExecutorInfos()), 1)

    def test_local_properties_of_threads(self) -> None:
        found: list[Any] = []

        def look() -> None:
            seen = self.sc.parallelize([1], 1).map(
                lambda _: TaskContext.get().getLocalProperty("a"))
            found.append((self.sc.getLocalProperty("a"), sorted(self.sc.getJobTags()),
                          seen.first()))

        self.sc.setLocalProperty("a", "b")
        self.sc.addJobTag("t")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target = inheritable_thread_target(look)
        for thread in (threading.Thread(target=look), InheritableThread(target=look),
                       InheritableThread(look), threading.Thread(target=target)):
            thread.start()
            thread.join(SECONDS)
        self.assertEqual(found, [(None, [], None), *[("b", ["t"], "b")] * 3])


if __name__ == "__main__":
    unittest.main()
