"""Cables that are slow, cut for a while, or cut in one direction; connections that are reset.

Jobs are paused until the fault has happened, and then continued (netns.py)."""
import os
import re
import unittest

from cluster import until
from netns import COUNT_IDS, ROWS, CountingTest, cut

class NetworkPartitions(CountingTest):
    def test_unreachable_executor_is_lost_and_rejoins(self):
        job, e1, _ = self.start_all()
        before = e1.children()
        cut(self.node("driver"), self.node("e1"))
        job.until_says(r"executor e1 .*lost: no heartbeat for \d+ ms")
        until(lambda: not e1.children(), "its process has ended")
        self.assertIn("no heartbeat", e1.err)
        self.node("driver").heal()
        self.node("e1").heal()
        self.until_serves_again(e1)
        self.assertNotEqual(e1.children(), before)
        self.let_go()
        self.assert_done(job)
        joined = [e["name"] for e in self.events("executor") if e["state"] == "joined"]
        self.assertEqual(sorted(joined), ["e1", "e1", "e2"])

    def test_temporary_loss_of_all_executors_is_survived(self):
        job, e1, e2 = self.start_all()
        driver = self.node("driver")
        driver.deaf_to(self.node("e1"), self.node("e2"))
        self.node("e1").deaf_to(driver)
        self.node("e2").deaf_to(driver)
        for name in ("e1", "e2"):
            job.until_says(f"executor {name} .*lost")
        driver.heal()
        self.node("e1").heal()
        self.node("e2").heal()
        self.until_serves_again(e1)
        self.until_serves_again(e2)
        self.let_go()
        self.assert_done(job)

    def test_job_fails_if_all_executors_stay_unreachable(self):
        self.write_cluster(start="5s")
        job, e1, e2 = self.start_all()
        self.node("driver").deaf_to(self.node("e1"), self.node("e2"))
        self.assertEqual(job.wait(), 69, job.err)
        self.assertIn("error[E0907]", job.err)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "out")))
        for e in (e1, e2):
            until(lambda e=e: not e.children(), "its process has ended")

    def test_loss_from_executor_to_driver_is_survived(self):
        job, e1, _ = self.start_all()
        self.node("driver").deaf_to(self.node("e1"))
        job.until_says(r"executor e1 .*lost")
        until(lambda: not e1.children(), "its process has ended")
        self.node("driver").heal()
        self.until_serves_again(e1)
        self.let_go()
        self.assert_done(job)

    def test_loss_from_driver_to_executor_is_survived(self):
        job, e1, _ = self.start_all()
        self.node("e1").deaf_to(self.node("driver"))
        job.until_says(r"executor e1 .*lost")
        until(lambda: not e1.children(), "its process has ended")
        self.node("e1").heal()
        self.until_serves_again(e1)
        self.let_go()
        self.assert_done(job)

    def test_short_partition_loses_no_executor(self):
        self.write_cluster(suspect="10s", dead="20s")
        job, e1, _ = self.start_all()
        cut(self.node("driver"), self.node("e1"))
        until(lambda: self.executor_status("e1")["jobs"][0]["heartbeat_age_ms"] > 1000, "it is silent")
        self.node("driver").heal()
        self.node("e1").heal()
        self.let_go()
        self.assert_done(job)
        self.assertEqual(e1.err.count("serving driver"), 1, e1.err)
        self.assertNotIn("lost", job.err)


class ExecutorPartitions(CountingTest):
    """The driver reaches all of them, and some do not reach each other."""

    def setUp(self):
        super().setUp()
        self.write_cluster({f"e{i + 1}": {"slots": 1} for i in range(6)}, connect="1s")

    def test_four_failed_attempts_name_the_pair(self):
        job, *_ = self.start_all(6)
        cut(*(self.node(f"e{i + 1}") for i in range(6)))
        self.let_go()
        self.assertEqual(job.wait(), 1, job.err)
        self.assertIn("error[E0909]", job.err)
        cause, effect = (re.search(f"(?m)^  {word}: .*", job.err)[0] for word in ("cause", "effect"))
        self.assertIn("failed 4 times in a row", effect)
        holder, reader = (re.search(r"\be[1-6]\b", text)[0] for text in (cause, effect))
        self.assertNotEqual(holder, reader, job.err)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "out")))

    def test_one_of_two_executors_runs_all_tasks(self):
        job, *_ = self.start_all(2)
        cut(self.node("e1"), self.node("e2"))
        self.let_go()
        self.assert_done(job)
        self.assertRegex(job.err, r"executor e[12] .* excluded: fetches between it and other executors fail")

    def test_third_executor_that_reaches_both_helps(self):
        job, *_ = self.start_all(3)
        cut(self.node("e1"), self.node("e2"))
        self.let_go()
        self.assert_done(job)
        self.assertRegex(job.err, r"tasks, \d+ retried")

    def test_short_cut_causes_no_retry(self):
        self.write_cluster(connect="20s", fetch="20s")
        job, *_ = self.start_all()
        cut(self.node("e1"), self.node("e2"))
        self.let_go()
        for name in ("e1", "e2"):
            until(lambda n=name: any("saveAs" in (j["stage"] or "")
                                     for j in self.executor_status(n)["jobs"]), f"{name} fetches")
        self.node("e1").heal()
        self.node("e2").heal()
        self.assert_done(job)
        self.assertEqual(self.events("retry"), [])


