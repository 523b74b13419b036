"""What befalls processes, disks and wires while a job runs: it ends with the bytes of local mode, or with a
clear error, and leaves nothing."""
import os
import signal
import time
import unittest

from cluster import SLOWDOWN
from faults import FaultTest, until


class KilledInMap(FaultTest):
    """One of two executors dies while it runs a map task."""

    def held(self):
        hook = self.in_map()
        e1, e2 = self.executor("e1", hooks=[hook]), self.executor("e2")
        job = self.begin()
        hook.until_hit()
        return job, e1, e2

    def test_its_child(self):
        job, e1, _ = self.held()
        child = self.child(e1)
        os.kill(child, signal.SIGKILL)
        self.until_gone(child)
        self.ends_well(job)
        self.assertIn("executor e1 (127.0.0.1) lost: killed by signal 9", job.err)
        self.assertIn(e1.err_path, job.err)
        self.assertGreater(self.retries(), 0)
        self.serves_the_next()

    def test_its_child_by_a_fault_of_its_own(self):
        job, e1, _ = self.held()
        os.kill(self.child(e1), signal.SIGSEGV)
        self.ends_well(job)
        self.assertIn("executor e1 (127.0.0.1) lost: killed by signal 11", job.err)
        self.serves_the_next()

    def test_its_daemon(self):
        job, e1, _ = self.held()
        child = self.child(e1)
        e1.signal(signal.SIGKILL)
        e1.wait()
        self.until_gone(child)
        self.ends_well(job)
        self.assertIn("executor e1 (127.0.0.1) lost", job.err)
        self.executor("e1")
        self.serves_the_next()

    def test_daemon_and_child(self):
        job, e1, _ = self.held()
        child = self.child(e1)
        os.kill(child, signal.SIGKILL)
        e1.signal(signal.SIGKILL)
        e1.wait()
        self.ends_well(job)

    def test_a_row_that_kills_one_executor(self):
        """The attempt counts as the task's own, and goes to the other node."""
        segv = self.hook("read", "tt0000777", 0, "segv")
        self.executor("e1", hooks=[segv])
        self.executor("e2", hooks=[segv])
        job = self.begin()
        self.ends_well(job)
        self.assertTrue(segv.hit)
        self.assertIn("killed by signal 11", job.err)


class KilledAfterMap(FaultTest):
    """All map tasks of e1 are done, and the last one is held at e2: no reducer has begun."""

    executors = {"e1": {"slots": 1}, "e2": {"slots": 1}}

    def until_maps_are_done(self):
        hook = self.in_map()
        e1, e2 = self.executor("e1"), self.executor("e2", hooks=[hook])
        job = self.begin()
        hook.until_hit()
        self.until_maps_done(self.maps - 1)
        return job, hook, e1, e2

    def only_what_was_lost_is_made_again(self):
        """Before a loss of e1 all but one task were done there, and that one was not touched."""
        first = self.executor_numbers("e1")
        numbers = sorted(first)
        done = self.map_attempts("done")
        lost = {e.task for e in done if e.executor == numbers[0]}
        self.assertEqual(len(lost), self.maps - 1)
        for task in range(self.maps):
            times = sum(e.task == task for e in done)
            self.assertEqual(times, 2 if task in lost else 1, f"map task {task}")

    def test_its_child(self):
        job, hook, e1, _ = self.until_maps_are_done()
        os.kill(self.child(e1), signal.SIGKILL)
        job.until_says("executor e1 .* lost: killed by signal 9.* 0 running tasks and 7 map outputs")
        hook.go()
        self.ends_well(job)
        self.only_what_was_lost_is_made_again()
        self.serves_the_next()

    def test_its_daemon(self):
        job, hook, e1, _ = self.until_maps_are_done()
        e1.signal(signal.SIGKILL)
        e1.wait()
        job.until_says("executor e1 .* lost: .* 0 running tasks and 7 map outputs")
        hook.go()
        self.ends_well(job)
        self.only_what_was_lost_is_made_again()


