"""The defaults: a heartbeat each second, suspect after 5 s without one, dead after 10 s.

The time without heartbeats is read where it was measured: from the timestamps of the event log, from log
lines, and from the status of the executors."""
import json
import os
import signal
import time
import unittest

from cluster import until
from faults import FaultTest

SUSPECT_MS, DEAD_MS = 5000, 10000


class DefaultTimeouts(FaultTest):
    keys = {}

    def start_held_job(self, *turns):
        """Both executors are in a map task; e1 is stopped again after each of these times."""
        self.write_cluster({name: dict(self.spilling) for name in ("e1", "e2")})
        here, there = [self.in_map(turn) for turn in turns], self.in_map(4)
        e1, e2 = self.executor("e1", hooks=here), self.executor("e2", hooks=[there])
        job = self.begin()
        here[0].until_hit()
        there.until_hit()
        return (job, e1, e2, *here, there)

    def suspicion_notes(self, of):
        """(ms, text) of the driver's notes about an executor."""
        return [(e.ms, e.text) for e in self.events("note") if e.text.startswith(f"executor {of} (127.0.0.1) ")]

    def heartbeat_ages(self):
        return [self.executor_status(name)["jobs"][0]["heartbeat_age_ms"] for name in ("e1", "e2")]

    def test_heartbeat_suspect_and_dead_have_defaults(self):
        code, out, err = self.run_glint("config", "show", "--json", "--cluster", self.config)
        self.assertEqual(code, 0, err)
        keys = json.loads(out)["keys"]
        self.assertEqual([keys[name] for name in ("heartbeat", "suspect", "dead")],
                         [{"value": value, "origin": "default"} for value in ("1s", "5s", "10s")])

    def test_short_executor_pause_is_ignored(self):
        """Two missing heartbeats have no effect."""
        job, e1, _, *hooks = self.start_held_job(4)
        pid = self.executor_pid(e1)

        def pause():
            """Returns whether it was short: the whole machine may have stopped meanwhile."""
            noted, begin = len(self.suspicion_notes("e1")), time.monotonic()
            os.kill(pid, signal.SIGSTOP)
            self.until_passed(2000, "e1")
            os.kill(pid, signal.SIGCONT)
            self.until_passed(1000, "e1")  # it sends a heartbeat
            is_short = time.monotonic() - begin < SUSPECT_MS / 1000 - 1  # and had sent the last one a second before
            self.assertTrue(not is_short or len(self.suspicion_notes("e1")) == noted)
            return is_short
        until(pause, "a short pause")
        for hook in hooks:
            hook.go()
        self.ends_well(job)
        self.assertEqual({e.state for e in self.events("executor")}, {"joined"})
        self.assertEqual(self.retries(), 0)

    def test_paused_executor_becomes_suspect_then_lost(self):
        """If it continues before it is lost, it gets tasks again; otherwise they run elsewhere."""
        job, e1, _, first, *hooks = self.start_held_job(2, 3)
        pid = self.executor_pid(e1)
        os.kill(pid, signal.SIGSTOP)
        job.until_says("executor e1 .* is suspect")
        os.kill(pid, signal.SIGCONT)
        job.until_says("executor e1 .* is alive again")
        first.go()
        hooks[0].until_hit()
        os.kill(pid, signal.SIGSTOP)  # the last heartbeat arrived after the executor was alive again
        job.until_says(f"executor e1 .* lost: no heartbeat for {DEAD_MS} ms")
        os.kill(pid, signal.SIGCONT)
        self.until_gone(pid)
        for hook in hooks:
            hook.go()
        self.ends_well(job)
        (_, suspect), (alive_ms, alive), (suspect_ms, again), (lost_ms, lost) = self.suspicion_notes("e1")
        for text, what in ((suspect, "suspect"), (alive, "alive again"), (again, "suspect"), (lost, "lost")):
            self.assertIn(what, text)
        self.assertGreaterEqual(suspect_ms - alive_ms, SUSPECT_MS)
        self.assertGreaterEqual(lost_ms - alive_ms, DEAD_MS)
        self.serves_the_next()

    def test_short_driver_pause_is_ignored(self):
        job, e1, e2, *hooks = self.start_held_job(4)
        job.signal(signal.SIGSTOP)
        until(lambda: min(self.heartbeat_ages()) >= 2000, "two heartbeats are missing")
        job.signal(signal.SIGCONT)
        until(lambda: max(self.heartbeat_ages()) < 2000, "heartbeats arrive again")
        for hook in hooks:
            hook.go()
        self.ends_well(job)
        for e in (e1, e2):
            self.assertEqual(e.err.count("serving driver"), 1, e.err)
            self.assertNotIn("no heartbeat", e.err)

    def test_paused_driver_loses_its_executors(self):
        """The executors of a dead driver stop its tasks, remove its data, and serve the next driver."""
        job, e1, e2, *hooks = self.start_held_job(4)
        until(lambda: os.listdir(self.tmp), "there are map outputs")
        job.signal(signal.SIGSTOP)
        for e in (e1, e2):
            e.until_says(f"no heartbeat (from the driver )?for {DEAD_MS} ms")
        until(lambda: os.listdir(self.tmp) == [], "its data has been removed")
        for hook in hooks:
            hook.go()
        self.serves_the_next()
        job.signal(signal.SIGCONT)
        job.signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 143, job.err)


if __name__ == "__main__":
    unittest.main()