class IsolatedExecutor(CountingTest):
    """The driver reaches all of them, and one reaches no other. GLINT_ROUNDS: number of jobs (2)."""

    def setUp(self):
        super().setUp()
        self.write_cluster({name: {"slots": 1} for name in ("e1", "e2", "e3")}, connect="1s")

    def made_twice(self, out):
        """The executors whose map outputs were recomputed elsewhere."""
        names = {e["executor"]: e["name"] for e in self.events("executor", out) if e["state"] == "joined"}
        tasks = [e for e in self.events("task", out) if e["outcome"] == "done"]
        last = {(e["stage"], e["task"]): e["attempt"] for e in tasks}
        return {names[e["executor"]] for e in tasks if e["attempt"] != last[e["stage"], e["task"]]}

    def check(self, isolated):
        for name in ("e1", "e2", "e3"):
            self.executor(name)
        others = [self.node(n) for n in ("e1", "e2", "e3") if n != isolated]
        self.node(isolated).deaf_to(*others)
        for other in others:
            other.deaf_to(self.node(isolated))
        for i in range(int(os.environ.get("GLINT_ROUNDS", "2"))):
            job = self.job("--executors", "3", out=f"out-{i}")
            self.assert_done(job, f"out-{i}")
            self.assertRegex(job.err, f"executor {isolated} .* excluded: fetches between it and other executors fail")
            self.assertNotRegex(job.err, f"executor e[^{isolated[1]}] .* excluded")
            self.assertEqual(self.made_twice(f"out-{i}"), {isolated})

    def test_first_executor_is_excluded(self):
        self.check("e1")

    def test_last_executor_is_excluded(self):
        self.check("e3")


class SlowLinks(CountingTest):
    words = COUNT_IDS

    def test_slow_link_gives_the_same_result(self):
        self.node("e2").rate("1mbit")
        self.executor("e1")
        self.executor("e2")
        self.assert_done(self.job("--executors", "2"))

    def test_speculation_replaces_tasks_of_a_stalled_executor(self):
        """The tasks of e2, whose responses would take hours, run on e1 too."""
        self.write_cluster(suspect="100s", dead="200s")
        self.executor("e1")
        e2 = self.executor("e2")
        self.hold()
        words = ("split-dataset", "--no-header", "--split-size", "32K", self.ratings(ROWS))
        job = self.submit("job", *words, "train", "test", "--speculate", "--event-log", "out.log",
                          "--executors", "2")
        self.until_working("e1")
        self.until_working("e2")
        self.node("e2").rate("8bit", "1600")
        self.let_go()
        self.assertEqual(job.wait(), 0, job.err)
        self.assertTrue(any(e["speculative"] and e["outcome"] == "done" for e in self.events("task")))
        code, _, err = self.run_glint("submit", *words, "train-1", "test-1", "--master", "local[2]")
        self.assertEqual(code, 0, err)
        for name in ("train", "test"):
            self.assertEqual(self.read_output(name), self.read_output(f"{name}-1"))
        self.node("e2").rate("1gbit", "1m")
        until(lambda: not e2.children(), "e2 knows that the job has ended")


class ConnectionResets(CountingTest):
    def test_repeated_driver_resets_are_survived(self):
        job, e1, e2 = self.start_all()
        for i in range(2, 5):
            for e in (e1, e2):
                self.node(e.name).reset(self.node("driver"))
            for e in (e1, e2):
                until(lambda e=e, n=i: e.err.count("serving driver") == n, f"{e.name} serves again")
        self.let_go()
        self.assert_done(job)
        lost = [e for e in self.events("executor") if e["state"] == "lost"]
        self.assertEqual(len(lost), 6)

    def test_resets_during_fetch_are_survived(self):
        self.words = COUNT_IDS
        for name in ("e1", "e2"):
            self.node(name).rate("4mbit")
            self.executor(name)
        job = self.job("--executors", "2")
        e1, e2 = self.node("e1"), self.node("e2")
        for _ in range(2):
            until(lambda: e1.run("ss", "-Htn", "state", "established", "dst", e2.address), "they fetch")
            e1.reset(e2)
        self.assert_done(job)


if __name__ == "__main__":
    unittest.main()
