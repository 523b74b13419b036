"""Where nobody sets heartbeats: one each second, suspected after 5 s of silence, dead after 10."""
import os
import signal
import time
import unittest

from cluster import SLOWDOWN, until
from faults import FaultTest


class Defaults(FaultTest):
    keys = {}

    def held(self):
        self.write_cluster({name: dict(self.spilling) for name in ("e1", "e2")})
        hooks = [self.in_map(4), self.in_map(4)]
        executors = [self.executor(name, hooks=[hook]) for name, hook in zip(("e1", "e2"), hooks)]
        job = self.begin()
        for hook in hooks:
            hook.until_hit()
        return (job, *executors, *hooks)

    def let_go(self, *hooks):
        for hook in hooks:
            hook.go()

    def test_an_executor_stands_still(self):
        """3 s are nothing; after 10 s it is lost, and what it was doing is done elsewhere."""
        job, e1, _, *hooks = self.held()
        child = self.child(e1)
        os.kill(child, signal.SIGSTOP)
        time.sleep(3)  # this is the fault
        os.kill(child, signal.SIGCONT)
        until(lambda: self.executor_status("e1")["jobs"][0]["heartbeat_age_ms"] < 1500, "it is heard again")
        self.assertEqual([e for e in self.events("executor") if e.state != "joined"], [])
        os.kill(child, signal.SIGSTOP)
        begun = time.monotonic()
        job.until_says("executor e1 .* lost: no sign of life")
        self.assertGreater(time.monotonic() - begun, 8.5)
        self.assertLess(time.monotonic() - begun, 12 * SLOWDOWN)
        os.kill(child, signal.SIGCONT)
        self.until_gone(child)
        self.let_go(*hooks)
        self.ends_well(job)
        self.serves_the_next()

    def test_a_driver_stands_still(self):
        """Within 15 s its executors have ended its tasks and removed its data, and serve the next."""
        job, _, _, *hooks = self.held()
        until(lambda: os.listdir(self.tmp), "there are map outputs")
        job.signal(signal.SIGSTOP)
        begun = time.monotonic()
        until(lambda: os.listdir(self.tmp) == [], "its data is gone")
        self.assertLess(time.monotonic() - begun, 15 * SLOWDOWN)
        self.let_go(*hooks)
        self.serves_the_next()
        job.signal(signal.SIGCONT)
        job.signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 143, job.err)


if __name__ == "__main__":
    unittest.main()