class InAFetch(FaultTest):
    """The process that sends a map output, or its connection, ends in the middle of it."""

    def run_with(self, action, number, **keys):
        """All map outputs but one are at e1, and e2 fetches them."""
        self.write_cluster(**keys)
        hook, held = self.hook("send", "-", number, action), self.in_map()
        self.executor("e1", hooks=[hook])
        self.executor("e2", hooks=[held])
        job = self.begin()
        held.until_hit()
        self.until_maps_done(self.maps - 1)
        self.assertFalse(hook.hit)
        held.go()
        self.ends_well(job)
        self.assertTrue(hook.hit, "nothing has happened")
        return job

    def test_the_sender_is_killed(self):
        job = self.run_with("kill", 100000)
        self.assertIn("killed by signal 9", job.err)

    def test_the_sender_is_killed_later(self):
        job = self.run_with("kill", 700000)
        self.assertIn("killed by signal 9", job.err)
        self.serves_the_next()

    def test_the_connection_is_cut(self):
        self.run_with("cut", 700000)
        self.serves_the_next()

    def test_the_connection_is_cut_without_tls(self):
        self.run_with("cut", 300001, insecure_plaintext=True)

    def test_a_byte_is_changed_on_the_wire(self):
        self.run_with("flip", 700000)
        self.serves_the_next()

    def test_a_byte_is_changed_on_the_wire_without_tls(self):
        job = self.run_with("flip", 700000, insecure_plaintext=True)
        self.assertGreater(self.retries(), 0, job.err)
        self.serves_the_next()


class All(FaultTest):
    def test_none_is_left(self):
        self.write_cluster(start="1s")
        hooks = [self.in_map(), self.in_map()]
        executors = [self.executor(name, hooks=[hook]) for name, hook in zip(("e1", "e2"), hooks)]
        job = self.begin()
        for hook in hooks:
            hook.until_hit()
        for e in executors:
            e.signal(signal.SIGKILL)
            e.wait()
        self.ends_badly(job, 69, "error[E0907]", "hint:")

    def test_all_children_are_killed(self):
        """Each gets a new one."""
        hooks = [self.in_map(), self.in_map()]
        executors = [self.executor(name, hooks=[hook]) for name, hook in zip(("e1", "e2"), hooks)]
        job = self.begin()
        for hook in hooks:
            hook.until_hit()
        for e in executors:
            os.kill(self.child(e), signal.SIGKILL)
        self.ends_well(job)


class Stopped(FaultTest):
    """A process stands still, and goes on."""

    def held(self):
        hooks = [self.in_map(), self.in_map()]
        executors = [self.executor(name, hooks=[hook]) for name, hook in zip(("e1", "e2"), hooks)]
        job = self.begin()
        for hook in hooks:
            hook.until_hit()
        return (job, *executors, *hooks)

    def test_a_child_for_longer_than_dead(self):
        """What it says afterwards is of an attempt that is nobody's any more."""
        job, e1, _, first, second = self.held()
        child = self.child(e1)
        os.kill(child, signal.SIGSTOP)
        job.until_says("executor e1 .* lost: no sign of life for")
        first.go()
        os.kill(child, signal.SIGCONT)
        self.until_gone(child)
        second.go()
        self.ends_well(job)
        self.assertEqual([e.executor for e in self.map_attempts("executor lost")],
                         [min(self.executor_numbers("e1"))])
        self.serves_the_next()

    def test_a_child_that_goes_on_when_the_job_is_over(self):
        job, e1, _, first, second = self.held()
        child = self.child(e1)
        os.kill(child, signal.SIGSTOP)
        second.go()
        self.ends_well(job)
        first.go()
        os.kill(child, signal.SIGCONT)
        self.until_gone(child)
        self.serves_the_next()

    def test_a_child_for_a_moment(self):
        """Less than `suspect`: nothing runs again."""
        job, e1, _, first, second = self.held()
        child = self.child(e1)
        os.kill(child, signal.SIGSTOP)
        time.sleep(0.5 * SLOWDOWN)  # this is the fault
        os.kill(child, signal.SIGCONT)
        first.go()
        second.go()
        self.ends_well(job)
        self.assertEqual(self.retries(), 0)
        self.assertEqual(len(self.map_attempts()), self.maps)
        self.assertEqual({e.state for e in self.events("executor")}, {"joined"})

    def test_a_daemon_for_longer_than_dead(self):
        """Its child goes on by itself, or is replaced; the job does not mind."""
        job, e1, _, first, second = self.held()
        e1.signal(signal.SIGSTOP)
        time.sleep(2.5 * SLOWDOWN)  # this is the fault
        e1.signal(signal.SIGCONT)
        first.go()
        second.go()
        self.ends_well(job)
        self.serves_the_next()

    def test_both_children_in_turn(self):
        job, e1, e2, first, second = self.held()
        for e, hook in ((e1, first), (e2, second)):
            child = self.child(e)
            os.kill(child, signal.SIGSTOP)
            job.until_says(f"executor {e.name} .* lost: no sign of life for")
            os.kill(child, signal.SIGCONT)
            hook.go()
        self.ends_well(job)
        self.serves_the_next()


if __name__ == "__main__":
    unittest.main()
